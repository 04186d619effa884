"""Threads for kernels that release the GIL: a range is cut into one piece a worker.

Plain threads rather than numba's parallel loops: nothing extra to compile, safe after a fork and when
several fits run at once in one process. Results never depend on how a range was cut: every kernel's
random numbers are keyed by node, and its sums are integers (tests/samplers/test_threads.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

# A batch of fewer nodes takes less time than waking a second thread.
WORTH_A_THREAD = 96
# Pieces that are dealt out have at least this many nodes, some milliseconds of work; a worker gets about this many.
LEAST_PIECE, PIECES_A_WORKER = 1024, 8


def default_threads() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


class Workers:
    """A fixed number of threads that ranges are shared out to; close it, or use it in a `with` block."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = max(1, default_threads() if threads is None else int(threads))
        self._pool: ThreadPoolExecutor | None = None

    def share(self, count: int, task: Callable[[int, int, int], None]) -> None:
        """Run task(worker, begin, end) over [0, count), one piece a worker; return when all have ended."""
        pieces = max(1, min(self.threads, count // WORTH_A_THREAD))
        cuts = [count * i // pieces for i in range(pieces + 1)]
        self.each(pieces, lambda i: task(i, cuts[i], cuts[i + 1]))

    def deal(self, count: int, task: Callable[[int, int, int], None]) -> None:
        """Run like `share`, in smaller pieces for the next free worker: where some parts take longer than others."""
        piece = max(LEAST_PIECE, -(-count // (PIECES_A_WORKER * self.threads)))
        if self.threads == 1 or count < 2 * self.threads * piece:
            self.share(count, task)
            return
        begins = iter(range(0, count, piece))

        def work(worker: int) -> None:
            for begin in begins:
                task(worker, begin, min(begin + piece, count))

        self.each(self.threads, work)

    def each(self, count: int, task: Callable[[int], None]) -> None:
        """Run task(0), ..., task(count - 1) on the workers; return, or raise, when all have ended."""
        if count == 1 or self.threads == 1:
            for i in range(count):
                task(i)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="blockmix")
        waiting = [self._pool.submit(task, i) for i in range(1, count)]
        try:
            task(0)
            for i, future in enumerate(waiting, start=1):
                # The caller is a worker too: it runs what no thread has begun.
                if future.cancel():
                    task(i)
        finally:
            wait(waiting)
        for future in waiting:
            if not future.cancelled():
                future.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
