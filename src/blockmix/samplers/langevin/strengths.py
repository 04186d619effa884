"""Strengths of Langevin dynamics at their start, their schedule, and the background's limit in warm-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.model import Model
from blockmix.samplers.langevin.dynamics import Links, Schedule
from blockmix.samplers.langevin.options import LangevinOptions
from blockmix.stored import check_finite, check_layout

NO_BLOCKS = (0, 0)
# In the first sweeps of warm-up the background explains at most this share of the density, as in `scir`.
BACKGROUND_HELD_DOWN, BACKGROUND_SHARE = 50, 0.1


def theta_at(
    value: NDArray[np.float64], expansion: NDArray[np.float64], prior: NDArray[np.float64],
    shown: NDArray[np.float64], blocks: NDArray[np.float64],
) -> Links:  # fmt: skip
    """Strengths at these values, each theta with the mean of its total, prior + M."""
    total = prior.sum(axis=1) + expansion
    return Links(np.stack([(1.0 - value) * total, value * total], axis=1), expansion, prior, shown, blocks)


def links_at(model: Model, value: NDArray[np.float64], expansion: NDArray[np.float64]) -> Links:
    """Strengths and, last, background of the assortative model at these values; `expansion` is M of (S1)."""
    prior = np.ones((len(value), 2))
    prior[:-1] = model.eta[::-1]
    return theta_at(value, expansion, prior, value.copy(), np.zeros(NO_BLOCKS))


def check_links(arrays: Mapping[str, NDArray[Any]], communities: int, general: bool = False) -> None:
    """Refuse arrays of a checkpoint that are not `Links` of so many communities."""
    k = communities
    count = k * k if general else k + 1
    layout: dict[str, Any] = {
        "theta": (np.float64, (count, 2)),
        "expansion": (np.float64, (count,)),
        "prior": (np.float64, (count, 2)),
        "value": (np.float64, (1 if general else count,)),
        "blocks": (np.float64, (k, k) if general else NO_BLOCKS),
    }
    check_layout(arrays, layout)
    for name in ("theta", "expansion", "prior"):
        check_finite(name, arrays[name], 0.0)
    for name in ("value", "blocks"):
        check_finite(name, arrays[name], 0.0, 1.0)


def schedule_of(options: LangevinOptions, communities: int, iterations: int, warm_up: bool) -> Schedule:
    """(L9) The steps, where a sweep has so many iterations; in warm-up the expansions of the strengths adapt at the
    strengths' own pace."""
    step, strength_step = options.steps(communities)
    decay = options.decay if options.schedule == "annealed" else 0.0
    adapt = min(strength_step, 1.0) if warm_up and options.expand else 0.0
    return Schedule(step, strength_step, options.delay_of(iterations), decay, adapt)


def hold_background_down(links: Links, most: float) -> None:
    """Left free before communities have formed, the background can take all links, and they never do."""
    if links.value[-1] > most:
        links.value[-1] = most
        links.theta[-1] = links.theta[-1].sum() * np.array([1.0 - most, most])
