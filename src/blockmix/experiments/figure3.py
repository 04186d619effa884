"""Figure 3: converged perplexity against the number of communities, on Synthetic, US-AIR and NETSCIENCE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockmix.experiments.drawing import against, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    curve,
    in_both_forms,
    mean_of,
    seconds_to,
    select,
    verdict,
)
from blockmix.experiments.methods import NETWORKS, SCIR, SGMC, SGMC_M, SGMC_PRINTED, SVI
from blockmix.experiments.trial import Outcome, Trial

PANELS = {
    "Synthetic": (5, 10, 20, 30, 50),
    "US-AIR": (10, 30, 50, 100, 300),
    "NETSCIENCE": (20, 50, 100, 200, 300),
}
# A network of 75 nodes is done sooner.
SECONDS = {"Synthetic": 4.0, "US-AIR": 10.0, "NETSCIENCE": 10.0}
QUICK = {"Synthetic": (5, 20, 50), "US-AIR": (10, 50, 200), "NETSCIENCE": (20, 100, 300)}
METHODS = (SGMC, SGMC_PRINTED, SGMC_M, SVI, SCIR)
# "performs as good as" and "not much" lost: within this of the other.
AS_GOOD, NOT_MUCH = 1.05, 1.15
FORMS = (SGMC.name, SGMC_PRINTED.name)


def trials(quick: bool) -> list[Trial]:
    """sgmc in both forms, sgmc-m, svi, and scir."""
    grid = QUICK if quick else PANELS
    return [
        Trial(
            "figure3", panel, NETWORKS[panel], k, m.name, m.sampler, seed,
            seconds=4.0 if quick else SECONDS[panel], x=k,
            options=m.options,
        )
        for panel, ks in grid.items() for k in ks for m in METHODS for seed in range(1, 3 if quick else 4)
    ]  # fmt: skip


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Perplexity above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            against(axes[row, column], select(outcomes, panel=panel), score, "communities K", panel)
    return figure


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """What the text says of Figure 3."""
    table = {
        (panel, m.name): _by_k(select(outcomes, panel=panel, method=m.name))
        for panel in PANELS
        for m in METHODS
    }

    def said(panel: str, *methods: str) -> str:
        return "; ".join(f"{m} " + ", ".join(f"{v:.2f}" for v in table[panel, m].values()) for m in methods)

    def dominated(panel: str, method: str, other: str) -> bool:
        mine, theirs = table[panel, method], table[panel, other]
        return all(mine[k] <= theirs[k] for k in mine)

    spread = {(p, m): max(table[p, m].values()) / min(table[p, m].values()) for p in PANELS for m in FORMS}
    worst = {panel: _most(table[panel, "sgmc-m"], table[panel, "sgmc"]) for panel in PANELS}
    wait = {
        (p, m): [_settled(select(outcomes, panel=p, method=m, communities=k)) for k in table[p, m]]
        for p in PANELS for m in ("sgmc", "sgmc-m")
    }  # fmt: skip
    return [
        Claim(
            "not much accuracy is lost by the approximation of sgmc-m", "curves close together",
            "largest ratio of sgmc-m to sgmc over K: " + ", ".join(f"{p} {r:.2f}" for p, r in worst.items()),
            verdict(all(ratio <= NOT_MUCH for ratio in worst.values())),
        ),
        Claim(
            "sgmc-m converges much faster than sgmc", "stated",
            "seconds to within 5% of its own last perplexity, by K: "
            + "; ".join(f"{p} {m} " + ", ".join(f"{s:.2g}" for s in wait[p, m]) for p, m in wait),
            verdict(all(s < t / 2 for p in PANELS for s, t in zip(wait[p, "sgmc-m"], wait[p, "sgmc"], strict=True))),
        ),
        Claim(
            "US-AIR: sgmc-m performs as well as sgmc", "curves meet",
            said("US-AIR", "sgmc", "sgmc as printed", "sgmc-m"),
            verdict(all(table["US-AIR", "sgmc-m"][k] <= AS_GOOD * v for k, v in table["US-AIR", "sgmc"].items())),
        ),
        Claim(
            "NETSCIENCE: sgmc-m is worse than sgmc and better than svi", "in this order",
            said("NETSCIENCE", "sgmc", "sgmc-m", "svi"),
            verdict(
                dominated("NETSCIENCE", "sgmc", "sgmc-m") and dominated("NETSCIENCE", "sgmc-m", "svi")
            ),
        ),
        Claim(
            "sgmc predicts best for every K", "sgmc below svi and sgmc-m throughout",
            "; ".join(f"{panel}: {said(panel, *FORMS, 'sgmc-m', 'svi', 'scir')}" for panel in PANELS),
            in_both_forms(*(all(dominated(p, m, o) for p in PANELS for o in ("sgmc-m", "svi")) for m in FORMS)),
        ),
        Claim(
            "svi is best at a K between the least and the largest tested", "V-shaped",
            "; ".join(f"{panel}: {said(panel, 'svi')}" for panel in PANELS),
            verdict(all(_inner(table[panel, "svi"]) for panel in PANELS)),
        ),
        Claim(
            "sgmc stays stable as K grows", "nearly flat",
            "largest over least perplexity: " + "; ".join(f"{m} on {p} {r:.2f}" for (p, m), r in spread.items()),
            in_both_forms(*(all(spread[p, m] < NOT_MUCH for p in PANELS) for m in FORMS)),
        ),
    ]  # fmt: skip


def _by_k(outcomes: Sequence[Outcome]) -> dict[int, float]:
    ks = sorted({outcome.trial.communities for outcome in outcomes})
    return {k: mean_of(select(outcomes, communities=k), "perplexity") for k in ks}


def _most(mine: dict[int, float], theirs: dict[int, float]) -> float:
    return max(mine[k] / theirs[k] for k in mine)


def _settled(outcomes: Sequence[Outcome]) -> float:
    """Seconds to within 5% of the last perplexity of its own curve."""
    return seconds_to(outcomes, "perplexity", 1.05 * curve(outcomes, "perplexity").mean[-1])


def _inner(values: dict[int, float]) -> bool:
    """Whether the least value is at neither end."""
    return int(np.argmin(list(values.values()))) not in (0, len(values) - 1)


FIGURE = Figure("figure3", "Figure 3: converged perplexity against K", trials, draw, claims)
