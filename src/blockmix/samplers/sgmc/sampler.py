"""`sgmc`: stochastic gradient Langevin dynamics on stratified mini-batches, equations (L1) to (L13).

The paper's sampler with its preconditioner corrected (E2) and exact scales (E3), (E4); README.md has the derivation and
the order in which the files of this folder are read. An iteration draws a node and a coin, updates the memberships of
every node in that mini-batch from a sample of partners, and then the strengths from the mini-batch's pairs. It costs
O(n K), whatever the size of the network; a sweep is as many iterations as update about as many nodes as there are.
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
from blockmix.samplers.sgmc.iterations import (
    PIECE,
    iterate,
    put_in_place,
    update_nodes,
    update_strengths,
)
from blockmix.samplers.sgmc.nodes import Dense, Frame, new_work
from blockmix.samplers.sgmc.options import SgmcOptions
from blockmix.samplers.starts.flat import flat_memberships, flat_strengths, most_background
from blockmix.samplers.starts.memberships import HOME_SHARE, start_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS
from blockmix.tables.layout import Rows, empty_rows
from blockmix.tables.predictor import Predictor


@dataclass
class SgmcState:
    """State of a chain: memberships, strengths, iterations and sweeps done; `shown` caches `memberships`."""

    dense: Dense
    strengths: StrengthState
    iteration: int = 0
    sweep: int = 0
    shown: tuple[int, Rows] | None = None


class Sgmc:
    """The sampler bound to a network, a model and a pool of workers: `init` a chain, then `step` it.

    A sweep measures `step`, the step of the memberships at its end. The background, which the paper fixes, is
    learned like a strength where the model does not fix it (L8). The printed form does not learn it: it keeps the
    value given, or a tenth of the density.
    """

    name, samples, even_rest = "sgmc", True, False
    Options = SgmcOptions

    def __init__(self, data: HeldOut, model: Model, options: SgmcOptions, workers: Workers) -> None:
        self.graph, self.model, self.options, self.workers = data.training, model, options, workers
        self.nodes, self.communities = self.graph.n_nodes, model.communities
        self.slots = k = self.communities
        self.predictor = Predictor(self.graph.degrees == 0)
        self.batches = batches_of(data, options)
        self.how = dynamics_of(options, model, self.graph, self.batches.strata)
        piece = min(PIECE, self.batches.capacity)
        self.fresh = Dense(np.zeros((piece, k), dtype=np.float32), np.zeros(piece))
        self.buffer = self.batches.new_buffer()
        most = max(options.neighbors, options.non_neighbors)
        self.work = [new_work(k, min(most, self.nodes)) for _ in range(workers.threads)]
        self.most_background = most_background(self.graph)
        # A mini-batch that is worth a second thread leaves the compiled loop.
        self.large = 2 * WORTH_A_THREAD if workers.threads > 1 else self.nodes + 1

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a sweep on a network of six nodes."""
        tiny = small_network()
        with Workers(1) as one:
            options = SgmcOptions(start="random", non_links_of=self.options.non_links_of)
            sampler = type(self)(tiny, Model(2, kind=self.model.kind), options, one)
            state = sampler.init((0, 0))
            sampler.step(state, (0, 0), True)
            sampler.large = 1
            sampler.step(state, (0, 0), False)
            sampler.predict(state, tiny.pairs, 0.0, 1.0, np.zeros(tiny.n_pairs))

    def init(self, key: ChainKey) -> SgmcState:
        """Return a chain at its starting state."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        if self.options.start == "random":
            pi = flat_memberships(self.nodes, self.communities, rng)
            return self.start_at(pi, self._random_strengths(rng))
        parts = self._parts(rng)
        pi = np.full((self.nodes, self.communities), (1.0 - HOME_SHARE) / self.communities)
        pi[np.arange(self.nodes), parts] += HOME_SHARE
        return self.start_at(pi, self._strengths_of(parts))

    def start_at(self, memberships: NDArray[np.float64], strengths: StrengthState) -> SgmcState:
        """Return a chain that begins at the given memberships (nodes x communities) and strengths."""
        totals = self.communities * self.how.alpha + self.how.expand * self.graph.degrees
        phi = (memberships * totals[:, None]).astype(np.float32)
        return SgmcState(Dense(phi, phi.sum(axis=1, dtype=np.float64)), strengths)

    def _parts(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return find_parts(self.graph, self.communities, rng, self.workers)

    def _strengths_of(self, parts: NDArray[np.int64]) -> StrengthState:
        """Return strengths at the density inside the parts, the background at most at its limit."""
        start = start_strengths(self.graph, parts, self.model, self.workers)
        if self.model.background is None:
            start.value[-1] = min(start.value[-1], self.most_background)
        return self.strengths_at(start.value, start.total)

    def _random_strengths(self, rng: np.random.Generator) -> StrengthState:
        """Draw every strength between weak and strong, which breaks the symmetry."""
        start = flat_strengths(self.graph, self.model, rng)
        return self.strengths_at(start.value, start.total)

    def strengths_at(self, value: NDArray[np.float64], pairs: NDArray[np.float64]) -> StrengthState:
        """Return strengths and background at these values; the expansions M of (S1) begin at `pairs`."""
        return strengths_at(self.model, self.nodes, value, pairs * self.how.expand)

    def step(self, state: SgmcState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep: iterations in compiled code, and those with a large mini-batch over all workers."""
        schedule = self._schedule(warm_up)
        last, updates = state.iteration + self.batches.per_sweep, 0
        while state.iteration < last:
            state.iteration, done = iterate(
                state.iteration, last, self.large, schedule, self._frame(state, key), self.buffer, self.fresh,
                self.work[0],
            )  # fmt: skip
            updates += done
            if state.iteration < last:
                updates += self._iterate_large(state, key, schedule)
                state.iteration += 1
        if warm_up and self.how.learn_background and state.sweep < BACKGROUND_SWEEPS:
            limit_background(state.strengths, self.most_background)
        state.sweep += 1
        eps = step_size(float(last), schedule.step, schedule.delay, schedule.decay)
        return Info(self._background(state), int(updates), self.batches.per_sweep, {"step": eps})

    def _frame(self, state: SgmcState, key: ChainKey) -> Frame:
        """Return what the updates of the next iteration read."""
        word = iteration_key(key, state.iteration)
        return Frame(self.batches.network, state.dense, state.strengths, self.how, word)

    def _schedule(self, warm_up: bool) -> Schedule:
        return schedule_of(self.options, self.communities, self.batches.per_sweep, warm_up)

    def _iterate_large(self, state: SgmcState, key: ChainKey, schedule: Schedule) -> int:
        """Make one iteration with its nodes divided among the workers; the bits are those of `iterate`."""
        frame, t = self._frame(state, key), float(state.iteration)
        batch = self.batches.draw(key, state.iteration, self.buffer)
        nodes, eps = batch.nodes, step_size(t, schedule.step, schedule.delay, schedule.decay)
        for begin in range(0, len(nodes), PIECE):
            piece = nodes[begin : begin + PIECE]

            def update(worker: int, low: int, high: int, piece: NDArray[np.int64] = piece) -> None:
                update_nodes(low, high, piece, eps, frame, self.fresh, self.work[worker])

            self.workers.share(len(piece), update)
            put_in_place(piece, self.fresh, state.dense)
        eps = step_size(t, schedule.strength_step, schedule.delay, schedule.decay)
        update_strengths(batch, eps, schedule.adapt, frame, self.work[0])
        return len(nodes)

    def _background(self, state: SgmcState) -> float:
        return float(state.strengths.value[-1])

    def sweeps_done(self, state: SgmcState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: SgmcState) -> Rows:
        """Return rows with a slot for every community, in order; they are made once a sweep."""
        if state.shown is None:
            rows = empty_rows(self.nodes, self.slots)
            rows.words[:, ::2] = np.arange(self.slots)
            state.shown = (-1, rows)
        sweep, rows = state.shown
        if sweep != state.sweep:
            np.divide(state.dense.phi, state.dense.total[:, None], out=rows.weights[:, 1::2])
            rows.total[:] = state.dense.total
            state.shown = (state.sweep, rows)
        return rows

    def strengths(self, state: SgmcState) -> NDArray[np.float64]:
        """Return the strengths of the communities, the background last."""
        return state.strengths.value

    def predict(
        self, state: SgmcState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair, or (M9) in the general model."""
        rows, strengths = self.memberships(state), self.strengths(state)
        self.predictor.predict(self.workers, pairs, rows, strengths, keep, share, out)

    def arrays(self, state: SgmcState) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state, for a checkpoint."""
        counts = np.array([state.iteration, state.sweep], dtype=np.int64)
        return {**state.dense._asdict(), **state.strengths._asdict(), "counts": counts}

    def restore(self, arrays: Arrays) -> SgmcState:
        """Return the state that `arrays` was made from, or raise an error where they cannot be one."""
        n, k = self.nodes, self.communities
        check_layout(
            arrays, {"phi": (np.float32, (n, k)), "total": (np.float64, (n,)), "counts": (np.int64, (2,))}
        )
        for name in ("phi", "total"):
            check_finite(name, arrays[name], 0.0)
        check_strengths(arrays, k, self.model.kind == "mmsb")
        check_range("counts", arrays["counts"], MOST_SWEEPS)
        dense = Dense(*(np.array(arrays[name]) for name in Dense._fields))
        strengths = StrengthState(*(np.array(arrays[name]) for name in StrengthState._fields))
        return SgmcState(dense, strengths, int(arrays["counts"][0]), int(arrays["counts"][1]))
