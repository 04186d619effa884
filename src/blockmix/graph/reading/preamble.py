"""The top of an edge list: byte-order mark, comments, declared counts, column names, separator.

A first line is skipped only where it cannot be a link: one lone number (a count), the size line behind a
`%%MatrixMarket` banner, words above nothing but integers, or the usual names of two columns. A line `N M` looks
like any link and is read as one; the summary points it out where its numbers fit the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from blockmix.errors import GraphFormatError, readable
from blockmix.graph.reading.dialect import (
    EXCEL_SEPARATOR,
    Dialect,
    are_words,
    excel_separator,
    find_ends,
    has_row_names,
    names_above,
    place_of,
    printable_line,
    sniff_separator,
    split_fields,
    texts,
    without_remark,
)
from blockmix.graph.reading.parser import ANY, BLANKS, COMMAS, TABS
from blockmix.graph.reading.source import BYTE_ORDER_MARK, Source

_HEAD_BYTES = 1 << 16
_MOST_HEAD_BYTES = 1 << 24
# So many lines are looked at to find the separator.
_SNIFFED_LINES = 20
_NODES = re.compile(rb"\b(?:nodes|vertices)\s*[:=]?\s*(\d{1,18})\b", re.IGNORECASE)
_EDGES = re.compile(rb"\b(?:edges|links)\s*[:=]?\s*(\d{1,18})\b", re.IGNORECASE)
_INTEGER = re.compile(rb"\d{1,18}")
_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# The begin of a column's name, and words that stand in a cell without a value.
_WORD, _NO_VALUE = re.compile(rb"[^\W\d]"), (b"na", b"nan", b"null", b"none", b"n/a", b"inf", b"missing")
_WEIGHT_NAMES = {"weight", "weights", "w"}


@dataclass(frozen=True)
class Pick:
    """Which columns hold the labels and the weight (-1 for none), counted from 0; the first two are not picked."""

    first: int
    second: int
    weight: int = -1
    merge: bool = False


@dataclass(frozen=True)
class Preamble:
    """Where the links start if all labels are integers: after the column names, if there are any."""

    top: int
    begin: int
    lines: int = 0
    lines_above: int = 0
    separator: int = BLANKS
    strict: bool = False
    header: str | None = None
    declared_nodes: int | None = None
    declared_edges: int | None = None
    matrix_size: int | None = None
    first_line: tuple[int, ...] = ()
    named: bool = False
    pick: Pick | None = None
    columns: tuple[str, ...] = ()
    n_columns: int = 2

    @property
    def integer_rule(self) -> int:
        """How integers are separated: blanks, tabs and commas as they come, unless the file or the user says more."""
        loose = not self.strict and self.separator in (BLANKS, TABS, COMMAS)
        picked = self.pick is not None
        return ANY if loose and not picked else self.picked_separator

    @property
    def picked_separator(self) -> int:
        """The separator of what the parser reads: columns that were picked from blanks are joined by tabs."""
        return TABS if self.pick is not None and self.separator == BLANKS else self.separator

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that are not used, by name, or else by number."""
        pick = self.pick or Pick(0, 1)
        used = {pick.first, pick.second, pick.weight}
        others = [i for i in range(self.n_columns) if i not in used]
        if self.columns:
            names = {i: readable(name) for i, name in enumerate(self.columns) if name}
            return tuple(names.get(i, f"column {i + 1}") for i in others)
        return tuple(f"column {i + 1}" for i in others)

    @property
    def weighted(self) -> bool:
        """Whether weights are read."""
        return self.pick is not None and self.pick.weight >= 0

    @property
    def has_weights(self) -> bool:
        """Whether a column that is not used has the name of weights."""
        return any(name.strip("'").lower() in _WEIGHT_NAMES for name in self.ignored)

    def as_text(self) -> Preamble:
        """Return the preamble of the same file if labels are text: words in the first line are then a link.

        Unless they are the usual names of two columns: `source,target` and the like.
        """
        if self.header is None or self.named:
            return self
        return replace(self, begin=self.top, lines=self.lines_above, header=None, columns=())


