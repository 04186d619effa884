"""Which runs of an experiment have converged: the rule, and its application to all runs of a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from blockmix.experiments.trial import Outcome

# Settled: the perplexity changed by at most this share of its last value over the last third of the run's time.
SETTLED = 0.02
# Below this share of the perplexity of a prediction without communities, the best run has found communities.
FOUND = 0.9


def is_settled(seconds: Sequence[float], perplexity: Sequence[float]) -> bool:
    """Decide whether a run has settled, by the rule of `SETTLED`; a run with one late score has not.

    >>> times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> is_settled(times, [9.0, 5.0, 3.1, 3.0, 3.0, 3.0]), is_settled(times, [9.0, 5.0, 4.0, 3.2, 3.1, 3.0])
    (True, False)
    """
    late = [score for time, score in zip(seconds, perplexity, strict=True) if time >= 2.0 / 3.0 * seconds[-1]]
    if len(late) < 2 or not all(math.isfinite(score) for score in late):
        return False
    return max(abs(score - late[-1]) for score in late) <= SETTLED * late[-1]


def is_level(seconds: Sequence[float], lengths: Sequence[float]) -> bool:
    """Decide whether rows no longer become shorter or longer, by means, because lengths vary from sweep to sweep.

    The mean over the last sixth of a run's time and that over the sixth before differ by at most the share `SETTLED`.

    >>> is_level([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.9, 0.8, 0.5, 0.5, 0.5, 0.5])
    True
    """
    before, after = (
        [n for time, n in zip(seconds, lengths, strict=True) if a * seconds[-1] <= time < b * seconds[-1]]
        for a, b in ((4 / 6, 5 / 6), (5 / 6, math.inf))
    )
    if not before or not after:
        return False
    last = sum(after) / len(after)
    return abs(sum(before) / len(before) - last) <= SETTLED * last


def has_moved(last: float, null: float, best: float) -> bool:
    """Decide whether a run has come far enough to have converged, and is not stuck where it knows little.

    It must be nearer, in log perplexity, to the best run of any method than to a prediction without communities
    (`null`). Where the best run itself has found no communities, none has.

    >>> has_moved(3.5, 7.5, 3.0), has_moved(5.3, 7.5, 3.0)
    (True, False)
    """
    return best < FOUND * null and last < math.sqrt(null * best)


def with_convergence(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes with the figure "converged": 1 for a run that has settled and has moved, else 0.

    The best run is the one with the lowest last perplexity on the same network, split and number of communities.
    """
    best: dict[tuple[str, int, int], float] = {}
    for outcome in outcomes:
        last = outcome.figures["perplexity"]
        if math.isfinite(last):
            best[_setting(outcome)] = min(last, best.get(_setting(outcome), math.inf))
    return [replace(o, figures=o.figures | _judged(o, best.get(_setting(o), math.inf))) for o in outcomes]


def _judged(outcome: Outcome, best: float) -> dict[str, float]:
    """Return "converged" and, of a method with rows that become shorter, "rows_settled" (`is_level`)."""
    found = {"converged": float(_is_converged(outcome, best))}
    if "memory_ratio" in outcome.trace:
        found["rows_settled"] = float(is_level(outcome.trace["seconds"], outcome.trace["memory_ratio"]))
    return found


def _is_converged(outcome: Outcome, best: float) -> bool:
    settled = is_settled(outcome.trace["seconds"], outcome.trace["perplexity"])
    return settled and has_moved(outcome.figures["perplexity"], outcome.figures["null_perplexity"], best)


def _setting(outcome: Outcome) -> tuple[str, int, int]:
    return outcome.trial.network, outcome.trial.communities, outcome.trial.seed
