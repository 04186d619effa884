"""Tables whose first two columns are not the ends of a link: an index, a time or a weight first, nodes, incidences.

Read as two labels a line they would give a wrong network without an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from blockmix.graph.reading.dialect import find_ends, without_remark

Rows = Sequence[Sequence[bytes]]

# Names of the first two columns of a table of nodes.
_NODE_COLUMNS = ({"id", "node", "nodeid", "node_id", "node id"}, {"label", "name", "title", "full name"})
_CYTOSCAPE = {"suid", "shared name"}
_DATE = re.compile(rb"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b.*")
_NUMBER = re.compile(rb"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")
_FEWEST_ROWS, _FEWEST_LABELS = 3, 2
# Share of the labels of one column that are in the other, where both are ends of links; columns of numbers that are no
# ends, such as ratings, have few values.
_SHARED, _FEWEST_NUMBERS = 0.5, 10
# Lines of so many different lengths are no table, if the longest has so many fields.
_LENGTHS, _LONGEST = 3, 5


class Lookalike(NamedTuple):
    """What a file looks like, and what to do."""

    what: str
    remedy: str


def no_links(rows: Rows) -> Lookalike | None:
    """Return what a table looks like whose first two columns are not the ends of a link; else None.

    >>> no_links([[b"0.5", b"ann", b"bob"], [b"0.7", b"bob", b"cem"], [b"0.1", b"cem", b"dot"]]).what
    'links with a number in column 1 and their labels in columns 2 and 3'
    """
    if find_ends([field.decode(errors="replace") for field in rows[0]]) is not None:
        # The first line says which columns have the labels.
        return None
    checks: Sequence[Callable[[Rows], Lookalike | None]] = (
        _colons, _cytoscape, _nodes, _incidences, _labels_behind, _ragged,
    )  # fmt: skip
    return next(filter(None, (check(rows) for check in checks)), None)


def _colons(rows: Rows) -> Lookalike | None:
    if len(rows) < 2 or not all(len(row) > 1 and row[0].endswith(b":") for row in rows):
        return None
    return Lookalike(
        "an adjacency list, with a colon behind the node",
        "Write one link a line: two labels separated by a tab.",
    )


def _cytoscape(rows: Rows) -> Lookalike | None:
    if not {field.lower() for field in _texts(rows[0])} >= _CYTOSCAPE:
        return None
    return Lookalike(
        "a table of links of Cytoscape, which has both labels in one column",
        "Export the network and not the table: File, Export, Network to File, as GraphML.",
    )


def _nodes(rows: Rows) -> Lookalike | None:
    names = [field.lower() for field in _texts(rows[0])]
    if len(names) < 2 or names[0] not in _NODE_COLUMNS[0] or names[1] not in _NODE_COLUMNS[1]:
        return None
    return Lookalike(
        "a table of nodes",
        "Give it as nodes=FILE (--nodes FILE) beside the file of links; if it has links, name the two columns with the "
        "labels: columns=(1, 2) (--columns 1,2).",
    )


def _incidences(rows: Rows) -> Lookalike | None:
    """Find a table of zeros and ones behind one label a line, or of zeros and ones only."""
    body = rows[1:]
    if len(body) < _FEWEST_ROWS or any(not 3 <= len(row) == len(body[0]) for row in body):
        return None
    if len({row[0] for row in body}) < len(body) and not all(row[0] in (b"0", b"1") for row in body):
        return None
    if not all(field in (b"0", b"1") for row in body for field in row[1:]):
        return None
    return Lookalike(
        "a table of zeros and ones, such as an incidence matrix",
        "Write one link a line: two labels separated by a tab.",
    )


def _labels_behind(rows: Rows) -> Lookalike | None:
    """Find tables with their labels in columns 2 and 3, behind a time, a number or an index."""
    body = rows[1:]
    if len(body) < _FEWEST_ROWS - 1 or any(len(row) < 3 for row in body):
        return None
    if all(len(row) == len(rows[0]) + 1 for row in body):
        # Names over all columns but the first, as R writes them: the preamble sees to it.
        return None
    first, second, third = ({row[i] for row in body} for i in range(3))
    if first & (second | third):
        return None
    if all(_DATE.fullmatch(value) for value in first):
        what = "a date"
    elif _decimals(first) and not any(map(_decimal, second)):
        what = "a number"
    elif _same_labels([row[0] for row in body], second, third):
        what = "an index, a time or the like"
    else:
        return None
    return Lookalike(
        f"links with {what} in column 1 and their labels in columns 2 and 3",
        "Name the two columns with the labels: columns=(2, 3) (--columns 2,3); if they are the first two, "
        "columns=(1, 2) (--columns 1,2).",
    )


def _same_labels(first: list[bytes], second: set[bytes], third: set[bytes]) -> bool:
    """Return whether columns 2 and 3 share so many values that both hold labels of one kind.

    Weights share values with labels that are whole numbers. Then the first column must be in order, as times and an
    index are, and the third one have more values than ratings have.
    """
    fewer = min(len(second), len(third))
    if fewer < _FEWEST_LABELS or len(second & third) < _SHARED * fewer:
        return False
    if not all(_NUMBER.fullmatch(value) for value in third):
        return True
    ordered = all(value.isdigit() for value in first) and first == sorted(first, key=int)
    return ordered and len(set(first)) >= _FEWEST_LABELS and fewer >= _FEWEST_NUMBERS


def _ragged(rows: Rows) -> Lookalike | None:
    """Find lines of many different lengths; an attribute dictionary, as networkx writes it, may have any."""
    rows = [without_remark(row) for row in rows]
    lengths = sorted({len(row) for row in rows})
    braces = any(field.startswith(b"{") for row in rows for field in row[2:3])
    if len(lengths) < _LENGTHS or lengths[-1] < _LONGEST or braces:
        return None
    shown = ", ".join(map(str, lengths[:-1][:4]))
    return Lookalike(
        f"a list with lines of {shown} and {lengths[-1]} columns, such as communities, a node and its neighbours, or "
        "text",
        "Write one link a line: two labels separated by a tab; if the first two columns are labels, name them: "
        "columns=(1, 2) (--columns 1,2).",
    )


def _texts(fields: Sequence[bytes]) -> list[str]:
    return [field.decode("utf-8", errors="replace").strip() for field in fields]


def _decimal(value: bytes) -> bool:
    return _NUMBER.fullmatch(value) is not None and not value.lstrip(b"+-").isdigit()


def _decimals(values: set[bytes]) -> bool:
    """Return whether all are numbers, and some of them no whole ones."""
    return all(map(_NUMBER.fullmatch, values)) and any(map(_decimal, values))
