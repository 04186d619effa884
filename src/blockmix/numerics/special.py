"""Special functions as scalar kernels: the normal quantile, digamma, the exponential integral, Stirling's remainder.

Like all functions of this layer they take and return float64 scalars and compile for the CPU and the GPU.
"""

from __future__ import annotations

import math

from blockmix.numerics.compile import inlined_kernel, kernel

_EULER_GAMMA = 0.5772156649015328606
# Below, E1 is summed from its series; above, from its continued fraction. At 2 the series loses a digit and a
# half to cancellation and the fraction needs some thirty levels: both still reach 1e-13.
_E1_SERIES_LIMIT = 2.0
_E1_UNDERFLOW = 745.2
# From here on the asymptotic series of digamma, cut after seven terms, is right to 1e-15; below, psi(x) is taken from
# psi(x+1) - 1/x.
_DIGAMMA_SERIES_FROM = 8.0


@inlined_kernel
def normal_quantile(u: float) -> float:
    """Compute the standard normal quantile of 0 < u < 1, to about 1e-15 relative (Wichura 1988, AS 241, PPND16).

    85 percent of uniforms fall in the central region, which costs two polynomials and a division: about half
    of a Box-Muller draw, and it needs one uniform.

    >>> round(normal_quantile(0.975), 9)
    1.959963985
    """
    q = u - 0.5
    r = 0.180625 - q * q
    if r < 0.0:
        return _normal_tail_quantile(u)
    top = 2509.0809287301226727
    top = top * r + 33430.575583588128105
    top = top * r + 67265.770927008700853
    top = top * r + 45921.953931549871457
    top = top * r + 13731.693765509461125
    top = top * r + 1971.5909503065514427
    top = top * r + 133.14166789178437745
    top = top * r + 3.387132872796366608
    low = 5226.495278852854561
    low = low * r + 28729.085735721942674
    low = low * r + 39307.89580009271061
    low = low * r + 21213.794301586595867
    low = low * r + 5394.1960214247511077
    low = low * r + 687.1870074920579083
    low = low * r + 42.313330701600911252
    low = low * r + 1.0
    return q * top / low


@kernel
def _normal_tail_quantile(u: float) -> float:
    """Compute AS 241 outside the central region: |u - 1/2| > 0.425."""
    r = math.sqrt(-math.log(min(u, 1.0 - u)))
    if r <= 5.0:
        r -= 1.6
        top = 7.7454501427834140764e-4
        top = top * r + 0.0227238449892691845833
        top = top * r + 0.24178072517745061177
        top = top * r + 1.27045825245236838258
        top = top * r + 3.64784832476320460504
        top = top * r + 5.7694972214606914055
        top = top * r + 4.6303378461565452959
        top = top * r + 1.42343711074968357734
        low = 1.05075007164441684324e-9
        low = low * r + 5.475938084995344946e-4
        low = low * r + 0.0151986665636164571966
        low = low * r + 0.14810397642748007459
        low = low * r + 0.68976733498510000455
        low = low * r + 1.6763848301838038494
        low = low * r + 2.05319162663775882187
        low = low * r + 1.0
    else:
        r -= 5.0
        top = 2.01033439929228813265e-7
        top = top * r + 2.71155556874348757815e-5
        top = top * r + 0.0012426609473880784386
        top = top * r + 0.026532189526576123093
        top = top * r + 0.29656057182850489123
        top = top * r + 1.7848265399172913358
        top = top * r + 5.4637849111641143699
        top = top * r + 6.6579046435011037772
        low = 2.04426310338993978564e-15
        low = low * r + 1.4215117583164458887e-7
        low = low * r + 1.8463183175100546818e-5
        low = low * r + 7.868691311456132591e-4
        low = low * r + 0.0148753612908506148525
        low = low * r + 0.1369298809227358053
        low = low * r + 0.5998322065558879376937
        low = low * r + 1.0
    return math.copysign(top / low, u - 0.5)


@kernel
def digamma(x: float) -> float:
    """Compute psi(x), the derivative of log Gamma(x), for x > 0: to 1e-14 relative, absolute near its zero at 1.46.

    >>> round(digamma(1.0), 12)
    -0.577215664902
    """
    if not x > 0.0:
        return math.nan
    shift = 0.0
    while x < _DIGAMMA_SERIES_FROM:
        shift += 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    tail = 1.0 / 12.0 - r * (
        1.0 / 120.0
        - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * (691.0 / 32760.0 - r / 12.0))))
    )
    return math.log(x) - 0.5 / x - r * tail - shift


@kernel
def stirling_remainder(k: float) -> float:
    """Compute log k! - ((k + 1/2) log k - k + log(2 pi)/2) for k >= 10, to 1e-12 absolute.

    >>> abs(stirling_remainder(10.0) - (math.lgamma(11.0) - 10.5 * math.log(10.0) + 10.0
    ...     - 0.5 * math.log(2.0 * math.pi))) < 1e-12
    True
    """
    r = 1.0 / k
    s = r * r
    return r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0))))


@kernel
def expint_e1(x: float) -> float:
    """Compute the exponential integral E1(x), the integral of e^(-t)/t over (x, inf), to 1e-12 relative.

    It is infinite at 0, underflows to 0 beyond 745 and is NaN for negative x.

    >>> round(expint_e1(1.0), 12)
    0.219383934396
    """
    if not x > 0.0:
        return math.inf if x == 0.0 else math.nan
    if x < _E1_SERIES_LIMIT:
        return _e1_series(x)
    if x > _E1_UNDERFLOW:
        return 0.0
    return math.exp(-x) * _scaled_e1_fraction(x)


@kernel
def _e1_series(x: float) -> float:
    """Sum the series E1(x) = -gamma - log x - sum over n >= 1 of (-x)^n / (n n!)."""
    total = 0.0
    power = 1.0
    for n in range(1, 26):
        power *= x * (-1.0 / n)
        total += power * (1.0 / n)
    return -_EULER_GAMMA - math.log(x) - total


@kernel
def _scaled_e1_fraction(x: float) -> float:
    """Compute e^x E1(x) by its continued fraction 1/(x+1 - 1/(x+3 - 4/(x+5 - ...))), from the last level to the first.

    The error after n levels falls like exp(-4 sqrt(n x)), so the number of levels follows from x.
    """
    levels = 4 + int(70.0 / x)
    fraction = x + 2.0 * levels + 1.0
    for n in range(levels, 0, -1):
        fraction = x + 2.0 * n - 1.0 - n * n / fraction
    return 1.0 / fraction
