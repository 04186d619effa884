"""Figure 2: time an iteration against the number of communities, on HEP-PH, NETSCIENCE and RELATIVITY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockmix.experiments.drawing import against, panels
from blockmix.experiments.figure import Claim, Figure, mean_of, select, verdict
from blockmix.experiments.methods import NETWORKS, SCIR, SGMC, SGMC_M
from blockmix.experiments.trial import Outcome, Trial

PANELS = ("HEP-PH", "NETSCIENCE", "RELATIVITY")
COMMUNITIES = (30, 50, 100, 200, 300, 500, 1000)
# From K = 30 to 1000: "only slightly" and "linearly" read as these factors, K itself growing 33 times.
SLIGHTLY, LINEARLY = 2.5, 10.0


def trials(quick: bool) -> list[Trial]:
    """sgmc, sgmc-m and scir. An iteration is a mini-batch of the first two and a sweep of all nodes of scir."""
    return [
        Trial(
            "figure2", panel, NETWORKS[panel], k, m.name, m.sampler, seed, seconds=1.5 if quick else 2.5, x=k,
            options=m.options,
        )
        for panel in PANELS for k in COMMUNITIES for m in (SGMC, SGMC_M, SCIR)
        for seed in range(1, 2 if quick else 4)
    ]  # fmt: skip


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Seconds an iteration, both axes logarithmic: a line of slope one is linear growth."""
    figure, axes = panels(len(PANELS))
    for column, panel in enumerate(PANELS):
        own = select(outcomes, panel=panel)
        against(axes[0, column], own, "seconds_per_iteration", "communities K", panel)
        axes[0, column].set_yscale("log")
    return figure


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """What the text says of Figure 2."""
    growth = {
        (panel, method): _growth(select(outcomes, panel=panel, method=method))
        for panel in PANELS for method in ("sgmc", "sgmc-m", "scir")
    }  # fmt: skip

    def said(method: str) -> str:
        return ", ".join(f"{panel} {growth[panel, method]:.1f} times" for panel in PANELS)

    return [
        Claim(
            "sgmc-m: the time an iteration grows only slightly with K", "nearly flat from K = 30 to 1000",
            f"{said('sgmc-m')}; scir, a sweep: {said('scir')}",
            verdict(all(growth[panel, "sgmc-m"] <= SLIGHTLY for panel in PANELS)),
        ),
        Claim(
            "sgmc: the time an iteration grows linearly with K", "linear",
            f"K grows 33 times, the time: {said('sgmc')}",
            verdict(all(growth[panel, "sgmc"] >= LINEARLY for panel in PANELS)),
        ),
        Claim(
            "more is saved the more communities there are", "the gap widens",
            "at K = 1000 sgmc over sgmc-m: " + ", ".join(f"{p} {_ratio(outcomes, p):.1f}" for p in PANELS),
            verdict(all(growth[panel, "sgmc"] > growth[panel, "sgmc-m"] for panel in PANELS)),
        ),
        Claim(
            "because the number of communities a node takes part in does not change much with K", "nearly constant",
            "communities that sgmc-m holds a node, K = 30 and 1000: "
            + ", ".join(f"{p} {_held(outcomes, p, 30):.0f} and {_held(outcomes, p, 1000):.0f}" for p in PANELS),
            verdict(all(_held(outcomes, p, 1000) <= SLIGHTLY * _held(outcomes, p, 30) for p in PANELS)),
        ),
    ]  # fmt: skip


def _growth(outcomes: Sequence[Outcome]) -> float:
    name = "seconds_per_iteration"
    return mean_of(select(outcomes, communities=1000), name) / mean_of(select(outcomes, communities=30), name)


def _held(outcomes: Sequence[Outcome], panel: str, k: int) -> float:
    """Active and candidate communities a node, and the bulk as one."""
    return k * mean_of(select(outcomes, panel=panel, method="sgmc-m", communities=k), "memory_ratio")


def _ratio(outcomes: Sequence[Outcome], panel: str) -> float:
    at = select(outcomes, panel=panel, communities=1000)
    name = "seconds_per_iteration"
    return mean_of(select(at, method="sgmc"), name) / mean_of(select(at, method="sgmc-m"), name)


FIGURE = Figure("figure2", "Figure 2: time an iteration", trials, draw, claims)
