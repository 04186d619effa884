"""What `fit` and `resume` do with a posterior: write it, and print what was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from blockmix.cli.guard import FAILED, print_json, sigterm_as_ctrl_c, warn, warnings_as_messages
from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior

# The report needs a threshold above zero.
LEAST_THRESHOLD = 0.001


@contextmanager
def guarded_run(folder: RunFolder | None, checkpoints: bool) -> Iterator[None]:
    """Show warnings as messages; let SIGTERM leave a checkpoint, or do what Ctrl-C does where there is none."""
    from blockmix.inference.interrupt import Terminated

    with ExitStack() as stack:
        stack.enter_context(warnings_as_messages())
        if folder is None or not checkpoints:
            stack.enter_context(sigterm_as_ctrl_c())
        try:
            yield
        except Terminated:
            assert folder is not None
            warn(f"terminated; the run is kept: go on with blockmix resume {quote(str(folder.path))}")
            raise


@dataclass(frozen=True)
class Output:
    """What a command does with its result: where it goes, and what is shown of it.

    `command` is what the report names as its origin; `always_show` shows the summary in a quiet run too.
    """

    folder: RunFolder | None
    threshold: float
    as_json: bool = False
    quiet: bool = False
    report: bool = True
    always_show: bool = False
    title: str | None = None
    command: str | None = None


def deliver(post: Posterior, to: Output, report: Path | None = None) -> None:
    """Write the results and the report, then print what was found: files are on disk before anything is printed.

    `report` is a file for the report where there is no folder, or in its place.
    """
    from blockmix.cli.record import record
    from blockmix.inference.run_folder.folder import REPORT
    from blockmix.inference.run_folder.results import write_results

    path = None if to.folder is None else to.folder.path
    failures = write_results(post, path, to.threshold) if path is not None else []
    if report is None and path is not None and to.report:
        report = path / REPORT
    if report is not None:
        failures += _write_report(post, report, to)
    _warn_interrupted(post, to.folder)
    for failure in failures:
        warn(f"error: {failure}")
    places = {
        "output": None if path is None else str(path),
        "report": None if report is None else str(report),
    }
    if to.as_json:
        print_json(record(post, to.threshold) | places)
    elif to.always_show or not to.quiet or path is None:
        from blockmix.cli.summary import print_summary

        print_summary(record(post, to.threshold))
        print_written(path, report)
    if failures:
        warn("not all results could be written" + ("" if path is None else f"; what could be is in {path}"))
        raise typer.Exit(FAILED)


def print_written(path: Path | None, report: Path | None) -> None:
    """Print what was written where, and what can be done next."""
    from blockmix.posterior.export.files import TEXT_FILES
    from blockmix.posterior.storage import MANIFEST

    lines = [""]
    if path is not None:
        lines += [f"Written to {path}:", f"  {', '.join((*TEXT_FILES, MANIFEST, 'posterior'))}"]
    if report is not None:
        lines.append(f"Report to open in a browser: {report.resolve()}")
    if path is None and report is None:
        lines.append(
            "Nothing was written: add -o DIR to keep memberships, communities, predictions and a report."
        )
    if path is not None:
        name = quote(str(path))
        steps = [(f"blockmix open {name}", "the report, in a browser")]
        steps += [
            (f"blockmix predict {name} pairs.txt", "probability of a link, for pairs of nodes"),
            (f"blockmix export {name} network.graphml", "for Gephi, Cytoscape and others"),
        ]
        wide = max(len(command) for command, _ in steps)
        lines += ["", "Next:", *(f"  {command:<{wide}}   {what}" for command, what in steps)]
    print("\n".join(lines))


def _write_report(post: Posterior, file: Path, to: Output) -> list[str]:
    """Write the report; return what went wrong. The results are on disk already, and an error must not hide them."""
    from blockmix.report import write_report

    title = to.title or (file.resolve().parent.name if to.folder is not None else "Overlapping communities")
    try:
        write_report(
            post, file, title=title, threshold=max(to.threshold, LEAST_THRESHOLD), command=to.command
        )
    except InputError as error:
        return [str(error)]
    except KeyboardInterrupt:
        return [f"{file}: interrupted before the report was written"]
    return []


def _warn_interrupted(post: Posterior, folder: RunFolder | None) -> None:
    facts = post.provenance
    if not facts["interrupted"]:
        return
    early = "" if facts["sweeps"] > facts["warm_up"] else ", still in warm-up: this is a first impression"
    more = (
        f"; go on with blockmix resume {quote(str(folder.path))}"
        if folder is not None and folder.resumable
        else ""
    )
    warn(f"interrupted after {facts['sweeps']:,} sweeps{early}; the result so far is kept{more}")
