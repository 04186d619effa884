"""R-hat, effective sample sizes and Monte Carlo error are those of ArviZ, and answer where it has no answer."""

import numpy as np
import pytest

from blockmix.posterior.convergence import bulk_ess, mcse, r_hat, tail_ess

# The agreement with ArviZ that issue and documents state; what is found is closer to 1e-12.
CLOSE = 1e-6
SHAPES = [
    (1, 4), (1, 37), (1, 500), (2, 4), (2, 5), (2, 6), (2, 7), (2, 9), (3, 11), (4, 64), (4, 251), (7, 100)
]  # fmt: skip


def autoregressive(rng, shape, phi):
    noise, values = rng.normal(size=shape), np.empty(shape)
    values[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        values[:, t] = phi * values[:, t - 1] + noise[:, t]
    return values


MAKERS = {
    "independent": lambda rng, shape: rng.normal(size=shape),
    "slow": lambda rng, shape: autoregressive(rng, shape, 0.97),
    "alternating": lambda rng, shape: autoregressive(rng, shape, -0.9),
    "chains apart": lambda rng, shape: rng.normal(size=shape) + 3.0 * np.arange(shape[0])[:, None],
    "chains of different spread": lambda rng, shape: rng.normal(size=shape) * (1.0 + np.arange(shape[0]))[:, None],
    "drifting": lambda rng, shape: rng.normal(size=shape) + np.linspace(0, 5, shape[1]),
    "heavy tails": lambda rng, shape: rng.standard_cauchy(size=shape),
    "tiny": lambda rng, shape: 1e-9 * rng.random(shape),
    "ties": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "mostly zero": lambda rng, shape: np.maximum(rng.normal(size=shape) - 1.0, 0.0),
    "constant": lambda rng, shape: np.full(shape, 0.3),
    "one NaN": lambda rng, shape: np.where(np.arange(shape[1]) == 2, np.nan, rng.normal(size=shape)),
    "all NaN": lambda rng, shape: np.full(shape, np.nan),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("make", MAKERS)
def test_the_statistics_are_those_of_arviz(make, shape):
    stats = pytest.importorskip("arviz_stats.base").array_stats
    for seed in range(5):
        values = MAKERS[make](np.random.default_rng([seed, *shape]), shape)
        expected = [
            stats.rhat(values), stats.ess(values, method="bulk"),
            stats.ess(values, method="tail", prob=(0.05, 0.95)), stats.mcse(values),
        ]  # fmt: skip
        found = [f(values) for f in (r_hat, bulk_ess, tail_ess, mcse)]
        np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=CLOSE, atol=0.0)


def test_many_quantities_at_once_have_the_statistics_of_each_alone():
    rng = np.random.default_rng(4)
    values = np.stack([make(rng, (3, 41)) for make in MAKERS.values()])
    for statistic in (r_hat, bulk_ess, tail_ess, mcse):
        together = statistic(values)
        assert together.shape == (len(MAKERS),)
        np.testing.assert_allclose(together, [statistic(one) for one in values], rtol=1e-12)


@pytest.mark.parametrize("statistic", [r_hat, bulk_ess, tail_ess, mcse])
@pytest.mark.parametrize("draws", [0, 1, 3])
def test_fewer_than_four_draws_have_no_statistics(statistic, draws):
    assert np.isnan(statistic(np.ones((5, 2, draws)))).all()


def test_one_chain_has_no_r_hat():
    assert np.isnan(r_hat(np.random.default_rng(1).normal(size=(1, 100))))


def test_the_monte_carlo_error_is_that_of_the_mean_of_repeated_runs():
    """Means of 400 autoregressive runs: their sd is the stated error within 12%.

    An sd of 400 values has a relative standard error of 3.5%, and the effective sample size of a run of 2,000 draws
    is off by some 5%: a false alarm is rarer than one in a hundred, and the seed is fixed.
    """
    rng = np.random.default_rng(7)
    runs = np.stack([autoregressive(rng, (2, 1000), 0.7) for _ in range(400)])
    assert runs.mean(axis=(1, 2)).std() == pytest.approx(mcse(runs).mean(), rel=0.12)
