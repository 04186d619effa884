"""Making a network of two sides of numbered links from one node to another, as readers find them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable
from blockmix.graph.build import node_dtype
from blockmix.graph.labels import Labels
from blockmix.graph.sides.sides import Sides

DIRECTED, BIPARTITE = "directed", "bipartite"


class TwoSided(NamedTuple):
    """Links between places, the labels of these, the sides, self-loops left out, and a remark for the summary."""

    chunks: list[NDArray[Any]]
    labels: Labels
    sides: Sides
    self_loops: int
    note: str


def chosen_kind(directed: Any, bipartite: Any) -> str | None:
    """Return which kind of network is asked for by two flags."""
    for name, value in (("directed", directed), ("bipartite", bipartite)):
        if not isinstance(value, bool | np.bool_) and value is not None:
            raise InputError(f"{name} must be True or False, not {readable(str(value))}")
    if directed and bipartite:
        raise InputError(
            "directed and bipartite (--directed, --bipartite): a network of two kinds of nodes has links from one kind "
            "to the other already; leave directed out"
        )
    return DIRECTED if directed else BIPARTITE if bipartite else None


def two_sided(kind: str, chunks: list[NDArray[Any]], labels: Labels) -> TwoSided:
    """Return the links of numbered nodes as links between the two sides of a network."""
    return _directed(chunks, labels) if kind == DIRECTED else _bipartite(chunks, labels)


def _directed(chunks: list[NDArray[Any]], labels: Labels) -> TwoSided:
    nodes = len(labels)
    kept, loops = [], 0
    for chunk in chunks:
        apart = chunk[:, 0] != chunk[:, 1]
        loops += len(chunk) - int(np.count_nonzero(apart))
        kept.append(_numbered(chunk[apart], 0, nodes, 2 * nodes))
    sides = Sides(nodes, directed=True, named=True, integers=labels.kind != "text")
    places = np.tile(np.arange(nodes, dtype=np.int64), 2)
    note = "directed: every node is there twice, as one that sends links (out) and as one that receives them (in)"
    return TwoSided(kept, _with_roles(labels, places, sides), sides, loops, note)


def _bipartite(chunks: list[NDArray[Any]], labels: Labels) -> TwoSided:
    """Return links with the labels of the first column numbered before those of the second, one in both twice."""
    on = np.zeros((2, len(labels)), dtype=np.bool_)
    for chunk in chunks:
        for side in (0, 1):
            on[side, chunk[:, side]] = True
    alone = np.flatnonzero(~on.any(axis=0))
    if len(alone):
        raise InputError(
            f"the node {readable(str(labels[int(alone[0])]))} has no link, so that it is not known which kind it is: "
            "in a bipartite network every node needs a link; leave such nodes out"
        )
    number = np.cumsum(on.reshape(-1)).reshape(on.shape) - 1
    kept = [_renumbered(chunk, number) for chunk in chunks]
    node_of = np.concatenate([np.flatnonzero(side) for side in on])
    both = bool((on[0] & on[1]).any())
    sides = Sides(int(on[0].sum()), directed=False, named=both, integers=labels.kind != "text")
    named = _with_roles(labels, node_of, sides) if both else Labels.of(labels.take(node_of))
    note = f"bipartite: {sides.first:,} nodes of the first kind, {len(node_of) - sides.first:,} of the second"
    if both:
        note += "; labels that are in both columns are two nodes, and all have their kind behind them"
    return TwoSided(kept, named, sides, 0, note)


def _numbered(chunk: NDArray[Any], first: int, second: int, places: int) -> NDArray[Any]:
    """Return links with numbers added to their first and to their second ends."""
    return np.asarray(chunk.astype(np.int64) + np.array([first, second]), dtype=node_dtype(places))


def _renumbered(chunk: NDArray[Any], number: NDArray[np.int64]) -> NDArray[Any]:
    ends = np.column_stack([number[side, chunk[:, side]] for side in (0, 1)])
    return ends.astype(node_dtype(int(number.max(initial=0)) + 1))


def _with_roles(labels: Labels, node_of: NDArray[np.int64], sides: Sides) -> Labels:
    """Return labels of the places with their role in parentheses."""
    names = labels.take(node_of)
    roles = sides.roles(np.arange(len(node_of)))
    return Labels.from_text([f"{name} ({role})" for name, role in zip(names, roles, strict=True)])
