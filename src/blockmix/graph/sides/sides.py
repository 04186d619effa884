"""`Sides`: which nodes of a network are on which side, where links only join nodes of different sides.

A network of two kinds of nodes (bipartite) is one of two sides. So is a directed network, if every node stands in it
twice: once on the first side, from which its links go out, and once on the second, where links come in. The link from a
to b then joins `a (out)` and `b (in)`, and nothing else needs to know of directions. What a node cannot be linked to
are its own side and, in a directed network, itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph
    from blockmix.graph.labels import Label, Labels

_INTEGER = re.compile("-?[0-9]{1,19}", re.ASCII)
# What the two sides are called: in a directed network, and in one of two kinds of nodes.
OUT_IN, KINDS = ("out", "in"), ("first", "second")


@dataclass(frozen=True)
class Sides:
    """The nodes below `first` are those of the first side; of a directed network node `first` + a is a once more.

    `named` says that labels have their role in parentheses, `ann (out)`, since a label stands on both sides; `integers`
    that they are integers without it.

    >>> sides = Sides(3, directed=True, named=True)
    >>> sides.plain(["ann (out)", "bob (in)"]), sides.roles(np.array([0, 5])), sides.n_pairs(6)
    (['ann', 'bob'], ['out', 'in'], 6)
    """

    first: int
    directed: bool
    named: bool
    integers: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """What the sides are called."""
        return OUT_IN if self.directed else KINDS

    def n_pairs(self, nodes: int) -> int:
        """Return how many pairs may be linked."""
        return self.first * (nodes - self.first) - (self.first if self.directed else 0)

    def joins(self, pairs: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of these pairs of node numbers may be linked."""
        low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
        across = (low < self.first) & (high >= self.first)
        return np.asarray(across & (high - low != self.first) if self.directed else across)

    def joins_all(self, rows: NDArray[np.int64], nodes: int) -> NDArray[np.bool_]:
        """Return which of these nodes may be linked to which of all, as a matrix."""
        pairs = np.column_stack((np.repeat(rows, nodes), np.tile(np.arange(nodes), len(rows))))
        return self.joins(pairs).reshape(len(rows), nodes)

    def self_pairs(self) -> NDArray[np.int64]:
        """Return the pairs of the two places of each node of a directed network."""
        nodes = np.arange(self.first if self.directed else 0, dtype=np.int64)
        return np.column_stack((nodes, nodes + self.first))

    def roles(self, nodes: NDArray[Any]) -> list[str]:
        """Return the name of the side of each of these nodes."""
        first, second = self.names
        return [first if node < self.first else second for node in np.asarray(nodes).tolist()]

    def plain(self, labels: Iterable[Label]) -> list[Label]:
        """Return labels without their role, as they were read."""
        if not self.named:
            return list(labels)
        texts = [str(label).rpartition(" (")[0] for label in labels]
        return [int(text) for text in texts] if self.integers else list(texts)

    @property
    def kind(self) -> str:
        """What the network is called: "directed" or "bipartite"."""
        return "directed" if self.directed else "bipartite"

    def plain_labels(self, labels: Labels) -> Labels:
        """Return the different labels without roles."""
        if not self.named:
            return labels
        from blockmix.graph.labels import Labels as Made

        return Made.of(list(dict.fromkeys(self.plain(labels))))

    def fits(self, labels: Labels) -> bool:
        """Return whether labels have the roles that they should, behind integers where they should be integers."""
        if not self.named:
            return True
        roles = self.roles(np.arange(len(labels)))
        texts = [str(label) for label in labels]
        if not all(text.endswith(f" ({role})") for text, role in zip(texts, roles, strict=True)):
            return False
        plain = [text.rpartition(" (")[0] for text in texts]
        return not self.integers or all(_INTEGER.fullmatch(text) for text in plain)

    def finder(self, labels: Labels, side: int) -> Callable[[list[str]], NDArray[np.int64]]:
        """Return what turns labels into nodes of a side."""
        return lambda wanted: self.nodes(labels, wanted, side)

    def nodes(self, labels: Labels, wanted: Sequence[Label] | NDArray[Any], side: int) -> NDArray[np.int64]:
        """Return the nodes of a side with these labels, given with their role or without."""
        role = self.names[side]
        texts = list(wanted)
        if self.named:
            ending = f" ({role})"
            known = labels.known([str(label) for label in texts])
            texts = [
                str(label) if there and str(label).endswith(ending) else f"{label}{ending}"
                for label, there in zip(texts, known, strict=True)
            ]
        there = labels.known(texts)
        found = labels.indices([text for text, ok in zip(texts, there, strict=True) if ok])
        wrong = ~there
        wrong[there] = (found >= self.first) != bool(side)
        if wrong.any():
            label = readable(str(wanted[int(np.argmax(wrong))]))
            raise InputError(
                f"no node {self._of_side(side)} is labelled {label}: {self.order_of_pairs}, with labels as in the edge "
                "list"
            )
        return found

    def _of_side(self, side: int) -> str:
        if self.directed:
            return ("that sends links", "that receives links")[side]
        return f"of the {KINDS[side]} kind"

    @property
    def order_of_pairs(self) -> str:
        """What a pair of labels means here, in words."""
        if self.directed:
            return "the pair (a, b) is the link from a to b"
        return "a pair has a node of the first kind (first column), then one of the second"

    def in_words(self, nodes: int, links: int) -> str:
        """Return what the network is."""
        if self.directed:
            return f"directed, {self.first:,} nodes, {links:,} links from one to another"
        second = nodes - self.first
        return f"bipartite, {self.first:,} nodes of the first kind, {second:,} of the second, {links:,} links"


