"""`blockmix watch`: the progress of a run, from another terminal."""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockmix.cli.guard import FAILED, print_json
from blockmix.errors import InputError, printable

if TYPE_CHECKING:
    from rich.panel import Panel

# Seconds between readings of the status.
EVERY = 1.0
# A run that has not written its status for so many seconds is in a long sweep, or stuck.
SILENT_AFTER = 60.0
_LONGEST_LINE = 2000
_COLOURS = {"running": "green", "done": "green", "interrupted": "yellow", "terminated": "yellow"}


def watch(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the run: -o of fit.", show_default=False)
    ],
    once: Annotated[bool, typer.Option("--once", help="Show it once and leave.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and leave, for scripts.")
    ] = False,
    every: Annotated[
        float | None,
        typer.Option(
            metavar="SEC", min=0.1, help="Seconds between readings of the status.", show_default="1.0"
        ),
    ] = None,
) -> None:
    """Show the progress of a run, live, from another terminal.

    Reads status.json in the folder, which fit -o renews about once a second,
    and ends with the run. Ctrl-C leaves the view; the run is not touched.

    \b
      blockmix watch run                    until the run ends
      blockmix watch run --once             a single look
      blockmix watch run --json | jq .state

    The state is running, done, interrupted (Ctrl-C), terminated (SIGTERM),
    failed, or dead: the process ended without writing why, as after SIGKILL.
    Exit status: 1 if the run failed or is dead, else 0.
    """
    from blockmix.inference.run_folder.status import read_status

    if every is not None and (once or as_json):
        raise InputError(f"--every {every:g} has no effect with --once or --json: leave one of them out")
    record = read_status(folder)
    if as_json:
        print_json(record)
    elif once:
        _console().print(panel(folder, record))
    else:
        record = _follow(folder, record, EVERY if every is None else every)
    if record["state"] in ("failed", "dead"):
        raise typer.Exit(FAILED)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _follow(folder: Path, record: dict[str, Any], every: float) -> dict[str, Any]:
    """Show the run until it ends; return the last status read."""
    from rich.live import Live

    from blockmix.inference.run_folder.status import RUNNING, read_status

    with Live(panel(folder, record), console=_console(), auto_refresh=False) as live:
        try:
            while record["state"] == RUNNING:
                time.sleep(every)
                record = read_status(folder)
                live.update(panel(folder, record), refresh=True)
        except KeyboardInterrupt:
            # Ctrl-C ends the view, not the run.
            pass
    return record


def panel(folder: Path, record: dict[str, Any]) -> Panel:
    """Return the status as a box of lines."""
    from rich.panel import Panel
    from rich.text import Text

    state = record["state"]
    colour = _COLOURS.get(state, "red")
    return Panel(
        # The status of a folder that somebody sent may hold any text, and megabytes of it.
        Text("\n".join(printable(line[:_LONGEST_LINE]) for line in lines(folder, record))),
        title=Text(printable(f"{folder}: {state}"[:_LONGEST_LINE])),
        border_style=colour,
        expand=False,
    )


def lines(folder: Path, record: dict[str, Any]) -> list[str]:
    """Return the status in words."""
    found = [
        f"{record['nodes']:,} nodes, {record['links']:,} links, {record['communities']:,} communities; "
        f"{record['sampler']}, chains: {record['chains']}, seed {record['seed']}"
    ]
    if record.get("sweep") is None:
        found.append("starting: no sweep has ended yet")
    else:
        found += _progress(record)
    if record.get("checkpoint_sweep") is not None:
        took = record["checkpoint_seconds"]
        found.append(
            f"checkpoint at sweep {record['checkpoint_sweep']:,}: {record['checkpoint_bytes'] / 1e6:,.1f} MB"
            + ("" if took is None else f" in {took:.2f} s")
        )
    return found + _state(folder, record)


def _progress(record: dict[str, Any]) -> list[str]:
    from blockmix.inference.progress import seconds_in_words

    share, left, scores = record["share"], record["seconds_left"], record["scores"]
    least = record.get("seconds_left_least")
    goal = "" if record.get("sweeps") is None else f" of {record['sweeps']:,}"
    line = f"{record['phase']}, sweep {record['sweep']:,}{goal}, {record['seconds']:,.1f} s"
    line += f", {record['updates_per_second']:,.0f} updates/s"
    missing = record.get("missing")
    if record["state"] == "running":
        line += "" if share is None else f"; {share:.0%} done"
        line += "" if left is None else f", {seconds_in_words(least, left, bool(missing))}"
    found = [line]
    if missing and record["state"] == "running":
        found.append(f"missing: {missing}")
    if scores is not None:
        found.append(
            "held out: "
            + ", ".join(f"{name} {_digits(scores.get(name))}" for name in ("perplexity", "auc", "log_loss"))
        )
    return found


def _state(folder: Path, record: dict[str, Any]) -> list[str]:
    from blockmix.inference.run_folder.folder import has_run

    who = f"process {record['pid']} on {record['host']}"
    resume = (
        f"go on with: blockmix resume {quote(str(folder))}"
        if has_run(folder)
        else "it left no checkpoint: fit again"
    )
    age = record.get("age") or 0.0
    if record["state"] == "running":
        silent = f"; no news for {age:,.0f} s: a long sweep, or stuck" if age > SILENT_AFTER else ""
        return [who + silent]
    if record["state"] == "done":
        return [f"done {age:,.0f} s ago"]
    if record["state"] == "dead":
        return [f"{who} ended without writing why, last seen {age:,.0f} s ago; {resume}"]
    why = f": {record['message']}" if record.get("message") and record["state"] == "failed" else ""
    return [f"{record['state']} {age:,.0f} s ago{why}; {resume}"]


def _digits(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"
