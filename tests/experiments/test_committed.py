"""The claims in docs/experiments follow from the tables beside them, for every run and figure that has one."""

import csv
import re
from pathlib import Path

import pytest

from blockmix.experiments import find_figure
from blockmix.experiments.trial import Outcome, Trial

DOCS = Path(__file__).parents[2] / "docs" / "experiments"
# The run from random starts, and in folders of their own those from the partition and with another share held out.
RUNS = [DOCS, *sorted(path for path in DOCS.iterdir() if path.is_dir())]
# Tables have the last figures of a run and no curves: claims about time and about early stages cannot be judged again.
FROM_CURVES = {
    "figure1": ("Synthetic: cgs", "Synthetic: lmc", "US-AIR: sgmc is faster"),
    "figure3": ("sgmc-m converges much faster",),
    "figure4": ("early on", "at every iteration"),
}


def committed_claims(run, figure):
    """Return the rows of the figure's table: claim, the paper, measured, verdict."""
    text = (run / "claims.md").read_text("utf-8")
    section = text.split(f"## {figure.title}")[1].split("\n## ")[0]
    rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in section.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] != "claim"]


def committed_outcomes(run, name):
    """Return the outcomes of the figure's table, with curves that are of no use."""
    with (run / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    trials = [
        Trial(
            name, row["panel"], row["network"], int(row["communities"]), row["method"], row["sampler"],
            int(row["seed"]), 1.0, float(row["x"]),
        )
        for row in rows
    ]  # fmt: skip
    fields = list(rows[0])[7:]
    curve = {"seconds": [0.1, 1.0], "perplexity": [2.0, 1.0]}
    return [
        Outcome(trial, curve, {field: float(row[field]) for field in fields})
        for trial, row in zip(trials, rows, strict=True)
    ]


@pytest.mark.parametrize(
    ("run", "name"), [(run, path.stem) for run in RUNS for path in sorted(run.glob("figure?.csv"))]
)
def test_committed_claims_follow_from_the_committed_tables(run, name):
    figure = find_figure(name)
    committed = committed_claims(run, figure)
    found = figure.claims(committed_outcomes(run, name))
    assert [row[0] for row in committed] == [claim.claim for claim in found]
    judged = 0
    for row, claim in zip(committed, found, strict=True):
        if not claim.claim.startswith(FROM_CURVES.get(name, ())):
            assert row == list(claim)
            judged += 1
    assert judged > 0
