"""Colours by which communities can be distinguished, also for readers who see fewer of them."""

from itertools import combinations

import numpy as np

from blockmix.report.pictures.colours import PALETTE, assign_colours

# How the three common kinds of colour blindness see linear RGB (Machado, Oliveira and Fernandes 2009).
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
# Two discs side by side are distinguished from about 10 units of CIELAB on; ask for more.
APART = 15.0


def lab(colour, matrix):
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def smallest_distance(palette, matrix):
    return min(np.linalg.norm(lab(a, matrix) - lab(b, matrix)) for a, b in combinations(palette, 2))


def test_every_two_colours_are_told_apart_whatever_the_eye():
    for kind, matrix in BLINDNESS.items():
        assert smallest_distance(PALETTE, matrix) > APART, kind
    # The usual eight of matplotlib are not.
    usual = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f"]
    assert min(smallest_distance(usual, matrix) for matrix in BLINDNESS.values()) < APART


def test_the_first_communities_all_differ():
    colours = assign_colours(np.zeros((0, 2), dtype=int), np.zeros(0), len(PALETTE))
    assert sorted(colours) == list(range(len(PALETTE)))


def test_communities_with_many_links_between_them_differ():
    count = 60
    ring = np.array([[k, (k + step) % count] for k in range(count) for step in (1, 2, 3)])
    colours = assign_colours(ring, np.ones(len(ring)), count)
    assert (colours[ring[:, 0]] != colours[ring[:, 1]]).mean() > 0.97
    assert np.bincount(colours, minlength=len(PALETTE)).max() < count / 3
