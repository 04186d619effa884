"""Node tables: the labels of nodes, so that isolated ones are part of the network, and what is known about them.

A file with one label a line is a list: a whole line is one label. A file whose first line has a tab, or names its
first column id, node, label or the like and has another separator, is a table with column names: the column named
so, or the first one, holds the labels, and the others are attributes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError, readable
from blockmix.graph.attributes import NodeTable
from blockmix.graph.edges import node_labels
from blockmix.graph.labels import canonical_integer
from blockmix.graph.reading.compression import BESIDE
from blockmix.graph.reading.dialect import split_fields
from blockmix.graph.reading.opening import FileLike, is_file_object
from blockmix.graph.reading.parser import COMMAS, PIPES, SEMICOLONS, TABS
from blockmix.graph.reading.source import Source

ID_NAMES = ("id", ":id", "~id", "node", "node_id", "nodeid", "label", "name", "vertex", "key")
_MOST_COLUMNS = 1000


@dataclass(frozen=True, eq=False)
class NodeList:
    """Labels of nodes, and a table of attributes in the same order; `source` and `id_column` are for the summary."""

    labels: NDArray[Any]
    table: NodeTable | None = None
    source: str = "nodes"
    id_column: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Say what was read."""
        if self.table is None:
            return ()
        listed = ", ".join(map(readable, self.table)) or "none"
        return (
            f"node table {self.source}: labels from {readable(self.id_column or '')}; attributes: {listed}",
        )


def read_nodes(given: Any) -> NodeList:
    """Return labels and attributes from a file, a data frame, a mapping of columns, or a sequence of labels."""
    if isinstance(given, str | os.PathLike) or is_file_object(given):
        return _read_file(cast(FileLike, given))
    columns = getattr(given, "columns", None)
    if columns is not None and not isinstance(given, np.ndarray):
        return _from_columns({str(name): given[name] for name in columns}, "data frame")
    if isinstance(given, Mapping):
        return _from_columns({str(name): values for name, values in given.items()}, "mapping")
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InputError(f"nodes must be labels, a table or a file of them, not {given!r:.80}")
    return NodeList(node_labels(given, "nodes"))


def _from_columns(columns: dict[str, Any], source: str) -> NodeList:
    if not columns:
        raise InputError("nodes: the table has no columns; give one with the labels of the nodes")
    id_column = _id_column(list(columns))
    ids = columns.pop(id_column)
    labels = node_labels(ids.to_numpy() if hasattr(ids, "to_numpy") else ids, f"nodes, column {id_column!r}")
    values = {
        name: column.to_list() if hasattr(column, "to_list") else column for name, column in columns.items()
    }
    _refuse_repeats(labels, source)
    return NodeList(labels, NodeTable.of(values, len(labels)), source, id_column)


def _id_column(names: list[str]) -> str:
    """Return the column that holds the labels: by its name, else the first one."""
    plain = {name.strip().lower(): name for name in reversed(names)}
    return next((plain[known] for known in ID_NAMES if known in plain), names[0])


def _refuse_repeats(labels: NDArray[Any], source: str) -> None:
    seen: set[Any] = set()
    for label in labels.tolist():
        if label in seen:
            raise InputError(f"{source}: the node {readable(str(label))} has two rows; keep one of them")
        seen.add(label)


def _read_file(given: FileLike) -> NodeList:
    with Source(given, bounds=BESIDE) as source:
        separator: int | None = None
        names: list[str] = []
        rows: list[list[str]] = []
        labels: list[str] = []
        place = 0
        for number, line in source.lines():
            text = line.strip(b" \t") if not names else line
            blank = not line.strip(b" \t" if separator is None else b" \t,;|")
            if blank or text[:1] in (b"#", b"%"):
                continue
            if not labels and not names:
                separator = _table_separator(text)
                if separator is not None:
                    names = _names(source.name, number, line, separator)
                    place = names.index(_id_column(names))
                    continue
            if separator is None:
                labels.append(_label(source.name, number, text))
            else:
                rows.append(_row(source.name, number, line, separator, names))
                _require_label(source.name, number, line, rows[-1][place])
        notes = source.name
    if not names:
        return NodeList(_as_labels(labels), source=notes)
    found = _as_labels([row[place] for row in rows])
    _refuse_repeats(found, notes)
    values = {name: [row[i] for row in rows] for i, name in enumerate(names) if i != place}
    return NodeList(found, NodeTable.of(values, len(rows)), notes, names[place])


def _table_separator(line: bytes) -> int | None:
    """Return the separator of a table by its first line, or None for a list of labels."""
    if b"\t" in line:
        return TABS
    for mark in (COMMAS, SEMICOLONS, PIPES):
        fields = split_fields(line, mark)
        names = [field.decode("utf-8", errors="replace").strip().lower() for field in fields]
        if len(names) > 1 and any(name in ID_NAMES for name in names):
            return mark
    return None


def _names(path: str, number: int, line: bytes, separator: int) -> list[str]:
    names = [_text(path, number, field) for field in split_fields(line, separator)]
    where: dict[str, Any] = {"path": path, "line": number, "text": line}
    if len(names) > _MOST_COLUMNS:
        raise GraphFormatError(
            f"a node table has at most {_MOST_COLUMNS:,} columns, not {len(names):,}", **where,
            remedy="Keep the columns that are needed.",
        )  # fmt: skip
    if len(set(names)) < len(names):
        raise GraphFormatError("two columns have the same name", **where, remedy="Rename one of them.")
    return names


def _row(path: str, number: int, line: bytes, separator: int, names: list[str]) -> list[str]:
    row = [_text(path, number, field) for field in split_fields(line, separator)]
    if len(row) != len(names):
        raise GraphFormatError(
            f"this line has {len(row)} columns, and the first line names {len(names)}",
            path=path,
            line=number,
            text=line,
            remedy="Complete the line; quote text that holds the separator.",
        )
    return row


def _as_labels(labels: list[str]) -> NDArray[Any]:
    """Return labels as int64 where all are integers, otherwise as text objects."""
    integers = [canonical_integer(label) for label in labels]
    if all(integer is not None for integer in integers):
        return np.array(integers, dtype=np.int64)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def _text(path: str, number: int, text: bytes) -> str:
    def refuse(problem: str, column: int, remedy: str) -> GraphFormatError:
        return GraphFormatError(problem, path=path, line=number, column=column, text=text, remedy=remedy)

    if b"\0" in text:
        raise refuse(
            "a NUL byte: this is not a text file", text.index(b"\0") + 1, "Give one label per line in UTF-8."
        )
    try:
        label = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refuse("a label is not UTF-8 text", error.start + 1, "Convert the file to UTF-8.") from None
    if "\r" in label:
        raise refuse("a carriage return inside a line", label.index("\r") + 1, "End lines with LF or CRLF.")
    return label


def _label(path: str, number: int, text: bytes) -> str:
    label = _text(path, number, text)
    if len(label) >= 2 and label[0] == label[-1] == '"':
        label = label[1:-1].replace('""', '"')
    _require_label(path, number, text, label)
    return label


def _require_label(path: str, number: int, line: bytes, label: str) -> None:
    if not label:
        raise GraphFormatError(
            "a label is empty", path=path, line=number, column=1, text=line, remedy="Give one label per line."
        )
