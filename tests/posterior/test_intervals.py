"""Credible intervals hold the mass they name, for any mean and standard deviation a share of 1 can have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from blockmix.posterior.views import beta_interval


@pytest.mark.parametrize(("a", "b"), [(0.3, 4.0), (1.0, 1.0), (2.0, 5.0), (50.0, 3.0), (4000.0, 9000.0)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_an_interval_of_a_beta_law_holds_exactly_its_level(a, b, level):
    law = stats.beta(a, b)
    lower, upper = beta_interval(np.array([law.mean()]), np.array([law.std()]), level)
    assert law.cdf(upper[0]) - law.cdf(lower[0]) == pytest.approx(level, abs=1e-4)
    # where the density piles up at an end, the interval begins there
    tail = (1 - level) / 2 if a >= 1 and b >= 1 else 0.0
    assert law.cdf(lower[0]) == pytest.approx(tail, abs=1e-4)


@given(mean=st.floats(0, 1), sd=st.floats(0, 0.6), level=st.floats(0.01, 0.99))
def test_an_interval_always_lies_in_the_unit_interval_in_order(mean, sd, level):
    lower, upper = beta_interval(np.array([mean]), np.array([sd]), level)
    assert 0 <= lower[0] <= upper[0] <= 1


@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0])
def test_without_spread_the_interval_is_the_mean(mean):
    lower, upper = beta_interval(np.array([mean]), np.array([0.0]), 0.9)
    np.testing.assert_allclose([lower[0], upper[0]], mean, atol=1e-5)


def test_single_precision_and_nothing_at_all_are_taken():
    lower, upper = beta_interval(np.array([0.5], dtype=np.float32), np.array([0.1], dtype=np.float32), 0.9)
    assert lower.dtype == upper.dtype == np.float64
    assert [len(side) for side in beta_interval(np.empty(0), np.empty(0), 0.9)] == [0, 0]
