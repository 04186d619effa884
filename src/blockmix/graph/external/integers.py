"""Numbering integer labels by value, more of them than fit in memory.

Where labels are dense a bitmap with ranks does it, as in memory. Elsewhere the labels are sorted in parts; what was
read is then cut by value into as many streams as the table of labels has parts that fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blockmix.graph.external.arrays import ArrayWriter, StoredArray
from blockmix.graph.external.numbering import (
    LABEL,
    MOST_PARTS,
    NUMBER,
    WHICH,
    Nodes,
    Numbers,
    joined,
    windows,
)
from blockmix.graph.external.sorting import Sorter
from blockmix.graph.external.spill import Budget, Spill
from blockmix.graph.relabel import accumulate, mark, marked, rank

# Bytes of a bitmap's word with its rank, for 64 possible labels.
_WORD = 16
_SIGN = np.uint64(1 << 63)


class Span(NamedTuple):
    """The smallest and the largest label; of a Matrix Market file all labels between them are nodes."""

    lowest: int
    highest: int
    all_nodes: bool = False


def number_integers(raw: Spill, span: Span, folder: Path, budget: Budget) -> tuple[Nodes, Iterator[Numbers]]:
    """Write the labels into `folder`; return the nodes, and the ends of all links as numbers, in the order of `raw`."""
    if span.all_nodes:
        return _number_all(raw, span, folder, budget)
    if ((span.highest - span.lowest) // 64 + 2) * _WORD <= budget.tables:
        return _number_dense(raw, span, folder, budget)
    return _number_scattered(raw, span, folder, budget)


def _labels(folder: Path) -> ArrayWriter:
    return ArrayWriter(folder / "label_integers.npy", np.int64)


def _number_all(raw: Spill, span: Span, folder: Path, budget: Budget) -> tuple[Nodes, Iterator[Numbers]]:
    entries = budget.window // 8
    with _labels(folder) as out:
        for first in range(span.lowest, span.highest + 1, entries):
            out.append(np.arange(first, min(first + entries, span.highest + 1)))
    pieces = windows(raw.reader(LABEL, np.int64), entries)
    return Nodes(span.highest - span.lowest + 1, "integer"), (values - span.lowest for values in pieces)  # type: ignore[misc]


def _number_dense(raw: Spill, span: Span, folder: Path, budget: Budget) -> tuple[Nodes, Iterator[Numbers]]:
    words = np.zeros((span.highest - span.lowest) // 64 + 1, dtype=np.uint64)
    entries = budget.window // 8
    for values in windows(raw.reader(LABEL, np.int64), entries):
        mark(values, span.lowest, words)
    ranks = np.zeros(len(words) + 1, dtype=np.int64)
    accumulate(words, ranks)
    nodes = Nodes(int(ranks[-1]), _kind(span, int(ranks[-1])))
    if nodes.kind == "integer":
        with _labels(folder) as out:
            at_once = max(entries // 64, 1)
            for first in range(0, len(words), at_once):
                part = words[first : first + at_once]
                found = np.empty(ranks[first + len(part)] - ranks[first], dtype=np.int64)
                marked(part, span.lowest + 64 * first, found)
                out.append(found)

    def numbered() -> Iterator[Numbers]:
        for values in windows(raw.reader(LABEL, np.int64), entries):
            numbers = np.empty(len(values), dtype=np.int64)
            rank(values, span.lowest, words, ranks, numbers)
            yield numbers

    return nodes, numbered()


def _kind(span: Span, count: int) -> str:
    return "range" if span.lowest == 0 and count == span.highest + 1 else "integer"


def _number_scattered(
    raw: Spill, span: Span, folder: Path, budget: Budget
) -> tuple[Nodes, Iterator[Numbers]]:
    entries, count = budget.window // 8, 0
    path = folder / "label_integers.npy"
    with Sorter(folder, budget.sorting) as sorter, _labels(folder) as out:
        for values in windows(raw.reader(LABEL, np.int64), entries):
            # The order of words without a sign is that of the labels.
            sorter.add(values.view(np.uint64) ^ _SIGN)
        for words in sorter.merged():
            out.append((words ^ _SIGN).view(np.int64))
            count += len(words)
    parts = max(-(-8 * count // budget.tables), 1)
    if parts > MOST_PARTS:
        raise MemoryError(
            f"{count:,} labels that are scattered integers need {8 * count // MOST_PARTS:,} bytes"
        )
    nodes = Nodes(count, _kind(span, count))
    if nodes.kind == "range":
        # Dense after all, but for a bitmap there was no memory.
        path.unlink()
        return nodes, windows(raw.reader(LABEL, np.int64), entries)  # type: ignore[return-value]
    bounds = [count * part // parts for part in range(parts + 1)]
    return nodes, _looked_up(raw, StoredArray(path, np.int64), bounds, folder, budget)


def _looked_up(
    raw: Spill, known: StoredArray, bounds: list[int], folder: Path, budget: Budget
) -> Iterator[Numbers]:
    """Yield the number of every label, from the sorted list of all; `bounds` cuts the list into parts."""
    parts, entries = len(bounds) - 1, budget.window // 8
    first_of = np.array([known.some(bound, 1)[0] for bound in bounds[1:-1]], dtype=np.int64)
    with Spill(folder, budget.buffers, 2 * parts + 1) as cut:
        for values in windows(raw.reader(LABEL, np.int64), entries):
            owners = np.searchsorted(first_of, values, side="right").astype(np.uint8)
            cut.append(WHICH, owners)
            for part in np.unique(owners).tolist():
                cut.append((LABEL, part), values[owners == part])
        for part in range(parts):
            table = known.some(bounds[part], bounds[part + 1] - bounds[part])
            for values in windows(cut.reader((LABEL, part), np.int64), entries):
                cut.append((NUMBER, part), bounds[part] + np.searchsorted(table, values))
        yield from joined(cut, parts, entries)
