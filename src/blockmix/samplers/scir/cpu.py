"""The kernels of `scir` on the CPU: compiled, on all threads of this process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine, Shard, add_up
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.concentration import ConcentrationMove
from blockmix.samplers.scir.constants import BACKGROUND_HELD_DOWN, BACKGROUND_SHARE, WORTH_COMMITTING_TOGETHER
from blockmix.samplers.scir.diffusion import strengths as by_diffusion
from blockmix.samplers.scir.diffusion.dense import update_dense_range
from blockmix.samplers.scir.diffusion.sparse import update_range
from blockmix.samplers.scir.frame import (
    CURVED,
    EXPOSURE,
    LINKS_INSIDE,
    MEMBERS_SQUARED,
    STATISTICS,
    Batch,
    Frame,
    NodePriors,
    Work,
    new_scratch,
)
from blockmix.samplers.scir.indicators import strengths as exact
from blockmix.samplers.scir.indicators.in_turn import redraw_in_turn
from blockmix.samplers.scir.indicators.pairs import PairEvents, empty_events, read_pairs_range
from blockmix.samplers.scir.indicators.redraw import redraw_range
from blockmix.samplers.scir.kernels import Measures
from blockmix.samplers.scir.members import empty_lists, empty_single_lists, list_members, list_single
from blockmix.samplers.scir.non_links import empty_bounds, set_bounds
from blockmix.samplers.scir.problem import Problem, ScirState, Sweep
from blockmix.samplers.scir.rows import commit_range, merge_members
from blockmix.tables.layout import FIXED_POINT, Rows, empty_rows
from blockmix.tables.predictor import Predictor

# Space for the events of one worker at first; it grows with need.
FIRST_EVENTS = 1024


class CpuKernels:
    """Buffers of all workers, and what all forms share: sums over members, rows set aside, predictions."""

    # Whether the members of communities are listed, as exact sums over non-links need.
    listed_nodes = False

    def __init__(self, problem: Problem, engine: Engine) -> None:
        self.problem, self.workers, self.comm = problem, engine.workers, engine.comm
        degrees = problem.degrees
        k, threads = problem.communities, self.workers.threads
        self.fresh = empty_rows(problem.most_at_once, problem.slots)
        self.statistics = np.zeros((threads, k, STATISTICS), dtype=np.int64)
        self.sums = np.zeros((threads, 3), dtype=np.int64)
        largest = int(degrees.max(initial=0))
        self.work = [
            Work(new_scratch(k, problem.slots, largest, self.listed_nodes * problem.nodes), *both)
            for both in zip(self.statistics, self.sums, strict=True)
        ]
        self.members = np.zeros((k, 2))
        self.bounds = empty_bounds(0)
        self.lists = empty_lists(k, problem.batches, self.listed_nodes * problem.nodes, problem.slots)
        self.predictor = Predictor(*isolated_places(problem.shard))
        self.concentration = ConcentrationMove(degrees, k, self.workers, self.comm, problem.degree_counts)

    def priors(self, concentration: float) -> NodePriors:
        """Return the priors of nodes without and with links."""
        return self.problem.priors(concentration)

    def _frame(self, state: ScirState, sweep: Sweep) -> Frame:
        problem = self.problem
        return Frame(
            problem.shard.network, problem.shard.names, state.rows, self.members, self.lists, state.strengths,
            self.bounds, state.priors, sweep.settings, sweep.key,
        )  # fmt: skip

    def _refresh_members(self, state: ScirState) -> None:
        """Bring S_k and Q_k up to date: add the changes of all workers and ranks to the running sums."""
        add_up(self.statistics[:, :, : MEMBERS_SQUARED + 1], self.comm)
        merge_members(self.statistics, state.sums, self.members)

    def _commit(self, batch: int, state: ScirState) -> None:
        """Copy the new rows of a batch into the table."""
        commit_rows(*self.problem.batch(batch), self.workers, state.rows, self.fresh)

    def _hold_background_down(self, state: ScirState, sweep: Sweep) -> None:
        """Keep the background small in the first sweeps of warm-up, where it is learned."""
        if self.problem.model.background is None and sweep.warm_up and state.sweep < BACKGROUND_HELD_DOWN:
            value = state.strengths.value
            value[-1] = min(value[-1], BACKGROUND_SHARE * self.problem.density)

    def draw_concentration(self, state: ScirState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""
        problem, total = self.problem, state.concentration
        smallest = None if problem.whole else problem.smallest(total)
        return self.concentration.draw(total, smallest, state.rows, sweep.key)

    def measures(self) -> Measures:
        """Add up what the workers measured; sums over ranks were taken for the strengths."""
        inside = int(self.sums[:, 0].sum()) / FIXED_POINT
        dropped, accepted = self.sums[:, 1:].sum(axis=0) / FIXED_POINT / self.problem.all_nodes
        self.sums[:] = 0
        return Measures(inside, float(dropped), float(accepted))

    def forecast(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Predict on all workers."""
        self.predictor.predict(self.workers, pairs, state.rows, state.strengths.value, keep, share, out)


