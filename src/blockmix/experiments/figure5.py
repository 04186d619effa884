"""Figure 5: memory of sgmc-m against K and network, and the effect of its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockmix.experiments.drawing import against, over_time, panels
from blockmix.experiments.figure import Claim, Figure, mean_of, select, verdict
from blockmix.experiments.methods import NETWORKS, SGMC_M
from blockmix.experiments.trial import Outcome, Trial
from blockmix.samplers.sgmc_m.options import SgmcMOptions

MEMORY = ("US-AIR", "NETSCIENCE", "RELATIVITY", "HEP-PH")
COMMUNITIES = (30, 100, 300, 500, 1000)
THRESHOLDS = (0.5, 0.7, 0.9, 1.0)
# "only a half": at most this.
HALF = 0.6
SETTINGS = {"Synthetic": 10, "US-AIR": 50}
# One step for all thresholds, that of the default one: left out, it would change with them.
STEPS = {panel: SgmcMOptions().steps(k)[0] for panel, k in SETTINGS.items()}


def trials(quick: bool) -> list[Trial]:
    """sgmc-m throughout."""
    seeds = range(1, 3 if quick else 4)
    memory = [
        Trial(
            "figure5", "memory", NETWORKS[network], k, network, "sgmc-m", seed, seconds=2.5 if quick else 5.0, x=k,
            options=SGMC_M.options,
        )
        for network in MEMORY for k in COMMUNITIES for seed in ((1,) if quick else (1, 2, 3))
    ]  # fmt: skip
    settings = [
        Trial(
            "figure5", panel, NETWORKS[panel], k, f"threshold {tau:g}", "sgmc-m", seed,
            seconds=4.0 if quick else 9.0, x=tau, options=SGMC_M.options | {"threshold": tau, "step": STEPS[panel]},
        )
        for panel, k in SETTINGS.items() for tau in THRESHOLDS for seed in seeds
    ]  # fmt: skip
    return memory + settings


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Memory ratio, then perplexity over time for every threshold; AUC and log loss below."""
    figure, axes = panels(3, 3)
    against(axes[0, 0], select(outcomes, panel="memory"), "memory_ratio", "communities K", "memory of sgmc-m")
    for score, row in (("auc", 1), ("log_loss", 2)):
        against(axes[row, 0], select(outcomes, panel="memory"), score, "communities K", "sgmc-m")
    for column, panel in enumerate(SETTINGS, start=1):
        for row, score in enumerate(("perplexity", "auc", "log_loss")):
            own = select(outcomes, panel=panel)
            over_time(axes[row, column], own, score, f"{panel}, K = {SETTINGS[panel]}")
    return figure


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """What the text says of Figure 5."""
    memory = select(outcomes, panel="memory")
    ratio = {
        (n, k): mean_of(select(memory, method=n, communities=k), "memory_ratio")
        for n in MEMORY
        for k in COMMUNITIES
    }
    score = {
        (p, tau): mean_of(select(outcomes, panel=p, x=tau), "perplexity")
        for p in SETTINGS
        for tau in THRESHOLDS
    }
    pace = {
        (p, tau): mean_of(select(outcomes, panel=p, x=tau), "seconds_per_iteration")
        for p in SETTINGS
        for tau in THRESHOLDS
    }
    half = {p: mean_of(select(outcomes, panel=p, x=0.9), "memory_ratio") for p in SETTINGS}
    large = [ratio[n, k] for n in MEMORY for k in (500, 1000)]
    return [
        Claim(
            "the memory ratio of sgmc-m falls as K grows", "falling on every network",
            "; ".join(f"{n} " + ", ".join(f"{ratio[n, k]:.2f}" for k in COMMUNITIES) for n in MEMORY),
            verdict(all(ratio[n, 1000] < ratio[n, 30] for n in MEMORY)),
        ),
        Claim(
            "at K = 500 and 1000 a node has 90% of its weight in 10 to 20% of the communities", "10 to 20%",
            f"memory ratio {min(large):.3f} to {max(large):.3f} (which counts candidates too)",
            verdict(max(large) <= 0.2),
        ),
        Claim(
            "thresholds of 0.9 and 1 give the best result", "0.9 and 1 best, lower ones worse",
            "; ".join(f"{p} " + ", ".join(f"{t:g}: {score[p, t]:.3f}" for t in THRESHOLDS) for p in SETTINGS),
            verdict(all(max(score[p, 0.9], score[p, 1.0]) <= min(score[p, 0.5], score[p, 0.7]) for p in SETTINGS)),
        ),
        Claim(
            "a lower threshold costs accuracy and saves time", "stated",
            "microseconds an iteration at 0.5 and 1: "
            + ", ".join(f"{p} {1e6 * pace[p, 0.5]:.0f} and {1e6 * pace[p, 1.0]:.0f}" for p in SETTINGS),
            verdict(all(pace[p, 0.5] < pace[p, 1.0] and score[p, 0.5] > score[p, 1.0] for p in SETTINGS)),
        ),
        Claim(
            "with a threshold of 0.9 the memory is half of that of sgmc", "a half",
            ", ".join(f"{p} {r:.2f}" for p, r in half.items()),
            verdict(all(r <= HALF for r in half.values())),
        ),
    ]  # fmt: skip


FIGURE = Figure("figure5", "Figure 5: memory and threshold of sgmc-m", trials, draw, claims)
