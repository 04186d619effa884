"""The drift of a node's phi, and the move by its exact transition, (S2); the same for sparse and dense rows."""

from __future__ import annotations

from typing import NamedTuple

from blockmix.model.links import excess
from blockmix.numerics.cir import Process, cir_step
from blockmix.numerics.compile import inlined_lean_kernel, lean_kernel
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_JUMPS, DRAW_SIZE
from blockmix.samplers.scir.frame import Frame, Node, Scratch


class Pull(NamedTuple):
    """What the drift of every community of a node has in common: W of (S4), X of (S3), and the node's total s_a."""

    background: float
    mean: float
    total: float


@inlined_lean_kernel
def split_drift(at: int, pull: Pull, alpha: float, frame: Frame, scratch: Scratch) -> tuple[float, float]:
    """(S2) Write the drift of a local community as A_k - b_k phi_k; returns A_k and b_k.

    Non-links add pi_k (X - x_k): where that is positive it goes to A, where it is negative to b.
    """
    value = frame.strengths.value
    d = excess(value[scratch.community[at]], value[-1])
    pi = scratch.pi[at]
    shape = alpha + pi * (pull.background + d * scratch.gain[at])
    rate = 1.0
    net = pull.mean - d * scratch.exposure[at]
    if net > 0.0:
        shape += pi * net
    else:
        rate -= net / pull.total
    return shape, rate


@lean_kernel
def move(node: Node, count: int, own: int, pull: Pull, frame: Frame, scratch: Scratch) -> None:
    """(S2) Replace every local phi by a draw from its CIR transition."""
    step, key = frame.settings.step, frame.key
    for at in range(count):
        shape, rate = split_drift(at, pull, node.alpha, frame, scratch)
        phi = scratch.phi[at] if at < own else 0.0
        jumps, size = stream_word(DRAW_JUMPS, at), stream_word(DRAW_SIZE, at)
        process = Process(shape, rate, step)
        scratch.phi[at] = cir_step(phi, process, key.low, key.high, node.name, key.sweep, jumps, size)
