"""METIS graph files: a line `nodes links [weights]`, then one line of neighbours for every node, counted from 1."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError
from blockmix.graph.edges import assemble
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.reading.source import Source

_ENDINGS = (".graph", ".metis")
_NODES_PER_LINE = 64
_AT_ONCE = 1 << 16
_LONGEST_LINE = 1 << 30


def looks_like_metis(head: bytes, whole: bool, suffix: str) -> bool:
    """Return whether the text is a METIS file.

    One with the usual ending, .graph or .metis, must begin with its size. Another must be seen whole and fit in every
    way: as many lines as nodes, every link listed by both of its ends, and as many of them as the first line says.
    """
    lines = [line for line in head.split(b"\n") if not line.lstrip().startswith(b"%")]
    size = lines[0].split() if lines else []
    if not 2 <= len(size) <= 4 or not all(part.isdigit() and len(part) < 19 for part in size):
        return False
    if suffix in _ENDINGS:
        return True
    nodes, links = int(size[0]), int(size[1])
    rows = lines[1:]
    while len(rows) > nodes and not rows[-1].strip():
        rows.pop()
    if not whole or len(size) > 2 or links == 0 or len(rows) != nodes:
        return False
    listed = set()
    for node, row in enumerate(rows, 1):
        for part in row.split():
            if not (part.isdigit() and len(part) < 19) or int(part) == node or (node, int(part)) in listed:
                return False
            listed.add((node, int(part)))
    return len(listed) == 2 * links and all((b, a) in listed for a, b in listed)


def read_metis(source: Source, weights: bool = False) -> Graph:
    """Read a METIS file; nodes are labelled 1 to N, as in the file, and weights are left out unless asked for."""
    chunks: list[NDArray[Any]] = []
    kept: list[NDArray[np.int64]] = []
    values_of: list[NDArray[np.float64]] = []
    size: list[int] | None = None
    node, records, weighted = 0, 0, False
    for number, line in source.lines(_LONGEST_LINE):
        if line.lstrip().startswith(b"%") or (size is None and not line.strip()):
            continue
        values = _integers(source, number, line)
        if size is None:
            size = _size(source, number, line, values)
            continue
        if node == size[0]:
            if len(values):
                _refuse(source, number, line, f"there are more than the {size[0]:,} nodes of the first line")
            continue
        node += 1
        neighbors = _neighbors(source, number, line, values, size)
        weighted |= len(neighbors) < len(values)
        if weights:
            values_of.append(_link_weights(source, number, line, values, size))
        if len(neighbors) and not (neighbors.min() >= 1 and neighbors.max() <= size[0]):
            _refuse(source, number, line, f"a neighbour is not a node from 1 to {size[0]:,}")
        records += len(neighbors)
        # Both directions are listed; one is enough, and a link listed only once is kept all the same.
        kept.append(np.column_stack((np.full(len(neighbors), node - 1), neighbors - 1)))
        if len(kept) == _AT_ONCE:
            chunks.append(np.concatenate(kept))
            kept = []
    if size is None or node < size[0]:
        raise GraphFormatError(
            f"the file ends after {node:,} of {0 if size is None else size[0]:,} nodes",
            path=source.name,
            remedy="A METIS file has one line of neighbours for every node, empty where there is none.",
        )
    if kept:
        chunks.append(np.concatenate(kept))
    notes = (*source.notes, "METIS format: nodes are numbered from 1")
    if weighted and not weights:
        notes += ("weights are not used: every link counts once; ask for them (weights) to use them",)
    labels = Labels.of(np.arange(1, size[0] + 1))
    return assemble(
        [np.concatenate(chunks)] if weights else chunks, labels, source=source.name, records=records,
        declared_edges=size[1], notes=notes, weights=[np.concatenate(values_of)] if weights else None,
    )  # fmt: skip


def _integers(source: Source, number: int, line: bytes) -> NDArray[np.int64]:
    parts = line.split()
    if not all(part.isdigit() and len(part) < 19 for part in parts):
        _refuse(source, number, line, "a METIS file has whole numbers only")
    return np.array(parts, dtype=np.int64)


def _size(source: Source, number: int, line: bytes, values: NDArray[np.int64]) -> list[int]:
    """Return nodes, links, and how many weights a node and a link have."""
    if not 2 <= len(values) <= 4:
        _refuse(source, number, line, "the first line must read: nodes links [format [weights of a node]]")
    flags = f"{values[2]:03d}" if len(values) > 2 else "000"
    if len(flags) != 3 or set(flags) - {"0", "1"}:
        _refuse(source, number, line, "the third number must be three digits of 0 and 1")
    constraints = int(values[3]) if len(values) > 3 else int(flags[1])
    if constraints > _NODES_PER_LINE:
        _refuse(source, number, line, f"nodes have at most {_NODES_PER_LINE} weights")
    before = int(flags[0]) + (constraints if flags[1] == "1" else 0)
    return [int(values[0]), int(values[1]), before, int(flags[2])]


def _neighbors(
    source: Source, number: int, line: bytes, values: NDArray[np.int64], size: list[int]
) -> NDArray[np.int64]:
    """Return the neighbours on a line, without weights of the node and of its links."""
    _, _, before, link_weights = size
    if len(values) < before or (len(values) - before) % (1 + link_weights):
        _refuse(source, number, line, "the line has not one weight for each node or link")
    return values[before :: 1 + link_weights]


def _link_weights(
    source: Source, number: int, line: bytes, values: NDArray[np.int64], size: list[int]
) -> NDArray[np.float64]:
    """Return the weights of the links on a line."""
    if not size[3]:
        _refuse(
            source,
            number,
            line,
            "this file has no weights of links: the third number of its first line says so",
        )
    found = values[size[2] + 1 :: 2].astype(np.float64)
    if (found <= 0.0).any():
        _refuse(source, number, line, "a weight must be above zero")
    return found


def _refuse(source: Source, number: int, line: bytes, problem: str) -> NoReturn:
    raise GraphFormatError(
        problem,
        path=source.name,
        line=number,
        text=line,
        remedy="If this is no METIS file but an edge list, read it with format='edges' (--format edges).",
    )
