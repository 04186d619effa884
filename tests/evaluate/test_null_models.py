"""Null models: calibrated to the density, degrees shrunk by what chance explains, gains with their standard errors."""

import numpy as np
import pytest

from blockmix.evaluate import log_loss
from blockmix.evaluate.null_models import (
    MOST_GROUPS,
    compare_with_null,
    degree_probability,
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
    t = propensities(degrees)
    # The moments leave a shape of hundreds at most times: t hardly differs from one.
    assert np.abs(t - 1.0).max() < 0.2
    assert (propensities(np.full(10, 4)) == 1.0).all()


def test_unequal_degrees_are_kept_and_nodes_without_links_can_have_some():
    degrees = np.array([0, 1, 2, 40])
    t = propensities(degrees)
    assert t[0] > 0
    assert (np.diff(t) > 0).all()
    assert t.mean() == pytest.approx(1.0)


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
