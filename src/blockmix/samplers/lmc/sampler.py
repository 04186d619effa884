"""`lmc`: Langevin dynamics with full gradients and a Metropolis-Hastings test, (H1) to (H7), derived in README.md.

A block is a node's row of memberships, a community's strength or the background; each is moved in turn given
all others, by a Langevin proposal that the test makes exact. A sweep costs O(N^2 K). One chain runs on one
thread, because every block depends on the one before; several chains run in parallel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import network_of, node_concentrations, small_network
from blockmix.samplers.exact import check_pairs, pairs_within_limits, prior_of, start_memberships
from blockmix.samplers.lmc.options import (
    PAPER_BACKGROUND,
    SECONDS_A_COMMUNITY,
    SECONDS_A_PAIR,
    SPREAD,
    LmcOptions,
)
from blockmix.samplers.lmc.rows import Frame, Tuning, new_row_scratch, update_rows
from blockmix.samplers.lmc.strengths import PairSums, update_all_strengths
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS
from blockmix.tables.layout import Key, Rows, Strengths, empty_rows
from blockmix.tables.predictor import Predictor


@dataclass
class LmcState:
    """State of a chain: phi, pi = phi / sum as float64 and as rows, strengths, and the log step of every block."""

    phi: NDArray[np.float64]
    shares: NDArray[np.float64]
    rows: Rows
    strengths: Strengths
    row_steps: NDArray[np.float64]
    strength_steps: NDArray[np.float64]
    sweep: int = 0


class Lmc:
    """The sampler bound to a network, a model and a pool of workers: `init` a chain, then `step` it.

    A sweep measures `accepted_memberships` and `accepted_strengths`, the shares of accepted Langevin moves of rows
    and of strengths.
    """

    name, samples, even_rest = "lmc", True, False
    Options = LmcOptions

    def __init__(self, data: HeldOut, model: Model, options: LmcOptions, workers: Workers) -> None:
        self.graph, self.model, self.options, self.workers = data.training, model, options, workers
        self.nodes, self.communities = self.graph.n_nodes, model.communities
        self.slots = k = self.communities
        # Signed likelihood and exposure of a pair are two float64; phi, shares and rows 24 bytes a component.
        seconds = SECONDS_A_PAIR + SECONDS_A_COMMUNITY * k
        self.pairs = pairs_within_limits(self.name, data, k, 16, 24 * k, seconds, options)
        self.network, self.prior = network_of(data), prior_of(model, self.nodes)
        check_pairs(self.pairs, self.network, self.nodes)
        self.predictor = Predictor(self.graph.degrees == 0)
        self.alpha = node_concentrations(model, self.graph)
        # (H1) M_a: one more than the links, so that the total stays away from zero where there are none.
        self.expand = options.totals == "degree"
        self.expansion = (1.0 + self.graph.degrees.astype(np.float64)) * self.expand
        self.fixed_background = options.form == "paper" and model.background is None
        self.blocks = k + (model.background is None and not self.fixed_background)
        self.scratch = new_row_scratch(self.nodes, k)
        self.pair_sums = PairSums(self.scratch.row, np.zeros(self.pairs), np.zeros(self.pairs))

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a step on a network of six nodes."""
        with Workers(1) as one:
            sampler = Lmc(small_network(), Model(2), LmcOptions(), one)
            sampler.step(sampler.init((0, 0)), (0, 0), True)

    def init(self, key: ChainKey) -> LmcState:
        """Return a chain at its starting state."""
        memberships, strengths = start_memberships(self.graph, self.model, str(self.options.start), key)
        return self.start_at((1.0 - SPREAD) * memberships + SPREAD / self.communities, strengths)

    def start_at(self, memberships: NDArray[np.float64], strengths: Strengths) -> LmcState:
        """Return a chain that begins at the given memberships (nodes x communities, all positive) and strengths."""
        if not self.expand:
            prior = self.prior
            strengths.expansion[:] = 0.0
            strengths.total[:-1] = prior.eta_link + prior.eta_non_link
            strengths.total[-1] = prior.background_link + prior.background_non_link
        if self.fixed_background:
            strengths.value[-1] = min(strengths.value[-1], PAPER_BACKGROUND * self.graph.density)
        mean_total = self.expansion + self.communities * self.alpha
        state = self._with_shares(memberships * mean_total[:, None], strengths)
        log_step = math.log(self.options.step)
        state.row_steps[:], state.strength_steps[:] = log_step, log_step
        return state

    def _with_shares(self, phi: NDArray[np.float64], strengths: Strengths) -> LmcState:
        rows = empty_rows(self.nodes, self.slots)
        rows.words[:, ::2] = np.arange(self.slots)
        shares = phi / phi.sum(axis=1, keepdims=True)
        steps = np.zeros(self.nodes), np.zeros(self.communities + 1)
        state = LmcState(phi, shares, rows, strengths, *steps)
        self._show(state)
        return state

    @staticmethod
    def _show(state: LmcState) -> None:
        state.rows.weights[:, 1::2] = state.shares
        state.rows.total[:] = state.phi.sum(axis=1)

    def step(self, state: LmcState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep: every row, then every strength; in warm-up the steps and the expansions adapt."""
        o = self.options
        damping, refresh, widen = float(o.damping or 0.0), int(o.refresh or 0), float(bool(o.widened))
        tuning = Tuning(damping, refresh, float(o.acceptance), warm_up, self.expand, widen)
        word = Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(state.sweep))
        frame = Frame(self.network, state.shares, state.strengths.value, tuning, word)
        accepted = update_rows(state.phi, self.alpha, self.expansion, state.row_steps, frame, self.scratch)
        accepted_strengths = self._update_strengths(state, frame)
        self._show(state)
        state.sweep += 1
        measures = {
            "accepted_memberships": accepted / self.nodes,
            "accepted_strengths": accepted_strengths / self.blocks,
        }
        return Info(float(state.strengths.value[-1]), self.nodes, 1, measures)

    def _update_strengths(self, state: LmcState, frame: Frame) -> int:
        return update_all_strengths(
            self.blocks, self.prior, state.strength_steps, frame, state.strengths, self.pair_sums
        )

    def sweeps_done(self, state: LmcState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: LmcState) -> Rows:
        """Return the memberships, rounded to float32."""
        return state.rows

    def strengths(self, state: LmcState) -> NDArray[np.float64]:
        """Return the strengths of the communities, the background last."""
        return state.strengths.value

    def predict(
        self, state: LmcState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
        self.predictor.predict(self.workers, pairs, state.rows, state.strengths.value, keep, share, out)

    def arrays(self, state: LmcState) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state, for a checkpoint."""
        return {
            "phi": state.phi,
            "strengths": np.stack(state.strengths),
            "row_steps": state.row_steps,
            "strength_steps": state.strength_steps,
            "sweep": np.int64(state.sweep).reshape(1),
        }

    def restore(self, arrays: Arrays) -> LmcState:
        """Return the state that `arrays` was made from, or raise an error where they cannot be one."""
        n, k = self.nodes, self.communities
        layout: dict[str, Any] = {
            "phi": (np.float64, (n, k)), "strengths": (np.float64, (3, k + 1)), "row_steps": (np.float64, (n,)),
            "strength_steps": (np.float64, (k + 1,)), "sweep": (np.int64, (1,)),
        }  # fmt: skip
        check_layout(arrays, layout)
        check_finite("phi", arrays["phi"], 0.0)
        check_finite("strengths", arrays["strengths"], 0.0)
        check_finite("strengths", arrays["strengths"][0], 0.0, 1.0)
        for name in ("row_steps", "strength_steps"):
            check_finite(name, arrays[name], -700.0, 700.0)
        check_range("sweep", arrays["sweep"], MOST_SWEEPS)
        state = self._with_shares(np.array(arrays["phi"]), Strengths(*np.array(arrays["strengths"])))
        state.row_steps, state.strength_steps = (
            np.array(arrays["row_steps"]),
            np.array(arrays["strength_steps"]),
        )
        state.sweep = int(arrays["sweep"][0])
        return state
