"""The laws of weights: densities (DC12), (DC13), units given an amount, and the size of a unit (DC14)."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from blockmix.model.links import log_amount, log_count
from blockmix.numerics.compile import from_python
from blockmix.samplers.scir.popularity.frame import MOST_UNITS, Weights
from blockmix.samplers.scir.popularity.weights import AMOUNTS, Tally, draw_unit, set_terms, units_of_amount
from blockmix.tables.layout import Key
from blockmix.tables.weighted import WeightLaw, expected_weight, weight_density

log_count, weight_density, expected_weight = map(from_python, (log_count, weight_density, expected_weight))
M = np.arange(1, MOST_UNITS + 1)


@pytest.mark.parametrize("rate", [1e-6, 0.3, 40.0])
@pytest.mark.parametrize("weight", [1.0, 2.0, 30.0])
def test_the_density_of_a_count_is_that_of_poisson(rate, weight):
    assert log_count(weight, rate) == pytest.approx(stats.poisson.logpmf(weight, rate), rel=1e-9)
    law = WeightLaw(True, 1.0, 1.0, 1.0, MOST_UNITS)
    assert weight_density(weight, rate, law) == pytest.approx(stats.poisson.pmf(weight, rate), rel=1e-9)
    assert expected_weight(rate, law) == rate


@pytest.mark.parametrize("rate", [1e-6, 0.3, 8.0])
@pytest.mark.parametrize("amount", [1e-3, 0.7, 15.0])
@pytest.mark.parametrize("unit", [(0.4, 0.2), (3.0, 5.0), (400.0, 300.0)])
def test_the_density_of_an_amount_is_a_sum_over_units(rate, amount, unit):
    terms = stats.poisson.logpmf(M, rate) + stats.gamma.logpdf(amount, unit[0] * M, scale=1.0 / unit[1])
    exact = float(np.logaddexp.reduce(terms))
    assert log_amount(np.log(amount), rate, *unit, MOST_UNITS) == pytest.approx(exact, rel=1e-8, abs=1e-8)
    law = WeightLaw(False, *unit, 2.5, MOST_UNITS)
    assert weight_density(2.5 * amount, rate, law) == pytest.approx(np.exp(exact) / 2.5, rel=1e-7, abs=1e-300)
    assert weight_density(0.0, rate, law) == pytest.approx(np.exp(-rate))
    assert expected_weight(rate, law) == pytest.approx(rate * unit[0] / unit[1] * 2.5)


@pytest.mark.parametrize("mean", [1e-4, 0.8, 25.0])
@pytest.mark.parametrize("amount", [0.01, 1.0, 9.0])
@pytest.mark.parametrize("unit", [(0.4, 0.2), (3.0, 5.0), (100.0, 70.0)])
def test_units_are_drawn_with_their_probabilities_given_the_amount(mean, amount, unit):
    terms = np.zeros(MOST_UNITS + 1)
    set_terms(unit[0], terms)
    weights = Weights(AMOUNTS, np.empty(0), unit[0], np.log(unit[1]), terms)
    logs = M * np.log(mean) - gammaln(M + 1.0) + unit[0] * M * np.log(unit[1] * amount) - gammaln(unit[0] * M)
    exact = np.exp(logs - np.logaddexp.reduce(logs))
    uniforms = (np.arange(4000) + 0.5) / 4000
    drawn = np.array([units_of_amount(mean, np.log(amount), u, weights) for u in uniforms])
    found = np.bincount(drawn, minlength=MOST_UNITS + 1)[1:] / len(uniforms)
    np.testing.assert_allclose(found, exact, atol=3e-4)


def test_the_size_of_a_unit_is_drawn_from_its_law_given_the_units():
    """Against a sum over a grid of the shape; the rate is a Gamma variable given it."""
    rng = np.random.default_rng(1)
    units = 1 + rng.poisson(0.7, 12)
    amounts = rng.gamma(2.0 * units) / 1.5
    links = np.bincount(units, minlength=MOST_UNITS + 1)
    tally = Tally(links, float(units.sum()), float(units @ np.log(amounts)), float(amounts.sum()))
    t = np.linspace(np.log(0.01), np.log(1e4), 20_001)
    s, total = np.exp(t)[:, None], 1.0 + np.exp(t) * units.sum()
    logs = t - 2.0 * np.log1p(s[:, 0]) - t + gammaln(total) - total * np.log(1.0 / s[:, 0] + amounts.sum())
    logs += (s * units * np.log(amounts) - gammaln(s * units)).sum(axis=1)
    law = np.exp(logs - logs.max())
    law /= law.sum()
    unit, found = np.array([1.0, 1.0]), []
    for sweep in range(20_000):
        draw_unit(unit, tally, Key(np.uint32(3), np.uint32(4), np.uint32(sweep)))
        found.append(
            (np.log(unit[0]), unit[1] * (1.0 / unit[0] + amounts.sum()) / (1.0 + unit[0] * units.sum()))
        )
    shape, ratio = np.array(found).T
    for power in (1, 2):
        batches = (shape**power).reshape(40, -1).mean(axis=1)
        error = batches.std(ddof=1) / np.sqrt(40)
        assert abs(batches.mean() - law @ t**power) < 4.0 * error
    assert ratio.mean() == pytest.approx(1.0, abs=0.02)
