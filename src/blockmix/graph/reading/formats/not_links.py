"""Lists of lines that look like an edge list and are none: links written with arrows, and adjacency lists.

Read as two labels a line they would give a wrong network without an error.
"""

from __future__ import annotations

from typing import NamedTuple

from blockmix.errors import GraphFormatError
from blockmix.graph.reading.dialect import sniff_separator, split_fields
from blockmix.graph.reading.parser import BLANKS
from blockmix.graph.reading.preamble import data_lines

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


class Lookalike(NamedTuple):
    """What a file looks like, and what to do."""

    what: str
    remedy: str


def lookalike(head: bytes, path: str) -> Lookalike | None:
    """Return what the head of a file looks like if it is no edge list but could be read as one; else None.

    >>> lookalike(b"a -> b\\nb -> c\\n", "").what
    'links with an arrow between the labels'
    >>> lookalike(b"a b c d\\nb c\\nc d e\\n", "").what
    'an adjacency list, a node and its neighbours a line'
    """
    lines = data_lines(head, _LINES)
    if not lines:
        return None
    try:
        separator = sniff_separator(lines, path, 1)
    except GraphFormatError:
        # The parser reports it with its line.
        return None
    rows = [split_fields(line, separator) for line in lines]
    if separator == BLANKS and all(len(row) >= 3 and row[1] in _ARROWS for row in rows):
        return Lookalike(
            "links with an arrow between the labels",
            "Name the two columns with the labels: columns=(1, 3) (--columns 1,3).",
        )
    if _is_adjacency_list(rows):
        return Lookalike(
            "an adjacency list, a node and its neighbours a line",
            "Read it with networkx.read_adjlist and give the graph to blockmix; if only the first two columns are "
            "labels, name them: columns=(1, 2) (--columns 1,2).",
        )
    return None


def _is_adjacency_list(rows: list[list[bytes]]) -> bool:
    """Return whether lines have many different lengths and what follows the second column is like labels."""
    if len({len(row) for row in rows}) < _ADJACENCY_LENGTHS:
        return False
    labels = {field for row in rows for field in row[:2]}
    further = [field for row in rows for field in row[2:]]
    if all(label.isdigit() for label in labels):
        return all(field.isdigit() for field in further)
    return sum(field in labels for field in further) >= _SAME_LABELS * len(further)
