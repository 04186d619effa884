"""Random variates as pure functions of a stream: uniform, normal, exponential, gamma, Poisson, Levy jump.

Each function ends with the stream it draws from, `k0, k1, c0, c1, c2`, and the first draw block `c3` it may
use (`blockmix.numerics.philox` has the layout). Rejection samplers take the next block after a rejection and
return the value alone, so every call site needs a c2 of its own. The same arguments always give the same value.

All methods are exact: their error is float64 rounding and the grid of the uniforms. `uniform53` drives every
quantity whose tails matter (normals, inversion, proposals); `uniform32` only decides acceptance.
"""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import Word, philox4x32
from blockmix.numerics.special import normal_quantile, stirling_remainder

_ONE_BLOCK = np.uint32(1)
_TWO_TO_MINUS_32 = 2.0**-32
_TWO_TO_MINUS_44 = 2.0**-44
_TWO_TO_MINUS_52 = 2.0**-52
# Every float64 from here on is an integer.
_ALL_INTEGERS = 2.0**52
_LOW_12_BITS = np.uint64(0xFFF)
_SHIFT_12 = np.uint64(12)
_SHIFT_20 = np.uint64(20)
# Hormann's transformed rejection is derived for means of 10 and more; measured, inversion is faster up to 20.
_POISSON_INVERSION_LIMIT = 16.0
_FEW, _SOME, _MANY = 6, 16, 34
_FACTORIAL_LIMIT = 10.0
# Beyond this mean a count below 10 has no chance; e^-mean would underflow, which libm does slowly.
_NEGLIGIBLE_MASS = 700.0
# Below this e^x is 0 in float64, which libm computes slowly.
_LOG_SMALLEST = -745.2
_SQRT_TWO_PI = math.sqrt(2.0 * math.pi)


@inlined_kernel
def uniform32(word: Word) -> float:
    """Return a uniform from one word: the 2**32 midpoints of a grid, never 0 or 1, and 1-u is exact.

    >>> uniform32(0) > 0.0 and uniform32(2**32 - 1) < 1.0
    True
    """
    return (float(np.int64(np.uint32(word))) + 0.5) * _TWO_TO_MINUS_32


@inlined_kernel
def uniform53(word: Word, next_word: Word) -> float:
    """Return a uniform from 52 bits of two words: the odd multiples of 2**-53, never 0 or 1, and 1-u is exact.

    It leaves the low 12 bits of the second word unused.
    """
    bits = (np.uint64(np.uint32(word)) << _SHIFT_20) | (np.uint64(np.uint32(next_word)) >> _SHIFT_12)
    return (float(np.int64(bits)) + 0.5) * _TWO_TO_MINUS_52


@inlined_kernel
def _uniform44(word: Word, low_bits_of: Word) -> float:
    """Return a uniform from a word and the 12 bits that `uniform53` leaves of another."""
    bits = (np.uint64(np.uint32(word)) << _SHIFT_12) | (np.uint64(np.uint32(low_bits_of)) & _LOW_12_BITS)
    return (float(np.int64(bits)) + 0.5) * _TWO_TO_MINUS_44


@kernel
def _floor(value: float) -> float:
    """Return the floor as a float64: math.floor is an int64 in numba, and numba-cuda has no np.floor."""
    return float(math.floor(value)) if abs(value) < _ALL_INTEGERS else value


