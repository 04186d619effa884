"""`blockmix export`: a result for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import warn
from blockmix.errors import InputError

_KINDS = (".graphml", ".parquet", ".csv")


def export(
    result: Annotated[Path, typer.Argument(metavar="DIR", help="Folder written by blockmix fit -o.")],
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="File to write; its ending, .graphml, .parquet or .csv, decides the format."
        ),
    ],
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Least mean membership in a table (.parquet, .csv).", show_default="0.0"
        ),
    ] = None,
    keep_formulas: Annotated[
        bool,
        typer.Option(
            "--keep-formulas",
            help="Keep labels that begin with = + - @ as they are in .csv; else an apostrophe goes in front.",
        ),
    ] = False,
) -> None:
    """Write a result for other programs.

    \b
      blockmix export run network.graphml      Gephi, Cytoscape, yEd
      blockmix export run memberships.parquet  Spark, DuckDB, R
      blockmix export run memberships.csv      spreadsheets

    GraphML has the network, with the memberships of its nodes. Tables have a
    row for every membership: node, community, mean, sd and interval.
    """
    from blockmix.posterior.storage import load

    kind = file.suffix.lower()
    if kind not in _KINDS:
        raise InputError(f"{file}: the ending must be one of {', '.join(_KINDS)}")
    if kind == ".graphml" and threshold is not None:
        raise InputError(
            f"--threshold {threshold:g} has no effect on {kind}, which has all memberships: leave it out"
        )
    if kind != ".csv" and keep_formulas:
        raise InputError(
            f"--keep-formulas has no effect on {kind}: labels are kept as they are there; leave it out"
        )
    post, least = load(result), threshold or 0.0
    if kind == ".graphml":
        post.write_graphml(file)
    elif kind == ".parquet":
        post.write_parquet(file, threshold=least)
    else:
        post.write_csv(file, threshold=least, keep_formulas=keep_formulas)
    warn(f"Written to {file}")
