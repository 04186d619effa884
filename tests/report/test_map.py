"""The map of a large network: places from memberships, regions of communities, the still picture, ghost links."""

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest

from blockmix.posterior.answers.of_links import mean_probability
from blockmix.posterior.posterior import Posterior
from blockmix.report.communities import Findings
from blockmix.report.pictures import density, ghosts, places, regions
from blockmix.report.pictures.drawing import draw


@pytest.fixture(scope="module")
def large():
    from .conftest import planted, posterior_of

    graph, group = planted(6_000, 60)
    return Findings(posterior_of(graph, group, 60, held_out=False, trace=False))


@pytest.fixture(scope="module")
def drawing(large):
    return draw(large)[0]


def test_a_large_network_is_a_map_of_its_communities_the_same_for_the_same_seed(large, drawing):
    assert drawing.kind == "map"
    # Those that are listed first, then others: their nodes have a place too.
    assert np.array_equal(drawing.ids[: len(large.numbers)], large.numbers)
    assert sorted(drawing.ids.tolist()) == list(range(60))
    again, other = (draw(large, seed=seed)[0] for seed in (0, 1))
    assert np.array_equal(again.place, drawing.place)
    assert not np.allclose(other.place, drawing.place)


def test_discs_of_a_map_do_not_cover_each_other(drawing):
    discs = drawing.places
    gap = np.linalg.norm(discs.centre[:, None] - discs.centre[None], axis=2) + 1e9 * np.eye(len(discs.radius))
    assert (discs.radius[:, None] + discs.radius[None] - gap).max() < 0.05 * discs.radius.mean()
    # An area for every node: four times the nodes, twice the radius.
    assert np.allclose(discs.radius[:-1] ** 2 / discs.nodes[:-1], discs.unit**2)


def made_places(nodes):
    centre = np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 9.0]])
    none = np.zeros((0, 2), dtype=np.int64)
    return places.Places(np.array([4, 7]), centre, np.array([2.0, 1.0, 3.0]), nodes, none, np.zeros(0))


def test_overlap_is_position_and_the_surest_lie_in_the_middle():
    made = made_places(np.array([2, 1, 1]))
    node, disc = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])
    share = np.array([0.9, 0.5, 0.25, 1.0])
    where = places.node_places(made, node, disc, share, 4)
    # The first in its disc: rank 0 of two, wholly in it.
    assert np.allclose(where[0], [2.0 * np.sqrt(0.25), 0.0])
    # Two thirds of what is listed is in the first: a third of the way to the second, two thirds of the spiral.
    away = 2.0 * np.sqrt(0.75) * 2 / 3
    assert np.allclose(where[1], [10.0 / 3 + away * np.cos(places.TURN), away * np.sin(places.TURN)])
    assert np.allclose(where[2], [10.0 + np.sqrt(0.5), 0.0])
    # A node without an entry is in the last disc.
    assert np.allclose(where[3], [5.0 + 3.0 * np.sqrt(0.5), 9.0])


def test_a_node_is_in_the_disc_of_its_largest_listed_community(small):
    found = Findings(small)
    group = np.arange(120) * 6 // 120
    assert np.array_equal(places.main_discs(found, np.arange(6)), group)
    # Without community 0 its nodes go to the second one, or to the disc of those in none.
    without = places.main_discs(found, np.arange(1, 6))
    mixed = np.arange(120) % 8 == 3
    assert np.array_equal(without[(group == 0) & mixed], np.zeros(((group == 0) & mixed).sum()))
    assert (without[(group == 0) & ~mixed] == 5).all()


def test_only_links_beyond_what_sizes_give_pull_communities_together():
    # Two pairs with many links, and as many between all as their totals give.
    links = np.array([[0, 1], [2, 3], [0, 2], [0, 3], [1, 2], [1, 3]])
    weight = np.array([50.0, 50.0, 5.0, 5.0, 5.0, 5.0])
    kept, pull = places.excess_links(links, weight, 4)
    assert kept.tolist() == [[0, 1], [2, 3]]
    assert np.allclose(pull, pull[0])


def test_the_strongest_links_of_every_community_are_drawn():
    links = np.array([[0, 1], [0, 2], [0, 3], [1, 2]])
    kept = places.strongest_links(links, np.array([3.0, 2.0, 1.0, 4.0]), 4, 1)
    assert links[kept].tolist() == [[0, 1], [0, 3], [1, 2]]


def test_regions_are_groups_of_communities_with_links_between_them():
    group = np.arange(60) % 3
    pairs = np.column_stack(np.triu_indices(60, 1))
    size = np.where(group == 1, 30.0, 10.0)
    weight = size[pairs].prod(axis=1) * np.where(group[pairs[:, 0]] == group[pairs[:, 1]], 0.2, 0.0005)
    found = regions.make_regions(pairs, weight, size)
    assert 3 <= found.max() + 1 <= regions.MOST
    assert all(len(np.unique(group[found == region])) == 1 for region in range(found.max() + 1))
    # The largest comes first.
    sums = np.bincount(found, size)
    assert sums.tolist() == sorted(sums.tolist(), reverse=True)
    assert regions.make_regions(pairs[:5], weight[:5], np.ones(10)) is None


