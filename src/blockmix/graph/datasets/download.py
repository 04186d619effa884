"""Downloads of known networks into the cache: to a temporary folder, checked, then moved into place.

A file that is cut short, does not have its checksum, cannot be read or has other counts than in the table
never reaches the cache. Every address of a network is tried before giving up.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from blockmix.errors import InputError
from blockmix.folders import remove_abandoned, scratch_folder
from blockmix.graph.datasets.load import by_hand, check_counts, read_covers, read_network
from blockmix.graph.datasets.registry import Dataset, Source
from blockmix.graph.graph import Graph
from blockmix.graph.reading.fetch import MOST_BYTES, Fetched, FetchError, fetch


class _BadCopyError(Exception):
    """A download that is not the file it should be."""


def fetch_network(entry: Dataset, cache: Path) -> Graph:
    """Download a network into the cache and return it."""
    if not entry.sources:
        raise InputError(f"{entry.name} cannot be downloaded: {entry.note} Instead, {by_hand(entry)}")

    read: list[Graph] = []

    def prepare(source: Source, folder: Path) -> str:
        name = f"edges.txt{_packed(source)}"
        if source.format == "gml":
            _download(source, folder / "network.gml", entry.name)
            _convert_gml(folder / "network.gml", folder)
        else:
            _download(source, folder / name, entry.name)
        read.append(read_network(folder / name))
        check_counts(entry, read[-1], folder / name)
        _say_check(entry, source, f"{entry.nodes:,} nodes and {entry.edges:,} links")
        return name

    _first_good(entry, entry.sources, cache, prepare)
    return read[-1]


def fetch_truth(entry: Dataset, which: str, source: Source, cache: Path) -> Path:
    """Download a ground truth into the cache and return its file."""

    def prepare(source: Source, folder: Path) -> str:
        name = f"communities{'_' if which else ''}{which}.txt{_packed(source)}"
        _download(source, folder / name, f"{entry.name} communities")
        covers = read_covers(folder / name)
        if not covers:
            raise _BadCopyError("the file lists no community")
        _say_check(entry, source, f"{len(covers):,} different communities that can be read")
        return name

    return _first_good(entry, (source,), cache, prepare)


def _first_good(
    entry: Dataset, sources: tuple[Source, ...], cache: Path, prepare: Callable[[Source, Path], str]
) -> Path:
    """Try every source in a temporary folder of the cache; move the first good copy into place."""
    target = cache / entry.name
    failures = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target, shutil.rmtree)
        for source in sources:
            with scratch_folder(target / "download") as folder:
                try:
                    name = prepare(source, folder)
                except FetchError as reason:
                    failures.append(f"{reason}.")
                except (_BadCopyError, InputError) as reason:
                    failures.append(
                        f"{source.address}: {_without_folder(str(reason), str(folder))} (removed)"
                    )
                else:
                    return _move(folder, target, name)
    except OSError as reason:
        raise InputError(f"{target}: cannot write the download here ({reason}); {by_hand(entry)}") from reason
    if not any(target.iterdir()):
        target.rmdir()
    raise InputError(f"{entry.name} could not be downloaded. {' '.join(failures)} Instead, {by_hand(entry)}")


def _packed(source: Source) -> str:
    return ".gz" if source.address.endswith(".gz") else ""


def _without_folder(words: str, folder: str) -> str:
    return words.replace(folder + os.sep, "").rstrip(".")


def _move(folder: Path, target: Path, name: str) -> Path:
    """Move what was prepared; the edge list last, since a network counts as present once it is there."""
    for file in sorted(folder.iterdir(), key=lambda path: path.name == name):
        os.replace(file, target / file.name)
    return target / name


def _download(source: Source, target: Path, title: str) -> None:
    """Write the file behind an address, with a progress bar, and check its length and checksum."""
    with target.open("wb") as out:
        found = _fetched(source, out, title)
    if source.size is not None and found.received != source.size:
        raise _BadCopyError(f"the file has {found.received:,} bytes, not the {source.size:,} of the table")
    if source.sha256 is not None and found.sha256 != source.sha256:
        raise _BadCopyError(
            f"the file is damaged or was changed: its SHA-256 is {found.sha256}, not {source.sha256}"
        )


def _fetched(source: Source, out: IO[bytes], title: str) -> Fetched:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=source.size)

        def show(received: int, promised: int | None) -> None:
            progress.update(task, completed=received, total=promised or source.size)

        return fetch(source.address, out, source.size or MOST_BYTES, show)


def _say_check(entry: Dataset, source: Source, counts: str) -> None:
    from rich.console import Console

    how = "by its SHA-256 and by its counts" if source.sha256 else "by its counts (no checksum is recorded)"
    Console(stderr=True, highlight=False).print(f"{entry.name}: checked {how}: {counts}", markup=False)


_GML_NODE = re.compile(r"\bnode\s*\[[^\]]*?\bid\s+(-?\d{1,18})\b")
_GML_EDGE = re.compile(r"\bedge\s*\[[^\]]*?\bsource\s+(-?\d{1,18})\s+target\s+(-?\d{1,18})\b")
# The largest GML network of the table has less than a megabyte; it is read into memory whole.
_MOST_GML = 64 << 20
_GML_TEXT = re.compile(r'"[^"]*"')


def _convert_gml(path: Path, folder: Path) -> None:
    """Write edges.txt, and isolated_nodes.txt if needed, from the node and edge records of a GML file."""
    if path.stat().st_size > _MOST_GML:
        raise _BadCopyError(f"this is not a GML network of the table: it has more than {_MOST_GML:,} bytes")
    text = _GML_TEXT.sub('""', path.read_text(encoding="utf-8", errors="replace"))
    nodes = {int(node) for node in _GML_NODE.findall(text)}
    edges = [(int(a), int(b)) for a, b in _GML_EDGE.findall(text)]
    path.unlink()
    if not edges:
        raise _BadCopyError("this is not a GML network: it has no edge records")
    np.savetxt(folder / "edges.txt", np.array(edges), fmt="%d")
    alone = sorted(nodes.difference(*edges))
    if alone:
        np.savetxt(folder / "isolated_nodes.txt", np.array(alone), fmt="%d")
