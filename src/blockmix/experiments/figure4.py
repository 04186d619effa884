"""Figure 4: perplexity over time on US-AIR, RELATIVITY and NETSCIENCE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from blockmix.experiments.drawing import over_time, panels
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
    select,
)
from blockmix.experiments.figure3 import seconds_of
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
    "US-AIR, K = 50": ("US-AIR", 50),
    "RELATIVITY, K = 50": ("RELATIVITY", 50),
    "US-AIR, K = 300": ("US-AIR", 300),
    "NETSCIENCE, K = 100": ("NETSCIENCE", 100),
}
METHODS = (SGMC, SGMC_PRINTED, SGMC_M, SGMC_M_PRINTED, SVI, SVI_PRINTED, SCIR)
# The early stage of a run: this share of its time.
EARLY = 0.1
# "very large": so many times the perplexity of sgmc; "much lower": at most this share.
FAR, MUCH = 2.0, 0.9
# Nearer than this two perplexities are level.
LEVEL = 1.01

# Perplexity by panel and method.
Table = dict[tuple[str, str], float]


def trials(quick: bool) -> list[Trial]:
    """List the trials, with svi in all four panels; the paper leaves it out of the last two."""
    return [
        Trial(
            "figure4", panel, NETWORKS[network], k, m.name, m.sampler, seed,
            seconds=seconds_of(network, k, quick), options=m.options,
        )
        for panel, (network, k) in PANELS.items() for m in METHODS for seed in SEEDS
    ]  # fmt: skip


def draw(outcomes: Sequence[Outcome]) -> Any:
    """Draw perplexity above, AUC and network-weighted log loss below."""
    figure, axes = panels(len(PANELS), 3)
    for row, score in enumerate(("perplexity", "auc", "log_loss")):
        for column, panel in enumerate(PANELS):
            over_time(axes[row, column], select(outcomes, panel=panel), score, panel)
            if score != "auc":
                axes[row, column].set_yscale("log")
    return figure


def ahead(mine: Sequence[float], *others: Sequence[float]) -> bool | None:
    """Decide whether perplexities are at or below those of all other methods, in every panel."""
    return all_of(decide(a <= b, a, b) for other in others for a, b in zip(mine, other, strict=True))


def ends_below(mine: Sequence[float], others: Sequence[float]) -> bool | None:
    """Decide whether last perplexities are below those of another method, or level, in every panel."""
    return all_of(decide(a <= LEVEL * b, a, b) for a, b in zip(mine, others, strict=True))


def much_lower(mine: Sequence[float], others: Sequence[float]) -> bool | None:
    """Decide whether last perplexities are much lower than those of another method, in every panel."""
    return all_of(decide(a < MUCH * b, a, b) for a, b in zip(mine, others, strict=True))


def far_larger(mine: Sequence[float], others: Sequence[float]) -> bool | None:
    """Decide whether last perplexities are many times those of another method, in every panel."""
    return all_of(decide(a > FAR * b, a, b) for a, b in zip(mine, others, strict=True))


def claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """Judge what the text claims of Figure 4."""
    own = {(p, m.name): select(outcomes, panel=p, method=m.name) for p in PANELS for m in METHODS}
    early = {key: _early(found) for key, found in own.items()}
    last = {key: mean_of(found, "perplexity") for key, found in own.items()}
    return _claims_of_all_panels(outcomes, early, last) + _claims_of_svi(outcomes, early, last)


def _claims_of_all_panels(outcomes: Sequence[Outcome], early: Table, last: Table) -> list[Claim]:
    """Judge what is claimed of sgmc and sgmc-m."""
    return [
        judged(
            "early on sgmc-m is ahead of the others", "“SGMC-M dominates other methods during early stages”",
            f"perplexity after {EARLY:.0%} of the time. {_listed(early)}",
            *([ahead(*([early[p, f[s]]] for s in ("sgmc-m", "sgmc", "svi"))) for p in PANELS] for f in FORMS),
        ),
        judged(
            "in the end sgmc is below sgmc-m", "“eventually SGMC reaches lower perplexity than SGMC-M”",
            f"last perplexity. {_listed(last)}{not_converged(outcomes)}",
            *(_ends(outcomes, last, ends_below, f["sgmc"], f["sgmc-m"]) for f in FORMS),
        ),
    ]  # fmt: skip


def _claims_of_svi(outcomes: Sequence[Outcome], early: Table, last: Table) -> list[Claim]:
    """Judge what is claimed of svi against the others."""
    few, many = list(PANELS)[:2], list(PANELS)[2:]
    return [
        judged(
            "US-AIR and RELATIVITY, K = 50: sgmc ends much lower than svi",
            "“both SGMC and SGMC-M reach much lower perplexity than SVI”",
            f"last perplexity. {_listed(last, few)}",
            *(_ends(outcomes, last, much_lower, f["sgmc"], f["svi"], few) for f in FORMS),
        ),
        judged(
            "US-AIR and RELATIVITY, K = 50: sgmc-m ends much lower than svi", "the same sentence",
            "last perplexity as above",
            *(_ends(outcomes, last, much_lower, f["sgmc-m"], f["svi"], few) for f in FORMS),
        ),
        judged(
            "with many communities the perplexity of svi becomes so large that it cannot be compared",
            "“the perplexity tends to become very large and thus makes it incomparable to our methods”",
            f"last perplexity. {_listed(last, many)}",
            *(_ends(outcomes, last, far_larger, f["svi"], f["sgmc"], many) for f in FORMS),
        ),
        judged(
            "at every iteration sgmc is faster and more accurate than svi (abstract)",
            "“both faster speed and higher accuracy at every iteration”; “strictly dominates competing algorithms”",
            "early and last as above",
            *(
                [all_of(ahead([t[p, f["sgmc"]]], [t[p, f["svi"]]]) for t in (early, last)) for p in PANELS]
                for f in FORMS
            ),
        ),
    ]  # fmt: skip


def _ends(
    outcomes: Sequence[Outcome],
    last: Table,
    rule: Callable[..., bool | None],
    mine: str,
    other: str,
    chosen: Iterable[str] = tuple(PANELS),
) -> list[bool | None]:
    """Apply a rule to the ends of two methods in each panel; None where a run there had not come to its end."""
    return [
        if_converged(
            rule([last[p, mine]], [last[p, other]]),
            [o for name in (mine, other) for o in select(outcomes, panel=p, method=name)],
        )
        for p in chosen
    ]


def _listed(table: Table, chosen: Iterable[str] = tuple(PANELS)) -> str:
    return "; ".join(
        f"{p}: " + ", ".join(f"{m.name} {table[p, m.name]:.2f}" for m in METHODS) for p in chosen
    )


def _early(outcomes: Sequence[Outcome]) -> float:
    """Return the mean perplexity at the end of the early stage."""
    found = curve(outcomes, "perplexity")
    limit = EARLY * outcomes[0].trial.seconds
    return float(found.mean[max(int((found.time <= limit).sum()) - 1, 0)])


FIGURE = Figure("figure4", "Figure 4: perplexity over time", trials, draw, claims)
