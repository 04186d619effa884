"""`blockmix simulate` and `blockmix datasets`: networks to try; `blockmix convert`: a network saved for large runs."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockmix.cli.guard import Seed, print_json, warn
from blockmix.cli.reading import (
    Bipartite,
    Columns,
    Directed,
    Edges,
    Format,
    Header,
    Nodes,
    Separator,
    WeightLaw,
    Weights,
    table_options,
)
from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.generators.simulate import Simulated
    from blockmix.graph.datasets.registry import Dataset

MOST_OVERLAP, MIXING, DEGREE = 3, 0.1, 20.0


class Kind(StrEnum):
    """Where the communities of a simulated network come from."""

    planted = "planted"
    model = "model"
    abcd = "abcd"


class Sizes(StrEnum):
    """How large planted communities are."""

    equal = "equal"
    powerlaw = "powerlaw"


class Degrees(StrEnum):
    """How unequal nodes are."""

    equal = "equal"
    gamma = "gamma"
    powerlaw = "powerlaw"


def simulate(
    nodes: Annotated[int, typer.Option("-n", "--nodes", help="Number of nodes.", show_default=False)],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write to.", show_default=False)
    ],
    communities: Annotated[
        int | None,
        typer.Option(
            "-k",
            "--communities",
            help="planted, model: number of communities; there is no default, and abcd takes none.",
            show_default=False,
        ),
    ] = None,
    degree: Annotated[
        float | None, typer.Option(help="planted, model: expected links of a node; 20 by default.")
    ] = None,
    degrees: Annotated[
        Degrees | None,
        typer.Option(
            help="planted, model: popularities of the nodes: all equal (the default), from the prior of the popularity "
            "model, or with a power law."
        ),
    ] = None,
    directed: Annotated[
        bool,
        typer.Option(
            "--directed", help="planted: links from one node to another; --degree counts those of a sender."
        ),
    ] = False,
    bipartite: Annotated[
        bool,
        typer.Option(
            "--bipartite", help="planted: two kinds of nodes, as many of each, and links between them."
        ),
    ] = False,
    weights: Annotated[
        WeightLaw | None,
        typer.Option(help="model, with --degrees gamma or powerlaw: weights of links; none by default."),
    ] = None,
    seed: Seed = 0,
    kind: Annotated[
        Kind,
        typer.Option(
            help="Every node in a few known communities; memberships drawn from the model's prior; or the benchmark "
            "ABCD+o2, with power-law degrees and sizes, outliers and noise."
        ),
    ] = Kind.planted,
    overlap: Annotated[
        int | None,
        typer.Option(metavar="M", help=f"planted: most communities of a node; {MOST_OVERLAP} by default."),
    ] = None,
    mixing: Annotated[
        float | None,
        typer.Option(help=f"planted, abcd: share of links between communities; {MIXING} by default."),
    ] = None,
    sizes: Annotated[
        Sizes | None, typer.Option(help="planted: sizes of communities; equal by default.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="model: concentration of memberships; 1/K by default.")
    ] = None,
    memberships: Annotated[
        float | None, typer.Option(help="abcd: communities of a node on average; 1.25 by default.")
    ] = None,
    outliers: Annotated[
        int | None, typer.Option(help="abcd: nodes in no community; none by default.")
    ] = None,
    compress: Annotated[bool, typer.Option("--compress", help="Write edges.txt.gz.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a network in DIR.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a summary.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing.")] = False,
) -> None:
    """Make a network whose communities are known.

    Writes edges.txt, communities.txt (the truth), memberships.tsv and
    parameters.json.

    \b
      blockmix simulate -n 1000 -k 10 --degree 20 --seed 1 -o made
      blockmix fit made/edges.txt -k 10 -o made/run
      blockmix evaluate made/run --truth made/communities.txt
      blockmix simulate -n 1000 -k 10 --degrees powerlaw -o hubs
    """
    law: Any = (degrees or Degrees.equal).value
    two_sides = {"directed": directed or None, "bipartite": bipartite or None}
    if kind is not Kind.planted:
        _refuse(kind, **two_sides)
    links = DEGREE if degree is None else degree
    if kind is Kind.abcd:
        fixed = {"communities": communities, "degree": degree, "degrees": degrees}
        _refuse(kind, **fixed, weights=weights, overlap=overlap, sizes=sizes, alpha=alpha)
        made = _abcd(nodes, memberships, mixing, outliers, seed)
    elif communities is None:
        raise InputError("name the number of communities with -k")
    elif kind is Kind.planted:
        _refuse(kind, weights=weights, alpha=alpha, memberships=memberships, outliers=outliers)
        options = {
            "degree": links,
            "degrees": law,
            "seed": seed,
            "directed": directed,
            "bipartite": bipartite,
        }
        made = _planted(nodes, communities, overlap, mixing, sizes or Sizes.equal, **options)
    else:
        _refuse(kind, overlap=overlap, mixing=mixing, sizes=sizes, memberships=memberships, outliers=outliers)
        from blockmix.generators.simulate import simulate as draw

        made = draw(nodes, communities, degree=links, degrees=law, alpha=alpha, seed=seed,
                    weights=None if weights is None else weights.value)  # fmt: skip
    made.save(output, compress=compress, overwrite=overwrite)
    graph = made.graph
    if as_json:
        sizes_of = {"nodes": graph.n_nodes, "edges": graph.n_edges, "background": made.background}
        print_json({**made.parameters, **sizes_of, "output": str(output)})
    elif not quiet:
        name = "edges.txt.gz" if compress else "edges.txt"
        network = f"{graph.n_nodes:,} nodes, {graph.n_edges:,} links"
        if graph.sides is not None:
            network = graph.sides.in_words(graph.n_nodes, graph.n_edges)
        print(f"{network}, {made.memberships.shape[1]:,} communities")
        print(f"Written to {output}: {name}, communities.txt, memberships.tsv, parameters.json")


def _planted(
    nodes: int, communities: int, overlap: int | None, mixing: float | None, sizes: Sizes, **options: Any
) -> Simulated:
    from blockmix.generators.planted import planted

    most = min(MOST_OVERLAP, communities) if overlap is None else overlap
    share = MIXING if mixing is None else mixing
    return planted(nodes, communities, overlap=(1, most), mixing=share, sizes=sizes.value, **options)


def _abcd(
    nodes: int, memberships: float | None, mixing: float | None, outliers: int | None, seed: int
) -> Simulated:
    from blockmix.generators.abcd import abcd

    return abcd(
        nodes, memberships=1.25 if memberships is None else memberships, noise=MIXING if mixing is None else mixing,
        outliers=outliers or 0, seed=seed,
    )  # fmt: skip


def _refuse(kind: Kind, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(f"--{name} does not go with --kind {kind.value}")


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show this one only.", show_default=False)
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download it, if it is not on this machine.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")] = False,
) -> None:
    """List known networks; blockmix fit dataset:NAME uses one.

    Networks are looked for in the folder that BLOCKMIX_DATA names, then in
    the cache of downloads.

    \b
      blockmix datasets                     all of them
      blockmix datasets netscience          where one comes from, and where it is
      blockmix datasets --fetch netscience  download it
    """
    from blockmix.graph.datasets.load import list_datasets, load_dataset
    from blockmix.graph.datasets.registry import find

    _check_folder()
    if name is None:
        if fetch:
            raise InputError("--fetch needs the name of a network; blockmix datasets lists them")
        entries = list_datasets()
    else:
        entries = (find(name),)
        if fetch:
            load_dataset(name)
    if as_json:
        print_json({"datasets": [asdict(entry) | {"path": _path(entry)} for entry in entries]})
    elif name is None:
        _print_table(entries)
    else:
        _print_entry(entries[0])


def _check_folder() -> None:
    from blockmix.graph.datasets.load import DATA_VARIABLE

    given = os.environ.get(DATA_VARIABLE)
    if given and not Path(given).is_dir():
        raise InputError(f"{DATA_VARIABLE} names {given}, which is not a folder; correct it or unset it")


def _path(entry: Dataset) -> str | None:
    """Return the path of a network on this machine, if it is there."""
    from blockmix.graph.datasets.load import dataset_path

    try:
        return str(dataset_path(entry.name))
    except InputError:
        return None


def _print_table(entries: tuple[Dataset, ...]) -> None:
    """Print one network a line, cut to the width of a terminal; `datasets NAME` shows a citation in full."""
    widest = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    name = max(len(entry.name) for entry in entries)
    print(f"{'name':{name}}  {'nodes':>10}  {'links':>13}  here  citation"[:widest])
    for entry in entries:
        here = "yes" if _path(entry) else "no"
        line = f"{entry.name:{name}}  {entry.nodes:>10,}  {entry.edges:>13,}  {here:4}  {entry.citation}"
        print(line[:widest])


def _print_entry(entry: Dataset) -> None:
    from blockmix.graph.datasets.load import by_hand

    place = _path(entry)
    truth = ", ".join(which or "communities" for which in entry.truth)
    print(f"{entry.name}: {entry.description}")
    print(f"  {entry.nodes:,} nodes, {entry.edges:,} links")
    print(f"  {entry.citation}")
    for source in entry.sources:
        print(f"  {source.address}")
    if truth:
        print(f"  known communities: {truth}")
    if entry.note:
        print(f"  {entry.note}")
    if place:
        print(f"  here: {place}\nblockmix fit dataset:{entry.name} -k 20")
    else:
        fetch = f"blockmix datasets --fetch {entry.name}, or " if entry.sources else ""
        print(f"  not on this machine: {fetch}{by_hand(entry)}")


_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def convert(
    edges: Edges,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to.", show_default=False)],
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="Memory to use beside about 250 MB for the program, as in 4G; a quarter of the machine's by default, "
            "at least 64M.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(metavar="T", help="Processors that parse; all by default.")
    ] = None,
    nodes: Nodes = None,
    format: Format = None,
    sep: Separator = None,
    header: Header = None,
    columns: Columns = None,
    weights: Weights = None,
    directed: Directed = False,
    bipartite: Bipartite = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a network saved in FOLDER.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a summary.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing.")] = False,
) -> None:
    """Save a network in the form that large runs use: a folder that is mapped
    into memory, not read.

    An edge list may be larger than memory: it is sorted in temporary files
    beside FOLDER, up to 32 bytes a link (60 and the text with text labels). With
    --nodes or --weights, and in other formats, it is read whole. FOLDER is
    written whole or not at all.

    \b
      blockmix convert edges.txt.gz network
      blockmix convert edges.txt network --memory 2G
      blockmix fit network -k 5000 -o run
    """
    from blockmix.graph.external.convert import convert as to_folder
    from blockmix.numerics.compiling import announce_compiling

    if folder.exists() and not overwrite:
        raise InputError(
            f"{folder}: exists; choose another name, or give --overwrite to replace a network there"
        )
    table: dict[str, Any] = table_options(format, sep, header, columns, weights, directed, bipartite)
    report = (lambda _: None) if quiet else warn
    with announce_compiling(report, "for reading", "a few seconds"):
        summary = to_folder(
            edges, folder, memory=_bytes(memory), nodes=nodes, threads=threads, report=report, **table
        )
    if as_json:
        print_json(asdict(summary) | {"output": str(folder)})
    elif not quiet:
        print(f"{summary}\nWritten to {folder}: {sum(f.stat().st_size for f in folder.iterdir()):,} bytes")


def _bytes(text: str | None) -> int | None:
    """Return the bytes that a text such as 4G names."""
    if text is None:
        return None
    unit = _UNITS.get(text[-1:].upper())
    digits = text if unit is None else text[:-1]
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise InputError(
            f"--memory {text}: give a whole number of bytes, or one with K, M, G or T behind it, as 4G"
        )
    return int(digits) << (unit or 0)
