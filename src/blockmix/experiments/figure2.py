"""Figure 2: time an iteration against the number of communities, on HEP-PH, NETSCIENCE and RELATIVITY."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blockmix.experiments.drawing import against, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    all_of,
    decide,
    if_rows_settled,
    judged,
    mean_of,
    select,
)
from blockmix.experiments.methods import FORMS, NETWORKS, SCIR, SGMC, SGMC_M, SGMC_M_PRINTED, SGMC_PRINTED
from blockmix.experiments.trial import SEEDS, Outcome, Trial

PANELS = ("HEP-PH", "NETSCIENCE", "RELATIVITY")
# Seconds of a trial, and how many times as long those of sgmc-m are: its rows become shorter, or longer, at first.
SECONDS = {"HEP-PH": 2.4, "NETSCIENCE": 0.8, "RELATIVITY": 1.6, "US-AIR": 0.8}
LONGER = 5.0
QUICK_SHARE = 0.5
COMMUNITIES = (30, 100, 300, 1000)
# From K = 30 to 1000: "only slightly" and "linearly" read as these factors, K itself growing 33 times.
SLIGHTLY, LINEARLY = 2.5, 10.0
METHODS = (SGMC, SGMC_PRINTED, SGMC_M, SGMC_M_PRINTED, SCIR)


def trials(quick: bool) -> list[Trial]:
    """List the trials. An iteration of sgmc and sgmc-m is a mini-batch, one of scir a sweep of all nodes."""
    return [
        Trial(
            "figure2", panel, NETWORKS[panel], k, m.name, m.sampler, seed,
            seconds=seconds_of(panel, m.sampler, quick), x=k, options=m.options,
        )
        for panel in PANELS for k in COMMUNITIES for m in METHODS for seed in SEEDS
    ]  # fmt: skip


def seconds_of(network: str, sampler: str, quick: bool) -> float:
    """Return the seconds of a trial that measures time or memory."""
    longer = LONGER if sampler == "sgmc-m" else 1.0
    return SECONDS[network] * longer * (QUICK_SHARE if quick else 1.0)


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Draw seconds an iteration, both axes logarithmic: a line of slope one is linear growth."""
    figure, axes = panels(len(PANELS))
    for column, panel in enumerate(PANELS):
        own = select(outcomes, panel=panel)
        against(axes[0, column], own, "seconds_per_iteration", "communities K", panel)
        axes[0, column].set_yscale("log")
    return figure


def grows_slightly(growth: Sequence[float]) -> bool | None:
    """Decide whether the time grows only slightly on every network."""
    return all_of(decide(ratio <= SLIGHTLY, ratio) for ratio in growth)


def grows_linearly(growth: Sequence[float]) -> bool | None:
    """Decide whether the time grows about as K does on every network."""
    return all_of(decide(ratio >= LINEARLY, ratio) for ratio in growth)


def gap_widens(full: Sequence[float], approximate: Sequence[float]) -> bool | None:
    """Decide whether the time of sgmc grows more than that of sgmc-m on every network."""
    return all_of(decide(a > b, a, b) for a, b in zip(full, approximate, strict=True))


def nearly_constant(few: Sequence[float], many: Sequence[float]) -> bool | None:
    """Decide whether a node has about as many communities at the largest K as at the smallest, on every network."""
    return all_of(decide(b <= SLIGHTLY * a, a, b) for a, b in zip(few, many, strict=True))


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of Figure 2."""
    growth = {
        m.name: [_growth(select(outcomes, panel=panel, method=m.name)) for panel in PANELS] for m in METHODS
    }
    stored = {
        m.name: [[_stored(outcomes, panel, m.name, k) for panel in PANELS] for k in (30, 1000)]
        for m in (SGMC_M, SGMC_M_PRINTED)
    }

    def answers(
        form: dict[str, str], rule: Callable[..., bool | None], *tables: Sequence[float]
    ) -> list[bool | None]:
        """Apply a rule on each network by itself; None where rows of sgmc-m still became shorter there."""
        own = select(outcomes, method=form["sgmc-m"])
        return [
            if_rows_settled(rule(*([value] for value in row)), select(own, panel=p))
            for p, *row in zip(PANELS, *tables, strict=True)
        ]

    def listed(*methods: str) -> str:
        return "; ".join(
            f"{m}: " + ", ".join(f"{p} {ratio:.1f} times" for p, ratio in zip(PANELS, growth[m], strict=True))
            for m in methods
        )

    return [
        judged(
            "sgmc-m: the time an iteration grows only slightly with K",
            "“SGMC-M only slightly increases the wall-clock time per iteration even if the community size increases”",
            f"K grows 33 times, the time of {listed(*(f['sgmc-m'] for f in FORMS), SCIR.name)} (a sweep)",
            *(answers(form, grows_slightly, growth[form["sgmc-m"]]) for form in FORMS),
        ),
        judged(
            "sgmc: the time an iteration grows linearly with K",
            "“the time per iteration increases linearly w.r.t. the community size”",
            f"K grows 33 times, the time of {listed(*(f['sgmc'] for f in FORMS))}",
            *([grows_linearly([ratio]) for ratio in growth[form["sgmc"]]] for form in FORMS),
        ),
        judged(
            "more is saved the more communities there are",
            "“we can obtain more time savings as the community size increases further”",
            "at K = 1000 " + "; ".join(
                f"{f['sgmc']} over {f['sgmc-m']}: "
                + ", ".join(f"{p} {_ratio(outcomes, p, f['sgmc'], f['sgmc-m']):.1f}" for p in PANELS) for f in FORMS
            ),
            *(answers(form, gap_widens, growth[form["sgmc"]], growth[form["sgmc-m"]]) for form in FORMS),
        ),
        judged(
            "because the number of communities a node takes part in does not change much with K",
            "“the number of communities for which each node has non-negligible probability of participation, does not "
            "change much when we increase K”",
            "communities stored a node, K = 30 and 1000: " + "; ".join(
                f"{m}: " + ", ".join(f"{p} {a:.0f} and {b:.0f}" for p, a, b in zip(PANELS, few, many, strict=True))
                for m, (few, many) in stored.items()
            ),
            *(answers(form, nearly_constant, *stored[form["sgmc-m"]]) for form in FORMS),
        ),
    ]  # fmt: skip


def _growth(outcomes: Sequence[Outcome]) -> float:
    """Return how many times longer an iteration takes at K = 1000 than at K = 30."""
    name = "seconds_per_iteration"
    return mean_of(select(outcomes, communities=1000), name) / mean_of(select(outcomes, communities=30), name)


def _stored(outcomes: Sequence[Outcome], panel: str, method: str, k: int) -> float:
    """Return the active and candidate communities a node, the bulk counted as one."""
    return k * mean_of(select(outcomes, panel=panel, method=method, communities=k), "memory_ratio")


def _ratio(outcomes: Sequence[Outcome], panel: str, full: str, approximate: str) -> float:
    """Return how many times the time of the approximation the full sampler takes at K = 1000."""
    at = select(outcomes, panel=panel, communities=1000)
    name = "seconds_per_iteration"
    return mean_of(select(at, method=full), name) / mean_of(select(at, method=approximate), name)


FIGURE = Figure("figure2", "Figure 2: time an iteration", trials, draw, claims)
