"""Colours by which communities can be distinguished, also for readers who see fewer of them."""

from itertools import combinations

import numpy as np

from blockmix.report.pictures.colours import EYES, PALETTE, assign_colours, cielab, likeness

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
