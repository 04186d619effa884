"""Starts that the user gives: a cover, or memberships, as another method found them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.model import Model
from blockmix.tables.layout import Rows, empty_rows

# Share of a node's membership that is spread over its given communities; the rest goes to a random one, so that a
# chain is not bound to a start that has nodes in too few communities.
GIVEN_SHARE = 0.9


def given_memberships(graph: Graph, init: Any) -> sp.csr_array:
    """Convert what the user gave as `init` to an N x K matrix of weights whose rows add up to one, or to zero.

    Accepted: a mapping or list of communities, each a collection of node labels, as `Posterior.communities` or
    networkx give them; an object with `communities`, as those of cdlib; a `Posterior`, of which all communities
    count, also those without evidence; a matrix of nodes x communities, dense or sparse.

    >>> graph = Graph.from_edges([("a", "b"), ("b", "c")])
    >>> given_memberships(graph, [["a", "b"], ["b", "c"]]).toarray()
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    if sp.issparse(init) or isinstance(init, np.ndarray):
        weights = sp.csr_array(init, dtype=np.float64)
        if weights.ndim != 2 or weights.shape[0] != graph.n_nodes:
            raise InputError(
                f"init has the shape {init.shape}; it needs a row for each of {graph.n_nodes} nodes"
            )
        if not np.isfinite(weights.data).all() or (weights.data < 0).any():
            raise InputError("init has entries that are negative or not numbers; memberships are weights")
    else:
        cover = getattr(init, "communities", init)
        weights = _of_cover(graph, cover(clear=False) if callable(cover) else cover)
    totals = np.asarray(weights.sum(axis=1)).ravel()
    scaled = sp.csr_array(sp.diags_array(1.0 / np.where(totals > 0, totals, 1.0)) @ weights)
    scaled.sort_indices()
    return scaled


def _of_cover(graph: Graph, cover: Any) -> sp.csr_array:
    """Convert communities, each a collection of node labels, to weights of one."""
    groups = list(cover.values()) if isinstance(cover, Mapping) else cover
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(f"init must be a cover or a matrix of memberships, not {type(cover).__name__}")
    members = []
    for place, group in enumerate(groups):
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise InputError(f"init: community {place} is {group!r}, not a collection of node labels")
        members.append(np.unique(graph.labels.indices(list(group))))
    if not members:
        raise InputError("init has no communities")
    nodes = np.concatenate(members)
    community = np.repeat(np.arange(len(members)), [len(group) for group in members])
    return sp.csr_array((np.ones(len(nodes)), (nodes, community)), shape=(graph.n_nodes, len(members)))


def given_rows(
    graph: Graph, weights: sp.csr_array, model: Model, slots: int, rng: np.random.Generator
) -> Rows:
    """Return rows that start at the given weights; nodes without any start in a random community."""
    rows = empty_rows(graph.n_nodes, slots)
    extra = rng.integers(0, model.communities, graph.n_nodes)
    for a in range(graph.n_nodes):
        held = slice(weights.indptr[a], weights.indptr[a + 1])
        ids, share = weights.indices[held], weights.data[held]
        largest = np.argsort(-share, kind="stable")[: max(slots - 1, 1)]
        found = dict(zip(ids[largest].tolist(), (GIVEN_SHARE * share[largest]).tolist(), strict=True))
        if slots > 1 or not found:
            found[int(extra[a])] = found.get(int(extra[a]), 0.0) + 1.0 - GIVEN_SHARE
        total = sum(found.values())
        for j, (k, weight) in enumerate(found.items()):
            rows.words[a, 2 * j] = k
            rows.weights[a, 2 * j + 1] = weight / total
    rows.total[:] = graph.degrees + model.communities * model.concentrations(graph.degrees)
    return rows


def given_strengths(graph: Graph, weights: sp.csr_array, model: Model) -> NDArray[np.float64]:
    """Return strengths at the density of links inside each given community, the background at that of the rest."""
    padded = sp.csr_array(weights)
    padded.resize((graph.n_nodes, model.communities))
    ends = graph.edges()
    both = padded[ends[:, 0]].multiply(padded[ends[:, 1]])
    links = np.asarray(both.sum(axis=0)).ravel()
    sums = np.asarray(padded.sum(axis=0)).ravel()
    squares = np.asarray(padded.multiply(padded).sum(axis=0)).ravel()
    pairs = np.maximum((sums**2 - squares) / 2.0, links)
    rest = max(graph.n_pairs - pairs.sum(), 1.0)
    value = np.append(
        (links + 1.0) / (pairs + 2.0), (max(graph.n_edges - links.sum(), 0.0) + 1.0) / (rest + 2.0)
    )
    if model.background is not None:
        value[-1] = model.background
    return np.asarray(np.clip(value, 1e-12, 1.0 - 1e-12))
