"""The global move: strengths and background given the memberships, exactly, (N6).

Given where every link is made, and the events of non-links, the law of a strength has one dimension and a factor an
event, and so has that of the background given the strengths. Both are drawn by slice sampling.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import philox4x32, stream_word
from blockmix.numerics.purposes import DRAW_SLICE
from blockmix.numerics.variates import uniform53
from blockmix.samplers.scir.constants import SLICE_STEPS, SLICE_WIDTH
from blockmix.samplers.scir.indicators.pairs import PairEvents
from blockmix.samplers.scir.non_links import curve_of, gap_of, slope_of
from blockmix.tables.layout import CLOSEST, Key

# log(beta/(1 - beta)) at a strength of CLOSEST.
FARTHEST = -math.log(CLOSEST)


class PairCounts(NamedTuple):
    """(N6) What the memberships say of every strength: links made inside k, and weighted sums over non-links.

    `overlap` sums pi_ak pi_bk, `curved` pi_ak pi_bk m_k. The background is the last of `links`; it has the weight of
    all non-links, `non_links`, to itself. Strengths with more than `most` expected events in one community are left
    out: they lie where a background near one forbids nearly every non-link.
    """

    links: NDArray[np.float64]
    overlap: NDArray[np.float64]
    curved: NDArray[np.float64]
    non_links: float
    most: float


class Factors(NamedTuple):
    """The events by community, and what is kept up to date for each: v, and the curved part of its bound.

    Community k has the entries order[begin[k]] to order[begin[k + 1]] of the events; entry i belongs to event of[i].
    """

    events: PairEvents
    of: NDArray[np.int64]
    begin: NDArray[np.int64]
    order: NDArray[np.int64]
    v: NDArray[np.float64]
    curved: NDArray[np.float64]


def factors_of(events: PairEvents, count: int, communities: int) -> Factors:
    """Sort the entries of events by community."""
    entries = int(events.first[count])
    begin, order = np.zeros(communities + 1, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    of = np.zeros(entries, dtype=np.int64)
    sort_entries(count, events, of, begin, order)
    return Factors(events, of, begin, order, np.zeros(count), np.zeros(count))


@kernel
def sort_entries(
    count: int, events: PairEvents, of: np.ndarray, begin: np.ndarray, order: np.ndarray
) -> None:
    """Fill `of`, `begin` and `order`, in the order of events."""
    for e in range(count):
        for i in range(events.first[e], events.first[e + 1]):
            of[i] = e
            begin[events.community[i] + 1] += 1
    for k in range(len(begin) - 1):
        begin[k + 1] += begin[k]
    for i in range(len(of)):
        k = events.community[i]
        order[begin[k]] = i
        begin[k] += 1
    for k in range(len(begin) - 1, 0, -1):
        begin[k] = begin[k - 1]
    begin[0] = 0


@kernel
def set_factors(value: np.ndarray, factors: Factors) -> None:
    """Compute v and the curved part of the bound of every event."""
    events, delta = factors.events, value[-1]
    for e in range(len(factors.v)):
        v, curved = 0.0, 0.0
        for i in range(events.first[e], events.first[e + 1]):
            c = slope_of(value[events.community[i]], delta)
            overlap, factor = overlaps(i, events)
            v += c * overlap
            curved += curve_of(c) * factor
        factors.v[e], factors.curved[e] = v, curved


@inlined_kernel
def overlaps(i: int, events: PairEvents) -> tuple[float, float]:
    """(N2) Return pi_ak pi_bk and pi_ak pi_bk m_k of an entry."""
    pi_a, pi_b = events.pi_a[i], events.pi_b[i]
    return pi_a * pi_b, pi_a * pi_b * (pi_a * pi_b + (1.0 - pi_a) * (1.0 - pi_b))


@inlined_kernel
def log_gap(v: float, curved: float) -> float:
    """Compute the log of the gap; the least float where rounding leaves nothing of it."""
    return math.log(max(gap_of(v, curved), 1e-300))


@inlined_kernel
def strength_at(t: float) -> float:
    """Return the strength whose log odds are t."""
    return 1.0 / (1.0 + math.exp(-t))


@kernel
def log_conditional(
    t: float, k: int, counts: PairCounts, prior: np.ndarray, value: np.ndarray, factors: Factors
) -> float:
    """(N6) Compute the log density of t = log(beta_k/(1 - beta_k)), up to a constant."""
    old, new = slope_of(value[k], value[-1]), slope_of(strength_at(t), value[-1])
    old_curve, new_curve = curve_of(old), curve_of(new)
    if new_curve * counts.curved[k] > counts.most:
        return -math.inf
    result = -(prior[k, 0] + counts.links[k]) * math.log1p(math.exp(-t)) - prior[k, 1] * math.log1p(
        math.exp(t)
    )
    result -= new * counts.overlap[k] + new_curve * counts.curved[k]
    for j in range(factors.begin[k], factors.begin[k + 1]):
        i = factors.order[j]
        e = factors.of[i]
        overlap, factor = overlaps(i, factors.events)
        result += log_gap(
            factors.v[e] + (new - old) * overlap, factors.curved[e] + (new_curve - old_curve) * factor
        )
    return float(result)


@kernel
def log_background(
    t: float, counts: PairCounts, prior: np.ndarray, value: np.ndarray, factors: Factors
) -> float:
    """(N6) Compute the log density of t = log(delta/(1 - delta)), up to a constant; sets the background to delta."""
    last = len(value) - 1
    value[last] = strength_at(t)
    set_factors(value, factors)
    result = -(prior[last, 0] + counts.links[last]) * math.log1p(math.exp(-t))
    result -= (prior[last, 1] + counts.non_links) * math.log1p(math.exp(t))
    for k in range(last):
        c = slope_of(value[k], value[last])
        if curve_of(c) * counts.curved[k] > counts.most:
            return -math.inf
        result -= c * counts.overlap[k] + curve_of(c) * counts.curved[k]
    for e in range(len(factors.v)):
        result += log_gap(factors.v[e], factors.curved[e])
    return float(result)


@kernel
def log_density(
    t: float, k: int, counts: PairCounts, prior: np.ndarray, value: np.ndarray, factors: Factors
) -> float:
    """(N6) Compute the log density of the log odds t of strength k, or of the background, which is entry K."""
    if k == len(value) - 1:
        return log_background(t, counts, prior, value, factors)
    return log_conditional(t, k, counts, prior, value, factors)


@inlined_kernel
def slice_uniform(k: int, step: int, key: Key) -> float:
    """Return the uniform of one step of a slice."""
    w0, w1, _, _ = philox4x32(
        np.uint32(k), key.sweep, stream_word(DRAW_SLICE, 0), np.uint32(step), key.low, key.high
    )
    return uniform53(w0, w1)


@kernel
def draw_slice(
    k: int, counts: PairCounts, prior: np.ndarray, key: Key, value: np.ndarray, factors: Factors
) -> float:
    """Draw an entry of the strengths from its conditional law by slice sampling (Neal 2003): step out, then shrink."""
    old, now = float(value[k]), math.log(value[k]) - math.log1p(-value[k])
    # The law is close to that of a Beta with these shapes, whose log odds have about this standard deviation.
    non_links = counts.non_links if k == len(value) - 1 else counts.overlap[k]
    link, non_link = prior[k, 0] + counts.links[k], prior[k, 1] + non_links * (1.0 - old)
    width = SLICE_WIDTH * math.sqrt(1.0 / link + 1.0 / non_link)
    level = log_density(now, k, counts, prior, value, factors) + math.log(slice_uniform(k, 0, key))
    low = now - width * slice_uniform(k, 1, key)
    high = low + width
    while low > -FARTHEST and log_density(low, k, counts, prior, value, factors) > level:
        low -= width
    while high < FARTHEST and log_density(high, k, counts, prior, value, factors) > level:
        high += width
    low, high = max(low, -FARTHEST), min(high, FARTHEST)
    for step in range(2, SLICE_STEPS):
        t = low + (high - low) * slice_uniform(k, step, key)
        if log_density(t, k, counts, prior, value, factors) > level:
            return strength_at(t)
        if t < now:
            low = t
        else:
            high = t
    return old


@kernel
def draw_strengths(
    counts: PairCounts, prior: np.ndarray, key: Key, value: np.ndarray, factors: Factors
) -> None:
    """(N6) Draw every strength given the others, one after the other: an event may be in two communities."""
    for k in range(len(value) - 1):
        before = slope_of(value[k], value[-1])
        value[k] = draw_slice(k, counts, prior, key, value, factors)
        after = slope_of(value[k], value[-1])
        for j in range(factors.begin[k], factors.begin[k + 1]):
            i = factors.order[j]
            e = factors.of[i]
            overlap, factor = overlaps(i, factors.events)
            factors.v[e] += (after - before) * overlap
            factors.curved[e] += (curve_of(after) - curve_of(before)) * factor


@kernel
def draw_background(
    counts: PairCounts, prior: np.ndarray, key: Key, value: np.ndarray, factors: Factors
) -> None:
    """(N6) Draw the background given the strengths."""
    value[-1] = draw_slice(len(value) - 1, counts, prior, key, value, factors)
