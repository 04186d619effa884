"""Other forms of JSON than node-link, turned into a list of nodes and a list of links.

networkx.adjacency_data, the JSON Graph Format, Cytoscape's elements, records with two named columns, the tables of
pandas, and lists of neighbours by node. What is none of these stays as it is, and is refused with its keys.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from blockmix.graph.reading.dialect import find_ends

Listed = tuple[Any, list[Any]]


def as_lists(found: Any) -> Listed | None:
    """Return the nodes (None where they are not listed) and the links of JSON in one of these forms, else None.

    >>> as_lists({"ann": ["bob"], "bob": ["ann"]})
    (['ann', 'bob'], [{'source': 'ann', 'target': 'bob'}, {'source': 'bob', 'target': 'ann'}])
    >>> as_lists({"cells": [], "nbformat": 4}) is None
    True
    """
    if isinstance(found, list):
        return _elements(found) or _records(found)
    for form in (_elements_of, _graph_of, _adjacency, _table, _neighbours):
        listed = form(found)
        if listed is not None:
            return listed
    return None


def _elements(found: list[Any]) -> Listed | None:
    """Split a flat list of Cytoscape's elements: those with a source are links."""
    if not found or not all(
        isinstance(entry, dict) and isinstance(entry.get("data"), dict) for entry in found
    ):
        return None
    data = [entry["data"] for entry in found]
    return [entry for entry in data if "source" not in entry], [entry for entry in data if "source" in entry]


def _elements_of(found: dict[str, Any]) -> Listed | None:
    """Return the lists under "elements": flat, or nodes and edges."""
    elements = found.get("elements")
    if isinstance(elements, list):
        return _elements(elements)
    if not isinstance(elements, dict):
        return None
    return _data(elements.get("nodes")), _data(elements.get("edges"))


def _data(records: Any) -> Any:
    """Return what Cytoscape keeps under "data" in every node or link."""
    if not isinstance(records, list):
        return records
    return [record.get("data") if isinstance(record, dict) else record for record in records]


def _graph_of(found: dict[str, Any]) -> Listed | None:
    """Return the lists of the JSON Graph Format: under "graph", nodes by id or in a list."""
    graph = found.get("graph")
    if not isinstance(graph, dict) or not isinstance(graph.get("edges"), list):
        return None
    nodes = graph.get("nodes")
    if isinstance(nodes, dict):
        nodes = [{"id": name, **_plain(node)} for name, node in nodes.items()]
    return nodes, graph["edges"]


def _plain(node: Any) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != "id"} if isinstance(node, dict) else {}


def _adjacency(found: dict[str, Any]) -> Listed | None:
    """Return the lists of networkx.adjacency_data: the neighbours of every node, in the order of the nodes."""
    nodes, rows = found.get("nodes"), found.get("adjacency")
    if not isinstance(nodes, list) or not isinstance(rows, list) or len(nodes) != len(rows):
        return None
    links = []
    for node, row in zip(nodes, rows, strict=True):
        if (
            not isinstance(node, dict)
            or not isinstance(row, list)
            or not all(isinstance(end, dict) for end in row)
        ):
            return None
        others = ({**end, "source": node.get("id"), "target": end.get("id")} for end in row)
        links += [{key: value for key, value in link.items() if key != "id"} for link in others]
    return nodes, links


def _records(found: list[Any]) -> Listed | None:
    """Return records whose keys name two ends in other words than source and target."""
    keys = list(found[0]) if found and isinstance(found[0], dict) else []
    ends = find_ends(keys)
    if ends is None or not all(isinstance(record, dict) for record in found):
        return None
    first, second = (keys[end] for end in ends)
    others = [{key: value for key, value in record.items() if key not in (first, second)} for record in found]
    return None, [
        {**other, "source": record.get(first), "target": record.get(second)}
        for other, record in zip(others, found, strict=True)
    ]


def _table(found: dict[str, Any]) -> Listed | None:
    """Return the rows of a table as pandas writes it: by columns, or as columns and data."""
    columns, rows = found.get("columns"), found.get("data")
    if isinstance(columns, list) and isinstance(rows, list):
        if not all(isinstance(name, str) for name in columns) or not all(
            isinstance(row, list) for row in rows
        ):
            return None
        return _records([dict(zip_longest(columns, row[: len(columns)])) for row in rows])
    if find_ends(list(found)) is None or not all(
        isinstance(column, dict | list) for column in found.values()
    ):
        return None
    values = [list(c.values()) if isinstance(c, dict) else c for c in found.values()]
    if len({len(column) for column in values}) != 1:
        return None
    return _records([dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)])


def _neighbours(found: dict[str, Any]) -> Listed | None:
    """Return the lists of an object that has a list of neighbours for every node, or an object with their values."""
    if not found or not all(isinstance(row, dict | list) for row in found.values()):
        return None
    names = set(found)
    ends = [end for row in found.values() for end in row]
    if not ends or not all(isinstance(end, str | int) and not isinstance(end, bool) for end in ends):
        return None
    if not names & {str(end) for end in ends}:
        # Keys of something else: no neighbour has a list of its own.
        return None
    links = []
    for name, row in found.items():
        values = row if isinstance(row, dict) else dict.fromkeys(row)
        for end, value in values.items():
            weight = value.get("weight") if isinstance(value, dict) else value
            link = {"source": name, "target": str(end)}
            links.append(link if weight is None else {**link, "weight": weight})
    return list(dict.fromkeys([*found, *map(str, ends)])), links
