"""How the lines of a table are to be split: what the user says about it, and what its first lines show.

Fields are split here as the parser splits them: quotes hold separators, blanks around a field do not count, runs of
blanks are one separator. Only blanks and tabs are blank: a vertical tab or a form feed is part of a label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from blockmix.errors import GraphFormatError, InputError, readable
from blockmix.graph.reading.parser import BLANKS, COMMAS, PIPES, SEMICOLONS, TABS

_SEPARATORS = {
    " ": BLANKS, "\t": TABS, ",": COMMAS, ";": SEMICOLONS, "|": PIPES,
    "blank": BLANKS, "tab": TABS, "comma": COMMAS, "semicolon": SEMICOLONS, "pipe": PIPES, "\\t": TABS,
}  # fmt: skip
NAMES = {BLANKS: "blanks", TABS: "tabs", COMMAS: "commas", SEMICOLONS: "semicolons", PIPES: "pipes"}
Column = str | int
# The column or attribute of weights that weights=True means.
USUAL_WEIGHTS = "weight"

# The first line that Excel reads for the separator, and writes in some countries.
EXCEL_SEPARATOR = re.compile(rb"(?:\xef\xbb\xbf)?\"?sep=([\t,;|])\"?\r?\n", re.IGNORECASE)

# Words that name the two ends of a link, each with its counterpart.
_ENDS = (
    ("source", "target"), ("from", "to"), ("src", "dst"), ("src", "dest"), ("sender", "receiver"),
    ("sender", "recipient"), ("caller", "callee"), ("origin", "destination"), ("citing", "cited"),
    ("follower", "followee"), ("quelle", "ziel"), ("von", "nach"), ("origen", "destino"), ("origine", "destination"),
)  # fmt: skip
# Words that do so where they are the whole name of a column.
_EXACT_ENDS = (
    ("subject", "object"), ("ego", "alter"), ("exporter", "importer"), ("reporter", "partner"), ("buyer", "seller"),
    ("lender", "borrower"), ("follower", "followed"), ("follower", "following"), ("orig", "dest"), ("tail", "head"),
    ("parent", "child"), ("source", "cible"), ("origem", "destino"), ("fuente", "destino"), ("van", "naar"),
)  # fmt: skip
# What Neo4j calls the ends of a relation: :START_ID(Person), _end.
_NEO4J = re.compile(r"(?:[:_](start|end)(?:_?id)?|(start|end)[_ ]?(?:id|node))(?:\(.*\))?")
# Words with 1 and 2, or A and B, behind them.
_NUMBERED = (
    re.compile(r"(node|vertex|person|user|id|actor|entity|member)[ _.-]?(?:id[ _.-]?)?([12ab])"),
    re.compile(r"([^\W\d_][^\d]+[^\W\d_])[ _.-]?([12]|(?<=[ _.-])[ab])"),
)
_LONGEST_NAME = 80
_NUMBER = re.compile(rb"[+-]?\.?\d")


@dataclass(frozen=True)
class Dialect:
    """What the user says about a table; None where blockmix is to find out.

    Columns are names of the header, or numbers counted from 1. `kind` is that of `graph.sides.making`.
    """

    separator: int | None = None
    header: bool | None = None
    columns: tuple[Column, Column] | None = None
    weights: Column | None = None
    kind: str | None = None

    @classmethod
    def checked(cls, sep: Any, header: Any, columns: Any, weights: Any) -> Dialect:
        """Return the dialect of the arguments of `read_graph`, or raise an `InputError` about the wrong one."""
        if sep is not None and (not isinstance(sep, str) or sep not in _SEPARATORS):
            raise InputError(
                f"sep={sep!r:.60}: the separator must be a blank, a tab, ',', ';' or '|' "
                "(or its name: blank, tab, comma, semicolon, pipe)"
            )
        if header is not None and not isinstance(header, bool):
            raise InputError(f"header={header!r:.60} must be True or False, or left out to find out")
        if columns is not None:
            columns = _two_columns(columns)
        if weights is False:
            weights = None
        if weights is not None:
            weights = USUAL_WEIGHTS if weights is True else _column("weights", weights)
            if columns is not None and weights in columns:
                raise InputError(f"weights={weights!r:.60} is a column of labels; name another one")
        return cls(None if sep is None else _SEPARATORS[sep], header, columns, weights)

    @property
    def given(self) -> dict[str, Any]:
        """What the user set, by the name of the argument."""
        values = {
            "sep": self.separator,
            "header": self.header,
            "columns": self.columns,
            "weights": self.weights,
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def by_name(self) -> list[str]:
        """The names of columns that the user gave."""
        return [column for column in (*(self.columns or ()), self.weights) if isinstance(column, str)]


def _two_columns(columns: Any) -> tuple[Column, Column]:
    if isinstance(columns, str) or not isinstance(columns, Sequence) or len(columns) != 2:
        raise InputError(f"columns={columns!r:.80} must be two columns, such as ('from', 'to') or (1, 3)")
    first, second = (_column("columns", column) for column in columns)
    if first == second:
        raise InputError(f"columns={columns!r:.80} names one column twice; a link needs two")
    return first, second


def _column(what: str, column: Any) -> Column:
    if isinstance(column, str) and column:
        return column
    if isinstance(column, int) and not isinstance(column, bool) and 1 <= column < 2**31:
        return column
    raise InputError(
        f"{what}: {column!r:.60} is not a column; give a name of the header, or a number counted from 1"
    )


def split_fields(line: bytes, separator: int, merge_tabs: bool = False) -> list[bytes]:
    """Split a line at its separator outside quotes; blanks around fields and quotes are removed.

    >>> split_fields(b'"Ann Lee" bob', BLANKS), split_fields(b'"a;b"; c;', SEMICOLONS)
    ([b'Ann Lee', b'bob'], [b'a;b', b'c', b''])
    """
    text = line.strip(b" \t\r\n") if separator == BLANKS or merge_tabs else line.strip(b" \r\n")
    fields: list[bytes] = []
    field = bytearray()
    quoted, was_quoted = False, False

    def end() -> None:
        nonlocal was_quoted
        if field or was_quoted or not (separator == BLANKS or merge_tabs):
            fields.append(bytes(field) if was_quoted else bytes(field).strip(b" \t"))
        field.clear()
        was_quoted = False

    i = 0
    while i < len(text):
        c = text[i]
        if c == 34 and not quoted and not bytes(field).strip(b" \t") and not was_quoted:
            quoted, was_quoted = True, True
            field.clear()
        elif c == 34 and quoted:
            if text[i + 1 : i + 2] == b'"':
                field.append(34)
                i += 1
            else:
                quoted = False
        elif not quoted and (c == separator or (separator == BLANKS and c == 9)):
            end()
        elif quoted or not was_quoted:
            field.append(c)
        i += 1
    end()
    return fields


def excel_separator(head: bytes) -> int | None:
    r"""Return the separator that a first line such as sep=; names, or None.

    >>> excel_separator(b"sep=;\r\nann;bob\r\n") == ord(";"), excel_separator(b"ann;bob")
    (True, None)
    """
    excel = EXCEL_SEPARATOR.match(head)
    return None if excel is None else excel[1][0]


def sniff_separator(lines: Sequence[bytes], path: str, number: int) -> int:
    """Return the separator of the first lines of a file.

    A tab outside quotes decides, then a comma in the first line, then a semicolon or pipe that splits every line into
    the same number of fields, at least two, or without which the first line has only one. Two of these that would
    both cut labels in two are an error: only the user knows. A comma behind a brace belongs to an attribute
    dictionary, as networkx writes it, and separates nothing.
    """
    if not lines:
        return BLANKS
    bare = re.sub(rb'"[^"]*"', b"", lines[0].strip(b" \t\r\n")).split(b"{")[0]
    if b"\t" in bare:
        return TABS
    one_word = len(split_fields(lines[0], BLANKS)) < 2
    found = [
        mark for mark in (COMMAS, SEMICOLONS, PIPES)
        if bytes([mark]) in bare and (mark == COMMAS or one_word or _splits_evenly(lines, mark))
    ]  # fmt: skip
    if len(found) <= 1:
        return found[0] if found else BLANKS
    clean = [mark for mark in found if not _cuts_labels(lines[0], mark, found)]
    if len(clean) == 1:
        return clean[0]
    listed = " or ".join(NAMES[mark] for mark in found)
    raise GraphFormatError(
        f"labels may be separated by {listed}",
        path=path,
        line=number,
        column=1,
        text=lines[0].strip(b"\r\n"),
        remedy="Say which one with sep (--sep).",
    )


def _splits_evenly(lines: Sequence[bytes], mark: int) -> bool:
    counts = {len(split_fields(line, mark)) for line in lines}
    return len(counts) == 1 and counts.pop() >= 2


def _cuts_labels(line: bytes, mark: int, marks: Sequence[int]) -> bool:
    """Return whether the first two fields by this mark hold another of the marks."""
    others = [bytes([other]) for other in marks if other != mark]
    return any(other in field for field in split_fields(line, mark)[:2] for other in others)


def find_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return which two columns are named as the ends of a link, or None.

    >>> find_ends(["id", "Source Person", "Target Person"]), find_ends(["ann", "bob"])
    ((1, 2), None)
    >>> find_ends(["weight", "node_a", "node_b"])
    (1, 2)
    """
    plain = [name.strip().lower() for name in names]
    exact = [{name} for name in plain]
    # FromNodeId is three words.
    words = [set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())) for name in names]
    for first, second in _ENDS:
        for found in (exact, words):
            one = [i for i, name in enumerate(found) if first in name]
            other = [i for i, name in enumerate(found) if second in name]
            if len(one) == len(other) == 1 and one != other:
                return one[0], other[0]
    for first, second in _EXACT_ENDS:
        if plain.count(first) == plain.count(second) == 1:
            return plain.index(first), plain.index(second)
    neo4j = [(end[1] or end[2], i) for i, name in enumerate(plain) if (end := _NEO4J.fullmatch(name))]
    if sorted(which for which, _ in neo4j) == ["end", "start"]:
        return dict(neo4j)["start"], dict(neo4j)["end"]
    return next(filter(None, (_numbered_ends(plain, pattern) for pattern in _NUMBERED)), None)


