"""`blockmix reproduce`: the paper's figures, run again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import INTERRUPTED, warn


class Start(StrEnum):
    """Where every method of an experiment starts."""

    RANDOM = "random"
    PARTITION = "partition"
    BOTH = "both"


def reproduce(
    figure: Annotated[str, typer.Argument(metavar="FIGURE|all", help="figure1 to figure6, or all.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for pictures, tables and claims.md.")
    ] = Path("reproduced"),
    start: Annotated[
        Start,
        typer.Option(
            help="Where every method starts; both writes to DIR/random, DIR/partition and DIR/verdicts.md, which "
            "has the verdicts side by side."
        ),
    ] = Start.RANDOM,
    held_out: Annotated[
        float,
        typer.Option("--held-out", metavar="SHARE", help="Share of the links held out; the paper has 0.01."),
    ] = 0.05,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Shorter runs: 31 minutes of processor time instead of 75."),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Trials side by side; as many as processors by default."),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Run the experiments of Li, Ahn and Welling (2016) again.

    Each figure gives a CSV, a PNG and lines in claims.md: the claim, what the
    paper reports, what was measured here, whether it holds. Ctrl-C stops; the
    same command goes on where it stopped. Networks come from the dataset
    registry (blockmix datasets).

    \b
      blockmix reproduce figure1 --quick
      blockmix reproduce all -o experiments --start both
    """
    from blockmix.errors import InputError, optional
    from blockmix.experiments import FIGURES, find_figure
    from blockmix.experiments.run import Conditions, side_by_side
    from blockmix.experiments.run import reproduce as run
    from blockmix.files import write_pieces
    from blockmix.numerics.workers import default_threads

    optional("matplotlib", "reproduce", 'pip install "blockmix[plot]"')
    names = FIGURES if figure == "all" else (figure,)
    figures = [find_figure(name) for name in names]
    say = (lambda text: None) if quiet else warn
    if not 0.0 < held_out < 1.0:
        raise InputError(f"--held-out must be a share between 0 and 1, not {held_out:g}")
    starts = [Start.RANDOM, Start.PARTITION] if start is Start.BOTH else [start]
    try:
        for one in starts:
            folder = output / one.value if start is Start.BOTH else output
            under = Conditions(one.value, held_out, quick)
            print(run(figures, folder, under, jobs=jobs or default_threads(), say=say))
        if len(starts) > 1:
            table = side_by_side({one.value: output / one.value for one in starts})
            write_pieces(output / "verdicts.md", [table])
            print(output / "verdicts.md")
    except KeyboardInterrupt:
        warn(f"stopped: the trials done are kept in {output}, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
