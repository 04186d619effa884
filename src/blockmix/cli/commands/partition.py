"""`blockmix partition`: communities without overlap, fast."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import Seed, print_json
from blockmix.cli.reading import (
    Columns,
    Edges,
    Format,
    Header,
    Nodes,
    Separator,
    communities_of,
    read_network,
    table_options,
)
from blockmix.errors import printable


def partition(
    edges: Edges,
    communities: Annotated[
        str,
        typer.Option(
            "-k",
            "--communities",
            metavar="K|auto",
            help="Communities to allow at most. auto: as many as the likelihood supports.",
        ),
    ] = "auto",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to this file; to the screen by default."),
    ] = None,
    nodes: Nodes = None,
    format: Format = None,
    sep: Separator = None,
    header: Header = None,
    columns: Columns = None,
    min_size: Annotated[int, typer.Option(metavar="N", min=1, help="Leave out smaller communities.")] = 1,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages.")] = False,
) -> None:
    """Find communities without overlap, fast: the partition that fit starts from.

    One community a line, the largest first, its labels separated by tabs. It
    has no uncertainty, and finds groups in random networks too: see fit.

    \b
      blockmix partition edges.txt                  one community a line
      blockmix partition edges.txt -k 20 -o parts.txt
    """
    from blockmix.samplers.starts.hard import partition as find_partition

    table = table_options(format, sep, header, columns, None)
    graph = read_network(edges, nodes, None, quiet, table)
    parts = find_partition(graph, communities_of(communities), seed=seed, min_size=min_size)
    if output is not None:
        from blockmix.evaluate.cover_files import write_covers

        write_covers(output, [graph.labels.indices(part) for part in parts], graph.labels)
    if as_json:
        print_json({"communities": len(parts), "sizes": [len(part) for part in parts],
                    "members": None if output is not None else parts})  # fmt: skip
    elif output is None:
        for part in parts:
            print(printable("\t".join(map(str, part)), keep="\t"))
    elif not quiet:
        print(f"{len(parts):,} communities, the largest of {len(parts[0]) if parts else 0:,} nodes: {output}")
