"""The kernels of `scir` on the CPU: compiled, on all threads of this process."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine
from blockmix.samplers.scir.constants import BACKGROUND_HELD_DOWN, BACKGROUND_SHARE, WORTH_COMMITTING_TOGETHER
from blockmix.samplers.scir.diffusion.dense import update_dense_range
from blockmix.samplers.scir.diffusion.sparse import update_range
from blockmix.samplers.scir.frame import STATISTICS, Frame, Work, new_scratch
from blockmix.samplers.scir.indicators.redraw import redraw_range
from blockmix.samplers.scir.kernels import Measures
from blockmix.samplers.scir.problem import Problem, ScirState, Sweep
from blockmix.samplers.scir.rows import commit_range
from blockmix.samplers.scir.strengths import (
    PairCounts,
    StrengthMove,
    collect_pairs,
    merge_members,
    update_strengths,
)
from blockmix.tables.layout import FIXED_POINT, empty_rows
from blockmix.tables.predictor import Predictor


class CpuKernels:
    """Buffers of all workers, and the compiled kernels on them."""

    def __init__(self, problem: Problem, engine: Engine) -> None:
        self.problem, self.workers = problem, engine.workers
        degrees = np.diff(problem.shard.network.offsets)
        k, threads = problem.communities, self.workers.threads
        self.fresh = empty_rows(-(-problem.nodes // problem.batches), problem.slots)
        self.statistics = np.zeros((threads, k, STATISTICS), dtype=np.int64)
        self.sums = np.zeros((threads, 3), dtype=np.int64)
        largest = int(degrees.max(initial=0))
        self.work = [
            Work(new_scratch(k, problem.slots, largest), self.statistics[i], self.sums[i])
            for i in range(threads)
        ]
        self.members = np.zeros((k, 2))
        self.counts = PairCounts(np.zeros(k + 1), np.zeros(k + 1))
        self.update = local_update(problem)
        self.predictor = Predictor(degrees == 0)

    def refresh_members(self, state: ScirState) -> None:
        """Add the workers' changes to the running sums."""
        merge_members(self.statistics, state.sums, self.members)

    def redraw(self, batch: int, state: ScirState, sweep: Sweep) -> None:
        """Deal the nodes of a batch out to the workers."""
        problem = self.problem
        nodes, count = problem.batch(batch)
        frame = Frame(
            problem.shard.network, problem.shard.names, state.rows, self.members, state.strengths, problem.priors,
            sweep.settings, sweep.key,
        )  # fmt: skip

        def update(worker: int, begin: int, end: int) -> None:
            self.update(begin, end, nodes, frame, self.fresh, self.work[worker])

        self.workers.deal(count, update)

    def commit(self, batch: int, state: ScirState) -> None:
        """Copy the new rows, on several threads where that is worth it."""
        nodes, count = self.problem.batch(batch)

        def commit(_: int, begin: int, end: int) -> None:
            commit_range(begin, end, nodes, state.rows, self.fresh)

        if count < WORTH_COMMITTING_TOGETHER:
            commit(0, 0, count)
        else:
            self.workers.share(count, commit)

    def update_strengths(self, state: ScirState, sweep: Sweep) -> None:
        """Draw the strengths, then the background where it is learned."""
        problem, k = self.problem, self.problem.communities
        self._count_pairs(state)
        move = StrengthMove(problem.strength_prior, sweep.settings.step, sweep.warm_up)

        def update(_: int, begin: int, end: int) -> None:
            update_strengths(begin, end, self.counts, move, sweep.key, state.strengths)

        self.workers.share(k, update)
        if problem.model.background is None:
            update(0, k, k + 1)
            if sweep.warm_up and state.sweep < BACKGROUND_HELD_DOWN:
                value = state.strengths.value
                value[k] = min(value[k], BACKGROUND_SHARE * problem.density)

    def _count_pairs(self, state: ScirState) -> None:
        """(S6) Collect the pairs inside each community; the rest of all pairs is the background's."""
        problem, k = self.problem, self.problem.communities
        links, non_links = self.counts
        collect_pairs(self.statistics, state.strengths.value, self.counts)
        non_links[:k] *= problem.non_link_weight
        links[k] = max(problem.links - self.links_inside, 0.0)
        non_links[k] = max(problem.non_link_weight * problem.non_links - non_links[:k].sum(), 0.0)

    @property
    def links_inside(self) -> float:
        """Expected links inside communities, of the sweep so far."""
        return int(self.sums[:, 0].sum()) / FIXED_POINT

    def measures(self) -> Measures:
        """Add up what the workers measured."""
        inside = self.links_inside
        dropped, accepted = self.sums[:, 1:].sum(axis=0) / FIXED_POINT / self.problem.nodes
        self.sums[:] = 0
        return Measures(inside, float(dropped), float(accepted))

    def forecast(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Predict on all workers."""
        self.predictor.predict(self.workers, pairs, state.rows, state.strengths.value, keep, share, out)


def local_update(problem: Problem) -> Callable[..., None]:
    """Return the kernel that updates a range of nodes."""
    if problem.options.local_move == "indicators":
        return redraw_range
    return update_dense_range if problem.dense else update_range
