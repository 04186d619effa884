"""`sgmc-m`: stochastic gradient Langevin dynamics whose cost and memory do not grow with the number of communities.

Every node lists a few communities one by one: its active ones, which hold the share `threshold` of its membership, and
candidates, which are active in its neighbours. All others share one value and move as one number, the bulk. README.md
has the equations, (A1) to (A11), and the order in which the files of this folder are read. At threshold 1 nothing is
in the bulk and the law is that of `sgmc`; below it the bulk is an approximation, and the posterior is not claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import WORTH_A_THREAD, Workers
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import small_network
from blockmix.samplers.langevin.dynamics import Schedule, StrengthState, step_size
from blockmix.samplers.langevin.options import BACKGROUND_SWEEPS
from blockmix.samplers.langevin.setup import batches_of, dynamics_of
from blockmix.samplers.langevin.strengths import check_strengths, limit_background, schedule_of, strengths_at
from blockmix.samplers.minibatch import iteration_key
from blockmix.samplers.sgmc_m.frame import (
    Frame,
    Pool,
    Strength,
    fill_excess,
    new_split_scratch,
)
from blockmix.samplers.sgmc_m.iterations import FULL_BUFFER, FULL_TABLE, LARGE_BATCH, BatchBuffers, iterate
from blockmix.samplers.sgmc_m.nodes import update_range
from blockmix.samplers.sgmc_m.options import SgmcMOptions
from blockmix.samplers.sgmc_m.pairs import update_strengths
from blockmix.samplers.sgmc_m.table import (
    SplitRows,
    check_split_rows,
    count_active,
    entries_wanted,
    larger_buffer,
    largest_entries,
    list_all,
    list_unrepresented,
    memory_ratio,
    new_buffer,
    new_fresh,
    packed_entries,
    store_rows,
    table_of,
    with_capacity,
)
from blockmix.samplers.starts.flat import flat_strengths, most_background
from blockmix.samplers.starts.memberships import HOME_SHARE, random_parts, start_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.stored import check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS
from blockmix.tables.layout import Rows
from blockmix.tables.predictor import Predictor

# The arguments of `table_of`, by their names in a checkpoint.
ROW_ARRAYS = ("count", "active", "bulk", "total", "community", "phi")


@dataclass
class SgmcMState:
    """State of a chain: rows with a bulk, strengths, in how many nodes each community is active, iterations, sweeps.

    `shown` is what `memberships` returned last, and for which sweep.
    """

    table: SplitRows
    strengths: StrengthState
    represented: NDArray[np.int64]
    iteration: int = 0
    sweep: int = 0
    shown: tuple[int, Rows] | None = None


class SgmcM:
    """The sampler bound to a network, a model and a pool of workers: `init` a chain, then `step` it.

    A sweep measures `memory_ratio`, the values stored over those of full rows (A11), `active`, the mean number of
    active communities, and `step`, the step size of the memberships.
    """

    name, samples = "sgmc-m", True
    Options = SgmcMOptions

    def __init__(self, data: HeldOut, model: Model, options: SgmcMOptions, workers: Workers) -> None:
        self.graph = graph = data.training
        self.model, self.options, self.workers = model, options, workers
        self.nodes, self.communities = graph.n_nodes, model.communities
        k = self.communities
        self.slots = min(options.slots, k)
        # At threshold 1 all communities are listed, and where a row has a slot for each nothing is left over.
        self.even_rest = options.threshold < 1.0 or self.slots < k
        self.predictor = Predictor(graph.degrees == 0, even_rest=self.even_rest)
        self.batches = batches_of(data, options)
        self.how = dynamics_of(options, model, graph, self.batches.strata)
        self.settings = options.settings
        self.scratch = [
            new_split_scratch(
                k,
                min(options.neighbors, self.nodes),
                min(options.non_neighbors, self.nodes),
                min(self.settings.bulk_batch, k),
            )
            for _ in range(workers.threads)
        ]
        self.buffers = [new_buffer(4 * k + 1024) for _ in range(workers.threads)]
        self.fresh = new_fresh(self.batches.capacity)
        self.pairs = self.batches.new_buffer()
        self.unused = np.zeros(k, dtype=np.int32)
        self.excess = np.zeros(k)
        self.most_background = most_background(self.graph)
        # A mini-batch that is worth a second thread leaves the compiled loop.
        self.large = 2 * WORTH_A_THREAD if workers.threads > 1 else self.nodes + 1

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a sweep on a network of six nodes."""
        tiny = small_network()
        with Workers(1) as one:
            threshold = self.options.threshold if self.even_rest else 1.0
            options = SgmcMOptions(form=self.options.form, start="random", threshold=threshold)
            sampler = SgmcM(tiny, Model(3), options, one)
            state = sampler.init((0, 0))
            sampler._iterate_shared(state, (0, 0), sampler._schedule(True))
            sampler.step(state, (0, 0), True)
            sampler.predict(state, tiny.pairs, 0.0, 1.0, np.zeros(tiny.n_pairs))

    def init(self, key: ChainKey) -> SgmcMState:
        """Return a chain at its starting state: every node mostly in its part, or in two random communities."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        k = self.communities
        if self.options.start == "flat":
            return self._flat_start(rng)
        if self.options.start == "random":
            parts = random_parts(self.graph, k, rng)
            others = (parts + 1 + rng.integers(0, max(k - 1, 1), self.nodes)) % k
            main = np.stack([parts, others], axis=1)[:, : min(2, k)]
        else:
            parts = find_parts(self.graph, k, rng, self.workers)
            main = parts[:, None]
        start = start_strengths(self.graph, parts, self.model, self.workers)
        if self.model.background is None:
            start.value[-1] = min(start.value[-1], self.most_background)
        return self.start_at(main.astype(np.int32), self.strengths_at(start.value, start.total))

    def start_at(self, main: NDArray[np.int32], strengths: StrengthState) -> SgmcMState:
        """Return a chain whose nodes are mostly in the communities `main[a]`, and evenly in all others."""
        k, per_node = self.communities, main.shape[1]
        total = k * self.how.alpha + self.how.expand * self.graph.degrees
        spread = (1.0 - HOME_SHARE) / k
        phi = np.repeat(((HOME_SHARE / per_node + spread) * total).astype(np.float32), per_node)
        count = np.full(self.nodes, per_node, dtype=np.int32)
        table = table_of(count, count.copy(), spread * total, total, main.ravel(), phi)
        if self.options.threshold == 1.0:
            table = list_all(table, k)
        return self._state(table, strengths)

    def _flat_start(self, rng: np.random.Generator) -> SgmcMState:
        """Return the random start of `sgmc`, draw by draw, its rows split by (A1) one after the other."""
        k, totals = self.communities, self.communities * self.how.alpha + self.how.expand * self.graph.degrees
        members, values, counts, bulk = [], [], np.zeros(self.nodes, dtype=np.int32), np.zeros(self.nodes)
        for a, total in enumerate(totals):
            phi = rng.exponential(size=k)
            phi *= total / phi.sum()
            order, count = np.arange(k, dtype=np.int32), k
            if self.options.threshold < 1.0:
                order = np.argsort(-phi, kind="stable").astype(np.int32)
                reached = np.cumsum(phi[order])
                if self.options.active == "reached":
                    reached = np.concatenate(([0.0], reached[:-1]))
                count = int((reached < self.options.threshold * total).sum())
            counts[a], bulk[a] = count, phi[order[count:]].sum() / max(k - count, 1)
            members.append(order[:count])
            values.append(phi[order[:count]].astype(np.float32))
        start = flat_strengths(self.graph, self.model, rng)
        table = table_of(counts, counts.copy(), bulk, totals, np.concatenate(members), np.concatenate(values))
        return self._state(table, self.strengths_at(start.value, start.total))

    def _state(
        self, table: SplitRows, strengths: StrengthState, iteration: int = 0, sweep: int = 0
    ) -> SgmcMState:
        represented = np.zeros(self.communities, dtype=np.int64)
        count_active(table, represented)
        return SgmcMState(table, strengths, represented, iteration, sweep)

    def strengths_at(self, value: NDArray[np.float64], pairs: NDArray[np.float64]) -> StrengthState:
        """Return strengths and background at these values; the expansions M of (S1) begin at `pairs`."""
        return strengths_at(self.model, self.nodes, value, pairs * self.how.expand)

    def _schedule(self, warm_up: bool) -> Schedule:
        """(L9) Return the steps of `sgmc`."""
        return schedule_of(self.options, self.communities, self.batches.per_sweep, warm_up)

    def step(self, state: SgmcMState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep: as many mini-batches as update about all nodes."""
        schedule = self._schedule(warm_up)
        last, updates = state.iteration + self.batches.per_sweep, 0
        while state.iteration < last:
            buffers = BatchBuffers(self.pairs, self.fresh, self.buffers[0])
            state.iteration, done, reason = iterate(
                state.iteration, last, self.large, schedule, self._frame(state, key), state.strengths, buffers,
                self.scratch[0],
            )  # fmt: skip
            updates += done
            if reason == LARGE_BATCH:
                updates += self._iterate_shared(state, key, schedule)
            elif reason == FULL_BUFFER:
                self.buffers[0] = larger_buffer(self.buffers[0], self.communities)
            elif reason == FULL_TABLE:
                self._enlarge(state)
        if warm_up and self.how.learn_background and state.sweep < BACKGROUND_SWEEPS:
            limit_background(state.strengths, self.most_background)
        state.sweep += 1
        return self._info(state, schedule, updates)

    def _frame(self, state: SgmcMState, key: ChainKey) -> Frame:
        """Return what the updates of the next iteration read."""
        pool = Pool(self.unused, list_unrepresented(state.represented, self.unused), state.represented)
        return Frame(
            self.batches.network, state.table, self.how, self.settings, self._strength(state.strengths), pool,
            iteration_key(key, state.iteration),
        )  # fmt: skip

    def _iterate_shared(self, state: SgmcMState, key: ChainKey, schedule: Schedule) -> int:
        """Make one iteration with its nodes divided among the workers; returns how many nodes it updated."""
        t, batch, frame = state.iteration, self.batches.draw(key, state.iteration), self._frame(state, key)
        nodes, eps = batch.nodes, step_size(t, schedule.step, schedule.delay, schedule.decay)
        pieces: list[tuple[int, int, int]] = []

        def update(worker: int, begin: int, end: int) -> None:
            pieces.append((begin, end, worker))
            self.buffers[worker].used[0] = 0
            while True:
                begin = update_range(
                    begin, end, nodes, eps, frame, self.fresh, self.buffers[worker], self.scratch[worker]
                )
                if begin == end:
                    return
                self.buffers[worker] = larger_buffer(self.buffers[worker], self.communities)

        self.workers.share(len(nodes), update)
        wanted = entries_wanted(len(nodes), nodes, self.fresh, state.table)
        if state.table.used[0] + wanted > len(state.table.community):
            self._enlarge(state)
        for begin, end, worker in sorted(pieces):
            store_rows(begin, end, nodes, self.fresh, self.buffers[worker], state.table, state.represented)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        now = frame._replace(table=state.table)
        update_strengths(batch, eps, schedule.adapt, now, state.strengths, self.scratch[0])
        state.iteration += 1
        return len(nodes)

    def _enlarge(self, state: SgmcMState) -> None:
        """Pack the rows again, with space for everything in the buffers, however much of it moves."""
        entries = sum(int(buffer.used[0]) for buffer in self.buffers)
        state.table = with_capacity(state.table, 2 * (entries + self.batches.capacity))

    def _strength(self, strengths: StrengthState) -> Strength:
        return Strength(self.excess, fill_excess(strengths.value, self.excess), float(strengths.value[-1]))

    def _info(self, state: SgmcMState, schedule: Schedule, updates: int) -> Info:
        eps = step_size(state.iteration, schedule.step, schedule.delay, schedule.decay)
        measures = {
            "memory_ratio": memory_ratio(state.table, self.communities),
            "active": float(state.table.active.mean()),
            "step": float(eps),
        }
        return Info(float(state.strengths.value[-1]), int(updates), self.batches.per_sweep, measures)

    def sweeps_done(self, state: SgmcMState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: SgmcMState) -> Rows:
        """Return the largest listed communities of every node; the bulk and those beyond `slots` are its even rest.

        They are made once a sweep.
        """
        if state.shown is None or state.shown[0] != state.sweep:
            state.shown = (state.sweep, largest_entries(state.table, self.slots, self.communities))
        return state.shown[1]

    def strengths(self, state: SgmcMState) -> NDArray[np.float64]:
        """Return the strengths of the communities, the background last."""
        return state.strengths.value

    def predict(
        self, state: SgmcMState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair: of the rows shown, with all others evenly in the rest."""
        rows, strengths = self.memberships(state), self.strengths(state)
        self.predictor.predict(self.workers, pairs, rows, strengths, keep, share, out)

    def arrays(self, state: SgmcMState) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state, for a checkpoint: rows without the unused entries between them."""
        table = state.table
        community, phi = packed_entries(table)
        rows = {name: getattr(table, name) for name in ROW_ARRAYS[:4]}
        done = np.array([state.iteration, state.sweep], dtype=np.int64)
        return {**rows, "community": community, "phi": phi, **state.strengths._asdict(), "done": done}

    def restore(self, arrays: Arrays) -> SgmcMState:
        """Return the state that `arrays` was made from, or raise an error where they cannot be one."""
        check_split_rows(arrays, self.nodes, self.communities)
        check_strengths(arrays, self.communities)
        check_layout(arrays, {"done": (np.int64, (2,))})
        check_range("done", arrays["done"], MOST_SWEEPS)
        table = table_of(*(np.array(arrays[name]) for name in ROW_ARRAYS))
        strengths = StrengthState(*(np.array(arrays[name]) for name in StrengthState._fields))
        return self._state(table, strengths, *(int(done) for done in arrays["done"]))
