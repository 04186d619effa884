"""The report of a posterior: one HTML file that opens from disk, or the same page in a frame of a notebook."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from blockmix.errors import InputError
from blockmix.files import Damaged, open_plain, reason, replace_text
from blockmix.posterior.posterior import Posterior

# Of the frame in a notebook, in pixels.
HEIGHT = 820
# Bytes of a report that are looked at once, and what only its beginning may have.
_BLOCK, _ELSEWHERE = 1 << 20, b"http-equiv"


def report_html(
    post: Posterior,
    *,
    title: str = "Overlapping communities",
    threshold: float = 0.1,
    level: float = 0.9,
    command: str | None = None,
    seed: int = 0,
) -> str:
    """Write the report as text: one HTML page with its data, styles and scripts inside.

    A node is a member of a community as `Posterior.communities` has it, by `threshold`; `level` is the
    probability inside every interval. `seed` is that of the layout: the same seed draws the same picture.
    """
    from blockmix.report.communities import Findings
    from blockmix.report.page import build_page

    if not 0 < threshold <= 1:
        raise InputError(f"threshold must lie above 0 and not above 1, not {threshold!r}")
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, not {level!r}")
    return build_page(Findings(post, threshold, level), title, command, seed)


def write_report(
    post: Posterior,
    path: str | Path,
    *,
    title: str = "Overlapping communities",
    threshold: float = 0.1,
    level: float = 0.9,
    command: str | None = None,
    seed: int = 0,
) -> Path:
    """Write the report to a file; it needs no server and no internet. See `report_html` for the options.

    The file appears whole or not at all, and replaces an earlier one. Returns its path.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; name a file, for instance {path / 'report.html'}")
    text = report_html(post, title=title, threshold=threshold, level=level, command=command, seed=seed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, [text], errors="replace")
    except OSError as error:
        raise InputError(f"{path}: the report cannot be written ({reason(error)})") from error
    return path


def is_own_report(path: Path) -> bool:
    """Return whether a file is a page under the policy of this version's reports, as one in a sent folder may not be.

    The policy comes first and lets a browser run the scripts of blockmix and nothing else, whatever follows; what it
    does not forbid is a second element that leads the browser elsewhere (http-equiv="refresh").
    """
    from blockmix.report.page import beginning

    known, rest, found = beginning().encode(), b"", 0
    try:
        with open_plain(path) as file:
            if file.read(len(known)) != known:
                return False
            while block := file.read(_BLOCK):
                piece = (rest + block).lower()
                found += piece.count(_ELSEWHERE)
                rest = piece[1 - len(_ELSEWHERE) :]
    except (OSError, Damaged):
        return False
    return found == 0


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
