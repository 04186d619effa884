"""`lmc`: Langevin dynamics with full gradients and a Metropolis-Hastings test: (H1) to (H7) of docs/method.md.

A block is a node's row of memberships, a community's strength or the background; each is moved in turn given
all others, by a Langevin proposal that the test makes exact. A sweep costs O(N^2 K). One chain runs on one
thread, because every block depends on the one before; several chains run side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import network_of, small_network
from blockmix.samplers.exact import (
    check_limits,
    check_pairs,
    pairs_within_limits,
    prior_of,
    start_memberships,
)
from blockmix.samplers.lmc.rows import Tuning, new_row_scratch, update_rows
from blockmix.samplers.lmc.strengths import update_all_strengths
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS
from blockmix.tables.layout import Key, Rows, Strengths, empty_rows
from blockmix.tables.predictor import Predictor

# Seconds a pair costs, and every community adds to it (docs/lab-notes.md).
SECONDS_A_PAIR, SECONDS_A_COMMUNITY = 3e-7, 4e-8
# Share of every membership that is spread evenly at the start: no phi may begin at zero.
SPREAD = 0.05
# The acceptance rate at which Langevin proposals explore fastest (Roberts and Rosenthal 1998).
BEST_ACCEPTANCE = 0.574
MOST_REFRESHED = 1000


@dataclass(frozen=True)
class LmcOptions:
    """What can be set on `lmc`.

    Arguments:
        step: the step h that every block begins with; in warm-up each adapts its own, then it is frozen.
        acceptance: the acceptance rate that steps are adapted to.
        damping: c of (H2): components well below it are left to `refresh`; 0 is the metric of the paper.
        refresh: components of every row drawn anew from the prior and tested, in a sweep (H5).
        start: "partition" or "random".
        most_gigabytes: refuse networks whose pairs need more memory than this.
        most_seconds: refuse networks on which a sweep is expected to take longer than this.
    """

    step: float = 0.3
    acceptance: float = BEST_ACCEPTANCE
    damping: float = 1.0
    refresh: int = 4
    start: str = "partition"
    most_gigabytes: float = 4.0
    most_seconds: float = 60.0

    def __post_init__(self) -> None:
        check_limits(self)
        for name in ("step", "acceptance", "damping"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, float | int) or not math.isfinite(value):
                raise InputError(f"{name} must be a number, not {value!r}")
        if self.step <= 0:
            raise InputError(f"step must be positive, not {self.step!r}")
        if not 0 < self.acceptance < 1:
            raise InputError(f"acceptance must lie strictly between 0 and 1, not {self.acceptance!r}")
        if self.damping < 0:
            raise InputError(
                f"damping must not be negative, not {self.damping!r}; 0 is the metric of the paper"
            )
        n = self.refresh
        if isinstance(n, bool) or not isinstance(n, int) or not 0 <= n <= MOST_REFRESHED:
            raise InputError(f"refresh must be a whole number from 0 to {MOST_REFRESHED}, not {n!r}")


@dataclass
class LmcState:
    """phi of all nodes, pi = phi / sum as float64 and as rows, strengths, and the log step of every block."""

    phi: NDArray[np.float64]
    shares: NDArray[np.float64]
    rows: Rows
    strengths: Strengths
    row_steps: NDArray[np.float64]
    strength_steps: NDArray[np.float64]
    sweep: int = 0


class Lmc:
    """The sampler bound to a network, a model and a pool of workers: `init` a chain, then `step` it.

    A sweep measures `accepted_memberships` and `accepted_strengths`, the shares of the Langevin moves of rows
    and of strengths that passed the test.
    """

    name, samples = "lmc", True
    Options = LmcOptions

    def __init__(self, data: HeldOut, model: Model, options: LmcOptions, workers: Workers) -> None:
        self.graph, self.model, self.options, self.workers = data.training, model, options, workers
        self.nodes, self.communities = self.graph.n_nodes, model.communities
        self.slots = k = self.communities
        # Signed likelihood and exposure of a pair are two float64; phi, shares and rows 24 bytes a component.
        seconds = SECONDS_A_PAIR + SECONDS_A_COMMUNITY * k
        self.pairs = pairs_within_limits(self.name, data, k, 16, 24 * k, seconds, options)
        self.network, self.prior = network_of(data), prior_of(model)
        check_pairs(self.pairs, self.network, self.nodes)
        self.predictor = Predictor(self.graph.degrees == 0)
        # (H1) M_a: one more than the links, so that the total stays away from zero where there are none.
        self.expansion = 1.0 + self.graph.degrees.astype(np.float64)
        self.blocks = k + (model.background is None)
        self.scratch = new_row_scratch(self.nodes, k)
        self.signed, self.exposure = np.zeros(self.pairs), np.zeros(self.pairs)

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a step on a network of six nodes."""
        with Workers(1) as one:
            sampler = Lmc(small_network(), Model(2), LmcOptions(), one)
            sampler.step(sampler.init((0, 0)), (0, 0), True)

    def init(self, key: ChainKey) -> LmcState:
        """A chain at its starting state."""
        memberships, strengths = start_memberships(self.graph, self.model, self.options.start, key)
        return self.start_at((1.0 - SPREAD) * memberships + SPREAD / self.communities, strengths)

    def start_at(self, memberships: NDArray[np.float64], strengths: Strengths) -> LmcState:
        """A chain that begins at the given memberships (nodes x communities, all positive) and strengths."""
        mean_total = self.expansion + self.communities * self.model.concentrations(self.graph.degrees)
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
        """One sweep: every row, then every strength; in warm-up the steps and the expansions adapt."""
        o = self.options
        tuning = Tuning(float(o.damping), o.refresh, float(o.acceptance), warm_up)
        word = Key(np.uint32(key[0]), np.uint32(key[1]), np.uint32(state.sweep))
        accepted = update_rows(
            self.network, state.phi, state.shares, state.strengths.value, self.prior, self.expansion,
            state.row_steps, tuning, word, self.scratch,
        )  # fmt: skip
        accepted_strengths = self._update_strengths(state, tuning, word)
        self._show(state)
        state.sweep += 1
        measures = {
            "accepted_memberships": accepted / self.nodes,
            "accepted_strengths": accepted_strengths / self.blocks,
        }
        return Info(float(state.strengths.value[-1]), self.nodes, 1, measures)

    def _update_strengths(self, state: LmcState, tuning: Tuning, key: Key) -> int:
        return update_all_strengths(
            self.network, state.shares, self.prior, self.blocks, state.strength_steps, tuning, key,
            state.strengths, self.scratch.row, self.signed, self.exposure,
        )  # fmt: skip

    def sweeps_done(self, state: LmcState) -> int:
        """Sweeps made so far."""
        return state.sweep

    def memberships(self, state: LmcState) -> Rows:
        """The memberships, rounded to float32."""
        return state.rows

    def strengths(self, state: LmcState) -> NDArray[np.float64]:
        """Strengths of the communities, the background last."""
        return state.strengths.value

    def predict(
        self, state: LmcState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """Set out = keep * out + share * (M1) of every pair."""
        self.predictor.predict(self.workers, pairs, state.rows, state.strengths.value, keep, share, out)

    def arrays(self, state: LmcState) -> dict[str, NDArray[Any]]:
        """Everything the state is, for a checkpoint."""
        return {
            "phi": state.phi,
            "strengths": np.stack(state.strengths),
            "row_steps": state.row_steps,
            "strength_steps": state.strength_steps,
            "sweep": np.int64(state.sweep).reshape(1),
        }

    def restore(self, arrays: Arrays) -> LmcState:
        """The state that `arrays` was made from."""
        n, k = self.nodes, self.communities
        layout: dict[str, Any] = {
            "phi": (np.float64, (n, k)), "strengths": (np.float64, (3, k + 1)), "row_steps": (np.float64, (n,)),
            "strength_steps": (np.float64, (k + 1,)), "sweep": (np.int64, (1,)),
        }  # fmt: skip
        check_layout(arrays, layout)
        check_finite("phi", arrays["phi"], np.finfo(np.float64).tiny)
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
