"""`cgs`: collapsed Gibbs sampling over all pairs, equations (C1) to (C4), derived in README.md.

Memberships and strengths are integrated out, and the two indicators of every pair are sampled. It has no step size and
no approximation, and costs O(N^2 K) a sweep: other samplers are compared with it on small networks. One chain runs on
one thread, because every draw depends on the one before; several chains run in parallel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.cgs.kernels import (
    Counts,
    Frame,
    collapsed_sweep,
    draw_all_given,
    draw_memberships,
    draw_strengths,
    new_pair_scratch,
    recount,
)
from blockmix.samplers.cgs.options import SECONDS_A_COMMUNITY, SECONDS_A_PAIR, CgsOptions
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import network_of, node_concentrations, small_network
from blockmix.samplers.exact import (
    check_pairs,
    fixed_background,
    pairs_within_limits,
    prior_of,
    start_memberships,
)
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS, check_words
from blockmix.tables.layout import Key, Rows, empty_rows
from blockmix.tables.predictor import Predictor


@dataclass
class CgsState:
    """State of a chain: indicators (pairs x 2), their counts, and a draw of memberships and strengths given them."""

    indicators: NDArray[Any]
    counts: Counts
    rows: Rows
    strengths: NDArray[np.float64]
    sweep: int = 0


def indicator_type(communities: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest integer type that numbers the communities.

    >>> [indicator_type(k).__name__ for k in (2, 256, 257)]
    ['uint8', 'uint8', 'uint16']
    """
    return np.uint8 if communities <= 2**8 else np.uint16


class Cgs:
    """The sampler bound to a network, a model and a pool of workers: `init` a chain, then `step` it.

    After every sweep memberships and strengths are drawn given the indicators (C4), so that a state is a posterior
    sample of both given the training pairs. A sweep measures `changed`, the share of pairs with new indicators.
    """

    name, samples, even_rest = "cgs", True, False
    Options = CgsOptions

    def __init__(self, data: HeldOut, model: Model, options: CgsOptions, workers: Workers) -> None:
        self.graph, self.model, self.options, self.workers = data.training, model, options, workers
        self.nodes, self.communities = self.graph.n_nodes, model.communities
        self.slots = k = self.communities
        self.indicator_type = indicator_type(k)
        self.pairs = pairs_within_limits(
            self.name, data, k, 2 * np.dtype(self.indicator_type).itemsize, 12 * k,
            SECONDS_A_PAIR + SECONDS_A_COMMUNITY * k, options,
        )  # fmt: skip
        self.network, self.background = network_of(data), fixed_background(model)
        self.prior = prior_of(model, self.nodes)
        self.alpha = node_concentrations(model, self.graph)
        check_pairs(self.pairs, self.network, self.nodes)
        self.predictor = Predictor(self.graph.degrees == 0)
        self.scratch = new_pair_scratch(self.nodes, k)

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a step on a network of six nodes."""
        with Workers(1) as one:
            sampler = Cgs(small_network(), Model(2), CgsOptions(), one)
            sampler.indicator_type = self.indicator_type
            sampler.step(sampler.init((0, 0)), (0, 0), True)

    def init(self, key: ChainKey) -> CgsState:
        """Return a chain at its starting state."""
        memberships, strengths = start_memberships(self.graph, self.model, self.options.start, key)
        return self.start_at(memberships, strengths.value, key)

    def start_at(
        self, memberships: NDArray[np.float64], strengths: NDArray[np.float64], key: ChainKey
    ) -> CgsState:
        """Return a chain that begins at the given memberships (nodes x communities) and strengths, background last.

        The indicators are drawn given these, so that a chain that begins at a draw from the posterior is
        stationary.
        """
        indicators = np.zeros((self.pairs, 2), dtype=self.indicator_type)
        value = np.array(strengths, dtype=np.float64)
        draw_all_given(self.network, memberships, value, self._frame(key, 0).key, indicators, self.scratch)
        rows = empty_rows(self.nodes, self.slots)
        rows.words[:, ::2] = np.arange(self.slots)
        rows.weights[:, 1::2] = memberships
        return self._with_counts(indicators, rows, value)

    def _with_counts(self, indicators: NDArray[Any], rows: Rows, strengths: NDArray[np.float64]) -> CgsState:
        k = self.communities
        counts = Counts(np.zeros((self.nodes, k), dtype=np.int32), np.zeros((k + 1, 2), dtype=np.int64))
        recount(self.network, indicators, counts, self.scratch.row)
        rows.total[:] = counts.meetings.sum(axis=1) + k * self.alpha
        return CgsState(indicators, counts, rows, strengths)

    def _frame(self, key: ChainKey, sweep: int) -> Frame:
        word = Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(sweep))
        return Frame(self.network, self.alpha, self.prior, self.background, word)

    def step(self, state: CgsState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep over all pairs, then draw memberships and strengths given the indicators.

        The law is the same in warm-up: there is nothing to adapt.
        """
        frame, counts = self._frame(key, state.sweep), state.counts
        changed = collapsed_sweep(frame, state.indicators, counts, self.scratch)
        draw_memberships(self.alpha, frame.key, counts.meetings, state.rows, self.scratch.weight)
        draw_strengths(frame, counts.pairs, state.strengths)
        state.sweep += 1
        measures = {"changed": changed / max(self.pairs, 1)}
        return Info(float(state.strengths[-1]), self.nodes, 1, measures)

    def sweeps_done(self, state: CgsState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: CgsState) -> Rows:
        """Return the memberships drawn given the indicators."""
        return state.rows

    def strengths(self, state: CgsState) -> NDArray[np.float64]:
        """Return the strengths drawn given the indicators, the background last."""
        return state.strengths

    def predict(
        self, state: CgsState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
        self.predictor.predict(self.workers, pairs, state.rows, state.strengths, keep, share, out)

    def arrays(self, state: CgsState) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state, for a checkpoint; counts are computed from the indicators."""
        return {
            "indicators": state.indicators,
            "words": state.rows.words,
            "strengths": state.strengths,
            "sweep": np.int64(state.sweep).reshape(1),
        }

    def restore(self, arrays: Arrays) -> CgsState:
        """Return the state that `arrays` was made from, or raise an error where they cannot be one."""
        n, k = self.nodes, self.communities
        layout: dict[str, Any] = {
            "indicators": (self.indicator_type, (self.pairs, 2)), "words": (np.int32, (n, 2 * k)),
            "strengths": (np.float64, (k + 1,)), "sweep": (np.int64, (1,)),
        }  # fmt: skip
        check_layout(arrays, layout)
        check_range("indicators", arrays["indicators"], k)
        check_words(arrays["words"], k)
        check_finite("strengths", arrays["strengths"], 0.0, 1.0)
        check_range("sweep", arrays["sweep"], MOST_SWEEPS)
        words = np.array(arrays["words"])
        rows = Rows(words, words.view(np.float32), np.zeros(self.nodes, dtype=np.float32))
        state = self._with_counts(np.array(arrays["indicators"]), rows, np.array(arrays["strengths"]))
        state.sweep = int(arrays["sweep"][0])
        return state
