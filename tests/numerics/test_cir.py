"""A step of the compiled CIR transition has exactly the law of the process, at any step.

False alarms: the p-values of the whole file are compared with 1e-3 over their number, so it alarms for one
seed in 1000. The seed is fixed.
"""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from blockmix.numerics.cir import Process, cir_scale, cir_step
from blockmix.numerics.philox import stream_key, stream_word
from blockmix.samplers.scir.reference.diffusion import cir_moments

SEED, DRAWS = 20260716, 40_000
# phi, A, b, h: from components next to zero to hubs, from steps that hardly move to steps that forget.
CASES = [
    (0.0, 0.05, 1.0, 0.5),
    (1e-3, 0.05, 1.0, 0.1),
    (0.3, 0.7, 1.0, 2.0),
    (5.0, 4.0, 1.5, 0.5),
    (40.0, 35.0, 1.0, 0.01),
    (40.0, 0.4, 8.0, 0.5),
    (900.0, 1000.0, 1.1, 1.0),
    (2.0, 3.0, 60.0, 50.0),
]
COMPARISONS = 3 * len(CASES)
SMALLEST_P = 1e-3 / COMPARISONS


@njit(nogil=True)
def fill(out, phi, shape, rate, step, k0, k1, first):
    process = Process(shape, rate, step)
    for i in range(len(out)):
        jumps, size = stream_word(1, 0), stream_word(2, 0)
        out[i] = cir_step(phi, process, k0, k1, np.uint32(first + i), np.uint32(3), jumps, size)


def sample(case, first=0, count=DRAWS):
    k0, k1 = stream_key(np.uint64(SEED), 0)
    out = np.full(count, np.nan)
    fill(out, *case, np.uint32(k0), np.uint32(k1), first)
    return out


def law(phi, shape, rate, step):
    """phi' = X/(2c), X noncentral chi-square, 2A degrees of freedom, noncentrality 2 c phi e^(-bh/2)."""
    decay = np.exp(-rate * step / 2)
    scale = rate / (1 - decay)
    if phi == 0:
        return stats.gamma(shape, scale=1 / scale)
    return stats.ncx2(df=2 * shape, nc=2 * scale * phi * decay, scale=1 / (2 * scale))


@pytest.mark.parametrize("case", CASES)
def test_a_step_follows_the_noncentral_chi_square_law(case):
    drawn = sample(case)
    assert (drawn >= 0).all()
    # what is below the smallest float64 is drawn as 0, and so compared there
    p = stats.kstest(np.maximum(drawn, 1e-300), law(*case).cdf).pvalue
    assert p > SMALLEST_P


@pytest.mark.parametrize("case", CASES)
def test_the_moments_of_a_step_are_those_of_the_reference(case):
    drawn = sample(case, first=DRAWS)
    mean, variance = cir_moments(*(np.float64(value) for value in case))
    error = abs(drawn.mean() - mean) / np.sqrt(variance / DRAWS)
    assert 2 * stats.norm.sf(error) > SMALLEST_P
    # the sample variance's standard error from the law's fourth moment
    exact = law(*case)
    kurtosis = float(exact.stats(moments="k"))
    spread = variance * np.sqrt((kurtosis + 2) / DRAWS)
    assert 2 * stats.norm.sf(abs(drawn.var() - variance) / spread) > SMALLEST_P


def test_a_step_repeats_to_the_bit_and_nodes_draw_apart():
    case = CASES[3]
    np.testing.assert_array_equal(sample(case, count=100), sample(case, count=100))
    assert len(np.unique(sample(case, count=1000))) == 1000


def test_tiny_steps_keep_the_scale_accurate():
    for rate, step in [(1.0, 1e-9), (1.0, 0.5), (7.0, 1e-3), (1e4, 10.0)]:
        assert cir_scale(rate, step) == pytest.approx(-rate / np.expm1(-rate * step / 2), rel=1e-12)
    assert cir_scale(1.0, 1e-9) == pytest.approx(2e9, rel=1e-6)


def test_two_half_steps_have_the_law_of_a_whole_one():
    """The transition is exact, so it composes: steps of h/2 twice have the mean of one step of h."""
    phi, shape, rate, step = 5.0, 4.0, 1.5, 0.8
    half, _ = cir_moments(np.float64(phi), np.float64(shape), np.float64(rate), step / 2)
    twice, _ = cir_moments(half, np.float64(shape), np.float64(rate), step / 2)
    whole, _ = cir_moments(np.float64(phi), np.float64(shape), np.float64(rate), step)
    assert twice == pytest.approx(whole, rel=1e-12)
