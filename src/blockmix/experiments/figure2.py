"""Figure 2: time an iteration against the number of communities, on HEP-PH, NETSCIENCE and RELATIVITY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockmix.experiments.drawing import against, panels
from blockmix.experiments.figure import Claim, Figure, all_of, decide, mean_of, select, verdict
from blockmix.experiments.methods import NETWORKS, SCIR, SGMC, SGMC_M
from blockmix.experiments.trial import Outcome, Trial

PANELS = ("HEP-PH", "NETSCIENCE", "RELATIVITY")
COMMUNITIES = (30, 50, 100, 200, 300, 500, 1000)
# From K = 30 to 1000: "only slightly" and "linearly" read as these factors, K itself growing 33 times.
SLIGHTLY, LINEARLY = 2.5, 10.0


def trials(quick: bool) -> list[Trial]:
    """List the trials. An iteration of sgmc and sgmc-m is a mini-batch, one of scir a sweep of all nodes."""
    return [
        Trial(
            "figure2", panel, NETWORKS[panel], k, m.name, m.sampler, seed, seconds=1.5 if quick else 2.5, x=k,
            options=m.options,
        )
        for panel in PANELS for k in COMMUNITIES for m in (SGMC, SGMC_M, SCIR)
        for seed in range(1, 2 if quick else 4)
    ]  # fmt: skip


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
        method: [_growth(select(outcomes, panel=panel, method=method)) for panel in PANELS]
        for method in ("sgmc", "sgmc-m", "scir")
    }
    few, many = ([_stored(outcomes, panel, k) for panel in PANELS] for k in (30, 1000))

    def listed(method: str) -> str:
        return ", ".join(f"{p} {ratio:.1f} times" for p, ratio in zip(PANELS, growth[method], strict=True))

    return [
        Claim(
            "sgmc-m: the time an iteration grows only slightly with K", "nearly flat from K = 30 to 1000",
            f"{listed('sgmc-m')}; scir, a sweep: {listed('scir')}", verdict(grows_slightly(growth["sgmc-m"])),
        ),
        Claim(
            "sgmc: the time an iteration grows linearly with K", "linear",
            f"K grows 33 times, the time: {listed('sgmc')}", verdict(grows_linearly(growth["sgmc"])),
        ),
        Claim(
            "more is saved the more communities there are", "the gap widens",
            "at K = 1000 sgmc over sgmc-m: " + ", ".join(f"{p} {_ratio(outcomes, p):.1f}" for p in PANELS),
            verdict(gap_widens(growth["sgmc"], growth["sgmc-m"])),
        ),
        Claim(
            "because the number of communities a node takes part in does not change much with K", "nearly constant",
            "communities that sgmc-m holds a node, K = 30 and 1000: "
            + ", ".join(f"{p} {a:.0f} and {b:.0f}" for p, a, b in zip(PANELS, few, many, strict=True)),
            verdict(nearly_constant(few, many)),
        ),
    ]  # fmt: skip


def _growth(outcomes: Sequence[Outcome]) -> float:
    """Return how many times longer an iteration takes at K = 1000 than at K = 30."""
    name = "seconds_per_iteration"
    return mean_of(select(outcomes, communities=1000), name) / mean_of(select(outcomes, communities=30), name)


def _stored(outcomes: Sequence[Outcome], panel: str, k: int) -> float:
    """Return the active and candidate communities a node, the bulk counted as one."""
    return k * mean_of(select(outcomes, panel=panel, method="sgmc-m", communities=k), "memory_ratio")


def _ratio(outcomes: Sequence[Outcome], panel: str) -> float:
    at = select(outcomes, panel=panel, communities=1000)
    name = "seconds_per_iteration"
    return mean_of(select(at, method="sgmc"), name) / mean_of(select(at, method="sgmc-m"), name)


FIGURE = Figure("figure2", "Figure 2: time an iteration", trials, draw, claims)
