"""Intervals of strengths are those of the posterior samples where enough are kept, and of a Beta law elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from blockmix.posterior.sample_intervals import ENOUGH_SAMPLES, sample_interval
from blockmix.posterior.views import beta_interval

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
SETS = 4000


def moments(x):
    return x.mean(axis=0), x.std(axis=0)


@pytest.mark.parametrize("shares", [(1.0,), (0.7, 0.3)])
@pytest.mark.parametrize("law", [stats.beta(2.0, 5.0), stats.beta(30.0, 1.2)], ids=["wide", "near one"])
def test_intervals_hold_their_level_on_average_over_sets_of_samples(law, shares):
    """100 samples a set, of one chain or of two that count differently. Largest |z| of six levels below 4: 4e-4."""
    x = law.rvs((ENOUGH_SAMPLES, SETS), random_state=np.random.default_rng(1))
    weights = np.repeat(np.array(shares) * len(shares) / ENOUGH_SAMPLES, ENOUGH_SAMPLES // len(shares))
    for level in LEVELS:
        lower, upper = sample_interval(x, weights, np.full(SETS, law.mean()), np.full(SETS, law.std()), level)
        held = law.cdf(upper) - law.cdf(lower)
        assert abs(held.mean() - level) < 4 * held.std() / np.sqrt(SETS) + 1e-4


def test_of_a_law_with_two_peaks_the_samples_hold_half_where_the_beta_law_holds_more():
    """Two explanations of one community, of which one counts a fifth, as chains find them."""
    rng = np.random.default_rng(2)
    which = rng.random((400, 200)) < 0.2
    x = np.where(which, rng.beta(40.0, 60.0, which.shape), rng.beta(90.0, 10.0, which.shape))

    def held(lower, upper):
        laws = [law.cdf(upper) - law.cdf(lower) for law in (stats.beta(40.0, 60.0), stats.beta(90.0, 10.0))]
        return float((0.2 * laws[0] + 0.8 * laws[1]).mean())

    assert held(*sample_interval(x, np.ones(400), *moments(x), 0.5)) == pytest.approx(0.5, abs=0.01)
    assert held(*beta_interval(*moments(x), 0.5)) > 0.6


def test_an_interval_lies_in_that_of_a_higher_level_and_in_the_unit_interval():
    rng = np.random.default_rng(3)
    shapes = np.exp(rng.uniform(-1.0, 5.0, (2, 300)))
    x = rng.beta(*shapes, (120, 300)).astype(np.float32)
    levels = np.linspace(0.01, 0.9999, 60)
    ends = np.array([sample_interval(x, np.ones(120), *moments(x.astype(float)), level) for level in levels])
    assert (np.diff(ends[:, 0], axis=0) <= 1e-7).all()
    assert (np.diff(ends[:, 1], axis=0) >= -1e-7).all()
    assert (ends[:, 0] <= ends[:, 1]).all()
    assert ends.min() >= 0.0
    assert ends.max() <= 1.0


def test_samples_that_are_all_alike_are_the_interval():
    lower, upper = sample_interval(np.full((150, 1), 0.25), np.ones(150), np.array([0.25]), np.zeros(1), 0.99)
    np.testing.assert_allclose([lower, upper], 0.25, atol=1e-5)


def histories(samples, chains, rng):
    """Two communities that stay as they are, with strengths that differ from sample to sample."""
    rows = np.tile(
        np.array([[1.0, 0.0], [1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0], [0.0, 1.0]]), (samples, 1, 1)
    )
    strengths = [
        np.column_stack([rng.beta(2.0, 6.0, samples), rng.beta(6.0, 2.0, samples), np.full(samples, 0.05)])
        for _ in range(chains)
    ]
    return [rows] * chains, strengths


def columns(post):
    """The strengths of all samples kept, by the communities of the result."""
    return np.concatenate(post.strength_draws).astype(float)


@pytest.mark.parametrize(("samples", "used"), [(ENOUGH_SAMPLES - 1, False), (ENOUGH_SAMPLES, True)])
def test_strengths_have_the_intervals_of_samples_from_a_hundred_on(posterior_of, samples, used):
    post = posterior_of(*histories(samples, 1, np.random.default_rng(4)))
    assert len(post.draws[0]) == samples
    table = post.strengths(level=0.6)
    beta = beta_interval(post.strength_mean, post.strength_sd, 0.6)
    assert np.allclose(beta, (table.lower, table.upper)) is not used
    if used:
        quantiles = np.quantile(columns(post), [0.2, 0.8], axis=0, method="weibull")
        np.testing.assert_allclose((table.lower, table.upper), quantiles, rtol=1e-6)


def test_chains_count_by_their_weights(posterior_of):
    """A chain of no weight does not count at all, neither as quantiles nor for whether there are enough."""
    rows, strengths = histories(80, 2, np.random.default_rng(5))
    strengths[1] = strengths[1] / 2.0
    post = posterior_of(rows, strengths)
    beta = beta_interval(post.strength_mean, post.strength_sd, 0.9)

    def of_weights(weights, level=0.9):
        table = replace(post, provenance={"pool": {"weights": weights}}).strengths(level=level)
        return np.array([table.lower, table.upper])

    assert not np.allclose(of_weights([0.5, 0.5]), beta)
    np.testing.assert_allclose(of_weights([1.0, 0.0]), beta)
    # 1/(.95^2/80 + .05^2/80) = 88 samples
    np.testing.assert_allclose(of_weights([0.95, 0.05]), beta)
    both = columns(post)
    both = np.concatenate([np.repeat(both[:80], 4, axis=0), both[80:]])
    expected = np.quantile(both, [0.25, 0.75], axis=0)
    lower, upper = of_weights([0.8, 0.2], 0.5)
    np.testing.assert_allclose((lower, upper), expected, atol=0.03)
    lower, upper = of_weights([0.2, 0.8], 0.5)
    assert not np.allclose((lower, upper), expected, atol=0.03)


def test_a_variational_fit_keeps_the_intervals_of_its_beta_laws(posterior_of):
    """Its moments are those of its last state, and the samples kept are of earlier ones too."""
    post = posterior_of(*histories(150, 1, np.random.default_rng(6)))
    table = replace(post, provenance={"samples": 1}).strengths()
    np.testing.assert_array_equal(
        (table.lower, table.upper), beta_interval(post.strength_mean, post.strength_sd, 0.9)
    )
