"""The keyed hashes of labels: they are what they claim to be, and crafted labels do not make tables slow."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import numpy as np
import pytest

from blockmix.graph.relabel import _intern
from blockmix.numerics.hashing import KEY, hash_bytes, hash_word, mix

TEXTS = [b"", b"a", b"1234567", b"12345678", b"123456789", bytes(range(64)), "Zoë".encode()]
_PROGRAM = f"import ast; print([hash(text) % 2**64 for text in ast.literal_eval({repr(TEXTS)!a})])"


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="Python hashes its text in another way")
def test_bytes_are_hashed_by_siphash_1_3_as_python_does_with_a_key_of_zeros():
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )  # fmt: skip
    expected = ast.literal_eval(done.stdout)
    zero = np.zeros(2, dtype=np.uint64)
    found = [int(hash_bytes(np.frombuffer(b"x" + t, dtype=np.uint8), 1, 1 + len(t), zero)) for t in TEXTS]
    # Python gives nothing the hash 0.
    assert found[1:] == expected[1:]


def test_another_key_gives_other_hashes():
    one, other = np.array([1, 2], dtype=np.uint64), np.array([1, 3], dtype=np.uint64)
    text = np.frombuffer(b"ann", dtype=np.uint8)
    assert hash_bytes(text, 0, 3, one) != hash_bytes(text, 0, 3, other)
    assert hash_word(7, one) != hash_word(7, other)
    assert KEY.any()


def _unmix(x: int) -> int:
    """Invert the finaliser of splitmix64: what somebody does who wants numbers that collide without a key."""
    full = 2**64 - 1
    x ^= (x >> 31) ^ (x >> 62)
    x = x * pow(0x94D049BB133111EB, -1, 2**64) & full
    x ^= (x >> 27) ^ (x >> 54)
    x = x * pow(0xBF58476D1CE4E5B9, -1, 2**64) & full
    return x ^ (x >> 30) ^ (x >> 60)


def _longest_run(values: np.ndarray, key: np.ndarray) -> int:
    """How many slots of a table half full are taken in a row: what a look-up may have to pass."""
    table = np.full(4096, -1, dtype=np.int64)
    keys = np.empty(2048, dtype=np.int64)
    out = np.empty(len(values), dtype=np.int64)
    done, used = _intern(values, 0, table, keys, 0, key, out)
    assert done == used == len(values)
    taken = np.concatenate(([0], (table >= 0).astype(np.int64), [0]))
    edges = np.flatnonzero(np.diff(taken))
    return int((edges[1::2] - edges[::2]).max())


def test_integers_made_to_collide_without_a_key_are_spread_by_it():
    crafted = [_unmix(i << 32) for i in range(1, 1501)]
    values = np.array(crafted, dtype=np.uint64).view(np.int64)
    # They do what they were made for: without a key all would fall into slot 0.
    assert {int(mix(np.uint64(value))) & 4095 for value in crafted} == {0}
    random = _longest_run(np.random.default_rng(1).integers(0, 2**62, 1500), KEY)
    # A run of 200 in a table filled to 37% by chance has a probability below 1e-9.
    assert _longest_run(values, KEY) < 200
    assert random < 200
