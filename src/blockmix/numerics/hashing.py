"""Keyed hashes for the tables of labels: a file cannot be made so that all its labels fall into one slot.

The key is drawn when the module is imported and passed to kernels as an argument, because a global array would become
a constant of the compiled code on disk. Nodes are numbered by value or by first appearance, so that no result depends
on the key.
"""

from __future__ import annotations

import os

import numpy as np

from blockmix.numerics.compile import checked_njit as njit

KEY = np.frombuffer(os.urandom(16), dtype=np.uint64).copy()


@njit(cache=True, nogil=True)
def mix(x):  # type: ignore[no-untyped-def]
    """Spread every bit of a word over all others: the finaliser of splitmix64, a fixed permutation."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_word(value, key):  # type: ignore[no-untyped-def]
    """Hash a 64-bit integer: a fixed permutation between two secret words (Even and Mansour, 1997), then once more.

    Without the second permutation the low bits, which choose a slot, would depend on the second word by one XOR, which
    moves collisions but does not remove them.
    """
    return mix(mix(np.uint64(value) ^ key[0]) ^ key[1])


@njit(cache=True, nogil=True, inline="always")
def _turned(x, bits):  # type: ignore[no-untyped-def]
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def _round(a, b, c, d):  # type: ignore[no-untyped-def]
    a += b
    b = _turned(b, 13) ^ a
    a = _turned(a, 32)
    c += d
    d = _turned(d, 16) ^ c
    a += d
    d = _turned(d, 21) ^ a
    c += b
    b = _turned(b, 17) ^ c
    c = _turned(c, 32)
    return a, b, c, d


@njit(cache=True, nogil=True)
def hash_bytes(buf, start, end, key):  # type: ignore[no-untyped-def]
    """Hash buf[start:end] by SipHash-1-3 (Aumasson and Bernstein, 2012), as Python hashes its own text."""
    a = key[0] ^ np.uint64(0x736F6D6570736575)
    b = key[1] ^ np.uint64(0x646F72616E646F6D)
    c = key[0] ^ np.uint64(0x6C7967656E657261)
    d = key[1] ^ np.uint64(0x7465646279746573)
    i = start
    while i + 8 <= end:
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(buf[i + k]) << np.uint64(8 * k)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a ^= word
        i += 8
    word = np.uint64(end - start) << np.uint64(56)
    for k in range(end - i):
        word |= np.uint64(buf[i + k]) << np.uint64(8 * k)
    d ^= word
    a, b, c, d = _round(a, b, c, d)
    a ^= word
    c ^= np.uint64(0xFF)
    for _ in range(3):
        a, b, c, d = _round(a, b, c, d)
    return a ^ b ^ c ^ d
