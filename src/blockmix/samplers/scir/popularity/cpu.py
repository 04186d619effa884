"""The kernels of the popularity model on the CPU: compiled, on all threads of this process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine, add_up
from blockmix.samplers.scir.concentration import ConcentrationMove
from blockmix.samplers.scir.cpu import commit_rows, isolated_places
from blockmix.samplers.scir.popularity.frame import LOGS, MOST_UNITS, UNITS, Frame, Work, new_scratch
from blockmix.samplers.scir.popularity.kernels import BACKGROUND_HELD_DOWN, BACKGROUND_SHARE, Measures
from blockmix.samplers.scir.popularity.problem import PopularityProblem, PopularityState, Sweep, rescale
from blockmix.samplers.scir.popularity.rates import (
    add_rows_range,
    count_pairs_range,
    merge_members,
    pair_exposure,
    update_rates,
    update_scale,
    update_spread,
)
from blockmix.samplers.scir.popularity.redraw import redraw_in_turn, redraw_range
from blockmix.samplers.scir.popularity.weights import AMOUNTS, Tally, draw_unit
from blockmix.tables.layout import FIXED_POINT, empty_rows
from blockmix.tables.popular import PopularPredictor


class CpuKernels:
    """Buffers of all workers, and the compiled kernels on them."""

    def __init__(self, problem: PopularityProblem, engine: Engine) -> None:
        self.problem, self.engine, self.workers = problem, engine, engine.workers
        degrees = np.diff(problem.shard.network.offsets)
        k, threads, slots = problem.communities, self.workers.threads, problem.options.slots
        self.fresh = empty_rows(problem.most_at_once, slots)
        self.changes = np.zeros((threads, k + 1, 2), dtype=np.int64)
        self.pairs = np.zeros((threads, k + 1, 3), dtype=np.int64)
        self.sums = np.zeros((threads, LOGS + 2), dtype=np.int64)
        largest, weights = int(degrees.max(initial=0)), problem.weights
        self.tally = np.zeros((threads, MOST_UNITS + 1 if weights.law == AMOUNTS else 0), dtype=np.int64)
        most = weights.most_units(problem.shard.network.offsets)
        self.work = [
            Work(
                new_scratch(k, slots, largest, most),
                self.changes[i],
                self.pairs[i],
                self.sums[i],
                self.tally[i],
            )
            for i in range(threads)
        ]
        self.members = np.zeros((k + 1, 2))
        self.units = np.zeros(2)
        self.predictor = PopularPredictor(*isolated_places(problem.shard), first=problem.first)
        self.concentration = ConcentrationMove(degrees, k, self.workers, engine.comm, problem.degree_counts)

    def _frame(self, state: PopularityState, sweep: Sweep) -> Frame:
        shard = self.problem.shard
        return Frame(
            shard.network, shard.names, state.rows, self.members, state.rates, sweep.settings, sweep.key,
            self.problem.weights.frame(state.unit),
        )  # fmt: skip

    def redraw_nodes(self, state: PopularityState, sweep: Sweep) -> None:
        """Redraw all nodes, one after the other or batch by batch."""
        comm = self.engine.comm
        merge_members(self.changes, state.sums, self.members)
        if self.problem.in_turn:
            redraw_in_turn(self._frame(state, sweep), state.sums, self.fresh, self.work[0])
            return
        for batch in range(self.problem.batches):
            self._redraw(batch, state, sweep)
            commit_rows(*self.problem.batch(batch), self.workers, state.rows, self.fresh)
            comm.exchange(state.rows, batch)
            add_up(self.changes, comm)
            merge_members(self.changes, state.sums, self.members)

    def _redraw(self, batch: int, state: PopularityState, sweep: Sweep) -> None:
        nodes, count = self.problem.batch(batch)
        frame = self._frame(state, sweep)

        def update(worker: int, begin: int, end: int) -> None:
            redraw_range(begin, end, nodes, frame, self.fresh, self.work[worker])

        self.workers.deal(count, update)

    def update_rates(self, state: PopularityState, sweep: Sweep) -> None:
        """Draw the units of all links, then the rates given them, then rho given the popularities."""
        problem, k = self.problem, self.problem.communities
        frame = self._frame(state, sweep)

        def count(worker: int, begin: int, end: int) -> None:
            count_pairs_range(begin, end, frame, self.work[worker])

        self.workers.deal(problem.nodes, count)
        for sums in (self.pairs, self.sums):
            add_up(sums, self.engine.comm)
        learned = problem.model.background is None
        weight, two_sides = sweep.settings.non_link_weight, problem.first > 0
        update_rates(
            k + learned,
            self.pairs,
            self.members,
            problem.rate_prior,
            weight,
            two_sides,
            sweep.key,
            state.rates,
        )
        if learned and sweep.warm_up and state.sweep < BACKGROUND_HELD_DOWN:
            exposure = pair_exposure(k, self.pairs, self.members, weight, two_sides)
            state.rates[k] = min(state.rates[k], BACKGROUND_SHARE * problem.weights.total / exposure)
        units = self.pairs[:, :, UNITS].sum(axis=0)
        self.units[:] = units.sum(), units[:k].sum()
        self.pairs[:] = 0
        if problem.weights.law == AMOUNTS:
            draw_unit(state.unit, Tally.of(self.tally, problem.weights.total), sweep.key)
            self.tally[:] = 0
        nodes = problem.nodes_of_sides
        logs = self.sums[:, LOGS : LOGS + len(nodes)].sum(axis=0) / FIXED_POINT
        if learned:
            logs += nodes * self._rescale(state, sweep)
        for side, many in enumerate(nodes.tolist()):
            state.rho[side] = update_spread(
                state.rho[side], float(many), logs[side], float(self.members[k, side]), sweep.key, side
            )

    def _rescale(self, state: PopularityState, sweep: Sweep) -> NDArray[np.float64]:
        """Make the scale move of every side, and sum the rows anew; return the logarithms of the factors."""
        problem = self.problem
        nodes = problem.nodes_of_sides.astype(np.float64)
        power = 2.0 / len(nodes)
        t = np.zeros(len(nodes))
        for side, count in enumerate(nodes.tolist()):
            total = float(self.members[-1, side])
            t[side] = update_scale(
                count, state.rho[side], total, power, problem.rate_prior, state.rates, sweep.key, side
            )
            rescale(state, float(t[side]), problem.side(side), power)
        state.sums[:] = 0

        def add(worker: int, begin: int, end: int) -> None:
            add_rows_range(begin, end, problem.first, state.rows, self.changes[worker])

        self.workers.share(self.problem.nodes, add)
        add_up(self.changes, self.engine.comm)
        merge_members(self.changes, state.sums, self.members)
        return t

    def draw_concentration(self, state: PopularityState, sweep: Sweep) -> float:
        """(Q3) Draw K alpha given the rows of all nodes."""
        problem, total = self.problem, state.concentration
        smallest = None if problem.whole else problem.smallest(total)[0]
        return self.concentration.draw(total, smallest, state.rows, sweep.key)

    def measures(self, state: PopularityState) -> Measures:
        """Add up what the workers measured."""
        dropped, accepted = self.sums[:, :LOGS].sum(axis=0) / FIXED_POINT / self.problem.all_nodes
        units, inside = self.units
        self.sums[:] = 0
        links = max(self.problem.links, 1)
        return Measures(
            float(units) / links, float(inside / max(units, 1.0)), float(state.rho[0]) ** -0.5, float(dropped),
            float(accepted),
        )  # fmt: skip

    def forecast(
        self, state: PopularityState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:  # fmt: skip
        """Predict on all workers."""
        self.predictor.predict(self.workers, pairs, state.rows, state.rates, keep, share, out)
