"""The random start by seeds: parts that hold together."""

import numpy as np

from blockmix.graph.graph import Graph
from blockmix.samplers.starts.seeds import nearest_seeds


def test_every_part_holds_together_and_every_node_is_with_its_nearest_seed():
    """On a ring the parts are as many arcs as there are seeds."""
    ring = Graph.from_edges([(a, (a + 1) % 60) for a in range(60)])
    parts = nearest_seeds(ring, 7, np.random.default_rng(1))
    assert set(parts) == set(range(7))
    assert np.count_nonzero(parts != np.roll(parts, 1)) == 7
    # an arc between two seeds is cut in the middle: no node is further from its part's seed than half the ring
    assert np.bincount(parts).max() <= 30


def test_a_component_without_a_seed_stays_whole():
    cliques = [(5 * c + a, 5 * c + b) for c in range(40) for a in range(5) for b in range(a)]
    parts = nearest_seeds(Graph.from_edges(cliques), 3, np.random.default_rng(2)).reshape(40, 5)
    whole = (parts == parts[:, :1]).all(axis=1)
    assert whole.sum() >= 37
    assert set(parts.ravel()) == {0, 1, 2}


def test_isolated_nodes_few_nodes_and_no_links():
    rng = np.random.default_rng(3)
    parts = nearest_seeds(Graph.from_edges([(0, 1)], nodes=range(50)), 20, rng)
    assert parts.shape == (50,)
    assert parts.min() >= 0
    assert len(np.unique(parts)) > 5
    assert nearest_seeds(Graph.from_edges([], nodes=range(4)), 1, rng).tolist() == [0, 0, 0, 0]


def test_the_generator_alone_decides():
    ring = Graph.from_edges([(a, (a + 1) % 60) for a in range(60)])
    one, two = (nearest_seeds(ring, 7, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
