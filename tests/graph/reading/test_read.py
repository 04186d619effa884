"""Edge lists as people have them are read into the network they mean, with their own labels."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.reading import source
from blockmix.graph.reading.read import read_graph


@pytest.fixture(params=["plain", "gz"])
def read(request, tmp_path):
    """Write bytes to a file, plain or compressed, and read it back."""

    def write_and_read(text: bytes | str, **options) -> Graph:
        data = text.encode() if isinstance(text, str) else text
        path = tmp_path / ("edges.txt.gz" if request.param == "gz" else "edges.txt")
        path.write_bytes(gzip.compress(data) if request.param == "gz" else data)
        return read_graph(path, **options)

    return write_and_read


def links(graph: Graph) -> set[frozenset]:
    names = list(graph.labels)
    return {frozenset((names[a], names[b])) for a, b in graph.edges().tolist()}


TRIANGLE = {frozenset(p) for p in [(1, 2), (2, 3), (1, 3)]}


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 3\n1 3\n",
        "1\t2\n2\t3\n1\t3\n",
        "1,2\n2,3\n1,3\n",
        "1, 2\n2 ,3\n1 , 3\n",
        "  1   2  \n\n2 \t 3\n1 3",
        "1 2\r\n2 3\r\n1 3\r\n",
        "1 2\r\n2 3\r\n1 3",
        "\ufeff1 2\n2 3\n1 3\n",
        "# a comment\n1 2\n% another\n2 3\n  # and one more\n1 3\n",
        "1 2 # inline\n2 3 % inline\n1 3\n",
        '"1","2"\n"2","3"\n"1","3"\n',
        "1 2 0.5\n2 3 0.25 17\n1 3 {'weight': 3, 'kind': 'x'}\n",
        "source,target\n1,2\n2,3\n1,3\n",
        '"from","to","weight"\n1,2,5\n2,3,5\n1,3,5\n',
        "3\n1 2\n2 3\n1 3\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 3\n2 1\n3 2\n3 1\n",
    ],
)
def test_the_same_triangle_in_every_dialect(read, text):
    graph = read(text)
    assert links(graph) == TRIANGLE
    assert list(graph.labels) == [1, 2, 3]
    assert (graph.n_nodes, graph.n_edges) == (3, 3)


def test_repeats_and_both_directions_are_merged_and_loops_dropped_and_counted(read):
    graph = read("1 2\n2 1\n1 2\n3 3\n4 4\n4 1\n")
    assert links(graph) == {frozenset((1, 2)), frozenset((1, 4))}
    summary = graph.summary
    assert (summary.records, summary.merged, summary.self_loops) == (6, 2, 2)
    assert (summary.isolated, summary.loop_only) == (1, 1)
    assert list(graph.labels) == [1, 2, 3, 4]
    assert "2 repeated links" in str(summary)
    assert "2 self-loops dropped" in str(summary)
    assert len(str(summary).splitlines()) <= 2


def test_text_labels_come_back_as_written_in_order_of_appearance(read):
    graph = read("zoë\tann lee\nann lee\t北京\n")
    assert list(graph.labels) == ["zoë", "ann lee", "北京"]
    assert graph.labels.index("北京") == 2


def test_quoted_fields_hold_separators_and_doubled_quotes(read):
    graph = read('"Smith, John","the ""boss"""\n"the ""boss""",plain name\n')
    assert list(graph.labels) == ["Smith, John", 'the "boss"', "plain name"]


@pytest.mark.parametrize(
    "text", ["1 2\nann 2\n", "007 8\n9 8\n", "+1 2\n2 3\n", "1.5 2\n2 3\n", "-0 1\n1 2\n"]
)
def test_one_label_that_is_not_a_plain_integer_makes_all_text(read, text):
    graph = read(text)
    assert graph.labels.kind == "text"
    assert graph.labels[0] == text.split()[0]


def test_negative_and_extreme_integers_are_labels(read):
    graph = read(f"-5 {2**63 - 1}\n{-(2**63)} -5\n")
    assert list(graph.labels) == [-(2**63), -5, 2**63 - 1]


def test_words_above_integers_are_column_names_and_words_above_words_are_a_link(read):
    header = read("ann bob\n1 2\n").summary
    assert header.header == "'ann bob'"
    assert "column names" in str(header)
    assert links(read("ann bob\ncid dan\n")) == {frozenset(("ann", "bob")), frozenset(("cid", "dan"))}
    assert links(read("ann bob\n")) == {frozenset(("ann", "bob"))}
    named = read("source,target\nann,bob\n")
    assert list(named.labels) == ["ann", "bob"]
    assert "column names" in str(named.summary)
    assert list(read("ann,bob\ncem,bob\n").labels) == ["ann", "bob", "cem"]


