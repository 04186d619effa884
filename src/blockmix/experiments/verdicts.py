"""The verdicts of several runs of the experiments beside each other, one column a run: starts, shares held out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from blockmix.errors import InputError

# Columns of the tables of claims are separated by bars; those inside a cell are written with a backslash.
BAR = re.compile(r"(?<!\\) \| ")
NOT_RUN = "not run"


def verdicts_of(folder: Path) -> dict[tuple[str, str], str]:
    """Read the verdicts of a run from the tables of its figures, by figure and claim."""
    found = {}
    for path in sorted(folder.glob("figure?.md")):
        for line in path.read_text("utf-8").splitlines():
            cells = BAR.split(line[2:-2]) if line.startswith("| ") else []
            if len(cells) == 4 and cells[0] != "claim":
                found[path.stem, cells[0]] = cells[3]
    return found


def side_by_side(runs: Mapping[str, Path]) -> str:
    """Return a table of all claims with the verdicts of each run, whose names are the heads of its columns."""
    found = {name: verdicts_of(folder) for name, folder in runs.items()}
    claims = sorted(set().union(*found.values()), key=lambda key: _place(key, found))
    if not claims:
        raise InputError(f"no claims in {', '.join(str(folder) for folder in runs.values())}")
    lines = [f"| figure | claim | {' | '.join(runs)} |", "|---" * (2 + len(runs)) + "|"]
    for figure, claim in claims:
        verdicts = [found[name].get((figure, claim), NOT_RUN) for name in runs]
        lines.append(f"| {figure[-1]} | {claim} | {' | '.join(verdicts)} |")
    return "\n".join(lines) + "\n"


def _place(key: tuple[str, str], found: Mapping[str, Mapping[tuple[str, str], str]]) -> tuple[str, int]:
    """Return where a claim stands: by figure, and there in the order of the first run that has it."""
    own = next(list(verdicts) for verdicts in found.values() if key in verdicts)
    return key[0], own.index(key)
