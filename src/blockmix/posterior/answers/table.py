"""The table that answers come in: named columns of equal length, which prints itself and becomes a data frame."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from blockmix.errors import optional, printable
from blockmix.notebook import table_html

_SHOWN_ROWS = 20
_WIDEST = 30


class Answer:
    """Rows of an answer. Columns by name with `answer["mean"]`, rows by iterating, `to_pandas()` for a data frame.

    >>> answer = Answer({"node": ["ann", "bob"], "share": np.array([0.75, 0.5])})
    >>> answer
    node   share
    ann   0.7500
    bob   0.5000
    >>> [row.node for row in answer], answer["share"].tolist(), len(answer)
    (['ann', 'bob'], [0.75, 0.5], 2)
    """

    def __init__(self, columns: Mapping[str, Any], note: str = "") -> None:
        self._columns = dict(columns)
        self.note = note

    def columns(self) -> dict[str, Any]:
        """Return the columns by name."""
        return dict(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __iter__(self) -> Iterator[Any]:
        row = namedtuple("Row", list(self._columns))  # type: ignore[misc]
        for i in range(len(self)):
            yield row(*(_plain(column[i]) for column in self._columns.values()))

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries of plain values, ready for JSON."""
        return [dict(row._asdict()) for row in self]

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        pandas = optional("pandas", "to_pandas", "pip install pandas")
        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        return self.text(_SHOWN_ROWS)

    def _repr_html_(self) -> str:
        return table_html(self._columns, self.note)

    def text(self, most: int | None = None) -> str:
        """Return the table as aligned text, of at most so many rows."""
        shown = len(self) if most is None else min(len(self), most)
        texts = [[name, *(_cell(column[i]) for i in range(shown))] for name, column in self._columns.items()]
        numeric = [np.asarray(column).dtype.kind in "fiu" for column in self._columns.values()]
        widths = [max(map(len, text)) for text in texts]
        lines = [
            "  ".join(
                text[i].rjust(width) if right else text[i].ljust(width)
                for text, width, right in zip(texts, widths, numeric, strict=True)
            ).rstrip()
            for i in range(shown + 1)
        ]
        if not len(self):
            lines.append("(none)")
        if len(self) > shown:
            lines.append(f"... {len(self):,} rows in all")
        return "\n".join([*lines, *([self.note] if self.note else [])])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        value = float(value)
        return f"{value:.4f}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"
    text = printable(str(value))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
