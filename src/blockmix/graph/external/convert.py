"""`convert`: a file of links to a saved network, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from blockmix.errors import InputError
from blockmix.files import (
    manifest_head,
    manifest_text,
    reason,
    seal,
)
from blockmix.folders import remove_abandoned, whole_folder
from blockmix.graph.build import node_dtype
from blockmix.graph.external.arrays import StoredArray, digests
from blockmix.graph.external.integers import Span, number_integers
from blockmix.graph.external.numbering import LABEL, MOST_PARTS, Nodes, Numbers
from blockmix.graph.external.rows import Counts, sorted_rows
from blockmix.graph.external.spill import Budget, Spill
from blockmix.graph.external.texts import TextNumbering
from blockmix.graph.labels import Labels
from blockmix.graph.reading.dialect import Column, Dialect
from blockmix.graph.reading.edge_list import (
    Listed,
    NotIntegersError,
    check_entries,
    check_size,
    facts_of,
    integer_blocks,
    text_blocks,
)
from blockmix.graph.reading.formats.detect import check_format
from blockmix.graph.reading.formats.doubts import FEWEST_LINKS, unknown_header
from blockmix.graph.reading.formats.label_doubts import MOST_COMPARED, ODD_WORDS, about_labels, odd_word
from blockmix.graph.reading.opening import FileLike
from blockmix.graph.reading.preamble import read_preamble
from blockmix.graph.reading.read import format_of, read_graph, threads_of
from blockmix.graph.reading.source import Source
from blockmix.graph.sides.making import chosen_kind
from blockmix.graph.storage import FORMAT, MANIFEST, VERSION, refuse_foreign
from blockmix.graph.summary import ReadSummary

# A quarter of the machine's memory by default, and never less than parsing and merging need.
SHARE, LEAST_MEMORY = 4, 64 << 20
# Memory of a machine that does not tell.
_UNKNOWN = 4 << 30
# A block of lines with what is parsed of it, and bytes of a table for a label, at most: for a guess at the parts.
_BLOCK, _LABEL = 40 << 20, 48
# What a compressed file unpacks to, in its own size; and bytes of the shortest label with its separator.
_UNPACKED, _SHORTEST = 10, 2
_FILES = {
    "offsets": np.int64, "neighbors": None, "label_integers": np.int64, "label_text": np.uint8,
    "label_offsets": np.int64,
}  # fmt: skip


def convert(
    path: FileLike,
    folder: str | os.PathLike[str],
    *,
    memory: int | None = None,
    nodes: Any = None,
    format: str | None = None,
    sep: str | None = None,
    header: bool | None = None,
    columns: Sequence[Column] | None = None,
    weights: Column | bool | None = None,
    directed: bool = False,
    bipartite: bool = False,
    threads: int | None = None,
    report: Callable[[str], None] | None = None,
) -> ReadSummary:
    """Write the network of a file to a folder, the same that `read_graph(path).save(folder)` writes.

    Edge lists are never in memory whole: what does not fit is sorted in temporary files beside the folder, up to 32
    bytes a link there (text labels: 60, and the text). Lists with weights, directions, two kinds of nodes or a table of
    nodes, and other formats, are read whole first; `report` says so. `Graph.load` opens the folder. It is written
    whole or not at all; an earlier network there is replaced.

    Arguments:
        path: an edge list, plain or compressed, or any other file that `read_graph` reads.
        folder: where the network is saved.
        memory: bytes that sorting, tables and parsing may take, beside about 250 MB for the program: at least 64 MiB,
            by default a quarter of the machine's.
        nodes, format, sep, header, columns, weights, directed, bipartite, threads: as `read_graph` takes them.
        report: is called with a line of text when a new step begins.
    """
    many = memory_of(memory)
    say = report or (lambda _: None)
    n_threads = min(threads_of(threads), max(many // (4 * _BLOCK), 1))
    target, chosen = Path(folder), check_format(format)
    dialect = Dialect.checked(sep, header, columns, weights)
    refuse_foreign(target)
    with Source(path) as source:
        kind = chosen or format_of(source, dialect)
        dialect_of = (
            _streamed(source, kind, dialect)
            if nodes is None and chosen_kind(directed, bipartite) is None
            else None
        )
        if dialect_of is not None:
            conversion = _Conversion(source, dialect_of, n_threads, Budget.of(many), say)
            return _whole(target, conversion.write)
    say("read whole: the memory for this is not bounded")
    graph = read_graph(
        path,
        nodes=nodes,
        format=format,
        sep=sep,
        header=header,
        columns=columns,
        weights=weights,
        directed=directed,
        bipartite=bipartite,
        threads=threads,
    )
    graph.save(target)
    assert graph.summary is not None
    return graph.summary


def memory_of(memory: int | None) -> int:
    """Return the bytes that a conversion may take: what was asked for, or a quarter of the machine's."""
    if memory is None:
        return max(machine_memory() // SHARE, LEAST_MEMORY)
    if isinstance(memory, bool) or not isinstance(memory, int | np.integer) or memory < LEAST_MEMORY:
        raise InputError(f"memory={memory!r}: give bytes, at least {LEAST_MEMORY:,} (--memory 64M)")
    return int(memory)


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or of the container that this process runs in."""
    found = []
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found, default=_UNKNOWN)


def _streamed(source: Source, kind: str, dialect: Dialect) -> Dialect | None:
    """Return how to read a file that is a list of links and can be streamed, else nothing."""
    if dialect.weights is not None:
        return None
    if kind == "edges":
        return dialect
    coordinates = b"coordinate" in source.head(200).split(b"\n")[0].lower()
    return Dialect() if kind == "matrix-market" and coordinates and not dialect.given else None


def _whole(target: Path, write: Callable[[Path], ReadSummary]) -> ReadSummary:
    """Write a folder whole or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.absolute().parent)
        with whole_folder(target.absolute()) as folder:
            return write(folder)
    except OSError as error:
        raise InputError(
            f"{target}: the network cannot be saved ({reason(error)}); a conversion needs up to 32 bytes a link on "
            "that disk beside the network, 60 with text labels. Free some, or choose another place"
        ) from error
    except MemoryError as error:
        raise InputError(f"{target}: {error}; allow more memory (--memory)") from error


