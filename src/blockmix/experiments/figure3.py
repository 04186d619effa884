"""Figure 3: converged perplexity against the number of communities, on Synthetic, US-AIR and NETSCIENCE."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from blockmix.experiments.drawing import against, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    all_of,
    curve,
    decide,
    if_converged,
    in_both_forms,
    mean_of,
    not_converged,
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
# A network of 75 nodes converges sooner.
SECONDS = {"Synthetic": 4.0, "US-AIR": 10.0, "NETSCIENCE": 10.0}
QUICK = {"Synthetic": (5, 20, 50), "US-AIR": (10, 50, 200), "NETSCIENCE": (20, 100, 300)}
METHODS = (SGMC, SGMC_PRINTED, SGMC_M, SVI, SCIR)
# "performs as good as" and "not much" lost: up to this ratio.
AS_GOOD, NOT_MUCH = 1.05, 1.15
FORMS = (SGMC.name, SGMC_PRINTED.name)

# Mean perplexity by panel and method, then by K.
Table = dict[tuple[str, str], dict[int, float]]


def trials(quick: bool) -> list[Trial]:
    """List the trials of sgmc in both forms, sgmc-m, svi, and scir."""
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
    """Draw perplexity above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            against(axes[row, column], select(outcomes, panel=panel), score, "communities K", panel)
    return figure


def little_lost(ratios: Sequence[float]) -> bool | None:
    """Decide whether the largest ratio of perplexities, sgmc-m to sgmc, is small on every network."""
    return all_of(decide(ratio <= NOT_MUCH, ratio) for ratio in ratios)


def much_faster(mine: Sequence[float], others: Sequence[float]) -> bool | None:
    """Decide whether a method converges in less than half the time of another, for every network and K."""
    return all_of(decide(a < b / 2, a, b) for a, b in zip(mine, others, strict=True))


def as_good(mine: Sequence[float], others: Sequence[float]) -> bool | None:
    """Decide whether perplexities are at most slightly above those of another method, for every K."""
    return all_of(decide(a <= AS_GOOD * b, a, b) for a, b in zip(mine, others, strict=True))


def in_order(*methods: Sequence[float]) -> bool | None:
    """Decide whether each method has perplexities at or below those of the next, for every K."""
    return all_of(
        decide(a <= b, a, b) for mine, others in pairwise(methods) for a, b in zip(mine, others, strict=True)
    )


def best_inside(values: Sequence[float]) -> bool | None:
    """Decide whether the lowest value is at neither end: lower than both."""
    return decide(min(values) < min(values[0], values[-1]), *values)


