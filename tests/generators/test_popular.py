"""Networks with popularities have the links of (DC1), the degree that was asked for, and hubs.

False alarms: counts are compared within 5 standard deviations, less than one run in a million. Seeds are fixed.
"""

import json

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.generators.popular import draw_popular_links, powerlaw, with_popularity
from blockmix.generators.simulate import simulate


def test_every_pair_is_a_link_with_the_probability_of_the_model():
    """2,000 networks of twelve nodes: the frequency of every link, within 5 standard deviations."""
    rng = np.random.default_rng(1)
    pi, r = rng.dirichlet([0.5, 0.5, 0.5], 12), rng.gamma(1.0, 1.0, 12)
    rates = np.array([2.0, 0.7, 0.1, 0.2])
    theta = with_popularity(pi, r)
    count, networks = np.zeros((12, 12)), 2000
    for seed in range(networks):
        links = np.unique(draw_popular_links(theta, rates, seed=seed, threads=1), axis=0)
        count[links[:, 0], links[:, 1]] += 1
    p = -np.expm1(-np.outer(r, r) * (rates[3] + (pi * rates[:3]) @ pi.T))
    upper = np.triu_indices(12, 1)
    gap = np.abs(count / networks - p)[upper]
    assert (gap <= 5 * np.sqrt((p * (1 - p))[upper] / networks) + 1e-3).all()
    assert not np.tril(count).any()


@pytest.mark.parametrize("degrees", ["gamma", "powerlaw"])
@pytest.mark.parametrize("draw", [planted, simulate])
def test_the_average_degree_is_met_and_nodes_differ(draw, degrees):
    made = draw(4000, 20, degree=12, degrees=degrees, seed=3)
    equal = draw(4000, 20, degree=12, seed=3)
    assert 2 * made.graph.n_edges / 4000 == pytest.approx(12, rel=0.03)
    assert made.graph.degrees.std() > 2 * equal.graph.degrees.std()
    assert np.corrcoef(made.popularity, made.graph.degrees)[0, 1] > 0.9
    assert equal.popularity is None


def test_a_power_law_has_its_exponent_range_and_mean():
    values = powerlaw(np.random.default_rng(1), 400_000, 2.5, 200.0)
    assert values.max() / values.min() == pytest.approx(200, rel=0.05)
    assert values.mean() == pytest.approx(1.0, rel=0.02)
    # P(r > x) falls as x^-1.5 as long as x is far from the end of the range
    small = values.min()
    ratio = (values > 8 * small).mean() / (values > 2 * small).mean()
    assert ratio == pytest.approx(4**-1.5, rel=0.05)


def test_the_background_nearly_keeps_its_share_of_the_links():
    """A little more: inside a community more points fall on pairs that are linked already."""
    made = planted(3000, 30, degree=15, mixing=0.3, degrees="powerlaw", overlap=(1, 1), seed=5)
    part = np.asarray(made.memberships.argmax(axis=1)).ravel()
    ends = made.graph.edges()
    between = (part[ends[:, 0]] != part[ends[:, 1]]).mean()
    assert 0.29 < between < 0.37


def test_popularities_are_saved_and_removed_with_the_network(tmp_path):
    made = planted(50, 3, degree=6, degrees="gamma", rho=0.7, seed=1)
    made.save(tmp_path)
    lines = (tmp_path / "popularity.tsv").read_text().splitlines()
    assert lines[0] == "node\tpopularity"
    assert [float(line.split("\t")[1]) for line in lines[1:]] == pytest.approx(made.popularity, rel=1e-6)
    assert json.loads((tmp_path / "parameters.json").read_text())["rho"] == 0.7
    planted(50, 3, degree=6, seed=1).save(tmp_path, overwrite=True)
    assert not (tmp_path / "popularity.tsv").exists()


@pytest.mark.parametrize(
    "options", [{"degrees": "unequal"}, {"degrees": "gamma", "rho": 0.0}, {"degree": 49.0}]
)
def test_what_cannot_be_drawn_is_refused(options):
    with pytest.raises(InputError, match="|".join(options)):
        planted(
            50, 10, **({"degree": 5.0, "degrees": "powerlaw", "overlap": (1, 1), "mixing": 0.0} | options)
        )
