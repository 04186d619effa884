"""Files of communities: one community a line, node labels separated by tabs or spaces, gzip if need be.

This is the format of the SNAP ground truth and of most peers' results. Lines that start with # are comments.
Text labels may hold spaces if the line has a tab: it is then split at tabs only.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError, readable
from blockmix.evaluate.incidence import Community, Cover, incidence, split
from blockmix.graph.labels import Labels

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, eq=False)
class CoverFile:
    """A file of communities as node numbers, and what of it is not in the network.

    `n_unknown` counts memberships whose label is no node of the network (isolated nodes are not in edge
    lists); `n_lost` counts communities dropped because all their labels are unknown.
    """

    communities: list[Community]
    n_unknown: int
    n_lost: int
    first_unknown: str | None


def read_covers(path: str | Path, labels: Labels) -> list[Community]:
    """Read the communities in a file as arrays of node numbers, without labels that are not in the network.

    `read_cover_file` also gives how many those were. Repeated communities are kept: see `unique_communities`.
    """
    return read_cover_file(path, labels).communities


def read_cover_file(path: str | Path, labels: Labels) -> CoverFile:
    """Read communities and count what is not in the network; a `GraphFormatError` names a bad line.

    A file of which no label at all is in the network is an error too: it belongs to another one.
    """
    tokens: list[str] = []
    sizes: list[int] = []
    for number, line in _lines(Path(path)):
        found = _tokens(line, labels.kind, path, number)
        if found:
            tokens += found
            sizes.append(len(found))
    nodes = _nodes(tokens, labels)
    known = nodes >= 0
    if tokens and not known.any():
        raise GraphFormatError(
            "no label in this file is a node of the network",
            path=path,
            text=tokens[0],
            remedy="Give the communities of this network, with labels as they are in its edge list.",
        )
    place = np.repeat(np.arange(len(sizes)), sizes)[known]
    kept = np.bincount(place, minlength=len(sizes))
    parts = np.split(nodes[known], np.cumsum(kept)[:-1]) if sizes else []
    return CoverFile(
        communities=split(incidence(parts)),
        n_unknown=int((~known).sum()),
        n_lost=int((kept == 0).sum()),
        first_unknown=None if known.all() else tokens[int(np.argmin(known))],
    )


def write_covers(path: str | Path, cover: Cover, labels: Labels) -> None:
    """Write one community a line, labels separated by tabs, gzipped if the name ends in .gz.

    Empty communities have no line. What is written is read back by `read_covers` as the same cover.
    """
    path = Path(path)
    matrix = incidence(cover, len(labels))
    names, ends = _names(matrix.indices, labels), matrix.indptr.tolist()
    lines = [_line(names[first:last]) for first, last in pairwise(ends)]
    text = "".join(lines).encode("utf-8")
    try:
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from None


def _names(nodes: NDArray[Any], labels: Labels) -> list[str]:
    """Return the labels of these nodes as text."""
    if labels.kind == "text":
        return [str(labels[node]) for node in nodes.tolist()]
    return [str(v) for v in (nodes if labels.integers is None else labels.integers[nodes]).tolist()]


def _line(names: list[str]) -> str:
    for name in names:
        if not name.strip() or any(mark in name for mark in "\t\n\r"):
            raise InputError(
                f"label {readable(name)} is blank or has a tab or line break, which a file of communities "
                "cannot hold; relabel the node"
            )
    line = "\t".join(names)
    # a tab at the end or start keeps a lone label with spaces whole, and a leading # from being a comment
    if len(names) == 1 and any(c.isspace() for c in line):
        line += "\t"
    return ("\t" if line.startswith("#") else "") + line + "\n"


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines that are neither blank nor comments, without line ends."""
    number = 0
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw
            for number, line in enumerate(stream, start=1):
                line = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
                line = line.rstrip(b"\r\n")
                if line.strip() and not line.startswith(b"#"):
                    yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise GraphFormatError(
            "the gzip data are damaged or cut short",
            path=path,
            line=number + 1,
            remedy="Fetch the file again.",
        ) from None
    except OSError as error:
        raise GraphFormatError(f"cannot be read ({error.strerror or error})", path=path) from None


def _tokens(line: bytes, kind: str, path: str | Path, number: int) -> list[str]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphFormatError(
            "not UTF-8 text", path=path, line=number, column=error.start + 1, text=line, remedy="Convert it."
        ) from None
    if kind == "text":
        parts = text.split("\t") if "\t" in text else text.split()
        return [part for part in parts if part.strip()]
    parts = text.split()
    for part in parts:
        if not (part.isascii() and part.removeprefix("-").isdigit()):
            raise GraphFormatError(
                "not an integer, while the labels of this network are integers",
                path=path,
                line=number,
                column=text.index(part) + 1,
                text=part,
                remedy="Write one community a line, node labels separated by tabs or spaces.",
            )
    return parts


def _nodes(tokens: list[str], labels: Labels) -> NDArray[np.int64]:
    """Return the node of every label, -1 for a label that is not in the network."""
    if labels.kind == "text":
        names = {str(label): node for node, label in enumerate(labels)}
        found = (names.get(t, names.get(t.strip(), -1)) for t in tokens)
        return np.fromiter(found, dtype=np.int64, count=len(tokens))
    values = [int(t) for t in tokens]
    fits = np.array([-(2**63) <= v < 2**63 for v in values], dtype=np.bool_)
    wanted = np.array([v if ok else 0 for v, ok in zip(values, fits, strict=True)], dtype=np.int64)
    if labels.integers is None:
        return np.where(fits & (wanted >= 0) & (wanted < labels.count), wanted, -1)
    order = np.argsort(labels.integers, kind="stable")
    ordered = labels.integers[order]
    place = np.minimum(np.searchsorted(ordered, wanted), labels.count - 1)
    return np.where(fits & (ordered[place] == wanted), order[place], -1)
