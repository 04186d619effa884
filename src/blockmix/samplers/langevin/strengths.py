"""Strengths of Langevin dynamics at their start, the step sizes of a sweep, and the background's limit in warm-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.model import Model
from blockmix.samplers.langevin.dynamics import Schedule, StrengthState
from blockmix.samplers.langevin.options import LangevinOptions
from blockmix.stored import check_finite, check_layout

NO_BLOCKS = (0, 0)


def theta_at(
    value: NDArray[np.float64], expansion: NDArray[np.float64], prior: NDArray[np.float64],
    shown: NDArray[np.float64], blocks: NDArray[np.float64],
) -> StrengthState:  # fmt: skip
    """Return strengths at these values, each theta with the mean of its total, prior + M."""
    total = prior.sum(axis=1) + expansion
    theta = np.stack([(1.0 - value) * total, value * total], axis=1)
    return StrengthState(theta, expansion, prior, shown, blocks)


def strengths_at(
    model: Model, nodes: int, value: NDArray[np.float64], expansion: NDArray[np.float64]
) -> StrengthState:
    """Return strengths and, last, background of the assortative model at these values; `expansion` is M of (S1)."""
    prior = np.empty((len(value), 2))
    prior[:-1], prior[-1] = model.eta[::-1], model.prior_of_background(nodes)[::-1]
    return theta_at(value, expansion, prior, value.copy(), np.zeros(NO_BLOCKS))


def check_strengths(arrays: Mapping[str, NDArray[Any]], communities: int, general: bool = False) -> None:
    """Refuse arrays of a checkpoint that are not a `StrengthState` of so many communities."""
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
    """(L9) Return the steps; `iterations` is their number in a sweep.

    In warm-up the expansions of the strengths adapt at the rate of the strengths' own step.
    """
    step, strength_step = options.steps(communities)
    decay = options.decay if options.schedule == "annealed" else 0.0
    adapt = min(strength_step, 1.0) if warm_up and options.expand else 0.0
    return Schedule(step, strength_step, options.delay_of(iterations), decay, adapt)


def limit_background(strengths: StrengthState, most: float) -> None:
    """Lower the background to `most`: before communities have formed it could explain all links, and they never do."""
    if strengths.value[-1] > most:
        strengths.value[-1] = most
        strengths.theta[-1] = strengths.theta[-1].sum() * np.array([1.0 - most, most])
