"""Networks from and to the libraries people already use; each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, optional, readable
from blockmix.graph.attributes import NodeTable
from blockmix.graph.edges import assemble, checked_weights, graph_from_ends, node_labels
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.query import upper_weights
from blockmix.graph.sides.making import BIPARTITE, DIRECTED
from blockmix.graph.sides.tables import with_rows

_MERGED = (
    "directed input: links in either direction merged into one; directed=True (--directed) keeps them apart"
)
_WEIGHTS = "weights ignored: name them (weights) to use them"
# Values of nodes that can be kept as numbers or text; others (lists, objects) are left out.
_ATTRIBUTE_KINDS = (str, bool, int, float)


def from_networkx(network: Any, weights: str | bool | None = None, kind: str | None = None) -> Graph:
    """See `Graph.from_networkx`."""
    if not (hasattr(network, "nodes") and hasattr(network, "is_directed") and hasattr(network, "adj")):
        raise InputError(f"from_networkx needs a networkx graph, not {type(network).__name__}")
    names = list(network.nodes)
    number = {name: place for place, name in enumerate(names)}
    flat = [number[end] for pair in network.edges() for end in pair]
    _check_directed(kind, network.is_directed())
    notes = []
    if network.is_directed() and kind is None:
        notes.append(_MERGED)
    marks = [attributes.get("bipartite") for _, attributes in network.nodes(data=True)]
    if kind == BIPARTITE:
        flat = _across(flat, marks, names, "bipartite")
    elif kind is None and marks and all(mark in (0, 1) for mark in marks) and len(set(marks)) == 2:
        notes.append(
            "nodes are of two kinds (bipartite): bipartite=True (--bipartite) counts no pairs within a kind"
        )
    if network.is_multigraph():
        notes.append("multigraph: parallel links merged")
    key, values = weight_name(weights), None
    if key is not None:
        values = _attribute_weights([(a, b, data.get(key)) for a, b, data in network.edges(data=True)], key)
    elif any("weight" in data for _, _, data in network.edges(data=True)):
        notes.append(_WEIGHTS)
    columns: dict[str, list[Any]] = {}
    for place, (_, attributes) in enumerate(network.nodes(data=True)):
        for name, value in attributes.items():
            if isinstance(value, _ATTRIBUTE_KINDS):
                columns.setdefault(str(name), [None] * len(names))[place] = value
    return _numbered((flat, names, kind), "networkx graph", tuple(notes), columns, values)


def _check_directed(kind: str | None, directed: bool) -> None:
    """Refuse to read directions where there are none."""
    if kind == DIRECTED and not directed:
        raise InputError(
            "directed=True (--directed): the links of this network have no directions; leave it out, or make the "
            "network with directed links"
        )


def _across(flat: list[int], marks: list[Any], names: list[Any], attribute: str) -> list[int]:
    """Return pairs of positions, one after the other, with the end of the first kind in front."""
    wrong = next((place for place, mark in enumerate(marks) if mark not in (0, 1)), -1)
    if wrong >= 0:
        raise InputError(
            f"bipartite=True (--bipartite): the node {readable(str(names[wrong]))} has no attribute {attribute!r} that "
            "is 0 or 1; give every node one, or a list of pairs whose first column is one kind"
        )
    found = []
    for a, b in zip(flat[::2], flat[1::2], strict=True):
        if marks[a] == marks[b]:
            raise InputError(
                f"bipartite=True (--bipartite): the link of {readable(str(names[a]))} and {readable(str(names[b]))} "
                f"joins two nodes of one kind, by their attribute {attribute!r}"
            )
        found += [b, a] if marks[a] else [a, b]
    return found


def weight_name(weights: Any) -> str | None:
    """Return the attribute that holds the weights, or None for none; True is "weight"."""
    if weights is None or weights is False:
        return None
    if weights is True:
        return "weight"
    if isinstance(weights, str) and weights:
        return weights
    raise InputError(
        f"weights={weights!r:.60}: give the name of an attribute of the links, or True for 'weight'"
    )


def _attribute_weights(links: list[tuple[Any, Any, Any]], key: str) -> NDArray[np.float64]:
    """Return the values of an attribute of the links; pairs (end, end, value)."""

    def name(place: int) -> str:
        return f"the link from {readable(str(links[place][0]))} to {readable(str(links[place][1]))}"

    missing = next((place for place, link in enumerate(links) if link[2] is None), -1)
    if missing >= 0:
        raise InputError(f"weights: {name(missing)} has no attribute {key!r:.60}; give every link one")
    return checked_weights([link[2] for link in links], len(links), f"weights: attribute {key!r:.60}", name)


def from_igraph(network: Any, weights: str | bool | None = None, kind: str | None = None) -> Graph:
    """See `Graph.from_igraph`."""
    if not (hasattr(network, "get_edgelist") and hasattr(network, "vs")):
        raise InputError(f"from_igraph needs an igraph.Graph, not {type(network).__name__}")
    named = "name" in network.vs.attributes()
    names = network.vs["name"] if named else list(range(network.vcount()))
    _check_directed(kind, network.is_directed())
    notes = [_MERGED] if network.is_directed() and kind is None else []
    flat = [end for pair in network.get_edgelist() for end in pair]
    if kind == BIPARTITE:
        types = network.vs["type"] if "type" in network.vs.attributes() else [None] * network.vcount()
        flat = _across(flat, types, names, "type")
    key, weighed = weight_name(weights), None
    if key is not None:
        found = network.es[key] if key in network.es.attributes() else [None] * network.ecount()
        ends = [(names[a], names[b]) for a, b in network.get_edgelist()]
        weighed = _attribute_weights([(*pair, value) for pair, value in zip(ends, found, strict=True)], key)
    elif "weight" in network.es.attributes():
        notes.append(_WEIGHTS)
    columns = {}
    for name in network.vs.attributes():
        values = network.vs[name]
        if name != "name" and all(value is None or isinstance(value, _ATTRIBUTE_KINDS) for value in values):
            columns[str(name)] = values
    return _numbered((flat, names, kind), "igraph graph", tuple(notes), columns, weighed)


def _numbered(
    listed: tuple[list[int], list[Any], str | None], source: str, notes: tuple[str, ...], columns: dict[str, list[Any]],
    weights: NDArray[np.float64] | None = None,
) -> Graph:  # fmt: skip
    """Return a network from pairs of positions in a list of names, which must all differ as labels.

    `listed` are the positions, one after the other, the names, and the kind of network. `columns` are attributes of
    the nodes, in the order of the names.
    """
    pairs, names, kind = listed
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    labels = node_labels(names, "nodes")
    order = np.argsort(labels, kind="stable") if labels.dtype.kind == "i" else np.arange(len(labels))
    place = np.empty(len(labels), dtype=np.int64)
    place[order] = np.arange(len(labels))
    chosen = Labels.of(labels[order].tolist()) if len(labels) else Labels.range(0)
    graph = assemble(
        [place[ends]], chosen, source=source, records=len(ends), notes=notes,
        weights=None if weights is None else [weights], kind=kind,
    )  # fmt: skip
    if not columns:
        return graph
    if graph.sides is not None:
        return with_rows(graph, graph.sides, names, NodeTable.of(columns, len(names)))
    return replace(graph, attributes=NodeTable.of(columns, len(names)).rearranged(place, graph.n_nodes))


def from_scipy(
    matrix: Any, labels: Sequence[Any] | NDArray[Any] | None = None, weights: bool = False, kind: str | None = None
) -> Graph:  # fmt: skip
    """See `Graph.from_scipy`."""
    import scipy.sparse

    if not scipy.sparse.issparse(matrix):
        raise InputError(
            f"from_scipy needs a sparse matrix, not {type(matrix).__name__}; use scipy.sparse.csr_array(...)"
        )
    if kind == BIPARTITE and labels is not None:
        raise InputError(
            "labels are not for the matrix of a bipartite network: rows and columns are numbered from 0"
        )
    if matrix.ndim != 2 or (matrix.shape[0] != matrix.shape[1] and kind != BIPARTITE):
        raise InputError(f"an adjacency matrix is square, not of shape {matrix.shape}")
    if labels is not None and len(labels) != matrix.shape[0]:
        raise InputError(f"{len(labels)} labels were given for {matrix.shape[0]} nodes")
    if matrix.dtype.kind in "iu" and matrix.dtype.itemsize < 8:
        # Entries that are listed twice add up, and a sum that does not fit could be zero.
        matrix = matrix.astype(np.int64)
    entries = scipy.sparse.csr_array(matrix)
    entries.sum_duplicates()
    if entries.dtype.kind in "fc" and np.isnan(entries.data).any():
        raise InputError("the adjacency matrix has missing entries (NaN); remove them or set them to 0")
    if not isinstance(weights, bool | np.bool_):
        raise InputError(f"weights={weights!r:.60}: give True where the entries of the matrix are weights")
    pattern = entries if weights else scipy.sparse.csr_array(entries != 0)
    notes = [] if weights or (entries.data[entries.data != 0] == 1).all() else [_WEIGHTS]
    if kind is not None:
        pass
    elif (pattern != pattern.T).nnz:
        notes.append(_MERGED)
    else:
        pattern = scipy.sparse.triu(pattern)
    listed = pattern.tocoo()
    there = np.asarray(listed.data != 0)
    ends = np.stack((listed.row, listed.col), axis=1)[there]
    named = Labels.range(max(matrix.shape)) if labels is None else Labels.of(labels)
    found = None
    if weights:
        found = [
            checked_weights(
                np.asarray(listed.data)[there], len(ends), "weights",
                lambda e: f"the entry in row {ends[e, 0]}, column {ends[e, 1]} of the matrix (from 0)",
            )
        ]  # fmt: skip
    return assemble(
        [ends], named, source="sparse matrix", records=len(ends), notes=tuple(notes), weights=found, kind=kind
    )


def from_pandas(
    frame: Any, source: str = "source", target: str = "target", nodes: Any = None, weights: str | None = None,
    kind: str | None = None,
) -> Graph:  # fmt: skip
    """See `Graph.from_pandas`."""
    columns = getattr(frame, "columns", None)
    if columns is None:
        raise InputError(f"from_pandas needs a DataFrame, not {type(frame).__name__}")
    for name in (source, target) if weights is None else (source, target, weights):
        if name not in columns:
            there = ", ".join(map(str, columns))
            raise InputError(
                f"the table has no column {name!r}; it has: {there}. Name them by source=, target=, weights="
            )
    if weights in (source, target):
        raise InputError(f"weights={weights!r:.60} is a column of labels; name another one")
    sides = [_column(frame[name], name) for name in (source, target)]
    if sides[0].dtype != sides[1].dtype:
        sides = [side.astype(object) for side in sides]
    isolated = None if nodes is None else node_labels(nodes, "nodes")
    ignored = tuple(readable(str(name)) for name in columns if name not in (source, target, weights))
    ends = np.stack(sides, axis=1)
    values = None
    if weights is not None:
        rows = [readable(str(row)) for row in frame.index]
        what = f"column {readable(str(weights))}"
        values = checked_weights(frame[weights].to_numpy(), len(frame), what, lambda e: f"row {rows[e]}")
    return graph_from_ends(ends, isolated, source="data frame", extra_columns=len(frame) if ignored else 0,
                           ignored_columns=ignored, weights=values, kind=kind)  # fmt: skip


def _column(column: Any, name: str) -> NDArray[Any]:
    missing = column.isna().to_numpy()
    if missing.any():
        row = column.index[int(np.argmax(missing))]
        raise InputError(
            f"column {name!r}: the label in row {readable(str(row))} is missing ({missing.sum()} in all); "
            "drop such rows first, for instance with frame.dropna"
        )
    return node_labels(column.to_numpy(), f"column {name!r}")


def to_networkx(graph: Graph) -> Any:
    """See `Graph.to_networkx`."""
    networkx = optional("networkx", "to_networkx", 'pip install "blockmix[networkx]"')
    names = list(graph.labels)
    network = networkx.DiGraph() if graph.directed else networkx.Graph()
    if graph.sides is not None and graph.directed:
        names = graph.sides.plain(names)
    network.add_nodes_from(names)
    if graph.sides is not None and not graph.directed:
        roles = (np.arange(graph.n_nodes) >= graph.sides.first).astype(int).tolist()
        networkx.set_node_attributes(network, dict(zip(names, roles, strict=True)), "bipartite")
    if graph.weights is None:
        network.add_edges_from((names[a], names[b]) for a, b in graph.edges().tolist())
        return network
    values = upper_weights(graph.offsets, graph.neighbors, graph.weights).tolist()
    links = zip(graph.edges().tolist(), values, strict=True)
    network.add_weighted_edges_from((names[a], names[b], value) for (a, b), value in links)
    return network


def to_scipy(graph: Graph, dtype: Any = np.float64) -> Any:
    """See `Graph.to_scipy`."""
    import scipy.sparse

    ones = np.ones(len(graph.neighbors), dtype=dtype)
    shape = (graph.n_nodes, graph.n_nodes)
    return scipy.sparse.csr_array((ones, graph.neighbors.copy(), graph.offsets.copy()), shape=shape)


def to_scipy_weights(graph: Graph) -> Any:
    """See `Graph.to_scipy_weights`."""
    matrix = to_scipy(graph)
    if graph.weights is not None:
        matrix.data[:] = graph.weights
    return matrix
