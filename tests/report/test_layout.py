"""Places of nodes: reproducible, communities apart, nothing on top of each other."""

import numpy as np
import pytest

from blockmix.report.communities import Findings
from blockmix.report.pictures import layout
from blockmix.report.pictures.drawing import draw


def exact_repulsion(place, mass):
    gap = place[:, None] - place[None]
    square = (gap**2).sum(axis=2) + np.eye(len(place))
    return (gap * (mass[None] / square)[:, :, None]).sum(axis=1) * mass[:, None]


def repulsion(place, mass):
    force = np.full_like(place, np.nan)
    layout._repel(place, mass, layout.make_grid(place, mass), force)
    return force


def test_repulsion_on_the_grid_is_close_to_the_exact_sum():
    rng = np.random.default_rng(3)
    place, mass = rng.normal(size=(700, 2)), rng.uniform(0.5, 2.0, 700)
    exact = exact_repulsion(place, mass)
    error = np.linalg.norm(repulsion(place, mass) - exact) / np.linalg.norm(exact)
    assert error < 0.02
    # A grid that forgot its far cells would be caught.
    grid = layout.make_grid(place, mass)
    near = np.full_like(place, np.nan)
    centre = np.full_like(grid.centre, 1e9)
    layout._repel(place, mass, grid._replace(centre=centre), near)
    assert np.linalg.norm(near - exact) / np.linalg.norm(exact) > 0.1


def test_two_linked_nodes_settle_where_pull_repulsion_and_gravity_balance():
    place = layout.force_layout(np.array([[0, 1]]), np.array([2.0]), np.array([[0.0, 0.0], [1.0, 0.0]]))
    distance = abs(place[1, 0] - place[0, 0])
    # 1/d = w d + g d/2 along x, where gravity pulls each node towards the middle.
    expected = 1.0 / np.sqrt(2.0 + layout._GRAVITY[0] / 2.0)
    assert distance == pytest.approx(expected, rel=0.05)
    assert abs(place[:, 1]).max() < 1e-6


@pytest.mark.parametrize("nodes", [0, 1, 2, 63])
def test_nodes_that_start_on_one_spot_are_parted(nodes):
    place = layout.force_layout(np.zeros((0, 2), dtype=int), np.zeros(0), np.zeros((nodes, 2)))
    assert np.isfinite(place).all()
    assert len(np.unique(place.round(6), axis=0)) == nodes


def test_discs_are_pushed_apart():
    rng = np.random.default_rng(1)
    place, radius = rng.uniform(0, 20, (200, 2)), rng.uniform(0.1, 0.6, 200)

    def overlap(places):
        distance = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e9 * np.eye(len(places))
        return float(np.maximum(radius[:, None] + radius[None] - distance, 0).max())

    assert overlap(place) > 0.5
    assert overlap(layout.push_apart(place, radius, 0.05, rounds=300)) < 0.02


def test_a_drawing_is_the_same_every_time_and_changes_with_the_seed(small):
    first, again, other = (draw(Findings(small), seed=s)[0] for s in (1, 1, 2))
    assert np.array_equal(first.place, again.place)
    assert not np.allclose(first.place, other.place)


def test_members_of_a_community_are_drawn_together(small):
    drawing, _ = draw(Findings(small))
    group = np.arange(120) * 6 // 120
    centres = np.array([np.median(drawing.place[group == k], axis=0) for k in range(6)])
    nearest = np.linalg.norm(drawing.place[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.8


def test_a_network_without_links_or_communities_can_be_drawn(make_posterior):
    post = make_posterior(2, 1, held_out=False)
    drawing, _ = draw(Findings(post, threshold=1.0))
    assert len(drawing.ids) == 2
    assert np.isfinite(drawing.place).all()
