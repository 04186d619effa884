"""Figure 5: memory of sgmc-m against K and network, and the effect of its threshold, in both forms of sgmc-m."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blockmix.experiments.drawing import against, over_time, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    all_of,
    decide,
    if_converged,
    if_rows_settled,
    judged,
    mean_of,
    not_converged,
    select,
)
from blockmix.experiments.figure2 import QUICK_SHARE, seconds_of
from blockmix.experiments.methods import NETWORKS, SGMC_M, SGMC_M_PRINTED
from blockmix.experiments.trial import SEEDS, Outcome, Trial
from blockmix.samplers.sgmc_m.options import SgmcMOptions

MEMORY = ("US-AIR", "NETSCIENCE", "RELATIVITY", "HEP-PH")
COMMUNITIES = (30, 100, 300, 500, 1000)
# Seconds of a trial of the thresholds; those of the memory are the runs of Figure 2.
THRESHOLD_SECONDS = {"Synthetic": 2.0, "US-AIR": 4.0}
THRESHOLDS = (0.5, 0.7, 0.9, 1.0)
# "10 to 20%": between these; "only a half": at most this.
TENTH, FIFTH, HALF = 0.1, 0.2, 0.6
# The numbers of communities that the paper names for its 10 to 20%.
LARGE = (500, 1000)
SETTINGS = {"Synthetic": 10, "US-AIR": 50}
FORMS = {"": SGMC_M, ", as printed": SGMC_M_PRINTED}
# One step for all thresholds, that of the default threshold: left out, the step would change with them. As printed it
# does not depend on the threshold.
STEPS = {panel: SgmcMOptions().steps(k)[0] for panel, k in SETTINGS.items()}


def trials(quick: bool) -> list[Trial]:
    """List the trials of sgmc-m."""
    memory = [
        Trial(
            "figure5", f"memory{form}", NETWORKS[network], k, network, "sgmc-m", seed,
            seconds=seconds_of(network, "sgmc-m", quick), x=k, options=method.options,
        )
        for form, method in FORMS.items() for network in MEMORY for k in COMMUNITIES
        for seed in SEEDS
    ]  # fmt: skip
    settings = [
        Trial(
            "figure5", f"{panel}{form}", NETWORKS[panel], k, f"threshold {tau:g}", "sgmc-m", seed,
            seconds=THRESHOLD_SECONDS[panel] * (QUICK_SHARE if quick else 1.0), x=tau,
            options=method.options | {"threshold": tau} | ({} if form else {"step": STEPS[panel]}),
        )
        for form, method in FORMS.items() for panel, k in SETTINGS.items() for tau in THRESHOLDS for seed in SEEDS
    ]  # fmt: skip
    return memory + settings


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Draw memory ratio, AUC and log loss against K, then scores over time for every threshold, a row for each form."""
    scores = ("perplexity", "auc", "log_loss")
    figure, axes = panels(3, len(scores) * len(FORMS))
    for row, (score, form) in enumerate((score, form) for score in scores for form in FORMS):
        shown = "memory_ratio" if score == "perplexity" else score
        against(
            axes[row, 0], select(outcomes, panel=f"memory{form}"), shown, "communities K", f"sgmc-m{form}"
        )
        for column, panel in enumerate(SETTINGS, start=1):
            own = select(outcomes, panel=f"{panel}{form}")
            over_time(axes[row, column], own, score, f"{panel}, K = {SETTINGS[panel]}{form}")
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
    return _claims_of_memory(outcomes) + _claims_of_threshold(outcomes)


def _in_each_form(show: Callable[[str], str]) -> str:
    """Return what was measured in blockmix's form and as printed."""
    return "; ".join(f"sgmc-m{form}: {show(form)}" for form in FORMS)


