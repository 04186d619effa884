"""The benchmark after ABCD+o2 has the degrees, sizes, overlap, outliers and noise that were asked for."""

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.generators.abcd import abcd


@pytest.fixture(scope="module")
def made():
    return abcd(4000, memberships=1.5, noise=0.2, outliers=100, seed=4)


def test_communities_overlap_as_much_as_asked_for_and_outliers_are_in_none(made):
    counts = np.bincount(np.concatenate(made.covers), minlength=4000)
    assert (counts == 0).sum() == 100
    assert counts.sum() / 3900 == pytest.approx(1.5, rel=0.01)
    assert counts.max() > 2
    for members in made.covers:
        assert len(np.unique(members)) == len(members)


def test_degrees_are_those_drawn_but_for_a_few_stubs(made):
    degrees = made.graph.degrees
    assert degrees.max() <= 63
    assert (degrees >= 5).mean() > 0.99
    # degree^-2.5 from 5 on: half the nodes have 5 to 7 links
    assert 0.4 < (degrees <= 7).mean() < 0.6


def test_the_share_of_noise_is_the_one_asked_for(made):
    member = made.memberships.toarray() > 0
    ends = made.graph.edges()
    listed = member.any(axis=1)
    ends = ends[listed[ends[:, 0]] & listed[ends[:, 1]]]
    together = (member[ends[:, 0]] & member[ends[:, 1]]).any(axis=1).mean()
    # A background link may fall into a community, and outliers take some of the others' background links.
    assert 0.78 < together < 0.86


def test_without_overlap_every_node_is_in_one_community():
    made = abcd(800, memberships=1.0, size_range=(20, 100), seed=1)
    assert np.bincount(np.concatenate(made.covers), minlength=800).tolist() == [1] * 800
    assert all(20 <= len(members) <= 100 for members in made.covers)


def test_the_same_seed_gives_the_same_network():
    first, second, other = (abcd(300, seed=seed, size_range=(20, 60)).graph for seed in (1, 1, 2))
    assert first.fingerprint == second.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    "options",
    [
        {"noise": 1.5},
        {"outliers": 300},
        {"memberships": 0.5},
        {"degree_range": (5, 300)},
        {"size_range": (1, 10)},
    ],
)
def test_what_cannot_be_drawn_is_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        abcd(300, **options)
