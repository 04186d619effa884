"""The network: a frozen, undirected, simple graph in compressed sparse rows (CSR), with or without weights."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.attributes import NodeTable
from blockmix.graph.labels import Labels
from blockmix.graph.sides.sides import Sides
from blockmix.graph.summary import ReadSummary
from blockmix.notebook import facts_html

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import scipy.sparse

# Neighbours are hashed as int64 whatever they are stored as; in parts, so that no second copy is made.
_HASHED_AT_ONCE = 1 << 20


def fingerprint_of(pieces: Iterable[NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays given in pieces; integers count as int64, whatever they are stored as."""
    digest = hashlib.sha256()
    for piece in pieces:
        wide = np.dtype(np.int64) if piece.dtype.kind == "i" else piece.dtype
        digest.update(piece.astype(wide, copy=False).tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected network without self-loops or repeated links.

    `neighbors[offsets[a]:offsets[a + 1]]` are the neighbours of node `a`, in increasing order, every link
    standing in both rows. Offsets are int64; neighbours are int32 while the number of nodes allows it. The
    arrays are read-only. `sides`, where links join nodes of two kinds or have directions, says which nodes are which;
    of a directed network every node is here twice, as one that sends links and as one that receives them. `weights`,
    where links have weights, are numbers above zero in the places of `neighbors`, the same in both rows; None where
    all links are alike. `summary` records what reading the network merged, dropped or skipped; `attributes` are what a
    node table or another library knows about the nodes. They are no part of the fingerprint. Build one with
    `read_graph`, `Graph.from_edges` or a converter, not by hand.

    >>> graph = Graph.from_edges([("ann", "bob"), ("bob", "cid"), ("cid", "bob")])
    >>> graph
    Graph(3 nodes, 2 links, labels 'ann' .. 'cid')
    >>> graph.neighbors_of(1).tolist()
    [0, 2]
    """

    offsets: NDArray[np.int64]
    neighbors: NDArray[Any]
    labels: Labels
    summary: ReadSummary | None = None
    attributes: NodeTable | None = None
    weights: NDArray[np.float64] | None = None
    sides: Sides | None = None

    def __post_init__(self) -> None:
        for name in ("offsets", "neighbors") if self.weights is None else ("offsets", "neighbors", "weights"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    def __repr__(self) -> str:
        names = ""
        if self.sides is not None:
            return f"Graph({self.sides.in_words(self.n_nodes, self.n_edges)})"
        if self.n_nodes:
            names = f", labels {self.labels[0]!r} .. {self.labels[self.n_nodes - 1]!r}"
        nodes = "node" if self.n_nodes == 1 else "nodes"
        links = "link" if self.n_edges == 1 else "links"
        weights = "" if self.weights is None else " with weights"
        return f"Graph({self.n_nodes:,} {nodes}, {self.n_edges:,} {links}{weights}{names})"

    def _repr_html_(self) -> str:
        facts = [
            ("nodes", f"{self.n_nodes:,}, {np.count_nonzero(self.degrees == 0):,} of them isolated"),
            ("links", f"{self.n_edges:,}"),
            *([] if self.sides is None else [("sides", self.sides.in_words(self.n_nodes, self.n_edges))]),
            ("links of a node", f"{2 * self.n_edges / max(self.n_nodes, 1):.1f} on average"),
            ("share of pairs linked", f"{self.density:.3g}"),
        ]
        if self.weights is not None:
            low, high = self.weights.min(initial=np.inf), self.weights.max(initial=0.0)
            facts.append(("weights", f"{low:g} to {high:g}, {self.total_weight:g} in all"))
        if self.n_nodes:
            facts.append(("labels", f"{self.labels[0]!r} .. {self.labels[self.n_nodes - 1]!r}"))
        if self.attributes is not None:
            facts.append(("attributes", ", ".join(map(repr, self.attributes))))
        if self.summary is not None:
            facts.append(("read", " ".join(str(self.summary).split())))
        return facts_html("Graph", facts)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N, isolated ones included."""
        return len(self.offsets) - 1

    @property
    def n_edges(self) -> int:
        """Number of links, each counted once."""
        return len(self.neighbors) // 2

    @property
    def n_pairs(self) -> int:
        """Number of pairs that may be linked: N(N-1)/2, or those across the two sides of the network."""
        if self.sides is not None:
            return self.sides.n_pairs(self.n_nodes)
        return self.n_nodes * (self.n_nodes - 1) // 2

    @property
    def density(self) -> float:
        """Share of pairs that are links; 0 for fewer than two nodes."""
        return self.n_edges / self.n_pairs if self.n_pairs else 0.0

    def name_of(self, node: int) -> str:
        """Return what a node is called on screens and in reports: its name in the node table, else its label."""
        label = self.labels[node]
        return str(label) if self.attributes is None else self.attributes.name_of(node, label)

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours of every node."""
        return np.diff(self.offsets)

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all links; their number where they have none."""
        return float(self.n_edges) if self.weights is None else float(self.weights.sum()) / 2.0

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the structure, the labels and the weights: the same network gives the same text."""
        labels = self.labels
        sides = (
            None if self.sides is None else np.array([self.sides.first, self.sides.directed], dtype=np.int64)
        )
        arrays = (
            self.offsets,
            self.neighbors,
            labels.integers,
            labels.text,
            labels.text_offsets,
            self.weights,
            sides,
        )
        return fingerprint_of(
            array[start : start + _HASHED_AT_ONCE]
            for array in arrays
            if array is not None
            for start in range(0, len(array), _HASHED_AT_ONCE)
        )

    def neighbors_of(self, node: int) -> NDArray[Any]:
        """Return the neighbours of a node (by number, not label), as a read-only view."""
        return self.neighbors[self.offsets[node] : self.offsets[node + 1]]

    def check_links(self) -> None:
        """Refuse a network from a folder whose rows are not in order, or do not fit together (`query.is_mutual`).

        Made once, before a network is fitted or its links are looked up, listed or drawn, and not when it is loaded:
        this takes longer than all other checks. Networks that were not loaded from a folder are built like this.
        """
        from blockmix.graph import query

        folder = vars(self).get("loaded_from")
        if folder is None:
            return
        apart = self.sides.first if self.sides is not None and self.sides.directed else 0
        if not query.is_mutual(self.offsets, self.neighbors, self.weights, apart):
            raise InputError(f"{folder}: {query.ONE_SIDED}")
        del vars(self)["loaded_from"]

    def edges(self) -> NDArray[Any]:
        """Return every link once: an (E, 2) array of node numbers a < b, in increasing order."""
        from blockmix.graph import query

        self.check_links()
        return query.all_edges(self.offsets, self.neighbors)

    def has_edges(self, pairs: NDArray[Any] | Sequence[Sequence[int]]) -> NDArray[np.bool_]:
        """Return whether each of these pairs of node numbers is a link.

        >>> Graph.from_edges([(0, 1), (1, 2)]).has_edges([(1, 0), (0, 2), (1, 1)]).tolist()
        [True, False, False]
        """
        from blockmix.graph import query

        self.check_links()
        return query.has_edges(self.offsets, self.neighbors, query.checked_pairs(pairs, self.n_nodes))

    def weights_of(self, pairs: NDArray[Any] | Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the weight of each of these pairs of node numbers: 0 where there is no link, 1 without weights.

        >>> Graph.from_edges([("a", "b", 2.5), ("b", "c", 1)], weights=True).weights_of([(1, 0), (0, 2)]).tolist()
        [2.5, 0.0]
        """
        from blockmix.graph import query

        self.check_links()
        return query.weights_of(
            self.offsets, self.neighbors, self.weights, query.checked_pairs(pairs, self.n_nodes)
        )

    def without_weights(self) -> Graph:
        """Return the same network with all links alike."""
        return replace(self, weights=None)

    def without_sides(self) -> Graph:
        """Return the same nodes and links as an ordinary network, in which any two nodes may be linked."""
        return self if self.sides is None else replace(self, sides=None)

    @property
    def directed(self) -> bool:
        """Whether links have directions."""
        return self.sides is not None and self.sides.directed

    def without_edges(self, pairs: NDArray[Any] | Sequence[Sequence[int]]) -> Graph:
        """Return the same nodes and labels without these links (pairs of node numbers, in either order).

        >>> Graph.from_edges([(0, 1), (1, 2)]).without_edges([(2, 1)])
        Graph(3 nodes, 1 link, labels 0 .. 2)
        """
        from blockmix.graph import query

        self.check_links()
        pairs = query.checked_pairs(pairs, self.n_nodes)
        offsets, neighbors, weights = query.without(self.offsets, self.neighbors, self.weights, pairs)
        return Graph(
            offsets, neighbors, self.labels, attributes=self.attributes, weights=weights, sides=self.sides
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a folder of .npy files and a manifest; replaces a network saved there."""
        from blockmix.graph.storage import save_graph

        save_graph(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = True, verify: bool = True) -> Graph:
        """Open a network written by `save`, mapped into memory unless `mmap` is False.

        Every file is compared with its checksum, which reads everything; `verify=False` leaves that out, and checks
        sizes and the range of all entries only.
        """
        from blockmix.graph.storage import load_graph

        return load_graph(path, mmap, verify)

    @classmethod
    def from_edges(
        cls,
        edges: NDArray[Any] | Iterable[Sequence[Any]],
        nodes: NDArray[Any] | Iterable[Any] | None = None,
        weights: NDArray[Any] | Iterable[float] | bool | None = None,
        directed: bool = False,
        bipartite: bool = False,
    ) -> Graph:
        """Make a network of pairs of labels: an (m, 2) array, or any iterable of pairs of integers or text.

        Both directions and repeats are merged and self-loops dropped. Integer labels are ordered by value,
        text labels by first appearance; a mixture of both becomes text. `nodes` adds labels that may have no
        link. `weights` are numbers above zero, one a pair, or True where they are the third entry of every pair; those
        of repeats are added up. Other columns after the second are ignored.

        With `directed` pairs are links from the first label to the second, and both directions are kept apart; with
        `bipartite` the first and the second labels are two kinds of nodes, see docs/howto/directed.md.

        >>> list(Graph.from_edges([(3, 1), (1, 8)], nodes=[5]).labels)
        [1, 3, 5, 8]
        >>> Graph.from_edges([("a", "b"), ("b", "a"), ("b", "c")], weights=[2, 0.5, 1]).weights.tolist()
        [2.5, 2.5, 1.0, 1.0]
        >>> Graph.from_edges([("a", "b"), ("b", "a"), ("b", "c")], directed=True)
        Graph(directed, 3 nodes, 3 links from one to another)
        """
        from blockmix.graph.edges import from_edges
        from blockmix.graph.sides.making import chosen_kind

        return from_edges(edges, nodes, weights, chosen_kind(directed, bipartite))

    @classmethod
    def from_networkx(
        cls,
        network: networkx.Graph[Any],
        weights: str | bool | None = None,
        directed: bool = False,
        bipartite: bool = False,
    ) -> Graph:
        """Make a network of a networkx graph of any kind, with its nodes as labels.

        `weights` names the attribute of the links that holds their weights; True is "weight". Those of parallel links
        and of both directions are added up. Directions are merged unless `directed` asks for them, weights that are not
        asked for are ignored, and the summary says so. `bipartite` takes the two kinds of nodes from their attribute
        `bipartite`, which is 0 or 1. Nodes that are neither integers nor text are labelled by their str().
        """
        from blockmix.graph.convert import from_networkx
        from blockmix.graph.sides.making import chosen_kind

        return from_networkx(network, weights, chosen_kind(directed, bipartite))

    @classmethod
    def from_igraph(
        cls,
        network: igraph.Graph,
        weights: str | bool | None = None,
        directed: bool = False,
        bipartite: bool = False,
    ) -> Graph:
        """Make a network of an igraph graph, labelled by the vertex attribute `name` where there is one.

        `weights` names the edge attribute that holds the weights; True is "weight". With `directed` both directions are
        kept apart; `bipartite` takes the two kinds of nodes from the vertex attribute `type`.
        """
        from blockmix.graph.convert import from_igraph
        from blockmix.graph.sides.making import chosen_kind

        return from_igraph(network, weights, chosen_kind(directed, bipartite))

    @classmethod
    def from_scipy(
        cls,
        matrix: scipy.sparse.sparray | scipy.sparse.spmatrix,
        labels: Sequence[Any] | NDArray[Any] | None = None,
        weights: bool = False,
        directed: bool = False,
        bipartite: bool = False,
    ) -> Graph:
        """Make a network of a square sparse adjacency matrix: every entry other than 0 is a link.

        Nodes are labelled 0 to N-1 unless `labels` are given. With `weights` the entries are the weights of the links;
        of a matrix that is not symmetric those of both directions are added up. With `directed` an entry is a link from
        its row to its column; with `bipartite` rows and columns are two kinds of nodes, and the matrix need not be
        square.
        """
        from blockmix.graph.convert import from_scipy
        from blockmix.graph.sides.making import chosen_kind

        return from_scipy(matrix, labels, weights, chosen_kind(directed, bipartite))

    @classmethod
    def from_pandas(
        cls,
        frame: pandas.DataFrame,
        source: str = "source",
        target: str = "target",
        nodes: NDArray[Any] | Iterable[Any] | None = None,
        weights: str | None = None,
        directed: bool = False,
        bipartite: bool = False,
    ) -> Graph:
        """Make a network of a table with one link per row and its two ends in two columns.

        `nodes` adds labels that may have no link, `weights` names a column of weights. A missing label is an error;
        other columns are ignored. `directed` and `bipartite` as in `from_edges`.
        """
        from blockmix.graph.convert import from_pandas
        from blockmix.graph.sides.making import chosen_kind

        kind = chosen_kind(directed, bipartite)
        return from_pandas(frame, source, target, nodes, weights, kind)

    def to_networkx(self) -> networkx.Graph[Any]:
        """Return a networkx.Graph with the labels as its nodes, and the weights as the attribute "weight".

        A directed network is a networkx.DiGraph; two kinds of nodes have the attribute `bipartite`, 0 or 1.
        """
        from blockmix.graph.convert import to_networkx

        return to_networkx(self)

    def to_scipy(self, dtype: Any = np.float64) -> scipy.sparse.csr_array:
        """Return the symmetric adjacency matrix, as a scipy.sparse.csr_array of ones; see also `to_scipy_weights`."""
        from blockmix.graph.convert import to_scipy

        return to_scipy(self, dtype)

    def to_scipy_weights(self) -> scipy.sparse.csr_array:
        """Return the symmetric matrix of the weights, ones where links have none, as a scipy.sparse.csr_array."""
        from blockmix.graph.convert import to_scipy_weights

        return to_scipy_weights(self)
