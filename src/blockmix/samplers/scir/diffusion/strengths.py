"""The global move beside the diffusion: strengths and background by the same means, (S1), (S2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.cir import Process, cir_step
from blockmix.numerics.compile import inlined_kernel, kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_STRENGTH_JUMPS, DRAW_STRENGTH_SIZE
from blockmix.samplers.scir.frame import EXPOSURE, LINKS_INSIDE
from blockmix.tables.layout import CLOSEST, FIXED_POINT, Key, Strengths


class PairCounts(NamedTuple):
    """(S6) Expected links and non-links inside every community and, as entry K, outside of all of them."""

    links: NDArray[np.float64]
    non_links: NDArray[np.float64]


class StrengthMove(NamedTuple):
    """How strengths move: Beta prior of each (columns link, non-link), step h, whether expansions adapt."""

    prior: NDArray[np.float64]
    step: float
    adapt: bool


@inlined_kernel
def draw_theta(theta: float, process: Process, column: int, k: int, key: Key) -> float:
    """(S2) Draw one of the two theta of strength k: column 1 counts links, column 0 non-links."""
    jumps, size = stream_word(DRAW_STRENGTH_JUMPS, column), stream_word(DRAW_STRENGTH_SIZE, column)
    return cir_step(theta, process, key.low, key.high, np.uint32(k), key.sweep, jumps, size)


@kernel
def update_strength(k: int, counts: PairCounts, move: StrengthMove, key: Key, strengths: Strengths) -> None:
    """Draw theta_k = (theta_k1, theta_k0) and beta_k = theta_k1 / (theta_k1 + theta_k0).

    The expansion M_k is the expected number of pairs inside k in warm-up (`adapt`) and frozen after; what that
    number then lacks or exceeds goes to A or to b.
    """
    value, total = strengths.value[k], strengths.total[k]
    pairs = counts.links[k] + counts.non_links[k]
    if move.adapt:
        strengths.expansion[k] = pairs
    surplus = strengths.expansion[k] - pairs
    shape_1 = move.prior[k, 0] + counts.links[k]
    shape_0 = move.prior[k, 1] + counts.non_links[k]
    rate = 1.0
    if surplus > 0.0:
        shape_1 += surplus * value
        shape_0 += surplus * (1.0 - value)
    else:
        rate -= surplus / total
    theta_1 = draw_theta(total * value, Process(shape_1, rate, move.step), 1, k, key)
    theta_0 = draw_theta(total * (1.0 - value), Process(shape_0, rate, move.step), 0, k, key)
    both = theta_1 + theta_0
    if both > 0.0:
        strengths.total[k] = both
        strengths.value[k] = min(max(theta_1 / both, CLOSEST), 1.0 - CLOSEST)


@kernel
def update_strengths(
    begin: int, end: int, counts: PairCounts, move: StrengthMove, key: Key, strengths: Strengths
) -> None:
    """Update entries [begin, end) of the strengths; the background is entry K."""
    for k in range(begin, end):
        update_strength(k, counts, move, key, strengths)


@kernel
def collect_pairs(statistics: np.ndarray, value: np.ndarray, counts: PairCounts) -> None:
    """(S6) Sum expected links and non-links inside each community over a sweep; clears the statistics."""
    for k in range(len(value) - 1):
        inside, exposure = 0, 0
        for worker in range(len(statistics)):
            inside += statistics[worker, k, LINKS_INSIDE]
            exposure += statistics[worker, k, EXPOSURE]
            statistics[worker, k, LINKS_INSIDE] = 0
            statistics[worker, k, EXPOSURE] = 0
        counts.links[k] = inside / FIXED_POINT
        counts.non_links[k] = (1.0 - value[k]) * max(exposure / FIXED_POINT, 0.0)
