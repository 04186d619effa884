"""How commands read a network: the argument EDGES, and the options about the file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from blockmix.cli.guard import warn
from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph

DATASET = "dataset:"
_FILE = "The file"

Edges = Annotated[
    str,
    typer.Argument(
        metavar="EDGES",
        help="A file with the network, plain or compressed: an edge list with two labels a line, or another "
        "format that is recognised (see --format). - for standard input, an https address, dataset:NAME for a "
        "known network (see blockmix datasets), or a folder that blockmix convert wrote.",
        show_default=False,
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Nodes that may have no link: one label a line, or a table with a column of labels (id) and "
        "columns of attributes, which stay with the result; by default only linked nodes are in the network.",
        rich_help_panel=_FILE,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="edges, matrix, matrix-market, graphml, gexf, gml, pajek, json, parquet or metis; "
        "recognised by default.",
        rich_help_panel=_FILE,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep",
        metavar="SEP",
        help="What separates columns: blank, tab, comma, semicolon or pipe; recognised by default.",
        rich_help_panel=_FILE,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; recognised by default.",
        rich_help_panel=_FILE,
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B",
        help="The two columns with the labels, by name or by number from 1; by default those named source and "
        "target or the like, else the first two.",
        rich_help_panel=_FILE,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="The weights of the links, numbers above zero: a column by name or number, an attribute by name, or "
        "weight for the values of a matrix; none by default. Only the model with popularities uses them.",
        rich_help_panel=_FILE,
    ),
]


Directed = Annotated[
    bool,
    typer.Option(
        "--directed",
        help="Links have directions, from the first label to the second: memberships of every node as one that sends "
        "links and as one that receives them. By default both directions are merged.",
        rich_help_panel=_FILE,
    ),
]
Bipartite = Annotated[
    bool,
    typer.Option(
        "--bipartite",
        help="Two kinds of nodes, one in each column, and links only between them; a label in both "
        "columns is two nodes.",
        rich_help_panel=_FILE,
    ),
]


class WeightLaw(StrEnum):
    """What the weights of links are."""

    counts = "counts"
    amounts = "amounts"


WeightLawOption = Annotated[
    WeightLaw | None,
    typer.Option(
        "--weight-law",
        help="What weights are: Poisson counts, or amounts, which vary more; by default amounts, and of small whole "
        "numbers the one that predicts links better.",
        rich_help_panel="Model",
    ),
]


def communities_of(text: str) -> int | Literal["auto"]:
    """Return what -k names: a number, or auto."""
    if text == "auto":
        return "auto"
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise InputError(f"-k {text}: give a whole number from 1 on, or auto")
    return int(text)


def table_options(
    format: str | None, sep: str | None, header: bool | None, columns: str | None, weights: str | None,
    directed: bool = False, bipartite: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return the options of a file as arguments of `read_graph`, without those that were not given."""
    chosen: dict[str, Any] = {"format": format, "sep": sep, "header": header}
    if columns is not None:
        parts = [_column(part) for part in columns.split(",")]
        if len(parts) != 2:
            raise InputError(
                f"--columns {columns}: give two columns separated by a comma, as in --columns from,to"
            )
        chosen["columns"] = tuple(parts)
    if weights is not None:
        chosen["weights"] = _column(weights)
    chosen |= {"directed": directed or None, "bipartite": bipartite or None}
    return {name: value for name, value in chosen.items() if value is not None}


def _column(text: str) -> str | int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def read_network(
    edges: str, nodes: Path | None, threads: int | None, quiet: bool, options: dict[str, Any] | None = None
) -> Graph:
    """Read the network that EDGES names: a file, standard input, an address, dataset:NAME, or a saved network."""
    options = options or {}
    from blockmix.graph.accept import as_graph, is_saved

    if edges.startswith(DATASET) or is_saved(edges):
        if options:
            raise InputError(
                f"--{next(iter(options))} goes with a file: how a known or a saved network is stored is known"
            )
        graph = as_graph(edges, nodes=nodes)
    else:
        from blockmix.graph.reading.read import read_graph
        from blockmix.numerics.compiling import announce_compiling

        with announce_compiling((lambda _: None) if quiet else warn, "for reading", "a few seconds"):
            graph = read_graph(edges, nodes=nodes, threads=threads, **options)
    if not quiet and graph.summary is not None:
        warn(str(graph.summary))
    return graph
