"""Figure 6: effect of the step size on US-AIR and of the size of mini-batches on Synthetic and US-AIR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from blockmix.experiments.drawing import over_time, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    all_of,
    best_or_near,
    decide,
    if_converged,
    mean_of,
    not_converged,
    select,
    verdict,
)
from blockmix.experiments.figure2 import QUICK_SHARE
from blockmix.experiments.methods import NETWORKS, SGMC, SGMC_PRINTED
from blockmix.experiments.trial import SEEDS, Outcome, Trial

STEPS = (0.1, 0.03, 0.01, 0.003, 0.001)
STRATA = (2, 5, 10, 20, 50)
NODES = {"Synthetic": 75, "US-AIR": 712}
# Seconds of a trial.
SECONDS = {"Synthetic": 2.0, "US-AIR": 4.0}
COMMUNITIES = {"Synthetic": 10, "US-AIR": 50}
FORMS = {"": SGMC, ", as printed": SGMC_PRINTED}
WORDS = {
    "Synthetic": "“setting m to 5 achieves the best performance for the synthetic dataset”",
    "US-AIR": "“m=20 performs best for the US-AIR data set”",
}
# "good performance": within this of the best.
WELL = 1.05


def trials(quick: bool) -> list[Trial]:
    """List trials of step sizes and numbers of strata m (mini-batches of N/m non-links), fixed throughout a run."""
    share = QUICK_SHARE if quick else 1.0
    steps = [
        Trial(
            "figure6", f"step{form}", NETWORKS["US-AIR"], 50, f"step {step:g}", "sgmc", seed,
            seconds=SECONDS["US-AIR"] * share, x=step,
            options=method.options | {"schedule": "constant", "step": step, "strength_step": step},
        )
        for form, method in FORMS.items() for step in STEPS for seed in SEEDS
    ]  # fmt: skip
    batches = [
        Trial(
            "figure6", f"{panel}{form}", NETWORKS[panel], COMMUNITIES[panel], f"m = {m}", "sgmc", seed,
            seconds=SECONDS[panel] * share, x=m,
            options=method.options | {"batch_non_links": max(1, round(NODES[panel] / m))},
        )
        for panel in NODES for form, method in FORMS.items() for m in STRATA for seed in SEEDS
    ]  # fmt: skip
    return steps + batches


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Draw perplexity, AUC and log loss over time: of each a row for the corrected form and one for the printed one."""
    scores = ("perplexity", "auc", "log_loss")
    figure, axes = panels(3, len(scores) * len(FORMS))
    for row, (score, form) in enumerate((score, form) for score in scores for form in FORMS):
        over_time(axes[row, 0], select(outcomes, panel=f"step{form}"), score, f"US-AIR, step size{form}")
        for column, panel in enumerate(NODES, start=1):
            own = select(outcomes, panel=f"{panel}{form}")
            over_time(axes[row, column], own, score, f"{panel}, mini-batch{form}")
    return figure


def performs_well(by_setting: Mapping[int, float], advised: Iterable[int]) -> bool | None:
    """Decide whether every advised setting has about the lowest perplexity of all."""
    scores = list(by_setting.values())
    return all_of(decide(by_setting[m] <= WELL * min(scores), *scores) for m in advised)


def within_bound(growth: Sequence[float]) -> bool | None:
    """Decide whether the time grows at most as the square of the size of mini-batches, on every network."""
    return all_of(decide(ratio <= (STRATA[-1] / STRATA[0]) ** 2, ratio) for ratio in growth)


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of Figure 6."""
    found = []
    for form in FORMS:
        name = f"sgmc{form}"
        by_step = {s: mean_of(select(outcomes, panel=f"step{form}", x=s), "perplexity") for s in STEPS}
        found.append(
            Claim(
                f"{name}: on US-AIR a constant step of 0.01 is best, larger ones are biased, smaller ones slow",
                "“For the US-AIR dataset a step size 0.01 seems to work best”",
                "last perplexity, "
                + ", ".join(f"{step:g}: {value:.3f}" for step, value in by_step.items())
                + not_converged(select(outcomes, panel=f"step{form}")),
                verdict(_best_of(outcomes, f"step{form}", by_step, 0.01)),
            )
        )  # fmt: skip
        for panel, paper in (("Synthetic", 5), ("US-AIR", 20)):
            by_m = {m: mean_of(select(outcomes, panel=f"{panel}{form}", x=m), "perplexity") for m in STRATA}
            found.append(
                Claim(
                    f"{name}: on {panel} m = {paper} is best", WORDS[panel],
                    ", ".join(f"m = {m}: {value:.3f}" for m, value in by_m.items())
                    + not_converged(select(outcomes, panel=f"{panel}{form}")),
                    verdict(_best_of(outcomes, f"{panel}{form}", by_m, paper)),
                )
            )  # fmt: skip
    return found + _batch_claims(outcomes)


def _best_of(
    outcomes: Sequence[Outcome], panel: str, by_setting: Mapping[Any, float], named: float
) -> bool | None:
    """Compare the setting that the paper names with each other one; None where a run of the two had not converged."""
    own = select(outcomes, panel=panel)
    return all_of(
        if_converged(
            best_or_near({x: by_setting[x] for x in (named, other)}, named),
            [o for o in own if o.trial.x in (named, other)],
        )
        for other in by_setting
        if other != named
    )


def _batch_claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of mini-batches by their size n = N/m, for the corrected form."""
    score, pace = (
        {p: {m: mean_of(select(outcomes, panel=p, x=m), name) for m in STRATA} for p in NODES}
        for name in ("perplexity", "seconds_per_iteration")
    )
    advised = {p: [m for m in STRATA if 30 <= NODES[p] / m <= 100] for p in NODES}
    over_best = [
        f"{p}, {NODES[p] / m:.0f}: {score[p][m] / min(score[p].values()):.3f}"
        for p in NODES
        for m in advised[p]
    ]
    growth = {p: pace[p][STRATA[0]] / pace[p][STRATA[-1]] for p in NODES}
    return [
        Claim(
            "mini-batches of 30 to 100 non-links perform well",
            "“between 30 and 100 results in good performance”",
            "over the best: " + ", ".join(over_best),
            verdict(
                all_of(if_converged(performs_well(score[p], advised[p]), select(outcomes, panel=p)) for p in NODES)
            ),
        ),
        Claim(
            "an iteration takes time of order n^2 K, n = N/m",
            "“SG-MCMC takes O(n²K) computational time for each iteration, where n=N/m”",
            f"n grows {STRATA[-1] / STRATA[0]:.0f} times, the time: "
            + ", ".join(f"{p} {r:.1f} times" for p, r in growth.items()) + "; for K see Figure 2",
            verdict(within_bound(list(growth.values()))),
        ),
    ]  # fmt: skip


FIGURE = Figure("figure6", "Figure 6: step size and mini-batch size", trials, draw, claims)
