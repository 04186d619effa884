"""One run of one method on one network: what an experiment is made of."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any

# Held out by default. The paper holds out 1%, which on these networks is 9 to 49 links (E9).
HELD_OUT = 0.05
# Every setting is run from so many seeds, each a split and a start of its own.
SEEDS = (1, 2, 3)
# The fields of a trial that say where a figure shows it.
SHOWN = ("figure", "panel", "method", "x")


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
    def run(self) -> dict[str, Any]:
        """Return what is run: everything but where a figure shows it. Trials that agree in this are run once."""
        return {name: value for name, value in asdict(self).items() if name not in SHOWN}

    @property
    def name(self) -> str:
        """Return a file name that two different runs never share."""
        text = json.dumps(self.run, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        return f"{self.network}-{self.sampler}-K{self.communities}-seed{self.seed}-{digest}"


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
        trial.communities, "assortative", trial.sampler, trial.options, seed=trial.seed, chains=1, threads=1,
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
    figures["null_perplexity"] = null_perplexity(data.density, float(data.links.mean()))
    if "memory_ratio" in trace:
        figures["memory_ratio"] = trace["memory_ratio"][-1]
    return Outcome(trial, trace, figures)
