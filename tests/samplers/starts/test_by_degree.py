"""The start of the popularity model: parts of nodes that differ in how many links they have."""

import numpy as np
import pytest
from scipy.integrate import quad

from blockmix.evaluate.mutual_information import onmi
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.inference.fit import fit
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.choose import choose_communities
from blockmix.samplers.starts.counting import count_inside
from blockmix.samplers.starts.laws import integrated_likelihood, law_of, pairs_inside, weights_by_degree
from blockmix.samplers.starts.partition import find_parts
from blockmix.samplers.starts.potts.fresh import _found_at, find_anew
from blockmix.samplers.starts.potts.levels import Levels

ONE = Workers(1)


def likelihood(graph, parts, communities):
    weights = weights_by_degree(graph)
    counts = count_inside(graph, np.asarray(parts, dtype=np.int32), communities, ONE, weights)
    return integrated_likelihood(law_of(graph, weights), graph.n_edges, counts, communities, ONE)


def small_network(seed):
    """Twelve nodes with hubs, in three parts and one part that is empty."""
    rng = np.random.default_rng(seed)
    upper = np.argwhere(np.triu(rng.random((12, 12)) < 0.35, 1))
    hub = [(0, b) for b in range(1, 10)]
    graph = Graph.from_edges(np.unique(np.vstack([upper, hub]), axis=0), nodes=range(12))
    return graph, rng.integers(0, 3, 12)


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_of_parts_is_that_of_poisson_links_integrated_over_strengths(seed):
    """Numerically: exp(-w P) w^L e^-w over w, with P the sum of t_a t_b over pairs, for each part and the rest."""
    graph, parts = small_network(seed)
    t = np.maximum(graph.degrees, 1) / np.maximum(graph.degrees, 1).mean()
    linked = {tuple(edge) for edge in graph.edges().tolist()}
    pairs, links = np.zeros(5), np.zeros(5)
    for a in range(12):
        for b in range(a + 1, 12):
            place = parts[a] if parts[a] == parts[b] else 4
            pairs[place] += t[a] * t[b]
            links[place] += (a, b) in linked
    expected = sum(
        np.log(quad(lambda w, p=p, m=m: w**m * np.exp(-w * (1 + p)), 0, np.inf)[0])
        for p, m in zip(pairs, links, strict=True)
    )
    sizes = np.bincount(parts, minlength=4)
    shares = [[np.log(0.25 + i) for i in range(size)] for size in sizes]
    assert likelihood(graph, parts, 4) == pytest.approx(expected + sum(map(sum, shares)), rel=1e-7)
    weights = weights_by_degree(graph)
    counts = count_inside(graph, parts.astype(np.int32), 4, ONE, weights)
    np.testing.assert_allclose(pairs_inside(law_of(graph, weights), counts), pairs[:4])


@pytest.fixture(scope="module")
def unequal():
    """Twenty overlapping communities of power-law sizes and degrees."""
    return planted(1000, 20, degree=12, sizes="powerlaw", degrees="powerlaw", seed=2)


def test_communities_of_nodes_with_unequal_degrees_are_counted(unequal):
    """By degree 11 to 18 are counted (seeds 0 to 9), without degrees 2 to 17, most often fewer than seven."""
    counted = [choose_communities(unequal.graph, seed, by_degree=True) for seed in range(3)]
    assert all(10 <= count <= 30 for count in counted), counted
    alone = [choose_communities(unequal.graph, seed) for seed in range(3)]
    assert min(alone) < 7
    assert all(both >= one for both, one in zip(counted, alone, strict=True))


def test_parts_are_nearer_to_communities_of_unequal_nodes(unequal):
    """ONMI of a hard partition with overlapping communities; .20 to .26 by degree, .02 and less without it."""
    rng = np.random.default_rng
    score = {}
    for by_degree in (False, True):
        parts = find_parts(unequal.graph, 20, rng(1), by_degree=by_degree)
        cover = [np.flatnonzero(parts == k) for k in np.unique(parts)]
        score[by_degree] = onmi(cover, unequal.covers, unequal.graph.n_nodes)
    assert score[True] > score[False] + 0.05, score


def test_equal_nodes_have_the_same_parts_either_way():
    made = planted(1000, 20, degree=20, overlap=(1, 1), seed=4)
    parts = find_parts(made.graph, 20, np.random.default_rng(1), by_degree=True)
    assert onmi([np.flatnonzero(parts == k) for k in range(20)], made.covers, 1000) >= 0.99


def test_the_best_partition_found_anew_is_above_every_level(unequal):
    """A hub and its leaves that became a group at a fine level are never taken apart by later ones."""
    levels = Levels(unequal.graph, 7, ONE, by_degree=True)
    best_level = max(likelihood(unequal.graph, parts, int(parts.max()) + 1) for _, parts in levels)
    resolution = unequal.graph.density / levels.law.mean_weight**2
    assert find_anew(levels, resolution, None).score > best_level + 50.0


@pytest.mark.parametrize("communities", [2, 8, 20, 30, 300])
def test_a_start_by_degree_has_a_part_for_every_community_but_no_splinters(unequal, communities):
    """Up to three parts for each of the best partition, which has about sixteen."""
    parts = find_parts(unequal.graph, communities, np.random.default_rng(0), by_degree=True)
    count = len(np.unique(parts))
    assert count <= communities
    assert count >= min(communities, 25)
    assert count <= 80


def test_every_second_chain_starts_by_degree(unequal, monkeypatch):
    seen = []

    def noted(graph, communities, rng, workers, by_degree):
        seen.append(by_degree)
        return find_parts(graph, communities, rng, workers, by_degree)

    monkeypatch.setattr("blockmix.samplers.scir.popularity.sampler.find_parts", noted)
    fit(unequal.graph, communities=4, model="popularity", sweeps=2, warm_up=1, chains=3, seed=1, threads=1)
    # The networks of six nodes that kernels are compiled on have chains without a number.
    assert seen[-3:] == [False, True, False]
    assert not any(seen[:-3])


@pytest.mark.parametrize("communities", [3, 20, None])
def test_parts_found_anew_have_the_score_that_comes_with_them(unequal, communities):
    levels = Levels(unequal.graph, 7, ONE, by_degree=True)
    resolution = 2 * unequal.graph.density / levels.law.mean_weight**2
    found = find_anew(levels, resolution, communities)
    count = int(found.parts.max()) + 1
    assert count <= (communities or unequal.graph.n_nodes)
    assert found.score == pytest.approx(
        likelihood(unequal.graph, found.parts, communities or count), rel=1e-12
    )
    assert found.score >= _found_at(levels, resolution, communities).score


@pytest.mark.parametrize("threads", [2, 3])
def test_the_number_of_threads_does_not_change_a_part(unequal, threads, monkeypatch):
    monkeypatch.setattr("blockmix.samplers.starts.sharing.LEAST_PIECE", 50)
    with Workers(threads) as workers:
        parts = find_parts(unequal.graph, 20, np.random.default_rng(3), workers, by_degree=True)
        expected = find_parts(unequal.graph, 20, np.random.default_rng(3), by_degree=True)
        np.testing.assert_array_equal(parts, expected)
        chosen = choose_communities(unequal.graph, 3, workers, by_degree=True)
        assert chosen == choose_communities(unequal.graph, 3, by_degree=True)


def test_isolated_nodes_weigh_something_so_that_no_part_is_empty():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(200))
    parts = find_parts(graph, 4, np.random.default_rng(0), by_degree=True)
    assert len(np.unique(parts[:3])) == 1
    assert len(np.unique(parts[3:])) == 4
