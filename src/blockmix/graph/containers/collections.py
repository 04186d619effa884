"""Networks of plain Python: pairs in any order, records, dictionaries of neighbours or of pairs, lists of rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from blockmix.errors import InputError, readable
from blockmix.graph.containers.frames import MOST_PAIRS, of_matrix, surely_matrix
from blockmix.graph.edges import from_edges
from blockmix.graph.graph import Graph
from blockmix.graph.reading.dialect import find_ends


def from_mapping(network: Mapping[Any, Any], weights: Any, kind: str | None) -> Graph | None:
    """Make a network of a dictionary of pairs, of columns, or of the neighbours of every node; None of another."""
    if not network:
        return None
    keys = list(network)
    if all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        return _of_links([(a, b, network[a, b]) for a, b in keys], None, weights, kind)
    if "nodes" in network and ("links" in network or "edges" in network):
        raise InputError(
            "this dictionary holds a network as JSON does; give networkx.node_link_graph(data), or write it to a file"
        )
    names = [key for key in keys if isinstance(key, str)]
    ends = find_ends(names) if len(names) == len(keys) else None
    if ends is not None and all(isinstance(value, Sequence | np.ndarray) for value in network.values()):
        return _of_columns(network, keys[ends[0]], keys[ends[1]], weights, kind)
    rows = network.values()
    if not all(isinstance(row, Iterable) and not isinstance(row, str | bytes) for row in rows):
        return None
    links = [(node, *link) for node, row in network.items() for link in _neighbours(row)]
    return _of_links(links, keys, weights, kind)


def _neighbours(row: Any) -> list[tuple[Any, Any]]:
    """Return the neighbours of a node, each with its weight or None."""
    if not isinstance(row, Mapping):
        return [(end, None) for end in _ordered(row)]
    return [(end, value.get("weight") if isinstance(value, Mapping) else value) for end, value in row.items()]


def _of_links(links: list[tuple[Any, Any, Any]], nodes: Any, weights: Any, kind: str | None) -> Graph:
    if weights not in (None, False, True):
        raise InputError(f"weights={weights!r:.60}: the weights of a dictionary are its values; give True")
    pairs = [(a, b) for a, b, _ in links]
    values = [weight for _, _, weight in links] if weights else None
    return from_edges(pairs, nodes if kind is None else None, values, kind)


def _of_columns(network: Mapping[Any, Any], first: str, second: str, weights: Any, kind: str | None) -> Graph:
    """Make a network of two columns of equal length, and perhaps one of weights."""
    sides = [list(network[first]), list(network[second])]
    if len(sides[0]) != len(sides[1]):
        counts = " and ".join(f"{len(side):,}" for side in sides)
        raise InputError(
            f"{readable(first)} and {readable(second)} have {counts} labels; give each link one of both"
        )
    values = None
    if weights is not None and weights is not False:
        name = "weight" if weights is True else weights
        if not isinstance(name, str) or name not in network:
            raise InputError(
                f"weights={weights!r:.60}: there is no such column; columns: {', '.join(map(str, network))}"
            )
        values = network[name]
    return from_edges(zip(*sides, strict=True), None, values, kind)


def from_collection(network: Iterable[Any], weights: Any, kind: str | None) -> Graph:
    """Make a network of pairs, of unordered pairs, of records with named ends, or of the rows of a matrix."""
    pairs = _ordered(network)
    if pairs and all(isinstance(pair, Mapping) for pair in pairs):
        return _of_records(pairs, weights, kind)
    weights = of_pairs(weights)
    if isinstance(network, set | frozenset) and weights is not None and not isinstance(weights, bool):
        raise InputError(
            "weights: a set has no order; give weights with a list of pairs, or pairs with a third entry"
        )
    if getattr(pairs[0] if pairs else None, "_fields", ("",))[0] == "Index":
        raise InputError("these rows begin with the index of the frame; give frame.itertuples(index=False)")
    if pairs and all(isinstance(pair, set | frozenset) for pair in pairs):
        pairs = _of_sets(pairs, kind)
    matrix = _matrix(pairs)
    if matrix is not None:
        return of_matrix(matrix, None, bool(weights), kind)
    return from_edges(pairs, None, weights, kind)


def _ordered(network: Iterable[Any]) -> list[Any]:
    """Return the elements in their order; those of a set, which has none, in one that is always the same."""
    if not isinstance(network, set | frozenset):
        return list(network)
    return sorted(
        network, key=lambda value: repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
    )


def _of_sets(pairs: list[Any], kind: str | None) -> list[tuple[Any, Any]]:
    """Return unordered pairs as tuples."""
    if kind is not None:
        raise InputError(f"{kind}=True (--{kind}): a set of two labels has no order; give tuples")
    wrong = next((place for place, pair in enumerate(pairs) if len(pair) != 2), -1)
    if wrong >= 0:
        raise InputError(f"edges[{wrong}] is {readable(str(pairs[wrong]))}, not a set of two labels")
    return [tuple(sorted(pair, key=repr)) for pair in pairs]


def _of_records(records: list[Mapping[Any, Any]], weights: Any, kind: str | None) -> Graph:
    """Make a network of dictionaries, one a link, whose keys name the ends."""
    names = [str(key) for key in records[0]]
    ends = find_ends(names)
    if ends is None:
        raise InputError(
            f"edges[0] has the keys {', '.join(map(readable, names[:8]))}, of which no two name the ends of a link; "
            "call them source and target"
        )
    keys = list(records[0])
    wanted = [keys[ends[0]], keys[ends[1]]]
    if weights is not None and weights is not False:
        wanted.append("weight" if weights is True else weights)
    wrong = next(
        (place for place, record in enumerate(records) if any(key not in record for key in wanted)), -1
    )
    if wrong >= 0:
        raise InputError(
            f"edges[{wrong}] is {readable(str(records[wrong]))}, without one of {', '.join(map(str, wanted))}"
        )
    columns = {key: [record[key] for record in records] for key in wanted}
    return _of_columns(columns, wanted[0], wanted[1], weights, kind)


def _matrix(rows: list[Any]) -> Any:
    """Return a list of rows as a square array, where it is an adjacency matrix; else None."""
    count = len(rows)
    square = count >= MOST_PAIRS and all(isinstance(row, list | tuple) and len(row) == count for row in rows)
    if not square or not all(isinstance(value, numbers.Real) for row in rows for value in row):
        return None
    entries = np.array(rows)
    return entries if count > MOST_PAIRS or surely_matrix(entries) else None


def of_pairs(weights: Any) -> Any:
    """Return the weights of pairs, which have no columns with names."""
    if isinstance(weights, str | int) and not isinstance(weights, bool):
        raise InputError(
            f"weights={weights!r:.60}: give True for the third entry of every pair, or one number a pair"
        )
    return weights
