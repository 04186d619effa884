"""`blockmix report` and `blockmix open`: a result as one HTML file that opens from disk, shown in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import FAILED, THRESHOLD, print_json, warn

_NAME = "report.html"


def report(
    result: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by blockmix fit -o.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help=f"The file to write; DIR/{_NAME} if not given."),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Title of the report; the folder's name if not given."),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(metavar="T", min=0.001, max=1.0, help=f"Threshold T for members. {THRESHOLD}."),
    ] = 0.1,
    level: Annotated[
        float, typer.Option(min=0.01, max=0.999, help="Probability inside every credible interval.")
    ] = 0.9,
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="Seed of the layout: another one draws another picture.")
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a remark.")
    ] = False,
) -> None:
    """Write a report: the network, its communities, bridges and diagnostics, in one HTML file.

    The file needs no server and no internet: open it, send it, keep it. An
    earlier report of the same name is replaced.

    \b
      blockmix report run
      blockmix report run -o communities.html --title "Who works with whom"
    """
    from blockmix.files import check_own
    from blockmix.posterior.storage import load
    from blockmix.report import write_report

    if output is None:
        # The folder may come from somebody else; a file that a person names is theirs to choose.
        check_own(result / _NAME)
    post = load(result)
    path = write_report(
        post,
        result / _NAME if output is None else output,
        title=title or result.resolve().name,
        threshold=threshold,
        level=level,
        seed=seed,
    )
    size = path.stat().st_size
    if as_json:
        print_json({"report": str(path), "bytes": size})
    else:
        warn(f"Written to {path} ({size / 1e6:.1f} MB): open it in a browser")


def open_run(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the run: -o of fit.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, and open nothing.")] = False,
) -> None:
    """Open the report of a run in a browser.

    A run without report.html (fit --no-report) gets one first. So does one whose
    report.html is not a report of this version: a page that somebody put there
    could do anything in the browser.

    \b
      blockmix open run
      blockmix open run --json      only say where the report is
    """
    from blockmix.files import check_own
    from blockmix.inference.run_folder.folder import REPORT
    from blockmix.posterior.storage import load, result_manifest
    from blockmix.report.write import is_own_report, write_report

    file = folder / REPORT
    check_own(file)
    result_manifest(folder)
    if not is_own_report(file):
        if file.is_file() and not as_json:
            warn(f"{file} is not a report of this version of blockmix: it is written anew")
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
