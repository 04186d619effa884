"""Planted networks have the covers, the degree and the share of background links that were asked for."""

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.generators.draw import expected_links, pairs_inside
from blockmix.generators.planted import planted


@pytest.mark.parametrize(("nodes", "communities"), [(2000, 20), (5000, 100), (20_000, 500)])
@pytest.mark.parametrize("sizes", ["equal", "powerlaw"])
def test_the_benchmark_networks_have_average_degree_twenty(nodes, communities, sizes):
    made = planted(nodes, communities, degree=20, sizes=sizes, seed=1)
    inside = pairs_inside(made.memberships)
    links = expected_links(inside, made.strengths, made.background, nodes)
    assert links == pytest.approx(nodes * 10, rel=1e-6)
    # Links are independent, so 5 standard deviations mean a false alarm in less than one run in a million.
    assert abs(made.graph.n_edges - links) < 5 * np.sqrt(links)
    assert (made.strengths * inside).sum() == pytest.approx(0.9 * links, rel=1e-6)


def test_every_node_is_in_one_to_three_communities_with_equal_weight():
    made = planted(3000, 30, seed=2)
    counts = np.zeros(3000, dtype=int)
    for k, cover in enumerate(made.covers):
        assert (np.diff(cover) > 0).all()
        counts[cover] += 1
        column = made.memberships[:, k].tocoo()
        assert column.row.tolist() == cover.tolist()
    assert np.allclose(np.repeat(1 / counts, counts), made.memberships.data)
    # A third of the nodes each, within 5 standard deviations of a binomial count.
    assert np.abs(np.bincount(counts, minlength=4)[1:] - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)
    assert len(set(made.strengths.tolist())) == 1


def test_power_law_sizes_are_unequal_and_strengths_inverse_to_them():
    made = planted(20_000, 100, sizes="powerlaw", seed=3)
    sizes = np.array([len(cover) for cover in made.covers])
    assert sizes.max() > 8 * sizes.min()
    mass = np.asarray(made.memberships.sum(axis=0)).ravel()
    assert np.allclose(made.strengths * mass, (made.strengths * mass)[0], rtol=1e-4)


def test_strengths_of_small_communities_stop_at_one():
    made = planted(600, 40, degree=20, sizes="powerlaw", seed=1)
    assert made.strengths.max() == pytest.approx(1.0)
    links = expected_links(pairs_inside(made.memberships), made.strengths, made.background, 600)
    assert links == pytest.approx(6000, rel=1e-6)


def test_all_communities_can_overlap_everywhere():
    made = planted(50, 3, degree=5, overlap=(3, 3), sizes="powerlaw", seed=1)
    assert [len(cover) for cover in made.covers] == [50, 50, 50]


def test_without_mixing_every_link_stays_inside_a_community():
    made = planted(500, 10, degree=10, mixing=0.0, seed=4)
    member = made.memberships.toarray() > 0
    edges = made.graph.edges()
    assert (member[edges[:, 0]] & member[edges[:, 1]]).any(axis=1).all()


def test_the_same_seed_gives_the_same_network():
    one, two, other = (
        planted(500, 5, degree=8, seed=seed, threads=t) for seed, t in ((1, 1), (1, 2), (2, 2))
    )
    assert one.graph.fingerprint == two.graph.fingerprint != other.graph.fingerprint


def test_saved_truth_is_the_planted_covers(tmp_path):
    made = planted(200, 4, degree=6, seed=5)
    lines = (made.save(tmp_path) / "communities.txt").read_text().splitlines()
    assert [[int(v) for v in line.split("\t")] for line in lines] == [cover.tolist() for cover in made.covers]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 60.0}, "with every strength at 1"),
        ({"communities": 1, "overlap": (1, 1)}, "pairs lie between communities"),
        ({"overlap": (0, 2)}, "overlap="),
        ({"overlap": (2, 1)}, "overlap="),
        ({"overlap": (1, 11)}, "between 1 and the number of communities"),
        ({"mixing": 1.0}, "mixing=1"),
        ({"sizes": "huge"}, "sizes='huge'"),
    ],
)
def test_what_cannot_be_planted_is_refused_with_the_reason(options, message):
    with pytest.raises(InputError, match=message):
        planted(**{"nodes": 100, "communities": 10, "degree": 5.0, "seed": 1, **options})
