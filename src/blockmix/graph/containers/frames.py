"""Networks of frames (pandas, polars) and of structured arrays: a link a row, or a square table of all pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockmix.errors import InputError, readable
from blockmix.graph.graph import Graph
from blockmix.graph.reading.dialect import Dialect, find_ends
from blockmix.graph.reading.formats.other_tables import no_links
from blockmix.graph.reading.formats.parquet import chosen_columns, graph_of_frame

# Rows of a frame that are looked at, as lines of a file are.
_ROWS = 100
# A square frame or list with so many rows may be pairs, or pairs with a weight.
MOST_PAIRS = 3


def is_frame(network: Any) -> bool:
    """Return whether this is a frame of pandas or polars, collected or not, or a pandas series."""
    if hasattr(network, "collect_schema") or hasattr(network, "reset_index"):
        return True
    return hasattr(network, "columns") and hasattr(network, "__getitem__")


def from_frame(network: Any, weights: Any, kind: str | None) -> Graph:
    """Make a network of a frame: of a row for every link, or of a square table whose rows and columns are the nodes."""
    frame = _whole(network)
    matrix = _adjacency(frame, weights, kind)
    if matrix is not None:
        return matrix
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in names]
        frame = frame.set_axis(names, axis=1)
    if len(set(names)) < len(names):
        raise InputError("two columns of the frame have the same name; rename one of them")
    _refuse_counts(frame, names)
    places = chosen_columns(names, Dialect.checked(None, None, None, weights), "data frame")
    if len(names) > 2 and find_ends(names) is None:
        _refuse_other(frame, names, kind)
    return graph_of_frame(frame, names, places, "data frame", (), kind=kind)


def from_structured(array: Any, weights: Any, kind: str | None) -> Graph:
    """Make a network of a NumPy array with named fields, one element a link."""
    names = list(array.dtype.names)
    places = chosen_columns(names, Dialect.checked(None, None, None, weights), "array")
    return graph_of_frame(array.reshape(-1), names, places, "array", (), kind=kind)


def _whole(network: Any) -> Any:
    """Return a frame that has its columns: a lazy one is computed, an index that holds labels becomes columns."""
    if hasattr(network, "collect_schema") and hasattr(network, "collect"):
        return network.collect()
    names = [name for name in getattr(getattr(network, "index", None), "names", []) if name is not None]
    if not hasattr(network, "columns"):
        if getattr(network.index, "nlevels", 1) != 2:
            raise InputError(
                "a pandas Series is not a network, unless its index has two levels, the labels of both ends; give a "
                "frame with two columns"
            )
        return network.rename("weight" if network.name is None else network.name).reset_index()
    if not names:
        return network
    listed = [str(name) for name in network.columns]
    ends_in_index = find_ends(listed) is None and find_ends([*map(str, names), *listed]) is not None
    if ends_in_index or (len(names) == 2 and len(listed) < 2):
        return network.reset_index()
    if len(listed) < 2:
        raise InputError("data frame: the index may hold the labels of one end; give frame.reset_index()")
    return network


def _adjacency(frame: Any, weights: Any, kind: str | None) -> Graph | None:
    """Return the network of a square frame whose index has the names of its columns; None of other frames."""
    count = len(frame.columns)
    index = getattr(frame, "index", None)
    if (
        index is None
        or not 2 <= count == len(frame)
        or list(map(str, index)) != list(map(str, frame.columns))
    ):
        return None
    entries = frame.to_numpy()
    if entries.dtype.kind not in "biuf":
        return None
    counted = list(index) == list(range(count))
    if counted and (count < MOST_PAIRS or (count == MOST_PAIRS and not surely_matrix(entries))):
        return None
    if kind is not None and kind != "directed":
        return None
    if weights not in (None, False, True):
        raise InputError(f"weights={weights!r:.60}: the weights of a matrix are its entries; give True")
    return of_matrix(entries, list(index), bool(weights), kind)


def of_matrix(entries: Any, labels: Any = None, weights: bool = False, kind: str | None = None) -> Graph:
    """Make a network of a square array, and say in its summary what it was taken for."""
    import scipy.sparse

    from blockmix.graph.convert import from_scipy

    graph = from_scipy(scipy.sparse.csr_array(entries), labels, weights, kind)
    assert graph.summary is not None
    notes = ("read as an adjacency matrix", *graph.summary.notes)
    return replace(graph, summary=replace(graph.summary, source="matrix", notes=notes))


def surely_matrix(entries: Any) -> bool:
    """Return whether square entries are those of an adjacency matrix: zeros and ones, or symmetric with no diagonal."""
    binary = bool(np.isin(entries, (0, 1)).all())
    return binary or (np.array_equal(entries, entries.T) and not np.diag(entries).any())


def _refuse_counts(frame: Any, names: list[str]) -> None:
    """Refuse a table of numbers with labels in its index, as pandas.crosstab makes it."""
    index = getattr(frame, "index", None)
    if index is None or len(names) < 2 or find_ends(names) is not None or len(frame) == 0:
        return
    if not all(isinstance(label, str) for label in index):
        return
    if all(getattr(frame[name].dtype, "kind", "O") in "biuf" for name in names):
        raise InputError(
            "data frame: labels are in the index and all columns are numbers, as in an incidence matrix or a crosstab; "
            "give one link a row, for instance by frame.stack() without its zeros"
        )


def _refuse_other(frame: Any, names: list[str], kind: str | None) -> None:
    """Refuse a frame whose first two columns are no ends of a link, as a file with the same columns is refused."""
    head = [frame[name].head(_ROWS).to_list() for name in names]
    rows = [[str(value).encode(errors="replace") for value in row] for row in zip(*head, strict=True)]
    found = no_links([[name.encode(errors="replace") for name in names], *rows], kind == "bipartite")
    if found is not None:
        raise InputError(
            f"data frame: this looks like {found.what}; give the two columns with the labels alone, such as "
            f"frame[[{readable(names[-2])}, {readable(names[-1])}]]"
        )
