"""What all samplers take from a split: the weight of a non-link, and a concentration for every node."""

import numpy as np
import pytest

from blockmix import Graph, planted
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.samplers.data import node_concentrations, non_link_weight


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_with_their_weights_the_training_pairs_have_the_density_of_the_network(share):
    graph = planted(80, 4, degree=10, seed=1).graph
    data = hold_out(graph, share, seed=2)
    links = data.training.n_edges
    non_links = graph.n_pairs - links - data.n_pairs
    weighted = non_link_weight(data) * non_links
    assert links / (links + weighted) == pytest.approx(graph.density, rel=1e-12)
    assert links / (links + non_links) < (1 - share / 2) * graph.density, "without weights it would not be"


def test_a_non_link_weighs_one_where_the_split_takes_both_kinds_alike():
    graph = planted(80, 4, degree=10, seed=1).graph
    assert non_link_weight(hold_out(graph, 0.3, kind="proportional", seed=2)) == 1.0
    assert non_link_weight(no_hold_out(graph)) == 1.0


def test_where_no_non_link_is_left_for_training_its_weight_is_one():
    """Eight nodes with two non-links: both go with the held-out links."""
    missing = {(1, 0), (3, 2)}
    graph = Graph.from_edges([(a, b) for a in range(8) for b in range(a) if (a, b) not in missing])
    data = hold_out(graph, 2 / graph.n_edges, seed=1)
    assert data.n_pairs == 4
    assert non_link_weight(data) == 1.0


def test_isolated_nodes_have_a_concentration_of_their_own():
    graph, model = Graph.from_edges([(0, 1), (1, 2)], nodes=range(5)), Model(4)
    np.testing.assert_array_equal(
        node_concentrations(model, graph), [model.concentration] * 3 + [model.unlinked_concentration] * 2
    )
