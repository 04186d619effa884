"""Networks from pairs of labels held in memory. Labels and weights are checked here."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, readable
from blockmix.graph.build import LinkRows, build_rows, node_dtype
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.query import add_weights, merge_directions
from blockmix.graph.relabel import number_integers
from blockmix.graph.sides.making import DIRECTED, two_sided
from blockmix.graph.sides.tables import roles_table
from blockmix.graph.summary import ReadSummary


def from_edges(
    edges: NDArray[Any] | Iterable[Sequence[Any]], nodes: Any = None, weights: Any = None, kind: str | None = None
) -> Graph:  # fmt: skip
    """Make a network of pairs of labels; see `Graph.from_edges`."""
    if weights is True and not isinstance(edges, np.ndarray) and isinstance(edges, Iterable):
        edges = list(edges)
    ends, extra = _pairs(edges)
    isolated = None if nodes is None else node_labels(nodes, "nodes")
    values = None
    if weights is True:
        values, extra = _third_entries(edges), 0
    elif weights is not None and weights is not False:
        values = checked_weights(weights, len(ends), "weights")
    return graph_from_ends(ends, isolated, source="edges", extra_columns=extra, weights=values, kind=kind)


def _third_entries(edges: Any) -> NDArray[np.float64]:
    """Return the third entry of every pair as its weight."""
    for place, pair in enumerate(edges):
        if len(pair) < 3:
            raise InputError(f"edges[{place}] is {readable(str(pair))}, without a third entry for the weight")
    return checked_weights([pair[2] for pair in edges], len(edges), "weights")


def checked_weights(
    values: Any, count: int, what: str, names: Callable[[int], str] | None = None
) -> NDArray[np.float64]:
    """Return weights as float64; each must be a number above zero. `names` says which link a place is."""
    if isinstance(values, str | bytes | bool) or not hasattr(values, "__iter__"):
        raise InputError(f"{what} must be one number a link, or True, not {readable(str(values))}")
    array = values if isinstance(values, np.ndarray) else _as_array(list(values))
    if array.shape != (count,):
        raise InputError(f"{what} must be one number for each of {count:,} links, not of shape {array.shape}")
    if array.dtype.kind not in "iuf":
        number = [isinstance(v, numbers.Real) and not isinstance(v, bool) for v in array.tolist()]
        if not all(number):
            place = number.index(False)
            raise InputError(
                f"{what}: {_named(place, names)} has {readable(str(array[place]))}, which is not a number"
            )
    try:
        found = np.ascontiguousarray(array, dtype=np.float64)
    except OverflowError:
        raise InputError(f"{what}: a weight is larger than a number can hold; divide all of them") from None
    wrong = ~(found > 0.0) | ~np.isfinite(found)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"{what}: {_named(place, names)} has {found[place]:g}, and a weight must be a finite number above zero; "
            "remove links that are not there, or leave the weights out"
        )
    return found


def _named(place: int, names: Callable[[int], str] | None) -> str:
    return f"entry {place:,}" if names is None else names(place)


def graph_from_ends(
    ends: NDArray[Any],
    isolated: NDArray[Any] | None = None,
    *,
    source: str,
    extra_columns: int = 0,
    ignored_columns: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    weights: NDArray[np.float64] | None = None,
    kind: str | None = None,
) -> Graph:
    """Assign numbers to the labels of an (m, 2) array, integers or Python objects, and merge the links."""
    if ends.dtype.kind == "i" and (isolated is None or isolated.dtype.kind == "i"):
        chunks, labels = number_integers([ends], isolated)
    else:
        chunks, labels = _number_objects(ends, isolated)
    return assemble(
        chunks, labels, source=source, records=len(ends), extra_columns=extra_columns,
        ignored_columns=ignored_columns, notes=notes, weights=None if weights is None else [weights],
        kind=kind,
    )  # fmt: skip


def assemble(
    chunks: list[NDArray[Any]], labels: Labels, *, source: str, records: int, threads: int = 1,
    weights: list[NDArray[np.float64]] | None = None, kind: str | None = None, **details: Any,
) -> Graph:  # fmt: skip
    """Build the network from numbered links, with the summary of what was merged; empty `chunks`.

    A `kind` of network, see `sides.making`, is one of two sides: its nodes are numbered anew by their sides.
    `weights` are those of the links, chunk by chunk. Those of repeated links are added up, unless the list has every
    link in both directions with the same weight.
    """
    sides = None
    if kind is not None:
        if weights is not None and kind == DIRECTED:
            weights = [w[c[:, 0] != c[:, 1]] for c, w in zip(chunks, weights, strict=True)]
        made = two_sided(kind, chunks, labels)
        chunks[:], labels, sides = made.chunks, made.labels, made.sides
        details["notes"] = (*details.get("notes", ()), made.note)
    listed = [] if weights is None else list(chunks)
    looped = np.unique(np.concatenate([c[c[:, 0] == c[:, 1], 0] for c in chunks])) if chunks else np.empty(0)
    rows = build_rows(chunks, len(labels), threads)
    degrees = np.diff(rows.offsets)
    summed = None
    if weights is not None:
        summed, note = _summed(rows, listed, weights)
        details["notes"] = (*details.get("notes", ()), *note)
    unlinked, nodes, loops, merged = degrees == 0, len(labels), rows.self_loops, rows.merged
    if sides is not None:
        loops, merged = made.self_loops, 0
        if rows.merged:
            details["notes"] += (f"{rows.merged:,} repeated link{'' if rows.merged == 1 else 's'} merged",)
        if sides.directed:
            unlinked, nodes = unlinked[: sides.first] & unlinked[sides.first :], sides.first
    summary = ReadSummary(
        source=source,
        records=records,
        nodes=nodes,
        links=len(rows.neighbors) // 2,
        merged=merged,
        self_loops=loops,
        isolated=int(np.count_nonzero(unlinked)),
        loop_only=int(np.count_nonzero(degrees[looped.astype(np.int64)] == 0)),
        **details,
    )
    attributes = None if sides is None else roles_table(sides, len(labels))
    return Graph(rows.offsets, rows.neighbors, labels, summary, attributes, summed, sides)


def _summed(
    rows: LinkRows, chunks: list[NDArray[Any]], weights: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the weight of every entry of the rows, summed in the order of the list, and how repeats were merged."""
    summed = np.zeros(len(rows.neighbors))
    for links, values in zip(chunks, weights, strict=True):
        add_weights(rows.offsets, rows.neighbors, links, values, summed)
    twice = merge_directions(rows.offsets, rows.neighbors, summed) and rows.merged > 0
    if not np.isfinite(summed).all():
        raise InputError(
            "the weights of a repeated link add up to more than a number can hold; divide all of them"
        )
    if not rows.merged:
        return summed, ()
    if twice:
        return summed, ("every link is listed in both directions with the same weight, which counts once",)
    return summed, ("weights of repeated links added up",)


