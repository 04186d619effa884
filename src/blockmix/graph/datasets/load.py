"""Known networks by name: from the folder BLOCKMIX_DATA, from the user's cache, or downloaded into the cache.

Both folders have the same layout: NAME/edges.txt.gz (or edges.txt), NAME/isolated_nodes.txt where there are
nodes without a link, NAME/communities*.txt.gz (or .txt) where a ground truth is known.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.datasets.registry import REGISTRY, Dataset, find
from blockmix.graph.graph import Graph

DATA_VARIABLE = "BLOCKMIX_DATA"
# A community of a hundred million nodes.
LONGEST_COMMUNITY = 1 << 30


def list_datasets() -> tuple[Dataset, ...]:
    """Return every known network, in the order of the table.

    >>> any(entry.name == "karate" for entry in list_datasets())
    True
    """
    return tuple(REGISTRY.values())


def load_dataset(name: str, *, download: bool = True) -> Graph:
    """Load a known network, with the node ids of its source as labels; download it if needed.

    Its node and link counts are checked against the table whenever it is read. `download=False` uses no
    network connection.
    """
    entry = find(name)
    path = _edge_file(entry)
    if path is None:
        if not download:
            raise InputError(f"{entry.name} is not on this machine; {by_hand(entry)}")
        from blockmix.graph.datasets.download import fetch_network

        return fetch_network(entry, cache_folder())
    graph = read_network(path)
    check_counts(entry, graph, path)
    return graph


def dataset_path(name: str) -> Path:
    """Return the edge list of a known network on this machine, or raise an `InputError` with the remedy."""
    entry = find(name)
    path = _edge_file(entry)
    if path is None:
        raise InputError(f"{entry.name} is not on this machine; {by_hand(entry)}")
    return path


def load_truth(name: str, which: str | None = None, *, download: bool = True) -> list[NDArray[np.int64]]:
    """Load the ground-truth communities of a known network: for each, the labels of its nodes.

    `which` chooses where there are several ("top5000", "all"); the first in the table when not given.
    Communities listed more than once in the file are returned once. `graph.labels.indices(cover)` turns
    labels into node numbers.
    """
    entry = find(name)
    if not entry.truth:
        raise InputError(f"no ground truth is known for {entry.name}")
    which = entry.truth[0] if which is None else which
    if which not in entry.truth:
        raise InputError(
            f"which={which!r}: {entry.name} has the ground truths {', '.join(map(repr, entry.truth))}"
        )
    path = _existing(entry, f"communities_{which}.txt" if which else "communities.txt")
    if path is None:
        source = dict(entry.truth_sources).get(which)
        if source is None or not download:
            raise InputError(f"the ground truth of {entry.name} is not on this machine; {by_hand(entry)}")
        from blockmix.graph.datasets.download import fetch_truth

        path = fetch_truth(entry, which, source, cache_folder())
    return read_covers(path)


def cache_folder() -> Path:
    """Return where downloaded networks are kept: the cache folder of the user, by the rules of the system."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        return Path(base) / "blockmix" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "blockmix"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "blockmix"


def by_hand(entry: Dataset) -> str:
    """Describe the two ways to provide a network without a download."""
    place = cache_folder() / entry.name / "edges.txt.gz"
    source = f" (from {entry.sources[0].address})" if entry.sources else ""
    return (
        f"set {DATA_VARIABLE} to a folder that holds {entry.name}/edges.txt.gz, "
        f"or put the edge list{source} at {place}"
    )


def read_network(path: Path) -> Graph:
    """Read the network of an edge list, and of the isolated nodes listed beside it."""
    from blockmix.graph.reading.read import read_graph

    beside = path.parent / "isolated_nodes.txt"
    return read_graph(path, nodes=beside if beside.exists() else None)


def check_counts(entry: Dataset, graph: Graph, path: Path) -> None:
    """Refuse a file that is not the network of the table."""
    if (graph.n_nodes, graph.n_edges) != (entry.nodes, entry.edges):
        raise GraphFormatError(
            f"this is not {entry.name}: it has {graph.n_nodes:,} nodes and {graph.n_edges:,} links, "
            f"not {entry.nodes:,} and {entry.edges:,}",
            path=path,
            remedy="Replace the file by a whole copy.",
        )


def read_covers(path: Path) -> list[NDArray[np.int64]]:
    """Read communities of integer labels, one per line, without comments (#) and repeated communities."""
    from blockmix.graph.reading.source import Source

    covers: dict[bytes, NDArray[np.int64]] = {}
    with Source(path) as source:
        for number, line in source.lines(LONGEST_COMMUNITY):
            if line.strip() and not line.startswith(b"#"):
                cover = _cover(line, path, number)
                covers.setdefault(cover.tobytes(), cover)
    return list(covers.values())


def _cover(line: bytes, path: Path, number: int) -> NDArray[np.int64]:
    try:
        return np.unique(np.array([int(part) for part in line.split()], dtype=np.int64))
    except (ValueError, OverflowError):
        raise GraphFormatError(
            "a community has to be a line of integer labels", path=path, line=number, text=line
        ) from None


def _edge_file(entry: Dataset) -> Path | None:
    return _existing(entry, "edges.txt")


def _existing(entry: Dataset, file: str) -> Path | None:
    """Return the file in BLOCKMIX_DATA or in the cache, compressed or not; None when it is in neither."""
    folders = [cache_folder()]
    given = os.environ.get(DATA_VARIABLE)
    if given:
        if not Path(given).is_dir():
            raise InputError(f"{DATA_VARIABLE} names {given}, which is not a folder; correct it or unset it")
        folders.insert(0, Path(given))
    for folder in folders:
        for name in (f"{file}.gz", file):
            if (folder / entry.name / name).is_file():
                return folder / entry.name / name
    return None