def read_preamble(source: Source, dialect: Dialect) -> Preamble:
    """Look at the first data line and everything above it."""
    size = _HEAD_BYTES
    while True:
        head = source.head(size)
        whole = len(head) < size
        begin, line, comments = first_data_line(head)
        if whole or begin + len(line) < len(head) or size >= _MOST_HEAD_BYTES:
            return _Judge(source.name, head, begin, line, comments, dialect).preamble()
        size *= 4


def first_data_line(head: bytes) -> tuple[int, bytes, list[bytes]]:
    """Return (offset, text with its line end) of the first line that is neither blank nor a comment."""
    begin = _top(head)
    comments: list[bytes] = []
    while begin < len(head):
        end = head.find(b"\n", begin) + 1 or len(head)
        line = head[begin:end]
        # Spreadsheets write an empty row as separators alone.
        text = line.strip(b" \t\r\n") if line.strip(b" \t\r\n,;|") else b""
        if text and text[:1] not in (b"#", b"%"):
            return begin, line, comments
        if text:
            comments.append(text)
        begin = end
    return begin, b"", comments


def _top(head: bytes) -> int:
    """Return where the lines begin: behind a byte-order mark, and a line that tells Excel the separator."""
    excel = EXCEL_SEPARATOR.match(head)
    if excel:
        return excel.end()
    return len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0


def data_lines(head: bytes, most: int = _SNIFFED_LINES) -> list[bytes]:
    """Return the first lines that are neither blank nor comments, without one that the end of `head` cuts."""
    found: list[bytes] = []
    begin, line, _ = first_data_line(head)
    while line and len(found) < most:
        if found and not line.endswith(b"\n"):
            break
        found.append(line)
        # A line feed before what is left: nothing but the first line of the file is a mark or names a separator.
        head = b"\n" + head[begin + len(line) :]
        begin, line, _ = first_data_line(head)
    return found


