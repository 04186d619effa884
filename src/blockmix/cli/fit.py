"""`blockmix fit`: from an edge list to communities."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from blockmix.cli.folder import claimed, write_results
from blockmix.cli.guard import FAILED, Seed, print_json, terminate_gently, warn
from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.graph.graph import Graph
    from blockmix.posterior.posterior import Posterior

DATASET = "dataset:"
_FACTS = (
    "sampler", "seed", "chains", "sweeps", "warm_up", "samples", "node_updates", "seconds", "total_seconds",
    "interrupted", "device", "threads", "peak_memory_bytes", "graph_fingerprint", "blockmix",
)  # fmt: skip
_RUN, _PRIOR, _OUTPUT = "How long and how", "Model", "Output"


class HeldOutKind(StrEnum):
    """Which non-links are held out beside the links."""

    balanced = "balanced"
    proportional = "proportional"


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
            help="Communities to allow; those not needed stay empty. auto: as many as the best hard partition has.",
        ),
    ] = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder for the results.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier result in DIR.")] = False,
    nodes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Node labels, one per line, so that isolated nodes are in the network."
        ),
    ] = None,
    sampler: Annotated[str, typer.Option(help="Sampler, by name.", rich_help_panel=_RUN)] = "scir",
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
            help="Independent chains; by default 8 up to 10,000 links, 4 up to 50,000, else 1.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="T", help="Processors to use; all by default.", rich_help_panel=_RUN),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to compute.", rich_help_panel=_RUN)] = "cpu",
    held_out: Annotated[
        float | None,
        typer.Option(
            metavar="FRACTION",
            min=0.0,
            max=1.0,
            help="Share of the links kept from the fit to score it; 0 for none. By default 5%, "
            "at most 25,000 links.",
            rich_help_panel=_PRIOR,
        ),
    ] = None,
    held_out_kind: Annotated[
        HeldOutKind,
        typer.Option(help="As many non-links as links, or the same share of both.", rich_help_panel=_PRIOR),
    ] = HeldOutKind.balanced,
    alpha: Annotated[
        float | None,
        typer.Option(help="Concentration of memberships; 0.3/K by default.", rich_help_panel=_PRIOR),
    ] = None,
    background: Annotated[
        float | None,
        typer.Option(help="Link probability across communities; learned by default.", rich_help_panel=_PRIOR),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Least mean membership of a member in communities.txt.",
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
) -> None:
    """Find overlapping communities in a network.

    Without --sweeps and --time-limit the run ends when the score on held-out
    pairs has settled. Ctrl-C ends it early and keeps what there is. Progress
    goes to standard error.

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
    wanted = _communities(communities)
    _check_early(sampler, wanted, alpha, background, sweeps, time_limit, warm_up)
    options: dict[str, Any] = {
        "sampler": sampler, "seed": seed, "time_limit": time_limit, "sweeps": sweeps, "warm_up": warm_up,
        "chains": chains, "threads": threads, "device": device, "held_out": held_out,
        "held_out_kind": held_out_kind.value, "alpha": alpha, "background": background,
    }  # fmt: skip
    with claimed(output, overwrite) as folder:
        graph = _read(edges, nodes, threads, quiet)
        run(graph, wanted, options, folder, threshold, as_json, quiet)


def run(
    graph: Graph,
    communities: int | Literal["auto"],
    options: dict[str, Any],
    folder: Path | None,
    threshold: float,
    as_json: bool,
    quiet: bool,
    always_show: bool = False,
) -> None:
    """Fit, write, and say what was found. Results are on disk before anything is printed."""
    from blockmix.inference.fit import fit as library_fit

    with terminate_gently():
        post = library_fit(graph, communities, progress=not quiet, **options)
        failures = write_results(post, folder, threshold) if folder is not None else []
    _say_interrupted(post)
    for failure in failures:
        warn(f"error: {failure}")
    if as_json:
        print_json(record(post, threshold) | {"output": None if folder is None else str(folder)})
    elif always_show or not quiet or folder is None:
        from blockmix.cli.summary import print_summary

        print_summary(post, threshold, folder)
    if failures:
        warn(f"not all results could be written; what could be is in {folder}")
        raise typer.Exit(FAILED)


def record(post: Posterior, threshold: float) -> dict[str, Any]:
    """The figures of a run, by name."""
    facts, scores = post.provenance, post.scores
    found: dict[str, Any] = {
        "nodes": post.graph.n_nodes,
        "edges": post.graph.n_edges,
        "communities": post.n_communities,
        "communities_found": len(post.covers(threshold)),
    }
    found |= {name: facts[name] for name in _FACTS}
    for name in ("perplexity", "log_loss", "auc", "average_precision"):
        found[name] = None if scores is None else getattr(scores, name)
    found["held_out_links"] = 0 if scores is None else scores.n_links
    found["held_out_non_links"] = 0 if scores is None else scores.n_non_links
    return found


def _communities(text: str) -> int | Literal["auto"]:
    """What -k says: a number, or auto."""
    from blockmix.errors import InputError

    if text == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise InputError(f"-k must be a whole number or auto, not {text!r}") from None


def _check_early(
    sampler: str,
    communities: int | Literal["auto"],
    alpha: float | None,
    background: float | None,
    sweeps: int | None,
    time_limit: float | None,
    warm_up: int | None,
) -> None:
    """Refuse impossible options before a large file is read."""
    from blockmix.inference.plan import Plan
    from blockmix.model import Model
    from blockmix.samplers import check_sampler

    check_sampler(sampler)
    Model(1 if communities == "auto" else communities, alpha, background=background)
    Plan(sweeps, time_limit, warm_up)


def _read(edges: str, nodes: Path | None, threads: int | None, quiet: bool) -> Graph:
    if edges.startswith(DATASET):
        from blockmix.graph.datasets import load_dataset

        if nodes is not None:
            raise InputError("--nodes goes with an edge list: a known network has its isolated nodes already")
        graph = load_dataset(edges.removeprefix(DATASET))
    else:
        from blockmix.graph.read import read_graph

        graph = read_graph("/dev/stdin" if edges == "-" else edges, nodes=nodes, threads=threads)
    if not quiet and graph.summary is not None:
        warn(str(graph.summary))
    return graph


def _say_interrupted(post: Posterior) -> None:
    facts = post.provenance
    if not facts["interrupted"]:
        return
    early = "" if facts["sweeps"] > facts["warm_up"] else ", still in warm-up: this is a first impression"
    warn(f"interrupted after {facts['sweeps']:,} sweeps{early}; the result so far is kept")
