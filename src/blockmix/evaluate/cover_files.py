"""Files of communities, in one of two layouts, plain or compressed.

One community a line, node labels separated by tabs or spaces: the format of the SNAP ground truth and of most peers'
results. Text labels may hold spaces if the line has a tab: it is then split at tabs only. Or a node and its group a
line, as tables have it. Lines that start with # are comments.
"""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, InputError, readable
from blockmix.evaluate.incidence import Community, Cover, incidence, incidence_of, split
from blockmix.graph.labels import Labels
from blockmix.graph.reading.compression import BESIDE
from blockmix.graph.reading.source import Source

LAYOUTS = ("auto", "communities", "nodes")
# A community of a hundred million nodes.
LONGEST_COMMUNITY = 1 << 30
# More digits are no label of any network; Python itself refuses some thousands.
_MOST_DIGITS = 100
# No label or name of a group has more characters.
_LONGEST_FIELD = 100_000
# Lines that are looked up at once.
_ROWS_AT_ONCE = 4096
# The number of a line, the line, and its fields; what turns labels into nodes.
_Row = tuple[int, bytes, list[str]]
_Finder = Callable[[list[str]], NDArray[np.int64]]
_NODE_NAMES = {"node", "id", "node_id", "name", "label", "vertex", "user"}
_GROUP_NAMES = {
    "group",
    "community",
    "cluster",
    "class",
    "block",
    "module",
    "department",
    "label",
    "type",
    "team",
}


@dataclass(frozen=True, eq=False)
class CoverFile:
    """A file of communities as node numbers, and what of it is not in the network.

    `n_unknown` counts memberships whose label is no node of the network (isolated nodes are not in edge
    lists); `n_lost` counts communities dropped because all their labels are unknown. `layout` is how the file was read.
    """

    communities: list[Community]
    n_unknown: int
    n_lost: int
    first_unknown: str | None
    layout: str = "communities"


def read_covers(path: str | Path, labels: Labels, layout: str = "auto") -> list[Community]:
    """Read the communities in a file as arrays of node numbers, without labels that are not in the network.

    `read_cover_file` also gives how many those were. Repeated communities are kept: see `unique_communities`.
    """
    return read_cover_file(path, labels, layout).communities


def read_cover_file(path: str | Path, labels: Labels, layout: str = "auto") -> CoverFile:
    """Read communities and count what is not in the network; a `GraphFormatError` names a bad line.

    `layout` is "communities" for a community a line, "nodes" for a node and its group a line (a node in several groups
    has several lines), or "auto" to find out. A file of which no label at all is in the
    network is an error: it belongs to another one.
    """
    if layout not in LAYOUTS:
        raise InputError(f"layout={layout!r:.60}: layouts are {', '.join(LAYOUTS)}")
    find = _finder(labels)
    with Source(path, allow_empty=True, bounds=BESIDE) as source:
        if layout == "auto":
            with closing(_batches(source, path)) as batches:
                layout = "nodes" if _lists_nodes(batches, labels, find) else "communities"
        members = _Members(find)
        take = _by_node if layout == "nodes" else _by_community
        count = take(path, _batches(source, path), labels, members)
    if members.first is not None and not members.known:
        raise GraphFormatError(
            "no label in this file is a node of the network",
            path=path,
            text=members.first,
            remedy="Give the communities of this network, with labels as they are in its edge list.",
        )
    nodes, place = members.arrays()
    order = np.argsort(place, kind="stable")
    kept = np.bincount(place, minlength=count)
    return CoverFile(
        communities=split(incidence_of(nodes[order], kept, len(labels))),
        n_unknown=members.unknown,
        n_lost=int((kept == 0).sum()),
        first_unknown=members.first_unknown,
        layout=layout,
    )


