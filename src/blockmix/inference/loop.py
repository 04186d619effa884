"""The loop around a sampler: warm-up, samples, evaluation, stopping."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate import Scores, score
from blockmix.graph.split import HeldOut
from blockmix.inference.interrupt import Interruption, Terminated
from blockmix.inference.plan import Plan
from blockmix.inference.progress import Callback, Progress, Report
from blockmix.numerics.philox import stream_key
from blockmix.numerics.workers import Workers
from blockmix.samplers.contract import Approximation, ChainKey, Info, Sampler, Startable
from blockmix.tables.summary import ChainSummary

# Sweeps between evaluations; the first few are all evaluated, so that short runs have a trace.
EVALUATE_EVERY, FIRST_EVALUATED = 10, 3


@dataclass
class Chain:
    """One chain: the sampler it runs on, its state and random numbers, what it has left behind so far."""

    sampler: Sampler
    state: Any
    key: ChainKey
    summary: ChainSummary
    forecast: NDArray[np.float64]

    def advance(self, pairs: NDArray[np.int64], warm_up: bool, samples: int) -> Info:
        """One sweep; then the new state is added to the predictions and, where it counts, to the summaries.

        `samples` counts the sweeps of this phase. In warm-up the predictions are a moving average in which
        sweep t weighs t, so that early states fade; after it every state weighs the same. Of an approximation
        only the last state counts.
        """
        info = self.sampler.step(self.state, self.key, warm_up)
        share = 2.0 / (samples + 1.0) if warm_up else 1.0 / samples
        if not self.sampler.samples:
            share = 1.0
        self.sampler.predict(self.state, pairs, 1.0 - share, share, self.forecast)
        if not warm_up:
            self.record(samples - 1)
        return info

    def record(self, number: int) -> None:
        """Take the state into the summaries as sample `number`, counted from 0."""
        sampler, state = self.sampler, self.state
        sweep = sampler.sweeps_done(state)
        if sampler.samples:
            self.summary.add(sweep, sampler.memberships(state), sampler.strengths(state), sampler.workers)
        else:
            approximation = cast(Approximation, sampler)
            draw = approximation.draw(state, self.key)
            self.summary.replace(sweep, approximation.moments(state), draw, number)


@dataclass
class Position:
    """How far a run has come: sweeps, those of them in warm-up, seconds of sampling, the trace so far.

    `over` says that the plan has come to its end, `closed` that the last evaluation was made because the run
    stopped and not because it was due: a run that goes on takes it back.
    """

    sweep: int = 0
    warm_up: bool = True
    warm_up_sweeps: int = 0
    seconds: float = 0.0
    updates: int = 0
    over: bool = False
    closed: bool = False
    rows: list[dict[str, float]] = field(default_factory=list)

    def trace(self) -> dict[str, NDArray[Any]]:
        """The trace by columns."""
        return {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}


class Keeper(Protocol):
    """Somebody who keeps a run safe while it goes on: checkpoints, and word of where it stands.

    `resumable` says whether there are checkpoints, so that a run asked to end can go on another day.
    """

    resumable: bool

    def offer(self, chains: list[Chain], at: Position, plan: Plan) -> None:
        """Called after every sweep: keep the run if it is time to."""

    def save(self, chains: list[Chain], at: Position, plan: Plan) -> None:
        """Keep the run now."""

    def report(self, report: Report) -> None:
        """Called after every evaluation."""


@dataclass
class RunResult:
    """All that a run leaves: chains, held-out predictions, how far it came."""

    chains: list[Chain]
    probability: NDArray[np.float64]
    position: Position
    interrupted: bool


def chain_key(seed: int, number: int) -> ChainKey:
    """The random numbers of a chain: a function of the seed and its number."""
    low, high = stream_key(np.uint64(seed), number)
    return int(low), int(high)


@dataclass
class Run:
    """One run of one or several chains, sweep by sweep; `samplers` has one for each chain, or the same one."""

    samplers: list[Sampler]
    workers: Workers
    data: HeldOut
    plan: Plan
    seed: int
    display: Progress
    callback: Callback | None = None
    keeper: Keeper | None = None
    given: Any = None

    def execute(self) -> RunResult:
        """Run to the end of the plan, or to Ctrl-C."""
        self._compile()
        self.display.waiting("finding a start")
        began = time.perf_counter()
        chains = [self._new_chain(c) for c in range(len(self.samplers))]
        position = Position()
        if self.keeper is not None:
            self.keeper.save(chains, position, self.plan)
        return self._run(chains, position, began)

    def go_on(self, chains: list[Chain], position: Position) -> RunResult:
        """Run from this position as if there had been no pause."""
        self._compile()
        return self._run(chains, position, time.perf_counter() - position.seconds)

    def _compile(self) -> None:
        self.display.waiting("compiling the kernels (once on a new machine)")
        self.samplers[0].compile()

    def _run(self, chains: list[Chain], at: Position, began: float) -> RunResult:
        """Sweeps to the end; `began` is when, on the clock, the seconds of the run were zero."""
        interrupted = False
        if not at.over:
            interrupted = self._sweeps(chains, at, began)
            at.seconds = time.perf_counter() - began
        if at.warm_up:
            # Stopped before any sample counted: the last state is the only estimate there is.
            at.warm_up_sweeps = at.sweep
            for chain in chains:
                chain.record(0)
        return RunResult(chains, self._forecast(chains), at, interrupted)

    def _sweeps(self, chains: list[Chain], at: Position, began: float) -> bool:
        """Sweep until the plan is over or somebody interrupts; returns whether it was interrupted."""
        self._reopen(chains, at)
        with Interruption(terminate=self.keeper is not None and self.keeper.resumable) as interruption:
            while True:
                self._change_phase(at)
                at.sweep += 1
                infos = self._advance(chains, at)
                at.updates += sum(info.updates for info in infos)
                at.seconds = time.perf_counter() - began
                due = at.sweep % EVALUATE_EVERY == 0 or at.sweep <= FIRST_EVALUATED
                at.over, asked = self.plan.over(at.sweep, at.seconds), interruption.requested
                if due or at.over or asked:
                    self._evaluate(chains, at, infos)
                    # A score that is not due must not decide anything: a run that never stopped has not seen it.
                    at.over = at.over or (due and self.plan.over(at.sweep, at.seconds))
                    at.closed = not due
                if self.keeper is not None:
                    keep = self.keeper.save if at.over or asked else self.keeper.offer
                    keep(chains, at, self.plan)
                if at.over or asked:
                    break
        if interruption.terminated and not at.over:
            raise Terminated
        return not at.over

    def _reopen(self, chains: list[Chain], at: Position) -> None:
        """Take back the evaluation that was made only because the run stopped here."""
        if at.closed:
            del at.rows[-len(chains) :]
            self.plan.take_back()
            at.closed = False

    def _change_phase(self, at: Position) -> None:
        """Begin to sample when the warm-up is over."""
        if at.warm_up and self.plan.warm_up_over(at.sweep, at.seconds):
            at.warm_up, at.warm_up_sweeps = False, at.sweep
            self.plan.sampling_begins(at.sweep)

    def _new_chain(self, number: int) -> Chain:
        key = chain_key(self.seed, number)
        sampler = self.samplers[number]
        if self.given is None:
            state = sampler.init(key)
        else:
            state = cast(Startable, sampler).init_at(key, self.given)
        shape = sampler.strengths(state).shape
        summary = ChainSummary.empty(sampler.nodes, sampler.communities, sampler.slots, shape)
        return Chain(sampler, state, key, summary, np.zeros(self.data.n_pairs))

    def _advance(self, chains: list[Chain], at: Position) -> list[Info]:
        """One sweep of every chain: side by side where each has a sampler of its own, else one after another."""
        infos: list[Info | None] = [None] * len(chains)

        def advance(i: int) -> None:
            infos[i] = chains[i].advance(self.data.pairs, at.warm_up, at.sweep - at.warm_up_sweeps)

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

    def _evaluate(self, chains: list[Chain], at: Position, infos: list[Info]) -> None:
        scores: Scores | None = None
        if self.data.n_pairs:
            scores = score(self._forecast(chains), self.data.links, self.data.density)
            self.plan.score(at.sweep, scores.log_loss)
        for chain, info in enumerate(infos):
            at.rows.append(
                {
                    "chain": chain,
                    "sweep": at.sweep,
                    "iterations": at.sweep * info.iterations,
                    "seconds": at.seconds,
                    "warm_up": at.warm_up,
                    "background": info.background,
                    **info.measures,
                    "perplexity": scores.perplexity if scores else np.nan,
                    "log_loss": scores.log_loss if scores else np.nan,
                    "auc": scores.auc if scores else np.nan,
                    "average_precision": scores.average_precision if scores else np.nan,
                }
            )
        share = self.plan.share_done(at.sweep, at.seconds)
        left = None if not share else at.seconds * (1.0 / share - 1.0)
        speed = at.updates / max(at.seconds, 1e-9)
        report = Report(at.sweep, at.warm_up, at.seconds, speed, share, left, scores)
        self.display.update(report)
        if self.keeper is not None:
            self.keeper.report(report)
        if self.callback is not None:
            self.callback(report)
