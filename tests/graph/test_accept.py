"""Whatever holds a network is taken as one, by `as_graph` and so by `fit`."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.inference.request import RIGHT_NAMES
from blockmix.samplers import SAMPLERS, sampler_class

PAIRS = [("ann", "bob"), ("bob", "cem"), ("ann", "cem"), ("cem", "dot")]


def links(graph: Graph) -> set[tuple]:
    names = list(graph.labels)
    return {tuple(sorted((names[a], names[b]))) for a, b in graph.edges().tolist()}


def held(tmp_path: Path) -> dict[str, object]:
    """The same network in everything that can hold it."""
    path = tmp_path / "edges.csv"
    path.write_text("".join(f"{a},{b}\n" for a, b in PAIRS))
    found: dict[str, object] = {
        "Graph": Graph.from_edges(PAIRS), "pairs": PAIRS, "generator": iter(PAIRS), "array": np.array(PAIRS),
        "path": path, "text path": str(path), "open file": io.StringIO(path.read_text()),
    }  # fmt: skip
    return found


@pytest.mark.parametrize("kind", ["Graph", "pairs", "generator", "array", "path", "text path", "open file"])
def test_everything_that_holds_a_network(tmp_path, kind):
    assert links(bm.as_graph(held(tmp_path)[kind])) == set(PAIRS)


def test_graphs_and_frames_of_other_libraries():
    networkx = pytest.importorskip("networkx")
    igraph = pytest.importorskip("igraph")
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    assert links(bm.as_graph(networkx.Graph(PAIRS))) == set(PAIRS)
    assert links(bm.as_graph(igraph.Graph.TupleList(PAIRS))) == set(PAIRS)
    table = {"when": [1, 2, 3, 4], "from": [a for a, _ in PAIRS], "to": [b for _, b in PAIRS]}
    for frame in (pandas.DataFrame(table), polars.DataFrame(table)):
        graph = bm.as_graph(frame)
        assert links(graph) == set(PAIRS)
        assert "'when'" in str(graph.summary)
    numbered = pandas.DataFrame([[1, 2], [2, 3]])
    assert links(bm.as_graph(numbered)) == {(1, 2), (2, 3)}
    with pytest.raises(InputError, match="row 2 is missing"):
        bm.as_graph(pandas.DataFrame({"from": ["a", None], "to": ["b", "c"]}))
    with pytest.raises(InputError, match="same name"):
        bm.as_graph(pandas.DataFrame([[1, 2]], columns=["a", "a"]))


def test_matrices():
    matrix = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    for given in (matrix, matrix.astype(float), matrix.astype(bool), scipy.sparse.coo_array(matrix)):
        assert links(bm.as_graph(given)) == {(0, 1), (1, 2)}
    assert links(bm.as_graph(np.array([[1, 2], [2, 3]]))) == {(1, 2), (2, 3)}


@pytest.mark.parametrize("wrong", [None, 5, {"a": 1}, b"1 2\n", object()])
def test_what_is_no_network_is_told_what_is(wrong):
    with pytest.raises(InputError, match=r"is not a network; give a Graph, .*dataset:NAME"):
        bm.as_graph(wrong)


def test_what_is_no_label_is_named():
    with pytest.raises(InputError, match=r"edges: value 1 is '\[2\]', not a label"):
        bm.as_graph([(1, [2])])


def test_nodes_of_a_table_are_added_with_their_attributes():
    nodes = {"id": ["dot", "eve", "ann"], "club": ["x", "y", None], "age": [31, None, 40]}
    graph = bm.as_graph(PAIRS, nodes=nodes)
    assert list(graph.labels) == ["ann", "bob", "cem", "dot", "eve"]
    assert links(graph) == set(PAIRS)
    assert graph.attributes["club"].values() == [None, None, None, "x", "y"]
    assert graph.attributes["age"].values() == [40.0, None, None, 31.0, None]
    again = bm.as_graph(graph, nodes=["zoe"])
    assert again.attributes["club"].values() == [None, None, None, "x", "y", None]


def test_a_fit_takes_anything_and_keeps_the_attributes(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{a} {b}\n" for c in (0, 8) for a in range(c, c + 8) for b in range(c, a)))
    nodes = {"id": list(range(16)), "club": ["x"] * 8 + ["y"] * 8}
    post = bm.fit(path, 2, nodes=nodes, sweeps=30, chains=1, seed=1)
    assert post.graph.attributes["club"][9] == "y"
    post.save(tmp_path / "result")
    assert bm.load(tmp_path / "result").graph.attributes["club"].values() == nodes["club"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("k", "communities"), ("K", "communities"), ("n_communities", "communities"), ("random_state", "seed"),
     ("n_jobs", "threads"), ("burn_in", "warm_up"), ("max_iter", "sweeps")],
)  # fmt: skip
def test_a_name_of_another_program_gets_the_right_one(wrong, right):
    with pytest.raises(InputError, match=rf"no argument '{wrong}'; did you mean {right}=3\?"):
        bm.fit(PAIRS, **{wrong: 3})
    with pytest.raises(InputError, match=right):
        bm.select_communities(PAIRS, **{wrong: 3})


@pytest.mark.parametrize(
    ("wrong", "right"), [("comunities", "communities"), ("seeds", "seed"), ("slot", "slots")]
)
def test_a_name_with_a_slip_of_the_pen_gets_the_nearest_one(wrong, right):
    with pytest.raises(InputError, match=rf"unknown option {wrong} \(did you mean {right}\?\)"):
        bm.fit(PAIRS, **{wrong: 3})


def test_no_such_name_is_a_setting_of_a_sampler():
    wrong = {name for others in RIGHT_NAMES.values() for name in others}
    for kind, samplers in SAMPLERS.items():
        for name in samplers:
            assert not wrong & set(sampler_class(name, kind).Options.__dataclass_fields__), name


def test_an_array_that_is_neither_pairs_nor_square_is_refused():
    """Rows of an incidence matrix would be pairs of its first two entries."""
    for shape in ((3, 5), (6, 4)):
        with pytest.raises(InputError, match=f"an array of {shape[0]} x {shape[1]} holds neither pairs nor"):
            bm.as_graph(np.zeros(shape))
    assert bm.as_graph(np.array([[1, 2, 5], [2, 3, 5]])).n_edges == 2
