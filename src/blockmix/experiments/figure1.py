"""Figure 1: convergence of perplexity against the exact batch methods, on Synthetic and US-AIR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from blockmix.experiments.drawing import over_time, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    decide,
    if_converged,
    in_both_forms,
    mean_of,
    not_converged,
    seconds_to,
    select,
)
from blockmix.experiments.methods import CGS, FORMS, LMC, LMC_PRINTED, NETWORKS, SCIR, SGMC, SGMC_PRINTED
from blockmix.experiments.trial import SEEDS, Outcome, Trial

# The paper does not say how many communities it took: 4 is what Synthetic was made with.
PANELS = {"Synthetic": 4, "US-AIR": 10}
# "converges to the same level" is read as: within this of the exact sampler's last perplexity.
SAME_LEVEL = 1.03
# "in comparable time", "much slower": up to, or more than, so many times as long.
COMPARABLE = 3.0
# Where cgs takes less than this many seconds, it counts as this many.
SHORTEST = 0.1
EXACT = (CGS, LMC, LMC_PRINTED)
# Seconds of a trial, for every method alike; the exact ones, which visit all pairs, decide how many are enough.
SECONDS = {"Synthetic": 4.0, "US-AIR": 24.0}
QUICK = {"Synthetic": 2.0, "US-AIR": 12.0}
COMPARED = tuple(method.name for method in (*EXACT, SGMC, SGMC_PRINTED, SCIR))


def trials(quick: bool) -> list[Trial]:
    """List the trials of cgs, lmc and sgmc with a constant step in both forms, and scir."""
    constant = {"schedule": "constant"}
    methods = [*EXACT, SCIR] + [m._replace(options=m.options | constant) for m in (SGMC, SGMC_PRINTED)]
    return [
        Trial(
            "figure1", panel, NETWORKS[panel], k, m.name, m.sampler, seed,
            seconds=(QUICK if quick else SECONDS)[panel],
            options=m.options,
        )
        for panel, k in PANELS.items() for m in methods for seed in SEEDS
    ]  # fmt: skip


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Draw perplexity over time above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            own = select(outcomes, panel=panel)
            over_time(axes[row, column], own, score, f"{panel}, K = {PANELS[panel]}")
    return figure


def in_comparable_time(seconds: float, exact: float) -> bool | None:
    """Decide whether a method reaches the level of the exact sampler in comparable time; infinite is never."""
    reached = math.isfinite(seconds) and seconds <= COMPARABLE * max(exact, SHORTEST)
    return decide(reached, seconds, exact)


def much_slower(seconds: float, *others: float) -> bool | None:
    """Decide whether a method takes much longer than the fastest of the others."""
    return decide(seconds > COMPARABLE * min(others), seconds, *others)


def faster(seconds: float, *others: float) -> bool | None:
    """Decide whether a method takes less time than each of the others."""
    return decide(seconds < min(others), seconds, *others)


def negligible_error(last: float, *exact: float) -> bool | None:
    """Decide whether the last perplexity is at the level of the best exact sampler, or below."""
    return decide(last < SAME_LEVEL * min(exact), last, *exact)


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of Figure 1."""
    found = [claim for panel, judge in JUDGES.items() for claim in judge(*_figures(outcomes, panel))]
    own = select(outcomes, panel="US-AIR")
    # An exact sampler that has not converged says nothing about the error of another one.
    judged = [
        if_converged(answer, [o for o in own if o.trial.method in ("cgs", form["lmc"])])
        for answer, form in zip(_negligible(_figures(outcomes, "US-AIR")[0]), FORMS, strict=True)
    ]
    last = found[-1]._replace(measured=found[-1].measured + not_converged(own), holds=in_both_forms(*judged))
    return [*found[:-1], last]


def _figures(outcomes: Sequence[Outcome], panel: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the last perplexity of each method, and the time at which it reaches the level of cgs."""
    own = {name: select(outcomes, panel=panel, method=name) for name in COMPARED}
    last = {name: mean_of(found, "perplexity") for name, found in own.items()}
    level = SAME_LEVEL * last["cgs"]
    return last, {name: seconds_to(found, "perplexity", level) for name, found in own.items()}


def _measured(last: dict[str, float], reach: dict[str, float]) -> str:
    listed = ", ".join(f"{m} {_level(last[m])} ({_time(reach[m])})" for m in last)
    return f"last perplexity, time to within 3% of that of cgs: {listed}"


def _judge_synthetic(last: dict[str, float], reach: dict[str, float]) -> list[Claim]:
    return [
        Claim(
            "Synthetic: cgs converges very fast, sgmc with a fixed step in comparable time to the same level",
            "“CGS converges very fast”; SGMC “using fixed step-size converges to the same level of accuracy in "
            "comparable time”", _measured(last, reach),
            in_both_forms(*(in_comparable_time(reach[form["sgmc"]], reach["cgs"]) for form in FORMS)),
        ),
        Claim(
            "Synthetic: lmc converges much slower than both",
            "“LMC converges much slower than both the collapsed Gibbs sampler and our algorithm”",
            "time to within 3% of cgs: " + ", ".join(f"{m} {_time(reach[m])}" for m in COMPARED[:-1]),
            in_both_forms(*(much_slower(reach[f["lmc"]], reach["cgs"], reach[f["sgmc"]]) for f in FORMS)),
        ),
    ]  # fmt: skip


def _judge_us_air(last: dict[str, float], reach: dict[str, float]) -> list[Claim]:
    return [
        Claim(
            "US-AIR: sgmc is faster than cgs and lmc",
            "“our stochastic gradient sampler outperforms in speed the collapsed Gibbs sampler as well as the Langevin "
            "Monte Carlo”", _measured(last, reach),
            in_both_forms(*(faster(reach[f["sgmc"]], reach["cgs"], reach[f["lmc"]]) for f in FORMS)),
        ),
        Claim(
            "US-AIR: the error of sgmc from its finite step and the missing test is negligible",
            "“the approximation error of our algorithm due to the finite step size and the absence of accept-reject "
            "tests is negligible compared to the perplexity of the exact MCMC”",
            "last perplexity: " + ", ".join(f"{m} {_level(last[m])}" for m in COMPARED[:-1]),
            in_both_forms(*_negligible(last)),
        ),
    ]  # fmt: skip


def _negligible(last: dict[str, float]) -> list[bool | None]:
    """Decide the last claim in both forms."""
    return [negligible_error(last[form["sgmc"]], last["cgs"], last[form["lmc"]]) for form in FORMS]


JUDGES = {"Synthetic": _judge_synthetic, "US-AIR": _judge_us_air}


def _level(perplexity: float) -> str:
    return "not run" if math.isnan(perplexity) else f"{perplexity:.3f}"


def _time(seconds: float) -> str:
    return "not run" if math.isnan(seconds) else "never" if math.isinf(seconds) else f"{seconds:.2g} s"


FIGURE = Figure("figure1", "Figure 1: against exact batch sampling", trials, draw, claims)
