"""`as_graph`: whatever holds a network, as a `Graph`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.sides.making import BIPARTITE, DIRECTED, chosen_kind
from blockmix.graph.storage import MANIFEST

DATASET = "dataset:"
# Columns of an array of pairs: both labels, and a weight.
MOST_OF_PAIRS = 3
_TAKEN = (
    "a Graph, a networkx or igraph graph, a SciPy sparse matrix, a pandas or polars frame, an array or list of pairs, "
    "a dictionary of neighbours, a path, the folder of a saved network, an https address, an open file, or "
    "'dataset:NAME'"
)


def as_graph(
    network: Any, *, nodes: Any = None, threads: int | None = None, weights: Any = None, directed: bool = False,
    bipartite: bool = False,
) -> Graph:  # fmt: skip
    """Return a network as a `Graph`, whatever holds it.

    Arguments:
        network: a `Graph`, a networkx or igraph graph, a SciPy sparse matrix, a square NumPy array of at least three
            rows, a pandas or polars frame with a link a row, an array or list of pairs of labels, records with named
            ends, a dictionary of the neighbours of every node, a path, an https address or an open file for
            `read_graph`, the folder of a network that `Graph.save` or `convert` wrote, "-" for standard input, or
            "dataset:NAME" for a known network.
        nodes: labels of nodes that may have no link, or a table of them with attributes: see `read_graph`.
        threads: for reading a file.
        weights: where the weights of the links are: the name or number of a column, the name of an attribute, True for
            the usual place (a column or attribute named weight, the entries of a matrix, the third entry of pairs), or
            one number for each of the pairs. Left out, links have none.
        directed: whether links have directions, which are merged by default.
        bipartite: whether there are two kinds of nodes: one in each column, or by the attribute `bipartite` (of igraph
            `type`), or the rows and the columns of a matrix.

    >>> as_graph([("ann", "bob"), ("bob", "cem")])
    Graph(3 nodes, 2 links, labels 'ann' .. 'cem')
    >>> as_graph([(1, 2), (2, 3)], nodes={"id": [1, 2, 3], "club": ["a", "a", "b"]}).attributes["club"][2]
    'b'
    """
    from blockmix.graph.reading.opening import is_file_object

    kind = chosen_kind(directed, bipartite)
    if isinstance(network, str) and network.startswith(DATASET):
        _refuse_kind(kind, "known networks are kept without directions")
        from blockmix.graph.datasets.load import load_dataset

        if weights is not None:
            raise InputError(
                f"weights={weights!r:.60}: known networks are kept without weights; leave it out"
            )
        return _with(load_dataset(network.removeprefix(DATASET)), nodes)
    if is_saved(network):
        _refuse_kind(kind, "a saved network is what it was saved as")
        if weights is not None:
            raise InputError(
                f"weights={weights!r:.60}: a saved network has those it was saved with; leave it out"
            )
        graph = Graph.load(network)
        graph.check_links()
        return _with(graph, nodes)
    if isinstance(network, str) and "\n" in network:
        raise InputError(
            "this text is not the name of a file; give io.StringIO(text) to read the links that are in it"
        )
    if isinstance(network, str | os.PathLike) or is_file_object(network):
        from blockmix.graph.reading.read import read_graph

        return read_graph(
            network, nodes=nodes, threads=threads, weights=weights, directed=directed, bipartite=bipartite
        )
    return _with(_from_memory(network, weights, kind), nodes)


def _refuse_kind(kind: str | None, reason: str) -> None:
    """Refuse to give a network another kind than it has."""
    if kind is not None:
        raise InputError(f"{kind}=True (--{kind}): {reason}; leave it out")


def is_saved(network: Any) -> bool:
    """Return whether this names the folder of a saved network."""
    if not isinstance(network, str | os.PathLike):
        return False
    try:
        return (Path(network) / MANIFEST).is_file()
    except (OSError, ValueError):
        return False


def _with(graph: Graph, nodes: Any) -> Graph:
    if nodes is None:
        return graph
    from blockmix.graph.reading.named import with_nodes
    from blockmix.graph.reading.nodes import read_nodes

    return with_nodes(graph, read_nodes(nodes))


def _from_memory(network: Any, weights: Any, kind: str | None) -> Graph:
    """Make a network of an object of one of the libraries that people use, recognised by what it offers."""
    if isinstance(network, type):
        raise InputError(f"{network.__name__} is a class and not a network; give an object of it")
    if isinstance(network, Graph):
        if weights is not None:
            raise InputError(
                f"weights={weights!r:.60}: the Graph is made already; give weights where it is read or converted"
            )
        if kind is not None and not (network.sides is not None and network.directed == (kind == DIRECTED)):
            _refuse_kind(kind, "the Graph is made already; say it where it is read or converted")
        network.check_links()
        return network
    given: dict[str, Any] = {DIRECTED: kind == DIRECTED, BIPARTITE: kind == BIPARTITE}
    if hasattr(network, "is_directed") and hasattr(network, "adj") and hasattr(network, "nodes"):
        return Graph.from_networkx(network, weights, **given)
    if hasattr(network, "get_edgelist") and hasattr(network, "vs"):
        return Graph.from_igraph(network, weights, **given)
    if hasattr(network, "tocsr") and hasattr(network, "shape"):
        return Graph.from_scipy(network, weights=_of_matrix(weights), **given)
    from blockmix.graph.containers.collections import from_collection, from_mapping
    from blockmix.graph.containers.frames import from_frame, from_structured, is_frame

    if isinstance(network, np.ndarray):
        if network.dtype.names is not None:
            return from_structured(network, weights, kind)
        return _from_array(network, weights, kind)
    if is_frame(network):
        return from_frame(network, weights, kind)
    found = from_mapping(network, weights, kind) if isinstance(network, Mapping) else None
    if found is not None:
        return found
    if isinstance(network, Mapping | bytes) or not hasattr(network, "__iter__"):
        raise InputError(f"{type(network).__name__} is not a network; give {_TAKEN}")
    return from_collection(network, weights, kind)


def _of_matrix(weights: Any) -> bool:
    if weights is None or isinstance(weights, bool):
        return bool(weights)
    raise InputError(f"weights={weights!r:.60}: the weights of a matrix are its entries; give True")


def _from_array(array: Any, weights: Any, kind: str | None) -> Graph:
    """Make a network of an (m, 2) array of pairs, or of a square adjacency matrix."""
    if np.ma.isMaskedArray(array) and np.ma.getmaskarray(array).any():
        raise InputError(
            "the array has masked entries; leave out their rows, for instance by numpy.ma.compress_rows"
        )
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    if square and array.shape[0] > 2 and array.dtype.kind in "biuf":
        from blockmix.graph.containers.frames import of_matrix

        return of_matrix(array, None, _of_matrix(weights), kind)
    from blockmix.graph.containers.collections import of_pairs

    if array.ndim == 2 and array.shape[1] > MOST_OF_PAIRS:
        raise InputError(
            f"an array of {array.shape[0]:,} x {array.shape[1]:,} holds neither pairs nor a square adjacency matrix; "
            + (
                "if it has a row of each end, give array.T"
                if array.shape[0] == 2
                else "if its first two columns are the pairs, give array[:, :2]"
            )
        )
    return Graph.from_edges(
        array, weights=of_pairs(weights), directed=kind == DIRECTED, bipartite=kind == BIPARTITE
    )
