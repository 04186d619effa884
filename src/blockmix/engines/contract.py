"""The seam between samplers and the machine: who takes part (`Comm`), and where arrays live (`Engine`).

A sampler asks its engine for arrays and its `Comm` for sums, and knows neither threads nor ranks. Sums are integers
(fixed point), so that they have the same bits in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray


class Flags(NamedTuple):
    """What the processes of a run agree on once a sweep; rank 0 decides.

    `begin_sampling` ends the warm-up before the next sweep, `evaluate` asks for scores, `checkpoint` for a checkpoint,
    `stop` ends the run after this sweep, `interrupted` says that a signal asked for that, `terminated` that it was
    SIGTERM.
    """

    begin_sampling: bool = False
    evaluate: bool = False
    checkpoint: bool = False
    stop: bool = False
    interrupted: bool = False
    terminated: bool = False


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
