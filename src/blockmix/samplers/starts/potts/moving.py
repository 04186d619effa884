"""The passes of local moving over all groups, shared out to the workers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.potts.groups import Groups, Links, Table, mixed, new_table
from blockmix.samplers.starts.potts.local_moves import (
    NOBODY,
    Choices,
    Parts,
    Turn,
    agree,
    choose,
    measure,
    relabel,
    wake,
)
from blockmix.samplers.starts.sharing import Loads, share_by_load

# Groups of one batch move at once.
BATCHES = 16
# Passes over all groups at most; a pass in which fewer than this share of the groups move is the last.
PASSES, FEWEST_MOVES = 12, 0.005
# Work is known for about so many places in an order, at which it can be cut.
LOADS = 1 << 14
# Where fewer than this share of a batch moved, and it has fewer links than that, one worker tells it to the neighbours.
FEW_TO_SHARE, MUCH_TO_SHARE = 0.1, 10_000_000


@kernel
def deal_turns(active: np.ndarray, batches: int, salt: int, order: np.ndarray, first: np.ndarray) -> None:
    """Sort the active groups by batch, a hash of their number; batch b is order[first[b]:first[b + 1]]."""
    first[:] = 0
    for g in range(active.shape[0]):
        if active[g]:
            first[mixed(g, salt) % batches + 1] += 1
    for b in range(batches):
        first[b + 1] += first[b]
    for g in range(active.shape[0]):
        if active[g]:
            b = mixed(g, salt) % batches
            order[first[b]] = g
            first[b] += 1
    for b in range(batches, 0, -1):
        first[b] = first[b - 1]
    first[0] = 0


@kernel
def add_loads(order: np.ndarray, groups: Groups, links: Links, block: int, before: np.ndarray) -> int:
    """Set before[i] to the groups and links of all groups before order[i * block]; return the most of one group."""
    total, most = 0, 0
    for i in range(order.shape[0]):
        if i % block == 0:
            before[i // block] = total
        g = order[i]
        load = 1
        for m in range(groups.first[g], groups.first[g + 1]):
            row = groups.members[m]
            load += 1 + links.offsets[row + 1] - links.offsets[row]
        most = max(most, load)
        total += load
    before[before.shape[0] - 1] = total
    return most


class Movers:
    """Workers that move the groups of a network at one resolution after the other."""

    def __init__(self, workers: Workers, links: Links, groups: Groups) -> None:
        self.workers = workers
        self.take(links, groups)

    def take(self, links: Links, groups: Groups) -> None:
        """Go on with these groups, in place of those before."""
        self.links, self.groups, self.count = links, groups, len(groups.sizes)
        self.loads, largest = self._loads(np.arange(self.count, dtype=np.int32))
        self.tables = [new_table(min(largest, self.count)) for _ in range(self.workers.threads)]

    def _loads(self, order: NDArray[np.int32]) -> tuple[Loads, int]:
        """Return the loads of groups in an order, and the largest of one group."""
        block = 1 + len(order) // LOADS
        before = np.zeros(-(-len(order) // block) + 1, dtype=np.int64)
        most = int(add_loads(order, self.groups, self.links, block, before))
        return Loads(before, block), most

    def measure(self, resolution: float, fresh: NDArray[np.uint8]) -> None:
        """Count links inside the groups that are `fresh`, and bound the resolutions at which groups can move."""

        groups, links = self.groups, self.links
        self.share(lambda table, a, b: measure(a, b, resolution, fresh, groups, links, table))

    def share(self, task: Callable[[Table, int, int], None]) -> None:
        """Run task(table, begin, end) over all groups, each worker with its own table."""
        share_by_load(
            self.workers, 0, self.count, self.loads, lambda worker, a, b: task(self.tables[worker], a, b)
        )

    def move(self, resolution: float, salt: int, start: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """Return the part of every group after local moving: from parts of their own, or from those of `start`."""
        count, parts = self.count, self._parts(start)
        order, cuts = np.empty(count, dtype=np.int32), np.empty(BATCHES + 1, dtype=np.int64)
        for number in range(PASSES):
            # New batches in every pass: two groups that keep changing places in one batch would do so for ever.
            turn = Turn(order, resolution, salt + number, BATCHES, start is None)
            deal_turns(parts.active, BATCHES, turn.salt, order, cuts)
            if self._pass(turn, cuts, parts) <= FEWEST_MOVES * count:
                break
        return parts.of_group

    def _pass(self, turn: Turn, cuts: NDArray[np.int64], parts: Parts) -> int:
        """Go through the active groups once, batch by batch; return how many moved."""
        loads, largest = self._loads(turn.order[: cuts[-1]])[0], int(np.diff(cuts).max())
        choices = Choices(np.empty(largest, np.int32), np.empty(largest, np.int64), np.empty(largest))
        ends = pairwise(cuts.tolist())
        return sum(self._batch(a, b, turn, parts, choices, loads) for a, b in ends if a < b)

    def _parts(self, start: NDArray[np.int32] | None) -> Parts:
        groups = self.groups
        if start is None:
            of_group, sizes = np.arange(self.count, dtype=np.int32), groups.sizes.copy()
        else:
            of_group = start.astype(np.int32)
            sizes = np.zeros(int(start.max()) + 1, dtype=groups.sizes.dtype)
            np.add.at(sizes, start, groups.sizes)
        # Where every row is a group, one array has the parts of both.
        of_row = of_group if groups.of_row is groups.members else of_group[groups.of_row]
        return Parts(
            of_group, of_row, sizes, np.ones(self.count, dtype=np.uint8),
            np.zeros_like(sizes), np.full(len(sizes), NOBODY, dtype=np.uint32),
        )  # fmt: skip

    def _batch(self, a: int, b: int, turn: Turn, parts: Parts, choices: Choices, loads: Loads) -> int:
        """Let the groups turn.order[a:b] choose, then move."""
        groups, links = self.groups, self.links

        def choosing(worker: int, begin: int, end: int) -> None:
            part = choices.between(begin - a, end - a)
            choose(begin, end, turn, groups, links, parts, self.tables[worker], part)

        def relabelling(_: int, begin: int, end: int) -> None:
            relabel(begin, end, turn, groups, parts, choices.between(begin - a, end - a))

        def waking(_: int, begin: int, end: int) -> None:
            wake(begin, end, turn, groups, links, parts, choices.between(begin - a, end - a))

        share_by_load(self.workers, a, b, loads, choosing)
        moved = int(agree(a, b, turn, groups, parts, choices))
        few = moved < FEW_TO_SHARE * (b - a) and loads.between(a, b) < MUCH_TO_SHARE
        for task in (relabelling, waking) if moved else ():
            if few:
                task(0, a, b)
            else:
                share_by_load(self.workers, a, b, loads, task)
        return moved
