"""The best cut through a tree of groups is the best of all its cuts."""

import itertools

import numpy as np
import pytest

from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import count_inside
from blockmix.samplers.starts.dendrogram import Dendrogram, part_score
from blockmix.samplers.starts.laws import EqualNodes, integrated_likelihood, law_of, weights_by_degree
from blockmix.samplers.starts.partition import find_parts
from blockmix.samplers.starts.potts.levels import Levels

ONE = Workers(1)


def weights_of(graph, by_degree):
    return weights_by_degree(graph) if by_degree else None


def inside_counts(graph, parts, communities, by_degree=False):
    parts = np.asarray(parts, dtype=np.int32)
    return count_inside(graph, parts, communities, ONE, weights_of(graph, by_degree))


def likelihood(graph, parts, communities, by_degree=False):
    law = law_of(graph, weights_of(graph, by_degree))
    counts = inside_counts(graph, parts, communities, by_degree)
    return integrated_likelihood(law, graph.n_edges, counts, communities, ONE)


def tree_of(graph, seed=0, by_degree=False):
    levels = Levels(graph, seed, ONE, by_degree=by_degree)
    tree = Dendrogram(graph.n_nodes, levels.law, ONE)
    for step, parts in levels:
        expected = inside_counts(graph, parts, len(step.counts.nodes), by_degree)
        for mine, its in zip(step.counts, expected, strict=True):
            np.testing.assert_array_equal(mine, its)
        tree.grow(step.parents, step.counts)
    return tree


def worth(graph, parts, background, price, by_degree):
    """The score that a cut is chosen by, from its parts alone."""
    parts = np.unique(parts, return_inverse=True)[1]
    law = law_of(graph, weights_of(graph, by_degree))
    counts = inside_counts(graph, parts, parts.max() + 1, by_degree)
    return part_score(law, counts, background).sum() - price * len(counts.nodes)


@pytest.mark.parametrize("by_degree", [False, True])
@pytest.mark.parametrize("price", [0.0, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_cut_of_a_small_tree_is_better(seed, price, by_degree):
    """Two steps up from seven nodes, all cuts enumerated."""
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(np.argwhere(np.triu(rng.random((7, 7)) < 0.5, 1)), nodes=range(7))
    first, second = np.array([0, 0, 1, 1, 2, 2, 3]), np.array([0, 0, 1, 1])
    tree = Dendrogram(7, law_of(graph, weights_of(graph, by_degree)), ONE)
    for parents, parts in ((first, first), (second, second[first])):
        tree.grow(parents, inside_counts(graph, parts, parts.max() + 1, by_degree))
    found = worth(graph, tree.cut(0.1, price), 0.1, price, by_degree)
    every = []
    for top in itertools.product((True, False), repeat=2):
        for low in itertools.product((True, False), repeat=4):
            names = [
                ("top", second[first[a]])
                if top[second[first[a]]]
                else ("low", first[a])
                if low[first[a]]
                else ("node", a)
                for a in range(7)
            ]
            every.append(worth(graph, [sorted(set(names)).index(n) for n in names], 0.1, price, by_degree))
    assert found == pytest.approx(max(every), rel=1e-12)


def test_small_dense_and_large_loose_communities_are_found_side_by_side():
    """Ten cliques of six nodes and two groups of 150 with 8 links a node: no single resolution has both."""
    rng = np.random.default_rng(1)
    blocks = [np.arange(6 * c, 6 * c + 6) for c in range(10)] + [np.arange(60, 210), np.arange(210, 360)]
    same = np.zeros((360, 360))
    for members in blocks:
        same[np.ix_(members, members)] = 1.0 if len(members) == 6 else 8 / 149
    links = np.argwhere(np.triu(rng.random((360, 360)) < np.maximum(same, 0.0005), 1))
    graph = Graph.from_edges(links, nodes=range(360))
    parts = find_parts(graph, 40, np.random.default_rng(0))
    for members in blocks[:10]:
        assert len(np.unique(parts[members])) == 1
        assert np.count_nonzero(parts == parts[members[0]]) == 6
    truth = np.empty(360, dtype=np.int64)
    for k, members in enumerate(blocks):
        truth[members] = k
    levels = [parts for _, parts in Levels(graph, 0, ONE)]
    best_level = max(likelihood(graph, p, p.max() + 1) for p in levels)
    assert likelihood(graph, parts, 40) > best_level


@pytest.mark.parametrize("most", [1, 3, 10, 19, 60])
def test_a_cut_can_be_held_to_a_number_of_parts(most):
    graph = planted(1000, 20, degree=20, overlap=(1, 1), seed=4).graph
    tree = tree_of(graph)
    count = tree.cut_to(most, graph.density / 10).max() + 1
    assert count <= max(most, np.count_nonzero(tree.above < 0))
    assert tree.cut_to(5000, 0.001).max() == tree.cut(0.001).max()


def test_a_tree_of_single_nodes_is_cut_into_nodes():
    np.testing.assert_array_equal(Dendrogram(4, EqualNodes(6.0), ONE).cut(0.1), np.arange(4))
