"""The default sampler on the link model with popularities: `fit(..., model="popularity")`. README.md derives it."""

from __future__ import annotations

from functools import cached_property
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
from blockmix.samplers.scir.concentration import LEAST, MOST
from blockmix.samplers.scir.constants import CONCENTRATION_HELD
from blockmix.samplers.scir.popularity.frame import MOST_UNITS
from blockmix.samplers.scir.popularity.kernels import PopularityKernels
from blockmix.samplers.scir.popularity.options import PopularityOptions
from blockmix.samplers.scir.popularity.problem import (
    START_RHO,
    PopularityProblem,
    PopularityState,
    start_popularity,
    start_rates,
    sums_of,
)
from blockmix.samplers.scir.popularity.rates import LEAST_RATE, LEAST_RHO, MOST_RHO
from blockmix.samplers.scir.popularity.weights import AMOUNTS, COUNTS, NONE, START_UNIT
from blockmix.samplers.starts.given import given_rows
from blockmix.samplers.starts.memberships import random_parts, start_rows
from blockmix.samplers.starts.partition import find_parts
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS, check_words
from blockmix.tables.layout import Rows, first_rows
from blockmix.tables.popular import PopularPredictor
from blockmix.tables.weighted import WeightLaw


class PopularityScir:
    """The sampler bound to a network, a model and an engine: `init` a chain, then `step` it.

    A sweep measures what `kernels.Measures` lists. Strengths are rates w_k here, the background's last: the
    probability of a link between two pure members of k of popularity one is 1 - e^(-w_k).
    """

    name, samples, even_rest = "scir", True, False
    node_arrays = ("words", "popularity")
    Options = PopularityOptions

    def __init__(
        self,
        data: HeldOut,
        model: Model,
        options: PopularityOptions,
        workers: Workers,
        engine: Engine | None = None,
    ) -> None:
        self.data, self.graph = data, data.training
        engine = CpuEngine(workers) if engine is None else engine
        self._bind(PopularityProblem.of(data, model, options, engine), engine)

    def _bind(self, problem: PopularityProblem, engine: Engine) -> None:
        """Take in what a sweep needs."""
        self.problem, self.engine, self.workers = problem, engine, engine.workers
        self.model, self.options = problem.model, problem.options
        self.nodes, self.communities, self.slots = problem.nodes, problem.communities, problem.options.slots
        self.kernels = kernels_of(problem, engine)

    @classmethod
    def of_part(cls, problem: PopularityProblem, engine: Engine) -> PopularityScir:
        """Return the sampler of a process that has a part of the data: it goes on with chains and starts none."""
        sampler = cls.__new__(cls)
        sampler._bind(problem, engine)
        return sampler

    @property
    def divisible(self) -> bool:
        """Whether several processes can each update a part of the nodes: in batches, without weights and sides."""
        problem = self.problem
        plain = problem.weights.law == NONE and not problem.first
        return self.engine.name == "cpu" and not problem.in_turn and plain

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a few steps on a network of six nodes."""
        with Workers(1) as one:
            for batches in (0, 2):
                options = PopularityOptions(batches=batches)
                sampler = PopularityScir(small_network(), Model(2, kind="popularity"), options, one)
                sampler.step(sampler.init((0, 0)), (0, 0), True)

    def init(self, key: ChainKey) -> PopularityState:
        """Start a chain: from a hard partition, or at random.

        The partition of every second chain is one of nodes that differ in their degrees. Neither start is better on all
        networks, and chains that began apart and agree have found the same communities.
        """
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        if self.options.start == "random":
            parts = random_parts(self.graph, self.communities, rng)
        else:
            by_degree = len(key) > 2 and key[2] % 2 == 1
            parts = find_parts(self.graph, self.communities, rng, self.workers, by_degree)
        return self.start_at(start_rows(self.graph, parts, self.model, self.slots, rng))

    def init_at(self, key: ChainKey, given: Any) -> PopularityState:
        """Start a chain at the memberships of a user, as `given.given_memberships` made them."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        return self.start_at(given_rows(self.graph, given, self.model, self.slots, rng))

    def start_at(
        self, rows: Rows, popularity: Any = None, rates: Any = None, rho: float = START_RHO
    ) -> PopularityState:
        """Start a chain at the given memberships; popularities and rates follow from the links unless given."""
        weights = self.problem.weights
        rows.total[:] = start_popularity(self.data, weights) if popularity is None else popularity
        rates = start_rates(self.data, rows, self.model, weights) if rates is None else np.array(rates)
        concentration = self.communities * self.model.concentration
        shapes = np.full(len(self.problem.nodes_of_sides), float(rho))
        sums = sums_of(rows, self.communities, self.problem.first)
        return PopularityState(rows, rates, shapes, sums, concentration, np.array(START_UNIT))

    def step(self, state: PopularityState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep: every node once, then rates, background, rho and K alpha, which need all rows."""
        sweep = self.problem.sweep(state, key, warm_up)
        self.kernels.redraw_nodes(state, sweep)
        self.kernels.update_rates(state, sweep)
        if self.problem.learned and not (warm_up and state.sweep < CONCENTRATION_HELD):
            state.concentration = self.kernels.draw_concentration(state, sweep)
        state.sweep += 1
        background = float(-np.expm1(-state.rates[-1]))
        measures = self.kernels.measures(state)._asdict()
        if self.problem.first:
            measures["spread_second"] = float(state.rho[1]) ** -0.5
        if self.problem.learned:
            measures["concentration"] = state.concentration
        if self.problem.weights.law == AMOUNTS:
            measures |= {"unit_shape": float(state.unit[0]), "unit_mean": self.unit(state)}
        return Info(background, self.problem.all_nodes, 1, measures)

    def sweeps_done(self, state: PopularityState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: PopularityState) -> Rows:
        """Return the rows of the nodes that this process updates, as they are."""
        return first_rows(state.rows, self.nodes)

    def strengths(self, state: PopularityState) -> NDArray[np.float64]:
        """Return the rates of the communities, the background's last."""
        return state.rates

    def popularity(self, state: PopularityState) -> NDArray[np.float32]:
        """Return r_a of every node."""
        return state.rows.total[: self.nodes]

    @cached_property
    def predictor(self) -> PopularPredictor:
        """What predicts weights; the kernels have one of their own for links."""
        return PopularPredictor(self.graph.degrees == 0, first=self.problem.first)

    def unit(self, state: PopularityState) -> float:
        """Return the mean weight of a unit: one of counts and where links have no weights (DC13)."""
        weights = self.problem.weights
        return float(state.unit[0] / state.unit[1]) * weights.scale if weights.law == AMOUNTS else 1.0

    def predict(
        self, state: PopularityState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:  # fmt: skip
        """Set out = keep * out + share * (DC11) of every pair."""
        self.kernels.forecast(state, pairs, keep, share, out)

    def predict_weights(
        self, state: PopularityState, held_out: tuple[NDArray[np.int64], NDArray[np.float64]], share: float,
        out: NDArray[np.float64],
    ) -> None:  # fmt: skip
        """Set out = (1 - share) out + share * (density of every weight, expected weight), (DC12) or (DC13)."""
        weights, unit = self.problem.weights, state.unit
        law = WeightLaw(weights.law == COUNTS, float(unit[0]), float(unit[1]), weights.scale, MOST_UNITS)
        self.predictor.predict_weights(self.workers, held_out, state.rows, state.rates, law, share, out)

    def arrays(self, state: PopularityState) -> dict[str, NDArray[Any]]:
        """Return everything the state is, for a checkpoint; what is behind the end of a row is no part of it."""
        used = np.logical_and.accumulate(state.rows.words[:, ::2] >= 0, axis=1)
        return {
            "words": np.where(np.repeat(used, 2, axis=1), state.rows.words, np.int32(-1)),
            "popularity": state.rows.total,
            "rates": state.rates,
            "rho": state.rho,
            "concentration": np.array([state.concentration]),
            "sums": state.sums,
            "sweep": np.int64(state.sweep).reshape(1),
        } | ({"unit": state.unit} if self.problem.weights.law == AMOUNTS else {})

    def restore(self, arrays: Arrays) -> PopularityState:
        """Restore the state that `arrays` was made from."""
        n, k = len(self.problem.shard.names), self.communities
        layout: dict[str, Any] = {
            "words": (np.int32, (n, 2 * self.slots)), "popularity": (np.float32, (n,)), "rates": (np.float64, (k + 1,)),
            "rho": (np.float64, (len(self.problem.nodes_of_sides),)), "concentration": (np.float64, (1,)),
            "sums": (np.int64, (k + 1, 2)), "sweep": (np.int64, (1,)),
        }  # fmt: skip
        amounts = self.problem.weights.law == AMOUNTS
        if amounts:
            layout["unit"] = (np.float64, (2,))
        check_layout(arrays, layout)
        if amounts:
            check_finite("unit", arrays["unit"], LEAST_RATE)
        check_words(arrays["words"], k)
        check_finite("popularity", arrays["popularity"], 0.0)
        check_finite("rates", arrays["rates"], 0.0)
        check_finite("rho", arrays["rho"], LEAST_RHO, MOST_RHO)
        given = k * self.model.concentration
        bounds = (LEAST, MOST) if self.problem.learned else (given, given)
        check_finite("concentration", arrays["concentration"], *bounds)
        check_range("sums", arrays["sums"], 2**62)
        check_range("sweep", arrays["sweep"], MOST_SWEEPS)
        words = np.array(arrays["words"])
        rows = Rows(words, words.view(np.float32), np.array(arrays["popularity"]))
        return PopularityState(
            rows, np.array(arrays["rates"]), np.array(arrays["rho"]), np.array(arrays["sums"]),
            float(arrays["concentration"][0]), np.array(arrays["unit"] if amounts else START_UNIT),
            int(arrays["sweep"][0]),
        )  # fmt: skip


def kernels_of(problem: PopularityProblem, engine: Engine) -> PopularityKernels:
    """Return the twin of the kernels that belongs to an engine."""
    if engine.name == "cpu":
        from blockmix.samplers.scir.popularity.cpu import CpuKernels

        return CpuKernels(problem, engine)
    if engine.name == "reference":
        from blockmix.samplers.scir.popularity.reference.kernels import ReferenceKernels

        return ReferenceKernels(problem)
    raise NotImplementedError(f"the popularity model has no kernels for the engine {engine.name!r}")
