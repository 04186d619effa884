"""The seam between samplers and the machine: which processes take part (`Comm`), and where arrays are (`Engine`).

A sampler asks its engine for arrays and its `Comm` for sums, and does not depend on threads or ranks. Sums are integers
(fixed point), so that they have the same bits in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Network


class Flags(NamedTuple):
    """What the processes of a run agree on once a sweep; rank 0 decides.

    `begin_sampling` ends the warm-up before the next sweep, `evaluate` asks for scores, `checkpoint` for a checkpoint,
    `stop` ends the run after this sweep, `interrupted` means that a signal asked for that; `terminated` is
    its number where it was SIGTERM or SIGHUP, else 0.
    """

    begin_sampling: bool = False
    evaluate: bool = False
    checkpoint: bool = False
    stop: bool = False
    interrupted: bool = False
    terminated: int = 0


class Comm(Protocol):
    """Who takes part in a run: this process alone (`Solo`), or the ranks of a cluster."""

    rank: int
    size: int

    def add(self, sums: NDArray[Any]) -> None:
        """Add up integer sums over all ranks, in place."""

    def exchange(self, rows: Any, batch: int) -> None:
        """Send the new rows of a batch to the ranks that read them, and receive theirs."""

    def decide(self, flags: Flags) -> Flags:
        """Return the flags of rank 0. Called once a sweep."""

    def gather(self, part: NDArray[Any]) -> NDArray[Any]:
        """Return the whole array in node order, on rank 0, from the part that each rank owns."""


class Solo:
    """The `Comm` of a run in one process."""

    rank, size = 0, 1

    def add(self, sums: NDArray[Any]) -> None:
        """Leave the sums as they are."""

    def exchange(self, rows: Any, batch: int) -> None:
        """Leave the rows as they are."""

    def decide(self, flags: Flags) -> Flags:
        """Return the flags as they are."""
        return flags

    def gather(self, part: NDArray[Any]) -> NDArray[Any]:
        """Return the array as it is."""
        return part


class Shard(NamedTuple):
    """The part of the data that one process updates: links by place, and the global name of the node in each place."""

    network: Network
    names: NDArray[np.uint32]


class Engine(Protocol):
    """Where arrays are stored and what computes on them.

    `tolerance` is how far a membership may be from that of the reference engine after one sweep from the same state,
    on all but `other_draws` of the nodes: those for which rounding decides a draw. Tests ask for both.
    """

    name: str
    comm: Comm
    workers: Workers
    tolerance: float
    other_draws: float

    def shard(self, data: HeldOut) -> Shard:
        """Return the part of the data that belongs to this process."""

    def put(self, array: NDArray[Any]) -> Any:
        """Copy an array of the host to the engine, or return it as it is where they share memory."""

    def get(self, array: Any) -> NDArray[Any]:
        """Copy an array of the engine to the host."""
