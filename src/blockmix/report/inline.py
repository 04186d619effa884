"""The report inside a notebook: the same page in a frame of its own, which keeps its policy and its styles."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from blockmix.errors import InputError
from blockmix.files import replace_text
from blockmix.posterior.posterior import Posterior
from blockmix.report.write import report_html

HEIGHT = 820


class InlineReport:
    """The report of a result, shown where a notebook shows a value; `save` writes it to a file.

    The frame is a sandbox: scripts of the page run, and reach neither the notebook nor its cookies. Its policy lets
    nothing be loaded, as in the file.
    """

    def __init__(self, page: str, height: int = HEIGHT) -> None:
        self.page = page
        self.height = height

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, [self.page], errors="replace")
        return path

    def _repr_html_(self) -> str:
        # Line ends as references: some converters of notebooks cut markup at empty lines.
        page = html.escape(self.page).replace("\r", "&#13;").replace("\n", "&#10;")
        return (
            f'<iframe title="Report" sandbox="allow-scripts allow-downloads allow-popups" width="100%" '
            f'height="{self.height}" style="border:1px solid rgba(128,128,128,0.4)" srcdoc="{page}"></iframe>'
        )

    def __repr__(self) -> str:
        size = len(self.page.encode("utf-8", "replace")) / 1e6
        return f'<report of {size:.1f} MB; a notebook shows it, .save("report.html") writes it>'


def inline_report(post: Posterior, *, height: int = HEIGHT, **options: Any) -> InlineReport:
    """Make the report for a notebook, `height` pixels high. See `report_html` for the other options."""
    if not isinstance(height, int) or isinstance(height, bool) or not 100 <= height <= 10_000:
        raise InputError(f"height must be a whole number of pixels from 100 to 10,000, not {height!r:.40}")
    return InlineReport(report_html(post, **options), height)
