"""Panels in one style: scores over time with a band over seeds, and scores against a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockmix.errors import optional
from blockmix.experiments.figure import curve, select, unique, values
from blockmix.experiments.methods import METHODS
from blockmix.experiments.trial import Outcome

SCORES = {
    "perplexity": "balanced perplexity",
    "auc": "AUC",
    "log_loss": "log loss, network-weighted",
    "seconds_per_iteration": "seconds an iteration",
    "memory_ratio": "memory ratio",
}


def panels(columns: int, rows: int = 1) -> tuple[Any, Any]:
    """Make a figure with a grid of panels; axes are a 2-d array."""
    matplotlib = optional("matplotlib.figure", "drawing a figure", 'pip install "blockmix[plot]"')
    figure = matplotlib.Figure(figsize=(4.2 * columns, 3.3 * rows), layout="constrained", dpi=100)
    return figure, figure.subplots(rows, columns, squeeze=False)


def style(name: str, place: int) -> dict[str, Any]:
    """Return colour and marker of a method; settings that are no methods take the palette in order."""
    method = METHODS.get(name)
    if method is not None:
        return {"color": method.colour, "marker": method.marker}
    every = list(METHODS.values())
    return {"color": every[place % len(every)].colour, "marker": every[place % len(every)].marker}


def over_time(axes: Any, outcomes: Sequence[Outcome], score: str, title: str) -> None:
    """Draw one curve a method: mean over seeds, and the range of seeds as a band."""
    for place, name in enumerate(unique(outcomes, "method")):
        found = curve(select(outcomes, method=name), score)
        look = style(name, place) | {"marker": None}
        axes.plot(found.time, found.mean, label=name, linewidth=1.6, **look)
        axes.fill_between(found.time, found.low, found.high, color=look["color"], alpha=0.15, linewidth=0)
    axes.set(
        xscale="log", xlabel="processor seconds of sampling, one thread", ylabel=SCORES[score], title=title
    )
    _finish(axes)


def against(
    axes: Any, outcomes: Sequence[Outcome], score: str, label: str, title: str, log: bool = True
) -> None:
    """Draw one line a method against the trials' x: mean over seeds with the range as bars."""
    for place, name in enumerate(unique(outcomes, "method")):
        own = select(outcomes, method=name)
        at = sorted(unique(own, "x"))
        rows = [values(select(own, x=x), score) for x in at]
        mean = np.array([row.mean() for row in rows])
        # of equal values the mean can round to just outside of them
        reach = np.maximum([mean - [row.min() for row in rows], [row.max() for row in rows] - mean], 0.0)
        axes.errorbar(
            at, mean, yerr=reach, label=name, linewidth=1.4, capsize=2, markersize=5, **style(name, place)
        )
    axes.set(xlabel=label, ylabel=SCORES[score], title=title)
    if log:
        axes.set_xscale("log")
        # Label the values that were run, in plain figures; labels between decades would overlap them.
        at = sorted(unique(outcomes, "x"))
        axes.set_xticks(at, [f"{x:g}" for x in at], fontsize=8, rotation=45 if len(at) > 5 else 0)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    _finish(axes)


def _finish(axes: Any) -> None:
    axes.grid(True, alpha=0.25, linewidth=0.5)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)
    axes.title.set_fontsize(10)
