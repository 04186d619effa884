"""The trace of a run, chain by chain, thinned to what a plot can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.posterior.posterior import Posterior

MOST_POINTS, MOST_CHAINS = 400, 8
# What is followed: name in the trace, title, what it means, and whether it is one curve for all chains.
SERIES = (
    ("log_loss", "Held-out log loss", "Per pair of nodes; lower is better. It should have levelled off.", True),
    ("auc", "Held-out AUC", "How often a held-out link is ranked above a non-link.", True),
    ("auc_matched", "Held-out AUC, same degrees", "The same against non-links whose nodes have as many links.", True),
    ("links_inside", "Links inside communities", "Expected number, chain by chain: they should mix.", False),
    ("inside", "Units inside communities", "Share of the links' units that communities make.", False),
    ("spread", "Spread of popularities", "Standard deviation under their prior; 0 is a network of equals.", False),
    ("background", "Background", "Probability of a link between nodes that share no community.", False),
    ("concentration", "Concentration", "K alpha: far below 1 nodes are in one community each, above it in several.",
     False),
    ("accepted", "Accepted moves", "Share of proposed memberships that were taken.", False),
    ("dropped", "Dropped mass", "Membership lost in a sweep because a node's slots were full; near 0 is right.", False),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trace:
    """The sweeps of a run, the seconds they took, and a table of chains x sweeps for every quantity."""

    sweep: NDArray[np.int64]
    seconds: NDArray[np.float64]
    warm_up: NDArray[np.bool_]
    values: dict[str, NDArray[np.float64]]

    def sampling(self, name: str) -> NDArray[np.float64]:
        """Return the values after the warm-up, chains x sweeps."""
        return self.values[name][:, ~self.warm_up]


def read_trace(post: Posterior) -> Trace | None:
    """Read the trace of a posterior as tables; None where it has none."""
    trace = post.trace
    if "sweep" not in trace or not len(trace["sweep"]):
        return None
    row = np.asarray(trace["sweep"])
    chain = np.asarray(trace.get("chain", np.zeros(len(row), dtype=np.int64)))
    sweeps, column = np.unique(row, return_inverse=True)
    chains, line = np.unique(chain, return_inverse=True)

    def table(values: Any) -> NDArray[np.float64]:
        out = np.full((len(chains), len(sweeps)), np.nan)
        out[line, column] = values
        return out

    seconds = table(trace["seconds"])[0] if "seconds" in trace else sweeps.astype(np.float64)
    warm_up = table(trace["warm_up"])[0] == 1 if "warm_up" in trace else np.zeros(len(sweeps), dtype=bool)
    values = {name: table(trace[name]) for name, *_ in SERIES if name in trace}
    return Trace(sweeps, seconds, warm_up, values)


def trace_data(post: Posterior) -> dict[str, Any] | None:
    """Reduce the trace for the page: at most `MOST_POINTS` sweeps of `MOST_CHAINS` chains, five digits."""
    trace = read_trace(post)
    if trace is None:
        return None
    count = len(trace.sweep)
    pick = np.unique(np.linspace(0, count - 1, min(count, MOST_POINTS)).round().astype(np.int64))
    plots = []
    for name, title, meaning, shared in SERIES:
        values = trace.values.get(name)
        if values is None or not np.isfinite(values).any():
            continue
        lines = values[: 1 if shared else MOST_CHAINS, pick]
        plots.append({"name": name, "title": title, "meaning": meaning, "lines": [_digits(v) for v in lines]})
    warm_up = trace.sweep[trace.warm_up]
    return {
        "sweep": trace.sweep[pick],
        "seconds": _digits(trace.seconds[pick]),
        "warm_up": int(warm_up[-1]) if len(warm_up) else 0,
        "plots": plots,
        "chains": len(next(iter(trace.values.values()))) if trace.values else 1,
    }


def _digits(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in values]