class CpuExact(CpuKernels):
    """Link indicators (G1) to (G4) with non-links summed exactly, and the exact move of strengths (N6)."""

    listed_nodes = True

    def __init__(self, problem: Problem, engine: Engine) -> None:
        super().__init__(problem, engine)
        self.bounds = empty_bounds(problem.communities)
        if problem.in_turn:
            self.lists = empty_single_lists(problem.communities, problem.nodes)
        self.events = [empty_events(FIRST_EVENTS, problem.slots) for _ in range(self.workers.threads)]
        self.listed: tuple[ScirState | None, int] = (None, 0)

    def begin(self, state: ScirState, sweep: Sweep) -> None:
        """Compute the bounds of the strengths as they are, and list members unless the last sweep has done so."""
        set_bounds(state.strengths.value, self.bounds)
        if self.listed[0] is state and self.listed[1] == state.sweep:
            return
        if self.problem.in_turn:
            list_single(state.rows, self.lists)
        else:
            for batch in range(self.problem.batches):
                self._list(batch, state)

    def _list(self, batch: int, state: ScirState) -> None:
        nodes, count = self.problem.batch(batch)
        list_members(batch, nodes, count, state.rows, self.lists)

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Deal the nodes of a batch out to the workers, then copy their rows and list them."""
        self._refresh_members(state)
        nodes, count = self.problem.batch(batch)
        frame = self._frame(state, sweep)

        def update(worker: int, begin: int, end: int) -> None:
            redraw_range(begin, end, nodes, frame, self.fresh, self.work[worker])

        self.workers.deal(count, update)
        self._commit(batch, state)
        self._list(batch, state)

    def redraw_all(self, state: ScirState, sweep: Sweep) -> None:
        """Redraw all nodes in one call."""
        redraw_in_turn(self._frame(state, sweep), self.fresh, self.work[0], self.statistics, state.sums)

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """(N6) Draw the strengths, then the background where it is learned."""
        self._refresh_members(state)
        frame, value = self._frame(state, sweep), state.strengths.value
        events, found = self._read_pairs(frame)
        counts, prior = self._collect_counts(), self.problem.strength_prior
        self.listed = (state, state.sweep + 1)
        if found < 0:
            return
        factors = exact.factors_of(events, found, self.problem.communities)
        exact.set_factors(value, factors)
        exact.draw_strengths(counts, prior, sweep.key, value, factors)
        if self.problem.model.background is None:
            exact.draw_background(counts, prior, sweep.key, value, factors)
            self._hold_background_down(state, sweep)

    def _collect_counts(self) -> exact.PairCounts:
        """(N6) Add up what the workers counted; links outside of all communities are the background's."""
        problem, columns = self.problem, slice(LINKS_INSIDE, CURVED + 1)
        links, overlap, curved = self.statistics[:, :, columns].sum(axis=0).T
        self.statistics[:, :, columns] = 0
        inside = int(links.sum())
        self.sums[0, 0] += inside * int(FIXED_POINT)
        weight = problem.non_link_weight
        return exact.PairCounts(
            np.append(links, problem.links - inside).astype(np.float64), weight / FIXED_POINT * overlap,
            weight / FIXED_POINT * curved, weight * problem.non_links, problem.most_events,
        )  # fmt: skip

    def _read_pairs(self, frame: Frame) -> tuple[PairEvents, int]:
        """Look at all pairs, each worker at those of a range of nodes; events are joined in the order of nodes.

        Returns the events and their number, which is negative where there are too many.
        """
        parts: list[tuple[int, int, int]] = []

        def read(worker: int, begin: int, end: int) -> None:
            done, used = begin, 0
            while True:
                done, used = read_pairs_range(
                    done, end, used, self.problem.most_events, frame, self.work[worker], self.events[worker]
                )
                if done == end:
                    break
                self.events[worker] = grown(self.events[worker], self.problem.slots)
            parts.append((begin, worker, used))

        self.workers.share(self.problem.nodes, read)
        parts.sort()
        if any(used < 0 for _, _, used in parts):
            return self.events[0], -1
        return joined([(self.events[worker], used) for _, worker, used in parts])


