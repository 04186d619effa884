"""Files of node pairs to predict: two labels a line, separated as in an edge list."""

from __future__ import annotations

import csv
import gzip
import sys
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.labels import Labels

_REMEDY = "Write two node labels per line, separated by a blank, a tab or a comma."
# First lines that name columns, as in the tables blockmix writes itself.
_COLUMN_NAMES = ("node_a", "node_b"), ("source", "target"), ("from", "to"), ("src", "dst")
_LOOKED_UP_AT_ONCE = 4096


def read_pairs(path: str | Path, labels: Labels) -> NDArray[np.int64]:
    """Read the pairs of a file, plain or .gz, as node numbers, one row each; "-" reads standard input.

    Lines that start with # or % are comments and columns after the second are ignored. A label that is not in
    the network, or a node paired with itself, is a `GraphFormatError` that names the line.
    """
    source = "standard input" if str(path) == "-" else str(path)
    numbers, fields = _fields(source, _text(source, path), labels)
    first, second = ([pair[side] for pair in fields] for side in (0, 1))
    pairs = np.column_stack([_nodes(source, numbers, names, labels) for names in (first, second)])
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        at = int(np.argmax(same))
        raise GraphFormatError(
            "a node has no link to itself",
            path=source,
            line=numbers[at],
            text=first[at],
            remedy="Remove the line.",
        )
    return pairs


def _text(source: str, path: str | Path) -> str:
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GraphFormatError(
            f"the .gz file is damaged or cut short ({error})", path=source, remedy="Copy it again."
        ) from None
    except OSError as error:
        raise GraphFormatError(
            f"cannot be read ({error.strerror or error})",
            path=source,
            remedy="Check the name and the folder.",
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphFormatError(
            "not UTF-8 text",
            path=source,
            line=data.count(b"\n", 0, error.start) + 1,
            remedy="Convert it to UTF-8.",
        ) from None


def _fields(source: str, text: str, labels: Labels) -> tuple[list[int], list[list[str]]]:
    """Return line numbers and the labels on these lines, without comments, blank lines and column names."""
    numbers: list[int] = []
    fields: list[list[str]] = []
    separator: str | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip(" \t\r")
        if not line or line[0] in "#%":
            continue
        if not fields:
            separator = _separator(line, labels)
        found = _split(line, separator, labels)
        if len(found) < 2 or not found[0] or not found[1]:
            raise GraphFormatError(
                "a pair needs two labels", path=source, line=number, text=line, remedy=_REMEDY
            )
        numbers.append(number)
        fields.append(found)
    if fields and _names_columns(fields[0], labels):
        del numbers[0], fields[0]
    return numbers, fields


def _separator(line: str, labels: Labels) -> str | None:
    """Return what separates text labels in this file, by its first line: a tab, else a comma, else blanks (None)."""
    if labels.kind != "text":
        return None
    bare = "".join(line.split('"')[::2])
    return "\t" if "\t" in bare else "," if "," in bare else None


def _split(line: str, separator: str | None, labels: Labels) -> list[str]:
    if labels.kind != "text":
        return line.replace(",", " ").replace('"', " ").split()
    if '"' in line:
        found = next(csv.reader([line], delimiter=separator or " ", skipinitialspace=True))
        return [part.strip() for part in found if part or separator]
    return line.split() if separator is None else [part.strip() for part in line.split(separator)]


def _names_columns(first: list[str], labels: Labels) -> bool:
    if (first[0].lower(), first[1].lower()) not in _COLUMN_NAMES:
        return False
    try:
        labels.indices(first[:2])
    except InputError:
        return True
    return False


def _nodes(source: str, numbers: list[int], names: list[str], labels: Labels) -> NDArray[np.int64]:
    """Look up the nodes with these labels, many at once, and one by one where that fails."""
    nodes = np.empty(len(names), dtype=np.int64)
    for begin in range(0, len(names), _LOOKED_UP_AT_ONCE):
        part = names[begin : begin + _LOOKED_UP_AT_ONCE]
        try:
            nodes[begin : begin + len(part)] = labels.indices(part)
        except InputError:
            raise _unknown(source, numbers[begin:], part, labels) from None
    return nodes


def _unknown(source: str, numbers: list[int], names: list[str], labels: Labels) -> GraphFormatError:
    for number, name in zip(numbers, names, strict=False):
        try:
            labels.index(name)
        except InputError:
            return GraphFormatError(
                "no node of the network has this label",
                path=source,
                line=number,
                text=name,
                remedy="Use labels as they are in the edge list.",
            )
    raise AssertionError("a label that could not be looked up was found")
