"""The seam between samplers and the machine: which processes take part (`Comm`), and where arrays are (`Engine`).

A sampler asks its engine for arrays and its `Comm` for sums, and does not depend on threads or ranks. Sums are integers
(fixed point), so that they have the same bits in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.numerics.workers import Workers
from blockmix.tables.layout import Network, Rows

_Word = TypeVar("_Word")


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

    def exchange(self, rows: Rows, batch: int) -> None:
        """Send the new rows of a batch to the ranks that read them, and receive theirs."""

    def decide(self, word: _Word) -> _Word:
        """Return the word of rank 0: what all do next."""

    def hand_out(self, parts: Iterable[Any]) -> Any:
        """Return this rank's part; rank 0 has them all, in the order of ranks, and makes them one by one."""

    def swap(self, parts: Sequence[Any]) -> list[Any]:
        """Give every rank the part made for it, and return what all have made for this one."""

    def gather(self, part: Any) -> list[Any]:
        """Return the parts of all ranks, in their order, on rank 0; nothing elsewhere."""


class Solo:
    """The `Comm` of a run in one process."""

    rank, size = 0, 1

    def add(self, sums: NDArray[Any]) -> None:
        """Leave the sums as they are."""

    def exchange(self, rows: Rows, batch: int) -> None:
        """Leave the rows as they are."""

    def decide(self, word: _Word) -> _Word:
        """Return the word as it is."""
        return word

    def hand_out(self, parts: Iterable[Any]) -> Any:
        """Return the only part."""
        return next(iter(parts))

    def swap(self, parts: Sequence[Any]) -> list[Any]:
        """Return the only part."""
        return list(parts)

    def gather(self, part: Any) -> list[Any]:
        """Return the only part."""
        return [part]


def add_up(sums: NDArray[Any], comm: Comm) -> None:
    """Add integer sums over workers, the first axis, and over ranks: the first worker's are then those of all."""
    if comm.size > 1:
        total = sums.sum(axis=0)
        comm.add(total)
        sums[:] = 0
        sums[0] = total


class Shard(NamedTuple):
    """The part of the data that one process updates: links by place, and the global name of the node in each place.

    The nodes that it updates, its own, come first; they alone have links here. Behind them are ghosts: nodes of other
    ranks whose rows are read here. `starts` has the first place of every batch and the end of the last one, where nodes
    are stored by batches; None means that a node's place is its name. `isolated` has the places of nodes without
    training links, own ones and ghosts, in the order of names; None means that the links tell.
    """

    network: Network
    names: NDArray[np.uint32]
    starts: NDArray[np.int64] | None = None
    isolated: NDArray[np.int64] | None = None

    @property
    def own(self) -> int:
        """How many nodes this process updates."""
        return len(self.network.offsets) - 1


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
