"""Null models: calibrated to the density, degrees shrunk by what chance explains, gains with their standard errors."""

import numpy as np
import pytest
from scipy.optimize import minimize

from blockmix.evaluate import log_loss, null_models
from blockmix.evaluate.null_models import (
    MOST_GROUPS,
    compare_with_null,
    degree_probability,
    degree_shape,
    mean_gain,
    propensities,
)


def all_pairs(nodes):
    return np.column_stack(np.triu_indices(nodes, 1)).astype(np.int64)


@pytest.mark.parametrize("density", [0.001, 0.1, 0.7])
def test_the_degree_model_has_the_density_of_the_network_on_average(density):
    degrees = np.random.default_rng(1).zipf(2.2, 300).clip(0, 60)
    assert degree_probability(degrees, density, all_pairs(300)).mean() == pytest.approx(density, rel=1e-6)


def test_very_many_distinct_degrees_are_grouped_and_still_calibrated():
    degrees = np.arange(3 * MOST_GROUPS) + 1
    pairs = all_pairs(len(degrees))
    assert degree_probability(degrees, 0.05, pairs).mean() == pytest.approx(0.05, rel=1e-3)


def test_degrees_that_vary_as_by_chance_give_the_density_alone():
    degrees = np.random.default_rng(2).poisson(8.0, 5000)
    (t,) = propensities([degrees])
    # The moments leave a shape of hundreds at most times: t hardly differs from one.
    assert np.abs(t - 1.0).max() < 0.2
    assert (propensities([np.full(10, 4)])[0] == 1.0).all()


def test_unequal_degrees_are_kept_and_nodes_without_links_can_have_some():
    degrees = np.array([0, 1, 2, 40] + [1] * 40)
    (t,) = propensities([degrees])
    assert t[0] > 0
    assert (np.diff(t[:4]) > 0).all()
    assert t.mean() == pytest.approx(1.0)


def hub_degrees(nodes, seed=1):
    rng = np.random.default_rng(seed)
    r = rng.pareto(1.5, nodes) + 1.0
    rate = np.outer(r, r) * 8.0 / (nodes * r.mean() ** 2)
    links = np.triu(rng.random((nodes, nodes)) < -np.expm1(-rate), 1)
    return links, (links | links.T).sum(axis=1)


