"""`blockmix open`: the report of a run in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import FAILED, print_json, warn


def open_run(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the run: -o of fit.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and open nothing.")] = False,
) -> None:
    """Open the report of a run in a browser.

    A run without report.html (fit --no-report) gets one first.

    \b
      blockmix open run
      blockmix open run --json      only say where the report is
    """
    from blockmix.files import check_own
    from blockmix.inference.run_folder.folder import REPORT
    from blockmix.posterior.storage import load, result_manifest
    from blockmix.report import write_report

    file = folder / REPORT
    check_own(file)
    result_manifest(folder)
    if not file.is_file():
        write_report(load(folder), file, title=folder.resolve().name)
        if not as_json:
            warn(f"Written to {file}")
    if as_json:
        print_json({"report": str(file)})
    elif not show(file):
        warn(f"no browser could be started; the report is {file.resolve()}")
        raise typer.Exit(FAILED)


def show(file: Path) -> bool:
    """Show a file in the browser of this machine; return whether one was started."""
    import webbrowser

    return webbrowser.open(file.resolve().as_uri())
