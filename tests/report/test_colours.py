"""Colours by which communities can be distinguished, also for readers who see fewer of them."""

from itertools import combinations

import numpy as np

from blockmix.report.pictures.colours import EYES, PALETTE, assign_colours, cielab, close_in_picture, likeness

# Two discs side by side are distinguished from about 10 units of CIELAB on; ask for more.
APART = 15.0


def smallest_distance(palette, matrix):
    return min(np.linalg.norm(cielab(a, matrix) - cielab(b, matrix)) for a, b in combinations(palette, 2))


def test_every_two_colours_are_told_apart_whatever_the_eye():
    for kind, matrix in EYES.items():
        assert smallest_distance(PALETTE, matrix) > APART, kind
    # The usual eight of matplotlib are not.
    usual = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"]
    assert min(smallest_distance(usual, matrix) for matrix in EYES.values()) < APART


def test_the_first_communities_all_differ():
    colours = assign_colours(np.zeros((0, 2), dtype=int), np.zeros(0), len(PALETTE))
    assert sorted(colours) == list(range(len(PALETTE)))


def test_communities_with_many_links_between_them_differ():
    count = 60
    ring = np.array([[k, (k + step) % count] for k in range(count) for step in (1, 2, 3)])
    colours = assign_colours(ring, np.ones(len(ring)), count)
    assert (colours[ring[:, 0]] != colours[ring[:, 1]]).mean() > 0.97
    assert np.bincount(colours, minlength=len(PALETTE)).max() < count / 3


def test_a_neighbour_gets_the_colour_least_like_those_around_it():
    # All colours are used once; the next community is close to the first one only.
    count = len(PALETTE) + 1
    colours = assign_colours(np.array([[0, count - 1]]), np.array([1.0]), count)
    assert colours[-1] == likeness()[colours[0]].argmin()


def test_a_colour_is_wholly_like_itself_and_half_like_one_at_25_units():
    assert np.allclose(np.diag(likeness()), 1.0)
    i, j = 0, 1
    distance = min(np.linalg.norm(cielab(PALETTE[i], m) - cielab(PALETTE[j], m)) for m in EYES.values())
    assert np.isclose(likeness()[i, j], 0.5 ** (distance / 25.0) ** 2)


def test_communities_side_by_side_differ_also_without_links_and_all_colours_are_used():
    rng = np.random.default_rng(3)
    centre = rng.uniform(size=(200, 2))
    links, weight = rng.integers(0, 200, (400, 2)), rng.uniform(1, 2, 400)
    colours = assign_colours(*close_in_picture(links, weight, centre, np.zeros(200)), 200)
    distance = np.linalg.norm(centre[:, None] - centre[None], axis=2) + 9.0 * np.eye(200)
    nearest = np.argsort(distance, axis=1)[:, :3]
    assert (colours[:, None] == colours[nearest]).mean() < 0.02
    assert likeness()[colours, colours[nearest[:, 0]]].mean() < 0.6 * likeness().mean()
    counts = np.bincount(colours, minlength=len(PALETTE))
    assert counts.min() > 0.5 * counts.mean()
    assert counts.max() < 2.0 * counts.mean()


def test_what_is_beside_a_disc_is_told_by_gaps_and_not_by_centres():
    # From the first, the large disc is further away than the small one, and its rim is nearer.
    centre, radius = np.array([[0.0, 0.0], [0.0, 2.0], [5.0, 0.0]]), np.array([0.5, 0.5, 4.0])
    pairs, weight = close_in_picture(np.zeros((0, 2), dtype=int), np.zeros(0), centre, radius)
    assert weight[(pairs == [0, 2]).all(axis=1)] == 2 * weight[(pairs == [0, 1]).all(axis=1)]
    # Where nothing is known of links or places, no pair is close.
    assert len(close_in_picture(np.zeros((0, 2), dtype=int), np.zeros(0), centre[:1], radius[:1])[0]) == 0
