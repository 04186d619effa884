"""Credible intervals from posterior samples, continued by a Beta law beyond the smallest and the largest of them.

A Beta law with the right mean and standard deviation is too wide in the middle where a community has several
explanations, and on networks from the prior it held some more true strengths than it should (docs/method.md, section
9). Quantiles of samples hold their level for a law of any shape, but the ends of an interval are as uncertain as the
samples are few.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.posterior.views import beta_shapes, interval_ends

# From this many samples on quantiles are taken. With 100 an end of a 50% interval has a standard error of .14 posterior
# standard deviations. The Beta law is off by as much where it holds 57% at 50%.
ENOUGH_SAMPLES = 100

Floats = NDArray[np.float64]


def effective_number(weights: Floats) -> float:
    """Return how many samples of equal weight tell as much as these do (Kish).

    >>> effective_number(np.array([0.25, 0.25, 0.25, 0.25, 0.0]))
    4.0
    """
    # Rounded, so that n equal weights are n samples and not a little less.
    return round(float(weights.sum() ** 2 / (weights**2).sum()), 6) if len(weights) else 0.0


def sample_interval(
    samples: NDArray[np.floating], weights: Floats, mean: Floats, sd: Floats, level: float
) -> tuple[Floats, Floats]:
    """Compute credible intervals of columns of samples (samples x values), each sample with its weight.

    Mean and sd, over all sweeps, say where an interval begins, as in `beta_interval`, and are those of the Beta law
    beyond the samples.

    >>> x = np.linspace(0.31, 0.5, 199)[:, None]
    >>> ends = sample_interval(x, np.ones(199), x.mean(axis=0), x.std(axis=0), 0.9)
    >>> [float(end[0].round(3)) for end in ends]
    [0.319, 0.491]
    """
    shapes = beta_shapes(mean, sd)
    below, above = interval_ends(*shapes, level)
    order = np.argsort(samples, axis=0, kind="stable")
    values = np.take_along_axis(samples, order, axis=0).astype(np.float64)
    shares = weights[order] / weights.sum()
    number = effective_number(weights)
    # Of n samples of equal weight the i-th has the share i/(n + 1) below it, on average over all sets of samples.
    place = ((np.cumsum(shares, axis=0) - 0.5 * shares) * number + 0.5) / (number + 1.0)
    found = []
    for p in (below, above):
        inside = np.array([np.interp(p[k], place[:, k], values[:, k]) for k in range(len(p))])
        lower = _beyond(p, place[0], values[0], *shapes)
        upper = 1.0 - _beyond(1.0 - p, 1.0 - place[-1], 1.0 - values[-1], *shapes[::-1])
        found.append(np.where(p < place[0], lower, np.where(p > place[-1], upper, inside)))
    return found[0], found[1]


def _beyond(p: Floats, place: Floats, value: Floats, a: Floats, b: Floats) -> Floats:
    """Compute the quantiles p below the smallest sample: those of the Beta law's part below it, p/place of it."""
    from scipy.special import betainc, betaincinv

    share = betainc(a, b, np.clip(value, 0.0, 1.0)) * np.minimum(p / place, 1.0)
    return np.asarray(betaincinv(a, b, share), dtype=np.float64)
