"""Figure 3: converged perplexity against the number of communities, on Synthetic, US-AIR and NETSCIENCE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

from blockmix.experiments.drawing import against, panels
from blockmix.experiments.figure import (
    Claim,
    Figure,
    all_of,
    curve,
    decide,
    if_converged,
    judged,
    mean_of,
    not_converged,
    seconds_to,
    select,
)
from blockmix.experiments.methods import (
    FORMS,
    NETWORKS,
    SCIR,
    SGMC,
    SGMC_M,
    SGMC_M_PRINTED,
    SGMC_PRINTED,
    SVI,
    SVI_PRINTED,
)
from blockmix.experiments.trial import SEEDS, Outcome, Trial

PANELS = {
    "Synthetic": (5, 10, 20, 50),
    "US-AIR": (10, 50, 300),
    "NETSCIENCE": (20, 100, 300),
}
# Seconds of a trial by network and number of communities, the same for every method and for Figure 4, which shows four
# of these settings. They are longest where the slower methods were seen to come to their ends within half a minute; on
# the others, above all with 100 communities and more, these need many minutes, and their claims stay undecided.
SECONDS = {
    ("Synthetic", 5): 6.0, ("Synthetic", 10): 6.0, ("Synthetic", 20): 6.0, ("Synthetic", 50): 6.0,
    ("US-AIR", 10): 8.0, ("US-AIR", 50): 20.0, ("US-AIR", 300): 6.0,
    ("NETSCIENCE", 20): 10.0, ("NETSCIENCE", 100): 6.0, ("NETSCIENCE", 300): 6.0,
    ("RELATIVITY", 50): 20.0,
}  # fmt: skip
QUICK = {"Synthetic": 4.0, "US-AIR": 2.5, "NETSCIENCE": 2.5, "RELATIVITY": 2.5}
METHODS = (SGMC, SGMC_PRINTED, SGMC_M, SGMC_M_PRINTED, SVI, SVI_PRINTED, SCIR)
# "performs as good as" and "not much" lost: up to this ratio.
AS_GOOD, NOT_MUCH = 1.05, 1.15
NAMES = tuple(method.name for method in METHODS)

# Mean perplexity by panel and method, then by K.
Table = dict[tuple[str, str], dict[int, float]]


def trials(quick: bool) -> list[Trial]:
    """List the trials of sgmc, sgmc-m and svi, all in both forms, and of scir."""
    return [
        Trial(
            "figure3", panel, NETWORKS[panel], k, m.name, m.sampler, seed, seconds=seconds_of(panel, k, quick), x=k,
            options=m.options,
        )
        for panel, ks in PANELS.items() for k in ks for m in METHODS for seed in SEEDS
    ]  # fmt: skip


def seconds_of(network: str, communities: int, quick: bool) -> float:
    """Return the seconds of a trial on a network of the paper, by its name there."""
    return QUICK[network] if quick else SECONDS[network, communities]


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Draw perplexity above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            against(axes[row, column], select(outcomes, panel=panel), score, "communities K", panel)
    return figure


def little_lost(mine: Sequence[float], others: Sequence[float]) -> bool | None:
    """Decide whether perplexities are not much above those of another method, for every K."""
    return all_of(decide(a <= NOT_MUCH * b, a, b) for a, b in zip(mine, others, strict=True))


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


def stable(first: Sequence[float], second: Sequence[float]) -> bool | None:
    """Decide whether perplexities at one K are little above or below those at another, on every network."""
    pairs = zip(first, second, strict=True)
    return all_of(decide(max(a, b) < NOT_MUCH * min(a, b), a, b) for a, b in pairs)


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
    chains = ("sgmc", "sgmc-m")
    names = [form[s] for form in FORMS for s in chains]
    worst = {
        f["sgmc"]: [max(_ratios(table[p, f["sgmc-m"]], table[p, f["sgmc"]])) for p in PANELS] for f in FORMS
    }
    wait = {
        (p, m): {k: _settled(select(outcomes, panel=p, method=m, communities=k)) for k in table[p, m]}
        for p in PANELS for m in names
    }  # fmt: skip
    return [
        judged(
            "not much accuracy is lost by the approximation of sgmc-m",
            "“we do not lose much accuracy despite the approximation”",
            "largest ratio of perplexities over K, " + "; ".join(
                f"{f['sgmc-m']} to {f['sgmc']}: "
                + ", ".join(f"{p} {r:.2f}" for p, r in zip(PANELS, worst[f["sgmc"]], strict=True)) for f in FORMS
            ) + not_converged(_of(outcomes, *names)),
            *(_each(outcomes, table, little_lost, f["sgmc-m"], f["sgmc"]) for f in FORMS),
        ),
        judged(
            "sgmc-m converges much faster than sgmc",
            "“converged perplexity which SGMC-M will reach much faster”",
            f"seconds to within 5% of its own last perplexity, by K on {', '.join(PANELS)}: "
            + "; ".join(f"{m} " + ", ".join(f"{s:.2g}" for p in PANELS for s in wait[p, m].values()) for m in names),
            *(_each(outcomes, wait, much_faster, f["sgmc-m"], f["sgmc"]) for f in FORMS),
        ),
        judged(
            "US-AIR: sgmc-m performs as well as sgmc", "“the SGMC-M performs as good as the SGMC”",
            _listed(table, "US-AIR", *names),
            *(_each(outcomes, table, as_good, f["sgmc-m"], f["sgmc"], ("US-AIR",)) for f in FORMS),
        ),
        judged(
            "NETSCIENCE: sgmc-m is worse than sgmc and better than svi",
            "“the SGMC-M performs worse than the SGMC, it still outperforms the SVI”",
            _listed(table, "NETSCIENCE", *NAMES[:-1]),
            *(
                [
                    answer for first, second in pairwise([f[s] for s in (*chains, "svi")])
                    for answer in _each(outcomes, table, in_order, first, second, ("NETSCIENCE",))
                ]
                for f in FORMS
            ),
        ),
    ]  # fmt: skip


def _of(outcomes: Sequence[Outcome], *methods: str) -> list[Outcome]:
    """Return the outcomes of these methods."""
    return [outcome for outcome in outcomes if outcome.trial.method in methods]


def _each(
    outcomes: Sequence[Outcome],
    table: Table,
    rule: Callable[..., bool | None],
    mine: str,
    other: str,
    panels: Iterable[str] = tuple(PANELS),
) -> list[bool | None]:
    """Apply a rule to two methods on each network with each K by itself; None where a run there had not converged."""
    return [
        if_converged(
            rule([table[p, mine][k]], [table[p, other][k]]),
            select(_of(outcomes, mine, other), panel=p, communities=k),
        )
        for p in panels for k in table[p, mine]
    ]  # fmt: skip


def _claims_of_methods(outcomes: Sequence[Outcome], table: Table) -> list[Claim]:
    """Judge what is claimed of sgmc, and of svi."""
    spread = {
        f["sgmc"]: [max(table[p, f["sgmc"]].values()) / min(table[p, f["sgmc"]].values()) for p in PANELS]
        for f in FORMS
    }
    return [
        judged(
            "sgmc predicts best for every K", "“the predictive accuracy is dominated by SGMC for all choices of K”",
            "; ".join(f"{p}: {_listed(table, p, *NAMES)}" for p in PANELS)
            + not_converged(_of(outcomes, *NAMES[:-1])),
            *(
                [a for s in ("sgmc-m", "svi") for a in _each(outcomes, table, in_order, f["sgmc"], f[s])]
                for f in FORMS
            ),
        ),
        judged(
            "svi is best at a K between the least and the largest tested", "“the curve of SVI has a V-shape”",
            "; ".join(f"{p}: {_listed(table, p, *(f['svi'] for f in FORMS))}" for p in PANELS),
            *(
                [
                    if_converged(
                        best_inside(list(table[p, f["svi"]].values())), select(outcomes, panel=p, method=f["svi"])
                    )
                    for p in PANELS
                ]
                for f in FORMS
            ),
        ),
        judged(
            "sgmc stays stable as K grows", "“for SGMC the accuracy remains relatively stable as we increase K”",
            "largest over least perplexity: " + "; ".join(
                f"{m} " + ", ".join(f"{p} {r:.2f}" for p, r in zip(PANELS, row, strict=True))
                for m, row in spread.items()
            ),
            *(_between_settings(outcomes, table, f["sgmc"]) for f in FORMS),
        ),
    ]  # fmt: skip


def _between_settings(outcomes: Sequence[Outcome], table: Table, method: str) -> list[bool | None]:
    """Decide for every two K on a network whether the perplexities are close; None where a run had not converged."""
    own = select(outcomes, method=method)
    return [
        if_converged(
            stable([table[p, method][a]], [table[p, method][b]]),
            [o for k in (a, b) for o in select(own, panel=p, communities=k)],
        )
        for p in PANELS for a, b in combinations(table[p, method], 2)
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
