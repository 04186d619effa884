"""JSON: the node-link form of networkx and D3, plain lists of pairs, and JSON lines of links.

`{"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}`, with "edges" for "links" as well. In D3 files
whose nodes have no id, sources and targets are places in the list of nodes. `json_forms` turns other forms into this
one; everything else is refused with its keys.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError, readable
from blockmix.graph.attributes import NodeTable
from blockmix.graph.edges import graph_from_ends, node_labels
from blockmix.graph.graph import Graph
from blockmix.graph.reading.dialect import USUAL_WEIGHTS
from blockmix.graph.reading.formats.json_forms import as_lists
from blockmix.graph.reading.named import with_table
from blockmix.graph.reading.source import Source

# Python objects take about ten times the bytes of their text.
MOST_BYTES = 1 << 30
_LINKS = ("links", "edges")
_IDS = ("id", "name", "key", "label")
_SKIPPED = {"source", "target", "from", "to"}


def read_json(source: Source, weights: str | None = None, kind: str | None = None) -> Graph:
    """Read a network from JSON; `weights` names a value of the links, in a list of pairs it is the third entry.

    `kind` is that of `graph.sides.making`.
    """
    found = _parsed(source)
    key = next((key for key in _LINKS if isinstance(found, dict) and isinstance(found.get(key), list)), None)
    lists = as_lists(found) if key is None else None
    if lists is not None:
        return _of_records(source, *lists, weights, kind)
    if isinstance(found, list):
        return _of_pairs(source, found, weights, kind)
    if key is None:
        listed = ", ".join(readable(str(name)) for name in list(found)[:8]) or "none"
        _refuse(source, f"this JSON has no list of links; its keys are: {listed}")
    return _of_records(source, found.get("nodes"), found[key], weights, kind)


def _parsed(source: Source) -> Any:
    """Return the value of the file, or the list of those of its lines where each has one (JSON lines)."""
    try:
        text = source.content(MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse(source, "the JSON is not UTF-8 text")
    lines = [(i, line) for i, line in enumerate(text.split("\n")) if line.strip()]
    if len(lines) > 1 and _is_whole(lines[0][1]):
        return [_value(source, line, before) for before, line in lines]
    found = _value(source, text, 0)
    if not isinstance(found, dict | list):
        _refuse(source, "the JSON is neither an object nor a list")
    return found


def _is_whole(line: str) -> bool:
    """Return whether this line alone is an object or a list."""
    try:
        return isinstance(json.loads(line), dict | list)
    except (RecursionError, ValueError):
        return False


def _value(source: Source, text: str, before: int) -> Any:
    """Return the value of a text that so many lines are before."""
    try:
        return json.loads(text, parse_constant=lambda name: None)
    except json.JSONDecodeError as error:
        raise GraphFormatError(
            f"this looks like JSON, but is not valid: {error.msg}",
            path=source.name,
            line=before + error.lineno,
            column=error.colno,
            remedy="Correct the file.",
        ) from None
    except (RecursionError, ValueError):
        _refuse(source, "the JSON is nested too deeply or has a number that is too long")


def _of_pairs(source: Source, pairs: list[Any], weights: str | None, kind: str | None) -> Graph:
    if all(isinstance(pair, dict) for pair in pairs):
        return _of_records(source, None, pairs, weights, kind)
    for place, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) < 2 or not all(_is_label(end) for end in pair[:2]):
            _refuse(
                source,
                f"entry {place} of the list is {readable(json.dumps(pair)[:80])}, not a pair of labels",
            )
    ends, note = [(pair[0], pair[1]) for pair in pairs], "JSON list of pairs"
    if weights is None:
        return _made(source, ends, None, note, sum(len(pair) > 2 for pair in pairs), kind=kind)
    if weights != USUAL_WEIGHTS:
        _refuse(
            source,
            f"a list of pairs has no values with names, such as {weights!r:.60}; give True for its third entries",
        )
    values = _weights(source, [pair[2] if len(pair) > 2 else None for pair in pairs], "entry", "third entry")
    return _made(source, ends, None, note, sum(len(pair) > 3 for pair in pairs), values, kind)


def _weights(source: Source, values: list[Any], what: str, name: str) -> NDArray[np.float64]:
    """Return the weights of the links; one that is missing or not a number above zero is named by its place."""
    for place, value in enumerate(values):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0.0 < value < float("inf"):
            shown = "none" if value is None else readable(json.dumps(value)[:60])
            _refuse(
                source, f"{what} {place}: its {name} must be a weight, a number above zero, and is {shown}"
            )
    return np.array(values, dtype=np.float64)


def _of_records(source: Source, nodes: Any, links: Any, weights: str | None, kind: str | None) -> Graph:
    if not isinstance(links, list):
        _refuse(source, "the links are not a list")
    names, table = _nodes(source, nodes)
    ends = []
    for place, link in enumerate(links):
        if not isinstance(link, dict):
            _refuse(source, f"link {place} is {readable(json.dumps(link)[:80])}, not an object")
        pair = tuple(link.get("source", link.get("from")) if side == 0 else link.get("target", link.get("to"))
                     for side in (0, 1))  # fmt: skip
        if not all(_is_label(end) for end in pair):
            _refuse(source, f"link {place} has no source and target that are text or whole numbers")
        ends.append(pair)
    if names is not None and table is None:
        ends = [_by_place(source, pair, names, i) for i, pair in enumerate(ends)]
    used = _SKIPPED if weights is None else _SKIPPED | {weights}
    extra = sum(bool(link.keys() - used) for link in links)
    values = None
    if weights is not None:
        values = _weights(source, [link.get(weights) for link in links], "link", f"value {readable(weights)}")
    note = "JSON node-link"
    unlisted = {str(end) for pair in ends for end in pair} - set(map(str, names)) if names else set()
    if unlisted:
        count = "1 node of a link is" if len(unlisted) == 1 else f"{len(unlisted):,} nodes of links are"
        note += f"; {count} not in the list of nodes, such as {readable(min(unlisted))}"
    graph = _made(source, ends, names, note, extra, values, kind)
    return graph if names is None or table is None else with_table(graph, names, table)


def _nodes(source: Source, nodes: Any) -> tuple[list[Any] | None, NodeTable | None]:
    """Return the labels of the nodes and their attributes; no table where nodes have no ids, only places."""
    if nodes is None:
        return None, None
    if not isinstance(nodes, list):
        _refuse(source, "the nodes are not a list")
    if all(_is_label(node) for node in nodes):
        return nodes, NodeTable({}, len(nodes))
    if not all(isinstance(node, dict) for node in nodes):
        _refuse(source, "the list of nodes holds something that is neither a label nor an object")
    key = next((key for key in _IDS if nodes and all(_is_label(node.get(key)) for node in nodes)), None)
    if key == "key":
        # Graphology keeps the values of a node under "attributes".
        nodes = [
            {**node, **(node["attributes"] if isinstance(node.get("attributes"), dict) else {})}
            for node in nodes
        ]
    elif key != "id" and not any("id" in node for node in nodes):
        # D3: links name places; the labels are the names, where all differ.
        labels = [node[key] for node in nodes] if key is not None else list(range(len(nodes)))
        return (labels if len(set(map(str, labels))) == len(labels) else list(range(len(nodes)))), None
    if key not in ("id", "key"):
        _refuse(source, "some nodes have an id that is text or a whole number, and others have none")
    columns: dict[str, list[Any]] = {}
    for place, node in enumerate(nodes):
        for name, value in node.items():
            if name != key and isinstance(value, str | int | float | bool):
                columns.setdefault(name, [None] * len(nodes))[place] = value
    return [node[key] for node in nodes], NodeTable.of(columns, len(nodes))


def _by_place(source: Source, pair: tuple[Any, ...], names: list[Any], number: int) -> tuple[Any, ...]:
    if all(isinstance(end, int) and 0 <= end < len(names) for end in pair):
        return tuple(names[end] for end in pair)
    if not all(isinstance(end, str) for end in pair):
        _refuse(source, f"link {number} names a place that is not in the list of {len(names)} nodes")
    return pair


def _made(
    source: Source, ends: list[Any], names: list[Any] | None, note: str, extra: int,
    weights: NDArray[np.float64] | None = None, kind: str | None = None,
) -> Graph:  # fmt: skip
    try:
        flat = node_labels([end for pair in ends for end in pair], "links").reshape(-1, 2)
        isolated = None if names is None else node_labels(names, "nodes")
        notes = (*source.notes, f"read as {note}")
        if extra:
            notes += (f"other values of {extra:,} link{'' if extra == 1 else 's'} ignored",)
        return graph_from_ends(flat, isolated, source=source.name, notes=notes, weights=weights, kind=kind)
    except GraphFormatError:
        raise
    except InputError as error:
        raise GraphFormatError(str(error), path=source.name, remedy="Correct the file.") from None


def _is_label(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
    return whole or (isinstance(value, str) and value != "")


def _refuse(source: Source, problem: str) -> NoReturn:
    raise GraphFormatError(
        problem,
        path=source.name,
        remedy='Give {"nodes": [{"id": 1}, ...], "links": [{"source": 1, "target": 2}, ...]}, or an edge list.',
    )
