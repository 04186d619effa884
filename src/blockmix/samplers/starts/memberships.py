"""Memberships and strengths to start at, from a hard partition of the nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.graph import Graph
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.starts.counting import count_inside, pairs_of
from blockmix.tables.layout import Rows, Strengths, empty_rows

# Share of a node's membership that starts in its part; the rest is in a random community, so that it can move.
HOME_SHARE = 0.8


def random_parts(graph: Graph, communities: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a part for every node, uniformly."""
    return rng.integers(0, communities, graph.n_nodes)


def start_rows(
    graph: Graph, parts: NDArray[np.int64], model: Model, slots: int, rng: np.random.Generator
) -> Rows:
    """Return memberships that start mostly in the node's part and a little in another community."""
    rows = empty_rows(graph.n_nodes, slots)
    k = model.communities
    rows.words[:, 0] = parts
    rows.weights[:, 1] = HOME_SHARE if k > 1 and slots > 1 else 1.0
    if k > 1 and slots > 1:
        rows.words[:, 2] = (parts + 1 + rng.integers(0, k - 1, graph.n_nodes)) % k
        rows.weights[:, 3] = 1.0 - HOME_SHARE
    rows.total[:] = graph.degrees + k * model.concentrations(graph.degrees)
    return rows


def dense_rows(rows: Rows, communities: int) -> Rows:
    """Return the same memberships with a slot for every community, in order: the rows of the dense form."""
    dense = empty_rows(len(rows.total), communities)
    dense.words[:, ::2] = np.arange(communities)
    dense.weights[:, 1::2] = 0.0
    ids = rows.words[:, ::2]
    nodes, slots = np.nonzero(np.cumprod(ids >= 0, axis=1))
    dense.weights[nodes, 2 * ids[nodes, slots] + 1] = rows.weights[nodes, 2 * slots + 1]
    dense.total[:] = rows.total
    return dense


def start_strengths(
    graph: Graph, parts: NDArray[np.int64], model: Model, workers: Workers | None = None
) -> Strengths:
    """Return strengths at the density of links inside each part, the background at that between parts."""
    k = model.communities
    counts = count_inside(graph, parts, k, Workers(1) if workers is None else workers)
    links, pairs = counts.inside, pairs_of(counts.nodes)
    between = max(graph.n_pairs - pairs.sum(), 1.0)
    value = np.empty(k + 1)
    value[:k] = (links + 1.0) / (np.maximum(pairs, links) + 2.0)
    value[k] = (float(graph.n_edges - links.sum()) + 1.0) / (between + 2.0)
    if model.background is not None:
        value[k] = model.background
    total = np.append(pairs, between) + 2.0
    return Strengths(value, total, total.copy())