class _Conversion:
    """One file on its way to one folder."""

    def __init__(
        self, source: Source, dialect: Dialect, threads: int, budget: Budget, say: Callable[[str], None]
    ) -> None:
        self.source, self.threads, self.budget, self.say = source, threads, budget, say
        self.top = read_preamble(source, dialect)
        self.header_unknown = dialect.header is None
        self.listed = Listed([], lines=self.top.lines)

    def write(self, folder: Path) -> ReadSummary:
        """Write all files of the network."""
        self.say("reading")
        try:
            nodes, counts = self._from_integers(folder)
        except NotIntegersError:
            self.top = self.top.as_text()
            self.listed = Listed([], lines=self.top.lines)
            nodes, counts = self._from_texts(folder)
        self.say("computing checksums")
        summary = self._summary(nodes, counts, folder)
        arrays = [
            StoredArray(path, _FILES[path.stem] or node_dtype(nodes.total)) for path in _written(folder)
        ]
        fingerprint = digests(arrays)
        manifest = manifest_head(FORMAT, VERSION) | {
            "nodes": nodes.total,
            "links": counts.links,
            "labels": nodes.kind,
            "weights": False,
            "fingerprint": fingerprint,
            "summary": asdict(summary),
            "attributes": [],
            "files": {array.path.stem: array.entry for array in arrays},
        }
        (folder / MANIFEST).write_text(manifest_text(seal(manifest)), "utf-8")
        return summary

    def _from_integers(self, folder: Path) -> tuple[Nodes, Counts]:
        size, lowest, highest = self.top.matrix_size, 2**63, -(2**63)
        with Spill(folder, self.budget.buffers) as raw:
            with closing(integer_blocks(self.source, self.top, self.threads, self.listed)) as blocks:
                for block in blocks:
                    if block.pairs is None or not len(block.pairs):
                        continue
                    if size is not None:
                        check_entries(self.source, size, block.pairs)
                    lowest = min(lowest, int(block.pairs.min()))
                    highest = max(highest, int(block.pairs.max()))
                    raw.append(LABEL, block.pairs.astype(np.int64, copy=False).reshape(-1))
            span = Span(lowest, highest)
            if size is not None:
                check_size(self.source, size, self.listed)
                span = Span(1, size, all_nodes=True)
            return self._sort(*number_integers(raw, span, folder, self.budget), folder)

    def _from_texts(self, folder: Path) -> tuple[Nodes, Counts]:
        parts = self._parts()
        with Spill(folder, self.budget.buffers, 4 * parts + 1) as spill:
            numbering = TextNumbering(spill, parts, self.budget)
            with closing(text_blocks(self.source, self.top, self.threads, self.listed)) as blocks:
                for block in blocks:
                    if block.buf is not None and block.spans is not None and block.hashes is not None:
                        numbering.add(block.buf, block.spans, block.hashes)
            self.say("numbering labels")
            return self._sort(*numbering.numbered(folder), folder)

    def _parts(self) -> int:
        """Return how many tables the labels are cut into: so many that each fits if all labels differ."""
        text = self.source.size * (1 if self.source.kind is None else _UNPACKED)
        return min(max(text * (1 + _LABEL // _SHORTEST) // self.budget.tables, 1), MOST_PARTS)

    def _sort(self, nodes: Nodes, ends: Iterator[Numbers], folder: Path) -> tuple[Nodes, Counts]:
        self.say(f"sorting {self.listed.records:,} links")
        return nodes, sorted_rows(folder, ends, nodes.total, self.budget.sorting)

    def _summary(self, nodes: Nodes, counts: Counts, folder: Path) -> ReadSummary:
        facts = facts_of(self.source, self.top, self.listed, nodes.total, nodes.control)
        if nodes.kind == "text":
            facts["notes"] += self._doubts(nodes, counts, folder)
        return ReadSummary(source=self.source.name, nodes=nodes.total, **counts._asdict(), **facts)

    def _doubts(self, nodes: Nodes, counts: Counts, folder: Path) -> tuple[str, ...]:
        """Return the remarks of `with_doubts`, from the files."""
        offsets = StoredArray(folder / "offsets.npy", np.int64)
        notes = []
        if self.header_unknown and self.top.header is None and counts.links >= FEWEST_LINKS:
            first = StoredArray(folder / "neighbors.npy", node_dtype(nodes.total)).some(0, 1)
            if offsets.some(0, 3).tolist() == [0, 1, 2] and first[0] == 1:
                notes.append(unknown_header(*map(str, _labels(folder, 2))))
        for word, node in sorted(nodes.odd_words, key=lambda found: ODD_WORDS.index(found[0])):
            begin, end = offsets.some(node, 2).tolist()
            notes.append(odd_word(word, end - begin))
        if nodes.total <= MOST_COMPARED:
            notes += about_labels(_labels(folder, nodes.total))
        return tuple(notes)


def _labels(folder: Path, count: int) -> Labels:
    """Return the first text labels."""
    ends = StoredArray(folder / "label_offsets.npy", np.int64).some(0, count + 1)
    text = StoredArray(folder / "label_text.npy", np.uint8).some(0, int(ends[-1]))
    return Labels(count, text=text, text_offsets=ends)


def _written(folder: Path) -> list[Path]:
    """Return the files of arrays in the order of a fingerprint."""
    return [path for path in (folder / f"{name}.npy" for name in _FILES) if path.exists()]
