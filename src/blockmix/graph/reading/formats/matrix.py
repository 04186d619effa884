"""Adjacency matrices as text: a square table of numbers, with or without names, and Matrix Market arrays.

A table is taken for a matrix only where it cannot well be an edge list: as many rows as columns, at least three, and
names that agree on both sides, or entries of 0 and 1 only, or symmetric with a diagonal of zeros.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.convert import from_scipy
from blockmix.graph.graph import Graph
from blockmix.graph.reading.dialect import find_ends, sniff_separator, split_fields
from blockmix.graph.reading.preamble import data_lines, first_data_line
from blockmix.graph.reading.source import Source

# A dense matrix of more nodes takes 20 GB; such networks are written as edge lists.
MOST_NODES = 50_000
_LONGEST_LINE = 1 << 26
# As R and pandas write comparisons.
_TRUTH = {b"true": 1.0, b"false": 0.0}
_ARRAY_BYTES = 1 << 30
# What is stored of a matrix: all of it (None), or its triangle with the diagonal (0) or without (-1).
_SYMMETRIES = {b"general": None, b"symmetric": 0, b"skew-symmetric": -1}


def looks_like_matrix(source: Source, head: bytes) -> bool:
    """Return whether the file is a square table of numbers; the whole file is read only where its width fits."""
    lines = data_lines(head, 3)
    if not lines:
        return False
    try:
        separator = sniff_separator(lines[:1], source.name, 1)
    except GraphFormatError:
        return False
    if len(lines) < 2 or _columns(lines[1], separator) is None:
        return False
    width = len(split_fields(lines[1], separator))
    if width < 3 or width > MOST_NODES + 1:
        return False
    if len(data_lines(head, width + 2)) > width + 1:
        return False
    count = 0
    for _, line in source.lines(_LONGEST_LINE):
        count += bool(line.strip()) and not line.lstrip().startswith((b"#", b"%"))
        if count > width + 1:
            return False
    if not width - 1 <= count <= width + 1:
        return False
    try:
        matrix, _, rows_named = _table(source)
    except GraphFormatError:
        return False
    if len(matrix) < 3 or find_ends([_plain(name) for name in split_fields(lines[0], separator)]) is not None:
        return False
    if rows_named and _columns(lines[0], separator) is None:
        return True
    binary = bool(np.isin(matrix, (0.0, 1.0)).all())
    return binary or (np.array_equal(matrix, matrix.T) and not np.diag(matrix).any())


def _columns(line: bytes, separator: int) -> int | None:
    """Return how many numbers there are behind a first field that may be a name; None where another is no number."""
    fields = split_fields(line, separator)
    return len(fields) if all(_number(field) is not None for field in fields[1:]) else None


def _plain(field: bytes) -> str:
    return field.decode("utf-8", errors="replace")


def _number(field: bytes) -> float | None:
    if len(field) > 40:
        return None
    if not field:
        return 0.0
    if field.lower() in _TRUTH:
        return _TRUTH[field.lower()]
    try:
        value = float(field)
    except ValueError:
        return None
    return value if math.isfinite(value) and b"_" not in field else None


def read_matrix(source: Source, weights: bool = False) -> Graph:
    """Read an adjacency matrix: every entry other than zero, in either direction, is a link; `weights` keeps it."""
    matrix, names, _ = _table(source, weights)
    graph = _made(source, matrix, names, weights)
    return _renamed(graph, source, "read as an adjacency matrix")


def read_matrix_market_array(source: Source, weights: bool = False) -> Graph:
    """Read a Matrix Market file that gives every entry of a square matrix, column by column.

    Not by SciPy, whose reader (1.17) ends the process with a segmentation fault on files with more entries than their
    size line declares.
    """
    data = source.content(_ARRAY_BYTES)
    begin, line, comments = first_data_line(data)
    number = data.count(b"\n", 0, begin) + 1
    size = line.split()
    if len(size) != 2 or not all(part.isdigit() and len(part) < 10 for part in size):
        _refuse(source, number, line, "the size line must read: rows columns")
    rows, columns = int(size[0]), int(size[1])
    if rows != columns:
        _refuse(source, number, line, f"a {rows} by {columns} matrix is not an adjacency matrix")
    banner = comments[0].lower().split()
    kind, symmetry = banner[3:5] if len(banner) >= 5 else (b"", b"")
    if kind not in (b"real", b"integer", b"double") or symmetry not in _SYMMETRIES:
        _refuse(source, 1, comments[0], "only arrays of real numbers or integers are adjacency matrices")
    corner = _SYMMETRIES[symmetry]
    wanted = rows * rows if corner is None else rows * (rows + 1 + 2 * corner) // 2
    # A number takes two bytes at least, so that a short file cannot ask for a large matrix.
    if rows > MOST_NODES or wanted > len(data):
        _refuse(
            source, number, line, f"the size line declares {rows:,} nodes, more than the file has entries for"
        )
    values = [_number(part) for part in data[begin + len(line) :].split()]
    if len(values) != wanted or any(value is None for value in values):
        _refuse(source, number, line, f"the file has not the {wanted:,} numbers that its size line declares")
    matrix = np.zeros((rows, rows))
    if corner is None:
        matrix[:] = np.array(values, dtype=np.float64).reshape(rows, rows)
    else:
        # The lower triangle by columns is the upper one by rows; both directions of a link are one.
        matrix[np.triu_indices(rows, -corner)] = np.array(values, dtype=np.float64)
        matrix = np.where(matrix == 0.0, matrix.T, matrix)
    graph = _made(source, matrix, np.arange(1, rows + 1), weights)
    return _renamed(graph, source, "Matrix Market array: nodes are numbered from 1")


def _made(source: Source, matrix: NDArray[np.float64], names: Any, weights: bool) -> Graph:
    """Make the network of a matrix; of one with a negative entry the error says which entry."""
    import scipy.sparse

    try:
        return from_scipy(scipy.sparse.csr_array(matrix), names, weights)
    except InputError as error:
        raise GraphFormatError(
            str(error), path=source.name, remedy="Correct the matrix, or leave the weights out."
        ) from None


def _renamed(graph: Graph, source: Source, note: str) -> Graph:
    from dataclasses import replace

    assert graph.summary is not None
    notes = (*source.notes, note, *graph.summary.notes)
    return replace(graph, summary=replace(graph.summary, source=source.name, notes=notes))


def _table(source: Source, weights: bool = False) -> tuple[NDArray[np.float64], list[str] | None, bool]:
    """Return the matrix, the names of its nodes where it has some, and whether the rows have names too."""
    lines = [
        (number, line) for number, line in source.lines(_LONGEST_LINE)
        if line.strip(b" \t") and not line.lstrip().startswith((b"#", b"%"))
    ]  # fmt: skip
    if not lines:
        raise GraphFormatError("the file has no rows", path=source.name, remedy="Write one row a node.")
    separator = sniff_separator([lines[0][1]], source.name, lines[0][0])
    names: list[str] | None = None
    first = split_fields(lines[0][1], separator)
    if any(_number(field) is None for field in first[1:]) or (len(first) > 1 and first[0] == b""):
        names = [_text(source, lines[0][0], field) for field in first]
        lines = lines[1:]
    count = len(lines)
    if not 1 <= count <= MOST_NODES:
        raise GraphFormatError(
            f"a matrix of {count:,} rows is not read as text",
            path=source.name,
            remedy="Write the links as an edge list.",
        )
    width = len(split_fields(lines[0][1], separator))
    if width not in (count, count + 1):
        _refuse(source, *lines[0], f"this row has {width:,} entries, and the matrix {count:,} rows")
    matrix = np.zeros((count, count))
    row_names: list[str] = []
    for i, (number, line) in enumerate(lines):
        fields = split_fields(line, separator)
        if len(fields) == count + 1:
            row_names.append(_text(source, number, fields.pop(0)))
        if len(fields) != count:
            _refuse(
                source, number, line, f"this row has {len(fields):,} entries, and the matrix {count:,} rows"
            )
        for j, field in enumerate(fields):
            value = _number(field)
            if value is None:
                _refuse(source, number, field, "an entry of the matrix is not a number")
            if weights and value < 0.0:
                _refuse(source, number, field, "a weight must not be below zero")
            matrix[i, j] = value
    return matrix, _agreed(source, names, row_names, count), bool(row_names)


def _agreed(source: Source, names: list[str] | None, rows: list[str], count: int) -> list[str] | None:
    """Return the names of the nodes; those of rows and columns must agree."""
    if names is not None and len(names) == count + 1:
        names = names[1:]
    problem = None
    if rows and len(rows) != count:
        problem = "some rows have a name and others have none"
    elif names is not None and len(names) != count:
        problem = f"there are {len(names):,} names for {count:,} rows"
    elif names is not None and rows and names != rows:
        problem = "rows and columns have different names"
    if problem is not None:
        raise GraphFormatError(
            problem, path=source.name, remedy="Name rows and columns of an adjacency matrix the same way."
        )
    return names if names is not None else (rows or None)


def _text(source: Source, number: int, field: bytes) -> str:
    try:
        return field.decode("utf-8")
    except UnicodeDecodeError:
        _refuse(source, number, field, "a name is not UTF-8 text")


def _refuse(source: Source, number: int, text: Any, problem: str) -> NoReturn:
    raise GraphFormatError(
        problem,
        path=source.name,
        line=number,
        text=text,
        remedy="If this is no matrix but an edge list, read it with format='edges' (--format edges).",
    )
