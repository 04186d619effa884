"""Figure 1: convergence of perplexity against the exact batch methods, on Synthetic and US-AIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockmix.experiments.drawing import over_time, panels
from blockmix.experiments.figure import Claim, Figure, in_both_forms, mean_of, seconds_to, select
from blockmix.experiments.methods import CGS, LMC, NETWORKS, SCIR, SGMC, SGMC_PRINTED
from blockmix.experiments.trial import Outcome, Trial

# The paper does not say how many communities it took: 4 is what Synthetic was made with.
PANELS = {"Synthetic": 4, "US-AIR": 10}
# "converges to the same level" is read as: within this of the exact sampler's last perplexity.
SAME_LEVEL = 1.03
# "in comparable time", "much slower": up to, or more than, so many times as long.
COMPARABLE = 3.0
FORMS = (SGMC.name, SGMC_PRINTED.name)


def trials(quick: bool) -> list[Trial]:
    """cgs, lmc, sgmc with a constant step in both forms, and scir."""
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
    """Perplexity over time above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            own = select(outcomes, panel=panel)
            over_time(axes[row, column], own, score, f"{panel}, K = {PANELS[panel]}")
    return figure


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """What the text says of Figure 1."""
    found = []
    for panel in PANELS:
        own = select(outcomes, panel=panel)
        last = {
            m: mean_of(select(own, method=m), "perplexity")
            for m in ("cgs", "lmc", "sgmc", "sgmc as printed", "scir")
        }
        level = SAME_LEVEL * last["cgs"]
        reach = {m: seconds_to(select(own, method=m), "perplexity", level) for m in last}
        measured = ", ".join(f"{m} {last[m]:.3f} after {_time(reach[m])}" for m in last)
        if panel == "Synthetic":
            found += [
                Claim(
                    "Synthetic: cgs converges very fast, sgmc with a fixed step in comparable time to the same level",
                    "curves of cgs and sgmc meet", f"last perplexity and time to within 3% of cgs: {measured}",
                    in_both_forms(*(reach[m] <= COMPARABLE * max(reach["cgs"], 0.1) for m in FORMS)),
                ),
                Claim(
                    "Synthetic: lmc converges much slower than both", "lmc last",
                    "time to within 3% of cgs: " + ", ".join(f"{m} {_time(reach[m])}" for m in ("lmc", "cgs", *FORMS)),
                    in_both_forms(*(reach["lmc"] > COMPARABLE * min(reach["cgs"], reach[m]) for m in FORMS)),
                ),
            ]  # fmt: skip
        else:
            found += [
                Claim(
                    "US-AIR: sgmc is faster than cgs and lmc", "sgmc below both throughout",
                    f"last perplexity and time to within 3% of cgs: {measured}",
                    in_both_forms(*(reach[m] < min(reach["cgs"], reach["lmc"]) for m in FORMS)),
                ),
                Claim(
                    "US-AIR: the error of sgmc from its finite step and the missing test is negligible",
                    "sgmc ends at or below cgs and lmc",
                    "last perplexity: " + ", ".join(f"{m} {last[m]:.3f}" for m in (*FORMS, "cgs", "lmc")),
                    in_both_forms(*(last[m] < SAME_LEVEL * min(last["cgs"], last["lmc"]) for m in FORMS)),
                ),
            ]  # fmt: skip
    return found


def _time(seconds: float) -> str:
    return "never" if not np.isfinite(seconds) else f"{seconds:.2g} s"


FIGURE = Figure("figure1", "Figure 1: against exact batch sampling", trials, draw, claims)