class _Judge:
    """Decides what the first data line is, from the head of the file and what the user says."""

    def __init__(
        self, path: str, head: bytes, begin: int, line: bytes, comments: list[bytes], dialect: Dialect
    ) -> None:
        self.path, self.head, self.begin, self.line, self.comments = path, head, begin, line, comments
        self.dialect = dialect
        self.above = head.count(b"\n", 0, begin)
        self.where: dict[str, Any] = {
            "path": path, "line": self.above + 1, "column": 1, "text": line.strip(b"\r\n"),
            "remedy": "Name the columns as the first line does, or count them from 1.",
        }  # fmt: skip

    def preamble(self) -> Preamble:
        top, named = _top(self.head), excel_separator(self.head)
        above = self.head.count(b"\n", 0, top)
        after = self.begin + len(self.line)
        nodes, edges = _declared(self.comments)
        found = Preamble(top, top, above, above, declared_nodes=nodes, declared_edges=edges)
        matrix = bool(self.comments) and self.comments[0].lower().startswith(b"%%matrixmarket")
        blank = split_fields(self.line, BLANKS)
        lone_count = _INTEGER.fullmatch(self.line.strip(b" \t\r\n")) is not None and after < len(self.head)
        skipped = matrix or (lone_count and not self.dialect.given)
        rest = self.head[after:] if skipped else self.head[self.begin :]
        lines = data_lines(rest)
        number = self.above + 1 + (1 if skipped else 0)
        given = self.dialect.separator or named
        separator = given or sniff_separator(lines, self.path, number)
        found = replace(found, separator=separator, strict=given is not None)
        if matrix:
            size, edges = _matrix_size(self.path, self.comments[0], blank, self.above + 1, self.line)
            found = replace(found, declared_nodes=size, declared_edges=edges, matrix_size=size)
        if skipped:
            fields = split_fields(lines[0], separator) if lines else []
            nodes = found.matrix_size if matrix else int(blank[0])
            if self.dialect.weights is not None:
                found = replace(found, pick=self._entry(fields, separator, number))
            return replace(
                found, begin=after, lines=self.above + 1, declared_nodes=nodes, n_columns=max(2, len(fields))
            )
        return self._with_columns(found, lines, after)

    def _entry(self, fields: list[bytes], separator: int, number: int) -> Pick:
        """Return the columns of an entry of a Matrix Market file: row, column and value, which is the weight."""
        if len(fields) < 3:
            raise GraphFormatError(
                "this Matrix Market file has no values, only places", path=self.path, line=number,
                remedy="Leave the weights out.",
            )  # fmt: skip
        return Pick(0, 1, 2, separator == BLANKS)

    def _with_columns(self, found: Preamble, lines: list[bytes], after: int) -> Preamble:
        separator = found.separator
        fields, merge = self._fields(lines, separator)
        fields, shifted = self._over_columns(fields, lines[1:], separator, merge)
        names = texts(fields)
        ends = self._ends(names, lines[1:], separator, merge)
        header = self.dialect.header
        above = names_above(self.comments, separator, len(fields))
        if above is not None and header is None and ends is None:
            header, names = False, texts(above)
            ends = find_ends(names)
            found = replace(found, columns=tuple(names))
        if header is None:
            named = (
                shifted
                or ends is not None
                or bool(self.dialect.by_name)
                or self._numbers_below(separator, fields, lines[1:])
            )
            header = bool(fields) and (named or are_words(self.line, fields[:2]))
        else:
            named = header
        if header and shifted and ends is None:
            ends = (1, 2)
        known = header or bool(found.columns)
        pick = self._pick(names if known else None, ends if known else None, len(fields), merge)
        found = replace(found, pick=pick, n_columns=len(fields))
        if header:
            return replace(
                found, begin=after, lines=self.above + 1, header=readable(self.line.strip(b"\r\n")),
                named=named, columns=tuple(names), n_columns=max(len(fields), _widest(lines[1:2], separator)),
            )  # fmt: skip
        if len(fields) in (2, 3) and all(_INTEGER.fullmatch(field) for field in fields):
            return replace(found, first_line=tuple(map(int, fields)))
        return found

    def _ends(
        self, names: list[str], others: list[bytes], separator: int, merge: bool
    ) -> tuple[int, int] | None:
        """Return the columns with the usual names of ends; none where another line has one of them as a label."""
        ends = find_ends(names) if printable_line(self.line) else None
        if ends is None or self.dialect.header is not None or self.dialect.by_name:
            return ends
        for line in others:
            row = texts(split_fields(line, separator, merge))
            if row != names and {names[i] for i in ends} & {row[i] for i in ends if i < len(row)}:
                return None
        return ends

    def _over_columns(
        self, fields: list[bytes], others: list[bytes], separator: int, merge: bool
    ) -> tuple[list[bytes], bool]:
        """Return the names of the columns, one without a name in front of row names, and whether there are such.

        R writes no name above row names. Other lines with more columns than names are an error, where the first line
        has the usual names or the user says that it has names: a label may hold the separator.
        """
        rows = [split_fields(line, separator, merge) for line in others]
        if len(fields) < 2 or not are_words(self.line, fields) or self.dialect.header is False:
            return fields, False
        quoted = all(line.lstrip(b" \t").startswith(b'"') for line in others)
        if has_row_names(fields, rows, quoted):
            return [b"", *fields], True
        widths = {len(without_remark(row)) - len(fields) for row in rows}
        named = bool(self.dialect.header) or find_ends(texts(fields)) is not None
        if named and widths and min(widths) > 1 and self.dialect.columns is None:
            at = self.head.find(others[0], self.begin + len(self.line))
            raise GraphFormatError(
                f"this line has {len(rows[0])} columns, and the first line names {len(fields)}",
                path=self.path, line=self.head.count(b"\n", 0, at) + 1, column=1, text=others[0].strip(b"\r\n"),
                remedy="Quote labels that hold the separator, or name the two columns with the labels by number: "
                "columns=(1, 2) (--columns 1,2).",
            )  # fmt: skip
        return fields, False

    def _numbers_below(self, separator: int, fields: list[bytes], others: list[bytes]) -> bool:
        """Return whether a column beside two words has a word in the first line and numbers in all others."""
        if not others or not are_words(self.line, fields[:2]):
            return False
        rows = [split_fields(line, separator) for line in others]
        return any(
            _WORD.match(field) is not None
            and field.lower() not in _NO_VALUE
            and all(len(row) > i and _DECIMAL.fullmatch(row[i]) for row in rows)
            for i, field in enumerate(fields[2:], 2)
        )

    def _fields(self, lines: list[bytes], separator: int) -> tuple[list[bytes], bool]:
        """Return the fields of the first line, and whether runs of the separator are one.

        Two tabs in a row are one where that gives the next line as many fields; otherwise there is an empty cell
        between them, as above the index that pandas writes.
        """
        fields = split_fields(self.line, separator)
        if separator != TABS:
            return fields, separator == BLANKS
        merged = split_fields(self.line, TABS, merge_tabs=True)
        if len(merged) == len(fields):
            return fields, False
        if len(lines) < 2 or len(split_fields(lines[1], TABS, merge_tabs=True)) == len(merged):
            return merged, True
        return fields, False

    def _pick(
        self, names: list[str] | None, ends: tuple[int, int] | None, count: int, merge: bool
    ) -> Pick | None:
        first, second = (0, 1) if ends is None else ends
        if self.dialect.columns is not None:
            first, second = (place_of(c, names, count, self.where) for c in self.dialect.columns)
        weight = -1
        if self.dialect.weights is not None:
            self._refuse_dictionary()
            weight = place_of(self.dialect.weights, names, count, self.where)
        if len({first, second, weight}) < 3:
            raise GraphFormatError("one column is named for two things", **self.where)
        if {first, second} == {0, 1} and weight < 0:
            return None
        return Pick(first, second, weight, merge)

    def _refuse_dictionary(self) -> None:
        if b" {" in self.line and isinstance(self.dialect.weights, str):
            raise GraphFormatError(
                "the weights are in dictionaries, as networkx.write_edgelist writes them",
                **{
                    **self.where,
                    "remedy": "Write them by networkx.write_weighted_edgelist, and name column 3.",
                },
            )


