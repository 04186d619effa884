"""The ranks of an MPI job as a `Comm`: the only module that knows mpi4py.

Objects that are handed out are pickled by mpi4py: they go between the processes of one run and come from nowhere else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.halo import Halo, Partner, bits, message, pack_rows, unpack_rows
from blockmix.numerics.workers import Workers, default_threads
from blockmix.tables.layout import Rows

_Word = TypeVar("_Word")

# A rank that waits for others looks all the time for so long, then once in so long, in seconds: rank 0 may be reading
# a network for minutes, and needs the processor.
EAGER, PATIENT = 2e-3, 5e-4
ROWS, PARTS = 1, 2
# Fewer rows than this are packed sooner than threads are woken.
WORTH_THREADS = 4096


class MpiComm:
    """The ranks that `mpiexec` started, or those of another communicator.

    `halo` is what they exchange, packed by `workers`; `sent` counts bytes and `waited` the seconds in which this rank
    did so. `threads` are those that it may use, and `machines` how many machines there are.
    """

    def __init__(self, world: Any = None) -> None:
        # Imported here: it starts MPI.
        from mpi4py import MPI
        from mpi4py.util import pkl5

        self._mpi = MPI
        self._world = pkl5.Intracomm(MPI.COMM_WORLD if world is None else world)
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        self.halo, self.workers = Halo([]), Workers(1)
        self.sent, self.waited = 0, 0.0
        self.threads, self.machines, self._crowded = self._threads()

    def _threads(self) -> tuple[int, int, bool]:
        """Return the threads that this rank may use, the number of machines, and whether processors are too few.

        Ranks on one machine share out the processors that they may run on, unless each was given its own.
        """
        near = self._world.Split_type(self._mpi.COMM_TYPE_SHARED)
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        sharers = near.allgather(allowed).count(allowed)
        machines = self._world.allreduce(int(near.Get_rank() == 0))
        near.Free()
        return max(default_threads() // sharers, 1), int(machines), default_threads() < sharers

    def _wait(self, over: Callable[[], Any]) -> None:
        """Wait until something is over: all the time at first, then now and then, to leave the processor to others."""
        began = time.perf_counter()
        while not over():
            if self._crowded or time.perf_counter() - began > EAGER:
                time.sleep(0.0 if self._crowded else PATIENT)

    def add(self, sums: NDArray[Any]) -> None:
        """Add up integer sums over all ranks, in place."""
        began = time.perf_counter()
        if self._crowded:
            self._wait(self._world.Iallreduce(self._mpi.IN_PLACE, sums).Test)
        else:
            self._world.Allreduce(self._mpi.IN_PLACE, sums)
        self.waited += time.perf_counter() - began
        self.sent += sums.nbytes

    def exchange(self, rows: Rows, batch: int) -> None:
        """Send the new rows of a batch to the ranks that read them, and receive theirs."""
        began, partners, slots = time.perf_counter(), self.halo.partners[batch], rows.words.shape[1]
        coming = [message(len(partner.receive), slots) for partner in partners]
        waiting = [
            self._world.Irecv(buffer, partner.rank, ROWS)
            for buffer, partner in zip(coming, partners, strict=True)
        ]
        # Messages are packed and unpacked by the threads of this rank, a few at a time; one thread sends and receives.
        many = sum(len(partner.send) + len(partner.receive) for partner in partners) >= WORTH_THREADS
        size = self.workers.threads if many else 1
        leaving, going = [], []
        for few in _in_groups(partners, size):
            packed = self._each(lambda partner: self._pack(partner, rows), few)
            going += [
                self._world.Isend(sent, partner.rank, ROWS) for sent, partner in zip(packed, few, strict=True)
            ]
            leaving += packed
        for some in _in_groups(list(zip(waiting, coming, partners, strict=True)), size):
            self._wait(partial(self._mpi.Request.Testall, [request for request, _, _ in some]))
            self._each(lambda come: unpack_rows(come[2].receive, come[1], rows.words, bits(rows)), some)
        self._wait(partial(self._mpi.Request.Testall, going))
        self.sent += sum(part.nbytes for part in leaving)
        self.waited += time.perf_counter() - began

    def _each(self, task: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Do something with each of these on the threads of this rank, and return the results."""
        found: list[Any] = [None] * len(items)

        def one(i: int) -> None:
            found[i] = task(items[i])

        self.workers.each(len(items), one)
        return found

    def _pack(self, partner: Partner, rows: Rows) -> NDArray[np.int32]:
        """Return the message to one rank."""
        out = message(len(partner.send), rows.words.shape[1])
        return out[: pack_rows(partner.send, rows.words, bits(rows), out)]

    def decide(self, word: _Word) -> _Word:
        """Return the word of rank 0; ranks that wait long for it sleep in between."""
        self._wait(self._world.Ibarrier().Test)
        said: _Word = self._world.bcast(word)
        return said

    def hand_out(self, parts: Iterable[Any]) -> Any:
        """Return this rank's part; rank 0 makes them one by one, and never has two of them but its own."""
        if self.rank:
            return self._world.recv(None, 0, PARTS)
        own = None
        for rank, part in enumerate(parts):
            if rank == 0:
                own = part
            else:
                self._world.send(part, rank, PARTS)
        return own

    def swap(self, parts: Sequence[Any]) -> list[Any]:
        """Give every rank the part made for it, and return what all have made for this one."""
        return list(self._world.alltoall(list(parts)))

    def gather(self, part: Any) -> list[Any]:
        """Return the parts of all ranks, in their order, on rank 0; nothing elsewhere."""
        return list(self._world.gather(part) or ())

    def abort(self, status: int) -> NoReturn:
        """End all ranks at once."""
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(status)
        raise SystemExit(status)


def _in_groups(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Return the items in groups of so many."""
    return [items[i : i + size] for i in range(0, len(items), size)]
