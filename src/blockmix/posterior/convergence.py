"""R-hat, effective sample size and Monte Carlo error of scalars that several chains have drawn.

The definitions are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat", Bayesian Analysis 16; autocorrelations are summed as Geyer (1992) proposes. Tests
compare every function with ArviZ.

Arguments have the shape (..., chains, draws): all quantities are computed at once. With fewer than four draws, or where
a value is not finite, the answer is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

Values = NDArray[np.float64]

FEWEST_DRAWS = 4
# The ends whose effective sample size `tail_ess` gives: those of a 90% interval.
TAILS = (0.05, 0.95)
# Values closer together than this are equal but for rounding.
RESOLUTION = 1e-15


def r_hat(values: ArrayLike) -> Values:
    """Compute the rank-normalised split R-hat: the larger of that of the values and that of their distances.

    Near 1 the halves of all chains have the same distribution. NaN with one chain, and where no value ever changes.

    >>> rng = np.random.default_rng(1)
    >>> same = rng.normal(size=(4, 200))
    >>> bool(r_hat(same) < 1.02), bool(r_hat(same + np.arange(4)[:, None]) > 1.3)
    (True, True)
    """
    checked = _checked(values)
    if checked.shape[-2] < 2:
        return np.full(checked.shape[:-2], np.nan)
    halves = _halves(checked)
    distances = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.fmax(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(distances)))


def bulk_ess(values: ArrayLike) -> Values:
    """Compute the effective sample size for the centre of the distribution, from normal scores of ranks."""
    return _ess(_normal_scores(_halves(_checked(values))))


def tail_ess(values: ArrayLike) -> Values:
    """Compute the effective sample size for the ends of a 90% interval: the smaller one of the two."""
    checked = _checked(values)
    ends = []
    for probability in TAILS:
        quantile = np.quantile(checked, probability, axis=(-2, -1), keepdims=True)
        below = np.where(np.isnan(quantile), np.nan, checked <= quantile)
        ends.append(_ess(_halves(below)))
    return np.minimum(*ends)


def mcse(values: ArrayLike) -> Values:
    """Compute the Monte Carlo standard error of the mean: the sd by the root of its effective sample size."""
    checked = _checked(values)
    return np.asarray(np.std(checked, axis=(-2, -1), ddof=1) / np.sqrt(_ess(_halves(checked))))


def _checked(values: ArrayLike) -> Values:
    """Return the values as floats; those of a quantity that cannot be judged are all NaN."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape[-1] < FEWEST_DRAWS:
        return np.full((*given.shape[:-1], FEWEST_DRAWS), np.nan)
    known = np.isfinite(given).all(axis=(-2, -1), keepdims=True)
    return np.where(known, given, np.nan)


def _halves(values: Values) -> Values:
    """Split every chain in two; of an odd number of draws the middle one is left out."""
    half = values.shape[-1] // 2
    return np.concatenate([values[..., :half], values[..., -half:]], axis=-2)


def _normal_scores(values: Values) -> Values:
    """Replace values by the normal quantiles of their ranks in all chains together; equal values share a rank."""
    flat = values.reshape(*values.shape[:-2], -1)
    count = flat.shape[-1]
    order = np.argsort(flat, axis=-1, kind="stable")
    ascending = np.take_along_axis(flat, order, axis=-1)
    starts = np.ones(flat.shape, dtype=bool)
    starts[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    ends = np.ones(flat.shape, dtype=bool)
    ends[..., :-1] = starts[..., 1:]
    place = np.arange(count)
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=-1)
    last = np.minimum.accumulate(np.where(ends, place, count)[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(flat.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0 + 1.0, axis=-1)
    ranks[np.isnan(flat)] = np.nan
    # Blom's offsets
    return np.asarray(ndtri((ranks - 0.375) / (count + 0.25)).reshape(values.shape))


def _plain_r_hat(values: Values) -> Values:
    """Compute R-hat: the root of the variance of all draws by the variance within chains."""
    draws = values.shape[-1]
    between = draws * np.var(values.mean(axis=-1), axis=-1, ddof=1)
    within = np.var(values, axis=-1, ddof=1).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within + draws - 1) / draws))


def _ess(values: Values) -> Values:
    """Compute the effective sample size, the number of draws by the autocorrelation time tau."""
    chains, draws = values.shape[-2:]
    size = chains * draws
    same = np.ptp(values, axis=(-2, -1)) < RESOLUTION
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = np.maximum(_autocorrelation_time(_autocorrelations(values)), 1.0 / np.log10(size))
    return np.asarray(np.where(same, size, size / tau), dtype=np.float64)


def _autocorrelations(values: Values) -> Values:
    """Compute the autocorrelations of all lags, from the variance within chains and between them."""
    chains, draws = values.shape[-2:]
    centred = values - values.mean(axis=-1, keepdims=True)
    length = 1 << (2 * draws - 1).bit_length()
    spectrum = np.fft.rfft(centred, n=length, axis=-1)
    products = np.fft.irfft(spectrum * np.conjugate(spectrum), n=length, axis=-1)
    covariance = (products[..., :draws] / draws).mean(axis=-2)
    within = covariance[..., :1] * draws / (draws - 1.0)
    total = covariance[..., :1].copy()
    if chains > 1:
        total += np.var(values.mean(axis=-1), axis=-1, ddof=1)[..., None]
    found = 1.0 - (within - covariance) / total
    # By definition, and where nothing varies within chains too.
    found[..., 0] = np.where(np.isnan(found[..., 1]), np.nan, 1.0)
    return np.asarray(found)


def _autocorrelation_time(correlation: Values) -> Values:
    """Sum autocorrelations by Geyer's rules: pairs of lags, while they are positive, made monotone.

    With m pairs S_j = rho_2j + rho_2j+1 before the first that is not positive (the last lags are never used),
    tau = -1 + 2 sum_j min(S_0, ..., S_j) + rho_2m, the last only as far as it is positive or its pair is.
    """
    most = max(0, (correlation.shape[-1] - 3) // 2)
    even, odd = correlation[..., : 2 * most + 1 : 2], correlation[..., 1 : 2 * most + 2 : 2]
    pairs = even + odd
    positive = np.logical_and.accumulate(pairs[..., :most] > 0.0, axis=-1)
    count = positive.sum(axis=-1, keepdims=True)
    total = np.where(positive, np.minimum.accumulate(pairs[..., :most], axis=-1), 0.0).sum(axis=-1)
    last = np.take_along_axis(even, count, axis=-1)[..., 0]
    last_pair = np.take_along_axis(pairs, count, axis=-1)[..., 0]
    return np.asarray(-1.0 + 2.0 * total + np.where((last > 0.0) | (last_pair >= 0.0), last, last * 0.0))
