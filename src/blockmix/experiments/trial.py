"""One run of one method on one network: what an experiment is made of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

# Held out in all experiments. The paper holds out 1%, which on these networks is 9 to 49 links (E9).
HELD_OUT = 0.05


@dataclass(frozen=True)
class Trial:
    """What is run: a method (a name for the legend, a sampler, its options) on a network with K communities.

    `panel` is the part of the figure it belongs to, `x` its place on the horizontal axis where that is not time.
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


def run_trial(trial: Trial) -> Outcome:
    """Run a trial on one thread, so that methods are comparable and several trials can run at once."""
    from blockmix.graph.datasets.load import load_dataset
    from blockmix.graph.split import hold_out
    from blockmix.inference.fit import fit

    graph = load_dataset(trial.network)
    data = hold_out(graph, HELD_OUT, seed=trial.seed)
    alpha = 1.0 / trial.communities if trial.alpha is None else trial.alpha
    post = fit(
        graph, trial.communities, sampler=trial.sampler, seed=trial.seed, chains=1, threads=1, held_out=data,
        time_limit=trial.seconds, alpha=alpha, progress=False, **trial.options,
    )  # fmt: skip
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
    if "memory_ratio" in trace:
        figures["memory_ratio"] = trace["memory_ratio"][-1]
    return Outcome(trial, trace, figures)
