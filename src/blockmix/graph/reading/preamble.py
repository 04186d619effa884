"""The top of an edge list: byte-order mark, comments, declared counts, column names.

A first line is skipped only where it cannot be a link: one lone number (a count), the size line behind a
`%%MatrixMarket` banner, words above nothing but integers, or the usual names of two columns. A line `N M` looks
like any link and is read as one; the summary points it out where its numbers fit the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from blockmix.errors import GraphFormatError, readable
from blockmix.graph.reading.parser import BLANKS, COMMAS, TABS
from blockmix.graph.reading.source import Source

_HEAD_BYTES = 1 << 16
_MOST_HEAD_BYTES = 1 << 24
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NODES = re.compile(rb"\b(?:nodes|vertices)\s*[:=]?\s*(\d{1,18})\b", re.IGNORECASE)
_EDGES = re.compile(rb"\b(?:edges|links)\s*[:=]?\s*(\d{1,18})\b", re.IGNORECASE)
_NUMBER = re.compile(rb"[+-]?\.?\d")
_INTEGER = re.compile(rb"\d{1,18}")
# How files of other formats begin; read as links they would give a small and wrong network.
_OTHER_FORMATS = (
    (re.compile(rb"<(\?xml|graphml|gexf)\b", re.IGNORECASE), "XML, such as GraphML or GEXF"),
    (re.compile(rb"(graph|digraph)\s*\[|(graph|digraph)\s+\w*\s*\{", re.IGNORECASE), "GML or DOT"),
    (re.compile(rb"\*vertices\b", re.IGNORECASE), "Pajek"),
)
_COLUMN_NAMES = (
    {b"source", b"target"},
    {b"from", b"to"},
    {b"src", b"dst"},
    {b"src", b"dest"},
    {b"node1", b"node2"},
    {b"node_a", b"node_b"},
)


@dataclass(frozen=True)
class Preamble:
    """Where the links start if all labels are integers: after the column names, if there are any."""

    top: int
    begin: int
    lines: int = 0
    separator: int = BLANKS
    header: str | None = None
    declared_nodes: int | None = None
    declared_edges: int | None = None
    matrix_size: int | None = None
    first_pair: tuple[int, int] | None = None
    named: bool = False

    def as_text(self) -> Preamble:
        """Return the preamble of the same file if labels are text: words in the first line are then a link.

        Unless they are the usual names of two columns: `source,target` and the like.
        """
        if self.header is None or self.named:
            return self
        return replace(self, begin=self.top, lines=0, header=None)


def read_preamble(source: Source) -> Preamble:
    """Look at the first data line and everything above it."""
    size = _HEAD_BYTES
    while True:
        head = source.head(size)
        whole = len(head) < size
        begin, line, comments = _first_data_line(head)
        if whole or begin + len(line) < len(head) or size >= _MOST_HEAD_BYTES:
            return _judge(source.path, head, begin, line, comments)
        size *= 4


def _first_data_line(head: bytes) -> tuple[int, bytes, list[bytes]]:
    """Return (offset, text with its line end) of the first line that is neither blank nor a comment."""
    begin = 3 if head.startswith(_BYTE_ORDER_MARK) else 0
    comments: list[bytes] = []
    while begin < len(head):
        end = head.find(b"\n", begin) + 1 or len(head)
        line = head[begin:end]
        text = line.strip(b" \t\r\n")
        if text and text[:1] not in (b"#", b"%"):
            return begin, line, comments
        if text:
            comments.append(text)
        begin = end
    return begin, b"", comments


def _judge(path: Path, head: bytes, begin: int, line: bytes, comments: list[bytes]) -> Preamble:
    above = head.count(b"\n", 0, begin)
    _refuse_other_formats(path, line, above + 1)
    after = begin + len(line)
    separator = _separator(line)
    tokens = _tokens(line, separator)
    nodes, edges = _declared(comments)
    size = None
    if comments and comments[0].lower().startswith(b"%%matrixmarket"):
        size, edges = _matrix_size(path, comments[0], tokens, above + 1, line)
        nodes = size
    lone_count = len(tokens) == 1 and _INTEGER.fullmatch(tokens[0]) and after < len(head)
    top = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0
    found = Preamble(top, top, 0, separator, None, nodes, edges, size)
    if size is not None or lone_count:
        next_line = _first_data_line(head[after:])[1]
        nodes = size if size is not None else int(tokens[0])
        return replace(
            found, begin=after, lines=above + 1, separator=_separator(next_line), declared_nodes=nodes
        )
    if tokens and _are_words(line, tokens[:2]):
        _check_column_names(path, tokens, above + 1, line)
        named = {token.lower() for token in tokens[:2]} in _COLUMN_NAMES
        return replace(found, begin=after, lines=above + 1, header=readable(line.strip(b"\r\n")), named=named)
    if len(tokens) == 2 and all(_INTEGER.fullmatch(t) for t in tokens):
        return replace(found, first_pair=(int(tokens[0]), int(tokens[1])))
    return found


def _refuse_other_formats(path: Path, line: bytes, number: int) -> None:
    text = line.strip()
    for start, name in _OTHER_FORMATS:
        if start.match(text):
            raise GraphFormatError(
                f"this is no list of links but looks like {name}",
                path=path,
                line=number,
                column=1,
                text=text,
                remedy="Read it with networkx and use Graph.from_networkx, or export an edge list.",
            )


def _are_words(line: bytes, tokens: list[bytes]) -> bool:
    """Return whether these could be column names: readable text, none of it a number of any spelling."""
    try:
        printable = line.strip(b"\r\n").replace(b"\t", b" ").decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False
    return printable and all(tokens) and not any(_NUMBER.match(token) for token in tokens)


def _separator(line: bytes) -> int:
    """Return how text labels are separated: by the first tab or comma outside quotes, otherwise by blanks.

    A comma behind a brace belongs to an attribute dictionary, as networkx writes it, and separates nothing.
    """
    bare = re.sub(rb'"[^"]*"', b"", line.strip(b" \t\r\n")).split(b"{")[0]
    if b"\t" in bare:
        return TABS
    return COMMAS if b"," in bare else BLANKS


def _tokens(line: bytes, separator: int) -> list[bytes]:
    text = line.strip(b" \t\r\n")
    if separator == BLANKS:
        parts = text.split()
    else:
        parts = text.split(b"\t" if separator == TABS else b",")
    return [part.strip(b' \t"') for part in parts]


def _declared(comments: list[bytes]) -> tuple[int | None, int | None]:
    """Find counts stated in comments, as in `# Nodes: 5242 Edges: 14496`."""
    text = b"\n".join(comments[:100])
    nodes, edges = _NODES.search(text), _EDGES.search(text)
    return (int(nodes[1]) if nodes else None), (int(edges[1]) if edges else None)


def _matrix_size(path: Path, banner: bytes, tokens: list[bytes], number: int, line: bytes) -> tuple[int, int]:
    """Return nodes and entries of a Matrix Market coordinate file, which must be square."""
    where = {"path": path, "line": number, "column": 1, "text": line.strip(b"\r\n")}
    if b"coordinate" not in banner.lower():
        raise GraphFormatError(
            "only Matrix Market files in coordinate format list links",
            path=path,
            line=1,
            column=1,
            text=banner,
            remedy="Write the matrix in coordinate format.",
        )
    if len(tokens) < 3 or not all(_INTEGER.fullmatch(t) for t in tokens[:3]):
        raise GraphFormatError(
            "the size line of a Matrix Market file is missing",
            **where,  # type: ignore[arg-type]
            remedy="The first line behind the comments must read: rows columns entries.",
        )
    rows, columns, entries = (int(t) for t in tokens[:3])
    if rows != columns:
        raise GraphFormatError(
            f"a {rows} by {columns} matrix is not an adjacency matrix",
            **where,  # type: ignore[arg-type]
            remedy="Links join nodes of one set: rows and columns must be as many.",
        )
    return rows, entries


def _check_column_names(path: Path, tokens: list[bytes], number: int, line: bytes) -> None:
    """Refuse a table whose named ends of a link are not its first two columns: it would be misread."""
    names = [token.lower() for token in tokens]
    for pair in _COLUMN_NAMES:
        if pair <= set(names) and set(names[:2]) != pair:
            raise GraphFormatError(
                "the labels of a link must be the first two columns",
                path=path,
                line=number,
                column=1,
                text=line.strip(b"\r\n"),
                remedy="Reorder the columns, or load the table with pandas and use Graph.from_pandas.",
            )
