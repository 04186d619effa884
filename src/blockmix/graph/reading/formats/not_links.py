"""Lists of lines that look like an edge list and are none: links with an arrow or a word beside them, adjacency lists.

Read as two labels a line they would give a wrong network without an error. `other_tables` has those that are tables.
"""

from __future__ import annotations

import re

from blockmix.errors import GraphFormatError, readable
from blockmix.graph.reading.dialect import find_ends, sniff_separator, split_fields
from blockmix.graph.reading.formats.other_tables import Lookalike, no_links
from blockmix.graph.reading.preamble import data_lines, excel_separator

_ARROWS = {
    b"->",
    b"-->",
    b"<-",
    b"<->",
    b"<-->",
    b"--",
    b"---",
    b"-",
    b"=>",
    b"<=>",
    "→".encode(),
    "—".encode(),
}
# Lines looked at. Those of an edge list have one number of columns, or two where the last one is often left out.
_LINES, _ADJACENCY_LENGTHS = 100, 3
# Share of the further columns that are labels of the first two, where labels are text.
_SAME_LABELS = 0.5
# With fewer lines a star, whose centre is in every one of them, would look the same.
_FEWEST_OF_A_KIND = 3


def lookalike(head: bytes, path: str, separator: int | None = None) -> Lookalike | None:
    """Return what the head of a file looks like if it is no edge list but could be read as one; else None.

    The separator is found where it is not given.

    >>> lookalike(b"a -> b\\nb -> c\\n", "").what
    'links with an arrow between the labels'
    >>> lookalike(b"a b c d\\nb c\\nc d e\\n", "").what
    'an adjacency list, a node and its neighbours a line'
    """
    lines = data_lines(head, _LINES)
    if not lines:
        return None
    try:
        separator = separator or excel_separator(head) or sniff_separator(lines, path, 1)
    except GraphFormatError:
        # The parser reports it with its line.
        return None
    rows = [split_fields(line, separator) for line in lines]
    if all(len(row) >= 3 and row[1] in _ARROWS for row in rows):
        return Lookalike(
            "links with an arrow between the labels",
            "Name the two columns with the labels: columns=(1, 3) (--columns 1,3).",
        )
    kind = _column_of_kinds(rows)
    if kind is not None:
        ends = [column + 1 for column in range(3) if column != kind]
        return Lookalike(
            f"links with their kind in column {kind + 1} ({readable(rows[-1][kind].decode(errors='replace'))})",
            f"Name the two columns with the labels: columns=({ends[0]}, {ends[1]}) (--columns {ends[0]},{ends[1]}); if "
            "the first two are the labels, columns=(1, 2) (--columns 1,2).",
        )
    if _is_adjacency_list(rows):
        return Lookalike(
            "an adjacency list, a node and its neighbours a line",
            "Read it with networkx.read_adjlist and give the graph to blockmix; if only the first two columns are "
            "labels, name them: columns=(1, 2) (--columns 1,2).",
        )
    return no_links(rows)


def _is_adjacency_list(rows: list[list[bytes]]) -> bool:
    """Return whether lines have many different lengths and what follows the second column is like labels."""
    if len({len(row) for row in rows}) < _ADJACENCY_LENGTHS:
        return False
    labels = {field for row in rows for field in row[:2]}
    further = [field for row in rows for field in row[2:]]
    if all(label.isdigit() for label in labels):
        return all(field.isdigit() for field in further)
    return sum(field in labels for field in further) >= _SAME_LABELS * len(further)


def _column_of_kinds(rows: list[list[bytes]]) -> int | None:
    """Return which of the first two columns has the kind of a link, as in SIF files, and no labels; else None.

    It has few values, all of them words that are in neither other column, and the other two columns share labels.
    """
    if len(rows) < _FEWEST_OF_A_KIND or any(len(row) < 3 for row in rows):
        return None
    if find_ends([field.decode(errors="replace") for field in rows[0]]) is not None:
        # The header says which columns have the labels.
        return None
    columns = [{row[i] for row in rows} for i in range(3)]
    for kind in (1, 0):
        first, second = (columns[i] for i in range(3) if i != kind)
        words = all(re.fullmatch(rb"[^\W\d][^\d]*", value) for value in columns[kind])
        few = len(columns[kind]) <= max(1, len(rows) // 10)
        if words and few and first & second and not columns[kind] & (first | second):
            return kind
    return None
