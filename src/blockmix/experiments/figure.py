"""What a figure is: trials, a drawing, and claims that are judged by what the trials measured."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.experiments.trial import Outcome, Trial


class Claim(NamedTuple):
    """A claim of the paper's text, what the paper reports, what was measured here, and the verdict."""

    claim: str
    paper: str
    measured: str
    holds: str


@dataclass(frozen=True)
class Figure:
    """One figure of the paper. `trials(quick)` lists what to run."""

    name: str
    title: str
    trials: Callable[[bool], list[Trial]]
    draw: Callable[[Sequence[Outcome]], Any]
    claims: Callable[[Sequence[Outcome]], list[Claim]]


class Curve(NamedTuple):
    """A score over time: mean, lowest and highest value over seeds, at common times."""

    time: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def verdict(holds: bool | None) -> str:
    """Return the verdict in words; None is what these runs cannot decide."""
    return {True: "holds", False: "does not hold", None: "undecided"}[holds]


def decide(holds: bool, *figures: float) -> bool | None:
    """Return the answer, or None where a figure that it depends on is missing (NaN)."""
    return None if any(math.isnan(figure) for figure in figures) else bool(holds)


def all_of(verdicts: Iterable[bool | None]) -> bool | None:
    """Decide whether all hold: one that does not is enough against, and without that one undecided leaves it open."""
    found = list(verdicts)
    return False if False in found else None if None in found or not found else True


def in_both_forms(corrected: bool | None, printed: bool | None) -> str:
    """Return the verdict on the corrected update, and where it differs that on the update as printed."""
    if corrected == printed:
        return verdict(corrected)
    return f"{verdict(corrected)}; as printed, {verdict(printed)}"


def judged(
    claim: str, paper: str, measured: str, corrected: Iterable[bool | None], printed: Iterable[bool | None]
) -> Claim:
    """Make a claim from the answers in every setting, in both forms: it holds if it holds in all of them.

    A setting is a network with a number of communities. One that is against the claim decides, whether others had
    converged or not; how many settings say what ends the text of what was measured.
    """
    forms = [list(corrected), list(printed)]
    counts = [f"{found.count(True)}, {found.count(False)}, {found.count(None)}" for found in forms]
    counted = f"; settings for it, against it, undecided: {counts[0]}; as printed {counts[1]}"
    return Claim(claim, paper, measured + counted, in_both_forms(*map(all_of, forms)))


def if_converged(holds: bool | None, outcomes: Iterable[Outcome]) -> bool | None:
    """Return the answer, or None where a run that it depends on had not converged (`convergence.with_convergence`)."""
    return None if any(outcome.figures.get("converged") == 0.0 for outcome in outcomes) else holds


def if_rows_settled(holds: bool | None, outcomes: Iterable[Outcome]) -> bool | None:
    """Return the answer, or None where the rows of `sgmc-m` still became shorter at the end of a run it depends on."""
    return None if any(outcome.figures.get("rows_settled") == 0.0 for outcome in outcomes) else holds


def not_converged(outcomes: Iterable[Outcome]) -> str:
    """Return which methods have runs that had not converged, as an end of a sentence; nothing where all had."""
    left = Counter(o.trial.method for o in outcomes if o.figures.get("converged") == 0.0)
    return f"; not converged: {', '.join(f'{n} runs of {m}' for m, n in left.items())}" if left else ""


def best_or_near(by_setting: dict[Any, float], named: Any, near: float = 1.01) -> bool | None:
    """Decide whether the setting that the paper names has the lowest score; None where the lowest is hardly lower."""
    if not by_setting or decide(True, *by_setting.values()) is None:
        return None
    least = min(by_setting.values())
    if by_setting[named] == least:
        return True
    return None if by_setting[named] <= near * least else False


def select(outcomes: Iterable[Outcome], **wanted: Any) -> list[Outcome]:
    """Return the outcomes whose trials have these values."""
    return [o for o in outcomes if all(getattr(o.trial, name) == value for name, value in wanted.items())]


def values(outcomes: Iterable[Outcome], name: str) -> NDArray[np.float64]:
    """Return one figure of several outcomes."""
    return np.array([outcome.figures[name] for outcome in outcomes], dtype=np.float64)


def mean_of(outcomes: Iterable[Outcome], name: str) -> float:
    """Compute the mean of a figure over seeds; NaN where nothing was run."""
    found = values(outcomes, name)
    return float(found.mean()) if len(found) else float("nan")


def unique(outcomes: Iterable[Outcome], name: str) -> list[Any]:
    """List the different values of a field of the trials, in order of appearance."""
    return list(dict.fromkeys(getattr(outcome.trial, name) for outcome in outcomes))


def curve(outcomes: Sequence[Outcome], score: str, points: int = 60) -> Curve:
    """Compute the mean and range of a score over seeds, from the first time at which all of them have one."""
    begin = max(outcome.trace["seconds"][0] for outcome in outcomes)
    end = min(outcome.trace["seconds"][-1] for outcome in outcomes)
    time = np.geomspace(max(begin, 1e-3), max(end, begin, 2e-3), points)
    rows = np.array([np.interp(time, o.trace["seconds"], o.trace[score]) for o in outcomes])
    return Curve(time, rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0))


def seconds_to(outcomes: Sequence[Outcome], score: str, level: float) -> float:
    """Return when the mean curve first falls to a level; infinite where it never does, NaN without runs."""
    if not outcomes:
        return float("nan")
    found = curve(outcomes, score)
    below = np.flatnonzero(found.mean <= level)
    return float(found.time[below[0]]) if len(below) else float("inf")
