"""Philox4x32-10: random words that are a pure function of node, iteration and purpose.

There is no generator state. A word is a function of a 64-bit key and a 128-bit counter (Salmon et al. 2011,
"Parallel random numbers: as easy as 1, 2, 3"), so the number of threads, the device and a resumed run cannot
change a result (P5). The layout of a *stream*, five 32-bit scalars, and of the draw inside it:

    k0, k1   the key: `stream_key(seed, chain)`, a 64-bit seed and a chain number hashed together
    c0       node, below 2**32
    c1       iteration, below 2**32
    c2       `stream_word(purpose, slot)`: what the draw is for (below 2**16) and the slot or community it
             belongs to (below 2**16)
    c3       draw block: a function that draws starts at the block it is given and takes the next one
             whenever it rejects, so it may use any number of them

Every call site has a purpose of its own, so that two draws never read the same block; no function returns how
many blocks it took. Each block holds four 32-bit words.

Everything here is scalar, allocates nothing and raises nothing: the same functions compile for the CPU and,
called from a numba-cuda kernel, for the GPU, and give the same words on both.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from blockmix.numerics.compile import inlined_kernel, kernel

# What a caller may pass as a 32-bit word; it is cut to uint32 in the function. Kernels should pass uint32, so
# that one specialisation serves them all.
Word: TypeAlias = int | np.unsignedinteger[Any]

_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint32(0x9E3779B9)
_WEYL_1 = np.uint32(0xBB67AE85)
_HALF = np.uint64(32)
_SLOT_BITS = np.uint32(16)
_SLOT_MASK = np.uint32(0xFFFF)
# "blockmix" in ASCII: the counter words that set key derivation apart from every stream.
_KEY_TAG_0 = np.uint32(0x626C6F63)
_KEY_TAG_1 = np.uint32(0x6B6D6978)


@inlined_kernel
def philox4x32(
    c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return the four 32-bit words of one counter under one key: ten rounds of Philox.

    >>> [f"{word:08x}" for word in philox4x32(0, 0, 0, 0, 0, 0)]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    # numba widens every integer operation to 64 bits, so each result is cut back to uint32 by hand; a signed
    # operand anywhere would turn the products into int64.
    x0, x1, x2, x3 = np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)
    key0, key1 = np.uint32(k0), np.uint32(k1)
    for _ in range(10):
        product0 = _MULTIPLIER_0 * np.uint64(x0)
        product1 = _MULTIPLIER_1 * np.uint64(x2)
        x0 = np.uint32(np.uint32(product1 >> _HALF) ^ x1 ^ key0)
        x2 = np.uint32(np.uint32(product0 >> _HALF) ^ x3 ^ key1)
        x1 = np.uint32(product1)
        x3 = np.uint32(product0)
        key0 = np.uint32(key0 + _WEYL_0)
        key1 = np.uint32(key1 + _WEYL_1)
    return x0, x1, x2, x3


@kernel
def stream_key(seed: Word, chain: Word) -> tuple[np.uint32, np.uint32]:
    """Return the key (k0, k1) of a chain: the seed's 64 bits with the chain number hashed in.

    Hashing, rather than adding, keeps chain 1 of seed 7 from being chain 0 of seed 8. From Python a seed of
    2**63 or more comes as np.uint64.

    >>> stream_key(7, 0) == stream_key(7, 1)
    False
    """
    bits = np.uint64(seed)
    low, high = np.uint32(bits), np.uint32(bits >> _HALF)
    k0, k1, _, _ = philox4x32(np.uint32(chain), _KEY_TAG_0, _KEY_TAG_1, np.uint32(0), low, high)
    return k0, k1


@kernel
def stream_word(purpose: Word, slot: Word) -> np.uint32:
    """Return the counter word c2 = purpose << 16 | slot; both are below 2**16.

    >>> hex(stream_word(3, 7))
    '0x30007'
    """
    return np.uint32((np.uint32(purpose) << _SLOT_BITS) | (np.uint32(slot) & _SLOT_MASK))
