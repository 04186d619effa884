"""What may be wrong with a list of links that could be read: remarks for the summary, no errors.

Column names that are not recognised become two nodes, linked to each other alone; lines that begin with # are skipped.
All are links like any other, and only the user knows. `label_doubts` has what labels may not have meant.
"""

from __future__ import annotations

import re
from dataclasses import replace

from blockmix.errors import GraphFormatError, readable
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.reading.dialect import excel_separator, find_ends, sniff_separator, split_fields
from blockmix.graph.reading.formats.label_doubts import about_labels, odd_word, odd_words
from blockmix.graph.reading.preamble import data_lines, first_data_line

# Lines between links that are comments, and look like labels rather than like text.
_HASHTAG = re.compile(rb"[ \t]*[#%][^\s#%,;|][^\s,;|]*[ \t]*[\s,;|][ \t]*[^\s,;|]+[ \t]*\r?$")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# So many lines at the top of a file are looked at.
_LINES = 100
# A list this short may well begin with a pair of its own.
FEWEST_LINKS = 3


def with_doubts(graph: Graph, header_unknown: bool, head: bytes = b"") -> Graph:
    """Return the network with remarks in its summary about what the file, which begins with `head`, may not have meant.

    >>> graph = Graph.from_edges([("sender", "to"), ("ann", "nan"), ("ann", "bob"), ("bob", "cem")])
    >>> print("; ".join(with_doubts(graph, True).summary.notes).replace("; ", chr(10)))
    'sender' and 'to' in the first line occur nowhere else: if they name columns, say header=True (--header)
    a node is called 'nan' (1 link): if these cells have no value, remove their lines
    """
    labels = graph.labels if graph.sides is None else graph.sides.plain_labels(graph.labels)
    if graph.summary is None:
        return graph
    notes = _values_of_no_links(graph, head)
    if labels.kind == "text":
        notes = [
            *(_unknown_header(graph) if header_unknown and graph.sides is None else []),
            *_odd_words(graph, labels),
            *about_labels(labels),
            *_skipped_labels(head),
            *_repeated_header(graph, labels, head),
            *notes,
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


def _repeated_header(graph: Graph, labels: Labels, head: bytes) -> list[str]:
    """Say that the column names occur again among the links, as where files were joined, or are labels."""
    if graph.summary is None or graph.summary.header is None:
        return []
    begin, line, _ = first_data_line(head)
    again = head.find(b"\n" + line.strip(b"\r\n"), begin + len(line) - 1)
    if again >= 0 and head[again + 1 :].split(b"\n", 1)[0].strip(b"\r") == line.strip(b"\r\n"):
        number = head.count(b"\n", 0, again + 1) + 1
        return [f"line {number:,} has the column names again, and is read as a link: remove it if it is none"]
    names = _ends_of(head)
    for name, known in zip(names, labels.known(names), strict=True):
        if known:
            return [
                f"the first line was taken as column names, but {readable(name)} is the label of a node as well: if it "
                "is a link, say header=False (--no-header)"
            ]
    return []


def _values_of_no_links(graph: Graph, head: bytes) -> list[str]:
    """Say that a third column, which is not used, has zeros or negative numbers: such pairs may be no links."""
    if graph.weights is not None or graph.summary is None:
        return []
    lines = data_lines(head, _LINES)[0 if graph.summary.header is None else 1 :]
    try:
        separator = excel_separator(head) or sniff_separator(lines, "", 1)
    except GraphFormatError:
        return []
    rows = [split_fields(line, separator) for line in lines]
    if not rows or not all(len(row) == 3 and _NUMBER.fullmatch(row[2]) for row in rows):
        return []
    wrong = next((row[2] for row in rows if float(row[2]) <= 0.0), None)
    if wrong is None:
        return []
    return [
        f"column 3 has values such as {wrong.decode()}: every line is a link, whatever stands there; remove the lines "
        "of pairs that are not linked"
    ]


def _ends_of(head: bytes) -> list[str]:
    """Return the names of the two columns of labels, where they are usual ones."""
    lines = data_lines(head)
    try:
        fields = (
            split_fields(lines[0], excel_separator(head) or sniff_separator(lines, "", 1)) if lines else []
        )
    except GraphFormatError:
        # The user named the separator.
        return []
    names = [field.decode("utf-8", errors="replace") for field in fields]
    ends = find_ends(names)
    return [] if ends is None else [names[i] for i in ends]


def _odd_words(graph: Graph, labels: Labels) -> list[str]:
    offsets, text = labels.text_offsets, labels.text
    assert offsets is not None
    assert text is not None
    found = odd_words(offsets, text)
    if graph.sides is None:
        return [odd_word(word, int(graph.degrees[node])) for word, node in found]
    plain = graph.sides.plain(graph.labels) if found else []
    degrees = graph.degrees.tolist()
    return [
        odd_word(word, sum(d for name, d in zip(plain, degrees, strict=True) if name == word))
        for word, _ in found
    ]


def unknown_header(first: str, second: str) -> str:
    """Return the remark about a first line that may name columns."""
    return (
        f"{readable(first)} and {readable(second)} in the first line occur nowhere else: if they name columns, say "
        "header=True (--header)"
    )
