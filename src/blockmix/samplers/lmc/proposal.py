"""A Langevin proposal for positive numbers, its density, its acceptance and its step: equations (H2) to (H4), (H6).

All of it is for one coordinate x > 0 with the drift D of (H1). The metric is G(x) = x w^2, w = x/(x + c).
"""

from __future__ import annotations

import math

from blockmix.numerics.compile import inlined_kernel, kernel

# Bounds of the logarithm of a step: no block mixes with a step outside e^-20 to e^5.
LEAST_LOG_STEP, MOST_LOG_STEP = -20.0, 5.0
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@inlined_kernel
def proposal_moments(
    x: float, drift: float, step: float, damping: float, shape: float
) -> tuple[float, float]:
    """(H2) Compute mean x + (h/2) w^2 (D + 2 - 2 w) and variance h x w^2 + shape h^2/4 of the normal to be folded."""
    w = x / (x + damping)
    scale = step * w * w
    return x + 0.5 * scale * (drift + 2.0 - 2.0 * w), scale * x + 0.25 * shape * step * step


@kernel
def log_folded_normal(x: float, mean: float, variance: float) -> float:
    """(H3) Compute the log density at x > 0 of |mean + sqrt(variance) xi|, both branches of the reflection."""
    here = (x - mean) * (x - mean)
    there = (x + mean) * (x + mean)
    near, apart = min(here, there), abs(there - here)
    tail = math.log1p(math.exp(-0.5 * apart / variance))
    return -_HALF_LOG_TWO_PI - 0.5 * math.log(variance) - 0.5 * near / variance + tail


@kernel
def log_transition(x: float, drift: float, to: float, step: float, damping: float, shape: float) -> float:
    """(H3) Compute the log density of proposing `to` from x."""
    mean, variance = proposal_moments(x, drift, step, damping, shape)
    return log_folded_normal(to, mean, variance)


@kernel
def acceptance(log_ratio: float) -> float:
    """(H4) Compute min(1, e^r); a NaN, where a likelihood has underflowed, is a rejection."""
    if log_ratio >= 0.0:
        return 1.0
    return math.exp(log_ratio) if log_ratio > -700.0 else 0.0


@kernel
def adapted(log_step: float, probability: float, target: float, sweep: float) -> float:
    """(H6) Adapt the log of a step size towards the target acceptance rate (Robbins and Monro)."""
    moved = log_step + math.pow(1.0 + sweep, -0.6) * (probability - target)
    return min(max(moved, LEAST_LOG_STEP), MOST_LOG_STEP)
