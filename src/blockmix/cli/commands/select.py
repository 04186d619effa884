"""`blockmix select-k`: how many communities, by held-out score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from blockmix.cli.commands.fit import ModelKind
from blockmix.cli.guard import Seed, print_json, warn
from blockmix.cli.reading import (
    Bipartite,
    Columns,
    Directed,
    Edges,
    Format,
    Header,
    Nodes,
    Separator,
    WeightLawOption,
    Weights,
    read_network,
    table_options,
)
from blockmix.errors import InputError


def select_k(
    edges: Edges,
    grid: Annotated[
        str | None,
        typer.Option(
            "-g",
            "--grid",
            metavar="K,K,...",
            help="Numbers to try; by default around that of the best partition.",
        ),
    ] = None,
    splits: Annotated[int, typer.Option(metavar="N", min=1, help="Random splits each is scored on.")] = 3,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SEC",
            help="Seconds for each fit; by default until its score has settled and its chains agree, or 3,000 sweeps.",
        ),
    ] = None,
    model: Annotated[
        ModelKind | None, typer.Option(help="Link model, as for fit.", show_default="as for fit")
    ] = None,
    sampler: Annotated[str | None, typer.Option(help="Sampler, by name.", show_default="scir")] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="T", help="Processors to use; all by default.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the curve to this picture (png, svg, pdf); none by default."),
    ] = None,
    nodes: Nodes = None,
    format: Format = None,
    sep: Separator = None,
    header: Header = None,
    columns: Columns = None,
    weights: Weights = None,
    directed: Directed = False,
    bipartite: Bipartite = False,
    weight_law: WeightLawOption = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Compare numbers of communities by how well they predict held-out pairs.

    Every K is fitted to the same random splits. The star marks the smallest K
    whose log loss is within a standard error of the best.

    \b
      blockmix select-k edges.txt                        around a first guess
      blockmix select-k edges.txt -g 5,10,20,40 --plot k.png
      blockmix select-k mails.csv --columns sender,receiver --nodes people.csv
    """
    from blockmix.inference.choices.select import select_communities
    from blockmix.inference.request import FitRequest

    if plot is not None:
        from blockmix.errors import optional

        optional("matplotlib", "--plot", 'pip install "blockmix[plot]"')
    numbers = None if grid is None else _numbers(grid)
    law, kind = None if weight_law is None else weight_law.value, "" if model is None else model.value
    FitRequest(
        model=kind, sampler=sampler or "", seed=seed, time_limit=time_limit, threads=threads, weight_law=law
    )  # fmt: skip
    table = table_options(format, sep, header, columns, weights, directed, bipartite)
    graph = read_network(edges, nodes, threads, quiet, table)

    def show_progress(done: int, total: int) -> None:
        if not quiet:
            warn(f"fit {done + 1} of {total}")

    options: dict[str, Any] = {
        "time_limit": time_limit,
        "model": kind,
        "sampler": sampler,
        "threads": threads,
        "progress": False,
        "weight_law": law,
    }
    chosen = select_communities(graph, numbers, splits=splits, seed=seed, on_fit=show_progress, **options)
    if plot is not None:
        from blockmix.report.pictures.plots import plot_selection

        plot_selection(chosen).savefig(plot)
    if as_json:
        rows = [row._asdict() for row in chosen]
        print_json({"best": chosen.best, "simplest": chosen.simplest, "splits": splits, "candidates": rows})
    else:
        print(chosen)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(
            f"--grid {text}: give whole numbers separated by commas, as in --grid 5,10,20"
        ) from None
