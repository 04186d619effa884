"""Networks go from and to the libraries people use without losing labels, and say what was ignored."""

from __future__ import annotations

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.graph.graph import Graph

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")


def notes(graph: Graph) -> str:
    return str(graph.summary)


def test_networkx_round_trip_keeps_nodes_and_links():
    club = networkx.karate_club_graph()
    graph = Graph.from_networkx(club)
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    assert "weights ignored" in notes(graph)
    assert networkx.utils.graphs_equal(graph.to_networkx(), networkx.Graph(list(club.edges())))


def test_networkx_names_isolated_nodes_directions_and_parallel_links():
    net = networkx.MultiDiGraph([("b", "a"), ("a", "b"), ("a", "a"), ("c", "a")])
    net.add_node("alone")
    graph = Graph.from_networkx(net)
    assert list(graph.labels) == ["b", "a", "c", "alone"]
    assert graph.n_edges == 2
    assert "directed" in notes(graph)
    assert "multigraph" in notes(graph)
    assert "weights" not in notes(graph)
    assert graph.summary.self_loops == 1


def test_networkx_integer_nodes_are_ordered_and_tuples_become_text():
    assert list(Graph.from_networkx(networkx.Graph([(9, 2), (2, 5)])).labels) == [2, 5, 9]
    grid = Graph.from_networkx(networkx.grid_2d_graph(2, 2))
    assert grid.labels[0] == "(0, 0)"
    with pytest.raises(InputError, match="given to two nodes"):
        Graph.from_networkx(networkx.Graph([(1, "1")]))
    with pytest.raises(InputError, match="missing"):
        Graph.from_networkx(networkx.Graph([(1.5, float("nan"))]))
    assert Graph.from_networkx(networkx.Graph()).n_nodes == 0


def test_scipy_round_trip():
    graph = Graph.from_edges([(0, 1), (1, 2), (0, 3)])
    matrix = graph.to_scipy()
    assert (matrix != matrix.T).nnz == 0
    again = Graph.from_scipy(matrix)
    assert again.fingerprint == graph.fingerprint
    assert again.summary.merged == 0
    assert len(notes(again).splitlines()) == 1


@pytest.mark.parametrize("kind", ["coo", "csr", "csc", "lil", "dok"])
def test_scipy_matrices_of_any_format(kind):
    dense = np.array([[0, 2.5, 0], [0, 0, 0], [1, 0, 4]])
    graph = Graph.from_scipy(sparse.coo_array(dense).asformat(kind), labels=["a", "b", "c"])
    assert graph.edges().tolist() == [[0, 1], [0, 2]]
    assert list(graph.labels) == ["a", "b", "c"]
    assert "directed" in notes(graph)
    assert "weights ignored" in notes(graph)
    assert graph.summary.self_loops == 1


def test_scipy_explicit_zeros_are_no_links_and_nan_is_refused():
    zero = sparse.coo_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert Graph.from_scipy(zero).edges().tolist() == [[1, 2]]
    missing = sparse.coo_array(([np.nan], ([0], [1])), shape=(2, 2))
    with pytest.raises(InputError, match="NaN"):
        Graph.from_scipy(missing)
    with pytest.raises(InputError, match="square"):
        Graph.from_scipy(sparse.coo_array((2, 3)))
    with pytest.raises(InputError, match="sparse"):
        Graph.from_scipy(np.eye(2))
    with pytest.raises(InputError, match="2 labels"):
        Graph.from_scipy(sparse.coo_array((3, 3)), labels=[1, 2])


@pytest.mark.parametrize("dtype", ["int32", "Int64", "float64", "object", "category"])
def test_pandas_integer_columns_of_any_type(dtype):
    frame = pandas.DataFrame({"a": [7, 3], "b": [3, 1], "w": [0.5, 1.5]}).astype({"a": dtype, "b": dtype})
    graph = Graph.from_pandas(frame, source="a", target="b")
    assert list(graph.labels) == [1, 3, 7]
    assert graph.summary.extra_columns == 2


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_pandas_text_columns_of_any_type(dtype):
    frame = pandas.DataFrame({"source": ["x", "y"], "target": ["y", "z"]}, dtype=dtype)
    graph = Graph.from_pandas(frame, nodes=["lone"])
    assert list(graph.labels) == ["x", "y", "z", "lone"]


def test_pandas_missing_columns_and_labels_are_named():
    frame = pandas.DataFrame({"from": [1, 2], "to": [2.0, np.nan]}, index=["r1", "r2"])
    with pytest.raises(InputError, match="no column 'source'; it has: from, to"):
        Graph.from_pandas(frame)
    with pytest.raises(InputError, match="column 'to': the label in row 'r2' is missing"):
        Graph.from_pandas(frame, source="from", target="to")
    with pytest.raises(InputError, match="DataFrame"):
        Graph.from_pandas([1])
    assert Graph.from_pandas(frame[:0], source="from", target="to").n_nodes == 0


def test_igraph_names_and_numbers():
    igraph = pytest.importorskip("igraph")
    named = igraph.Graph.TupleList([("b", "a", 2.0), ("a", "c", 1.0)], directed=True, weights=True)
    graph = Graph.from_igraph(named)
    assert list(graph.labels) == ["b", "a", "c"]
    assert "directed" in notes(graph)
    assert "weights ignored" in notes(graph)
    plain = Graph.from_igraph(igraph.Graph(n=4, edges=[(0, 1), (1, 2)]))
    assert plain.labels.kind == "range"
    assert (plain.n_nodes, plain.n_edges) == (4, 2)


def test_the_wrong_object_is_refused():
    for convert in (Graph.from_networkx, Graph.from_igraph):
        with pytest.raises(InputError, match="not dict"):
            convert({})