def _claims_of_memory(outcomes: Sequence[Outcome]) -> list[Claim]:
    ratio = {
        form: {
            n: {
                k: mean_of(select(outcomes, panel=f"memory{form}", method=n, communities=k), "memory_ratio")
                for k in COMMUNITIES
            }
            for n in MEMORY
        }
        for form in FORMS
    }

    def by_k(form: str) -> str:
        return ", ".join(f"{n} " + " ".join(f"{r:.2f}" for r in ratio[form][n].values()) for n in MEMORY)

    def answers(form: str, rule: Callable[..., bool | None], *ks: int) -> list[bool | None]:
        """Apply a rule to the ratios at these K, on each network by itself; None where rows had not settled there."""
        return [
            if_rows_settled(
                rule(*([ratio[form][n][k]] for k in ks)),
                [o for k in ks for o in select(outcomes, panel=f"memory{form}", method=n, communities=k)],
            )
            for n in MEMORY
        ]

    large = {form: [ratio[form][n][k] for n in MEMORY for k in LARGE] for form in FORMS}
    return [
        judged(
            "the memory ratio of sgmc-m falls as K grows",
            "“the memory usage of SGMC-M decreases as the number of communities increases”",
            f"at K = {', '.join(map(str, COMMUNITIES))}: {_in_each_form(by_k)}",
            *(answers(form, falls, 30, 1000) for form in FORMS),
        ),
        judged(
            "at K = 500 and 1000 a node has 90% of its weight in 10 to 20% of the communities",
            "“90% of the total density is allocated to only about 10% ∼ 20% of the communities (e.g., for K=500,1000)”",
            "memory ratio, which counts candidates too: "
            + _in_each_form(lambda form: f"{min(large[form]):.3f} to {max(large[form]):.3f}"),
            *([answer for k in LARGE for answer in answers(form, tenth_to_fifth, k)] for form in FORMS),
        ),
    ]  # fmt: skip


def _claims_of_threshold(outcomes: Sequence[Outcome]) -> list[Claim]:
    def table(name: str) -> dict[str, dict[str, dict[float, float]]]:
        return {
            form: {
                p: {t: mean_of(select(outcomes, panel=f"{p}{form}", x=t), name) for t in THRESHOLDS} for p in SETTINGS
            }
            for form in FORMS
        }  # fmt: skip

    score, pace, memory = table("perplexity"), table("seconds_per_iteration"), table("memory_ratio")
    half = {form: [memory[form][p][0.9] for p in SETTINGS] for form in FORMS}
    runs = [o for o in outcomes if not o.trial.panel.startswith("memory")]

    def scores(form: str) -> str:
        return ", ".join(f"{p} " + " ".join(f"{v:.3f}" for v in score[form][p].values()) for p in SETTINGS)

    def paces(form: str) -> str:
        return ", ".join(
            f"{p} {1e6 * pace[form][p][0.5]:.0f} and {1e6 * pace[form][p][1.0]:.0f}" for p in SETTINGS
        )

    def ends(
        form: str,
        rule: Callable[..., bool | None],
        *tables: Mapping[str, Mapping[str, Mapping[float, float]]],
    ) -> list[bool | None]:
        return [
            if_converged(rule(*(found[form][p] for found in tables)), select(runs, panel=f"{p}{form}"))
            for p in SETTINGS
        ]

    def halved(form: str) -> list[bool | None]:
        return [
            if_rows_settled(about_half([memory[form][p][0.9]]), select(runs, panel=f"{p}{form}", x=0.9))
            for p in SETTINGS
        ]

    return [
        judged(
            "thresholds of 0.9 and 1 give the best result", "“with τ=0.9 and τ=1, we obtain the best result”",
            f"last perplexity at {', '.join(f'{t:g}' for t in THRESHOLDS)}: {_in_each_form(scores)}"
            + not_converged(runs),
            *(ends(form, high_thresholds_best, score) for form in FORMS),
        ),
        judged(
            "a lower threshold costs accuracy and saves time",
            "“as we decrease the threshold, … we lose some accuracy while gaining some speed-up”",
            f"microseconds an iteration at 0.5 and 1: {_in_each_form(paces)}",
            *(ends(form, trades_accuracy_for_time, pace, score) for form in FORMS),
        ),
        judged(
            "with a threshold of 0.9 the memory is half of that of sgmc",
            "“the memory usage of SGMC-M is only a half of SGMC”",
            _in_each_form(lambda f: ", ".join(f"{p} {r:.2f}" for p, r in zip(SETTINGS, half[f], strict=True))),
            *map(halved, FORMS),
        ),
    ]  # fmt: skip


FIGURE = Figure("figure5", "Figure 5: memory and threshold of sgmc-m", trials, draw, claims)
