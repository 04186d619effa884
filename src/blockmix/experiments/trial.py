"""One run of one method on one network: what an experiment is made of."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

# Held out by default. The paper holds out 1%, which on these networks is 9 to 49 links (E9).
HELD_OUT = 0.05
# A run counts as converged if its perplexity changed by at most this share over the last third of its time, and is
# below this share of what a prediction without communities has: a curve that never moved is not converged.
SETTLED, MOVED = 0.02, 0.9


@dataclass(frozen=True)
class Trial:
    """What is run: a method (a name for the legend, a sampler, its options) on a network with K communities.

    `seconds` are of processor time. `panel` is the part of the figure it belongs to, `x` its place on the horizontal
    axis where that is not time.
    """

    figure: str
    panel: str
    network: str
    communities: int
    method: str
    sampler: str
    seed: int
    seconds: float
    x: float = 0.0
    alpha: float | None = None
    held_out: float = HELD_OUT
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return a file name that two different trials never share."""
        text = json.dumps(asdict(self), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        return f"{self.panel}-{self.method}-K{self.communities}-seed{self.seed}-{digest}".replace(" ", "_")


@dataclass(frozen=True)
class Outcome:
    """What a trial measured: the trace of the run by columns, and single figures."""

    trial: Trial
    trace: dict[str, list[float]]
    figures: dict[str, float]

    def to_json(self) -> str:
        """Return the outcome as text that `from_json` reads."""
        return json.dumps(asdict(self), allow_nan=True)

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Read what `to_json` wrote."""
        held = json.loads(text)
        return cls(Trial(**held["trial"]), held["trace"], held["figures"])


def null_perplexity(density: float, links: float) -> float:
    """Compute the perplexity of predicting the density for every pair, a share `links` of which are links.

    >>> round(null_perplexity(0.01, 0.5), 2)
    10.05
    """
    return math.exp(-links * math.log(density) - (1.0 - links) * math.log1p(-density))


def is_converged(seconds: Sequence[float], perplexity: Sequence[float], null: float) -> bool:
    """Decide whether a run has converged, by the rule of `SETTLED` and `MOVED`; a run with one score has not.

    >>> times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> is_converged(times, [9.0, 5.0, 3.1, 3.0, 3.0, 3.0], 10.0), is_converged(times, [10.0] * 6, 10.0)
    (True, False)
    """
    late = [score for time, score in zip(seconds, perplexity, strict=True) if time >= 2.0 / 3.0 * seconds[-1]]
    if len(late) < 2 or not all(math.isfinite(score) for score in late):
        return False
    last = late[-1]
    return max(abs(score - last) for score in late) <= SETTLED * last and last < MOVED * null


def run_trial(trial: Trial) -> Outcome:
    """Run a trial on one thread, by processor time, so that methods are comparable on a machine that is not idle."""
    from blockmix.graph.datasets.load import load_dataset
    from blockmix.graph.split import hold_out
    from blockmix.inference import fit
    from blockmix.inference.request import FitRequest

    graph = load_dataset(trial.network)
    data = hold_out(graph, trial.held_out, seed=trial.seed)
    alpha = 1.0 / trial.communities if trial.alpha is None else trial.alpha
    request = FitRequest(
        trial.communities, sampler=trial.sampler, options=trial.options, seed=trial.seed, chains=1, threads=1,
        held_out=data, time_limit=trial.seconds, alpha=alpha,
    )  # fmt: skip
    post = fit.fit_request(request, graph, progress=False, clock=time.process_time)
    if post.provenance["interrupted"]:
        # An interrupted fit returns the samples so far; a trial that was cut short must not count.
        raise KeyboardInterrupt
    kept = ("sweep", "iterations", "seconds", "warm_up", "perplexity", "log_loss", "auc", "memory_ratio")
    trace = {name: [float(v) for v in post.trace[name]] for name in kept if name in post.trace}
    scores = post.scores
    figures = {
        "seconds": float(post.provenance["seconds"]),
        "sweeps": float(post.provenance["sweeps"]),
        "iterations": trace["iterations"][-1],
        "perplexity": float("nan") if scores is None else scores.perplexity,
        "log_loss": float("nan") if scores is None else scores.log_loss,
        "auc": float("nan") if scores is None else scores.auc,
    }
    figures["seconds_per_iteration"] = trace["seconds"][-1] / max(figures["iterations"], 1.0)
    null = null_perplexity(data.density, float(data.links.mean()))
    figures["converged"] = float(is_converged(trace["seconds"], trace["perplexity"], null))
    if "memory_ratio" in trace:
        figures["memory_ratio"] = trace["memory_ratio"][-1]
    return Outcome(trial, trace, figures)
