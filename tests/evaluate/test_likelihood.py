"""The log likelihood of all training pairs, or of a fixed sample of them that stands for all."""

import numpy as np
import pytest

from blockmix import Graph, hold_out, planted
from blockmix.evaluate.likelihood import MOST_PAIRS, training_pairs

NONE = np.empty((0, 2), dtype=np.int64)


def test_a_small_network_is_summed_whole_without_the_held_out_pairs():
    graph = planted(60, 3, degree=8, seed=1).graph
    split = hold_out(graph, 0.2, seed=2)
    found = training_pairs(graph, split.pairs)
    assert found.complete
    assert len(found.pairs) == graph.n_pairs - len(split.pairs)
    assert not {tuple(p) for p in found.pairs.tolist()} & {tuple(p) for p in split.pairs.tolist()}
    np.testing.assert_array_equal(found.links, graph.has_edges(found.pairs))
    np.testing.assert_array_equal(found.weights, 1.0)
    p = np.where(found.links, 0.3, 0.1)
    expected = found.links.sum() * np.log(0.3) + (~found.links).sum() * np.log(0.9)
    assert found.log_likelihood(p) == pytest.approx(expected)


def test_a_sample_of_a_large_network_stands_for_all_its_training_pairs():
    graph = planted(1000, 5, degree=12, seed=1).graph
    split = hold_out(graph, 0.3, seed=2)
    found = training_pairs(graph, split.pairs)
    assert not found.complete
    assert len(found.pairs) <= MOST_PAIRS
    assert found.weights[found.links].sum() == pytest.approx(split.training.n_edges)
    assert found.weights.sum() == pytest.approx(graph.n_pairs - len(split.pairs))
    assert len(np.unique(found.pairs, axis=0)) == len(found.pairs)
    again = training_pairs(graph, split.pairs)
    np.testing.assert_array_equal(found.pairs, again.pairs)


def test_the_estimate_is_near_the_sum_over_all_pairs():
    """Link probabilities by a popularity of nodes; the tolerance is four standard errors of the draw."""
    graph = planted(300, 3, degree=12, seed=1).graph
    found = training_pairs(graph, NONE)
    popularity = np.random.default_rng(1).gamma(2.0, 0.1, 300)
    pairs = np.stack(np.triu_indices(300, 1), axis=1)

    def terms(pairs):
        p = 1.0 - np.exp(-popularity[pairs].prod(axis=-1) - 0.01)
        return p, np.log(np.where(graph.has_edges(pairs), p, 1.0 - p))

    full = terms(pairs)[1]
    non_links = full[~graph.has_edges(pairs)]
    error = non_links.std() * len(non_links) / np.sqrt((~found.links).sum())
    assert found.log_likelihood(terms(found.pairs)[0]) == pytest.approx(full.sum(), abs=4 * error)
    assert error < 0.05 * abs(full.sum())


@pytest.mark.parametrize("edges", [[("a", "b")], [(a, b) for a in range(130) for b in range(a)]])
def test_networks_without_non_links_have_links_alone(edges):
    graph = Graph.from_edges(edges)
    found = training_pairs(graph, NONE)
    assert found.links.all()
    assert found.weights.sum() == pytest.approx(graph.n_edges)
    assert np.isfinite(found.log_likelihood(np.zeros(len(found.pairs))))
