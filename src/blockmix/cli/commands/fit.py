"""`blockmix fit`: from an edge list to communities."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from blockmix.cli.deliver import deliver, guarded_run
from blockmix.cli.guard import COVER_THRESHOLD, Seed, Verbose, warn
from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph
    from blockmix.inference.request import FitRequest
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior

DATASET = "dataset:"
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
    edges: Annotated[
        str,
        typer.Argument(
            metavar="EDGES",
            help="Edge list, plain or .gz: one link per line, two labels. - for standard input, "
            "dataset:NAME for a known network (see blockmix datasets).",
            show_default=False,
        ),
    ],
    communities: Annotated[
        str,
        typer.Option(
            "-k",
            "--communities",
            metavar="K|auto",
            help="Communities to allow; those not needed stay nearly empty. "
            "auto: as many as the best hard partition has.",
        ),
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for the results.")
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
    nodes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Node labels, one per line, so that isolated nodes are in the network."
        ),
    ] = None,
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
            help="A setting of the sampler, as often as needed: see blockmix samplers.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    seed: Seed = 0,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SEC", help="Stop after so many seconds.", rich_help_panel=_RUN)
    ] = None,
    sweeps: Annotated[
        int | None,
        typer.Option(metavar="N", help="Stop after N updates of every node.", rich_help_panel=_RUN),
    ] = None,
    warm_up: Annotated[
        int | None, typer.Option(metavar="N", help="Sweeps before samples count.", rich_help_panel=_RUN)
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
    device: Annotated[str, typer.Option(help="Where to compute.", rich_help_panel=_RUN)] = "cpu",
    model: Annotated[
        ModelKind,
        typer.Option(
            help="One strength a community; (popularity) and a popularity for every node; "
            "(mmsb) a strength for every pair of communities; (auto) the better of the first two.",
            rich_help_panel=_PRIOR,
        ),
    ] = ModelKind.assortative,
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
            help="Concentration of memberships; by default 0.3/K, and 3/K for nodes without links "
            "(not with popularity).",
            rich_help_panel=_PRIOR,
        ),
    ] = None,
    background: Annotated[
        float | None,
        typer.Option(help="Link probability across communities; learned by default.", rich_help_panel=_PRIOR),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            metavar="T",
            min=0.0,
            max=1.0,
            help=f"Threshold T for communities.txt. {COVER_THRESHOLD}",
            rich_help_panel=_OUTPUT,
        ),
    ] = 0.1,
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
    pairs has settled. Ctrl-C ends it early and keeps what there is. Progress
    goes to standard error.

    With -o checkpoints of the run are written to DIR: killed at any moment,
    it goes on with blockmix resume DIR; blockmix watch DIR shows it from
    another terminal. SIGTERM writes a checkpoint and ends with status 143.

    \b
      blockmix fit edges.txt                            a look at the communities
      blockmix fit edges.csv.gz -k 100 -o run --seed 7  all results in a folder
      blockmix fit dataset:netscience -k 30             a known network

    The folder holds memberships.tsv (node, community, mean, sd),
    communities.txt (one community a line), held_out.tsv (pairs kept from the
    fit, with their predicted probability), run.json (how the result came
    about) and the posterior, which blockmix predict, blockmix evaluate and
    blockmix.load open.
    """
    from blockmix.inference.request import FitRequest
    from blockmix.inference.run_folder.results import claim_folder

    # Checked before a large file is read.
    request = FitRequest(
        communities=_communities(communities), model=model.value, sampler=sampler or "",
        options=_options(sampler, model.value, settings or []), seed=seed, chains=chains, sweeps=sweeps,
        time_limit=time_limit, warm_up=warm_up, held_out=held_out,
        held_out_kind=None if held_out_kind is None else held_out_kind.value, alpha=alpha, background=background,
        threads=threads, device=device, checkpoint=output, checkpoint_every=checkpoint_every, force=force,
    )  # fmt: skip
    if request.communities == 1 and not quiet:
        warn("one community: every node is a member, and only how likely a link is will be learned")
    with claim_folder(output, overwrite, {"threshold": threshold}) as folder:
        graph = read_network(edges, nodes, threads, quiet)
        run(request, graph, folder, threshold, as_json, quiet)


def run(
    request: FitRequest,
    graph: Graph,
    folder: RunFolder | None,
    threshold: float,
    as_json: bool,
    quiet: bool,
    always_show: bool = False,
) -> Posterior:
    """Fit, write the results, and print what was found."""
    from blockmix.inference.fit import fit_request

    with guarded_run(folder, request.every > 0):
        post = fit_request(request, graph, folder, progress=not quiet)
    deliver(post, folder, threshold, as_json, quiet, always_show)
    return post


def _communities(text: str) -> int | Literal["auto"]:
    """Return what -k names: a number, or auto."""
    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise InputError(f"-k must be a whole number or auto, not {text!r}") from None


def _options(sampler: str | None, kind: str, settings: list[str]) -> dict[str, Any]:
    """Return the settings of the sampler as values."""
    from blockmix.cli.settings import parse_settings
    from blockmix.samplers import default_sampler

    # Of "auto" the settings of either model; the request refuses those that the other one does not have.
    kind = "popularity" if kind == "auto" else kind
    return parse_settings(sampler or default_sampler(kind), kind, settings)


def read_network(edges: str, nodes: Path | None, threads: int | None, quiet: bool) -> Graph:
    """Read the network that EDGES names: a file, standard input, or dataset:NAME."""
    if edges.startswith(DATASET):
        from blockmix.graph.datasets.load import load_dataset

        if nodes is not None:
            raise InputError("--nodes goes with an edge list: a known network has its isolated nodes already")
        graph = load_dataset(edges.removeprefix(DATASET))
    else:
        from blockmix.graph.reading.read import read_graph

        graph = read_graph("/dev/stdin" if edges == "-" else edges, nodes=nodes, threads=threads)
    if not quiet and graph.summary is not None:
        warn(str(graph.summary))
    return graph
