"""The exact transition of the Cox-Ingersoll-Ross process, equation (S2)."""

from __future__ import annotations

import math

import numpy as np

from blockmix.numerics.compile import kernel
from blockmix.numerics.philox import Word, stream_word
from blockmix.numerics.variates import gamma, poisson


@kernel
def cir_scale(rate: float, step: float) -> float:
    """Compute c = b / (1 - e^(-bh/2)), the rate of the transition's Gamma."""
    return -rate / math.expm1(-0.5 * rate * step)


@kernel
def cir_step(
    phi: float,
    shape: float,
    rate: float,
    step: float,
    k0: Word,
    k1: Word,
    c0: Word,
    c1: Word,
    jumps: int,
    size: int,
    slot: int,
) -> float:
    """Draw phi after a step h of dphi = (A - b phi)/2 dt + sqrt(phi) dW, A = `shape`, b = `rate`.

    j ~ Poisson(c phi e^(-bh/2)), then Gamma(A + j)/c. `jumps` and `size` are the purposes the two draws
    are made for. Positive always: no reflection, no floor, any step.
    """
    decay = math.exp(-0.5 * rate * step)
    scale = rate / (1.0 - decay)
    count = 0.0
    if phi > 0.0:
        count = poisson(scale * phi * decay, k0, k1, c0, c1, stream_word(jumps, slot), np.uint32(0))
    return gamma(shape + count, k0, k1, c0, c1, stream_word(size, slot), np.uint32(0)) / scale
