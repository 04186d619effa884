"""Reading a list of nodes: one label per line, so that isolated nodes are part of the network."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError
from blockmix.graph.labels import canonical_integer
from blockmix.graph.reading.source import Source


def read_node_labels(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return labels from a file with one label per line: int64 where all are integers, otherwise text objects.

    Blank lines and lines starting with `#` or `%` are skipped; the file may be gzip-compressed. A whole line
    is one label, so it may contain blanks; double quotes around it are removed.
    """
    labels: list[str] = []
    number = 0
    with Source(path) as source:
        begin = 3 if source.head(3) == b"\xef\xbb\xbf" else 0
        for load in source.blocks(begin):
            lines = load().tobytes().split(b"\n")
            lines.pop()
            for line in lines:
                number += 1
                text = line.strip(b" \t\r")
                if text and text[:1] not in (b"#", b"%"):
                    labels.append(_label(path, number, text))
    integers = [canonical_integer(label) for label in labels]
    if labels and all(integer is not None for integer in integers):
        return np.array(integers, dtype=np.int64)
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects if labels else np.empty(0, dtype=np.int64)


def _label(path: str | os.PathLike[str], number: int, text: bytes) -> str:
    def refuse(problem: str, column: int, remedy: str) -> GraphFormatError:
        return GraphFormatError(
            problem, path=os.fspath(path), line=number, column=column, text=text, remedy=remedy
        )

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
    if len(label) >= 2 and label[0] == label[-1] == '"':
        label = label[1:-1].replace('""', '"')
    if not label:
        raise refuse("a label is empty", 1, "Give one label per line.")
    return label
