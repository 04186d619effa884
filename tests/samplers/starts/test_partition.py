"""The starting partition: at most K parts, the planted ones where there are any, decided by the seed."""

import numpy as np
import pytest
from scipy.special import beta as beta_function
from scipy.special import gammaln

from blockmix.evaluate.mutual_information import onmi
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts import counting, laws
from blockmix.samplers.starts.choose import choose_communities, count_communities
from blockmix.samplers.starts.partition import find_parts, parts_of
from blockmix.samplers.starts.potts.levels import Coarsening, Levels, resolutions_of
from blockmix.samplers.starts.reducing import reduced

ONE = Workers(1)


def inside_counts(graph, parts, communities):
    return counting.count_inside(graph, parts, communities, ONE)


def integrated_likelihood(graph, parts, communities):
    law, counts = laws.law_of(graph, None), inside_counts(graph, parts, communities)
    return laws.integrated_likelihood(law, graph.n_edges, counts, communities, ONE)


def found(graph, communities, seed=0):
    parts = find_parts(graph, communities, np.random.default_rng(seed))
    assert parts.shape == (graph.n_nodes,)
    assert parts.min() >= 0
    assert parts.max() < communities
    return parts


def cover(parts):
    return [np.flatnonzero(parts == k) for k in np.unique(parts)]


@pytest.fixture(scope="module")
def twenty():
    return planted(1000, 20, degree=20, overlap=(1, 1), seed=4)


@pytest.mark.parametrize("seed", range(3))
def test_planted_parts_are_found(twenty, seed):
    """ONMI 0.99 or more with the truth; 1 was measured for ten seeds out of ten."""
    assert onmi(cover(found(twenty.graph, 20, seed)), twenty.covers, 1000) >= 0.99


def test_more_communities_than_natural_parts_leaves_spare_ones_empty(twenty):
    parts = found(twenty.graph, 60)
    assert len(np.unique(parts)) < 30
    assert onmi(cover(parts), twenty.covers, 1000) >= 0.95


def test_the_same_seed_gives_the_same_parts(twenty):
    np.testing.assert_array_equal(found(twenty.graph, 20, 5), found(twenty.graph, 20, 5))


@pytest.mark.parametrize("communities", [1, 2, 7, 19])
def test_fewer_communities_than_natural_parts_merges_them(twenty, communities):
    assert 1 <= len(np.unique(found(twenty.graph, communities))) <= communities


@pytest.mark.parametrize("communities", [5, 20, 200])
def test_levels_that_were_gone_through_before_give_the_same_parts(twenty, communities, monkeypatch):
    """Counting communities goes through other levels than finding parts does; each level is computed once."""
    salt = int(np.random.default_rng(0).integers(0, 2**32))
    expected = parts_of(Levels(twenty.graph, salt, ONE), communities)
    computed, coarsen = [], Coarsening.coarsen

    def counted(self, resolution):
        computed.append(resolution)
        return coarsen(self, resolution)

    monkeypatch.setattr(Coarsening, "coarsen", counted)
    levels = Levels(twenty.graph, salt, ONE, kept=True)
    assert count_communities(levels) == choose_communities(twenty.graph, 0)
    computed.clear()
    np.testing.assert_array_equal(parts_of(levels, communities), expected)
    once = len(computed)
    np.testing.assert_array_equal(parts_of(levels, communities), expected)
    assert len(computed) == once < len(resolutions_of(twenty.graph.density))


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_number_of_threads_does_not_change_a_part(twenty, threads, monkeypatch):
    monkeypatch.setattr("blockmix.samplers.starts.sharing.LEAST_PIECE", 50)
    with Workers(threads) as workers:
        for communities in (4, 20, 200):
            parts = find_parts(twenty.graph, communities, np.random.default_rng(3), workers)
            np.testing.assert_array_equal(parts, found(twenty.graph, communities, 3))
        assert choose_communities(twenty.graph, 3, workers) == choose_communities(twenty.graph, 3)


@pytest.mark.parametrize("seed", range(5))
def test_reduced_parts_are_those_of_merging_the_two_smallest_one_by_one(seed):
    """Of equal sizes the older part is taken, a merger being younger than all before it."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, 40)
    for wanted in (1, 2, 13, 39, 40, 60):
        parts = [(int(size), number, [number]) for number, size in enumerate(sizes)]
        while len(parts) > wanted:
            (first, _, one), (second, _, two), *rest = sorted(parts)
            parts = [*rest, (first + second, 100 - len(parts), one + two)]
        expected = {frozenset(members) for _, _, members in parts}
        labels = reduced(sizes, np.arange(40, dtype=np.int32), wanted)
        assert {frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)} == expected
        assert labels.max() < max(len(expected), 1)


def test_nodes_without_links_are_spread_over_the_communities():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(200))
    parts = found(graph, 4)
    assert len(np.unique(parts[:3])) == 1
    assert len(np.unique(parts[3:])) == 4


def test_a_network_without_links_is_spread_over_the_communities():
    assert len(np.unique(found(Graph.from_edges([], nodes=range(100)), 4))) == 4


def test_more_components_than_communities():
    edges = [(3 * c + i, 3 * c + j) for c in range(30) for i, j in ((0, 1), (1, 2), (0, 2))]
    parts = found(Graph.from_edges(edges), 5)
    assert len(np.unique(parts)) <= 5
    for c in range(30):
        assert len(np.unique(parts[3 * c : 3 * c + 3])) == 1


@pytest.mark.parametrize("nodes", [2, 3])
def test_the_smallest_networks_have_parts(nodes):
    found(Graph.from_edges([(0, 1)], nodes=range(nodes)), 2)
    found(Graph.from_edges([(0, 1)], nodes=range(nodes)), 50)


@pytest.mark.parametrize("seed", range(3))
def test_the_integrated_likelihood_is_the_printed_formula(seed):
    rng = np.random.default_rng(seed)
    upper = np.argwhere(np.triu(rng.random((12, 12)) < 0.4, 1))
    graph, communities = Graph.from_edges(upper, nodes=range(12)), 4
    parts = rng.integers(0, 3, 12)
    linked = {tuple(edge) for edge in upper}
    inside, pairs, between, between_pairs = np.zeros(4), np.zeros(4), 0, 0
    for a in range(12):
        for b in range(a + 1, 12):
            if parts[a] == parts[b]:
                pairs[parts[a]] += 1
                inside[parts[a]] += (a, b) in linked
            else:
                between_pairs += 1
                between += (a, b) in linked
    counted, sizes, _, _ = inside_counts(graph, parts, communities)
    np.testing.assert_array_equal(counted, inside)
    np.testing.assert_array_equal(sizes, np.bincount(parts, minlength=4))
    expected = np.log(beta_function(1 + inside, 1 + pairs - inside)).sum()
    expected += np.log(beta_function(1 + between, 1 + between_pairs - between))
    expected += np.sum(gammaln(sizes + 0.25) - gammaln(0.25))
    assert integrated_likelihood(graph, parts, communities) == pytest.approx(expected, rel=1e-12)


def test_the_truth_is_more_likely_than_a_merger_or_a_split(twenty):
    truth = np.empty(1000, dtype=np.int64)
    for k, members in enumerate(twenty.covers):
        truth[members] = k
    best = integrated_likelihood(twenty.graph, truth, 40)
    merged, split = truth.copy(), truth.copy()
    merged[truth == 1] = 0
    split[np.flatnonzero(truth == 1)[::2]] = 25
    assert integrated_likelihood(twenty.graph, merged, 40) < best
    assert integrated_likelihood(twenty.graph, split, 40) < best
