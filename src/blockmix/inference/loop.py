"""The loop around the chains of a run: warm-up, samples, evaluation, stopping.

After every sweep the loop asks its `Comm` once what comes next. The clock and signals enter only there, so that several
processes that take part in one run always do the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockmix.engines.contract import Comm, Flags, Solo
from blockmix.evaluate import Scores, score
from blockmix.graph.split import HeldOut
from blockmix.inference.interrupt import Interruption, Terminated
from blockmix.inference.plan import EVALUATE_EVERY, Plan
from blockmix.inference.position import Position
from blockmix.inference.progress import Callback, Pace, Progress, Report
from blockmix.inference.run_folder.checkpointer import Checkpointer
from blockmix.numerics.workers import Workers
from blockmix.posterior.agreement import Agreement
from blockmix.samplers.live import LiveChain

# The first few sweeps are all evaluated, so that short runs have a trace.
FIRST_EVALUATED = 3
_SCORES = ("perplexity", "log_loss", "auc", "auc_matched", "average_precision")


@dataclass
class RunResult:
    """All that a run leaves: chains, how far it came, and whether a signal ended it."""

    chains: list[LiveChain]
    position: Position
    interrupted: bool
    stopped_by: str = ""


@dataclass
class Run:
    """One run of one or several chains, sweep by sweep.

    `agreement` compares the chains, where a plan without limits asks for it. With `side_by_side` chains share out these
    workers, one thread a chain; without, they run one after another.
    """

    chains: list[LiveChain]
    data: HeldOut
    plan: Plan
    display: Progress
    callback: Callback | None = None
    checkpointer: Checkpointer | None = None
    side_by_side: Workers | None = None
    comm: Comm = field(default_factory=Solo)
    agreement: Agreement | None = None
    clock: Callable[[], float] = time.perf_counter
    _pace: Pace = field(default_factory=Pace)

    def execute(self, at: Position, began: float) -> RunResult:
        """Run from this position to the end of the plan, or to Ctrl-C.

        `began` is when, on the clock, the seconds of the run were zero.
        """
        interrupted = False
        if not at.over:
            interrupted = self._sweeps(at, began)
            at.seconds = self.clock() - began
        if at.warm_up:
            # Stopped before any sample counted: the last state is the only estimate there is.
            at.warm_up_sweeps = at.sweep
            for chain in self.chains:
                chain.record_last()
        reason = "it was interrupted" if interrupted else self.plan.reason(at.sweep, len(self.chains))
        return RunResult(self.chains, at, interrupted, reason)

    def _sweeps(self, at: Position, began: float) -> bool:
        """Sweep until the plan is over or a signal interrupts; return whether it was interrupted."""
        self._remove_closing_evaluation(at)
        flags = Flags(begin_sampling=self._warm_up_ends(at))
        with Interruption(terminate=self.checkpointer is not None and self.checkpointer.resumable) as signals:
            while not (flags.stop or flags.interrupted):
                if flags.begin_sampling:
                    at.warm_up, at.warm_up_sweeps = False, at.sweep
                    self.plan.sampling_begins(at.sweep)
                at.sweep += 1
                self._advance(at)
                at.seconds = self.clock() - began
                flags = self._decide(at, signals)
                at.over, at.closed = flags.stop, flags.evaluate
                if flags.evaluate:
                    self._evaluate(at)
                if self.checkpointer is not None and (flags.checkpoint or flags.stop or flags.interrupted):
                    self.checkpointer.save(self.chains, at, self.plan)
        if flags.terminated and not at.over:
            raise Terminated(flags.terminated)
        return not at.over

    def _decide(self, at: Position, signals: Interruption) -> Flags:
        """Return what comes after this sweep, decided by rank 0.

        An evaluation that is due depends on the number of the sweep alone, and is made before; its score may end the
        warm-up or the run. The flag `evaluate` asks for a closing evaluation: one that is made only because the run
        stops. It must not decide anything, because a run that never stopped has not seen it.
        """
        over = self.plan.over(at.sweep, at.seconds)
        asked, terminated = signals.requested, signals.terminated
        due = at.sweep % EVALUATE_EVERY == 0 or at.sweep <= FIRST_EVALUATED
        if due:
            self._evaluate(at)
            if self.agreement is not None and self.plan.check_due(at.sweep):
                self.plan.add_check(at.sweep, self.agreement.check(self.chains))
            over = over or self.plan.over(at.sweep, at.seconds)
        return self.comm.decide(
            Flags(
                begin_sampling=self._warm_up_ends(at),
                evaluate=not due and (over or asked),
                checkpoint=self.checkpointer is not None and self.checkpointer.due(),
                stop=over,
                interrupted=asked,
                terminated=terminated,
            )
        )

    def _warm_up_ends(self, at: Position) -> bool:
        return at.warm_up and self.plan.warm_up_over(at.sweep, at.seconds)

    def _remove_closing_evaluation(self, at: Position) -> None:
        """Remove the evaluation that was made only because the run stopped here."""
        if at.closed:
            del at.rows[-len(self.chains) :]
            self.plan.remove_last_score()
            at.closed = False

    def _advance(self, at: Position) -> None:
        """Make one sweep of every chain."""

        def advance(i: int) -> None:
            self.chains[i].advance(at.warm_up, at.sweep - at.warm_up_sweeps)

        if self.side_by_side is None:
            for i in range(len(self.chains)):
                advance(i)
        else:
            self.side_by_side.each(len(self.chains), advance)
        at.updates += sum(chain.info().updates for chain in self.chains)

    def _forecast(self) -> NDArray[np.float64]:
        """Return the predictions, every chain weighing the same: weights are found once, when the run has ended."""
        return np.asarray(np.mean([chain.forecast() for chain in self.chains], axis=0))

    def _evaluate(self, at: Position) -> None:
        """Score the predictions, add them to the trace, and report the progress."""
        scores: Scores | None = None
        if self.data.n_pairs:
            held_out, matched = np.split(self._forecast(), [self.data.n_pairs])
            scores = score(held_out, self.data.links, self.data.density, matched)
            self.plan.add_score(at.sweep, scores.log_loss)
        for number, chain in enumerate(self.chains):
            info = chain.info()
            at.rows.append(
                {
                    "chain": number, "sweep": at.sweep, "iterations": at.sweep * info.iterations,
                    "seconds": at.seconds, "warm_up": at.warm_up, "background": info.background, **info.measures,
                    **{name: getattr(scores, name) if scores else np.nan for name in _SCORES},
                }
            )  # fmt: skip
        self._report(at, scores)

    def _report(self, at: Position, scores: Scores | None) -> None:
        """Report the progress to the display, the folder of the run and the user's callback."""
        self._pace.add(at.sweep, at.seconds)
        share = self.plan.share_done(at.sweep, at.seconds)
        left = self.plan.seconds_left(at.sweep, at.seconds, self._pace.seconds_a_sweep)
        speed = at.updates / max(at.seconds, 1e-9)
        missing = self.plan.missing(at.sweep)
        least, most = (None, None) if left is None else left
        report = Report(at.sweep, at.warm_up, at.seconds, speed, share, most, scores, missing, least)
        self.display.update(report)
        if self.checkpointer is not None:
            self.checkpointer.update(report)
        if self.callback is not None:
            self.callback(report)
