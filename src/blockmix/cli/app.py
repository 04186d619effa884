"""The commands, put together. Heavy modules are imported inside them, so that `--help` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

from blockmix._version import __version__
from blockmix.cli.commands.ask import ask
from blockmix.cli.commands.demo import demo
from blockmix.cli.commands.diagnose import diagnose
from blockmix.cli.commands.export import export
from blockmix.cli.commands.fit import fit
from blockmix.cli.commands.networks import convert, datasets, simulate
from blockmix.cli.commands.partition import partition
from blockmix.cli.commands.report import open_run, report
from blockmix.cli.commands.reproduce import reproduce
from blockmix.cli.commands.results import evaluate, predict
from blockmix.cli.commands.resume import resume
from blockmix.cli.commands.select import select_k
from blockmix.cli.commands.watch import watch
from blockmix.cli.guard import Guarded
from blockmix.cli.settings import samplers

_EPILOG = (
    "Exit status: 0 done (also after Ctrl-C, if what there was could be kept); 1 something failed, or a "
    "result could not be written; 2 wrong input or options; 130 interrupted at once, by a second Ctrl-C or before "
    "the first sweep; 141 the output was closed by its reader; 143 and 129 ended by SIGTERM and SIGHUP: with -o the "
    "run is kept, and blockmix resume goes on."
)

app = typer.Typer(
    name="blockmix",
    cls=Guarded,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"blockmix {__version__}")
        raise typer.Exit


@app.callback()
def blockmix(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="BLOCKMIX_DEBUG", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Overlapping communities in networks, with uncertainty, at any scale.

    Start here:

    \b
      blockmix demo                              a built-in network, in seconds
      blockmix fit edges.txt -k 20 -o run        your own: two labels per line
      blockmix watch run                         its progress, in another terminal
      blockmix resume run                        go on with a run that was stopped
      blockmix open run                          its report, in a browser
      blockmix ask run members 0                 questions about the result
      blockmix diagnose run                      can it be trusted?
      blockmix predict run pairs.txt             probability of unseen links
      blockmix evaluate run --truth groups.txt   against known communities

    Every command has its own help: blockmix fit --help. For completion in your
    shell: blockmix --install-completion
    """


app.command()(demo)
app.command()(fit)
app.command()(resume)
app.command()(watch)
app.command("open")(open_run)
app.command()(report)
app.command()(ask)
app.command()(diagnose)
app.command()(predict)
app.command()(evaluate)
app.command()(export)
app.command()(simulate)
app.command()(datasets)
app.command()(convert)
app.command()(partition)
app.command()(samplers)
app.command("select-k")(select_k)
app.command()(reproduce)
