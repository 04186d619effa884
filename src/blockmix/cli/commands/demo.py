"""`blockmix demo`: everything on a network that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockmix.cli.guard import Seed, warn

# Picked by eye among 5, 6, 8 and 10 communities (seeds 1 and 2) for a readable result: an illustration, not a
# benchmark. With so many sweeps the chains of seed 1 agree; other seeds can group weakly linked characters otherwise.
COMMUNITIES, SWEEPS, HELD_OUT, THRESHOLD = 8, 3000, 0.1, 0.3
CHAINS = 4
_REPORT = "blockmix-demo.html"

_INTRODUCTION = """\
Who meets whom in Les Misérables: characters who share a chapter are linked.
A tenth of the links is kept aside to test the predictions."""

_NEXT = """\

Try another --seed to see what stays the same.

With your own network:
  blockmix fit edges.txt -k 20 -o run     your own network: two labels per line
  blockmix fit --help                     what can be chosen
In Python
  import blockmix as bm
  post = bm.fit(bm.read_graph("edges.txt"), communities=20)
  post.communities(); post.link_probability([("ann", "bob")])"""


def demo(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Also write the results to this folder; by default only a report.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result in DIR.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Where the report to open goes; DIR/report.html or {_REPORT} if not given.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress, no remarks.")] = False,
) -> None:
    """Show everything on a built-in network: no file, no internet, a few seconds.

    It ends in a report, one HTML file to open in a browser. The first run on a
    new machine compiles the kernels: about half a minute.

    \b
      blockmix demo
      blockmix demo -o run --seed 2     keep the results; another start
    """
    from blockmix.cli.deliver import Output, deliver, guarded_run
    from blockmix.graph.datasets.builtin import les_miserables
    from blockmix.inference.fit import fit_request
    from blockmix.inference.request import FitRequest
    from blockmix.inference.run_folder.results import claim_folder

    request = FitRequest(COMMUNITIES, seed=seed, sweeps=SWEEPS, held_out=HELD_OUT, chains=CHAINS)
    with claim_folder(output, overwrite) as folder, guarded_run(folder, request.every > 0):
        if not quiet:
            warn(_INTRODUCTION)
        post = fit_request(request, les_miserables(), folder, progress=not quiet)
        if report is None and output is None and not as_json:
            report = Path(_REPORT)
        # The summary must show whether or not files are written, hence never quiet about results.
        to = Output(
            folder,
            THRESHOLD,
            as_json,
            quiet,
            always_show=True,
            title="Les Misérables",
            command="blockmix demo",
        )
        deliver(post, to, report)
    if not as_json and not quiet:
        print(_NEXT)
