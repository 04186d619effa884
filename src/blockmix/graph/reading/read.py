"""`read_graph`: any file with a network in it, into a `Graph`, or one error that says where and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.reading.dialect import USUAL_WEIGHTS, Column, Dialect
from blockmix.graph.reading.edge_list import read_edge_list
from blockmix.graph.reading.formats.detect import HEAD_BYTES, check_format, detect
from blockmix.graph.reading.formats.doubts import with_doubts
from blockmix.graph.reading.named import described, with_nodes
from blockmix.graph.reading.nodes import NodeList, read_nodes
from blockmix.graph.reading.source import Source
from blockmix.graph.sides.making import chosen_kind

# Formats in which a link is an entry of a square matrix.
_WITHOUT_DIRECTIONS = ("matrix", "matrix-market", "metis")
FilePath = str | os.PathLike[str] | IO[Any]


def read_graph(
    path: FilePath,
    *,
    nodes: FilePath | NDArray[Any] | Iterable[Any] | None = None,
    format: str | None = None,
    sep: str | None = None,
    header: bool | None = None,
    columns: Sequence[Column] | None = None,
    weights: Column | bool | None = None,
    directed: bool = False,
    bipartite: bool = False,
    threads: int | None = None,
) -> Graph:
    """Read a network from a file, plain or compressed (gz, bz2, xz, zip, zst), whatever its format.

    In an edge list there is one link per line: two labels separated by blanks, tabs, commas, semicolons or pipes.
    Integer labels are kept as integers and numbered by value; any other label makes all labels text, numbered by
    first appearance. Lines that start with `#` or `%` are comments; columns that are not used are named in the
    summary; both directions and repeats are merged and self-loops dropped. `graph.summary` counts all of it.

    Other formats are recognised by what the file contains: Matrix Market, adjacency matrices as text, METIS, JSON
    (node-link), and with extras GraphML, GEXF, GML, Pajek (`networkx`) and Parquet (`io`).

    Arguments:
        path: a path, "-" for standard input, an https address, or an open file. Quoted fields, a row of column names
            above integers, columns named source and target (or the like) and a count on a line of its own are
            understood.
        nodes: labels of nodes that may have no link, one a line, or a table with a column of labels and others of
            attributes: a file, a data frame, a mapping of columns, or a sequence of labels.
        format: the format, where it cannot be recognised: "edges", "matrix", "matrix-market", "graphml", "gexf",
            "gml", "pajek", "json", "parquet" or "metis".
        sep: what separates the columns of an edge list: " ", "\\t", ",", ";" or "|".
        header: whether the first line of an edge list names its columns.
        columns: the two columns with the labels, by name or by number, counted from 1.
        weights: where the weights of the links are: a column by name or number, the name of an attribute of links
            (GraphML, GEXF, GML, Pajek, JSON), or True for the column or attribute named weight, and for the values of
            matrices and METIS files, which have no name. Each must be a number above zero. Those of repeated links are
            added up, unless the file lists every link in both directions with the same weight. Left out, links have
            no weights. The model with popularities uses them: see docs/howto/weights.md.
        directed: whether links have directions, from the first label to the second: both directions are then kept
        apart.
            By default they are merged. The model with popularities uses them: see docs/howto/directed.md.
        bipartite: whether there are two kinds of nodes, one in each column; a label in both columns is two nodes. In
            files of nodes with attributes their attribute `bipartite` tells.
        threads: how many threads parse; by default, as many as there are processors. The result is the same.

    Raises:
        GraphFormatError: naming the path, the line, the column, the text found there and the remedy.

    >>> import io
    >>> graph = read_graph(io.StringIO("source;target\\nann;bob\\nbob;cem\\n"))
    >>> list(graph.labels), graph.n_edges
    (['ann', 'bob', 'cem'], 2)
    """
    n_threads = threads_of(threads)
    chosen = check_format(format)
    sides = chosen_kind(directed, bipartite)
    dialect = replace(Dialect.checked(sep, header, columns, weights), kind=sides)
    listed = None if nodes is None else read_nodes(nodes)
    with Source(path) as source:
        kind = chosen or format_of(source, dialect)
        if kind in ("edges", "parquet"):
            return _read_table(source, kind, dialect, listed, n_threads)
        others = [name for name in dialect.given if name != "weights"]
        if others:
            names = ", ".join(others)
            raise InputError(f"{names}: a file in the format {kind!r} has no columns to choose; leave it out")
        if kind in _WITHOUT_DIRECTIONS and sides is not None:
            raise _no_directions(sides, kind)
        head = source.head(HEAD_BYTES) if kind == "matrix-market" else b""
        graph = with_doubts(_read_other(source, kind, n_threads, dialect.weights, sides), False, head)
    return graph if listed is None else with_nodes(graph, listed)


def format_of(source: Source, dialect: Dialect) -> str:
    """Return the format of a file, by what it contains and what the user says of its columns."""
    kind = detect(source, dialect.columns is not None, dialect.separator, dialect.kind == "bipartite")
    columns_given = set(dialect.given) - ({"weights"} if dialect.weights == USUAL_WEIGHTS else set())
    # A matrix and a METIS file look like tables of links, and the user says that it is one.
    return "edges" if columns_given and kind in ("matrix", "metis") else kind


def _read_table(source: Source, kind: str, dialect: Dialect, nodes: NodeList | None, threads: int) -> Graph:
    isolated = None if nodes is None else nodes.labels
    if kind == "edges":
        graph = read_edge_list(source, dialect, isolated, threads)
        unknown = dialect.header is None and graph.summary is not None and graph.summary.header is None
        return described(with_doubts(graph, unknown, source.head(HEAD_BYTES)), nodes)
    from blockmix.graph.reading.formats.parquet import read_parquet

    return described(read_parquet(source, dialect, isolated), nodes)


def _read_other(source: Source, kind: str, threads: int, weights: Column | None, sides: str | None) -> Graph:
    """Read a format that is not a table of links; each reader is imported when it is needed."""
    if kind in ("matrix-market", "matrix", "metis") and weights not in (None, USUAL_WEIGHTS):
        raise InputError(
            f"weights={weights!r:.60}: weights of the format {kind!r} have no name; give True (--weights weight)"
        )
    if kind == "matrix-market":
        if b"coordinate" in source.head(200).split(b"\n")[0].lower():
            return read_edge_list(source, Dialect(weights=weights), None, threads)
        from blockmix.graph.reading.formats.matrix import read_matrix_market_array

        return read_matrix_market_array(source, weights is not None)
    if kind == "matrix":
        from blockmix.graph.reading.formats.matrix import read_matrix

        return read_matrix(source, weights is not None)
    if kind == "metis":
        from blockmix.graph.reading.formats.metis import read_metis

        return read_metis(source, weights is not None)
    if isinstance(weights, int):
        raise InputError(f"weights={weights}: the format {kind!r} has no numbered columns; name an attribute")
    if kind == "json":
        from blockmix.graph.reading.formats.node_link import read_json

        return read_json(source, weights, sides)
    from blockmix.graph.reading.formats.by_networkx import read_by_networkx

    return read_by_networkx(source, kind, weights, sides)


def _no_directions(sides: str, kind: str) -> InputError:
    return InputError(
        f"{sides}=True (--{sides}): files in the format {kind!r} are read as networks of links without directions; "
        "give an edge list, or the matrix from Python (Graph.from_scipy)"
    )


def threads_of(threads: int | None) -> int:
    """Return how many threads parse: as many as were asked for, or as there are processors."""
    if threads is None:
        return max(
            1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads must be a whole number from 1 on, not {threads!r}")
    return int(threads)