def _widest(lines: list[bytes], separator: int) -> int:
    return max((len(split_fields(line, separator)) for line in lines), default=0)


def _declared(comments: list[bytes]) -> tuple[int | None, int | None]:
    """Find counts stated in comments, as in `# Nodes: 5242 Edges: 14496`."""
    text = b"\n".join(comments[:100])
    nodes, edges = _NODES.search(text), _EDGES.search(text)
    return (int(nodes[1]) if nodes else None), (int(edges[1]) if edges else None)


def _matrix_size(path: str, banner: bytes, fields: list[bytes], number: int, line: bytes) -> tuple[int, int]:
    """Return nodes and entries of a Matrix Market coordinate file, which must be square."""
    where: dict[str, Any] = {"path": path, "line": number, "column": 1, "text": line.strip(b"\r\n")}
    if len(fields) < 3 or not all(_INTEGER.fullmatch(field) for field in fields[:3]):
        raise GraphFormatError(
            "the size line of a Matrix Market file is missing",
            **where,
            remedy="The first line behind the comments must read: rows columns entries.",
        )
    rows, columns, entries = (int(field) for field in fields[:3])
    if rows != columns:
        raise GraphFormatError(
            f"a {rows} by {columns} matrix is not an adjacency matrix",
            **where,
            remedy="Links join nodes of one set: rows and columns must be as many.",
        )
    if b"coordinate" not in banner.lower():
        raise GraphFormatError(
            "only Matrix Market files in coordinate format list links", **where,
            remedy="Write the matrix in coordinate format.",
        )  # fmt: skip
    return rows, entries
