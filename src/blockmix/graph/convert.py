"""Networks from and to the libraries people already use; each is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, optional, readable
from blockmix.graph.attributes import NodeTable
from blockmix.graph.edges import assemble, graph_from_ends, node_labels
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels

_MERGED = "directed input: links in either direction merged into one"
_WEIGHTS = "weights ignored"
# Values of nodes that can be kept as numbers or text; others (lists, objects) are left out.
_ATTRIBUTE_KINDS = (str, bool, int, float)


def from_networkx(network: Any) -> Graph:
    """See `Graph.from_networkx`."""
    if not (hasattr(network, "nodes") and hasattr(network, "is_directed") and hasattr(network, "adj")):
        raise InputError(f"from_networkx needs a networkx graph, not {type(network).__name__}")
    names = list(network.nodes)
    number = {name: place for place, name in enumerate(names)}
    flat = [number[end] for pair in network.edges() for end in pair]
    notes = []
    if network.is_directed():
        notes.append(_MERGED)
    if network.is_multigraph():
        notes.append("multigraph: parallel links merged")
    if any("weight" in data for _, _, data in network.edges(data=True)):
        notes.append(_WEIGHTS)
    columns: dict[str, list[Any]] = {}
    for place, (_, values) in enumerate(network.nodes(data=True)):
        for key, value in values.items():
            if isinstance(value, _ATTRIBUTE_KINDS):
                columns.setdefault(str(key), [None] * len(names))[place] = value
    return _numbered(flat, names, "networkx graph", tuple(notes), columns)


def from_igraph(network: Any) -> Graph:
    """See `Graph.from_igraph`."""
    if not (hasattr(network, "get_edgelist") and hasattr(network, "vs")):
        raise InputError(f"from_igraph needs an igraph.Graph, not {type(network).__name__}")
    named = "name" in network.vs.attributes()
    names = network.vs["name"] if named else list(range(network.vcount()))
    notes = []
    if network.is_directed():
        notes.append(_MERGED)
    if "weight" in network.es.attributes():
        notes.append(_WEIGHTS)
    columns = {}
    for key in network.vs.attributes():
        values = network.vs[key]
        if key != "name" and all(value is None or isinstance(value, _ATTRIBUTE_KINDS) for value in values):
            columns[str(key)] = values
    return _numbered(network.get_edgelist(), names, "igraph graph", tuple(notes), columns)


def _numbered(
    pairs: Any, names: list[Any], source: str, notes: tuple[str, ...], columns: dict[str, list[Any]]
) -> Graph:
    """Return a network from pairs of positions in a list of names, which must all differ as labels.

    `columns` are attributes of the nodes, in the order of the names.
    """
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    labels = node_labels(names, "nodes")
    order = np.argsort(labels, kind="stable") if labels.dtype.kind == "i" else np.arange(len(labels))
    place = np.empty(len(labels), dtype=np.int64)
    place[order] = np.arange(len(labels))
    chosen = Labels.of(labels[order].tolist()) if len(labels) else Labels.range(0)
    graph = assemble([place[ends]], chosen, source=source, records=len(ends), notes=notes)
    if not columns:
        return graph
    return replace(graph, attributes=NodeTable.of(columns, len(names)).rearranged(place, graph.n_nodes))


def from_scipy(matrix: Any, labels: Sequence[Any] | NDArray[Any] | None = None) -> Graph:
    """See `Graph.from_scipy`."""
    import scipy.sparse

    if not scipy.sparse.issparse(matrix):
        raise InputError(
            f"from_scipy needs a sparse matrix, not {type(matrix).__name__}; use scipy.sparse.csr_array(...)"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix is square, not of shape {matrix.shape}")
    if labels is not None and len(labels) != matrix.shape[0]:
        raise InputError(f"{len(labels)} labels were given for {matrix.shape[0]} nodes")
    entries = scipy.sparse.csr_array(matrix)
    entries.sum_duplicates()
    if entries.dtype.kind in "fc" and np.isnan(entries.data).any():
        raise InputError("the adjacency matrix has missing entries (NaN); remove them or set them to 0")
    pattern = scipy.sparse.csr_array(entries != 0)
    notes = [] if (entries.data[entries.data != 0] == 1).all() else [_WEIGHTS]
    if (pattern != pattern.T).nnz:
        notes.append(_MERGED)
    else:
        pattern = scipy.sparse.triu(pattern)
    listed = pattern.tocoo()
    ends = np.stack((listed.row, listed.col), axis=1)
    named = Labels.range(matrix.shape[0]) if labels is None else Labels.of(labels)
    return assemble([ends], named, source="sparse matrix", records=len(ends), notes=tuple(notes))


def from_pandas(frame: Any, source: str = "source", target: str = "target", nodes: Any = None) -> Graph:
    """See `Graph.from_pandas`."""
    columns = getattr(frame, "columns", None)
    if columns is None:
        raise InputError(f"from_pandas needs a DataFrame, not {type(frame).__name__}")
    for name in (source, target):
        if name not in columns:
            there = ", ".join(map(str, columns))
            raise InputError(
                f"the table has no column {name!r}; it has: {there}. Name them by source=, target="
            )
    sides = [_column(frame[name], name) for name in (source, target)]
    if sides[0].dtype != sides[1].dtype:
        sides = [side.astype(object) for side in sides]
    isolated = None if nodes is None else node_labels(nodes, "nodes")
    ignored = tuple(readable(str(name)) for name in columns if name not in (source, target))
    ends = np.stack(sides, axis=1)
    return graph_from_ends(ends, isolated, source="data frame", extra_columns=len(frame) if ignored else 0,
                           ignored_columns=ignored)  # fmt: skip


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
    network = networkx.Graph()
    network.add_nodes_from(names)
    network.add_edges_from((names[a], names[b]) for a, b in graph.edges().tolist())
    return network


def to_scipy(graph: Graph, dtype: Any = np.float64) -> Any:
    """See `Graph.to_scipy`."""
    import scipy.sparse

    ones = np.ones(len(graph.neighbors), dtype=dtype)
    shape = (graph.n_nodes, graph.n_nodes)
    return scipy.sparse.csr_array((ones, graph.neighbors.copy(), graph.offsets.copy()), shape=shape)
