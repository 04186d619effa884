"""The loop around a sampler: warm-up, samples, evaluation, stopping."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate import Scores, score
from blockmix.graph.split import HeldOut
from blockmix.inference.interrupt import Interruption
from blockmix.inference.plan import Plan
from blockmix.inference.progress import Callback, Progress, Report
from blockmix.kernels.philox import stream_key
from blockmix.kernels.predict import add_pair_probabilities
from blockmix.posterior.chain import ChainSummary
from blockmix.samplers.scir import Info, Scir, ScirState

# Sweeps between evaluations; the first few are all evaluated, so that short runs have a trace.
EVALUATE_EVERY = 10


@dataclass
class Chain:
    """One chain: its state, its random numbers, what it has left behind so far."""

    state: ScirState
    key: tuple[int, int]
    summary: ChainSummary


@dataclass
class RunResult:
    """All that a run leaves: chains, held-out predictions, trace, counts and timings."""

    chains: list[Chain]
    probability: NDArray[np.float64]
    trace: dict[str, NDArray[Any]]
    sweeps: int
    warm_up: int
    seconds: float
    node_updates: int
    interrupted: bool


@dataclass
class Run:
    """One run of one or several chains, interleaved sweep by sweep."""

    sampler: Scir
    data: HeldOut
    plan: Plan
    seed: int
    n_chains: int
    display: Progress
    callback: Callback | None = None
    _rows: list[dict[str, float]] = field(default_factory=list)

    def execute(self) -> RunResult:
        """Run to the end of the plan, or to Ctrl-C."""
        self.display.waiting("compiling the kernels (once on a new machine)")
        self.sampler.compile()
        self.display.waiting("finding a start")
        began = time.perf_counter()
        chains = [self._new_chain(c) for c in range(self.n_chains)]
        self._forecast = np.zeros(self.data.n_pairs)
        warm_up, sweep, warm_up_sweeps = not self.plan.warm_up_over(0, 0.0), 0, 0
        if not warm_up:
            self.plan.sampling_begins(0)
        with Interruption() as interruption:
            while True:
                infos = [self.sampler.step(c.state, c.key, warm_up) for c in chains]
                sweep += 1
                self._take_in(chains, warm_up, sweep - warm_up_sweeps)
                seconds = time.perf_counter() - began
                over = self.plan.over(sweep, seconds) or interruption.requested
                if over or sweep % EVALUATE_EVERY == 0 or sweep <= 3:
                    self._evaluate(sweep, warm_up, seconds, infos)
                    over = over or self.plan.over(sweep, seconds)
                if over:
                    break
                if warm_up and self.plan.warm_up_over(sweep, seconds):
                    warm_up, warm_up_sweeps = False, sweep
                    self.plan.sampling_begins(sweep)
        if warm_up:
            # Stopped before any sample counted: the last state is the only estimate there is.
            warm_up_sweeps = sweep
            for chain in chains:
                chain.summary.add(sweep, chain.state.rows, chain.state.strengths.value, self.sampler.workers)
        trace = {name: np.array([row[name] for row in self._rows]) for name in self._rows[0]}
        updates = sweep * self.sampler.nodes * len(chains)
        return RunResult(
            chains, self._forecast, trace, sweep, warm_up_sweeps, time.perf_counter() - began, updates,
            interruption.requested,
        )  # fmt: skip

    def _new_chain(self, number: int) -> Chain:
        low, high = stream_key(np.uint64(self.seed), number)
        key = int(low), int(high)
        state = self.sampler.init(key)
        summary = ChainSummary.empty(self.sampler.nodes, self.sampler.communities, self.sampler.options.slots)
        return Chain(state, key, summary)

    def _take_in(self, chains: list[Chain], warm_up: bool, samples: int) -> None:
        """Add the new states to the held-out predictions and, when samples count, to the summaries.

        In warm-up the predictions are a moving average in which sweep t weighs t: early states fade.
        """
        share = 2.0 / (samples + 1.0) if warm_up else 1.0 / samples
        for i, chain in enumerate(chains):
            keep = 1.0 - share if i == 0 else 1.0
            rows, value = chain.state.rows, chain.state.strengths.value
            self._predict(chain, keep, share / len(chains))
            if not warm_up:
                chain.summary.add(chain.state.sweep, rows, value, self.sampler.workers)

    def _predict(self, chain: Chain, keep: float, weight: float) -> None:
        pairs, state, out = self.data.pairs, chain.state, self._forecast

        def predict(_: int, begin: int, end: int) -> None:
            add_pair_probabilities(begin, end, pairs, state.rows, state.strengths.value, keep, weight, out)

        self.sampler.workers.share(len(pairs), predict)

    def _evaluate(self, sweep: int, warm_up: bool, seconds: float, infos: list[Info]) -> None:
        scores: Scores | None = None
        if self.data.n_pairs:
            scores = score(self._forecast, self.data.links, self.data.density)
            self.plan.score(sweep, scores.log_loss)
        for chain, info in enumerate(infos):
            self._rows.append(
                {
                    "chain": chain,
                    "sweep": sweep,
                    "seconds": seconds,
                    "warm_up": warm_up,
                    "background": info.background,
                    "links_inside": info.inside,
                    "dropped": info.dropped,
                    "perplexity": scores.perplexity if scores else np.nan,
                    "log_loss": scores.log_loss if scores else np.nan,
                    "auc": scores.auc if scores else np.nan,
                    "average_precision": scores.average_precision if scores else np.nan,
                }
            )
        share = self.plan.share_done(sweep, seconds)
        left = None if not share else seconds * (1.0 / share - 1.0)
        speed = sweep * self.sampler.nodes * len(infos) / max(seconds, 1e-9)
        report = Report(sweep, warm_up, seconds, speed, share, left, scores)
        self.display.update(report)
        if self.callback is not None:
            self.callback(report)
