"""The starting partition: at most K parts, the planted ones where there are any, decided by the seed."""

import numpy as np
import pytest
from scipy.special import beta as beta_function
from scipy.special import gammaln

from blockmix.evaluate.mutual_information import onmi
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.samplers.starts import partition as module
from blockmix.samplers.starts.choose import choose_communities, count_communities
from blockmix.samplers.starts.partition import (
    Levels,
    find_parts,
    inside_counts,
    integrated_likelihood,
    parts_of,
)


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
    expected = found(twenty.graph, communities)
    computed = []

    def counted(level, resolution, rng):
        computed.append(resolution)
        return coarsen(level, resolution, rng)

    coarsen = module.coarsen
    monkeypatch.setattr(module, "coarsen", counted)
    levels = Levels(twenty.graph, np.random.default_rng(0))
    assert count_communities(levels) == choose_communities(twenty.graph, 0)
    computed.clear()
    np.testing.assert_array_equal(parts_of(levels, communities), expected)
    once = len(computed)
    np.testing.assert_array_equal(parts_of(levels, communities), expected)
    assert len(computed) == once < len(module._resolutions(twenty.graph))


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
    counts, sizes = inside_counts(graph, parts, communities)
    np.testing.assert_array_equal(counts, inside)
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
