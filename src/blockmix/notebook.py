"""What notebooks show: tables and facts as HTML, all text escaped, and whether the program runs in one.

Styles are attributes of the elements: a notebook may show many results, and a style sheet of one would change others.
Colours are left to the notebook, so that dark ones stay readable.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blockmix.errors import printable

# Rows of a table that are shown, and characters of one cell.
SHOWN_ROWS, WIDEST = 20, 60


def escaped(value: Any) -> str:
    """Return text that a browser shows as it is: no markup, no characters that turn the direction of writing.

    >>> escaped("<b>ann</b>"), escaped("ann\\u202etxt")
    ('&lt;b&gt;ann&lt;/b&gt;', 'ann\\\\u202etxt')
    """
    return html.escape(printable(str(value)))


def cell(value: Any) -> str:
    """Return the content of a cell: numbers with four decimals, long text cut."""
    if isinstance(value, float | np.floating):
        number = float(value)
        return f"{number:.4f}" if abs(number) >= 1e-4 or number == 0 or np.isnan(number) else f"{number:.1e}"
    text = str(value)
    return escaped(text if len(text) <= WIDEST else text[: WIDEST - 3] + "...")


def table_html(columns: Mapping[str, Any], note: str = "", rows: int = SHOWN_ROWS) -> str:
    """Return a table of named columns; of a long one the first rows, and how many there are.

    >>> table_html({"node": ["<i>"], "share": [0.5]}).count("&lt;i&gt;")
    1
    """
    length = min((len(column) for column in columns.values()), default=0)
    shown = min(length, rows)
    sides = ["right" if np.asarray(column).dtype.kind in "fiu" else "left" for column in columns.values()]
    head = "".join(_cell("th", escaped(name), side) for name, side in zip(columns, sides, strict=True))
    body = "".join(
        "<tr>"
        + "".join(
            _cell("td", cell(column[i]), side) for column, side in zip(columns.values(), sides, strict=True)
        )
        + "</tr>"
        for i in range(shown)
    )
    lines = [note] if note else []
    if length > shown:
        lines.insert(0, f"{shown:,} of {length:,} rows")
    after = "".join(f"<div>{escaped(line)}</div>" for line in lines)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{after}</div>"


def facts_html(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return a title and facts about a thing, one a row."""
    rows = "".join(
        f"<tr>{_cell('th', escaped(name), 'left')}{_cell('td', escaped(text), 'left')}</tr>"
        for name, text in facts
    )
    return f"<div><strong>{escaped(title)}</strong><table><tbody>{rows}</tbody></table></div>"


def _cell(name: str, content: str, side: str) -> str:
    return f'<{name} style="text-align:{side}">{content}</{name}>'


def notebook_shell() -> Any:
    """Return the shell of the notebook that this program runs in; None elsewhere, a terminal with IPython included."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None