def first_side(graph: Graph) -> int:
    """Return how many nodes are on the first side: 0 where the network has no sides."""
    return 0 if graph.sides is None else graph.sides.first


def node_pairs(graph: Graph, pairs: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return pairs of labels as node numbers: in a network of two sides the first label is one of the first side."""
    ends = [[pair[side] for pair in pairs] for side in (0, 1)]
    sides, labels = graph.sides, graph.labels
    if sides is None:
        return np.column_stack([labels.indices(end) for end in ends])
    return np.column_stack([sides.nodes(labels, end, side) for side, end in enumerate(ends)])


def reciprocity(graph: Graph) -> float | None:
    """Return the share of the links of a directed network whose other direction is a link too; None of others."""
    if graph.sides is None or not graph.directed or not graph.n_edges:
        return None
    a, b = graph.edges().astype(np.int64).T
    back = np.column_stack((b - graph.sides.first, a + graph.sides.first))
    return float(graph.has_edges(back).mean())


def plain_ends(graph: Graph, pairs: NDArray[np.int64]) -> tuple[list[Label], list[Label]]:
    """Return the labels of both ends of pairs of nodes, without roles."""
    first, second = (graph.labels.take(pairs[:, side]) for side in (0, 1))
    if graph.sides is None:
        return first, second
    return graph.sides.plain(first), graph.sides.plain(second)


def node_index(graph: Graph, label: Label) -> int:
    """Return the node with this label; of a network with sides a label that is on both needs its role."""
    sides = graph.sides
    if sides is not None and sides.named and not graph.labels.known([label])[0]:
        roles = [f"{label} ({role})" for role in sides.names]
        if graph.labels.known(roles).any():
            raise InputError(
                f"{readable(str(label))} stands on both sides of this network: give {readable(roles[0])} or "
                f"{readable(roles[1])}"
            )
    return graph.labels.index(label)


def check_across(graph: Graph, pairs: NDArray[np.int64]) -> None:
    """Refuse a pair that cannot be linked because of its sides."""
    if graph.sides is None:
        return
    wrong = ~graph.sides.joins(pairs)
    if wrong.any():
        a, b = graph.labels.take(pairs[int(np.argmax(wrong))])
        raise InputError(
            f"{readable(str(a))} and {readable(str(b))} cannot be linked: {graph.sides.order_of_pairs}, and no node "
            "has a link to itself"
        )
