"""What `fit` and `resume` do with a posterior: write it, and print what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from blockmix.cli.guard import FAILED, ending_as_ctrl_c, print_json, warn
from blockmix.errors import InputError, printable
from blockmix.files import reason

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior

# The report needs a threshold above zero.
LEAST_THRESHOLD = 0.001


@contextmanager
def guarded_run(folder: RunFolder | None, checkpoints: bool) -> Iterator[None]:
    """Say what is kept when a signal ends the run; without checkpoints SIGTERM and SIGHUP do what Ctrl-C does."""
    from blockmix.inference.interrupt import Terminated, terminable
    from blockmix.inference.run_folder.folder import what_is_kept

    if folder is None or not checkpoints:
        with ending_as_ctrl_c():
            yield
        return
    with terminable():
        try:
            yield
        except Terminated:
            warn(f"terminated; {what_is_kept(folder.path)}")
            raise
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted at once; {what_is_kept(folder.path)}") from None


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
    failures: list[str] = []
    unreported: list[str] = []
    if path is not None:
        # A kill between the result and its report must not leave the report of an earlier result.
        unreported += _remove_report(path / REPORT)
        failures += write_results(post, path, to.threshold)
        if report is None and to.report:
            report = path / REPORT
    if report is not None:
        unreported += _write_report(post, report, to)
    _warn_early_end(post, None if failures else to.folder, bool(failures))
    for failure in (*failures, *unreported):
        warn(f"error: {failure}")
    places = {
        "output": None if path is None else str(path),
        "report": None if report is None or unreported else str(report),
    }
    if to.as_json:
        print_json(record(post, to.threshold) | places)
    elif to.always_show or not to.quiet or path is None:
        from blockmix.cli.summary import print_summary
        from blockmix.posterior.export.files import text_names

        values = record(post, to.threshold)
        print_summary(values)
        print_written(text_names(post), path, None if unreported else report, None if failures else values)
    if failures:
        from blockmix.inference.run_folder.folder import what_is_kept

        assert path is not None
        warn(f"not all results could be written; remove the cause: {what_is_kept(path)}")
    elif unreported:
        again = "" if path is None else f"; the results are: write it with blockmix open {quote(str(path))}"
        warn(f"the report could not be written{again}")
    if failures or unreported:
        raise typer.Exit(FAILED)


def print_written(
    texts: Sequence[str], path: Path | None, report: Path | None, values: dict[str, Any] | None
) -> None:
    """Print what was written where, `texts` being the text files, and what can be done next.

    `values` is the record of the result, of which a run that was interrupted or lacks sweeps is to go on.
    """
    from blockmix.posterior.storage import MANIFEST

    lines = [""]
    if path is not None:
        lines += [
            f"Written to {printable(str(path))}:",
            f"  {', '.join((*texts, MANIFEST, 'posterior'))}",
        ]
    if report is not None:
        lines.append(f"Report to open in a browser: {printable(str(report.resolve()))}")
    if path is None and report is None:
        lines.append(
            "Nothing was written: add -o DIR to keep memberships, communities, predictions and a report."
        )
    if path is not None:
        name = printable(quote(str(path)))
        steps = [(f"blockmix open {name}", "the report, in a browser")]
        if values is not None and values["interrupted"]:
            steps.append((f"blockmix resume {name}", "go on to the end of the run"))
        elif values is not None and values["sweeps_needed"] is not None:
            steps.append(
                (f"blockmix resume {name} --sweeps {values['sweeps_needed']}", "the sweeps that are missing")
            )
        steps += [
            (f"blockmix predict {name} pairs.txt", "probability of a link, for pairs of nodes"),
            (f"blockmix export {name} network.graphml", "for Gephi, Cytoscape and others"),
        ]
        wide = max(len(command) for command, _ in steps)
        lines += ["", "Next:", *(f"  {command:<{wide}}   {what}" for command, what in steps)]
    print("\n".join(lines))


def _remove_report(file: Path) -> list[str]:
    """Remove the report of an earlier result; return what went wrong."""
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        return [f"{file}: the report of an earlier result cannot be removed ({reason(error)})"]
    return []


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


def _warn_early_end(post: Posterior, folder: RunFolder | None, failed: bool) -> None:
    """Say that a run was interrupted, or that its result rests on hardly anything."""
    facts = post.provenance
    sweeps = f"{facts['sweeps']:,} sweep{'' if facts['sweeps'] == 1 else 's'}"
    early = facts["sweeps"] <= max(facts["warm_up"], 1)
    if not facts["interrupted"]:
        if early:
            warn(
                f"this is a first impression, after {sweeps}: too few for samples that count and for their "
                "uncertainty; give more sweeps or more time"
            )
        return
    impression = ", still in warm-up: this is a first impression" if early else ""
    kept = "" if failed else "; the result so far is kept"
    more = ""
    if folder is not None and folder.resumable:
        from blockmix.inference.run_folder.folder import has_run

        # Somebody may have removed the checkpoints during the run.
        more = (
            f"; go on with blockmix resume {quote(str(folder.path))}"
            if has_run(folder.path)
            else "; its checkpoints are gone: it cannot be continued"
        )
    warn(f"interrupted after {sweeps}{impression}{kept}{more}")


def warn_uncounted(post: Posterior, limit: float | None, seconds: float) -> None:
    """Say what a time limit does not count, where it makes a difference; `seconds` are those since the call."""
    if limit is None or seconds <= 1.1 * limit + 1.0:
        return
    sampling = post.provenance["seconds"]
    warn(
        f"the time limit of {limit:g} s counts the search for a start and whole sweeps, which took {sampling:,.1f} s; "
        f"reading, compiling and saving took another {max(seconds - sampling, 0.0):,.1f} s"
    )