def test_communities_that_nothing_pulls_stay_alone_and_do_not_make_the_others_one_region():
    # Groups of three in a chain, and thirty communities without links: more rounds would leave two halves of the chain.
    group = np.arange(96) // 3
    pairs = np.column_stack(np.triu_indices(96, 1))
    weight = np.append([5.0, 1.5], np.zeros(30))[group[pairs[:, 1]] - group[pairs[:, 0]]]
    found = regions.make_regions(pairs[weight > 0], weight[weight > 0], np.ones(126) * 10)
    assert 8 <= len(np.unique(found[:96])) <= regions.MOST
    assert all(len(np.unique(found[:96][group == g])) == 1 for g in range(32))
    assert len(np.unique(found[96:])) == 30


def test_one_region_of_nearly_all_communities_is_none():
    pairs = np.column_stack(np.triu_indices(60, 1))
    weight = np.where((pairs < 50).all(axis=1), 3.0, 0.0)
    weight[(pairs[:, 1] == pairs[:, 0] + 1) & (pairs[:, 0] >= 50)] = 3.0
    found = regions.make_regions(pairs[weight > 0], weight[weight > 0], np.ones(60) * 10)
    assert found is None or np.bincount(found).max() <= 30


def test_links_that_sizes_alone_would_give_join_no_regions():
    group = np.arange(60) % 3
    pairs = np.column_stack(np.triu_indices(60, 1))
    size = np.random.default_rng(1).uniform(5, 80, 60)
    together = group[pairs[:, 0]] == group[pairs[:, 1]]
    # As in a dense network: links between all communities, by their sizes, and a third more within groups.
    weight = size[pairs].prod(axis=1) * np.where(together, 0.02, 0.015)
    found = regions.make_regions(pairs, weight, size)
    assert all(len(np.unique(group[found == region])) == 1 for region in range(found.max() + 1))
    assert found.max() + 1 <= regions.MOST


def test_a_density_image_has_mean_colours_and_is_more_opaque_where_nodes_are_many():
    colour = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    image = density.density_image(
        np.array([0.5, 0.7, 2.5, 9.0]), np.array([0.1, 0.2, 1.5, 0.0]), colour, 3, 2
    )
    assert image[0, 0].tolist() == [128, 0, 128, 255]
    assert image[1, 2].tolist() == [0, 255, 0, round(255 * 0.35)]
    assert image[..., 3].astype(bool).sum() == 2


def test_nodes_of_a_density_image_cover_the_pixels_within_their_radius():
    at, colour = np.array([2.5]), np.array([[1.0, 0.0, 0.0]])
    image = density.density_image(at, at, colour, 6, 5, radius=1.0)
    assert np.argwhere(image[..., 3]).tolist() == [[1, 2], [2, 1], [2, 2], [2, 3], [3, 2]]
    # What lies outside is left out, and does not come in on the other side.
    image = density.density_image(np.array([5.5]), np.array([0.5]), colour, 6, 5, radius=1.0)
    assert np.argwhere(image[..., 3]).tolist() == [[0, 4], [0, 5], [1, 5]]


def test_a_png_holds_the_pixels():
    image = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    data, at, body = density.png(image), 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, part = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + part)
        body += part if kind == b"IDAT" else b""
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(body), np.uint8).reshape(2, -1)
    assert np.array_equal(lines[:, 1:].reshape(image.shape), image)


@pytest.fixture
def sampled(small, monkeypatch):
    """A posterior that has samples, whose link probability is that of the means."""
    monkeypatch.setattr(Posterior, "node_link_probability", lambda self, pairs: mean_probability(self, pairs))
    return replace(small, draws=((object(),),))


def test_ghost_links_are_the_most_likely_pairs_without_a_link_of_every_node(sampled):
    pairs, probability = ghosts.ghost_links(sampled)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert not sampled.graph.has_edges(pairs).any()
    assert (np.diff(probability) <= 0).all()
    linked = sampled.graph.to_scipy().toarray() > 0
    every = np.column_stack(np.triu_indices(120, 1))
    score = np.full((120, 120), -1.0)
    score[every[:, 0], every[:, 1]] = score[every[:, 1], every[:, 0]] = mean_probability(sampled, every)
    score[linked] = -1.0
    for node in range(0, 120, 17):
        own = probability[(pairs == node).any(axis=1)]
        assert np.allclose(np.sort(own)[::-1][:3], np.sort(score[node])[::-1][:3])


def test_a_run_without_samples_has_no_ghost_links(small):
    pairs, probability = ghosts.ghost_links(small)
    assert pairs.shape == (0, 2)
    assert len(probability) == 0
