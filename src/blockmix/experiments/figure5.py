"""Figure 5: memory of sgmc-m against K and network, and the effect of its threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blockmix.experiments.drawing import against, over_time, panels
from blockmix.experiments.figure import Claim, Figure, all_of, decide, mean_of, select, verdict
from blockmix.experiments.methods import NETWORKS, SGMC_M
from blockmix.experiments.trial import Outcome, Trial
from blockmix.samplers.sgmc_m.options import SgmcMOptions

MEMORY = ("US-AIR", "NETSCIENCE", "RELATIVITY", "HEP-PH")
COMMUNITIES = (30, 100, 300, 500, 1000)
THRESHOLDS = (0.5, 0.7, 0.9, 1.0)
# "10 to 20%": between these; "only a half": at most this.
TENTH, FIFTH, HALF = 0.1, 0.2, 0.6
SETTINGS = {"Synthetic": 10, "US-AIR": 50}
# One step for all thresholds, that of the default threshold: left out, the step would change with them.
STEPS = {panel: SgmcMOptions().steps(k)[0] for panel, k in SETTINGS.items()}


def trials(quick: bool) -> list[Trial]:
    """List the trials of sgmc-m."""
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
    """Draw the memory ratio, then perplexity over time for every threshold; AUC and log loss below."""
    figure, axes = panels(3, 3)
    against(axes[0, 0], select(outcomes, panel="memory"), "memory_ratio", "communities K", "memory of sgmc-m")
    for score, row in (("auc", 1), ("log_loss", 2)):
        against(axes[row, 0], select(outcomes, panel="memory"), score, "communities K", "sgmc-m")
    for column, panel in enumerate(SETTINGS, start=1):
        for row, score in enumerate(("perplexity", "auc", "log_loss")):
            own = select(outcomes, panel=panel)
            over_time(axes[row, column], own, score, f"{panel}, K = {SETTINGS[panel]}")
    return figure


def falls(first: Sequence[float], last: Sequence[float]) -> bool | None:
    """Decide whether the memory ratio is lower at the largest K than at the smallest, on every network."""
    return all_of(decide(b < a, a, b) for a, b in zip(first, last, strict=True))


def tenth_to_fifth(ratios: Sequence[float]) -> bool | None:
    """Decide whether 10 to 20% of the communities are stored, on every network; far less is another finding."""
    return all_of(decide(TENTH <= ratio <= FIFTH, ratio) for ratio in ratios)


def high_thresholds_best(by_threshold: Mapping[float, float]) -> bool | None:
    """Decide whether the perplexities at thresholds 0.9 and 1 are at or below those at lower ones."""
    high = max(by_threshold[0.9], by_threshold[1.0])
    return decide(high <= min(by_threshold[0.5], by_threshold[0.7]), *by_threshold.values())


def trades_accuracy_for_time(pace: Mapping[float, float], score: Mapping[float, float]) -> bool | None:
    """Decide whether a threshold of 0.5 takes less time than 1 and has a higher perplexity."""
    holds = pace[0.5] < pace[1.0] and score[0.5] > score[1.0]
    return decide(holds, pace[0.5], pace[1.0], score[0.5], score[1.0])


def about_half(ratios: Sequence[float]) -> bool | None:
    """Decide whether the memory ratio is about a half or less, on every network."""
    return all_of(decide(ratio <= HALF, ratio) for ratio in ratios)


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of Figure 5."""
    return _claims_of_memory(select(outcomes, panel="memory")) + _claims_of_threshold(outcomes)


def _claims_of_memory(outcomes: Sequence[Outcome]) -> list[Claim]:
    ratio = {
        (n, k): mean_of(select(outcomes, method=n, communities=k), "memory_ratio")
        for n in MEMORY
        for k in COMMUNITIES
    }
    first, last = ([ratio[n, k] for n in MEMORY] for k in (30, 1000))
    large = [ratio[n, k] for n in MEMORY for k in (500, 1000)]
    return [
        Claim(
            "the memory ratio of sgmc-m falls as K grows", "falling on every network",
            "; ".join(f"{n} " + ", ".join(f"{ratio[n, k]:.2f}" for k in COMMUNITIES) for n in MEMORY),
            verdict(falls(first, last)),
        ),
        Claim(
            "at K = 500 and 1000 a node has 90% of its weight in 10 to 20% of the communities", "10 to 20%",
            f"memory ratio {min(large):.3f} to {max(large):.3f} (which counts candidates too)",
            verdict(tenth_to_fifth(large)),
        ),
    ]  # fmt: skip


def _claims_of_threshold(outcomes: Sequence[Outcome]) -> list[Claim]:
    score, pace = (
        {p: {t: mean_of(select(outcomes, panel=p, x=t), name) for t in THRESHOLDS} for p in SETTINGS}
        for name in ("perplexity", "seconds_per_iteration")
    )
    half = {p: mean_of(select(outcomes, panel=p, x=0.9), "memory_ratio") for p in SETTINGS}
    return [
        Claim(
            "thresholds of 0.9 and 1 give the best result", "0.9 and 1 best, lower ones worse",
            "; ".join(f"{p} " + ", ".join(f"{t:g}: {score[p][t]:.3f}" for t in THRESHOLDS) for p in SETTINGS),
            verdict(all_of(high_thresholds_best(score[p]) for p in SETTINGS)),
        ),
        Claim(
            "a lower threshold costs accuracy and saves time", "stated",
            "microseconds an iteration at 0.5 and 1: "
            + ", ".join(f"{p} {1e6 * pace[p][0.5]:.0f} and {1e6 * pace[p][1.0]:.0f}" for p in SETTINGS),
            verdict(all_of(trades_accuracy_for_time(pace[p], score[p]) for p in SETTINGS)),
        ),
        Claim(
            "with a threshold of 0.9 the memory is half of that of sgmc", "a half",
            ", ".join(f"{p} {r:.2f}" for p, r in half.items()), verdict(about_half(list(half.values()))),
        ),
    ]  # fmt: skip


FIGURE = Figure("figure5", "Figure 5: memory and threshold of sgmc-m", trials, draw, claims)
