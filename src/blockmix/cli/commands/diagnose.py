"""`blockmix diagnose`: whether a result can be trusted, and what of the network the model does not explain."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockmix.cli.guard import print_json

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior
    from blockmix.posterior.predictive.checks import PredictiveChecks


def diagnose(
    result: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by blockmix fit -o.", show_default=False)
    ],
    replicates: Annotated[
        int, typer.Option(metavar="N", min=19, help="Networks to draw from the posterior.")
    ] = 199,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of these networks.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Check a result: do chains agree, do predictions come true, does the model explain the network?

    Predictions are compared with held-out pairs, by ranges of the probability
    and by the degrees of the nodes. Networks drawn from the posterior are
    compared with the network: degrees, clustering, ranking at equal degrees.

    \b
      blockmix diagnose run
      blockmix diagnose run --json > checks.json
    """
    from blockmix.posterior.predictive.checks import can_check
    from blockmix.posterior.storage import load

    post = load(result)
    checks = post.predictive_checks(replicates=replicates, seed=seed) if can_check(post) else None
    values = check_record(post, checks)
    if as_json:
        print_json(values)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(fitted(check_text(post, checks, values), width))


def fitted(text: str, width: int | None) -> str:
    """Return text whose lines end between words on a terminal so wide; unchanged where there is none (None).

    >>> print(fitted("Converged. Held-out pairs are predicted better.", 30))
    Converged. Held-out pairs are
    predicted better.
    """
    if width is None:
        return text
    lines = (
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        if len(line) > width
        else line
        for line in text.split("\n")
    )
    return "\n".join(lines)


def check_record(post: Posterior, checks: PredictiveChecks | None) -> dict[str, Any]:
    """Return what the checks found, by name; None for checks that could not be made."""
    from blockmix.cli.record import score_record
    from blockmix.posterior.structure import first_line

    scores, table = score_record(post), post.diagnostics()
    return {
        "first_line": first_line(post),
        "converged": table.converged if table.known else None,
        "verdict": table.verdict,
        **table.figures(),
        "chains": table.chains,
        **scores,
        "calibration_level": None if scores["calibration"] is None else post.calibration().confidence,
        "degree_groups": None if scores["calibration"] is None else post.calibration_by_degree().group_ranges,
        "predictive_checks": None if checks is None else checks.rows(),
        "predictive_verdict": None if checks is None else checks.verdict,
        "predictive_level": None if checks is None else checks.level,
        "replicates": 0 if checks is None else checks.replicates,
    }


def check_text(post: Posterior, checks: PredictiveChecks | None, values: dict[str, Any]) -> str:
    """Return the same as text: a verdict and a table for each check."""
    parts = [values["first_line"], f"Chains. {values['verdict']}"]
    if values["calibration"] is None:
        parts.append(
            "Calibration. Not known: too little was held out to check predictions; fit with --held-out 0.05."
        )
    else:
        tables = f"{post.calibration()}\n\n{post.calibration_by_degree()}"
        parts.append(f"Calibration. {values['calibration_verdict']}\n\n{tables}")
    if checks is None:
        parts.append(
            "Predictive checks. None: networks are not drawn from this model, or it kept no samples."
        )
    else:
        parts.append(f"Predictive checks. {values['predictive_verdict']}\n\n{checks}")
    return "\n\n".join(parts)
