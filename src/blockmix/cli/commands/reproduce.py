"""`blockmix reproduce`: the paper's figures, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import INTERRUPTED, warn


def reproduce(
    figure: Annotated[str, typer.Argument(metavar="FIGURE|all", help="figure1 to figure6, or all.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for pictures, tables and claims.md.")
    ] = Path("reproduced"),
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Shorter runs and fewer seeds: 11 minutes on two processors instead of 50."
        ),
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
      blockmix reproduce all -o experiments
    """
    from blockmix.errors import optional
    from blockmix.experiments import FIGURES, find_figure
    from blockmix.experiments.run import reproduce as run
    from blockmix.numerics.workers import default_threads

    optional("matplotlib", "reproduce", 'pip install "blockmix[plot]"')
    names = FIGURES if figure == "all" else (figure,)
    figures = [find_figure(name) for name in names]
    say = (lambda text: None) if quiet else warn
    try:
        print(run(figures, output, quick=quick, jobs=jobs or default_threads(), say=say))
    except KeyboardInterrupt:
        warn(f"stopped: the trials done are kept in {output}, and the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
