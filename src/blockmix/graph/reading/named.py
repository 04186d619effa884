"""Putting a table of attributes beside a network: its rows are matched with the nodes by their labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable
from blockmix.graph.attributes import NodeTable
from blockmix.graph.edges import graph_from_ends
from blockmix.graph.graph import Graph
from blockmix.graph.query import upper_weights
from blockmix.graph.reading.nodes import NodeList
from blockmix.graph.sides.tables import with_rows


def with_table(graph: Graph, labels: Any, table: NodeTable) -> Graph:
    """Return the network with the attributes of these nodes, all of which it has."""
    if not len(table):
        return graph
    if graph.sides is not None:
        return with_rows(graph, graph.sides, labels, table)
    places = graph.labels.indices(labels)
    return replace(graph, attributes=table.rearranged(places, graph.n_nodes))


def with_nodes(graph: Graph, nodes: NodeList) -> Graph:
    """Return the network with the nodes of a list or table: those that it lacks are added without links."""
    missing = _missing(graph, nodes.labels)
    if missing.any() and graph.sides is not None:
        raise InputError(
            f"the node {readable(str(nodes.labels[missing][0]))} of the node table has no link: nodes without links "
            "are added to directed and bipartite networks by lists of links only; leave such nodes out, or add them "
            "there"
        )
    if missing.any():
        names = _label_array(graph)
        known = np.concatenate((names.astype(object), nodes.labels[missing].astype(object)))
        isolated = _narrowed(known)
        notes = () if graph.summary is None else graph.summary.notes
        source = "network" if graph.summary is None else graph.summary.source
        attributes = graph.attributes
        weights = (
            None if graph.weights is None else upper_weights(graph.offsets, graph.neighbors, graph.weights)
        )
        ends = _narrowed(names[graph.edges()])
        graph = graph_from_ends(ends, isolated, source=source, notes=notes, weights=weights)
        if attributes is not None:
            graph = with_table(graph, names.tolist(), attributes)
    return described(graph, nodes)


def described(graph: Graph, nodes: NodeList | None) -> Graph:
    """Return a network that has the nodes of a table, with the attributes of it and a remark in the summary."""
    if nodes is not None:
        _require_links(graph, nodes)
    if nodes is None or nodes.table is None:
        return graph
    found = with_table(graph, nodes.labels.tolist(), nodes.table)
    notes = nodes.notes
    count = graph.sides.first if graph.sides is not None and graph.directed else graph.n_nodes
    without = count - len(nodes.labels)
    if without > 0:
        notes += (f"{without:,} of {count:,} nodes are not in the node table",)
    if found.summary is None:
        return found
    return replace(found, summary=replace(found.summary, notes=(*found.summary.notes, *notes)))


def _require_links(graph: Graph, nodes: NodeList) -> None:
    """Refuse a table or list of which no node has a link, where it is of other nodes or no list of labels."""
    if graph.sides is not None or not len(nodes.labels) or not graph.n_edges:
        return
    if graph.degrees[graph.labels.indices(nodes.labels.tolist())].any():
        return
    first = str(nodes.labels[0])
    linked = str(graph.labels[int(np.argmax(graph.degrees > 0))])
    if nodes.table is not None:
        raise InputError(
            f"{nodes.source}: no label of the column {readable(nodes.id_column or '')} is that of a node with a link: "
            f"the table has {readable(first)}, the network {readable(linked)}; write labels the same way in both, and "
            "call their column id"
        )
    if any(mark in first for mark in ",;|"):
        raise InputError(
            f"{nodes.source}: read as a list of one label a line, such as {readable(first)}, of which none has a link; "
            "if it is a table, call the column with the labels id, in its first line"
        )


def _missing(graph: Graph, labels: NDArray[Any]) -> NDArray[np.bool_]:
    names = graph.labels if graph.sides is None else graph.sides.plain(graph.labels)
    known = set(map(str, names))
    return np.array([str(label) not in known for label in labels.tolist()], dtype=np.bool_)


def _label_array(graph: Graph) -> NDArray[Any]:
    if graph.labels.kind == "text":
        names = np.empty(graph.n_nodes, dtype=object)
        names[:] = list(graph.labels)
        return names
    return np.arange(graph.n_nodes) if graph.labels.integers is None else np.asarray(graph.labels.integers)


def _narrowed(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as int64 where all are integers that fit, else as objects."""
    if labels.dtype.kind == "i" or all(
        type(label) is int and -(2**63) <= label < 2**63 for label in labels.reshape(-1).tolist()
    ):
        return labels.astype(np.int64)
    return labels.astype(object)