def test_propensities_are_at_the_mode_of_their_posterior():
    _, degrees = hub_degrees(40)
    shape, (a, b) = degree_shape(degrees), all_pairs(40).T

    def cost(x):
        odds = x[-1] + x[a] + x[b]
        likelihood = degrees @ x[:-1] + degrees.sum() / 2 * x[-1] - np.logaddexp(0.0, odds).sum()
        return -(likelihood + shape * (x[:-1] - np.exp(x[:-1])).sum())

    best = minimize(cost, np.append(np.zeros(40), -2.0), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(propensities([degrees])[0], np.exp(best.x[:-1]), rtol=1e-3)


def test_propensities_of_two_sides_are_those_of_every_node_given_the_other_side():
    rng = np.random.default_rng(5)
    r, q = rng.gamma(0.5, 2.0, 30), rng.gamma(2.0, 0.5, 50)
    links = rng.random((30, 50)) < -np.expm1(-0.2 * np.outer(r, q))
    sides = [links.sum(axis=1), links.sum(axis=0)]
    t, u = propensities(sides)
    assert t.mean() == pytest.approx(1.0, abs=1e-4)
    assert u.mean() == pytest.approx(1.0, abs=1e-4)
    pairs = np.stack(np.meshgrid(np.arange(30), 30 + np.arange(50), indexing="ij"), axis=-1).reshape(-1, 2)
    p = degree_probability(np.concatenate(sides), links.mean(), pairs, first=30).reshape(30, 50)
    # Degrees are those expected, but for the prior.
    s = degree_shape(sides[0])
    np.testing.assert_allclose(p.sum(axis=1) + s * t, sides[0] + s, atol=0.02)


def test_hubs_that_are_linked_to_nearly_everybody_get_the_degrees_they_have():
    """Five hubs of 400 nodes with 360 links each: in first order, degree over mean degree, others get their links."""
    degrees = np.concatenate([np.full(5, 360), np.full(395, 8)])
    density, pairs = degrees.sum() / 2 / 79_800, all_pairs(400)
    p = degree_probability(degrees, density, pairs)
    # The prior takes 2% of the largest.
    np.testing.assert_allclose(p[(pairs == 0).any(axis=1)].sum(), 360, rtol=0.03)
    np.testing.assert_allclose(p[(pairs == 399).any(axis=1)].sum(), 8, rtol=0.02)
    shape = degree_shape(degrees)
    first = (degrees + shape) / (degrees.mean() + shape)
    odds = null_models._scale([first], density) * first[pairs[:, 0]] * first[pairs[:, 1]]
    assert (odds / (1 + odds))[(pairs == 0).any(axis=1)].sum() < 330


@pytest.mark.parametrize(
    "degrees",
    [np.full(9, 8), np.array([30] + [1] * 30), np.array([1, 1]), np.array([1, 1, 0]), np.zeros(5, dtype=int),
     np.array([0, 1, 2, 40])],
    ids=["complete", "star", "one link", "one link and a node", "no link", "no network"],
)  # fmt: skip
def test_networks_at_the_edge_have_finite_probabilities(degrees):
    pairs = all_pairs(len(degrees))
    p = degree_probability(degrees, 0.9, pairs)
    assert np.isfinite(p).all()
    assert ((p > 0) & (p < 1)).all()


def test_very_many_distinct_degrees_have_nearly_the_propensities_of_single_ones(monkeypatch):
    _, degrees = hub_degrees(400, seed=3)
    exact = propensities([degrees])[0]
    monkeypatch.setattr(null_models, "MOST_GROUPS", 25)
    assert len(np.unique(degrees)) > 30
    np.testing.assert_allclose(propensities([degrees])[0], exact, rtol=0.1)


def test_the_gain_is_the_difference_of_the_log_losses_and_its_error_that_of_two_samples():
    rng = np.random.default_rng(3)
    links = np.arange(60) < 20
    p, q, density = rng.uniform(0.1, 0.9, 60), rng.uniform(0.1, 0.9, 60), 0.2
    gain, error = mean_gain(p, q, links, density)
    assert gain == pytest.approx(log_loss(q, links, density) - log_loss(p, links, density))
    loss = np.where(links, np.log(p / q), np.log((1 - p) / (1 - q)))
    a, b = loss[links], loss[~links]
    assert error == pytest.approx(np.sqrt(0.04 * a.var(ddof=1) / 20 + 0.64 * b.var(ddof=1) / 40))


def test_one_pair_of_a_kind_decides_nothing():
    pairs, links = np.array([[0, 1], [0, 2]]), np.array([True, False])
    found = compare_with_null(np.array([0.01, 0.99]), pairs, links, np.array([1, 1, 0]), 0.5)
    assert found.verdict == "too few"
    assert found.gain < 0


@pytest.mark.parametrize(
    ("links", "non_links", "verdict"),
    [(9, 40, "too few"), (10, 40, "worse"), (40, 9, "too few"), (40, 10, "worse")],
)
def test_a_verdict_takes_ten_pairs_of_both_kinds(links, non_links, verdict):
    kinds = np.arange(links + non_links) < links
    wrong = np.where(kinds, 0.1, 0.9)
    found = compare_with_null(wrong, all_pairs(20)[: len(kinds)], kinds, np.full(20, 5), 0.3)
    assert found.fewest == min(links, non_links)
    assert found.verdict == verdict


@pytest.mark.parametrize(("truth", "verdict"), [(True, "better"), (False, "worse")])
def test_predictions_are_better_or_worse_by_two_errors(truth, verdict):
    rng = np.random.default_rng(4)
    links = np.arange(80) < 40
    right = np.where(links == truth, 0.9, 0.1) + rng.uniform(-0.05, 0.05, 80)
    found = compare_with_null(right, all_pairs(20)[:80], links, np.full(20, 5), 0.3)
    assert found.verdict == verdict
    assert found.null_log_loss == min(found.density_log_loss, found.degree_log_loss)
    assert found.share == pytest.approx(1 - found.log_loss / found.null_log_loss)


def test_degrees_are_the_model_to_beat_where_they_explain_the_links():
    degrees = np.concatenate([np.full(10, 60), np.full(90, 3)])
    hubs = [(a, b) for a in range(10) for b in range(a)]
    others = [(a, b) for a in range(50, 70) for b in range(70, 72)]
    links = np.arange(len(hubs) + len(others)) < len(hubs)
    found = compare_with_null(np.full(len(links), 0.08), np.array(hubs + others), links, degrees, 0.08)
    assert found.null == "degrees"
    assert found.verdict == "worse"
