"""Numbering the nodes: from the user's labels to 0..N-1, the same for any number of threads.

Integer labels are numbered by increasing value, text by first appearance. Where the integers are dense a
bitmap with ranks is enough; where they are scattered (hashes, user ids) a hash table is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.build import node_dtype
from blockmix.graph.labels import Labels
from blockmix.numerics.compile import checked_njit as njit
from blockmix.numerics.hashing import KEY, hash_word

# A bitmap word and its rank take 16 bytes for 64 labels, so up to this many possible labels for every listed
# one the bitmap costs at most 4 bytes a listed label: what the finished rows cost anyway.
_BITMAP_SPREAD = 16
_FULL_LOAD = 2


def number_integers(
    chunks: list[NDArray[Any]], isolated: NDArray[np.int64] | None = None
) -> tuple[list[NDArray[Any]], Labels]:
    """Replace integer labels by node numbers in (m, 2) chunks, freeing each chunk when it is done.

    >>> numbered, labels = number_integers([np.array([[7, -2], [7, 40]])])
    >>> numbered[0].tolist(), list(labels)
    ([[1, 0], [1, 2]], [-2, 7, 40])
    """
    extra = np.empty(0, dtype=np.int64) if isolated is None else np.asarray(isolated, dtype=np.int64)
    filled = [values for values in (*chunks, extra) if values.size]
    if not filled:
        return [], Labels.range(0)
    lowest = min(int(values.min()) for values in filled)
    highest = max(int(values.max()) for values in filled)
    listed = sum(values.size for values in filled)
    if highest - lowest < _BITMAP_SPREAD * listed + 64:
        return _number_dense(chunks, extra, lowest, highest)
    return _number_scattered(chunks, extra, listed)


def _number_dense(
    chunks: list[NDArray[Any]], extra: NDArray[np.int64], lowest: int, highest: int
) -> tuple[list[NDArray[Any]], Labels]:
    words = np.zeros((highest - lowest) // 64 + 1, dtype=np.uint64)
    for values in (*chunks, extra):
        mark(values.reshape(-1), lowest, words)
    ranks = np.zeros(len(words) + 1, dtype=np.int64)
    accumulate(words, ranks)
    n_nodes = int(ranks[-1])
    numbered = []
    while chunks:
        chunk = chunks.pop(0)
        out = np.empty(chunk.shape, dtype=node_dtype(n_nodes))
        rank(chunk.reshape(-1), lowest, words, ranks, out.reshape(-1))
        numbered.append(out)
    if lowest == 0 and n_nodes == highest + 1:
        return numbered, Labels.range(n_nodes)
    integers = np.empty(n_nodes, dtype=np.int64)
    marked(words, lowest, integers)
    return numbered, Labels(n_nodes, integers=integers)


def _number_scattered(
    chunks: list[NDArray[Any]], extra: NDArray[np.int64], listed: int
) -> tuple[list[NDArray[Any]], Labels]:
    table = np.full(1 << 10, -1, dtype=np.int64)
    keys = np.empty(1 << 9, dtype=np.int64)
    used = 0
    dtype = node_dtype(listed)
    numbered = []
    chunks.append(extra)
    while chunks:
        chunk = chunks.pop(0)
        out = np.empty(chunk.shape, dtype=dtype)
        done = 0
        while done < chunk.size:
            done, used = _intern(chunk.reshape(-1), done, table, keys, used, KEY, out.reshape(-1))
            if used == len(keys):
                keys = np.concatenate((keys, np.empty_like(keys)))
                table = np.full(_FULL_LOAD * len(keys), -1, dtype=np.int64)
                _reinsert(keys, used, KEY, table)
        numbered.append(out)
    numbered.pop()
    order = np.argsort(keys[:used], kind="stable")
    place = np.empty(used, dtype=dtype)
    place[order] = np.arange(used, dtype=dtype)
    for out in numbered:
        _look_up(out.reshape(-1), place)
    return numbered, Labels.of(keys[:used][order])


@njit(cache=True, nogil=True)
def mark(values, lowest, words):  # type: ignore[no-untyped-def]
    """Set the bit of every value: bit i stands for lowest + i."""
    one = np.uint64(1)
    for i in range(values.shape[0]):
        bit = np.int64(values[i]) - lowest
        words[bit >> 6] |= one << np.uint64(bit & 63)


@njit(cache=True, nogil=True)
def _bits(word):  # type: ignore[no-untyped-def]
    """Count the ones in a 64-bit word (the compiler makes one instruction of it)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def accumulate(words, ranks):  # type: ignore[no-untyped-def]
    """Count the ones before every word, and all of them at the end."""
    for w in range(words.shape[0]):
        ranks[w + 1] = ranks[w] + _bits(words[w])


@njit(cache=True, nogil=True)
def rank(values, lowest, words, ranks, out):  # type: ignore[no-untyped-def]
    """Return the number of every value: how many bits are set below its own."""
    one = np.uint64(1)
    for i in range(values.shape[0]):
        bit = np.int64(values[i]) - lowest
        below = words[bit >> 6] & ((one << np.uint64(bit & 63)) - one)
        out[i] = ranks[bit >> 6] + _bits(below)


@njit(cache=True, nogil=True)
def marked(words, lowest, out):  # type: ignore[no-untyped-def]
    """List the values whose bits are set."""
    n = 0
    for w in range(words.shape[0]):
        for bit in range(64):
            if (words[w] >> np.uint64(bit)) & np.uint64(1):
                out[n] = lowest + w * 64 + bit
                n += 1


@njit(cache=True, nogil=True)
def _intern(values, done, table, keys, used, secret, out):  # type: ignore[no-untyped-def]
    """Assign numbers to values by first appearance until the key list is full; return (values done, keys used)."""
    mask = np.uint64(table.shape[0] - 1)
    for i in range(done, values.shape[0]):
        key = np.int64(values[i])
        slot = hash_word(key, secret) & mask
        while table[slot] >= 0 and keys[table[slot]] != key:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            if used == keys.shape[0]:
                return i, used
            table[slot] = used
            keys[used] = key
            used += 1
        out[i] = table[slot]
    return values.shape[0], used


@njit(cache=True, nogil=True)
def _reinsert(keys, used, secret, table):  # type: ignore[no-untyped-def]
    mask = np.uint64(table.shape[0] - 1)
    for k in range(used):
        slot = hash_word(keys[k], secret) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = k


@njit(cache=True, nogil=True)
def _look_up(values, place):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        values[i] = place[values[i]]
