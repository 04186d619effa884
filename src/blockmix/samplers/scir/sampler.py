"""`scir`, the default sampler: sparse memberships, updated node by node. Its derivation is in README.md beside this.

Two local moves share everything else. "indicators" (G1) to (G4) draws the community of every link; it has no
step size and is the default. "cir" (S1) to (P3) is the diffusion with its exact Cox-Ingersoll-Ross
transition, the form that takes a sample of neighbours and the unbiased correction for non-links; for few
communities it runs on dense rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Engine
from blockmix.engines.host import CpuEngine
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import small_network
from blockmix.samplers.live import HostChain
from blockmix.samplers.scir.concentration import LEAST, MOST
from blockmix.samplers.scir.constants import CONCENTRATION_HELD
from blockmix.samplers.scir.kernels import ScirKernels
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.problem import Problem, ScirState
from blockmix.samplers.scir.rows import sum_members
from blockmix.samplers.starts.flat import flat_rows, flat_strengths
from blockmix.samplers.starts.given import given_rows, given_strengths
from blockmix.samplers.starts.memberships import dense_rows, random_parts, start_rows, start_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS, check_words
from blockmix.tables.layout import Rows, Strengths, first_rows


class Scir:
    """The sampler bound to a network, a model and an engine: `init` a chain, then `step` it.

    A sweep measures `dropped`, the mean share of a node's phi that found no slot, `accepted`, the share of nodes
    whose new memberships passed the Metropolis-Hastings test (all of them where there is none), `links_inside`, the
    expected number of links inside communities, and `concentration`, K alpha where it is learned.
    """

    name, samples, even_rest = "scir", True, False
    node_arrays = ("words", "total")
    Options = ScirOptions

    def __init__(
        self,
        data: HeldOut,
        model: Model,
        options: ScirOptions,
        workers: Workers,
        engine: Engine | None = None,
    ) -> None:
        self.graph = data.training
        engine = CpuEngine(workers) if engine is None else engine
        self._bind(Problem.of(data, model, options, engine), engine)

    def _bind(self, problem: Problem, engine: Engine) -> None:
        """Take in what a sweep needs."""
        self.problem, self.engine, self.workers = problem, engine, engine.workers
        self.model, self.options = problem.model, problem.options
        self.nodes, self.communities, self.slots = problem.nodes, problem.communities, problem.slots
        self.kernels = kernels_of(problem, engine)

    @classmethod
    def of_part(cls, problem: Problem, engine: Engine) -> Scir:
        """Return the sampler of a process that has a part of the data: it goes on with chains and starts none."""
        sampler = cls.__new__(cls)
        sampler._bind(problem, engine)
        return sampler

    @property
    def divisible(self) -> bool:
        """Whether several processes can each update a part of the nodes: non-links are in closed form."""
        return self.engine.name == "cpu" and not self.problem.exact

    @property
    def chain(self) -> type[Any]:
        """The class of this sampler's chains, by where their arrays are."""
        if self.engine.name == "cuda":
            from blockmix.samplers.scir.cuda.chain import CudaChain

            return CudaChain
        return HostChain

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a few steps on a network of six nodes."""
        if self.engine.name == "cuda":
            # they were compiled when they were made
            return
        options = ScirOptions(
            moves=self.options.moves,
            non_links=self.options.non_links,
            form="dense" if self.problem.dense else "sparse",
            batches=None if self.problem.in_turn else 2,
            exact=self.problem.exact if self.options.local_move == "indicators" else None,
        )
        with Workers(1) as one:
            sampler = Scir(small_network(), Model(2), options, one)
            sampler.step(sampler.init((0, 0)), (0, 0), True)

    def init(self, key: ChainKey) -> ScirState:
        """Start a chain: from a hard partition, or at random."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        if self.options.start == "flat":
            flat = flat_rows(self.graph, self.model, self.options.slots, rng)
            return self.start_at(self._shaped(flat), flat_strengths(self.graph, self.model, rng))
        if self.options.start == "random":
            parts = random_parts(self.graph, self.communities, rng)
        else:
            parts = find_parts(self.graph, self.communities, rng, self.workers)
        rows = start_rows(self.graph, parts, self.model, self.options.slots, rng)
        return self.start_at(self._shaped(rows), start_strengths(self.graph, parts, self.model, self.workers))

    def init_at(self, key: ChainKey, given: Any) -> ScirState:
        """Start a chain at the memberships of a user, as `given.given_memberships` made them."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        rows = given_rows(self.graph, given, self.model, self.options.slots, rng)
        value = given_strengths(self.graph, given, self.model)
        total = np.full_like(value, 2.0)
        return self.start_at(self._shaped(rows), Strengths(value, total, total.copy()))

    def _shaped(self, rows: Rows) -> Rows:
        """Give rows a slot for every community where the dense form needs that."""
        return dense_rows(rows, self.communities) if self.problem.dense else rows

    def start_at(self, start: Rows, strengths: Strengths) -> ScirState:
        """Start a chain at the given memberships and strengths."""
        sums = np.zeros((self.communities, 2), dtype=np.int64)
        sum_members(start, sums)
        return self._state(start, strengths, sums, self.communities * self.model.concentration, 0)

    def _state(
        self, rows: Rows, strengths: Strengths, sums: NDArray[np.int64], concentration: float, sweep: int
    ) -> ScirState:
        put = self.engine.put
        words = put(rows.words)
        there = Rows(words, words.view(np.float32), put(rows.total))
        priors = self.kernels.priors(concentration)
        return ScirState(there, Strengths(*map(put, strengths)), put(sums), concentration, priors, sweep)

    def step(self, state: ScirState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep: every node once, in batches, then the strengths, then K alpha where it is learned.

        The order is the only right one. A batch needs S_k and Q_k and the lists of members of the rows as they are now;
        its nodes read old rows only, so that new ones are set aside until all are drawn; and strengths and K alpha are
        drawn last, given the rows of all.
        """
        kernels, sweep = self.kernels, self.problem.sweep(state.sweep, key, warm_up)
        kernels.begin(state, sweep)
        if self.problem.in_turn:
            kernels.redraw_all(state, sweep)
        else:
            for batch in range(self.problem.batches):
                kernels.redraw(batch, state, sweep)
                self.engine.comm.exchange(state.rows, batch)
        kernels.update_strengths(state, sweep)
        # At first communities have to find their nodes: before that rows say little of K alpha.
        if self.problem.learned and not (warm_up and state.sweep < CONCENTRATION_HELD):
            state.concentration = kernels.draw_concentration(state, sweep)
            state.priors = kernels.priors(state.concentration)
        state.sweep += 1
        measures = kernels.measures()._asdict()
        if self.problem.learned:
            measures["concentration"] = state.concentration
        return Info(float(state.strengths.value[-1]), self.problem.all_nodes, 1, measures)

    def sweeps_done(self, state: ScirState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: ScirState) -> Rows:
        """Return the rows of the nodes that this process updates, as they are."""
        return first_rows(state.rows, self.nodes)

    def strengths(self, state: ScirState) -> NDArray[np.float64]:
        """Return the strengths of the communities, the background last."""
        return state.strengths.value

    def predict(
        self, state: ScirState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
        self.kernels.forecast(state, pairs, keep, share, out)

    def arrays(self, state: ScirState) -> dict[str, NDArray[Any]]:
        """Return everything the state is, for a checkpoint. Between sweeps nothing is left in the workers' sums.

        Behind the end of a row is what an earlier, longer one has left there: that is no part of the state.
        """
        get, words = self.engine.get, self.engine.get(state.rows.words)
        used = np.logical_and.accumulate(words[:, ::2] >= 0, axis=1)
        return {
            "words": np.where(np.repeat(used, 2, axis=1), words, np.int32(-1)),
            "total": get(state.rows.total),
            "strengths": np.stack([get(array) for array in state.strengths]),
            "sums": get(state.sums),
            "concentration": np.array([state.concentration]),
            "sweep": np.int64(state.sweep).reshape(1),
        }

    def restore(self, arrays: Arrays) -> ScirState:
        """Restore the state that `arrays` was made from."""
        n, k, slots = len(self.problem.shard.names), self.communities, self.slots
        layout: dict[str, Any] = {
            "words": (np.int32, (n, 2 * slots)), "total": (np.float32, (n,)), "strengths": (np.float64, (3, k + 1)),
            "sums": (np.int64, (k, 2)), "concentration": (np.float64, (1,)), "sweep": (np.int64, (1,)),
        }  # fmt: skip
        check_layout(arrays, layout)
        check_words(arrays["words"], k)
        check_finite("total", arrays["total"], 0.0)
        check_finite("strengths", arrays["strengths"], 0.0)
        check_finite("strengths", arrays["strengths"][0], 0.0, 1.0)
        check_range("sums", arrays["sums"], 2**62)
        check_finite("concentration", arrays["concentration"], *self._concentrations())
        check_range("sweep", arrays["sweep"], MOST_SWEEPS)
        words = np.array(arrays["words"])
        rows = Rows(words, words.view(np.float32), np.array(arrays["total"]))
        strengths = Strengths(*np.array(arrays["strengths"]))
        return self._state(
            rows, strengths, np.array(arrays["sums"]), float(arrays["concentration"][0]), int(arrays["sweep"][0])
        )  # fmt: skip

    def _concentrations(self) -> tuple[float, float]:
        """Return the least and the most that K alpha can be."""
        given = self.communities * self.model.concentration
        return (LEAST, MOST) if self.problem.learned else (given, given)


def kernels_of(problem: Problem, engine: Engine) -> ScirKernels:
    """Return the twin of the kernels that belongs to an engine."""
    if engine.name == "cpu":
        from blockmix.samplers.scir.cpu import CpuClosed, CpuExact

        return (CpuExact if problem.exact else CpuClosed)(problem, engine)
    if engine.name == "reference":
        from blockmix.samplers.scir.reference.kernels import ReferenceKernels

        return ReferenceKernels(problem)
    if engine.name == "cuda":
        from blockmix.samplers.scir.cuda.kernels import CudaKernels

        return CudaKernels(problem, engine)
    raise NotImplementedError(f"scir has no kernels for the engine {engine.name!r}")
