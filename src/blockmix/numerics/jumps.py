"""Jumps of a Gamma process above a threshold: the new value of a component that was at zero, (P2) and (G4)."""

from __future__ import annotations

import math
from typing import NamedTuple

from blockmix.numerics.compile import inlined_lean_kernel


class Envelope(NamedTuple):
    """The density of proposed jumps: sizes (times lambda_least) above `start`, in two pieces that meet at `split`."""

    start: float
    split: float
    near: float
    far: float
    growth: float


@inlined_lean_kernel
def jump_envelope(start: float) -> Envelope:
    """Bound the rate e^(-t)/t of jumps t >= start > 0 by e^(-start)/t up to the split, e^(-t)/split beyond.

    Their masses, near and far, add up to the expected number of proposals for each unit of alpha. Any split is exact;
    this one is close to the best, where at least 71 percent are kept at lambda_least, and nearly all for tiny starts.
    """
    split = start + 1.0 / (1.24 + 0.75 * start)
    growth = math.exp(start)
    return Envelope(start, split, math.log(split / start) / growth, math.exp(-split) / split, growth)


@inlined_lean_kernel
def propose_jump(u: float, envelope: Envelope) -> float:
    """Draw a size from the envelope by inversion of the uniform u."""
    position = u * (envelope.near + envelope.far)
    if position < envelope.near:
        return envelope.start * math.exp(position * envelope.growth)
    return envelope.split - math.log(1.0 - (position - envelope.near) / envelope.far)


@inlined_lean_kernel
def keep_probability(size: float, ratio: float, envelope: Envelope) -> float:
    """Compute the probability of accepting a jump under the rate e^(-ratio t)/t, ratio = lambda_k/lambda_least >= 1."""
    if size < envelope.split:
        return math.exp(envelope.start - ratio * size)
    return math.exp((1.0 - ratio) * size) * envelope.split / size
