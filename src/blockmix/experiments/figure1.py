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
    verdict,
)
from blockmix.experiments.methods import CGS, LMC, NETWORKS, SCIR, SGMC, SGMC_PRINTED
from blockmix.experiments.trial import Outcome, Trial

# The paper does not say how many communities it took: 4 is what Synthetic was made with.
PANELS = {"Synthetic": 4, "US-AIR": 10}
# "converges to the same level" is read as: within this of the exact sampler's last perplexity.
SAME_LEVEL = 1.03
# "in comparable time", "much slower": up to, or more than, so many times as long.
COMPARABLE = 3.0
# Where cgs takes less than this many seconds, it counts as this many.
SHORTEST = 0.1
FORMS = (SGMC.name, SGMC_PRINTED.name)
COMPARED = ("cgs", "lmc", *FORMS, SCIR.name)


def trials(quick: bool) -> list[Trial]:
    """List the trials of cgs, lmc, sgmc with a constant step in both forms, and scir."""
    constant = {"schedule": "constant"}
    methods = [CGS, LMC, SCIR] + [m._replace(options=m.options | constant) for m in (SGMC, SGMC_PRINTED)]
    return [
        Trial(
            "figure1", panel, NETWORKS[panel], k, m.name, m.sampler, seed, seconds=5.0 if quick else 20.0,
            options=m.options,
        )
        for panel, k in PANELS.items() for m in methods for seed in range(1, 3 if quick else 4)
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
    exact = [outcome for outcome in own if outcome.trial.method in ("cgs", "lmc")]
    # An exact sampler that has not converged says nothing about the error of another one.
    last = found[-1]
    open_still = if_converged(True, exact) is None
    return [*found[:-1], last._replace(
        measured=last.measured + not_converged(own), holds=verdict(None) if open_still else last.holds
    )]  # fmt: skip


def _figures(outcomes: Sequence[Outcome], panel: str) -> tuple[dict[str, float], dict[str, float]]:
    """Return the last perplexity of each method, and the time at which it reaches the level of cgs."""
    own = {name: select(outcomes, panel=panel, method=name) for name in COMPARED}
    last = {name: mean_of(found, "perplexity") for name, found in own.items()}
    level = SAME_LEVEL * last["cgs"]
    return last, {name: seconds_to(found, "perplexity", level) for name, found in own.items()}


def _measured(last: dict[str, float], reach: dict[str, float]) -> str:
    listed = ", ".join(f"{m} {last[m]:.3f} after {_time(reach[m])}" for m in last)
    return f"last perplexity and time to within 3% of cgs: {listed}"


def _judge_synthetic(last: dict[str, float], reach: dict[str, float]) -> list[Claim]:
    return [
        Claim(
            "Synthetic: cgs converges very fast, sgmc with a fixed step in comparable time to the same level",
            "curves of cgs and sgmc meet", _measured(last, reach),
            in_both_forms(*(in_comparable_time(reach[m], reach["cgs"]) for m in FORMS)),
        ),
        Claim(
            "Synthetic: lmc converges much slower than both", "lmc last",
            "time to within 3% of cgs: " + ", ".join(f"{m} {_time(reach[m])}" for m in ("lmc", "cgs", *FORMS)),
            in_both_forms(*(much_slower(reach["lmc"], reach["cgs"], reach[m]) for m in FORMS)),
        ),
    ]  # fmt: skip


def _judge_us_air(last: dict[str, float], reach: dict[str, float]) -> list[Claim]:
    return [
        Claim(
            "US-AIR: sgmc is faster than cgs and lmc", "sgmc below both throughout", _measured(last, reach),
            in_both_forms(*(faster(reach[m], reach["cgs"], reach["lmc"]) for m in FORMS)),
        ),
        Claim(
            "US-AIR: the error of sgmc from its finite step and the missing test is negligible",
            "sgmc ends at or below cgs and lmc",
            "last perplexity: " + ", ".join(f"{m} {last[m]:.3f}" for m in (*FORMS, "cgs", "lmc")),
            in_both_forms(*(negligible_error(last[m], last["cgs"], last["lmc"]) for m in FORMS)),
        ),
    ]  # fmt: skip


JUDGES = {"Synthetic": _judge_synthetic, "US-AIR": _judge_us_air}


def _time(seconds: float) -> str:
    return "never" if not math.isfinite(seconds) else f"{seconds:.2g} s"


FIGURE = Figure("figure1", "Figure 1: against exact batch sampling", trials, draw, claims)
