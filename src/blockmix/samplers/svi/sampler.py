"""`svi`: stochastic variational inference (Gopalan et al. 2012), equations (V1) to (V10), derived in README.md.

The posterior is approximated by independent factors, q(pi_a) = Dirichlet(gamma_a) and q(beta_k) = Beta, which
natural-gradient ascent on stratified mini-batches fits. The state is this approximation, not a posterior sample: its
last value is the result, with means and variances in closed form. It does not claim the posterior: the error of the
mean-field approximation is measured in tests/samplers/svi/test_sampler.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Arrays, ChainKey, Info
from blockmix.samplers.data import node_concentrations, non_link_weight, small_network
from blockmix.samplers.minibatch import MiniBatches, PairBatch, iteration_key
from blockmix.samplers.starts.flat import flat_memberships, flat_strengths
from blockmix.samplers.starts.partition import find_parts
from blockmix.samplers.starts.seeds import nearest_seeds
from blockmix.samplers.svi.kernels import (
    Factors,
    Frame,
    Local,
    add_inside,
    commit_nodes,
    draw_memberships,
    draw_strengths,
    new_batch,
    new_work,
    renew_weights,
    schedule,
    update_nodes,
)
from blockmix.samplers.svi.options import SviOptions
from blockmix.samplers.svi.pairs import add_batch, move_all
from blockmix.stored import check_finite, check_layout, check_range
from blockmix.tables.checks import MOST_SWEEPS
from blockmix.tables.layout import Key, Rows, empty_rows
from blockmix.tables.predictor import Predictor
from blockmix.tables.summary import Moments

# Constants chosen on split 7 of us-air-712, netscience and ca-GrQc; docs/lab-notes.md, "stochastic variational
# inference", has the figures, and those behind the defaults of options.py ("Steps of size one for a long time").
# Share of a node that begins in its part; the rest is spread over all communities, evenly but for noise of a tenth: a
# community without any membership is never entered again ("The start must be soft", log loss 55.2 against 57.6 at 0.5).
PART_SHARE, NOISE_SHAPE = 0.3, 100.0
# Links and non-links added to the prior of every strength at the start: at 1/2, which it leaves slowly. Not compared.
START_PAIRS = 5.0
# A learned background is kept at this share of the density in warm-up: soft memberships explain every link, and a free
# background would fall to zero and stay there ("The background", log loss 193 free, 180 at 0.1, 178 at 0.3).
BACKGROUND_SHARE = 0.3
# The background of form="paper" where none is given, as in the same form of `sgmc`.
PAPER_BACKGROUND = 0.1
# A ratio of link probabilities below e^-600 is replaced by e^-600: beyond, exp() is zero and a pair has no factors.
LEAST_LOG_LEVEL = -600.0


@dataclass
class SviState:
    """The approximation: Dirichlet factors of nodes, Beta factors [non-link, link] of strengths, and counts."""

    factors: Factors
    strengths: NDArray[np.float64]
    iteration: int = 0
    sweep: int = 0


def mean_rows(gamma: NDArray[np.float64]) -> Rows:
    """Return the means of Dirichlet factors as rows with a slot for every community."""
    nodes, communities = gamma.shape
    rows = empty_rows(nodes, communities)
    total = gamma.sum(axis=1)
    rows.words[:, ::2] = np.arange(communities)
    rows.weights[:, 1::2] = gamma / total[:, None]
    rows.total[:] = total
    return rows


def batch_chances(data: HeldOut, batch_non_links: int) -> NDArray[np.float64]:
    """(V8) Compute the probability of every node to be in a mini-batch."""
    graph, n = data.training, data.training.n_nodes
    free = n - 1 - graph.degrees - np.diff(data.hidden_offsets)
    share = np.divide(np.minimum(free, batch_non_links), free, out=np.zeros(n), where=free > 0)
    met = share.sum() - share
    for offsets, partners in (
        (graph.offsets, graph.neighbors),
        (data.hidden_offsets, data.hidden_neighbors),
    ):
        rows = np.repeat(np.arange(n), np.diff(offsets))
        met = met - np.bincount(rows, weights=share[partners], minlength=n)
    return np.asarray((1.0 + 0.5 * graph.degrees + 0.5 * met) / n)


class Svi:
    """The approximation bound to a network, a model and a pool of workers: `init` it, then `step` it.

    A sweep measures `rounds`, the mean number of local rounds of a pair (one where they are in closed form), and
    `strength_step`, the size of its last step of the strengths.
    """

    name, samples, even_rest = "svi", False, False
    Options = SviOptions

    def __init__(self, data: HeldOut, model: Model, options: SviOptions, workers: Workers) -> None:
        self.graph = graph = data.training
        self.model, self.options, self.workers = model, options, workers
        self.nodes, self.communities = graph.n_nodes, model.communities
        self.slots = self.communities
        self.predictor = Predictor(graph.degrees == 0)
        non_links = options.non_links(self.nodes)
        self.batches = MiniBatches(data, non_links)
        self.chances = batch_chances(data, non_links)
        weight = non_link_weight(data) if options.weighted else 1.0
        free = self.nodes - 1 - graph.degrees - np.diff(data.hidden_offsets)
        alpha = node_concentrations(model, graph)
        self.totals = self.communities * alpha + graph.degrees + weight * free
        background = model.prior_of_background(self.nodes)
        self.prior = np.array([model.eta[::-1]] * self.communities + [background[::-1]])
        most = min(options.neighbors, max(int(graph.degrees.max(initial=0)), 1))
        self.node_steps, self.strength_steps = options.steps()
        self.how = Local(
            most, options.non_neighbors, alpha, weight, *self.node_steps, options.pairs == "joint",
            float(options.tolerance or 0.0), options.most_rounds,
        )  # fmt: skip
        # The published form has a fixed background: the value given, or a share of the density.
        self.background = model.background
        if self.background is None and options.form == "paper":
            self.background = PAPER_BACKGROUND * max(graph.density, 1.0 / max(graph.n_pairs, 1))
        self.published = options.evidence == "pairs"
        self.sums = np.zeros((self.nodes if self.published else 0, self.communities))
        self.inside = np.zeros((self.communities + 1, 2))
        self.out = new_batch(min(self.batches.capacity, self.nodes), self.communities)
        most_partners = max(most, min(options.non_neighbors, self.nodes))
        self.work = [new_work(self.communities, most_partners) for _ in range(workers.threads)]

    def compile(self) -> None:
        """Compile the kernels, or load them from the cache, by a step on a network of six nodes."""
        tiny = small_network()
        with Workers(1) as one:
            chosen = SviOptions(pairs=self.options.pairs, evidence=self.options.evidence)
            sampler = Svi(tiny, Model(2), chosen, one)
            state = sampler.init((0, 0))
            sampler.step(state, (0, 0), True)
            sampler.predict(state, tiny.pairs, 0.0, 1.0, np.zeros(tiny.n_pairs))
            sampler.draw(state, (0, 0))

    def init(self, key: ChainKey) -> SviState:
        """Return the approximation at its start: every node partly in its part, and the rest in all communities."""
        rng = np.random.default_rng([int(key[0]), int(key[1])])
        k = self.communities
        if self.options.start == "even":
            return self._even_start(rng)
        if self.options.start == "flat":
            return self._flat_start(rng)
        if self.options.start == "random":
            parts = nearest_seeds(self.graph, k, rng)
        else:
            parts = find_parts(self.graph, k, rng, self.workers)
        gamma = (1.0 - PART_SHARE) / k * rng.gamma(NOISE_SHAPE, 1.0 / NOISE_SHAPE, (self.nodes, k))
        gamma[np.arange(self.nodes), parts] += PART_SHARE
        gamma *= self.totals[:, None]
        strengths = self.prior + START_PAIRS
        strengths[-1, 0] += self.graph.n_pairs
        self._set_background(strengths)
        return self.start_at(gamma, strengths)

    def _even_start(self, rng: np.random.Generator) -> SviState:
        """Return the published start: gamma about one and strengths about one above their prior, with some noise."""
        gamma = rng.gamma(NOISE_SHAPE, 1.0 / NOISE_SHAPE, (self.nodes, self.communities))
        strengths = self.prior + rng.gamma(NOISE_SHAPE, 1.0 / NOISE_SHAPE, self.prior.shape)
        strengths[-1, 0] += self.graph.n_pairs
        self._set_background(strengths)
        return self.start_at(gamma, strengths)

    def _flat_start(self, rng: np.random.Generator) -> SviState:
        """Return the random start of `sgmc`: its memberships and strengths are the means."""
        gamma = flat_memberships(self.nodes, self.communities, rng) * self.totals[:, None]
        start = flat_strengths(self.graph, self.model, rng)
        strengths = self.prior + START_PAIRS
        total = strengths[:-1].sum(axis=1)
        strengths[:-1] = np.stack([1.0 - start.value[:-1], start.value[:-1]], axis=1) * total[:, None]
        strengths[-1, 0] += self.graph.n_pairs
        self._set_background(strengths)
        return self.start_at(gamma, strengths)

    def start_at(self, gamma: NDArray[np.float64], strengths: NDArray[np.float64]) -> SviState:
        """Return the approximation with the given factors."""
        factors = Factors(gamma, np.empty_like(gamma), np.zeros(self.nodes, dtype=np.int64))
        renew_weights(0, self.nodes, factors)
        return SviState(factors, strengths)

    def _set_background(self, strengths: NDArray[np.float64]) -> None:
        """Set a learned background to its share of the density, without a change to its number of non-links.

        Its number of links is at least that of its prior: below, E[log delta] would fall without bound.
        """
        if self.background is None:
            share = BACKGROUND_SHARE * self.graph.density
            strengths[-1, 1] = max(strengths[-1, 0] * share / (1.0 - share), self.prior[-1, 1])

    def expected_logs(self, strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """(V1) Compute E[log beta_k^(y)] in column y, the background last."""
        logs = np.asarray(digamma(strengths) - digamma(strengths.sum(axis=1, keepdims=True)))
        if self.background is not None:
            logs[-1] = np.log1p(-self.background), np.log(self.background)
        return logs

    def step(self, state: SviState, key: ChainKey, warm_up: bool) -> Info:
        """Make one sweep: mini-batches until about as many nodes as there are have been updated."""
        updates, effort, rho = 0, np.zeros(2, dtype=np.int64), 0.0
        for _ in range(self.batches.per_sweep):
            batch = self.batches.draw(key, state.iteration)
            word = iteration_key(key, state.iteration)
            if self.published:
                effort += self._published_step(state, batch, word)
            else:
                self._update_nodes(state, batch.nodes, word)
                add_inside(batch.nodes, self.chances, self.out, self.inside)
                effort += self.out.effort[: len(batch.nodes)].sum(axis=0)
            rho = self._update_strengths(state)
            if warm_up:
                self._set_background(state.strengths)
            state.iteration += 1
            updates += len(batch.nodes)
        state.sweep += 1
        measures = {"rounds": float(effort[1] / max(effort[0], 1)), "strength_step": rho}
        return Info(float(self.strengths(state)[-1]), updates, self.batches.per_sweep, measures)

    def _frame(self, state: SviState, key: Key) -> Frame:
        """Return what the updates of a mini-batch read."""
        logs = self.expected_logs(state.strengths)
        level = np.exp(np.maximum(logs - logs.max(axis=0), LEAST_LOG_LEVEL))
        tilt = np.clip(logs[:-1] - logs[-1], LEAST_LOG_LEVEL, -LEAST_LOG_LEVEL)
        return Frame(self.batches.network, state.factors, level, tilt, self.how, key)

    def _published_step(self, state: SviState, batch: PairBatch, key: Key) -> NDArray[np.int64]:
        """(V10) Move the factors of all nodes by the pairs of a mini-batch; returns the numbers of pairs and rounds.

        `inside` has its pairs inside communities afterwards.
        """
        self.inside[:] = 0.0
        rounds = add_batch(batch, self._frame(state, key), self.sums, self.inside, self.work[0])
        scale = batch.scale * (1.0 if batch.y else self.how.non_link_weight)
        self.inside *= scale
        rho = schedule(float(state.iteration), *self.node_steps)
        move_all(rho, scale, self.how.alpha, self.sums, state.factors)
        return np.array([len(batch.first), rounds])

    def _update_nodes(self, state: SviState, nodes: NDArray[np.int64], key: Key) -> None:
        """Make natural-gradient steps of the nodes of a mini-batch, all from the same old factors."""
        frame = self._frame(state, key)

        def update(worker: int, begin: int, end: int) -> None:
            update_nodes(begin, end, nodes, frame, self.work[worker], self.out)

        def commit(_: int, begin: int, end: int) -> None:
            commit_nodes(begin, end, nodes, self.out, state.factors)

        self.workers.share(len(nodes), update)
        self.workers.share(len(nodes), commit)

    def _update_strengths(self, state: SviState) -> float:
        """(V7) Make a natural-gradient step of the strengths from the pairs inside communities; returns its size."""
        rho = float(schedule(float(state.iteration), *self.strength_steps))
        state.strengths *= 1.0 - rho
        state.strengths += rho * (self.prior + self.inside)
        return rho

    def sweeps_done(self, state: SviState) -> int:
        """Return the number of sweeps made so far."""
        return state.sweep

    def memberships(self, state: SviState) -> Rows:
        """Return the means of the memberships."""
        return mean_rows(state.factors.gamma)

    def strengths(self, state: SviState) -> NDArray[np.float64]:
        """Return the means of the strengths, the background last."""
        return self._strength_moments(state)[0]

    def _strength_moments(self, state: SviState) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        total = state.strengths.sum(axis=1)
        mean = state.strengths[:, 1] / total
        variance = mean * (1.0 - mean) / (total + 1.0)
        if self.background is not None:
            mean[-1], variance[-1] = self.background, 0.0
        return mean, variance

    def moments(self, state: SviState) -> Moments:
        """(V9) Return means and variances of the factors."""
        rows = mean_rows(state.factors.gamma)
        total = state.factors.gamma.sum(axis=1, keepdims=True)
        mean = state.factors.gamma / total
        variance = (mean * (1.0 - mean) / (total + 1.0)).astype(np.float32)
        return Moments(rows, variance, *self._strength_moments(state))

    def draw(self, state: SviState, key: ChainKey) -> tuple[Rows, NDArray[np.float64]]:
        """Draw memberships and strengths from the factors; a function of the key and the number of mini-batches."""
        word = iteration_key(key, state.iteration)
        rows = empty_rows(self.nodes, self.communities)
        rows.total[:] = state.factors.gamma.sum(axis=1)

        def draw(_: int, begin: int, end: int) -> None:
            draw_memberships(begin, end, state.factors.gamma, word, rows)

        self.workers.share(self.nodes, draw)
        strengths = np.empty(self.communities + 1)
        draw_strengths(state.strengths, word, strengths)
        if self.background is not None:
            strengths[-1] = self.background
        return rows, strengths

    def predict(
        self, state: SviState, pairs: NDArray[np.int64], keep: float, share: float, out: NDArray[np.float64]
    ) -> None:
        """(V9) Set out = keep * out + share * E_q[p] of every pair, which is (M1) at the means of the factors."""
        rows, strengths = self.memberships(state), self.strengths(state)
        self.predictor.predict(self.workers, pairs, rows, strengths, keep, share, out)

    def arrays(self, state: SviState) -> dict[str, NDArray[Any]]:
        """Return the arrays of the state, for a checkpoint; the geometric weights are computed from gamma."""
        return {
            "gamma": state.factors.gamma,
            "updates": state.factors.updates,
            "strengths": state.strengths,
            "counts": np.array([state.iteration, state.sweep], dtype=np.int64),
        }

    def restore(self, arrays: Arrays) -> SviState:
        """Return the state that `arrays` was made from, or raise an error where they cannot be one."""
        n, k = self.nodes, self.communities
        layout: dict[str, Any] = {
            "gamma": (np.float64, (n, k)), "updates": (np.int64, (n,)), "strengths": (np.float64, (k + 1, 2)),
            "counts": (np.int64, (2,)),
        }  # fmt: skip
        check_layout(arrays, layout)
        for name in ("gamma", "strengths"):
            check_finite(name, arrays[name], np.finfo(np.float64).tiny)
        for name in ("updates", "counts"):
            check_range(name, arrays[name], MOST_SWEEPS)
        state = self.start_at(np.array(arrays["gamma"]), np.array(arrays["strengths"]))
        state.factors.updates[:] = arrays["updates"]
        state.iteration, state.sweep = (int(count) for count in arrays["counts"])
        return state
