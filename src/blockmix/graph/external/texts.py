"""Numbering text labels by first appearance, more of them than fit in memory.

Labels are cut by their hash into parts, each with a table of its own. A label is new in the file where it is new in its
part; going through the file once more, in order, gives the new ones their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.external.arrays import ArrayWriter
from blockmix.graph.external.numbering import LABEL, NUMBER, WHICH, Nodes, Numbers, joined, windows
from blockmix.graph.external.spill import Budget, Reader, Spill
from blockmix.graph.labels import Labels
from blockmix.graph.reading.formats.label_doubts import odd_words
from blockmix.graph.reading.intern import Interner
from blockmix.graph.reading.source import Bytes
from blockmix.numerics.compile import checked_njit as njit

LENGTH, HASH, NEW, LOCAL, FIRST = "length", "hash", "new", "local", "first"
# Bits of a hash that choose the part are not those that choose the place in its table.
_PART_BITS = np.uint64(40)
# What a table of a thousand labels takes: it begins with space for so many.
_LEAST_TABLE = 1 << 17


class TextNumbering:
    """Numbers the labels that `add` takes in the order of the file; `spill` keeps them meanwhile."""

    def __init__(self, spill: Spill, parts: int, budget: Budget) -> None:
        self.spill, self.parts, self.budget = spill, parts, budget
        self.entries = max(budget.window // 32, 1)

    def add(self, buf: Bytes, spans: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
        """Take in the labels at these places of a buffer."""
        owners = ((hashes >> _PART_BITS) % np.uint64(self.parts)).astype(np.uint8)
        self.spill.append(WHICH, owners)
        for part in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == part)
            lengths = (spans[mine, 1] - spans[mine, 0]).astype(np.int32)
            text = np.empty(int(lengths.sum()), dtype=np.uint8)
            _gather(buf, spans[mine, 0], lengths, text)
            self.spill.append((LABEL, part), text)
            self.spill.append((LENGTH, part), lengths)
            self.spill.append((HASH, part), hashes[mine])

    def numbered(self, folder: Path) -> tuple[Nodes, Iterator[Numbers]]:
        """Write the labels into `folder`; return the nodes, and the ends of all links as numbers."""
        for part in range(self.parts):
            self._number_part(part)
        nodes = self._write_labels(folder)
        for part in range(self.parts):
            (numbers,) = [*windows(self.spill.reader((FIRST, part), np.int64), 1 << 62)] or [np.empty(0)]
            for local in windows(self.spill.reader((LOCAL, part), np.int32), self.entries):
                self.spill.append((NUMBER, part), numbers[local])
        return nodes, joined(self.spill, self.parts, self.entries)

    def _number_part(self, part: int) -> None:
        """Assign numbers to the labels of one part, in a table, and note where each is new."""
        table = Interner()
        texts = _Texts(self.spill, (LABEL, part), (LENGTH, part))
        hashes = self.spill.reader((HASH, part), np.uint64)
        while hashes.left:
            text, ends = texts.take(self.entries)
            spans = np.stack((ends[:-1], ends[1:]), axis=1)
            before = table.used
            local = table.add(text, spans, hashes.take(self.entries))
            new = np.zeros(len(local), dtype=np.bool_)
            _mark_new(local, before, new)
            self.spill.append((LOCAL, part), local.astype(np.int32))
            self.spill.append((NEW, part), new)
            if table.nbytes > max(2 * self.budget.tables, _LEAST_TABLE):
                raise MemoryError(f"a table of text labels has outgrown {self.budget.tables:,} bytes")
        labels = table.labels()
        assert labels.text is not None
        assert labels.text_offsets is not None
        self.spill.append((LABEL, "known", part), labels.text)
        self.spill.append((LENGTH, "known", part), np.diff(labels.text_offsets).astype(np.int32))

    def _write_labels(self, folder: Path) -> Nodes:
        """Go through the file in order: number what is new, and write its label."""
        known = [
            _Texts(self.spill, (LABEL, "known", part), (LENGTH, "known", part)) for part in range(self.parts)
        ]
        new = [self.spill.reader((NEW, part), np.bool_) for part in range(self.parts)]
        which, count, written = self.spill.reader(WHICH, np.uint8), 0, 0
        control, odd = None, []
        with (
            ArrayWriter(folder / "label_text.npy", np.uint8) as text_out,
            ArrayWriter(folder / "label_offsets.npy", np.int64) as ends_out,
        ):
            ends_out.append(np.zeros(1, dtype=np.int64))
            while which.left:
                owners = which.take(self.entries)
                owners = owners[_where_new(owners, new)]
                text, ends = self._in_order(owners, known, count)
                labels = Labels(len(owners), text=text, text_offsets=ends)
                control = labels.with_control() if control is None else control
                odd += [(word, count + node) for word, node in odd_words(ends, text)]
                text_out.append(text)
                ends_out.append(written + ends[1:])
                count, written = count + len(owners), written + len(text)
        return Nodes(count, "text", control, tuple(odd))

    def _in_order(
        self, owners: NDArray[np.uint8], known: list[_Texts], count: int
    ) -> tuple[Bytes, NDArray[np.int64]]:
        """Return the next new labels, of which `owners` has the parts, and note their numbers from `count` on."""
        taken = {}
        lengths = np.zeros(len(owners), dtype=np.int64)
        for part in np.unique(owners).tolist():
            mine = np.flatnonzero(owners == part)
            self.spill.append((FIRST, part), count + mine)
            taken[part] = mine, *known[part].take(len(mine))
            lengths[mine] = np.diff(taken[part][2])
        ends = np.zeros(len(owners) + 1, dtype=np.int64)
        np.cumsum(lengths, out=ends[1:])
        text = np.empty(ends[-1], dtype=np.uint8)
        for mine, source, source_ends in taken.values():
            _scatter(source, source_ends, ends[mine], text)
        return text, ends


class _Texts:
    """A stream of labels: their bytes, and their lengths."""

    def __init__(self, spill: Spill, text: object, lengths: object) -> None:
        self._text: Reader = spill.reader(text, np.uint8)
        self._lengths: Reader = spill.reader(lengths, np.int32)

    def take(self, most: int) -> tuple[Bytes, NDArray[np.int64]]:
        """Return the bytes of the next labels, and where each begins, with the end of the last."""
        lengths = self._lengths.take(most)
        ends = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=ends[1:])
        return self._text.take(int(ends[-1])), ends


def _where_new(owners: NDArray[np.uint8], new: list[Reader]) -> NDArray[np.bool_]:
    """Return which of the next labels of the file are new, from what their parts say."""
    found = np.empty(len(owners), dtype=np.bool_)
    for part in np.unique(owners).tolist():
        mine = owners == part
        found[mine] = new[part].take(int(np.count_nonzero(mine)))
    return found


@njit(cache=True, nogil=True)
def _gather(buf, begins, lengths, text):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(begins.shape[0]):
        for j in range(lengths[i]):
            text[at] = buf[begins[i] + j]
            at += 1


@njit(cache=True, nogil=True)
def _scatter(source, ends, places, text):  # type: ignore[no-untyped-def]
    for i in range(places.shape[0]):
        for j in range(ends[i + 1] - ends[i]):
            text[places[i] + j] = source[ends[i] + j]


@njit(cache=True, nogil=True)
def _mark_new(local, before, new):  # type: ignore[no-untyped-def]
    """Mark the first of every label: numbers are given in the order of first appearance."""
    for i in range(local.shape[0]):
        if local[i] == before:
            new[i] = True
            before += 1
