"""Random words are Random123's Philox4x32-10, and every coordinate of a stream gives independent ones.

False alarms: fewer than 16 p-values are looked at, each against 1e-3/16, so the whole file alarms once in
1000 choices of SEED. The seed is fixed.
"""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from blockmix.numerics.philox import philox4x32, stream_key, stream_word

SEED = 20260716
SMALLEST_P = 1e-3 / 16
BLOCKS = 1 << 15
ONES = 0xFFFFFFFF

# The known answers of Random123's kat_vectors for philox4x32-10.
KNOWN_ANSWERS = [
    ((0, 0, 0, 0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((ONES, ONES, ONES, ONES, ONES, ONES), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]

# Which of (seed, chain, node, iteration, purpose, slot, draw) moves while the others stand still.
COORDINATES = ["seed", "chain", "node", "iteration", "purpose", "slot", "draw"]


@njit
def blocks_along(moving, seed, blocks):
    words = np.empty((blocks, 4), np.uint32)
    at = np.array([seed, 1, 17, 3, 2, 5, 0], np.uint64)
    for i in range(blocks):
        here = at.copy()
        here[moving] = here[moving] + np.uint64(i)
        k0, k1 = stream_key(here[0], np.uint32(here[1]))
        c2 = stream_word(np.uint32(here[4]), np.uint32(here[5]))
        block = philox4x32(np.uint32(here[2]), np.uint32(here[3]), c2, np.uint32(here[6]), k0, k1)
        for j in range(4):
            words[i, j] = block[j]
    return words


def bits_of(words):
    return np.unpackbits(words.view(np.uint8), axis=1)


def p_value_of_fair_bits(bits):
    """Each column is one fair coin tossed len(bits) times; the squared z-scores add up to a chi-square."""
    z = (bits.sum(axis=0) - 0.5 * len(bits)) / np.sqrt(0.25 * len(bits))
    return 2.0 * min(stats.chi2.sf((z**2).sum(), len(z)), stats.chi2.cdf((z**2).sum(), len(z)))


@pytest.mark.parametrize(("arguments", "words"), KNOWN_ANSWERS)
def test_the_words_are_those_of_random123(arguments, words):
    assert " ".join(f"{word:08x}" for word in philox4x32(*arguments)) == words


@pytest.mark.parametrize("kind", [np.uint32, np.int64, np.uint64])
def test_the_integer_type_of_the_caller_does_not_matter(kind):
    arguments, words = KNOWN_ANSWERS[2]
    assert " ".join(f"{word:08x}" for word in philox4x32(*map(kind, arguments))) == words


def test_the_words_are_32_bit_and_unsigned():
    @njit
    def words():
        zero = np.uint32(0)
        return np.array(philox4x32(zero, zero, zero, zero, zero, zero))

    assert words().dtype == np.uint32


@pytest.mark.parametrize("moving", range(7), ids=COORDINATES)
def test_words_along_every_coordinate_are_fair_independent_bits(moving):
    bits = bits_of(blocks_along(moving, SEED, BLOCKS))
    assert p_value_of_fair_bits(bits) > SMALLEST_P
    assert p_value_of_fair_bits(bits[1:] ^ bits[:-1]) > SMALLEST_P


def test_the_bit_test_notices_a_counter_that_is_not_hashed():
    counter = np.zeros((BLOCKS, 4), np.uint32)
    counter[:, 0] = np.arange(BLOCKS)
    assert p_value_of_fair_bits(bits_of(counter)) < SMALLEST_P
    one_percent = np.random.default_rng(SEED).random((BLOCKS, 128)) < 0.51
    assert p_value_of_fair_bits(one_percent) < SMALLEST_P


def test_changing_one_bit_of_key_or_counter_changes_half_of_the_words_bits():
    rng = np.random.default_rng(SEED)
    flipped = []
    for _ in range(20):
        arguments = rng.integers(0, 1 << 32, 6, dtype=np.uint32)
        before = np.array(philox4x32(*arguments), np.uint32)
        for bit in range(192):
            changed = arguments.copy()
            changed[bit // 32] ^= np.uint32(1 << (bit % 32))
            after = np.array(philox4x32(*changed), np.uint32)
            flipped.append(np.bitwise_count(before ^ after).sum())
    z = (np.mean(flipped) - 64.0) / np.sqrt(32.0 / len(flipped))
    assert 2.0 * stats.norm.sf(abs(z)) > SMALLEST_P
    assert min(flipped) > 20


def test_chains_and_seeds_do_not_share_keys():
    keys = {stream_key(seed, chain) for seed in range(100) for chain in range(100)}
    keys |= {stream_key(seed << 32, 0) for seed in range(1, 100)}
    assert len(keys) == 100 * 100 + 99


def test_all_64_bits_of_the_seed_count():
    assert len({stream_key(np.uint64(1 << bit), 0) for bit in range(64)}) == 64


def test_a_stream_word_holds_purpose_and_slot_without_overlap():
    edges = [0, 1, 2, 255, 256, 65534, 65535]
    words = {stream_word(purpose, slot) for purpose in edges for slot in edges}
    assert len(words) == len(edges) ** 2
    assert stream_word(65535, 65535) == ONES
