"""Tables whose first two columns are not the ends of a link: an index, a time or a weight first, nodes, incidences.

Read as two labels a line they would give a wrong network without an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from blockmix.errors import readable
from blockmix.graph.reading.dialect import find_ends, repeated_end, without_remark

Rows = Sequence[Sequence[bytes]]

# Names of the first two columns of a table of nodes.
_NODE_COLUMNS = ({"id", "node", "nodeid", "node_id", "node id"}, {"label", "name", "title", "full name"})
_CYTOSCAPE = {"suid", "shared name"}
_DATE = re.compile(rb"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}\b.*")
_NUMBER = re.compile(rb"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")
_POINT = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FEWEST_ROWS, _FEWEST_LABELS = 3, 2
_COMMUNITIES = {"community", "cluster", "module", "modularity_class", "membership", "partition"}
_NUMBERED = re.compile(r"(.*[^\d])(\d{1,3})", re.DOTALL)
# Share of the labels of one column that are in the other, where both are ends of links; columns of numbers that are no
# ends, such as ratings, have few values.
_SHARED, _FEWEST_NUMBERS = 0.5, 10
# With fewer lines a first column without repeats may be chance.
_FEWEST_OWN = 20
# Lines of so many different lengths are no table, if the longest has so many fields.
_LENGTHS, _LONGEST = 3, 5
# Whole numbers in a line, all different, that are more than two labels with weights and times.
_GROUP = 7


class Lookalike(NamedTuple):
    """What a file looks like, and what to do."""

    what: str
    remedy: str


def no_links(rows: Rows, bipartite: bool = False) -> Lookalike | None:
    """Return what a table looks like whose first two columns are not the ends of a link; else None.

    A table that the user calls `bipartite` may have nodes and their communities.

    >>> no_links([[b"0.5", b"ann", b"bob"], [b"0.7", b"bob", b"cem"], [b"0.1", b"cem", b"dot"]]).what
    'links with a number in column 1 and their labels in columns 2 and 3'
    """
    named = _numbered_names(rows) or (None if bipartite else _communities(rows))
    if named is not None or find_ends(_texts(rows[0])) is not None:
        # The first line says which columns have the labels.
        return named
    checks: Sequence[Callable[[Rows], Lookalike | None]] = (
        _named_square, _colons, _cytoscape, _repeated_names, _nodes, _incidences, _labels_behind, _ragged,
        _more_labels, _groups, _measured,
    )  # fmt: skip
    return next(filter(None, (check(rows) for check in checks)), None)


def _named_square(rows: Rows) -> Lookalike | None:
    names = rows[0][1:]
    if len(names) < _FEWEST_ROWS or names != [row[0] for row in rows[1:]]:
        return None
    wrong = next(
        (field for row in rows[1:] for field in row[1:] if field and not _POINT.fullmatch(field)), b""
    )
    return Lookalike(
        f"an adjacency matrix with entries that are no numbers, such as {readable(wrong)}",
        "Write 0 and 1 into its cells, or numbers with a point before their decimals.",
    )


def _numbered_names(rows: Rows) -> Lookalike | None:
    """Find columns such as friend1, friend2, friend3 from the first or second one on, or two that share its labels."""
    names = [_NUMBERED.fullmatch(name.lower()) for name in _texts(rows[0])]
    run = [(name[1], int(name[2])) for name in names[1:] if name is not None]
    start = 1 if names[0] is None else 0
    run = run if names[0] is None else [(names[0][1], int(names[0][2])), *run]
    if len(run) != len(names) - start or run != [(run[0][0], run[0][1] + i) for i in range(len(run))]:
        return None
    first = {row[0] for row in rows[1:]}
    others = {field for row in rows[1:] for field in row[1:3]}
    alike = len(run) == 2 and start == 1 and len(first & others) >= max(2, _SHARED * len(first))
    if len(run) < 3 and not alike:
        return None
    return _several(f"in columns such as {readable(run[-1][0] + str(run[-1][1]))}")


def _several(what: str) -> Lookalike:
    return Lookalike(
        f"a table with more than two labels a line, {what}",
        "Write one link a line: two labels separated by a tab; if only the first two columns are labels, name them: "
        "columns=(1, 2) (--columns 1,2).",
    )


def _more_labels(rows: Rows) -> Lookalike | None:
    """Find words in the third column, half of which are labels of the first two: a node and its friends, or groups."""
    body = rows[1:]
    if len(body) < _FEWEST_ROWS - 1 or any(len(without_remark(row)) < 3 for row in body):
        return None
    if all(len(row) == len(rows[0]) + 1 for row in body):
        # Behind row names, as R writes them: the preamble sees to it.
        return None
    labels = {field for row in body for field in row[:2]}
    third = {row[2] for row in body}
    if len(third) < _FEWEST_LABELS or any(map(_NUMBER.fullmatch, third)):
        return None
    return _several("all of one kind") if len(third & labels) >= _SHARED * len(third) else None


def _groups(rows: Rows) -> Lookalike | None:
    """Find lines of many whole numbers, all different: groups of nodes, or a node and its neighbours."""
    rows = [without_remark(row) for row in rows]
    if any(len(row) < _GROUP or len(set(row)) < len(row) for row in rows):
        return None
    return _several("all of one kind") if all(field.isdigit() for row in rows for field in row) else None


def _communities(rows: Rows) -> Lookalike | None:
    names = [field.lower() for field in _texts(rows[0])]
    if len(names) < 2 or names[0] not in set.union(*_NODE_COLUMNS) or names[1] not in _COMMUNITIES:
        return None
    return Lookalike(
        "nodes and their communities",
        "Give it to blockmix evaluate as --truth, or as nodes=FILE (--nodes FILE), beside the file of links; if it has "
        "links, name the two columns with the labels: columns=(1, 2) (--columns 1,2).",
    )


def _repeated_names(rows: Rows) -> Lookalike | None:
    names = [field.lower() for field in _texts(rows[0])]
    twice, other = repeated_end(names) or (names[0], "")
    if len(names) < 3 or names.count(twice) < 2 or not (other or twice in _NODE_COLUMNS[0]):
        return None
    ends = names.index(twice), names.index(other) if other else names.index(twice, 1)
    columns = f"{min(ends) + 1}, {max(ends) + 1}"
    return Lookalike(
        f"a table with two columns that are called {readable(twice)}",
        f"Name the two columns with the labels by number, such as columns=({columns}) "
        f"(--columns {columns.replace(' ', '')}).",
    )


def _measured(rows: Rows) -> Lookalike | None:
    """Find a name of its own in every line, and three numbers or more behind it: measurements or distances."""
    body = [row for row in rows[1:] if len(row) > 1]
    if len(body) < _FEWEST_ROWS or any(not 4 <= len(row) == len(body[0]) for row in body):
        return None
    names = {row[0] for row in body}
    numbers = all(_NUMBER.fullmatch(field) for row in body for field in row[1:])
    if len(names) < len(body) or any(map(_NUMBER.fullmatch, names)) or not numbers:
        return None
    return Lookalike(
        "a table of a name and numbers a line, such as measurements or distances",
        "Write one link a line: two labels separated by a tab; if the first two columns are labels, name them: "
        "columns=(1, 2) (--columns 1,2).",
    )


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
    index are, or have a value of its own in every line, and the third one have more values than ratings have.
    """
    fewer = min(len(second), len(third))
    if fewer < _FEWEST_LABELS or len(second & third) < _SHARED * fewer:
        return False
    if not all(_NUMBER.fullmatch(value) for value in third):
        return True
    if fewer < _FEWEST_NUMBERS:
        return False
    ordered = all(value.isdigit() for value in first) and first == sorted(first, key=int)
    own = len(set(first)) == len(first) >= _FEWEST_OWN
    return own or (ordered and len(set(first)) >= _FEWEST_LABELS)


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