class CpuClosed(CpuKernels):
    """Either local move with non-links in closed form (S5), and strengths from expected pair counts (S6)."""

    def __init__(self, problem: Problem, engine: Engine) -> None:
        super().__init__(problem, engine)
        self.counts = by_diffusion.PairCounts(*np.zeros((2, problem.communities + 1)))
        self.update = local_update(problem)

    def begin(self, state: ScirState, sweep: Sweep) -> None:
        """Prepare nothing: the closed form needs no lists."""

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Deal the nodes of a batch out to the workers, then copy their rows."""
        self._refresh_members(state)
        nodes, count = self.problem.batch(batch)
        frame = self._frame(state, sweep)

        def update(worker: int, begin: int, end: int) -> None:
            self.update(begin, end, nodes, frame, self.fresh, self.work[worker])

        self.workers.deal(count, update)
        self._commit(batch, state)

    def redraw_all(self, state: ScirState, sweep: Sweep) -> None:
        """Redraw batch by batch."""
        for batch in range(self.problem.batches):
            self.redraw(batch, state, sweep)

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """(S6) Draw the strengths, then the background where it is learned."""
        self._refresh_members(state)
        problem, k = self.problem, self.problem.communities
        self._count_pairs(state)
        move = by_diffusion.StrengthMove(problem.strength_prior, sweep.settings.step, sweep.warm_up)

        def update(_: int, begin: int, end: int) -> None:
            by_diffusion.update_strengths(begin, end, self.counts, move, sweep.key, state.strengths)

        self.workers.share(k, update)
        if problem.model.background is None:
            update(0, k, k + 1)
            self._hold_background_down(state, sweep)

    def _count_pairs(self, state: ScirState) -> None:
        """(S6) Collect the pairs inside each community; the rest of all pairs is the background's."""
        add_up(self.statistics[:, :, LINKS_INSIDE : EXPOSURE + 1], self.comm)
        add_up(self.sums, self.comm)
        problem, k = self.problem, self.problem.communities
        links, non_links = self.counts
        by_diffusion.collect_pairs(self.statistics, state.strengths.value, self.counts)
        non_links[:k] *= problem.non_link_weight
        inside = int(self.sums[:, 0].sum()) / FIXED_POINT
        links[k] = max(problem.links - inside, 0.0)
        non_links[k] = max(problem.non_link_weight * problem.non_links - non_links[:k].sum(), 0.0)


def commit_rows(nodes: Batch, count: int, workers: Workers, rows: Rows, fresh: Rows) -> None:
    """Copy the new rows of a batch of `count` nodes into the table, on several threads where that is worth it."""

    def commit(_: int, begin: int, end: int) -> None:
        commit_range(begin, end, nodes, rows, fresh)

    if count < WORTH_COMMITTING_TOGETHER:
        commit(0, 0, count)
    else:
        workers.share(count, commit)


def isolated_places(shard: Shard) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which places have nodes without training links, and these places in the order of the nodes' names."""
    if shard.isolated is None:
        marks = np.diff(shard.network.offsets) == 0
        return marks, np.flatnonzero(marks)
    marks = np.zeros(len(shard.names), dtype=np.bool_)
    marks[shard.isolated] = True
    return marks, shard.isolated


def local_update(problem: Problem) -> Callable[..., None]:
    """Return the kernel that updates a range of nodes."""
    if problem.options.local_move == "indicators":
        return redraw_range
    return update_dense_range if problem.dense else update_range


def grown(events: PairEvents, slots: int) -> PairEvents:
    """Return the same events with space for twice as many."""
    larger = empty_events(2 * len(events.first), slots)
    for i in range(len(events)):
        larger[i][: len(events[i])] = events[i]
    return larger


def joined(parts: list[tuple[PairEvents, int]]) -> tuple[PairEvents, int]:
    """Return the events of several lists as one, and how many they are; with each list comes how many it has."""
    if len(parts) == 1:
        return parts[0]
    first, base = [np.zeros(1, dtype=np.int64)], 0
    for events, count in parts:
        first.append(events.first[1 : count + 1] + base)
        base += int(events.first[count])
    rest = [np.concatenate([events[i][: events.first[count]] for events, count in parts]) for i in (1, 2, 3)]
    return PairEvents(np.concatenate(first), *rest), sum(count for _, count in parts)
