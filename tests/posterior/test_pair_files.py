"""Files of pairs to predict: any separator and compression, and odd ones are refused with the line."""

from __future__ import annotations

import bz2
import gzip

import pytest

from blockmix.errors import GraphFormatError
from blockmix.graph.labels import Labels
from blockmix.posterior.export import pair_files
from blockmix.posterior.export.pair_files import read_pairs

NAMES = Labels.of(["ann", "bob", "cem x", "dot"])


@pytest.fixture
def read(tmp_path):
    def write_and_read(data: bytes | str, labels: Labels):
        path = tmp_path / "pairs"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_pairs(path, labels).tolist()

    return write_and_read


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", "|", ", "])
def test_any_separator(read, separator):
    text = f'node_a{separator}node_b\n# comment\nann{separator}"cem x"{separator}0.5\n\nbob{separator}dot\n'
    assert read(text, NAMES) == [[0, 2], [1, 3]]
    assert read(f"0{separator}2\n1{separator}3{separator}9\n", Labels.range(4)) == [[0, 2], [1, 3]]


def test_compressed_pairs_are_read_in_batches(read, monkeypatch):
    monkeypatch.setattr(pair_files, "_LOOKED_UP_AT_ONCE", 3)
    lines = "".join(f"{i} {i + 1}\n" for i in range(10))
    expected = [[i, i + 1] for i in range(10)]
    assert read(gzip.compress(lines.encode()), Labels.range(11)) == expected
    assert read(bz2.compress(lines.encode()), Labels.range(11)) == expected
    with pytest.raises(GraphFormatError, match="line 8"):
        read(lines.replace("7 8", "7 99"), Labels.range(11))


def test_no_pairs_are_no_rows(read):
    assert read("", NAMES) == []
    assert read("# nothing\n", NAMES) == []


@pytest.mark.parametrize(
    ("data", "labels", "problem"),
    [
        (b"0 1\r2 3\n", Labels.range(5), "line 1: a carriage return"),
        (b"0 1\n2 \x00\n", Labels.range(5), "line 2: a NUL byte"),
        (b"0 1\n2 " + b"9" * 5000 + b"\n", Labels.range(5), "line 2: no node of the network"),
        (b"ann " + b"x" * 140_000 + b"\n", NAMES, "line 1: no node of the network"),
        (b'"ann,' + b"x" * 140_000 + b"\n", NAMES, "line 1: a pair needs two labels"),
        (b"ann\n", NAMES, "line 1: a pair needs two labels"),
        (b"ann,\n", NAMES, "line 1: a pair needs two labels"),
        (b"ann \xff\n", NAMES, "line 1: not UTF-8"),
        (b"ann ann\n", NAMES, "line 1: a node has no link to itself"),
    ],
)
def test_odd_files_are_refused_with_line_and_remedy(read, data, labels, problem):
    with pytest.raises(GraphFormatError, match=problem) as caught:
        read(data, labels)
    assert caught.value.remedy
    assert len(str(caught.value)) < 500
