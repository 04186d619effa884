"""Work of uneven size shared out to the workers: pieces of about the same number of links."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.workers import Workers

# A piece of work has at least this many links and nodes together, and where that gives every worker one, this many
# times more: a piece costs some ten microseconds in which no other can begin.
LEAST_PIECE, LARGER = 20_000, 15
PIECES_A_WORKER = 4


def share_by_load(
    workers: Workers, begin: int, end: int, load: NDArray[np.int64], task: Callable[[int, int, int], None]
) -> None:
    """Run task(worker, begin, end) over pieces of [begin, end) of about the same load, for the next free worker."""
    total = int(load[end] - load[begin])
    pieces = max(min(workers.threads, total // LEAST_PIECE), total // (LARGER * LEAST_PIECE))
    pieces = min(pieces, workers.threads * PIECES_A_WORKER)
    if workers.threads == 1 or pieces < 2:
        task(0, begin, end)
        return
    goals = load[begin] + total * np.arange(1, pieces) // pieces
    cuts = [begin, *(begin + np.searchsorted(load[begin : end + 1], goals)).tolist(), end]
    waiting = iter([(a, b) for a, b in pairwise(cuts) if a < b])

    def work(worker: int) -> None:
        for a, b in waiting:
            task(worker, a, b)

    workers.each(min(workers.threads, pieces), work)
