"""The global step: strengths of communities and the background probability, by the same means (S1), (S2)."""

from __future__ import annotations

import numpy as np

from blockmix.numerics.cir import cir_step
from blockmix.numerics.compile import kernel
from blockmix.numerics.purposes import DRAW_STRENGTH_JUMPS, DRAW_STRENGTH_SIZE
from blockmix.samplers.scir.frame import EXPOSURE, LINKS_INSIDE
from blockmix.tables.layout import CLOSEST, FIXED_POINT, Key, Strengths


@kernel
def update_strength(
    k: int, links: float, non_links: float, prior_link: float, prior_non_link: float, step: float,
    adapt: bool, key: Key, strengths: Strengths,
) -> None:  # fmt: skip
    """Draw theta_k = (theta_k1, theta_k0) and beta_k = theta_k1 / (theta_k1 + theta_k0).

    `links` and `non_links` are the expected pairs inside k, (S6). The expansion M_k is their sum in warm-up
    (`adapt`) and frozen after; what the sum then lacks or exceeds goes to A or to b.
    """
    value, total = strengths.value[k], strengths.total[k]
    pairs = links + non_links
    if adapt:
        strengths.expansion[k] = pairs
    excess = strengths.expansion[k] - pairs
    shape_1 = prior_link + links
    shape_0 = prior_non_link + non_links
    rate = 1.0
    if excess > 0.0:
        shape_1 += excess * value
        shape_0 += excess * (1.0 - value)
    else:
        rate -= excess / total
    node = np.uint32(k)
    theta_1 = cir_step(
        total * value,
        shape_1,
        rate,
        step,
        key.low,
        key.high,
        node,
        key.sweep,
        DRAW_STRENGTH_JUMPS,
        DRAW_STRENGTH_SIZE,
        1,
    )
    theta_0 = cir_step(
        total * (1.0 - value), shape_0, rate, step, key.low, key.high, node, key.sweep,
        DRAW_STRENGTH_JUMPS, DRAW_STRENGTH_SIZE, 0,
    )  # fmt: skip
    both = theta_1 + theta_0
    if both > 0.0:
        strengths.total[k] = both
        strengths.value[k] = min(max(theta_1 / both, CLOSEST), 1.0 - CLOSEST)


@kernel
def update_strengths(
    begin: int, end: int, links: np.ndarray, non_links: np.ndarray, prior_link: float, prior_non_link: float,
    step: float, adapt: bool, key: Key, strengths: Strengths,
) -> None:  # fmt: skip
    """Update communities [begin, end), or the background alone where that range is its entry."""
    for k in range(begin, end):
        update_strength(k, links[k], non_links[k], prior_link, prior_non_link, step, adapt, key, strengths)


@kernel
def merge_members(statistics: np.ndarray, sums: np.ndarray, members: np.ndarray) -> None:
    """Add the workers' changes of S_k and Q_k to the running sums, and give these as float64."""
    for k in range(len(sums)):
        for column in range(2):
            for worker in range(len(statistics)):
                sums[k, column] += statistics[worker, k, column]
                statistics[worker, k, column] = 0
            members[k, column] = sums[k, column] / FIXED_POINT


@kernel
def collect_pairs(
    statistics: np.ndarray, value: np.ndarray, links: np.ndarray, non_links: np.ndarray
) -> None:
    """(S6) Expected links and non-links inside each community over a sweep; clears the statistics."""
    for k in range(len(links)):
        inside, exposure = 0, 0
        for worker in range(len(statistics)):
            inside += statistics[worker, k, LINKS_INSIDE]
            exposure += statistics[worker, k, EXPOSURE]
            statistics[worker, k, LINKS_INSIDE] = 0
            statistics[worker, k, EXPOSURE] = 0
        links[k] = inside / FIXED_POINT
        non_links[k] = (1.0 - value[k]) * max(exposure / FIXED_POINT, 0.0)
