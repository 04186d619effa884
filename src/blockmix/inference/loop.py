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
from blockmix.kernels.workers import Workers
from blockmix.posterior.chain import ChainSummary
from blockmix.samplers.scir import Info, Scir, ScirState

# Sweeps between evaluations; the first few are all evaluated, so that short runs have a trace.
EVALUATE_EVERY = 10


@dataclass
class Chain:
    """One chain: the sampler it runs on, its state and random numbers, what it has left behind so far."""

    sampler: Scir
    state: ScirState
    key: tuple[int, int]
    summary: ChainSummary
    forecast: NDArray[np.float64]

    def advance(self, pairs: NDArray[np.int64], warm_up: bool, samples: int) -> Info:
        """One sweep; then the new state is added to the predictions and, where it counts, to the summaries.

        `samples` counts the sweeps of this phase. In warm-up the predictions are a moving average in which
        sweep t weighs t, so that early states fade; after it every state weighs the same.
        """
        info = self.sampler.step(self.state, self.key, warm_up)
        rows, value, out = self.state.rows, self.state.strengths.value, self.forecast
        share = 2.0 / (samples + 1.0) if warm_up else 1.0 / samples

        def predict(_: int, begin: int, end: int) -> None:
            add_pair_probabilities(begin, end, pairs, rows, value, 1.0 - share, share, out)

        self.sampler.workers.share(len(pairs), predict)
        if not warm_up:
            self.summary.add(self.state.sweep, rows, value, self.sampler.workers)
        return info


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
    """One run of one or several chains, sweep by sweep; `samplers` has one for each chain, or the same one."""

    samplers: list[Scir]
    workers: Workers
    data: HeldOut
    plan: Plan
    seed: int
    display: Progress
    callback: Callback | None = None
    _rows: list[dict[str, float]] = field(default_factory=list)

    def execute(self) -> RunResult:
        """Run to the end of the plan, or to Ctrl-C."""
        self.display.waiting("compiling the kernels (once on a new machine)")
        self.samplers[0].compile()
        self.display.waiting("finding a start")
        began = time.perf_counter()
        chains = [self._new_chain(c) for c in range(len(self.samplers))]
        warm_up, sweep, warm_up_sweeps = not self.plan.warm_up_over(0, 0.0), 0, 0
        if not warm_up:
            self.plan.sampling_begins(0)
        with Interruption() as interruption:
            while True:
                sweep += 1
                infos = self._advance(chains, warm_up, sweep - warm_up_sweeps)
                seconds = time.perf_counter() - began
                over = self.plan.over(sweep, seconds) or interruption.requested
                if over or sweep % EVALUATE_EVERY == 0 or sweep <= 3:
                    self._evaluate(chains, sweep, warm_up, seconds, infos)
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
                chain.summary.add(sweep, chain.state.rows, chain.state.strengths.value, self.workers)
        trace = {name: np.array([row[name] for row in self._rows]) for name in self._rows[0]}
        updates = sweep * self.samplers[0].nodes * len(chains)
        return RunResult(
            chains, self._forecast(chains), trace, sweep, warm_up_sweeps, time.perf_counter() - began, updates,
            interruption.requested,
        )  # fmt: skip

    def _new_chain(self, number: int) -> Chain:
        low, high = stream_key(np.uint64(self.seed), number)
        key = int(low), int(high)
        sampler = self.samplers[number]
        summary = ChainSummary.empty(sampler.nodes, sampler.communities, sampler.slots)
        return Chain(sampler, sampler.init(key), key, summary, np.zeros(self.data.n_pairs))

    def _advance(self, chains: list[Chain], warm_up: bool, samples: int) -> list[Info]:
        """One sweep of every chain: side by side where each has a sampler of its own, else one after another."""
        infos: list[Info | None] = [None] * len(chains)

        def advance(i: int) -> None:
            infos[i] = chains[i].advance(self.data.pairs, warm_up, samples)

        if self.samplers[0] is self.samplers[-1]:
            for i in range(len(chains)):
                advance(i)
        else:
            self.workers.each(len(chains), advance)
        return [info for info in infos if info is not None]

    @staticmethod
    def _forecast(chains: list[Chain]) -> NDArray[np.float64]:
        """The predictions, every chain weighing the same."""
        return np.asarray(np.mean([chain.forecast for chain in chains], axis=0))

    def _evaluate(
        self, chains: list[Chain], sweep: int, warm_up: bool, seconds: float, infos: list[Info]
    ) -> None:
        scores: Scores | None = None
        if self.data.n_pairs:
            scores = score(self._forecast(chains), self.data.links, self.data.density)
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
                    "accepted": info.accepted,
                    "perplexity": scores.perplexity if scores else np.nan,
                    "log_loss": scores.log_loss if scores else np.nan,
                    "auc": scores.auc if scores else np.nan,
                    "average_precision": scores.average_precision if scores else np.nan,
                }
            )
        share = self.plan.share_done(sweep, seconds)
        left = None if not share else seconds * (1.0 / share - 1.0)
        speed = sweep * self.samplers[0].nodes * len(infos) / max(seconds, 1e-9)
        report = Report(sweep, warm_up, seconds, speed, share, left, scores)
        self.display.update(report)
        if self.callback is not None:
            self.callback(report)
