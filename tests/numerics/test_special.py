"""The special functions agree with SciPy's, and E1 with quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from blockmix.numerics.special import expint_e1, normal_quantile, stirling_remainder

# Named in the docstrings: what the samplers may rely on.
E1_RELATIVE = 1e-12
QUANTILE_RELATIVE = 4e-15
STIRLING_ABSOLUTE = 1e-12


def values(function, points):
    return np.array([function(point) for point in points])


def test_e1_agrees_with_scipy_from_the_smallest_argument_to_underflow():
    points = np.concatenate(
        [np.logspace(-300, -3, 400), np.linspace(1e-3, 6.0, 3000), np.linspace(6.0, 700.0, 2000)]
    )
    np.testing.assert_allclose(values(expint_e1, points), special.exp1(points), rtol=E1_RELATIVE)


@pytest.mark.parametrize("x", [1e-6, 0.1, 1.0, np.nextafter(2.0, 0.0), 2.0, 5.0, 40.0])
def test_e1_is_the_integral_it_claims_to_be(x):
    # t = x + y, with the factor e^(-x) taken out so that quad sees numbers of ordinary size; the pole at
    # y = -x is resolved by the substitution y = x (e^s - 1) below 1.
    near, _ = integrate.quad(lambda s: math.exp(-x * math.expm1(s)), 0.0, math.log1p(1.0 / x), epsabs=0.0)
    far, _ = integrate.quad(lambda y: math.exp(-y) / (x + y), 1.0, math.inf, epsabs=0.0)
    assert expint_e1(x) == pytest.approx(math.exp(-x) * (near + far), rel=1e-8)


def test_e1_at_its_borders():
    assert expint_e1(0.0) == math.inf
    assert expint_e1(1e6) == 0.0
    assert math.isnan(expint_e1(-1.0))
    assert math.isnan(expint_e1(math.nan))


def test_the_normal_quantile_agrees_with_scipy_over_all_53_bits():
    tails = 2.0 ** -np.arange(2.0, 54.0)
    points = np.concatenate([tails, 1.0 - tails, np.linspace(0.001, 0.999, 999), [0.075, 0.925]])
    np.testing.assert_allclose(
        values(normal_quantile, points), special.ndtri(points), rtol=QUANTILE_RELATIVE, atol=1e-16
    )


def test_the_normal_quantile_is_odd_to_the_last_bit():
    below = np.concatenate([2.0 ** -np.arange(2.0, 53.0), np.arange(1, 500) / 1024.0])
    np.testing.assert_array_equal(values(normal_quantile, 1.0 - below), -values(normal_quantile, below))


def test_stirlings_remainder_completes_the_factorial():
    counts = np.concatenate([np.arange(10.0, 200.0), [1e3, 1e4]])
    stirling = (counts + 0.5) * np.log(counts) - counts + 0.5 * math.log(2.0 * math.pi)
    # log k! itself is known only to its last bit, which at 1e4 is worth 1e-11.
    rounding = 4.0 * np.finfo(float).eps * special.gammaln(counts + 1.0)
    error = np.abs(values(stirling_remainder, counts) - (special.gammaln(counts + 1.0) - stirling))
    assert np.all(error < STIRLING_ABSOLUTE + rounding)