class _Members:
    """Which node is in which community: labels are looked up as they come, and only numbers are kept."""

    def __init__(self, find: _Finder) -> None:
        self._find = find
        self._nodes: list[NDArray[np.int64]] = []
        self._places: list[NDArray[np.int64]] = []
        self.known = self.unknown = 0
        self.first: str | None = None
        self.first_unknown: str | None = None

    def add(self, tokens: list[str], places: NDArray[np.int64]) -> None:
        """Add labels, each with the number of its community."""
        if not tokens:
            return
        nodes = self._find(tokens)
        known = nodes >= 0
        self.first = tokens[0] if self.first is None else self.first
        if self.first_unknown is None and not known.all():
            self.first_unknown = tokens[int(np.argmin(known))]
        self.known += int(known.sum())
        self.unknown += int((~known).sum())
        self._nodes.append(nodes[known])
        self._places.append(places[known])

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all nodes that were found, and the communities that they are in."""
        none = np.empty(0, dtype=np.int64)
        return np.concatenate([none, *self._nodes]), np.concatenate([none, *self._places])


def _lists_nodes(batches: Iterator[list[_Row]], labels: Labels, find: _Finder) -> bool:
    """Return whether lines are a node and its group rather than the members of a community.

    Every line must have two fields. Then a header that names a node and a group decides, or second fields that are no
    nodes where the first ones are, or groups with at least three lines each on average, fewer than the nodes.
    """
    header, lines, known = False, 0, np.zeros(2)
    # Python's hashes of text are keyed: two labels with the same one are as good as never met.
    hashes = [array("q"), array("q")]
    for rows in batches:
        if any(len(fields) != 2 for _, _, fields in rows):
            return False
        header |= lines == 0 and _is_header(rows[0][2])
        lines += len(rows)
        for side in (0, 1):
            tokens = [fields[side] for _, _, fields in rows]
            known[side] += (_nodes_or_missing(tokens, labels, find) >= 0).sum()
            hashes[side].extend(map(hash, tokens))
    if header or not lines or known[0] <= 0.5 * lines:
        return header
    if known[1] < 0.5 * lines:
        return True
    nodes, groups = (len(np.unique(np.frombuffer(found, dtype=np.int64))) for found in hashes)
    return 3 * groups <= lines and groups < nodes


def _is_header(fields: list[str]) -> bool:
    words = [field.strip().strip('"').lower() for field in fields]
    return len(words) == 2 and words[0] in _NODE_NAMES and words[1] in _GROUP_NAMES


def _by_node(path: str | Path, batches: Iterator[list[_Row]], labels: Labels, members: _Members) -> int:
    """Add the label of every line to its group, numbered by first appearance; return how many groups there are."""
    groups: dict[str, int] = {}
    first = True
    for rows in batches:
        if first and _is_header(rows[0][2]):
            rows = rows[1:]
        first = False
        tokens, places = [], []
        for number, line, fields in rows:
            if len(fields) != 2:
                raise GraphFormatError(
                    f"a line must name a node and its group, and this one has {len(fields)} fields",
                    path=path,
                    line=number,
                    text=line,
                    remedy="Separate the two by a tab; a node in several groups has several lines.",
                )
            if labels.kind != "text":
                _check_integer(path, number, line, fields[0])
            if len(fields[1]) > _MOST_DIGITS and fields[1].isdigit():
                _check_integer(path, number, line, fields[1])
            tokens.append(fields[0])
            places.append(groups.setdefault(fields[1], len(groups)))
        members.add(tokens, np.array(places, dtype=np.int64))
    return len(groups)


def _by_community(path: str | Path, batches: Iterator[list[_Row]], labels: Labels, members: _Members) -> int:
    """Add the labels of every line to a community of its own; return how many lines there are."""
    count = 0
    for rows in batches:
        listed = [_community(path, number, line, labels.kind) for number, line, _ in rows]
        places = np.repeat(np.arange(count, count + len(listed)), [len(tokens) for tokens in listed])
        members.add([label for tokens in listed for label in tokens], places)
        count += len(listed)
    return count


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


def _batches(source: Source, path: str | Path) -> Generator[list[_Row], None, None]:
    """Yield (line number, line, fields) of the lines that are neither blank nor comments, some at once.

    A line with a tab is split at tabs, one with a comma or semicolon and no blank at these, any other at blanks.
    """
    rows: list[_Row] = []
    for number, line in source.lines(LONGEST_COMMUNITY):
        if not line.strip(b" \t") or line.startswith(b"#"):
            continue
        if b"\r" in line:
            raise GraphFormatError(
                "a carriage return inside a line",
                path=path,
                line=number,
                column=line.index(b"\r") + 1,
                text=line,
                remedy="End lines with LF or CRLF, for instance with the tool mac2unix.",
            )
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise GraphFormatError(
                "not UTF-8 text", path=path, line=number, column=error.start + 1, text=line,
                remedy="Convert it to UTF-8.",
            ) from None  # fmt: skip
        fields = _split(text)
        if len(line) > _LONGEST_FIELD and max(map(len, fields)) > _LONGEST_FIELD:
            raise GraphFormatError(
                f"a field of {max(map(len, fields)):,} characters is neither a node nor a group",
                path=path,
                line=number,
                text=line,
                remedy="Separate node labels by tabs or spaces.",
            )
        rows.append((number, line, fields))
        if len(rows) == _ROWS_AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows


def _split(text: str) -> list[str]:
    mark = "\t" if "\t" in text else None
    if mark is None and " " not in text.strip():
        mark = next((c for c in ",;" if c in text), None)
    parts = text.split(mark) if mark is not None else text.split(" ")
    return [part for part in parts if part.strip()]


def _community(path: str | Path, number: int, line: bytes, kind: str) -> list[str]:
    """Return the labels on a line of a community."""
    text = line.decode("utf-8")
    if kind == "text":
        parts = text.split("\t") if "\t" in text else text.split()
        return [part for part in parts if part.strip()]
    parts = text.split()
    for part in parts:
        _check_integer(path, number, line, part)
    return parts


def _check_integer(path: str | Path, number: int, line: bytes, part: str) -> None:
    if part.isascii() and part.removeprefix("-").isdigit():
        if len(part) <= _MOST_DIGITS:
            return
        problem = f"a number of {len(part):,} digits is neither a node nor a group"
    else:
        problem = "not an integer, while the labels of this network are integers"
    raise GraphFormatError(
        problem,
        path=path,
        line=number,
        column=line.decode("utf-8").index(part) + 1,
        text=part,
        remedy="Write one community a line, node labels separated by tabs or spaces, or a node and its group a line.",
    )


def _nodes_or_missing(tokens: list[str], labels: Labels, find: _Finder) -> NDArray[np.int64]:
    """Return the node of every label, -1 also where a label is not spelled like one of this network."""
    if labels.kind == "text":
        return find(tokens)
    spelled = [t.isascii() and t.removeprefix("-").isdigit() and len(t) <= _MOST_DIGITS for t in tokens]
    found = np.full(len(tokens), -1, dtype=np.int64)
    found[spelled] = find([t for t, ok in zip(tokens, spelled, strict=True) if ok])
    return found


def _finder(labels: Labels) -> _Finder:
    """Return what gives the node of every label, -1 for a label that is not in the network."""
    if labels.kind == "text":
        names = {str(label): node for node, label in enumerate(labels)}

        def of_text(tokens: list[str]) -> NDArray[np.int64]:
            found = (names.get(t, names.get(t.strip(), -1)) for t in tokens)
            return np.fromiter(found, dtype=np.int64, count=len(tokens))

        return of_text
    integers = labels.integers
    order = None if integers is None else np.argsort(integers, kind="stable")
    ordered = None if integers is None else integers[order]

    def of_integers(tokens: list[str]) -> NDArray[np.int64]:
        values = [int(t) for t in tokens]
        fits = np.array([-(2**63) <= v < 2**63 for v in values], dtype=np.bool_)
        wanted = np.array([v if ok else 0 for v, ok in zip(values, fits, strict=True)], dtype=np.int64)
        if order is None or ordered is None:
            return np.where(fits & (wanted >= 0) & (wanted < labels.count), wanted, -1)
        place = np.minimum(np.searchsorted(ordered, wanted), labels.count - 1)
        return np.where(fits & (ordered[place] == wanted), order[place], -1)

    return of_integers
