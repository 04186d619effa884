"""`blockmix resume`: go on with a run that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockmix.cli.deliver import Output, deliver, guarded_run
from blockmix.cli.guard import THRESHOLD, Verbose, print_json, warn

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior


def resume(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the run: -o of fit.", show_default=False)
    ],
    sweeps: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Stop after N sweeps, those already made included; by default as fit was told."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SEC",
            help="Stop after so many seconds, those already spent included; by default as fit was told.",
        ),
    ] = None,
    checkpoint_every: Annotated[
        float | None,
        typer.Option(metavar="SEC", help="Seconds between checkpoints; 0 for none.", show_default="60.0"),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="T", help="Processors to use; all by default.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Where to compute from here on: cpu, cuda or auto; by default as the run was begun."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="T",
            min=0.0,
            max=1.0,
            help=f"Threshold T for communities.txt, that of fit by default. {THRESHOLD}.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the summary.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no remarks.")] = False,
    verbose: Verbose = False,
) -> None:
    """Go on with a run that was stopped, from its last checkpoint.

    The result is that of a run that was never stopped, bit for bit. A run that
    was killed, interrupted by Ctrl-C or ended by a signal goes on to the end it
    was given; --sweeps or --time-limit give it another one, and make a run that
    had ended go on.

    \b
      blockmix resume run                  to the end that fit was given
      blockmix resume run --sweeps 2000    2,000 sweeps in all

    A checkpoint that is damaged is named, and the one before it is used. A run
    without a checkpoint begins again with its settings, network and held-out
    pairs; results that are missing are written.
    """
    from blockmix.inference.resume import resume as library_resume
    from blockmix.inference.run_folder.folder import RunFolder, check_run

    check_run(folder)
    with RunFolder(folder) as place, guarded_run(place, checkpoint_every != 0):
        post = library_resume(
            place, sweeps=sweeps, time_limit=time_limit, checkpoint_every=checkpoint_every, threads=threads,
            device=device, progress=not quiet,
        )  # fmt: skip
        chosen = place.notes.get("threshold", 0.1) if threshold is None else threshold
        if place.ended and threshold is None and _whole(place, post):
            _warn_ended(place, post, as_json)
        else:
            deliver(post, Output(place, chosen, as_json, quiet, report=_with_report(place)))


def _whole(place: RunFolder, post: Posterior) -> bool:
    """Return whether all that fit writes is in the folder."""
    from blockmix.inference.run_folder.folder import REPORT
    from blockmix.inference.run_folder.results import holds_result_of

    reported = not _with_report(place) or (place.path / REPORT).is_file()
    return reported and holds_result_of(place.path, post)


def _with_report(place: RunFolder) -> bool:
    """Return whether a report is written: not if fit was told so."""
    return place.notes.get("report") is not False


def _warn_ended(place: RunFolder, post: Posterior, as_json: bool) -> None:
    from blockmix.cli.record import record
    from blockmix.inference.run_folder.folder import REPORT

    sweeps = post.provenance["sweeps"]
    warn(
        f"{place.path}: this run had ended, after {sweeps:,} sweeps, and its results are written; "
        f"to go on give more, for instance --sweeps {2 * sweeps}"
    )
    if as_json:
        report = place.path / REPORT
        places = {"output": str(place.path), "report": str(report) if report.is_file() else None}
        print_json(record(post, place.notes.get("threshold", 0.1)) | places)