@kernel
def uniform(k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw a uniform on the open interval (0, 1), 53 bits."""
    w0, w1, _, _ = philox4x32(c0, c1, c2, c3, k0, k1)
    return uniform53(w0, w1)


@kernel
def normal(k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw a standard normal by inversion, up to the 8.2 standard deviations that 53 bits reach."""
    w0, w1, _, _ = philox4x32(c0, c1, c2, c3, k0, k1)
    return normal_quantile(uniform53(w0, w1))


@kernel
def exponential(k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw an exponential variate of mean 1."""
    w0, w1, _, _ = philox4x32(c0, c1, c2, c3, k0, k1)
    return -math.log(uniform53(w0, w1))


@inlined_kernel
def gamma(shape: float, k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw a Gamma(shape, 1) variate for any shape >= 0; shape 0 gives 0.

    Below shape 1 it is Gamma(shape + 1) times U^(1/shape), and what is too small for float64 becomes exactly
    0 (at shape 1e-3 about half of the draws; `log_gamma_variate` keeps them).

    >>> gamma(2.5, 1, 2, 0, 0, 0, 0) == gamma(2.5, 1, 2, 0, 0, 0, 0) > 0.0
    True
    >>> gamma(0.0, 1, 2, 0, 0, 0, 0)
    0.0
    """
    if not shape > 0.0:
        return 0.0 if shape == 0.0 else math.nan
    raised = shape if shape >= 1.0 else shape + 1.0
    value, spare = _gamma_and_spare_uniform(raised, k0, k1, c0, c1, c2, c3)
    if shape >= 1.0:
        return value
    log_boost = math.log(spare) / shape
    return value * math.exp(log_boost) if log_boost > _LOG_SMALLEST else 0.0


@kernel
def log_gamma_variate(shape: float, k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Return the logarithm of the same draw as `gamma`, finite where that underflows; shape 0 gives -inf."""
    if not shape > 0.0:
        return -math.inf if shape == 0.0 else math.nan
    raised = shape if shape >= 1.0 else shape + 1.0
    value, spare = _gamma_and_spare_uniform(raised, k0, k1, c0, c1, c2, c3)
    if shape >= 1.0:
        return math.log(value)
    return math.log(value) + math.log(spare) / shape


@inlined_kernel
def _gamma_and_spare_uniform(
    shape: float, k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word
) -> tuple[float, float]:
    """Draw a Gamma(shape >= 1) variate and a uniform independent of it, usually from one Philox block.

    Marsaglia and Tsang (2000): d v with v = (1+t)^3, t = x/sqrt(9d), d = shape - 1/3, x normal, accepted with
    probability exp(x^2/2 + d (3 log(1+t) + 1 - v)). The exponent is -3d (t^4/4 - t^5/5 + t^6/6 - ...), at
    least -(3d/4) t^4 / min(1, 1+t) by the alternating (t > 0) or geometric (t < 0) series, and d t^2 = x^2/9.
    So 1 - t^2 x^2 / (12 min(1, 1+t)) is a lower bound. It fails in 7 percent of draws at shape 1, 2.5 percent
    at 2 and about once in 36 d draws after that, where the published squeeze 1 - 0.0331 x^4 fails in ten
    percent at every shape; a failure costs two logarithms.
    """
    d = shape - 1.0 / 3.0
    scale = 1.0 / math.sqrt(9.0 * d)
    draw = np.uint32(c3)
    while True:
        w0, w1, w2, w3 = philox4x32(c0, c1, c2, draw, k0, k1)
        x = normal_quantile(uniform53(w0, w1))
        t = scale * x
        base = 1.0 + t
        reject = uniform32(w2)
        if base > 0.0:
            v = base * base * base
            x_squared = x * x
            if reject * 12.0 * min(1.0, base) > t * t * x_squared or math.log(1.0 - reject) < (
                0.5 * x_squared + d * (3.0 * math.log1p(t) - t * (3.0 + t * (3.0 + t)))
            ):
                return d * v, _uniform44(w3, w1)
        draw = np.uint32(draw + _ONE_BLOCK)


@inlined_kernel
def poisson(mean: float, k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw a Poisson(mean) count, as a float64; a mean below 0 counts as 0.

    >>> poisson(0.0, 1, 2, 0, 0, 0, 0)
    0.0
    """
    if mean < _POISSON_INVERSION_LIMIT:
        w0, w1, _, _ = philox4x32(c0, c1, c2, c3, k0, k1)
        return _poisson_inverse(mean, uniform53(w0, w1))
    if mean < math.inf:
        return _poisson_rejection(mean, k0, k1, c0, c1, c2, c3)
    return mean


@inlined_kernel
def _poisson_inverse(mean: float, u: float) -> float:
    """Return the smallest k with P(X <= k) >= u, for mean < 16.

    The answer is the number of k with P(X <= k) < u, counted without branches over the first 6, 16 and 34
    values: a search that stops at the answer mispredicts its last branch, which costs more than the terms.
    """
    term = math.exp(-mean)
    below = term
    count = np.int64(u > below)
    for k in range(1, _FEW):
        term *= mean * (1.0 / k)
        below += term
        count += np.int64(u > below)
    if count < _FEW:
        return float(count)
    for k in range(_FEW, _SOME):
        term *= mean * (1.0 / k)
        below += term
        count += np.int64(u > below)
    if count < _SOME:
        return float(count)
    for k in range(_SOME, _MANY):
        term *= mean * (1.0 / k)
        below += term
        count += np.int64(u > below)
    if count < _MANY:
        return float(count)
    # Beyond `last` the tail is below 2**-53, and a sum rounded down could stay under u for ever.
    last = _floor(14.0 + 4.0 * mean)
    value = float(_MANY)
    while value < last:
        term *= mean / value
        below += term
        if u <= below:
            break
        value += 1.0
    return min(value, last)


@kernel
def _poisson_rejection(mean: float, k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw a Poisson(mean >= 16) count by Hormann's (1993) transformed rejection with squeeze, PTRS."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    sure = 0.9277 - 3.6224 / (b - 2.0)
    draw = np.uint32(c3)
    while True:
        w0, w1, w2, w3 = philox4x32(c0, c1, c2, draw, k0, k1)
        u = uniform53(w0, w1) - 0.5
        v = uniform53(w2, w3)
        side = 0.5 - abs(u)
        k = _floor((2.0 * a / side + b) * u + mean + 0.43)
        if side >= 0.07 and v <= sure:
            return k
        if k >= 0.0 and (side >= 0.013 or v <= side):
            height = v * inverse_alpha / (a / (side * side) + b)
            if _below_poisson_mass(height, k, mean):
                return k
        draw = np.uint32(draw + _ONE_BLOCK)


@kernel
def _below_poisson_mass(height: float, k: float, mean: float) -> bool:
    """Return whether height <= P(X = k).

    From k = 10 the mass is written around its mode, so that nothing of the size of mean log(mean) cancels and
    the test stays sharp for means far beyond 1e6.
    """
    if k < _FACTORIAL_LIMIT:
        power = math.exp(-min(mean, _NEGLIGIBLE_MASS))
        factorial = 1.0
        i = 1.0
        while i <= k:
            power *= mean
            factorial *= i
            i += 1.0
        return height * factorial <= power
    excess = k - mean
    deviance = k * math.log1p(excess / mean) - excess + stirling_remainder(k)
    return math.log(height * _SQRT_TWO_PI * math.sqrt(k)) + deviance <= 0.0


@kernel
def levy_jump(x: float, k0: Word, k1: Word, c0: Word, c1: Word, c2: Word, c3: Word) -> float:
    """Draw from the density proportional to e^(-t)/t on t >= x > 0: the size of a birth (P2).

    Proposals come from e^(-x)/t on (x, s) and e^(-t)/s on (s, inf), accepted with probability e^(x-t) and
    s/t. Any s is exact; the masses (times e^x) log(s/x) + e^(x-s)/s are least where e^(s-x) = 1 + 1/s, and
    the s used is close enough that at least 71 percent are accepted at every x, and nearly all for tiny or
    large x.
    """
    if not 0.0 < x < math.inf:
        return math.nan
    gap = 1.0 / (1.24 + 0.75 * x)
    split = x + gap
    near = math.log(split / x)
    far = math.exp(-gap) / split
    total = near + far
    draw = np.uint32(c3)
    while True:
        w0, w1, w2, _ = philox4x32(c0, c1, c2, draw, k0, k1)
        position = uniform53(w0, w1) * total
        accept = uniform32(w2)
        if position < near:
            t = x * math.exp(position)
            if accept < math.exp(x - t):
                return t
        else:
            t = split - math.log((total - position) / far)
            if accept * t < split:
                return t
        draw = np.uint32(draw + _ONE_BLOCK)
