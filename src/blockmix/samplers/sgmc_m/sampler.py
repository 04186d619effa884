"""`sgmc-m`: stochastic gradient Langevin dynamics whose cost and memory do not grow with the number of communities.

Every node follows a few communities one by one: its active ones, which hold the share `threshold` of its
membership, and candidates, which are active in its neighbours. All others share one value and move as one, the
bulk. Section 11 of docs/method.md has the equations, (A1) to (A11). At threshold 1 nothing is in the bulk and the law
is that of `sgmc`; below it the bulk is an approximation, and the posterior is not claimed.
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
from blockmix.samplers.langevin.dynamics import LEAST_STRENGTH, Dynamics, Links, Schedule, step_size
from blockmix.samplers.langevin.strengths import (
    BACKGROUND_HELD_DOWN,
    BACKGROUND_SHARE,
    check_links,
    hold_background_down,
    links_at,
    schedule_of,
)
from blockmix.samplers.minibatch import MiniBatches, iteration_key
from blockmix.samplers.sgmc_m.iterations import FULL_BUFFER, FULL_TABLE, LARGE_BATCH, iterate_split
from blockmix.samplers.sgmc_m.nodes import SplitSettings, Strength, new_split_scratch, update_split_range
from blockmix.samplers.sgmc_m.options import SgmcMOptions
from blockmix.samplers.sgmc_m.pairs import add_split_probabilities, fill_excess, update_split_strengths
from blockmix.samplers.sgmc_m.pooled import with_pooled_row
from blockmix.samplers.sgmc_m.split import Pool
from blockmix.samplers.sgmc_m.table import (
    SplitRows,
    check_split_rows,
    count_active,
    entries_wanted,
    follow_all,
    larger_buffer,
    largest_entries,
    list_unrepresented,
    memory_ratio,
    new_buffer,
    new_fresh,
    packed_entries,
    store_rows,
    table_of,
    with_room,
)
from blockmix.samplers.starts.memberships import HOME_SHARE, random_parts, start_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.stored import check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS
from blockmix.tables.layout import Rows

# What a table is made from, `table_of`.
ROW_ARRAYS = ("count", "active", "bulk", "total", "community", "phi")


@dataclass
class SgmcMState:
    """Everything a chain is: rows with a bulk, strengths, in how many nodes each community is active, time."""

    table: SplitRows
    links: Links
    represented: NDArray[np.int64]
    iteration: int = 0
    sweep: int = 0


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
        self.isolated = graph.degrees == 0
        self.batches = MiniBatches(data, options.batch_non_links)
        self.how = Dynamics(
            options.neighbors, options.non_neighbors, model.concentration, model.unlinked_concentration, True,
            options.expand,            max(1, round(options.strength_share * k)), model.background is None,
        )  # fmt: skip
        self.settings = SplitSettings(
            float(options.threshold), options.bulk_batch, options.promotion == "equal"
        )
        self.scratch = [
            new_split_scratch(
                k,
                min(options.neighbors, self.nodes),
                min(options.non_neighbors, self.nodes),
                min(options.bulk_batch, k),
            )
            for _ in range(workers.threads)
        ]
        self.buffers = [new_buffer(4 * k + 1024) for _ in range(workers.threads)]
        self.fresh = new_fresh(self.batches.room + 1)
        self.batch = np.zeros(self.batches.room + 1, dtype=np.int64)
        self.unused = np.zeros(k, dtype=np.int32)
        self.excess, self.inside = np.zeros(k), np.zeros(k)
        self.most_background = max(BACKGROUND_SHARE * self.graph.density, LEAST_STRENGTH)
        # A mini-batch that is worth a second thread leaves the compiled loop.
        self.large = 2 * WORTH_A_THREAD if workers.threads > 1 else self.nodes + 1

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a sweep on a network of six nodes."""
        tiny = small_network()
        with Workers(1) as one:
            sampler = SgmcM(tiny, Model(3), SgmcMOptions(start="random"), one)
            state = sampler.init((0, 0))
            sampler._iterate_shared(state, (0, 0), sampler._schedule(True))
            sampler.step(state, (0, 0), True)
            sampler.predict(state, tiny.pairs, 0.0, 1.0, np.zeros(tiny.n_pairs))

    def init(self, key: ChainKey) -> SgmcMState:
        """A chain at its starting state: every node mostly in its part, or in two random communities."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        k = self.communities
        if self.options.start == "random":
            parts = random_parts(self.graph, k, rng)
            others = (parts + 1 + rng.integers(0, max(k - 1, 1), self.nodes)) % k
            homes = np.stack([parts, others], axis=1)[:, : min(2, k)]
        else:
            parts = find_parts(self.graph, k, rng)
            homes = parts[:, None]
        start = start_strengths(self.graph, parts, self.model)
        if self.model.background is None:
            start.value[-1] = min(start.value[-1], self.most_background)
        return self.start_at(homes.astype(np.int32), self.links_at(start.value, start.total))

    def start_at(self, homes: NDArray[np.int32], links: Links) -> SgmcMState:
        """A chain whose nodes have most of their membership in the communities `homes[a]`, the rest spread evenly."""
        k, per_node = self.communities, homes.shape[1]
        total = k * self.model.concentrations(self.graph.degrees) + self.how.expand * self.graph.degrees
        spread = (1.0 - HOME_SHARE) / k
        phi = np.repeat(((HOME_SHARE / per_node + spread) * total).astype(np.float32), per_node)
        count = np.full(self.nodes, per_node, dtype=np.int32)
        table = table_of(count, count.copy(), spread * total, total, homes.ravel(), phi)
        if self.options.threshold == 1.0:
            table = follow_all(table, k)
        return self._state(table, links)

    def _state(self, table: SplitRows, links: Links, *done: int) -> SgmcMState:
        represented = np.zeros(self.communities, dtype=np.int64)
        count_active(table, represented)
        return SgmcMState(table, links, represented, *done)

    def links_at(self, value: NDArray[np.float64], pairs: NDArray[np.float64]) -> Links:
        """Strengths and background at these values; `pairs` is what the expansions M begin at (S1)."""
        return links_at(self.model, value, pairs * self.how.expand)

    def _schedule(self, warm_up: bool) -> Schedule:
        """(L9) The steps of `sgmc`."""
        return schedule_of(self.options, self.communities, self.batches.per_sweep, warm_up)

    def step(self, state: SgmcMState, key: ChainKey, warm_up: bool) -> Info:
        """One sweep: as many mini-batches as update about all nodes."""
        schedule = self._schedule(warm_up)
        last, updates = state.iteration + self.batches.per_sweep, 0
        while state.iteration < last:
            state.iteration, done, reason = iterate_split(
                state.iteration, last, self.large, self.batches.non_links, self.batches.network, self.batch,
                state.table, self.fresh, self.buffers[0], state.links, self.how, self.settings, schedule,
                iteration_key(key, 0), state.represented, self.unused, self.excess, self.inside, self.scratch[0],
            )  # fmt: skip
            updates += done
            if reason == LARGE_BATCH:
                updates += self._iterate_shared(state, key, schedule)
            elif reason == FULL_BUFFER:
                self.buffers[0] = larger_buffer(self.buffers[0], self.communities)
            elif reason == FULL_TABLE:
                self._make_room(state)
        if warm_up and self.how.learn_background and state.sweep < BACKGROUND_HELD_DOWN:
            hold_background_down(state.links, self.most_background)
        state.sweep += 1
        return self._info(state, schedule, updates)

    def _iterate_shared(self, state: SgmcMState, key: ChainKey, schedule: Schedule) -> int:
        """One iteration with its nodes shared out among the workers; returns how many nodes it updated."""
        t, links = state.iteration, state.links
        now, batch = iteration_key(key, t), self.batches.draw(key, t)
        nodes, strength = batch.nodes, self._strength(links)
        pool = Pool(self.unused, list_unrepresented(state.represented, self.unused), state.represented)
        eps = step_size(t, schedule.step, schedule.delay, schedule.decay)
        pieces: list[tuple[int, int, int]] = []

        def update(worker: int, begin: int, end: int) -> None:
            pieces.append((begin, end, worker))
            self.buffers[worker].used[0] = 0
            while True:
                begin = update_split_range(
                    begin, end, nodes, eps, self.batches.network, state.table, strength, self.how,
                    self.settings, now, pool, self.scratch[worker], self.fresh, self.buffers[worker],
                )  # fmt: skip
                if begin == end:
                    return
                self.buffers[worker] = larger_buffer(self.buffers[worker], self.communities)

        self.workers.share(len(nodes), update)
        wanted = entries_wanted(len(nodes), nodes, self.fresh, state.table)
        if state.table.used[0] + wanted > len(state.table.community):
            self._make_room(state)
        for begin, end, worker in sorted(pieces):
            store_rows(begin, end, nodes, self.fresh, self.buffers[worker], state.table, state.represented)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        update_split_strengths(
            batch.node, batch.y, batch.others, len(batch.others), batch.scale, eps, schedule.adapt, self.how, now,
            state.table, strength, links, self.scratch[0], self.inside,
        )  # fmt: skip
        state.iteration += 1
        return len(nodes)

    def _make_room(self, state: SgmcMState) -> None:
        """Pack the rows anew with room for all that is in the buffers, however much of it moves."""
        entries = sum(int(buffer.used[0]) for buffer in self.buffers)
        state.table = with_room(state.table, 2 * (entries + len(self.batch)))

    def _strength(self, links: Links) -> Strength:
        return Strength(self.excess, fill_excess(links.value, self.excess), float(links.value[-1]))

    def _info(self, state: SgmcMState, schedule: Schedule, updates: int) -> Info:
        eps = step_size(state.iteration, schedule.step, schedule.delay, schedule.decay)
        measures = {
            "memory_ratio": memory_ratio(state.table, self.communities),
            "active": float(state.table.active.mean()),
            "step": float(eps),
        }
        return Info(float(state.links.value[-1]), int(updates), self.batches.per_sweep, measures)

    def sweeps_done(self, state: SgmcMState) -> int:
        """Sweeps made so far."""
        return state.sweep

    def memberships(self, state: SgmcMState) -> Rows:
        """The largest followed communities of every node; the bulk, and what goes beyond `slots`, is left out."""
        return largest_entries(state.table, self.slots, self.communities)

    def strengths(self, state: SgmcMState) -> NDArray[np.float64]:
        """Strengths of the communities, the background last."""
        return state.links.value

    def predict(
        self, state: SgmcMState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair, with everything that is in the bulk (A4).

        Isolated nodes have the pooled row that they have in `tables.predictor`, here as a row of the table.
        """
        strength, table = self._strength(state.links), state.table
        if self.isolated[pairs].any():
            table = with_pooled_row(table, np.flatnonzero(self.isolated), self.communities)
            pairs = np.where(self.isolated[pairs], self.nodes, pairs)

        def predict(worker: int, begin: int, end: int) -> None:
            add_split_probabilities(
                pairs[begin:end], keep, share, table, strength, self.scratch[worker], out[begin:end]
            )

        self.workers.share(len(pairs), predict)

    def arrays(self, state: SgmcMState) -> dict[str, NDArray[Any]]:
        """Everything the state is, for a checkpoint: rows without the room between them."""
        table = state.table
        community, phi = packed_entries(table)
        rows = {name: getattr(table, name) for name in ROW_ARRAYS[:4]}
        done = np.array([state.iteration, state.sweep], dtype=np.int64)
        return {**rows, "community": community, "phi": phi, **state.links._asdict(), "done": done}

    def restore(self, arrays: Arrays) -> SgmcMState:
        """The state that `arrays` was made from."""
        check_split_rows(arrays, self.nodes, self.communities)
        check_links(arrays, self.communities)
        check_layout(arrays, {"done": (np.int64, (2,))})
        check_range("done", arrays["done"], MOST_SWEEPS)
        table = table_of(*(np.array(arrays[name]) for name in ROW_ARRAYS))
        links = Links(*(np.array(arrays[name]) for name in Links._fields))
        return self._state(table, links, *(int(done) for done in arrays["done"]))