def stable(spreads: Sequence[float]) -> bool | None:
    """Decide whether the highest perplexity over all K is little above the lowest, on every network."""
    return all_of(decide(spread < NOT_MUCH, spread) for spread in spreads)


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of Figure 3."""
    table = {
        (panel, m.name): _by_k(select(outcomes, panel=panel, method=m.name))
        for panel in PANELS
        for m in METHODS
    }
    return _claims_of_approximation(outcomes, table) + _claims_of_methods(outcomes, table)


def _claims_of_approximation(outcomes: Sequence[Outcome], table: Table) -> list[Claim]:
    """Judge what is claimed of sgmc-m."""
    worst = {p: max(_ratios(table[p, "sgmc-m"], table[p, "sgmc"])) for p in PANELS}
    wait = {
        (p, m): [_settled(select(outcomes, panel=p, method=m, communities=k)) for k in table[p, m]]
        for p in PANELS for m in ("sgmc", "sgmc-m")
    }  # fmt: skip
    fast, slow = ([s for p in PANELS for s in wait[p, m]] for m in ("sgmc-m", "sgmc"))
    return [
        Claim(
            "not much accuracy is lost by the approximation of sgmc-m", "curves close together",
            "largest ratio of sgmc-m to sgmc over K: " + ", ".join(f"{p} {r:.2f}" for p, r in worst.items())
            + not_converged(_of(outcomes, "sgmc", "sgmc-m")),
            verdict(if_converged(little_lost(list(worst.values())), _of(outcomes, "sgmc", "sgmc-m"))),
        ),
        Claim(
            "sgmc-m converges much faster than sgmc", "stated",
            "seconds to within 5% of its own last perplexity, by K: "
            + "; ".join(f"{p} {m} " + ", ".join(f"{s:.2g}" for s in wait[p, m]) for p, m in wait),
            verdict(much_faster(fast, slow)),
        ),
        Claim(
            "US-AIR: sgmc-m performs as well as sgmc", "curves meet",
            _listed(table, "US-AIR", "sgmc", "sgmc as printed", "sgmc-m"),
            verdict(
                if_converged(
                    as_good(*_rows(table, "US-AIR", "sgmc-m", "sgmc")),
                    select(_of(outcomes, "sgmc", "sgmc-m"), panel="US-AIR"),
                )
            ),
        ),
        Claim(
            "NETSCIENCE: sgmc-m is worse than sgmc and better than svi", "in this order",
            _listed(table, "NETSCIENCE", "sgmc", "sgmc-m", "svi"),
            verdict(
                if_converged(
                    in_order(*_rows(table, "NETSCIENCE", "sgmc", "sgmc-m", "svi")),
                    select(_of(outcomes, "sgmc", "sgmc-m", "svi"), panel="NETSCIENCE"),
                )
            ),
        ),
    ]  # fmt: skip


def _of(outcomes: Sequence[Outcome], *methods: str) -> list[Outcome]:
    """Return the outcomes of these methods."""
    return [outcome for outcome in outcomes if outcome.trial.method in methods]


def _claims_of_methods(outcomes: Sequence[Outcome], table: Table) -> list[Claim]:
    """Judge what is claimed of sgmc, and of svi."""
    spread = {(p, m): max(table[p, m].values()) / min(table[p, m].values()) for p in PANELS for m in FORMS}
    return [
        Claim(
            "sgmc predicts best for every K", "sgmc below svi and sgmc-m throughout",
            "; ".join(f"{p}: {_listed(table, p, *FORMS, 'sgmc-m', 'svi', 'scir')}" for p in PANELS)
            + not_converged(_of(outcomes, *FORMS, "sgmc-m", "svi")),
            in_both_forms(
                *(
                    if_converged(
                        all_of(in_order(*_rows(table, p, m, o)) for p in PANELS for o in ("sgmc-m", "svi")),
                        _of(outcomes, m, "sgmc-m", "svi"),
                    )
                    for m in FORMS
                )
            ),
        ),
        Claim(
            "svi is best at a K between the least and the largest tested", "V-shaped",
            "; ".join(f"{panel}: {_listed(table, panel, 'svi')}" for panel in PANELS),
            verdict(
                if_converged(
                    all_of(best_inside(*_rows(table, panel, "svi")) for panel in PANELS), _of(outcomes, "svi")
                )
            ),
        ),
        Claim(
            "sgmc stays stable as K grows", "nearly flat",
            "largest over least perplexity: " + "; ".join(f"{m} on {p} {r:.2f}" for (p, m), r in spread.items()),
            in_both_forms(
                *(if_converged(stable([spread[p, m] for p in PANELS]), _of(outcomes, m)) for m in FORMS)
            ),
        ),
    ]  # fmt: skip


def _rows(table: Table, panel: str, *methods: str) -> list[list[float]]:
    """Return the perplexities of each method by K."""
    return [list(table[panel, m].values()) for m in methods]


def _listed(table: Table, panel: str, *methods: str) -> str:
    rows = zip(methods, _rows(table, panel, *methods), strict=True)
    return "; ".join(f"{m} " + ", ".join(f"{value:.2f}" for value in row) for m, row in rows)


def _by_k(outcomes: Sequence[Outcome]) -> dict[int, float]:
    """Return the mean perplexity by K."""
    ks = sorted({outcome.trial.communities for outcome in outcomes})
    return {k: mean_of(select(outcomes, communities=k), "perplexity") for k in ks}


def _ratios(mine: dict[int, float], others: dict[int, float]) -> list[float]:
    return [mine[k] / others[k] for k in mine]


def _settled(outcomes: Sequence[Outcome]) -> float:
    """Return the seconds to within 5% of the last perplexity of the curve."""
    return seconds_to(outcomes, "perplexity", 1.05 * curve(outcomes, "perplexity").mean[-1])


FIGURE = Figure("figure3", "Figure 3: converged perplexity against K", trials, draw, claims)
