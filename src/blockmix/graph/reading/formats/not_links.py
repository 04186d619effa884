"""Lists of lines that look like an edge list and are none: links with an arrow or a word beside them, adjacency lists.

Read as two labels a line they would give a wrong network without an error. `other_tables` has those that are tables.
"""

from __future__ import annotations

import re
import string
from pathlib import PurePath

from blockmix.errors import GraphFormatError, readable
from blockmix.graph.reading.dialect import (
    excel_separator,
    find_ends,
    names_above,
    sniff_separator,
    split_fields,
)
from blockmix.graph.reading.formats.other_tables import Lookalike, no_links
from blockmix.graph.reading.preamble import data_lines, first_data_line

# Arrows that are no marks of ASCII, and those marks, of which any run joins two labels: ->, &, |, =.
_ARROWS = {"→".encode(), "←".encode(), "↔".encode(), "—".encode(), "–".encode()}
_MARKS = frozenset(string.punctuation.encode()) - frozenset(b"\"'#%@_")
# Lines looked at. Those of an edge list have one number of columns, or two where the last one is often left out.
_LINES, _ADJACENCY_LENGTHS = 100, 3
# Share of the further columns that are labels of the first two, where labels are text.
_SAME_LABELS = 0.5
# With fewer lines a star, whose centre is in every one of them, would look the same.
_FEWEST_OF_A_KIND = 3


def lookalike(
    head: bytes, path: str, separator: int | None = None, bipartite: bool = False
) -> Lookalike | None:
    """Return what the head of a file looks like if it is no edge list but could be read as one; else None.

    The separator is found where it is not given; a network that the user calls `bipartite` has two kinds of labels.

    >>> lookalike(b"a -> b\\nb -> c\\n", "").what
    "links with an arrow or the like between the labels ('->')"
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
    above = names_above(first_data_line(head)[2], separator, len(rows[0]))
    rows = rows if above is None else [above, *rows]
    arrow = _column_of_arrows(rows)
    if arrow is not None:
        return Lookalike(
            f"links with an arrow or the like between the labels ({readable(rows[0][arrow].decode(errors='replace'))})",
            f"Name the two columns with the labels: columns=({arrow}, {arrow + 2}) (--columns {arrow},{arrow + 2}).",
        )
    kind = _column_of_kinds(rows, PurePath(path).suffix.lower() == ".sif")
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
    return no_links(rows, bipartite)


def _is_adjacency_list(rows: list[list[bytes]]) -> bool:
    """Return whether lines have many different lengths and what follows the second column is like labels."""
    if len({len(row) for row in rows}) < _ADJACENCY_LENGTHS:
        return False
    labels = {field for row in rows for field in row[:2]}
    further = [field for row in rows for field in row[2:]]
    if all(label.isdigit() for label in labels):
        return all(field.isdigit() for field in further)
    return sum(field in labels for field in further) >= _SAME_LABELS * len(further)


def _column_of_arrows(rows: list[list[bytes]]) -> int | None:
    """Return which column, from 0, holds nothing but arrows or marks between two labels; None where there is none.

    It is the second, or behind a number of the line the third, whose neighbours then share labels.
    """
    if all(len(row) >= 3 and _is_arrow(row[1]) for row in rows):
        return 1
    if len(rows) > 1 and all(len(row) >= 4 and _is_arrow(row[2]) for row in rows):
        return 2 if {row[1] for row in rows} & {row[3] for row in rows} else None
    return None


def _is_arrow(field: bytes) -> bool:
    return bool(field) and (field in _ARROWS or all(byte in _MARKS for byte in field))


def _column_of_kinds(rows: list[list[bytes]], sif: bool = False) -> int | None:
    """Return which of the first two columns has the kind of a link, as in SIF files, and no labels; else None.

    It has few values, all of them words that are in neither other column, and the other two columns share labels: with
    more than a few values, as many as half of the labels of one of them. A file called .sif has kinds in its second.
    """
    if sif and all(len(row) >= 3 for row in rows):
        return 1
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
        shared = len(first & second)
        # Behind a word, whole numbers may be a label and a weight.
        half = shared >= max(2, _SAME_LABELS * min(len(first), len(second))) and not (
            kind == 0 and all(value.isdigit() for value in second)
        )
        alike = (few and shared) or (half and len(columns[kind]) <= len(rows) // 2)
        if words and alike and not columns[kind] & (first | second):
            return kind
    return None
