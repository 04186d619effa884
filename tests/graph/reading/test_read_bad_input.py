"""For any input the reader returns a network, or one error with the place and the remedy."""

from __future__ import annotations

import gzip
import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.graph import Graph
from blockmix.graph.reading import opening, preamble, source
from blockmix.graph.reading.read import read_graph

LONG = "x" * 500


def refusal(path, **options) -> GraphFormatError:
    with pytest.raises(GraphFormatError) as caught:
        read_graph(path, **options)
    error = caught.value
    assert str(path) in str(error)
    assert error.remedy
    assert "\n" not in str(error)
    return error


@pytest.mark.parametrize(
    ("data", "problem", "line", "column", "found"),
    [
        (b"1 2\n3\n", "two labels", 2, 2, "'3'"),
        (b"a b\n\nc\n", "two labels", 3, 2, "'c'"),
        (b"1 2\n3 \x00\n", "NUL", 2, 3, "'\\x00'"),
        (b"a b\nc d\x00e\n", "NUL", 2, 4, "'\\x00e'"),
        (b"1 2 x\x00y\n", "NUL", 1, 6, "'\\x00y'"),
        (b"# \x00\n1 2\n", "NUL", 1, 3, "'\\x00'"),
        (b"a b\n\xc3\xa9 \xff\n", "UTF-8", 2, 3, "'\\xff'"),
        (b"a b\nc \xed\xa0\x80\n", "UTF-8", 2, 3, "'\\xed\\xa0\\x80'"),
        (b"1 2\n1 9223372036854775808\n", "64 bits", 2, 3, "'9223372036854775808'"),
        (b"1 2\n-9223372036854775809 4\n", "64 bits", 2, 1, "'-9223372036854775809 4'"),
        (b"1 2\n99999999999999999999999 4\n", "64 bits", 2, 1, "'99999999999999999999999 4'"),
        (b"1 2\r3 4\r", "carriage return", 1, 4, "'\\r3 4'"),
        (b"# made on a Mac\r1 2\r3 4\r", "carriage return", 1, 16, None),
        (b"1,2\n1,,2\n", "empty", 2, 3, None),
        (b"a,b\na,\n", "empty", 2, 3, None),
        (b"a,b\n,c\n", "empty", 2, 1, None),
        (b'"ann,bob\n', "not closed", 1, 1, "'\"ann,bob'"),
        (b'a,b\nc,"ann\nlee"\n', "not closed", 2, 3, "'\"ann'"),
        (b'a,b\n"",c\n', "empty", 2, 1, "'\"\",c'"),
        (b'a,b\n"ann"x,bob\n', "closing quote", 2, 6, "'x,bob'"),
        (b"id,source,target\n1,2,3\n4\n", "fewer columns", 3, 2, "'4'"),
        (b"id;source;target\n1;ann;bob\n2;;cem\n", "empty", 3, 1, "'2;;cem'"),
        (b"1;2\n3;\n", "empty", 2, 3, None),
        (b"ann|bob\ncem\n", "two labels", 2, 4, "'cem'"),
        (b"Doe, Ann;Roe, Bob\n", "commas or semicolons", 1, 1, None),
        (b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2\n", "2 by 3", 2, 1, "'2 3 1'"),
        (b"%%MatrixMarket matrix coordinate real general\n1 2\n", "size line", 2, 1, "'1 2'"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 b\n", "integers", 3, 3, "'b'"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_the_error_names_line_column_and_text(tmp_path, compressed, data, problem, line, column, found):
    path = tmp_path / "edges"
    path.write_bytes(gzip.compress(data) if compressed else data)
    error = refusal(path, threads=2)
    assert problem in error.problem
    assert (error.line, error.column) == (line, column)
    assert found is None or error.text == found


def test_the_line_is_right_far_into_a_file_whatever_the_blocks(tmp_path, monkeypatch):
    path = tmp_path / "edges"
    path.write_bytes(b"# top\n" + b"1 2\n" * 5000 + b"17\n" + b"3 4\n" * 5000)
    for block in (50, 999, 1 << 20):
        monkeypatch.setattr(source, "BLOCK_BYTES", block)
        for threads in (1, 3):
            assert refusal(path, threads=threads).line == 5002


def test_long_offending_text_is_cut(tmp_path):
    path = tmp_path / "edges"
    path.write_text(f"a b\n{LONG}\n")
    assert len(refusal(path).text) < 80


def test_files_that_are_not_there_or_not_files(tmp_path):
    assert "no such file" in refusal(tmp_path / "absent").problem
    assert "folder" in refusal(tmp_path).problem
    assert "not a file" in refusal(os.devnull).problem
    with pytest.raises(GraphFormatError, match="NUL"):
        read_graph("a\0b")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "edges"
    path.write_text("1 2\n")

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    # chmod does not stop root, under which tests may run.
    monkeypatch.setattr(opening, "open", refused, raising=False)
    error = refusal(path)
    assert "may not be read" in error.problem
    assert "permission" in error.remedy


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only\n% comments\n", b"\xef\xbb\xbf", b"7\n"])
def test_no_link_in_it(tmp_path, data):
    path = tmp_path / "edges"
    path.write_bytes(data)
    assert refusal(path).problem
    path.write_bytes(gzip.compress(data))
    assert refusal(path).problem


def test_damaged_gz(tmp_path):
    path = tmp_path / "edges.gz"
    whole = gzip.compress(b"".join(b"%d %d\n" % (i, i * i % 1009) for i in range(5000)))
    path.write_bytes(whole[: len(whole) // 2])
    assert "cut short" in refusal(path).problem
    path.write_bytes(whole[:200] + bytes(b ^ 255 for b in whole[200:260]) + whole[260:])
    assert "damaged" in refusal(path).problem
    path.write_bytes(whole + b"garbage")
    assert "damaged" in refusal(path).problem
    path.write_bytes(whole[:5])
    assert "cut short" in refusal(path).problem


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"PK\x03\x04", "the .zip file is damaged"),
        (b"BZh9", "the .bz2 file is damaged"),
        (b"\xfd7zXZ\x00", "the .xz file is damaged"),
        (b"\xff\xfe1\0", "UTF-16"),
        (b"\x89HDF", "HDF5"),
        (b"\x93NUMPY", "NumPy array"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\x80\x04\x95", "pickle"),
        (b"%PDF-1.7", "PDF"),
    ],
)
def test_other_formats_are_named(tmp_path, start, what):
    path = tmp_path / "edges"
    path.write_bytes(start + bytes(100))
    assert what in refusal(path).problem


def test_a_line_without_end_is_refused_before_memory_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 12)
    monkeypatch.setattr(source, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(preamble, "_MOST_HEAD_BYTES", 1 << 10)
    path = tmp_path / "edges"
    path.write_bytes(b"a" * 300_000)
    assert "longer than" in refusal(path).problem
    path.write_bytes(gzip.compress(b"a" * 300_000))
    assert "longer than" in refusal(path).problem


def test_a_size_line_cannot_ask_for_all_memory(tmp_path):
    path = tmp_path / "edges.mtx"
    banner = "%%MatrixMarket matrix coordinate pattern general\n"
    path.write_text(f"{banner}{10**15} {10**15} 1\n1 2\n")
    assert "declares" in refusal(path).problem
    path.write_text(f"{banner}3 3 1\n1 4\n")
    assert "allows 1 to 3" in refusal(path).problem


def test_bad_node_lists_are_refused_the_same_way(tmp_path):
    edges, nodes = tmp_path / "edges", tmp_path / "nodes"
    edges.write_text("1 2\n")
    for data, line in [(b"ann\n\xff\n", 2), (b"ann\nb\0b\n", 2), (b"a\rb\n", 1), (b'x\n""\n', 2)]:
        nodes.write_bytes(data)
        with pytest.raises(GraphFormatError) as caught:
            read_graph(edges, nodes=nodes)
        assert caught.value.line == line
    with pytest.raises(GraphFormatError, match="no such file"):
        read_graph(edges, nodes=tmp_path / "absent")


def graph_or_refusal(path) -> None:
    try:
        graph = read_graph(path, threads=1)
    except GraphFormatError:
        return
    except InputError as error:
        # The bytes may begin as those of a compression whose library is an extra.
        if "which is not installed" not in str(error):
            raise
        return
    assert isinstance(graph, Graph)
    assert len(list(graph.labels)) == graph.n_nodes
    assert str(graph.summary)


QUICK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PIECES = st.sampled_from(
    [
        *(
            b"1",
            b"22",
            b"-3",
            b"0",
            b"00",
            b"99999999999999999999",
            b"ann",
            b"\xc3\xa9",
            b"3 3 2\n",
            b"1 2\n",
        ),
        *(b",", b" ", b"\t", b"\n", b"\r\n", b"\r", b"#", b"%", b'"', b'""', b"{", b"a,b\n"),
        *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b"),
        *(
            b"source,target\n",
            b"%%MatrixMarket matrix coordinate\n",
            b"%%MatrixMarket matrix array real general\n",
        ),
        *(
            b";",
            b"|",
            b"1;2\n",
            b"0 1 0\n",
            b"{",
            b"[[1,2]",
            b"]",
            b'{"links":[]}',
            b"*Vertices 2\n",
            b"graph [",
            b"\x0c",
        ),
    ]
)


@QUICK
@given(st.binary(max_size=300))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\x00")
def test_random_bytes(tmp_path, data):
    path = tmp_path / "edges"
    path.write_bytes(data)
    graph_or_refusal(path)


@QUICK
@given(st.lists(PIECES, max_size=30).map(b"".join), st.booleans())
def test_random_pieces_of_edge_lists(tmp_path, data, compressed):
    path = tmp_path / "edges"
    path.write_bytes(gzip.compress(data) if compressed else data)
    graph_or_refusal(path)


@QUICK
@given(st.binary(max_size=300))
def test_random_bytes_inside_gz(tmp_path, data):
    path = tmp_path / "edges.gz"
    path.write_bytes(gzip.compress(data))
    graph_or_refusal(path)


VALID = b"# Nodes: 4\nsource,target\n" + b"".join(b"%d,%d\n" % (i, 7 * i % 11) for i in range(30))


@QUICK
@given(
    st.sampled_from([VALID, gzip.compress(VALID, mtime=0), VALID.replace(b",", b" ").replace(b"5", b"ann")]),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=5),
    st.integers(0, 400),
)
def test_mutated_and_shortened_files(tmp_path, valid, changes, length):
    data = bytearray(valid)
    for place, value in changes:
        data[place % len(data)] = value
    path = tmp_path / "edges"
    path.write_bytes(bytes(data[: max(1, len(data) - length % len(data))]))
    graph_or_refusal(path)


def outcome(path, threads: int) -> str:
    try:
        graph = read_graph(path, threads=threads)
    except GraphFormatError as error:
        return str(error)
    return f"{graph.fingerprint} {graph.summary}"


@QUICK
@given(st.lists(PIECES, max_size=60).map(b"".join), st.integers(1, 40))
def test_blocks_threads_and_compression_change_neither_result_nor_error(tmp_path, data, block):
    pytest.importorskip("networkx")  # a piece is the head of a Pajek file
    path = tmp_path / "edges"
    path.write_bytes(data)
    expected = outcome(path, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BLOCK_BYTES", block)
        assert outcome(path, 1) == expected
        assert outcome(path, 2) == expected
        if data and not data.startswith(b"\x1f\x8b"):
            path.write_bytes(gzip.compress(data))
            assert outcome(path, 2) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("graph friends {\n a -- b\n}\n", "DOT"),
        ("digraph {\n a -> b\n}\n", "DOT"),
        ("<!DOCTYPE html>\n<html><body>404</body></html>\n", "HTML"),
        ('<?xml version="1.0"?>\n<svg></svg>\n', "XML"),
        ("DL n = 3\nformat = edgelist1\n", "UCINET"),
    ],
)
def test_files_of_other_formats_are_refused_with_what_they_look_like(tmp_path, text, name):
    path = tmp_path / "network"
    path.write_text(text)
    error = refusal(path)
    assert f"looks like {name}" in error.problem or name in error.problem
    assert error.line == 1


@pytest.mark.parametrize("text", ["graph theory\ntheory graph2\n", "<b> c\nd e\n"])
def test_labels_that_only_resemble_another_format_are_labels(tmp_path, text):
    path = tmp_path / "network"
    path.write_text(text)
    assert read_graph(path).n_edges == 2