def _pairs(edges: Any) -> tuple[NDArray[Any], int]:
    """Return links as an (m, 2) array of int64 or objects, and how many had columns after the second."""
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] < 2:
            if edges.size == 0:
                return np.empty((0, 2), dtype=np.int64), 0
            raise InputError(f"edges must be an (m, 2) array of labels, not one of shape {edges.shape}")
        extra = len(edges) if edges.shape[1] > 2 else 0
        return node_labels(edges[:, :2].reshape(-1), "edges").reshape(-1, 2), extra
    if not isinstance(edges, Iterable):
        raise InputError(f"edges must be pairs of labels such as [(1, 2)], not {readable(str(edges))}")
    flat: list[Any] = []
    extra = 0
    for place, pair in enumerate(edges):
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) < 2:
            raise InputError(f"edges[{place}] is {readable(str(pair))}, not a pair of labels such as (1, 2)")
        flat += (pair[0], pair[1])
        extra += len(pair) > 2
    return node_labels(flat, "edges").reshape(-1, 2), extra


def node_labels(values: Any, what: str) -> NDArray[Any]:
    """Return labels as a flat array of int64, or of objects (integers and text) where they are not all integers."""
    if isinstance(values, (str, bytes)):
        raise InputError(f"{what} must be a sequence of labels, not one text {readable(values)}")
    if not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise InputError(f"{what} must be a sequence of labels, not {readable(str(values))}")
    array = values if isinstance(values, np.ndarray) else _as_array(list(values))
    if array.dtype.kind == "c":
        raise InputError(f"{what}: labels are integers or text, and these are complex numbers")
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and (array < 2**63).all()):
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "f":
        return _whole_numbers(array, what)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    objects = np.empty(array.size, dtype=object)
    objects[:] = [_plain(v, what, i) for i, v in enumerate(array.reshape(-1).tolist())]
    if all(type(v) is int and -(2**63) <= v < 2**63 for v in objects):
        return objects.astype(np.int64)
    return objects


def _as_array(values: list[Any]) -> NDArray[Any]:
    if all(type(v) is int for v in values):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _whole_numbers(array: NDArray[Any], what: str) -> NDArray[np.int64]:
    """Return integers that a table stored as floats; a gap or a fraction is not a label."""
    wrong = ~(np.isfinite(array) & (np.floor(array) == array) & (np.abs(array) < 2**53))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InputError(
            f"{what}: value {place} is {array.reshape(-1)[place]}, not a node label; "
            "labels are integers or text, so drop missing values and turn fractions into text first"
        )
    return array.astype(np.int64)


def _plain(value: Any, what: str, place: int) -> Any:
    """Return a label as a Python int or the object itself; refuse missing values, and collections."""
    try:
        hash(value)
    except TypeError:
        raise InputError(
            f"{what}: value {place} is {readable(str(value))}, not a label; labels are integers or text"
        ) from None
    if value is None or value != value:
        raise InputError(f"{what}: value {place} is missing ({value}); drop records without a label first")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = _decoded(value, what, place)
    if value == "":
        raise InputError(f"{what}: value {place} is empty text; drop records without a label first")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _decoded(value: bytes, what: str, place: int) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(
            f"{what}: value {place} is {readable(value)}, which is not UTF-8 text; decode it first"
        ) from None


def _number_objects(ends: NDArray[Any], isolated: NDArray[Any] | None) -> tuple[list[NDArray[Any]], Labels]:
    """Assign numbers to text, or a mixture turned into text, by first appearance."""
    known: dict[Any, int] = {}
    flat = [known.setdefault(v, len(known)) for v in ends.reshape(-1).tolist()]
    for value in () if isolated is None else isolated.tolist():
        known.setdefault(value, len(known))
    texts = [value if isinstance(value, str) else str(value) for value in known]
    if len(set(texts)) < len(texts):
        twice = next(t for i, t in enumerate(texts) if t in texts[:i])
        raise InputError(f"two different labels both read {readable(twice)} as text; rename one of them")
    numbered = np.array(flat, dtype=node_dtype(len(known))).reshape(-1, 2)
    return [numbered], Labels.from_text(texts)
