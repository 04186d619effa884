"""Attributes of the nodes of a network of two sides: the side itself, and tables whose rows are plain labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blockmix.graph.attributes import Attribute, NodeTable
from blockmix.graph.labels import Labels
from blockmix.graph.sides.sides import Sides

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph

# The attribute that says which side a node is on.
ROLE = "role"


def roles_table(sides: Sides, nodes: int) -> NodeTable:
    """Return the table with the side of every node."""
    codes = (np.arange(nodes) >= sides.first).astype(np.int32)
    return NodeTable({ROLE: Attribute(codes=codes, categories=Labels.from_text(list(sides.names)))}, nodes)


def with_rows(graph: Graph, sides: Sides, labels: Any, table: NodeTable) -> Graph:
    """Return the network with the attributes of these labels: a node that is on both sides has them twice."""
    row_of = {str(label): row for row, label in enumerate(labels)}
    rows = np.array([row_of.get(str(label), -1) for label in sides.plain(graph.labels)], dtype=np.int64)
    places = np.flatnonzero(rows >= 0)
    found = table.taken(rows[places]).rearranged(places, graph.n_nodes)
    known = {} if graph.attributes is None else graph.attributes.columns
    return replace(graph, attributes=NodeTable({**found.columns, **known}, graph.n_nodes))