def test_a_line_of_two_numbers_is_never_swallowed_but_pointed_out(read):
    graph = read("3 2\n1 2\n2 3\n")
    assert frozenset((3, 2)) in links(graph)
    assert "fits the counts" in str(graph.summary)


def test_counts_a_file_declares_are_compared(read):
    summary = read("# Nodes: 5 Edges: 7\n1 2\n").summary
    assert (summary.declared_nodes, summary.declared_edges) == (5, 7)
    assert "declares 5 nodes and 7 links" in str(summary)
    assert "itself declares" not in str(read("# Nodes: 2 Edges: 1\n1 2\n").summary)


def test_a_matrix_market_file_knows_its_isolated_nodes(read):
    graph = read("%%MatrixMarket matrix coordinate real general\n5 5 2\n1 2 0.5\n2 3 1.5\n")
    assert list(graph.labels) == [1, 2, 3, 4, 5]
    assert graph.summary.isolated == 2
    assert graph.summary.extra_columns == 2


def test_isolated_nodes_can_be_added(read, tmp_path):
    assert list(read("1 5\n", nodes=[9, 3, 5]).labels) == [1, 3, 5, 9]
    assert list(read("1 5\n", nodes=["x"]).labels) == ["1", "5", "x"]
    assert list(read("b a\n", nodes=np.array([7])).labels) == ["b", "a", "7"]
    listed = tmp_path / "nodes.txt"
    listed.write_text('# all nodes\n1\n\n"12"\n7\r\n')
    assert list(read("1 5\n", nodes=listed).labels) == [1, 5, 7, 12]
    listed.write_text("ann lee\n1\n")
    graph = read("source target\n1 5\n", nodes=str(listed))
    assert list(graph.labels) == ["1", "5", "ann lee"]
    assert graph.summary.header is not None


def test_threads_and_block_sizes_do_not_change_the_result(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    path = tmp_path / "edges.txt"
    for names in ("{} {}\n", "n{}\tm{}\textra\n"):
        path.write_text("".join(names.format(a, b) for a, b in rng.integers(0, 300, (4000, 2)).tolist()))
        expected = read_graph(path, threads=1)
        for block, threads in [(37, 1), (64, 3), (1000, 2), (4096, 5)]:
            monkeypatch.setattr(source, "BLOCK_BYTES", block)
            graph = read_graph(path, threads=threads)
            assert graph.fingerprint == expected.fingerprint
            assert graph.summary == expected.summary
        monkeypatch.undo()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a Unix thing")
def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"1 2\n2 3\n",))
    writer.start()
    assert read_graph(pipe).n_edges == 2
    writer.join()


def test_several_gzip_members_are_one_file(tmp_path):
    path = tmp_path / "edges.gz"
    path.write_bytes(gzip.compress(b"1 2\n2 ") + gzip.compress(b"3\n"))
    assert read_graph(path).n_edges == 2


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads_must_be_a_whole_number(tmp_path, threads):
    path = tmp_path / "edges.txt"
    path.write_text("1 2\n")
    with pytest.raises(InputError, match="threads"):
        read_graph(path, threads=threads)


LABELS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(0, 20))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40), st.sampled_from(" \t,"))
def test_any_integer_edge_list_survives_the_round_trip(tmp_path_factory, pairs, separator):
    path: Path = tmp_path_factory.mktemp("read") / "edges.txt"
    path.write_text("".join(f"{a}{separator}{b}\n" for a, b in pairs))
    graph = read_graph(path, threads=1)
    assert links(graph) == {frozenset(p) for p in pairs if p[0] != p[1]}
    assert list(graph.labels) == sorted({end for pair in pairs for end in pair})


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20))
def test_any_quoted_text_label_survives_the_round_trip(tmp_path_factory, pairs):
    path: Path = tmp_path_factory.mktemp("read") / "edges.csv"
    doubled = [tuple('"' + end.replace('"', '""') + '"' for end in pair) for pair in pairs]
    path.write_text("'x','y'\n" + "".join(f"{a},{b}\n" for a, b in doubled), encoding="utf-8", newline="")
    graph = read_graph(path, threads=1)
    wanted = {frozenset(p) for p in pairs if p[0] != p[1]}
    if graph.labels.kind == "text":
        assert links(graph) == wanted | {frozenset(("'x'", "'y'"))}
    else:
        assert graph.summary.header is not None
