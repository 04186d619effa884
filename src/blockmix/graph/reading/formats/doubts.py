"""What may be wrong with a list of links that could be read: remarks for the summary, no errors.

Column names that are not recognised become two nodes, linked to each other alone; cells without a value become a node
called "nan"; one name written in two ways becomes two nodes. All are links like any other, and only the user knows.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import readable
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.reading.preamble import first_data_line

# What programs write into a cell without a value.
NO_VALUE = ("nan", "NaN", "NAN", "null", "NULL", "None", "NA", "N/A", "#N/A", "<NA>", "undefined")
# Lines between links that are comments, and look like labels rather than like text.
_HASHTAG = re.compile(rb"[ \t]*[#%][^\s#%,;|][^\s,;|]*[ \t]*[\s,;|][ \t]*[^\s,;|]+[ \t]*\r?$")
# A list this short may well begin with a pair of its own.
FEWEST_LINKS = 3
# Labels are compared in networks of up to so many nodes: a tenth of a second.
MOST_COMPARED = 50_000


def with_doubts(graph: Graph, header_unknown: bool, head: bytes = b"") -> Graph:
    """Return the network with remarks in its summary about what the file, which begins with `head`, may not have meant.

    >>> graph = Graph.from_edges([("sender", "to"), ("ann", "nan"), ("ann", "bob"), ("bob", "cem")])
    >>> print("; ".join(with_doubts(graph, True).summary.notes).replace("; ", chr(10)))
    'sender' and 'to' in the first line occur nowhere else: if they name columns, say header=True (--header)
    a node is called 'nan' (1 link): if these cells have no value, remove their lines
    """
    if graph.summary is None or graph.labels.kind != "text" or graph.sides is not None:
        return graph
    notes = [
        *(_unknown_header(graph) if header_unknown else []),
        *_missing_values(graph),
        *alike(graph.labels),
        *_skipped_labels(head),
        *_repeated_header(graph, head),
    ]
    return (
        replace(graph, summary=replace(graph.summary, notes=(*graph.summary.notes, *notes)))
        if notes
        else graph
    )


def _unknown_header(graph: Graph) -> list[str]:
    """Text labels are numbered by first appearance: the first line is that of nodes 0 and 1."""
    degrees = graph.degrees
    if graph.n_edges < FEWEST_LINKS or degrees[0] != 1 or degrees[1] != 1 or graph.neighbors_of(0)[0] != 1:
        return []
    return [unknown_header(str(graph.labels[0]), str(graph.labels[1]))]


def _skipped_labels(head: bytes) -> list[str]:
    """Name lines between the links that are skipped as comments but may be links of hashtags."""
    begin, _, _ = first_data_line(head)
    found = [line for line in head[begin:].split(b"\n") if _HASHTAG.match(line)]
    if not found:
        return []
    shown = readable(found[0].decode("utf-8", errors="replace").strip()[:60])
    lines = "1 line is" if len(found) == 1 else f"{len(found):,} lines are"
    return [f"{lines} skipped as comments, such as {shown}: a label that begins with # or % needs quotes"]


def _repeated_header(graph: Graph, head: bytes) -> list[str]:
    """Say that the column names occur again among the links, as where files were joined."""
    if graph.summary is None or graph.summary.header is None:
        return []
    begin, line, _ = first_data_line(head)
    again = head.find(line.strip(b"\r\n") + b"\n", begin + len(line))
    if again < 0 or head[again - 1 : again] != b"\n":
        return []
    number = head.count(b"\n", 0, again) + 1
    return [f"line {number:,} has the column names again, and is read as a link: remove it if it is none"]


def _missing_values(graph: Graph) -> list[str]:
    offsets, text = graph.labels.text_offsets, graph.labels.text
    assert offsets is not None
    assert text is not None
    return [missing_value(word, int(graph.degrees[node])) for word, node in no_values(offsets, text)]


def no_values(offsets: NDArray[np.int64], text: NDArray[np.uint8]) -> list[tuple[str, int]]:
    """Return the labels among these that stand for a cell without a value, and which of them they are."""
    lengths = np.diff(offsets)
    found = []
    for word in NO_VALUE:
        same = np.flatnonzero(lengths == len(word))
        for letter, byte in enumerate(word.encode()):
            same = same[text[offsets[same] + letter] == byte]
        found += [(word, int(node)) for node in same]
    return found


def missing_value(word: str, degree: int) -> str:
    """Return the remark about a node whose label stands for a cell without a value."""
    return f"a node is called {word!r} ({_links(degree)}): if these cells have no value, remove their lines"


def unknown_header(first: str, second: str) -> str:
    """Return the remark about a first line that may name columns."""
    return (
        f"{readable(first)} and {readable(second)} in the first line occur nowhere else: if they name columns, say "
        "header=True (--header)"
    )


def alike(labels: Labels) -> list[str]:
    """Name labels that differ only in capital letters, in blanks or in how characters are encoded."""
    if len(labels) > MOST_COMPARED:
        return []
    first: dict[str, str] = {}
    pairs = []
    for label in map(str, labels):
        other = first.setdefault(_as_read(label), label)
        if other != label:
            pairs.append((other, label))
    if not pairs:
        return []
    count = "one label looks" if len(pairs) == 1 else f"{len(pairs):,} labels look"
    # Codes of characters that are not ASCII show what differs where the characters look the same.
    one, other = (readable(label.encode("unicode_escape").decode()) for label in pairs[0])
    return [
        f"{count} like another one, as {one} and {other}: if they are one node, write them in the same way"
    ]


def _as_read(label: str) -> str:
    """Return what a reader sees in a label: without case, blanks at its ends, and what is not shown.

    >>> _as_read(" Ann  Lee") == _as_read("ann lee\\u200b"), _as_read("e\\u0301") == _as_read("\\u00e9")
    (True, True)
    """
    if not label.isascii():
        label = unicodedata.normalize("NFKC", label)
        label = "".join(c for c in label if unicodedata.category(c) != "Cf")
    return " ".join(label.casefold().split())


def _links(count: int) -> str:
    return "1 link" if count == 1 else f"{count:,} links"
