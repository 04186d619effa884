"""The exact transition of the Cox-Ingersoll-Ross process, equation (S2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from blockmix.numerics.compile import kernel
from blockmix.numerics.philox import Word
from blockmix.numerics.variates import gamma, poisson


class Process(NamedTuple):
    """dphi = (A - b phi)/2 dt + sqrt(phi) dW and the time it runs for: A = `shape`, b = `rate`, h = `step`."""

    shape: float
    rate: float
    step: float


@kernel
def cir_scale(rate: float, step: float) -> float:
    """Compute c = b / (1 - e^(-bh/2)), the rate of the transition's Gamma."""
    return -rate / math.expm1(-0.5 * rate * step)


@kernel
def cir_step(
    phi: float, process: Process, k0: Word, k1: Word, c0: Word, c1: Word, jumps: Word, size: Word
) -> float:
    """Draw phi after a step of the process.

    j ~ Poisson(c phi e^(-bh/2)), then Gamma(A + j)/c. `jumps` and `size` are the words c2 that the two draws are made
    with. Positive always: no reflection, no floor, any step.
    """
    decay = math.exp(-0.5 * process.rate * process.step)
    scale = process.rate / (1.0 - decay)
    count = 0.0
    if phi > 0.0:
        count = poisson(scale * phi * decay, k0, k1, c0, c1, jumps, np.uint32(0))
    return gamma(process.shape + count, k0, k1, c0, c1, size, np.uint32(0)) / scale
