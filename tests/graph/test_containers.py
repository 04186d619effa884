"""Networks in memory: frames, arrays and collections as people have them give the right network, or one error."""

import io
from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse

import blockmix as bm
from blockmix import InputError

nx = pytest.importorskip("networkx")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LINKS = [("ann", "bob"), ("bob", "cem"), ("cem", "ann"), ("cem", "dot")]
MATRIX = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
FRAME = pd.DataFrame(LINKS, columns=["source", "target"])
Pair = namedtuple("Pair", "a b")


def named(graph):
    names = list(graph.labels)
    return {frozenset((names[a], names[b])) for a, b in graph.edges().tolist()}


@pytest.mark.parametrize(
    "network",
    [
        FRAME.set_index("source"),
        FRAME.assign(n=1).set_index(["source", "target"]),
        FRAME.assign(n=1).set_index(["source", "target"])["n"],
        FRAME.groupby(["source", "target"]).size(),
        FRAME.set_axis(pd.MultiIndex.from_tuples([("x", "source"), ("x", "target")]), axis=1),
        FRAME.astype("category"),
        FRAME.astype("string"),
        pl.DataFrame(LINKS, schema=["source", "target"], orient="row").lazy(),
        pl.DataFrame(LINKS, schema=["source", "target"], orient="row").with_columns(
            pl.all().cast(pl.Categorical)
        ),
        FRAME.to_records(),
        np.array(LINKS, dtype="S"),
        {frozenset(pair) for pair in LINKS},
        [set(pair) for pair in LINKS],
        [{"source": a, "target": b} for a, b in LINKS],
        [{"person1": a, "person2": b, "n": 1} for a, b in LINKS],
        [Pair(*pair) for pair in LINKS],
        {"source": [a for a, _ in LINKS], "target": [b for _, b in LINKS]},
        {"ann": ["bob", "cem"], "bob": {"cem"}, "cem": ("dot",)},
        {"ann": {"bob": 1, "cem": 2}, "bob": {"cem": {"weight": 1}}, "cem": {"dot": {}}},
        dict.fromkeys(LINKS, 1),
        pd.DataFrame(MATRIX, index=["ann", "bob", "cem", "dot"], columns=["ann", "bob", "cem", "dot"]),
        [(a.encode(), b.encode()) for a, b in LINKS],
    ],
)
def test_every_container_gives_its_links(network):
    assert named(bm.as_graph(network)) == {frozenset(pair) for pair in LINKS}


def test_a_set_has_the_same_order_whatever_the_hashes():
    """Text labels are numbered by first appearance, and results depend on their numbers."""
    assert list(bm.as_graph({("d", "c"), ("b", "a"), ("c", "a")}).labels) == ["b", "a", "c", "d"]
    assert list(bm.as_graph({frozenset("dc"), frozenset("ba")}).labels) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "network", [MATRIX.tolist(), pd.DataFrame(MATRIX), MATRIX, [[0, 1, 0], [1, 0, 1], [0, 1, 0]]]
)
def test_square_tables_are_adjacency_matrices_and_say_so(network):
    graph = bm.as_graph(network)
    assert (graph.n_nodes, graph.n_edges) == ((4, 4) if len(network) == 4 else (3, 2))
    assert "read as an adjacency matrix" in str(graph.summary)


def test_three_links_with_weights_are_no_matrix():
    triples = [[1, 2, 5], [2, 3, 1], [3, 1, 2]]
    assert bm.as_graph(triples, weights=True).total_weight == 8
    assert bm.as_graph(pd.DataFrame(triples)).n_edges == 3
    assert list(bm.as_graph([[1, 2], [2, 3]]).labels) == [1, 2, 3]


