"""Text labels to node numbers, by first appearance, without a Python object per label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.labels import Labels
from blockmix.numerics.compile import checked_njit as njit
from blockmix.numerics.hashing import KEY, hash_bytes

_FIRST_LABELS = 1 << 10
_SLOTS_PER_LABEL = 2


class Interner:
    """A growing table of distinct labels kept as one UTF-8 buffer.

    >>> table = Interner()
    >>> table.add_texts(["bob", "ann", "bob"]).tolist(), list(table.labels())
    ([0, 1, 0], ['bob', 'ann'])
    """

    def __init__(self) -> None:
        self.used = 0
        self._text = np.empty(16 * _FIRST_LABELS, dtype=np.uint8)
        self._ends = np.zeros(_FIRST_LABELS + 1, dtype=np.int64)
        self._hashes = np.empty(_FIRST_LABELS, dtype=np.uint64)
        self._table = np.full(_SLOTS_PER_LABEL * _FIRST_LABELS, -1, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """The memory of the table."""
        return sum(array.nbytes for array in (self._text, self._ends, self._hashes, self._table))

    def add(
        self, buf: NDArray[np.uint8], spans: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return node numbers of the labels at `spans` of a buffer, new labels numbered in order."""
        numbers = np.empty(len(spans), dtype=np.int64)
        needed = int(self._ends[self.used]) + int((spans[:, 1] - spans[:, 0]).sum())
        done = 0
        while done < len(spans):
            store = (self._text, self._ends, self._hashes, self._table)
            done, self.used = _intern_texts(buf, spans, hashes, done, store, self.used, numbers)
            if done < len(spans):
                self._grow(needed)
        return numbers

    def add_texts(self, values: list[str]) -> NDArray[np.int64]:
        """Return node numbers of labels given as Python text."""
        encoded = [value.encode("utf-8") for value in values]
        ends = np.cumsum([len(e) for e in encoded], dtype=np.int64)
        spans = np.stack((ends - np.array([len(e) for e in encoded], dtype=np.int64), ends), axis=1)
        buf = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        hashes = np.empty(len(spans), dtype=np.uint64)
        hash_spans(buf.copy(), spans, KEY, hashes)
        return self.add(buf.copy(), spans, hashes)

    def _grow(self, most_text: int) -> None:
        """Double what is full: the list of labels, or their text (never beyond what can be needed)."""
        if self.used == len(self._hashes):
            self._hashes = _doubled(self._hashes)
            self._ends = _doubled(self._ends)
            self._table = np.full(_SLOTS_PER_LABEL * len(self._hashes), -1, dtype=np.int64)
            _rebuild(self._hashes, self.used, self._table)
        else:
            size = max(min(2 * len(self._text), most_text), len(self._text) + (len(self._text) >> 3))
            self._text = np.concatenate((self._text, np.empty(size - len(self._text), dtype=np.uint8)))

    def labels(self) -> Labels:
        """Return the labels in the order of their numbers."""
        ends = self._ends[: self.used + 1].copy()
        return Labels(self.used, text=self._text[: ends[-1]].copy(), text_offsets=ends)


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    grown = np.empty(2 * len(array), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@njit(cache=True, nogil=True)
def _same(buf, start, end, text, at):  # type: ignore[no-untyped-def]
    i = 0
    while i < end - start and buf[start + i] == text[at + i]:
        i += 1
    return i == end - start


@njit(cache=True, nogil=True)
def _intern_texts(buf, spans, hashes, done, store, used, numbers):  # type: ignore[no-untyped-def]
    """Assign numbers to labels until a buffer is full; return (labels done, distinct labels so far)."""
    text, ends, known, table = store
    mask = np.uint64(table.shape[0] - 1)
    for t in range(done, spans.shape[0]):
        start, end = spans[t, 0], spans[t, 1]
        slot = hashes[t] & mask
        while True:
            label = table[slot]
            if label < 0:
                break
            at = ends[label]
            if ends[label + 1] - at == end - start and _same(buf, start, end, text, at):
                break
            slot = (slot + np.uint64(1)) & mask
        if label < 0:
            if used == known.shape[0] or ends[used] + end - start > text.shape[0]:
                return t, used
            label = used
            table[slot] = label
            known[label] = hashes[t]
            for i in range(end - start):
                text[ends[label] + i] = buf[start + i]
            ends[label + 1] = ends[label] + end - start
            used += 1
        numbers[t] = label
    return spans.shape[0], used


@njit(cache=True, nogil=True)
def _rebuild(known, used, table):  # type: ignore[no-untyped-def]
    mask = np.uint64(table.shape[0] - 1)
    for label in range(used):
        slot = known[label] & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = label


@njit(cache=True, nogil=True)
def hash_spans(buf, spans, key, hashes):  # type: ignore[no-untyped-def]
    """Compute the hashes that parse_texts would have given these labels."""
    for t in range(spans.shape[0]):
        hashes[t] = hash_bytes(buf, spans[t, 0], spans[t, 1], key)
