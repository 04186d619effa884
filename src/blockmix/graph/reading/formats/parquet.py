"""Parquet files and data frames: two columns with the ends of the links (Parquet by polars, the extra `io`)."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError, optional, readable
from blockmix.graph.edges import graph_from_ends, node_labels
from blockmix.graph.graph import Graph
from blockmix.graph.reading.dialect import Dialect, find_ends, place_of
from blockmix.graph.reading.source import Source

MOST_BYTES = 8 << 30


def read_parquet(source: Source, dialect: Dialect, isolated: NDArray[Any] | None) -> Graph:
    """Read the links of a Parquet file."""
    polars = optional("polars", "reading Parquet", 'pip install "blockmix[io]"')
    if dialect.separator is not None or dialect.header is not None:
        raise InputError("sep and header (--sep, --no-header) have no effect on Parquet, which has neither")
    data = source.content(MOST_BYTES)
    try:
        names = list(polars.read_parquet_schema(io.BytesIO(data)))
        places = chosen_columns(names, dialect, source.name)
        frame = polars.read_parquet(io.BytesIO(data), columns=[names[i] for i in places if i >= 0])
    except InputError:
        raise
    except BaseException as error:
        # polars raises errors of many kinds. A panic inside it is none of Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise GraphFormatError(
            f"polars cannot read this Parquet file ({type(error).__name__})",
            path=source.name,
            remedy="Write it again, or copy it again if it may be cut short.",
        ) from None
    return graph_of_frame(
        frame, names, places, source.name, (*source.notes, "read as Parquet"), isolated, dialect.kind
    )


def chosen_columns(names: list[str], dialect: Dialect, path: str) -> tuple[int, int, int]:
    """Return the places of both ends and of the weights (-1: none): as named, by the usual names, or the first two."""
    where: dict[str, Any] = {"path": path, "remedy": "Name two columns (columns, --columns)."}
    if len(names) < 2:
        raise GraphFormatError(f"a table of links has two columns at least, not {len(names)}", **where)
    ends = find_ends(names)
    first, second = (0, 1) if ends is None else ends
    if dialect.columns is not None:
        first, second = (place_of(column, names, len(names), where) for column in dialect.columns)
    weight = -1 if dialect.weights is None else place_of(dialect.weights, names, len(names), where)
    return first, second, weight


def graph_of_frame(
    frame: Any,
    names: list[str],
    places: tuple[int, int, int],
    source: str,
    notes: tuple[str, ...],
    isolated: NDArray[Any] | None = None,
    kind: str | None = None,
) -> Graph:
    """Make a network of the columns at these places of a pandas or polars frame."""
    sides = [_labels(frame[names[place]], names[place], source) for place in places[:2]]
    weights = None
    if places[2] >= 0:
        weights = read_weights(frame[names[places[2]]], names[places[2]], source)
        notes += (f"weights from column {names[places[2]]!r:.40}",)
    ignored = [readable(name) for i, name in enumerate(names) if i not in places]
    notes += (f"links from columns {names[places[0]]!r:.40} and {names[places[1]]!r:.40}",)
    if sides[0].dtype != sides[1].dtype:
        sides = [side.astype(object) for side in sides]
    graph = graph_from_ends(
        np.stack(sides, axis=1), isolated, source=source, extra_columns=len(frame) if ignored else 0,
        ignored_columns=tuple(ignored), notes=notes, weights=weights, kind=kind,
    )  # fmt: skip
    if graph.n_nodes == 0:
        raise GraphFormatError("the table has no rows", path=source, remedy="Give one link a row.")
    return graph


def _labels(column: Any, name: str, source: str) -> NDArray[Any]:
    if isinstance(column, np.ndarray):
        return node_labels(column, f"{source}, column {name!r}")
    missing = column.isna().to_numpy() if hasattr(column, "isna") else column.is_null().to_numpy()
    if missing.any():
        raise GraphFormatError(
            f"column {readable(name)}: the label in row {int(np.argmax(missing)) + 1:,} is missing "
            f"({int(missing.sum()):,} in all)",
            path=source,
            remedy="Drop such rows first, for instance with frame.dropna (pandas) or drop_nulls (polars).",
        )
    return node_labels(column.to_numpy(), f"{source}, column {name!r}")


def read_weights(column: Any, name: str, source: str) -> NDArray[np.float64]:
    """Return a column of weights, which must be numbers above zero; in errors the row is counted from 1."""
    values = column if isinstance(column, np.ndarray) else column.to_numpy()
    if values.dtype.kind not in "iuf":
        raise GraphFormatError(
            f"weights: column {readable(name)} is not of numbers",
            path=source,
            remedy="Turn it into numbers, or leave the column of weights out.",
        )
    values = np.ascontiguousarray(values, dtype=np.float64)
    wrong = ~(values > 0) | ~np.isfinite(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise GraphFormatError(
            f"a weight must be above zero, and row {row + 1:,} of column {readable(name)} has {values[row]}",
            path=source,
            remedy="Remove links that are not there, or leave the column of weights out.",
        )
    return values