def test_weights_of_frames_arrays_and_dictionaries():
    array = np.array([(1, 2, 0.5), (2, 3, 1.5)], dtype=[("s", "i8"), ("t", "i8"), ("w", "f8")])
    assert bm.as_graph(array, weights="w").total_weight == 2
    assert (
        bm.as_graph(
            pd.DataFrame(3 * MATRIX, index=list("abcd"), columns=list("abcd")), weights=True
        ).total_weight
        == 12
    )
    assert bm.as_graph({("a", "b"): 2, ("b", "c"): 3}, weights=True).total_weight == 5
    assert (
        bm.as_graph(nx.to_dict_of_dicts(nx.Graph([("a", "b", {"weight": 4})])), weights=True).total_weight
        == 4
    )
    assert bm.as_graph([{"source": 1, "target": 2, "w": 3}], weights="w").total_weight == 3
    assert bm.as_graph({"source": [1], "target": [2], "weight": [3]}, weights=True).total_weight == 3
    assert bm.as_graph(FRAME.groupby(["source", "target"]).size(), weights=True).total_weight == 4


def test_nodes_without_neighbours_stay():
    assert bm.as_graph({"a": ["b"], "c": []}).n_nodes == 3
    assert bm.as_graph({"a": ["b"], "b": []}, directed=True).directed


def test_entries_listed_often_do_not_wrap_to_zero():
    often = scipy.sparse.coo_matrix(
        (np.ones(257, dtype=np.uint8), (np.r_[np.zeros(256, int), 1], np.r_[np.ones(256, int), 2])),
        shape=(3, 3),
    )
    assert bm.as_graph(often).n_edges == 2
    assert bm.as_graph(often, weights=True).total_weight == 257


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        (FRAME["source"], "a pandas Series is not a network"),
        (FRAME[["source"]].rename_axis("x"), "frame.reset_index"),
        (pd.crosstab(FRAME.source, FRAME.target), "an incidence matrix or a crosstab"),
        (pd.DataFrame({"i": range(3), "a": list("xyz"), "b": list("yzx")}), r"frame\[\['a', 'b'\]\]"),
        (nx.Graph, "Graph is a class"),
        (np.ma.masked_array([[1, 2], [9, 9]], mask=[[0, 0], [1, 1]]), "masked entries"),
        (np.arange(8).reshape(2, 4), r"array\.T"),
        (np.array([[1 + 0j, 2]]), "complex numbers"),
        ({"nodes": [1, 2], "links": []}, "node_link_graph"),
        ({"a": 1, "b": 2}, "dict is not a network"),
        ({"source": [1, 2], "target": [2]}, "2 and 1 labels"),
        ([{"x": 1, "y": 2}], "call them source and target"),
        ([{"source": 1, "target": 2}, {"source": 1}], r"edges\[1\]"),
        ([{1, 2}, {3}], r"edges\[1\] is '\{3\}', not a set of two labels"),
        (FRAME.itertuples(), r"itertuples\(index=False\)"),
        ("ann bob\nbob cem\n", r"io\.StringIO\(text\)"),
        ([("", "a")], "empty text"),
        ([(b"\xff", "a")], "not UTF-8"),
    ],
)
def test_what_holds_no_links_is_refused_with_the_remedy(network, problem):
    with pytest.raises(InputError, match=problem):
        bm.as_graph(network)


def test_a_set_has_no_directions_and_no_places_for_weights():
    with pytest.raises(InputError, match="a set has no order"):
        bm.as_graph({(1, 2), (2, 3)}, weights=[1.0, 2.0])
    with pytest.raises(InputError, match="has no order"):
        bm.as_graph([{1, 2}], directed=True)


def test_files_that_are_closed_or_read_already_are_errors():
    file = io.StringIO("a b\nb c\n")
    file.read()
    with pytest.raises(InputError, match=r"file\.seek\(0\)"):
        bm.as_graph(file)
    file.close()
    with pytest.raises(InputError, match="the file is closed"):
        bm.as_graph(file)


def test_a_path_may_begin_with_the_home_folder(tmp_path, monkeypatch):
    (tmp_path / "links.txt").write_text("a b\nb c\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert bm.read_graph("~/links.txt").n_edges == 2
