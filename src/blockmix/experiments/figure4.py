"""Figure 4: perplexity over time on US-AIR, RELATIVITY and NETSCIENCE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockmix.experiments.drawing import over_time, panels
from blockmix.experiments.figure import Claim, Figure, curve, in_both_forms, mean_of, select, verdict
from blockmix.experiments.methods import NETWORKS, SCIR, SGMC, SGMC_M, SGMC_PRINTED, SVI
from blockmix.experiments.trial import Outcome, Trial

PANELS = {
    "US-AIR, K = 50": ("US-AIR", 50),
    "RELATIVITY, K = 50": ("RELATIVITY", 50),
    "US-AIR, K = 300": ("US-AIR", 300),
    "NETSCIENCE, K = 100": ("NETSCIENCE", 100),
}
METHODS = (SGMC, SGMC_PRINTED, SGMC_M, SVI, SCIR)
# The early stage of a run: this share of its time.
EARLY = 0.1
# "very large": so many times the perplexity of sgmc; "much lower": at most this share.
FAR, MUCH = 2.0, 0.9
# Nearer than this two perplexities are level.
LEVEL = 1.01
FORMS = (SGMC.name, SGMC_PRINTED.name)


def trials(quick: bool) -> list[Trial]:
    """svi in all four, which the paper leaves out of the last two."""
    return [
        Trial(
            "figure4", panel, NETWORKS[network], k, m.name, m.sampler, seed, seconds=8.0 if quick else 24.0,
            options=m.options,
        )
        for panel, (network, k) in PANELS.items() for m in METHODS for seed in range(1, 3 if quick else 4)
    ]  # fmt: skip


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Perplexity above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            over_time(axes[row, column], select(outcomes, panel=panel), score, panel)
            if score != "auc":
                axes[row, column].set_yscale("log")
    return figure


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """What the text says of Figure 4."""
    early = {(p, m.name): _early(select(outcomes, panel=p, method=m.name)) for p in PANELS for m in METHODS}
    last = {
        (p, m.name): mean_of(select(outcomes, panel=p, method=m.name), "perplexity")
        for p in PANELS
        for m in METHODS
    }

    def said(table: dict[tuple[str, str], float], panel: str) -> str:
        return f"{panel}: " + ", ".join(f"{m.name} {table[panel, m.name]:.2f}" for m in METHODS)

    first_two, last_two = list(PANELS)[:2], list(PANELS)[2:]
    return [
        Claim(
            "early on sgmc-m is ahead of the others", "lowest at first",
            f"perplexity after {EARLY:.0%} of the time. " + "; ".join(said(early, p) for p in PANELS),
            in_both_forms(
                *(all(early[p, "sgmc-m"] <= min(early[p, m], early[p, "svi"]) for p in PANELS) for m in FORMS)
            ),
        ),
        Claim(
            "in the end sgmc is below sgmc-m", "lower in the end",
            "last perplexity. " + "; ".join(said(last, p) for p in PANELS),
            in_both_forms(*(all(last[p, m] <= LEVEL * last[p, "sgmc-m"] for p in PANELS) for m in FORMS)),
        ),
        Claim(
            "US-AIR and RELATIVITY, K = 50: sgmc ends much lower than svi", "far below",
            "last perplexity. " + "; ".join(said(last, p) for p in first_two),
            in_both_forms(*(all(last[p, m] < MUCH * last[p, "svi"] for p in first_two) for m in FORMS)),
        ),
        Claim(
            "US-AIR and RELATIVITY, K = 50: sgmc-m ends much lower than svi", "far below", "last perplexity as above",
            verdict(all(last[p, "sgmc-m"] < MUCH * last[p, "svi"] for p in first_two)),
        ),
        Claim(
            "with many communities the perplexity of svi becomes so large that it cannot be compared", "not shown",
            "last perplexity. " + "; ".join(said(last, p) for p in last_two),
            verdict(all(last[p, "svi"] > FAR * last[p, "sgmc"] for p in last_two)),
        ),
        Claim(
            "at every iteration sgmc is faster and more accurate than svi (abstract)", "strictly dominates",
            "early and last as above",
            in_both_forms(*(all(t[p, m] <= t[p, "svi"] for t in (early, last) for p in PANELS) for m in FORMS)),
        ),
    ]  # fmt: skip


def _early(outcomes: Sequence[Outcome]) -> float:
    found = curve(outcomes, "perplexity")
    limit = EARLY * outcomes[0].trial.seconds
    return float(found.mean[max(int((found.time <= limit).sum()) - 1, 0)])


FIGURE = Figure("figure4", "Figure 4: perplexity over time", trials, draw, claims)
