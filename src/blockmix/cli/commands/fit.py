"""`blockmix fit`: from an edge list to communities."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from blockmix.cli.deliver import Output, deliver, guarded_run, warn_uncounted
from blockmix.cli.guard import THRESHOLD, Seed, Verbose, warn
from blockmix.cli.reading import (
    Bipartite,
    Columns,
    Directed,
    Edges,
    Format,
    Header,
    Nodes,
    Separator,
    WeightLawOption,
    Weights,
    communities_of,
    read_network,
    table_options,
)
from blockmix.errors import InputError

_RUN, _PRIOR, _OUTPUT = "How long and how", "Model", "Output"


class ModelKind(StrEnum):
    """Which strengths there are."""

    assortative = "assortative"
    popularity = "popularity"
    mmsb = "mmsb"
    auto = "auto"


class HeldOutKind(StrEnum):
    """Which non-links are held out beside the links."""

    balanced = "balanced"
    proportional = "proportional"


def sampler_names(incomplete: str) -> list[str]:
    """Return names of samplers that begin like this, for the shell."""
    from blockmix.samplers import SAMPLERS

    return sorted({name for known in SAMPLERS.values() for name in known if name.startswith(incomplete)})


def fit(
    edges: Edges,
    communities: Annotated[
        str,
        typer.Option(
            "-k",
            "--communities",
            metavar="K|auto",
            help="Communities to allow; those without evidence are not listed. "
            "auto: as many as the best hard partition has.",
        ),
    ] = "auto",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder for the results; if not given nothing is written."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier result or an unfinished run in DIR.")
    ] = False,
    checkpoint_every: Annotated[
        float | None,
        typer.Option(
            metavar="SEC",
            help="With -o: seconds between checkpoints, from which blockmix resume goes on; 0 for none.",
            rich_help_panel=_RUN,
            show_default="60.0",
        ),
    ] = None,
    nodes: Nodes = None,
    format: Format = None,
    sep: Separator = None,
    header: Header = None,
    columns: Columns = None,
    weights: Weights = None,
    directed: Directed = False,
    bipartite: Bipartite = False,
    sampler: Annotated[
        str | None,
        typer.Option(
            help="Sampler, by name: see blockmix samplers.",
            rich_help_panel=_RUN,
            show_default="scir",
            autocompletion=sampler_names,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the sampler, as often as needed: blockmix samplers lists them with their defaults.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    seed: Seed = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SEC",
            help="Stop after the sweep in which so many seconds are over; reading and compiling do not count. By "
            "default a limit of sweeps that take about ten minutes of one processor, so that the same seed gives the "
            "same result on every machine.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Stop after N updates of every node; by default when score and chains allow, see above.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    warm_up: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Sweeps before samples count; by default until the score has settled, or 40% of the run.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    chains: Annotated[
        int | None,
        typer.Option(
            metavar="C",
            help="Independent chains; by default 8 up to 10,000 links, 4 up to 50,000, 2 up to 150,000.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="T", help="Processors to use; all by default.", rich_help_panel=_RUN),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            help="Where to compute: cpu; cuda, one NVIDIA GPU (default sampler, assortative model, more than 2,048 "
            "nodes); auto, the GPU where there is one, the network is large enough and the model is that one.",
            rich_help_panel=_RUN,
        ),
    ] = "cpu",
    model: Annotated[
        ModelKind | None,
        typer.Option(
            help="(assortative) One strength a community; (popularity) and a popularity for every node; "
            "(mmsb) a strength for every pair of communities; (auto) the second where nodes differ in popularity, else "
            "the first.",
            rich_help_panel=_PRIOR,
            show_default="auto; assortative with a sampler, a device or a setting of that model alone; popularity with "
            "--weights, --directed or --bipartite",
        ),
    ] = None,
    held_out: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            help="Share of the links kept from the fit to score it; 0 for none. By default 5%, "
            "at most 25,000 links.",
            rich_help_panel=_PRIOR,
        ),
    ] = None,
    held_out_kind: Annotated[
        HeldOutKind | None,
        typer.Option(
            help="As many non-links as links, or the same share of both.",
            rich_help_panel=_PRIOR,
            show_default="balanced",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Concentration of memberships; learned by default (scir; other samplers: 0.3/K, and 3/K for nodes "
            "without links).",
            rich_help_panel=_PRIOR,
        ),
    ] = None,
    background: Annotated[
        float | None,
        typer.Option(help="Link probability across communities; learned by default.", rich_help_panel=_PRIOR),
    ] = None,
    weight_law: WeightLawOption = None,
    threshold: Annotated[
        float,
        typer.Option(
            metavar="T",
            min=0.0,
            max=1.0,
            help=f"Threshold T for communities.txt. {THRESHOLD}.",
            rich_help_panel=_OUTPUT,
        ),
    ] = 0.1,
    no_report: Annotated[
        bool,
        typer.Option("--no-report", help="With -o: do not write report.html.", rich_help_panel=_OUTPUT),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON object instead of the summary.", rich_help_panel=_OUTPUT),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="No progress, no remarks.", rich_help_panel=_OUTPUT)
    ] = False,
    verbose: Verbose = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Start even if memory is too small by the estimate.", rich_help_panel=_RUN
        ),
    ] = False,
) -> None:
    """Find overlapping communities in a network.

    Without --sweeps and --time-limit the run ends when the score on held-out
    pairs has settled, the chains agree, and as many sweeps were sampled as
    warmed up. Chains that do not agree are waited for up to a limit of sweeps
    that take about ten minutes of one processor (at most 30,000, at least 360);
    less, from 1,000 sampling sweeps on, where they are not expected to agree by
    then. The first line of the result says whether it converged, the last ones
    what was missing and how long that takes at least. Ctrl-C ends the run early
    and keeps what there is. Progress goes to standard error.

    With -o checkpoints of the run are written to DIR: killed at any moment,
    it goes on with blockmix resume DIR; blockmix watch DIR shows it from
    another terminal. SIGTERM and SIGHUP write a checkpoint and end with status
    143 and 129.

    \b
      blockmix fit edges.txt                            a look at the communities
      blockmix fit edges.csv.gz -k 100 -o run --seed 7  all results in a folder
      blockmix fit dataset:netscience -k 30             a known network
      blockmix fit mails.csv --columns sender,receiver --nodes people.csv
      blockmix fit mails.csv --weights messages
      blockmix fit mails.csv --columns sender,receiver --directed

    The folder holds report.html (blockmix open DIR shows it), memberships.tsv
    (node, community, mean, sd), communities.txt (one community a line),
    no_community.txt (nodes in no clear community), held_out.tsv (pairs kept
    from the fit, with their predicted probability), run.json (how the result
    came about) and the posterior, which blockmix predict, blockmix evaluate
    and blockmix.load open.
    """
    from blockmix.inference.fit import fit_request
    from blockmix.inference.request import FitRequest
    from blockmix.inference.run_folder.results import claim_folder

    kind = "" if model is None else model.value
    # Checked before a large file is read.
    request = FitRequest(
        communities=communities_of(communities), model=kind, sampler=sampler or "",
        options=_options(sampler, kind, settings or []), seed=seed, chains=chains, sweeps=sweeps,
        time_limit=time_limit, warm_up=warm_up, held_out=held_out,
        held_out_kind=None if held_out_kind is None else held_out_kind.value, alpha=alpha, background=background,
        weight_law=None if weight_law is None else weight_law.value, threads=threads, device=device,
        checkpoint=output, checkpoint_every=checkpoint_every, force=force,
    )  # fmt: skip
    table = table_options(format, sep, header, columns, weights, directed, bipartite)
    if request.communities == 1 and not quiet:
        warn("one community: every node is a member, and only how likely a link is will be learned")
    _check_report(no_report, output)
    began = time.perf_counter()
    with (
        claim_folder(output, overwrite, {"threshold": threshold, "report": not no_report}) as folder,
        guarded_run(folder, request.every > 0),
    ):
        graph = read_network(edges, nodes, threads, quiet, table)
        post = fit_request(request, graph, folder, progress=not quiet)
        deliver(post, Output(folder, threshold, as_json, quiet, report=not no_report))
    if not quiet:
        warn_uncounted(post, time_limit, time.perf_counter() - began)


def _check_report(no_report: bool, output: Path | None) -> None:
    if no_report and output is None:
        raise InputError("--no-report has no effect without -o: a report is written to the folder only")


def _options(sampler: str | None, kind: str, settings: list[str]) -> dict[str, Any]:
    """Return the settings of the sampler as values."""
    from blockmix.cli.settings import parse_settings
    from blockmix.samplers import default_sampler

    # Of "auto" the settings of either model; the request refuses those that the other one does not have.
    kind = "popularity" if kind == "auto" else kind or ModelKind.assortative.value
    return parse_settings(sampler or default_sampler(kind), kind, settings)
