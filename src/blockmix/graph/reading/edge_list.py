"""Edge lists: text into numbered links, on many threads, or one error that names the line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import GraphFormatError, readable
from blockmix.graph.build import node_dtype
from blockmix.graph.edges import assemble
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.graph.reading import parser
from blockmix.graph.reading.columns import pick_columns
from blockmix.graph.reading.dialect import Dialect
from blockmix.graph.reading.formats.problems import PROBLEMS
from blockmix.graph.reading.intern import Interner
from blockmix.graph.reading.preamble import Preamble, read_preamble
from blockmix.graph.reading.source import Bytes, Source
from blockmix.graph.relabel import number_integers
from blockmix.numerics.hashing import KEY

_INT32 = np.iinfo(np.int32)
# A Matrix Market file may declare more nodes than it lists, but within limits: a damaged size line
# must not ask for all memory.
_DECLARED_PER_RECORD = 100
_ALWAYS_DECLARED = 10_000_000
_TEXTS_AT_ONCE = 1 << 16


def read_edge_list(source: Source, dialect: Dialect, isolated: NDArray[Any] | None, threads: int) -> Graph:
    """Read the links of an edge list; `isolated` are labels of nodes that may have no link."""
    top = read_preamble(source, dialect)
    listed = _read_integers(source, top, threads)
    if listed is None:
        top = top.as_text()
    if listed is not None and (isolated is None or isolated.dtype.kind == "i"):
        chunks, labels = _number(source, top, listed, isolated)
    else:
        listed, labels = _read_texts(source, top, isolated, threads)
        chunks = listed.chunks
    return assemble(
        chunks,
        labels,
        threads=threads,
        weights=listed.weights if top.weighted else None,
        kind=dialect.kind,
        source=source.name,
        **facts_of(source, top, listed, len(labels), labels.with_control()),
    )


def facts_of(source: Source, top: Preamble, listed: Listed, nodes: int, odd: str | None) -> dict[str, Any]:
    """Return what the summary says of a file; `odd` is the first label with a control character."""
    return {
        "records": listed.records,
        "extra_columns": listed.extra,
        "ignored_columns": top.ignored if listed.extra else (),
        "header": top.header,
        "declared_nodes": top.declared_nodes,
        "declared_edges": top.declared_edges,
        "notes": (*source.notes, *_notes(top, listed, nodes, odd)),
    }


@dataclass
class Listed:
    """The links of a file as they were listed."""

    chunks: list[NDArray[Any]]
    weights: list[NDArray[np.float64]] = field(default_factory=list)
    records: int = 0
    lines: int = 0
    extra: int = 0

    def add(self, block: Block) -> None:
        """Count a block, and keep its weights."""
        if block.weights is not None and block.records:
            self.weights.append(block.weights)
        self.records += block.records
        self.lines += block.lines
        self.extra += block.extra


class Block(NamedTuple):
    """What a block of lines gave; `column` and `found` describe the first thing wrong with it."""

    status: int
    records: int
    lines: int
    extra: int
    pairs: NDArray[Any] | None = None
    buf: Bytes | None = None
    spans: NDArray[np.int64] | None = None
    hashes: NDArray[np.uint64] | None = None
    column: int = 0
    found: bytes = b""
    weights: NDArray[np.float64] | None = None


def _in_order(
    loads: Generator[Callable[[], Bytes], None, None], parse: Callable[[Bytes], Block], threads: int
) -> Generator[Block, None, None]:
    """Parse blocks on many threads, a bounded number ahead, and give the results in file order."""
    if threads == 1:
        with closing(loads):
            for load in loads:
                yield parse(load())
        return
    with closing(loads), ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Block]] = deque()
        try:
            for load in loads:
                ahead.append(pool.submit(lambda load=load: parse(load())))  # type: ignore[misc]
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for waiting in ahead:
                waiting.cancel()


class NotIntegersError(Exception):
    """A label is not an integer, so that all labels are text."""


def integer_blocks(
    source: Source, top: Preamble, threads: int, listed: Listed
) -> Generator[Block, None, None]:
    """Yield the links as pairs of integers, block by block, and count them in `listed`."""

    def parse(buf: Bytes) -> Block:
        return _parse_integers(buf, top)

    with closing(_in_order(source.blocks(top.begin), parse, threads)) as blocks:
        for block in blocks:
            if block.status == parser.NOT_INTEGER and top.matrix_size is None:
                raise NotIntegersError
            listed.add(block)
            _refuse(source, block, listed.lines)
            yield block
    if listed.records == 0 and top.header is not None:
        raise NotIntegersError
    _require_links(source, listed)


def _read_integers(source: Source, top: Preamble, threads: int) -> Listed | None:
    """Read the links as integers; return None where a label is not an integer and all must be text."""
    listed = Listed([], lines=top.lines)
    try:
        with closing(integer_blocks(source, top, threads, listed)) as blocks:
            listed.chunks.extend(b.pairs for b in blocks if b.pairs is not None and len(b.pairs))
    except NotIntegersError:
        return None
    return listed


def _parse_integers(original: Bytes, top: Preamble) -> Block:
    buf, extra, wrong, weights = _picked(original, top)
    if wrong is not None:
        return wrong
    pairs = np.empty((_most_records(buf), 2), dtype=np.int64)
    status, records, lines, more, line, place = parser.parse_integers(buf, len(buf), top.integer_rule, pairs)
    extra = more if top.pick is None else extra
    if status != parser.OK:
        return _wrong(status, records, lines, extra, buf, line, place, None if buf is original else original)
    pairs = pairs[:records]
    narrow = records and pairs.min() >= _INT32.min and pairs.max() <= _INT32.max
    found = pairs.astype(np.int32 if narrow else np.int64)
    return Block(status, records, lines, extra, found, weights=weights)


def text_blocks(source: Source, top: Preamble, threads: int, listed: Listed) -> Generator[Block, None, None]:
    """Yield the links as places of text labels in a buffer, block by block, and count them in `listed`."""

    def parse(buf: Bytes) -> Block:
        return _parse_texts(buf, top)

    with closing(_in_order(source.blocks(top.begin), parse, threads)) as blocks:
        for block in blocks:
            listed.add(block)
            _refuse(source, block, listed.lines)
            yield block
    _require_links(source, listed)


def _read_texts(
    source: Source, top: Preamble, isolated: NDArray[Any] | None, threads: int
) -> tuple[Listed, Labels]:
    """Read the links as numbers of text labels, numbered by first appearance."""
    listed = Listed([], lines=top.lines)
    table = Interner()
    with closing(text_blocks(source, top, threads, listed)) as blocks:
        for block in blocks:
            if block.buf is not None and block.spans is not None and block.hashes is not None:
                numbers = table.add(block.buf, block.spans, block.hashes)
                listed.chunks.append(numbers.astype(node_dtype(table.used)).reshape(-1, 2))
    if top.matrix_size is not None:
        check_size(source, top.matrix_size, listed)
        for first in range(1, top.matrix_size + 1, _TEXTS_AT_ONCE):
            table.add_texts([str(i) for i in range(first, min(first + _TEXTS_AT_ONCE, top.matrix_size + 1))])
    if isolated is not None:
        table.add_texts([str(label) for label in isolated.tolist()])
    return listed, table.labels()


def _parse_texts(original: Bytes, top: Preamble) -> Block:
    buf, extra, wrong, weights = _picked(original, top)
    if wrong is not None:
        return wrong
    most = _most_records(buf)
    spans = np.empty((2 * most, 2), dtype=np.int64)
    hashes = np.empty(2 * most, dtype=np.uint64)
    status, records, lines, more, line, place = parser.parse_texts(
        buf, len(buf), top.picked_separator, KEY, spans, hashes
    )
    extra = more if top.pick is None else extra
    if status != parser.OK:
        return _wrong(status, records, lines, extra, buf, line, place, None if buf is original else original)
    return Block(
        status, records, lines, extra, buf=buf, spans=spans[: 2 * records], hashes=hashes[: 2 * records],
        weights=weights,
    )  # fmt: skip


def _most_records(buf: Bytes) -> int:
    """Return how many links a block has at most: one a line."""
    return int(np.count_nonzero(buf == ord("\n"))) + 1


def _number(
    source: Source, top: Preamble, listed: Listed, isolated: NDArray[Any] | None
) -> tuple[list[NDArray[Any]], Labels]:
    """Assign numbers to integer labels; a Matrix Market file names all its nodes, linked or not."""
    size = top.matrix_size
    if size is not None:
        _check_matrix(source, size, listed)
        declared = np.arange(1, size + 1)
        isolated = declared if isolated is None else np.concatenate((declared, isolated))
    return number_integers(listed.chunks, isolated)


def check_size(source: Source, size: int, listed: Listed) -> None:
    """Refuse a size line that declares far more nodes than there are entries."""
    if size > _ALWAYS_DECLARED + _DECLARED_PER_RECORD * listed.records:
        raise GraphFormatError(
            f"the size line declares {size:,} nodes for {listed.records:,} entries",
            path=source.name,
            remedy="Correct the size line, or remove it and the %%MatrixMarket banner.",
        )


def _check_matrix(source: Source, size: int, listed: Listed) -> None:
    check_size(source, size, listed)
    for chunk in listed.chunks:
        check_entries(source, size, chunk)


def check_entries(source: Source, size: int, entries: NDArray[Any]) -> None:
    """Refuse an entry of a Matrix Market file outside its size line."""
    outside = (entries < 1) | (entries > size)
    if outside.any():
        raise GraphFormatError(
            f"an entry names node {entries[outside][0]}, but the size line allows 1 to {size}",
            path=source.name,
            remedy="Correct the size line, or remove it and the %%MatrixMarket banner.",
        )


def _notes(top: Preamble, listed: Listed, nodes: int, odd: str | None) -> tuple[str, ...]:
    """Say which columns were read, and point out a first line that was read as a link but may be something else."""
    notes = []
    if top.pick is not None:
        places = (top.pick.first, top.pick.second)
        named = max(places) < len(top.columns)
        shown = " and ".join(f"{i + 1}" + (f" ({top.columns[i]!r:.40})" if named else "") for i in places)
        notes.append(f"links from columns {shown}")
        if top.weighted:
            named = top.pick.weight < len(top.columns)
            shown = f" ({top.columns[top.pick.weight]!r:.40})" if named else ""
            notes.append(f"weights from column {top.pick.weight + 1}{shown}")
    if top.has_weights:
        notes.append(
            "weights are not used: every line is a link, whatever its weight; name their column (weights) to use them"
        )
    *sizes, count = top.first_line or (-1, -1)
    if count == listed.records - 1 and len(set(sizes)) == 1 and abs(sizes[0] - nodes) <= 2:
        shown = " ".join(map(str, top.first_line))
        notes.append(
            f"the first line '{shown}' was read as a link but fits the counts of this file: "
            "if it is a header, remove it or start it with #"
        )
    if odd is not None:
        notes.append(
            f"a label has control characters, {readable(odd)}: they are part of it and separate nothing"
        )
    return tuple(notes)


def _require_links(source: Source, listed: Listed) -> None:
    if listed.records == 0:
        raise GraphFormatError(
            "there is no link in this file",
            path=source.name,
            line=max(1, listed.lines),
            remedy="Write one link per line: two labels separated by a blank, a tab, a comma, a semicolon or a pipe; "
            "lines that begin with # or % are comments.",
        )


def _picked(buf: Bytes, top: Preamble) -> tuple[Bytes, int, Block | None, NDArray[np.float64] | None]:
    """Return a block with only the columns of the labels, how many records had more, what is wrong, and the weights."""
    pick = top.pick
    if pick is None:
        return buf, 0, None, None
    out = np.empty(len(buf) + 1, dtype=np.uint8)
    rule = (top.separator, pick.merge, pick.first, pick.second, pick.weight)
    spans = np.zeros((3, 2), dtype=np.int64)
    # The shortest record with a weight is six bytes: three digits, two separators and the line feed.
    weights = np.empty(len(buf) // 6 + 1 if top.weighted else 0)
    status, records, lines, extra, line, place, size = pick_columns(buf, len(buf), rule, spans, out, weights)
    if status != parser.OK:
        return buf, extra, _wrong(status, records, lines, extra, buf, line, place), None
    return out[:size], extra, None, weights[:records].copy() if top.weighted else None


def _wrong(
    status: int,
    records: int,
    lines: int,
    extra: int,
    buf: Bytes,
    line: int,
    place: int,
    original: Bytes | None = None,
) -> Block:
    """Describe a block that failed: the column in characters, and the text from there to the end of the line.

    Of a line whose columns were picked, the whole `original` line is shown instead.
    """
    if original is not None:
        line = place = int(np.flatnonzero(original == 10)[lines - 1]) + 1 if lines else 0
    text = buf[line : line + 65536].tobytes() if original is None else original[line : line + 65536].tobytes()
    text = text.split(b"\n", 1)[0]
    before = text[: place - line]
    column = len(before.decode("utf-8", errors="replace")) + 1
    found = text if status in (parser.ONE_COLUMN, parser.NO_COLUMN) else text[place - line :]
    return Block(status, records, lines, extra, column=column, found=found.rstrip(b"\r") or text)


def _refuse(source: Source, block: Block, lines: int) -> None:
    if block.status == parser.OK:
        return
    problem, remedy = PROBLEMS[block.status]
    raise GraphFormatError(
        problem, path=source.name, line=lines + 1, column=block.column, text=block.found, remedy=remedy
    )
