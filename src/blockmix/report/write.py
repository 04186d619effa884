"""`write_report`: a posterior as one HTML file that opens from disk."""

from __future__ import annotations

from pathlib import Path

from blockmix.errors import InputError
from blockmix.files import reason, replace_text
from blockmix.posterior.posterior import Posterior


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
