"""A Graph is what was meant by the links: simple, undirected, sorted, frozen, and large if need be."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmix.errors import InputError
from blockmix.graph import build, query, relabel
from blockmix.graph.graph import Graph

PAIRS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)


def reference_rows(pairs: list[tuple[int, int]], n_nodes: int) -> list[list[int]]:
    rows: list[set[int]] = [set() for _ in range(n_nodes)]
    for a, b in pairs:
        if a != b:
            rows[a].add(b)
            rows[b].add(a)
    return [sorted(row) for row in rows]


@settings(max_examples=150, deadline=None)
@given(PAIRS, st.integers(1, 4), st.integers(1, 3))
def test_rows_are_those_of_the_obvious_construction(pairs, threads, parts):
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    rows = build.build_rows(np.array_split(edges, parts), 13, threads)
    found = np.split(rows.neighbors, rows.offsets[1:-1])
    expected = reference_rows(pairs, 13)
    assert [row.tolist() for row in found] == expected
    assert rows.self_loops == sum(a == b for a, b in pairs)
    assert rows.merged == len(pairs) - rows.self_loops - sum(map(len, expected)) // 2
    assert rows.offsets.dtype == np.int64
    assert rows.neighbors.dtype == np.int32


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)] * 2), max_size=40))
def test_integer_labels_are_numbered_by_value_dense_or_scattered(pairs):
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    numbered, labels = relabel.number_integers([edges])
    expected = sorted({end for pair in pairs for end in pair})
    assert list(labels) == expected
    for chunk in numbered:
        assert [[expected[a], expected[b]] for a, b in chunk.tolist()] == edges.tolist()


def test_scattered_labels_are_numbered_right_while_the_table_grows():
    rng = np.random.default_rng(5)
    edges = rng.integers(-(2**62), 2**62, (5000, 2))
    numbered, labels = relabel.number_integers([edges[:2000].copy(), edges[2000:].copy()])
    assert np.array_equal(labels.integers, np.unique(edges))
    assert np.array_equal(labels.integers[np.concatenate(numbered)], edges)


@pytest.mark.parametrize(
    "edges",
    [
        [(1, 2), (2, 3)],
        ((a, b) for a, b in [(1, 2), (2, 3)]),
        np.array([[1, 2], [2, 3]], dtype=np.uint8),
        np.array([[1, 2], [2, 3]], dtype=np.uint64),
        np.array([[1.0, 2.0], [2.0, 3.0]]),
        np.array([[1, 2], [2, 3]], dtype=object),
        [(np.int32(1), np.int64(2)), (2.0, 3)],
        np.asfortranarray(np.array([[1, 2, 9], [2, 3, 9]])),
        [(1, 2, {"weight": 3}), [2, 3]],
    ],
)
def test_edges_may_come_as_anything_with_two_columns(edges):
    graph = Graph.from_edges(edges)
    assert list(graph.labels) == [1, 2, 3]
    assert graph.edges().tolist() == [[0, 1], [1, 2]]


def test_text_and_mixed_labels_become_text_by_first_appearance():
    assert list(Graph.from_edges([("b", "a"), ("a", "c")]).labels) == ["b", "a", "c"]
    assert list(Graph.from_edges(np.array([["b", "a"]])).labels) == ["b", "a"]
    assert list(Graph.from_edges([("b", 3)], nodes=[1]).labels) == ["b", "3", "1"]
    assert list(Graph.from_edges([(2**63, 1)]).labels) == [str(2**63), "1"]


def test_nodes_without_links_are_kept():
    graph = Graph.from_edges([(4, 1)], nodes=[7, 1])
    assert list(graph.labels) == [1, 4, 7]
    assert graph.degrees.tolist() == [1, 1, 0]
    empty = Graph.from_edges([], nodes=["a", "b"])
    assert (empty.n_nodes, empty.n_edges, empty.density) == (2, 0, 0.0)
    assert Graph.from_edges([]).n_nodes == 0
    assert Graph.from_edges(np.empty((0, 2))).n_nodes == 0


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(1, None)], "missing"),
        ([(1.5, 2), (float("nan"), 2)], "missing"),
        (np.array([[1.0, np.nan]]), "not a node label"),
        (np.array([[1.0, 2.5]]), "not a node label"),
        ([(1, 2), (3,)], r"edges\[1\]"),
        (["ab"], r"edges\[0\]"),
        ([5], r"edges\[0\]"),
        (np.arange(3), "shape"),
        ([(1, "1")], "two different labels"),
        ([("a\ud800", "b")], "surrogates"),
        (5, "pairs"),
    ],
)
def test_links_that_cannot_be_meant_are_refused(edges, message):
    with pytest.raises(InputError, match=message):
        Graph.from_edges(edges)


def test_the_input_is_left_alone():
    edges = np.array([[5, 3], [3, 5]])
    Graph.from_edges(edges)
    assert edges.tolist() == [[5, 3], [3, 5]]
    assert edges.flags.writeable


def test_a_graph_is_frozen():
    graph = Graph.from_edges([(1, 2)])
    with pytest.raises(ValueError, match="read-only"):
        graph.neighbors[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        graph.neighbors_of(0)[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        graph.labels.integers[0] = 5
    with pytest.raises(AttributeError):
        graph.offsets = None
    own = np.array([0, 1, 2])
    Graph(own, np.array([1, 0], dtype=np.int32), graph.labels)
    assert own.flags.writeable


@settings(max_examples=60, deadline=None)
@given(PAIRS, PAIRS)
def test_has_edges_edges_and_without_edges_agree(pairs, asked):
    graph = Graph.from_edges(pairs, nodes=range(13))
    listed = {tuple(link) for link in graph.edges().tolist()}
    assert listed == {(min(p), max(p)) for p in pairs if p[0] != p[1]}
    there = graph.has_edges(asked)
    assert there.tolist() == [(min(p), max(p)) in listed for p in asked]
    removed = [p for p, linked in zip(asked, there, strict=True) if linked]
    rest = graph.without_edges(removed)
    again = Graph.from_edges(sorted(listed - {(min(p), max(p)) for p in removed}), nodes=range(13))
    assert rest.fingerprint == again.fingerprint
    assert rest.labels is graph.labels


def test_wrong_pairs_are_named():
    graph = Graph.from_edges([(0, 1), (1, 2)])
    with pytest.raises(InputError, match=r"pairs\[1\] is \(0, 2\), which is not a link"):
        graph.without_edges([(0, 1), (0, 2)])
    with pytest.raises(InputError, match="numbered 0 to 2"):
        graph.has_edges([(0, 3)])
    with pytest.raises(InputError, match="numbered 0 to 2"):
        graph.has_edges([(-1, 2)])
    with pytest.raises(InputError, match=r"labels\.indices"):
        graph.has_edges([("a", "b")])


def test_the_fingerprint_tells_structure_and_labels_apart_and_not_their_storage():
    graph = Graph.from_edges([(0, 1), (1, 2)])
    assert graph.fingerprint == Graph.from_edges([(2, 1), (1, 0), (0, 1)]).fingerprint
    assert graph.fingerprint != Graph.from_edges([(0, 1), (0, 2)]).fingerprint
    assert graph.fingerprint != Graph.from_edges([(0, 1), (1, 3)]).fingerprint
    wide = Graph(graph.offsets, graph.neighbors.astype(np.int64), graph.labels)
    assert graph.fingerprint == wide.fingerprint


def test_repr_reads_well():
    assert repr(Graph.from_edges([(1, 2)])) == "Graph(2 nodes, 1 link, labels 1 .. 2)"
    assert repr(Graph.from_edges([])) == "Graph(0 nodes, 0 links)"


BEYOND = 2**31 + 5


@pytest.fixture
def huge(tmp_path):
    """More than 2^31 entries that take no disk space: a sparse file, of which only the end is touched."""
    mapped = np.memmap(tmp_path / "huge", dtype=np.int32, mode="w+", shape=(BEYOND + 10,))
    return np.asarray(mapped)


def test_positions_beyond_two_to_the_31_are_written_where_they_belong(huge):
    cursor = np.array([0, 0, BEYOND], dtype=np.int64)
    build._place_smaller(0, 3, np.array([[1, 2], [2, 0]], dtype=np.int32), cursor, huge)
    assert huge[BEYOND : BEYOND + 2].tolist() == [1, 0]
    assert cursor[2] == BEYOND + 2
    cursor = np.array([BEYOND + 2, BEYOND + 4], dtype=np.int64)
    starts = np.array([0, 1, 2], dtype=np.int64)
    build._transpose(0, 2, starts, np.array([1, 1], dtype=np.int32), cursor, huge)
    assert huge[BEYOND + 4 : BEYOND + 6].tolist() == [0, 1]
    offsets = np.array([0, BEYOND + 8, BEYOND + 10], dtype=np.int64)
    build._append_upper(
        1, 2, np.array([0, 0, 2], dtype=np.int64), np.array([7, 8], dtype=np.int32), offsets, huge
    )
    assert huge[BEYOND + 8 :].tolist() == [7, 8]


def test_links_beyond_two_to_the_31_entries_are_found(huge):
    huge[BEYOND:] = np.arange(10, 20)
    assert query._find(huge, BEYOND, BEYOND + 10, 17) == BEYOND + 7
    assert query._find(huge, BEYOND, BEYOND + 10, 21) == -1


def test_starts_add_up_in_64_bits():
    starts = build.starts_of(np.array([2**31, 2**31, 5], dtype=np.int64))
    assert starts.dtype == np.int64
    assert starts.tolist() == [0, 2**31, 2**32, 2**32 + 5]


def test_nodes_are_numbered_in_32_bits_while_they_fit():
    assert build.node_dtype(2**31 - 1) == np.int32
    assert build.node_dtype(2**31) == np.int64


def test_importing_graph_loads_no_optional_library():
    code = (
        "import sys, blockmix.graph.graph, blockmix.graph.reading.read; "
        "bad = {'pandas', 'networkx', 'igraph', 'scipy.sparse'} & set(sys.modules); "
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
