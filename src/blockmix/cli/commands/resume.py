"""`blockmix resume`: go on with a run that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockmix.cli.deliver import deliver, guarded_run
from blockmix.cli.guard import Verbose, print_json, warn

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior


def resume(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the run: -o of fit.", show_default=False)
    ],
    sweeps: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N sweeps, those already made included.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SEC", help="Stop after so many seconds, those already spent included."),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SEC", min=0.0, help="Seconds between checkpoints; 0 for none.")
    ] = 60.0,
    threads: Annotated[
        int | None, typer.Option(metavar="T", help="Processors to use; all by default.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Least likely membership in communities.txt; that of fit by default."
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
    was killed, interrupted by Ctrl-C or ended by SIGTERM goes on to the end it
    was given; --sweeps or --time-limit give it another one, and make a run that
    had ended go on.

    \b
      blockmix resume run                  to the end that fit was given
      blockmix resume run --sweeps 2000    2,000 sweeps in all

    A checkpoint that is damaged is named, and the one before it is used.
    """
    from blockmix.inference.resume import resume as library_resume
    from blockmix.inference.run_folder.folder import RunFolder, check_run

    check_run(folder)
    with RunFolder(folder, checkpoint_every) as place:
        options: dict[str, Any] = {"sweeps": sweeps, "time_limit": time_limit, "threads": threads}
        with guarded_run(place):
            post = library_resume(place, progress=not quiet, **options)
        chosen = place.notes.get("threshold", 0.1) if threshold is None else threshold
        if place.ended and threshold is None and _written(folder, post):
            _say_ended(place, post, as_json)
        else:
            deliver(post, place, chosen, as_json, quiet)


def _written(folder: Path, post: Posterior) -> bool:
    """Whether the result of this very run is in the folder already."""
    from blockmix.errors import InputError
    from blockmix.posterior.storage import read_manifest

    try:
        return bool(read_manifest(folder)["provenance"].get("run") == post.provenance["run"])
    except (InputError, KeyError, AttributeError):
        return False


def _say_ended(place: RunFolder, post: Posterior, as_json: bool) -> None:
    from blockmix.cli.deliver import record

    sweeps = post.provenance["sweeps"]
    warn(
        f"{place.path}: this run had ended, after {sweeps:,} sweeps, and its results are written; "
        f"to go on give more, for instance --sweeps {2 * sweeps}"
    )
    if as_json:
        print_json(record(post, place.notes.get("threshold", 0.1)) | {"output": str(place.path)})
