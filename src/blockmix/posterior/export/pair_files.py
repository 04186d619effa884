"""Files of node pairs to predict: two labels a line, separated as in an edge list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.labels import Labels
from blockmix.graph.reading.compression import BESIDE
from blockmix.graph.reading.dialect import sniff_separator, split_fields
from blockmix.graph.reading.parser import BLANKS
from blockmix.graph.reading.source import Source
from blockmix.graph.sides.sides import Sides

_REMEDY = "Write two node labels per line, separated by a blank, a tab, a comma, a semicolon or a pipe."
_LOOSE = bytes.maketrans(b',;|"', b"    ")
# First lines that name columns, as in the tables blockmix writes itself.
_COLUMN_NAMES = ("node_a", "node_b"), ("source", "target"), ("from", "to"), ("src", "dst")
_LOOKED_UP_AT_ONCE = 4096
# Turns labels into nodes, or raises an `InputError`.
Finder = Callable[[list[str]], NDArray[np.int64]]


def read_pairs(path: str | Path, labels: Labels, sides: Sides | None = None) -> NDArray[np.int64]:
    """Read the pairs of a file, plain or compressed, as node numbers, one row each; "-" reads standard input.

    Lines that start with # or % are comments and columns after the second are ignored. A label that is not in
    the network, or a node paired with itself, is a `GraphFormatError` that names the line. With `sides` the first label
    is looked up on the first of them.
    """
    parts = []
    with Source(str(path), allow_empty=True, bounds=BESIDE) as source:
        for numbers, fields in _batches(source, labels if sides is None else sides.plain_labels(labels)):
            first, second = ([pair[side] for pair in fields] for side in (0, 1))
            looked = [labels.indices if sides is None else sides.finder(labels, side) for side in (0, 1)]
            found = [
                _nodes(source.name, numbers, names, look)
                for names, look in zip((first, second), looked, strict=True)
            ]
            pairs = np.column_stack(found)
            same = pairs[:, 0] == pairs[:, 1] if sides is None else ~sides.joins(pairs)
            if same.any():
                at = int(np.argmax(same))
                raise GraphFormatError(
                    "a node has no link to itself",
                    path=source.name,
                    line=numbers[at],
                    text=first[at],
                    remedy="Remove the line.",
                )
            parts.append(pairs)
    return np.concatenate(parts) if parts else np.empty((0, 2), dtype=np.int64)


def _batches(source: Source, labels: Labels) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield line numbers and the labels on these lines, some thousands at once."""
    numbers: list[int] = []
    fields: list[list[str]] = []
    separator: int | None = None
    for number, line in source.lines():
        text = line.strip(b" \t")
        if not text or text[:1] in (b"#", b"%"):
            continue
        first = separator is None
        if separator is None:
            separator = sniff_separator([line], source.name, number) if labels.kind == "text" else BLANKS
        found = _fields(source.name, number, line, separator, labels)
        if first and _names_columns(found, labels):
            continue
        numbers.append(number)
        fields.append(found)
        if len(fields) == _LOOKED_UP_AT_ONCE:
            yield numbers, fields
            numbers, fields = [], []
    if fields:
        yield numbers, fields


def _fields(path: str, number: int, line: bytes, separator: int, labels: Labels) -> list[str]:
    """Return the first two labels on a line; integers may be separated in any way."""

    def refuse(problem: str, remedy: str = _REMEDY) -> GraphFormatError:
        return GraphFormatError(problem, path=path, line=number, text=line, remedy=remedy)

    for byte, problem in (
        (b"\r", "a carriage return inside a line"),
        (b"\0", "a NUL byte: this is not a text file"),
    ):
        if byte in line:
            raise refuse(problem, "Give a text file in UTF-8 with lines that end in LF or CRLF.")
    if labels.kind != "text":
        line = line.translate(_LOOSE)
    try:
        found = [field.decode("utf-8") for field in split_fields(line, separator)[:2]]
    except UnicodeDecodeError:
        raise refuse("not UTF-8 text", "Convert it to UTF-8.") from None
    if len(found) < 2 or not found[0] or not found[1]:
        raise refuse("a pair needs two labels")
    return found


def _names_columns(first: list[str], labels: Labels) -> bool:
    if (first[0].lower(), first[1].lower()) not in _COLUMN_NAMES:
        return False
    try:
        labels.indices(first[:2])
    except InputError:
        return True
    return False


def _nodes(source: str, numbers: list[int], names: list[str], look: Finder) -> NDArray[np.int64]:
    """Look up the nodes with these labels, many at once, and one by one where that fails."""
    nodes = np.empty(len(names), dtype=np.int64)
    for begin in range(0, len(names), _LOOKED_UP_AT_ONCE):
        part = names[begin : begin + _LOOKED_UP_AT_ONCE]
        try:
            nodes[begin : begin + len(part)] = look(part)
        except InputError:
            raise _unknown(source, numbers[begin:], part, look) from None
    return nodes


def _unknown(source: str, numbers: list[int], names: list[str], look: Finder) -> GraphFormatError:
    for number, name in zip(numbers, names, strict=False):
        try:
            look([name])
        except InputError:
            return GraphFormatError(
                "no node of the network has this label",
                path=source,
                line=number,
                text=name,
                remedy="Use labels as they are in the edge list.",
            )
    raise AssertionError("a label that could not be looked up was found")