def repeated_end(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the usual name of an end that two columns have, and its counterpart that is there as well; else None.

    >>> repeated_end(["source", "source", "target"]), repeated_end(["source", "target"])
    (('source', 'target'), None)
    """
    plain = [name.strip().lower() for name in names]
    for pair in _ENDS:
        if min(map(plain.count, pair)) > 0 and max(map(plain.count, pair)) > 1:
            return pair if plain.count(pair[0]) > 1 else (pair[1], pair[0])
    return None


def _numbered_ends(names: Sequence[str], pattern: re.Pattern[str]) -> tuple[int, int] | None:
    """Return two columns with one name, of which the first ends in 1 or A and the second in 2 or B."""
    stems: dict[str, dict[str, int]] = {}
    for i, name in enumerate(names):
        numbered = pattern.fullmatch(name) if len(name) <= _LONGEST_NAME else None
        if numbered:
            stems.setdefault(numbered[1], {})[numbered[2]] = i
    for sides in stems.values():
        for pair in (("1", "2"), ("a", "b")):
            if pair[0] in sides and pair[1] in sides:
                return sides[pair[0]], sides[pair[1]]
    return None


def has_row_names(names: Sequence[bytes], rows: Sequence[Sequence[bytes]], quoted: bool) -> bool:
    """Return whether every line has one column more than names, with a name of the row in front, as R writes tables.

    Row names are all different. R quotes them; where these are not quoted, the next two columns must share labels that
    are no row names.

    >>> has_row_names([b"from", b"to"], [[b"1", b"ann", b"bob"], [b"2", b"bob", b"cem"]], False)
    True
    """
    if not rows or any(len(without_remark(row)) != len(names) + 1 for row in rows):
        return False
    first, second, third = ({row[i] for row in rows} for i in range(3))
    if len(first) < len(rows):
        return False
    return quoted or (not first & (second | third) and bool(second & third))


def without_remark(row: Sequence[bytes]) -> Sequence[bytes]:
    """Return the fields before a # that begins a remark, without empty ones at the end."""
    end = next((i for i, field in enumerate(row) if field.startswith(b"#")), len(row))
    while end and not row[end - 1]:
        end -= 1
    return row[:end]


def place_of(column: Column, names: Sequence[str] | None, count: int, where: dict[str, Any]) -> int:
    """Return the place, from 0, of a column that the user named; `where` are the arguments of the error."""
    if isinstance(column, int):
        if column <= count:
            return column - 1
        raise GraphFormatError(f"there is no column {column}: this line has {count}", **where)
    if names is None:
        raise GraphFormatError(
            f"there is no column {readable(column)}: the file has no column names", **where,
        )  # fmt: skip
    exact = [i for i, name in enumerate(names) if name == column]
    found = exact or [i for i, name in enumerate(names) if name.strip().lower() == column.strip().lower()]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(readable(name) for name in names[:20])
    problem = "is there more than once" if found else "is not there"
    raise GraphFormatError(f"the column {readable(column)} {problem}; the columns are: {listed}", **where)


def names_above(comments: list[bytes], separator: int, count: int) -> list[bytes] | None:
    """Return the names of so many columns in the last comment above the links, where two name the ends of a link.

    >>> names_above([b"# made by x", b"# time source target"], BLANKS, 3)
    [b'time', b'source', b'target']
    """
    fields = split_fields(comments[-1].lstrip(b"#% \t"), separator) if comments else []
    return fields if len(fields) == count and find_ends(texts(fields)) is not None else None


def texts(fields: Sequence[bytes]) -> list[str]:
    """Return fields as text, whatever bytes they hold."""
    return [field.decode("utf-8", errors="replace") for field in fields]


def printable_line(line: bytes) -> bool:
    """Return whether a line is text without control characters."""
    try:
        return line.strip(b"\r\n").replace(b"\t", b" ").decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False


def are_words(line: bytes, fields: list[bytes]) -> bool:
    """Return whether these could be column names: readable text, none of it a number of any spelling."""
    words = all(fields) and not any(_NUMBER.match(field) for field in fields)
    return words and printable_line(line)
