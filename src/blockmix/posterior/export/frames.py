"""Memberships as data frames, Parquet and CSV; pandas and polars are imported only when asked for."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blockmix.errors import InputError, optional
from blockmix.files import write_pieces
from blockmix.graph.labels import Label
from blockmix.posterior.views import Membership

# Spreadsheets calculate what begins like this, also after blanks; the wide signs are those of East Asian keyboards.
_FORMULA = re.compile("[\\s\\0]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\\t\\r\\n]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior


def to_pandas(post: Posterior, *, threshold: float = 0.0, level: float = 0.9) -> Any:
    """Make a pandas data frame, see `Posterior.to_pandas`."""
    pandas = optional("pandas", "to_pandas", "pip install pandas")
    columns = post.memberships(threshold=threshold, level=level).columns()
    return pandas.DataFrame(columns | attribute_columns(post, columns["node"]))


def to_polars(post: Posterior, *, threshold: float = 0.0, level: float = 0.9) -> Any:
    """Make a polars data frame, see `Posterior.to_polars`."""
    polars = optional("polars", "to_polars", 'pip install "blockmix[io]"')
    columns = post.memberships(threshold=threshold, level=level).columns()
    # Labels of mixed types have no column type of their own: they become text.
    if len({type(label) for label in columns["node"]}) > 1:
        columns["node"] = [str(label) for label in columns["node"]]
    frame = polars.DataFrame(
        {name: np.asarray(column) for name, column in columns.items() if name != "node"}
    ).insert_column(0, polars.Series("node", columns["node"]))
    attributes = attribute_columns(post, columns["node"])
    return frame.with_columns([polars.Series(name, values) for name, values in attributes.items()])


def attribute_columns(post: Posterior, labels: list[Label]) -> dict[str, list[Any]]:
    """Return the attributes of these nodes, a column each; one that has the name of a column gets `node_` in front."""
    if post.graph.attributes is None or not labels:
        return {}
    nodes = post.graph.labels.indices(labels)
    table = post.graph.attributes.taken(nodes)
    return {
        f"node_{name}" if name in Membership._fields else name: attribute.values()
        for name, attribute in table.items()
    }


def write_parquet(post: Posterior, path: str | Path, *, threshold: float = 0.0, level: float = 0.9) -> None:
    """Write a Parquet file, see `Posterior.write_parquet`."""
    frame = to_polars(post, threshold=threshold, level=level)
    try:
        frame.write_parquet(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error


def write_csv(
    post: Posterior,
    path: str | Path,
    *,
    threshold: float = 0.0,
    level: float = 0.9,
    keep_formulas: bool = False,
) -> None:
    """Write comma-separated text, see `Posterior.write_csv`."""
    write_pieces(Path(path), _csv_lines(post, threshold, level, keep_formulas))


def _csv_lines(post: Posterior, threshold: float, level: float, keep_formulas: bool) -> Iterator[str]:
    table = post.memberships(threshold=threshold, level=level)
    attributes = attribute_columns(post, table.node)
    keep: Callable[[Any], Any] = (lambda cell: cell) if keep_formulas else harmless
    header = io.StringIO()
    csv.writer(header).writerow([*Membership._fields, *map(keep, attributes)])
    yield header.getvalue()
    for i, row in enumerate(table):
        line = io.StringIO()
        more = ["" if values[i] is None else keep(values[i]) for values in attributes.values()]
        csv.writer(line).writerow(
            [keep(row.node), row.community, *(f"{value:.6g}" for value in row[2:]), *more]
        )
        yield line.getvalue()


def harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: with an apostrophe in front where it begins like one.

    Numbers stay as they are.

    >>> harmless("=1+1"), harmless("-7.5"), harmless(-3), harmless("ann"), harmless("@home")
    ("'=1+1", '-7.5', -3, 'ann', "'@home")
    """
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return "'" + cell
    return cell
