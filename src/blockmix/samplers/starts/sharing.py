"""Work of uneven size shared out to the workers: pieces of about the same number of links."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.workers import Workers

# A piece of work has at least this many links and nodes together, and where that gives every worker one, this many
# times more: a piece costs some ten microseconds in which no other can begin.
LEAST_PIECE, LARGER = 20_000, 15
PIECES_A_WORKER = 4


class Loads(NamedTuple):
    """How much work comes before every so many-th item: before[i] is the load of all items before item i * block."""

    before: NDArray[np.int64]
    block: int = 1

    def blocks(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return the part of `before` that covers the items [begin, end)."""
        return self.before[begin // self.block : -(-end // self.block) + 1]

    def between(self, begin: int, end: int) -> int:
        """Return about how much work the items [begin, end) are: whole blocks count."""
        covered = self.blocks(begin, end)
        return int(covered[-1] - covered[0])


def share_by_load(
    workers: Workers, begin: int, end: int, loads: Loads, task: Callable[[int, int, int], None]
) -> None:
    """Run task(worker, begin, end) over pieces of [begin, end) of about the same load, for the next free worker."""
    total, covered = loads.between(begin, end), loads.blocks(begin, end)
    pieces = max(min(workers.threads, total // LEAST_PIECE), total // (LARGER * LEAST_PIECE))
    pieces = min(pieces, workers.threads * PIECES_A_WORKER)
    if workers.threads == 1 or pieces < 2:
        task(0, begin, end)
        return
    goals = covered[0] + total * np.arange(1, pieces) // pieces
    inner = loads.block * (begin // loads.block + np.searchsorted(covered, goals))
    cuts = [begin, *np.clip(inner, begin, end).tolist(), end]
    waiting = iter([(a, b) for a, b in pairwise(cuts) if a < b])

    def work(worker: int) -> None:
        for a, b in waiting:
            task(worker, a, b)

    workers.each(min(workers.threads, pieces), work)
