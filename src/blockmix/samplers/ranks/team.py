"""How the ranks of a job work together: rank 0 gives orders, and every rank carries them out on what it has.

The loop of a run, its checkpoints and its results are those of one process: they run on rank 0, which sees each chain
as a `LiveChain`. The other ranks only `serve`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Protocol

from blockmix.engines.contract import Comm
from blockmix.engines.halo import Halo
from blockmix.numerics.workers import Workers

END, SHARE = "end", "share"


class RankComm(Comm, Protocol):
    """A `Comm` of several processes: what they exchange, and how many threads each may use."""

    halo: Halo
    workers: Workers
    threads: int
    machines: int

    def abort(self, status: int) -> NoReturn:
        """End all ranks at once."""


def work_of(kind: str, comm: RankComm) -> Any:
    """Return what carries out the orders of one way to share the work: its methods are the orders."""
    from blockmix.samplers.ranks.divided import Divided
    from blockmix.samplers.ranks.hosted import Hosted

    return {"divided": Divided, "hosted": Hosted}[kind](comm)


def serve(comm: RankComm) -> None:
    """Carry out the orders of rank 0 until it ends the run: how the work is shared, and then what to do of it."""
    work: Any = None
    order: tuple[str, tuple[Any, ...]] = END, ()
    while True:
        name, arguments = comm.decide(order)
        if name == END:
            return
        if name == SHARE:
            work = work_of(arguments[0], comm)
        else:
            getattr(work, name)(*arguments)


class Team:
    """All ranks, as rank 0 leads them. `under_way` is True while an order is carried out.

    `shared` says in a few words how the work is shared.
    """

    def __init__(self, comm: RankComm) -> None:
        self.comm = comm
        self.work: Any = None
        self.under_way = False
        self.shared = ""

    def describe(self, threads: int | None) -> str:
        """Say what takes part; `threads` are those that the user gave a rank."""
        comm = self.comm
        machines = "1 machine" if comm.machines == 1 else f"{comm.machines:,} machines"
        many = threads or comm.threads
        each = "1 thread" if many == 1 else f"{many} threads"
        return f"{comm.size:,} ranks of {each} on {machines}: {self.shared}"

    def share_as(self, kind: str) -> Any:
        """Say how the work is shared from now on; return rank 0's part of it."""
        self.comm.decide((SHARE, (kind,)))
        self.work = work_of(kind, self.comm)
        return self.work

    def order(self, name: str, *arguments: Any, parts: Iterable[Any] | None = None) -> Any:
        """Have all ranks do this, and return what rank 0 has of it; `parts` are handed out, one to each."""
        self.under_way = True
        self.comm.decide((name, arguments))
        method = getattr(self.work, name)
        found = method(*arguments) if parts is None else method(*arguments, parts=parts)
        self.under_way = False
        return found

    def end(self) -> None:
        """Let the other ranks go."""
        self.comm.decide((END, ()))
