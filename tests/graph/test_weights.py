"""Weights of links: where they come from, how repeats are merged, that nothing loses them, and what is refused."""

from __future__ import annotations

import io
import json
import random

import numpy as np
import pytest

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.accept import as_graph
from blockmix.graph.graph import Graph
from blockmix.graph.reading.columns import _read_weight
from blockmix.graph.reading.read import read_graph
from blockmix.graph.split import hold_out, no_hold_out

PATH = {("a", "b"): 2.5, ("b", "c"): 1.0, ("c", "d"): 12.0}


def of(graph):
    """The weights by the labels of the ends; both rows of a link must have the same."""
    names, found = list(graph.labels), {}
    for a in range(graph.n_nodes):
        row = slice(int(graph.offsets[a]), int(graph.offsets[a + 1]))
        for b, value in zip(graph.neighbors[row].tolist(), graph.weights[row].tolist(), strict=True):
            ends = tuple(sorted((names[a], names[b])))
            assert found.setdefault(ends, value) == value
    return found


def text(path):
    return io.BytesIO(path.encode())


def test_weights_of_repeated_links_are_added_up_and_self_loops_dropped():
    pairs = [("a", "b"), ("b", "a"), ("b", "b"), ("b", "c"), ("a", "b")]
    graph = Graph.from_edges(pairs, weights=[1, 0.25, 7, 3, 1])
    assert of(graph) == {("a", "b"): 2.25, ("b", "c"): 3.0}
    assert graph.total_weight == 5.25
    assert "weights of repeated links added up" in str(graph.summary)


def test_a_list_of_both_directions_with_the_same_weights_counts_once():
    both = [(*ends, w) for (a, b), w in PATH.items() for ends in ((a, b), (b, a))]
    graph = Graph.from_edges(both, weights=True)
    assert of(graph) == PATH
    assert "both directions" in str(graph.summary)
    other = [*both[:-1], ("d", "c", 11.0)]
    assert of(Graph.from_edges(other, weights=True)) == {("a", "b"): 5.0, ("b", "c"): 2.0, ("c", "d"): 23.0}


def test_a_network_without_weights_has_none_and_its_fingerprint_does_not_change():
    graph = Graph.from_edges(list(PATH))
    assert graph.weights is None
    assert graph.total_weight == 3.0
    weighted = Graph.from_edges(list(PATH), weights=list(PATH.values()))
    assert weighted.fingerprint != graph.fingerprint == weighted.without_weights().fingerprint
    other = Graph.from_edges(list(PATH), weights=[2.5, 1.0, 12.5])
    assert weighted.fingerprint != other.fingerprint


def test_what_is_made_of_a_network_keeps_its_weights(tmp_path):
    edges = [(a, (a + step) % 40) for a in range(40) for step in (1, 2)]
    graph = Graph.from_edges(edges, weights=np.arange(1, 81))
    expected = of(graph)
    graph.save(tmp_path / "net")
    for again in (Graph.load(tmp_path / "net"), Graph.load(tmp_path / "net", mmap=False)):
        assert of(again) == expected
        assert again.fingerprint == graph.fingerprint
        assert not again.weights.flags.writeable
    data = hold_out(graph, 0.2, seed=2)
    held = {tuple(pair): w for pair, w in zip(data.pairs.tolist(), data.weights.tolist(), strict=True)}
    assert all((w > 0) == link for w, link in zip(data.weights, data.links, strict=True))
    assert of(data.training) | {pair: w for pair, w in held.items() if w} == expected
    assert len(no_hold_out(graph).weights) == 0
    more = as_graph(graph, nodes=[*range(40), 77])
    assert more.n_nodes == 41
    assert of(more) == expected


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, np.inf])
def test_a_saved_weight_that_is_none_is_damage(tmp_path, value, reseal):
    Graph.from_edges(list(PATH), weights=[1, 2, 3]).save(tmp_path / "net")
    weights = np.load(tmp_path / "net" / "weights.npy")
    weights[1] = value
    np.save(tmp_path / "net" / "weights.npy", weights)
    reseal(tmp_path / "net")
    with pytest.raises(InputError, match=r"weights\.npy: entry 1"):
        Graph.load(tmp_path / "net")


FILES = {
    "CSV": ("from,to,w\n" + "".join(f"{a},{b},{w}\n" for (a, b), w in PATH.items()), {"weights": "w"}),
    "the usual name": (
        "source;target;weight\n" + "".join(f"{a};{b};{w}\n" for (a, b), w in PATH.items()), {"weights": True},
    ),
    "no header": ("".join(f"{a} {b} {w}\n" for (a, b), w in PATH.items()), {"weights": 3}),
    "JSON": (
        json.dumps({"links": [{"source": a, "target": b, "n": w} for (a, b), w in PATH.items()]}), {"weights": "n"},
    ),
    "JSON pairs": (json.dumps([[a, b, w] for (a, b), w in PATH.items()]), {"weights": True}),
    "matrix": (",a,b,c,d\na,0,2.5,0,0\nb,2.5,0,1,0\nc,0,1,0,12\nd,0,0,12,0\n", {"weights": True}),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_files_give_their_weights(kind):
    content, options = FILES[kind]
    assert of(read_graph(text(content), **options)) == PATH
    assert read_graph(text(content)).weights is None


def test_numbered_formats_give_their_weights():
    market = "%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 2.5\n3 2 1\n4 3 1.2e1\n"
    array = "%%MatrixMarket matrix array real general\n4 4\n" + "\n".join(
        map(str, np.array([[0, 2.5, 0, 0], [2.5, 0, 1, 0], [0, 1, 0, 12], [0, 0, 12, 0]]).ravel())
    )
    for content in (market, array):
        graph = read_graph(text(content), weights=True)
        assert of(graph) == {(1, 2): 2.5, (2, 3): 1.0, (3, 4): 12.0}
    metis = read_graph(text("4 3 001\n2 5\n1 5 3 1\n2 1 4 12\n3 12\n"), weights=True, format="metis")
    assert of(metis) == {(1, 2): 5.0, (2, 3): 1.0, (3, 4): 12.0}


@pytest.mark.parametrize("threads", [1, 3])
def test_many_links_on_many_threads_have_their_weights(threads):
    rng = np.random.default_rng(1)
    ends, values = rng.integers(0, 300, (60_000, 2)), rng.random(60_000).round(12)
    lines = "".join(f"{a}\t{b}\t{w!r}\n" for (a, b), w in zip(ends.tolist(), values.tolist(), strict=True))
    graph = read_graph(text(lines), weights=3, threads=threads)
    assert of(graph) == of(Graph.from_edges(ends, weights=values))


def test_numbers_are_read_to_the_last_bit_or_nearly():
    rng = random.Random(1)
    for _ in range(2000):
        value = rng.choice([rng.random() * 10.0 ** rng.randint(-30, 30), float(rng.randint(1, 10**18))])
        spelling = rng.choice([repr(value), f"{value:.{rng.randint(0, 20)}e}", f"+{value:.12e}"])
        buf = np.frombuffer(spelling.encode() + b"\n", dtype=np.uint8).copy()
        status, found = _read_weight(buf, 0, len(spelling))
        assert status == 0
        assert found == pytest.approx(float(spelling), rel=4e-16)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [("0", "above zero"), ("-3", "above zero"), ("nan", "not a number"), ("inf", "not a number"),
     ("1e400", "beyond what a number can hold"), ("1e-400", "beyond what a number can hold"), ("", "not a number")],
)  # fmt: skip
def test_other_weights_are_an_error_with_file_and_line(tmp_path, weight, problem):
    path = tmp_path / "mails.csv"
    path.write_text(f"from,to,n\na,b,1\nb,c,{weight}\n")
    with pytest.raises(GraphFormatError, match=rf"mails\.csv, line 3, column 5: .*{problem}"):
        read_graph(path, weights="n")


@pytest.mark.parametrize(
    ("content", "options", "problem"),
    [
        ('[["a", "b", -1]]', {"weights": True}, "entry 0: its third entry must be a weight"),
        ('{"links": [{"source": 1, "target": 2}]}', {"weights": "n"}, "link 0: its value 'n' must be a weight"),
        ("2 1 001\n2 0\n1 0\n", {"weights": True, "format": "metis"}, "line 2: a weight must be above zero"),
        ("2 1\n2\n1\n", {"weights": True, "format": "metis"}, "no weights of links"),
        (",a,b,c\na,0,-1,0\nb,-1,0,1\nc,0,1,0\n", {"weights": True}, "line 2: a weight must not be below zero"),
        ("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", {"weights": True}, "no values"),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 5\n", {"weights": "n"}, "have no name"),
    ],
)  # fmt: skip
def test_other_formats_name_what_is_wrong(content, options, problem):
    with pytest.raises(InputError, match=problem):
        read_graph(text(content), **options)


def test_networkx_weights_are_those_of_the_attribute_that_is_named():
    networkx = pytest.importorskip("networkx")
    network = networkx.MultiDiGraph()
    network.add_weighted_edges_from([("a", "b", 2.0), ("b", "a", 1.0), ("a", "b", 4.0), ("b", "c", 3.0)], "n")
    graph = as_graph(network, weights="n")
    assert of(graph) == {("a", "b"): 7.0, ("b", "c"): 3.0}
    assert of(Graph.from_networkx(graph.to_networkx(), weights=True)) == of(graph)
    network.edges["b", "c", 0]["n"] = -1
    with pytest.raises(InputError, match="the link from 'b' to 'c' has -1"):
        as_graph(network, weights="n")
    with pytest.raises(InputError, match="has no attribute 'weight'"):
        as_graph(network, weights=True)


def test_igraph_weights_are_those_of_the_attribute_that_is_named():
    igraph = pytest.importorskip("igraph")
    network = igraph.Graph.TupleList([(a, b, w) for (a, b), w in PATH.items()], weights=True)
    assert of(as_graph(network, weights=True)) == PATH
    with pytest.raises(InputError, match="has no attribute 'n'"):
        as_graph(network, weights="n")


def test_matrices_have_their_entries_as_weights():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_array(([2.5, 1.0, 12.0], ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    symmetric = sparse.csr_array(matrix + matrix.T)
    by_number = {(0, 1): 2.5, (1, 2): 1.0, (2, 3): 12.0}
    for network in (matrix, symmetric, symmetric.toarray()):
        assert of(as_graph(network, weights=True)) == by_number
    assert as_graph(symmetric).weights is None
    graph = as_graph(symmetric, weights=True)
    assert (graph.to_scipy_weights() != symmetric).nnz == 0
    with pytest.raises(InputError, match=r"row 0, column 1 of the matrix \(from 0\) has -2.5"):
        as_graph(-matrix, weights=True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_have_a_column_of_weights(library):
    frames = pytest.importorskip(library)
    columns = {"from": ["a", "b", "c"], "to": ["b", "c", "d"], "n": [2.5, 1.0, 12.0]}
    assert of(as_graph(frames.DataFrame(columns), weights="n")) == PATH
    columns["n"][1] = float("nan")
    with pytest.raises(InputError, match="row 2 of column 'n' has nan"):
        as_graph(frames.DataFrame(columns), weights="n")


def test_from_pandas_names_the_row_of_a_bad_weight():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"source": [1, 2], "target": [2, 3], "n": [1.0, -2.0]}, index=["x", "y"])
    with pytest.raises(InputError, match="column 'n': row 'y' has -2"):
        Graph.from_pandas(frame, weights="n")
    with pytest.raises(InputError, match="is a column of labels"):
        Graph.from_pandas(frame, weights="target")


@pytest.mark.parametrize(
    ("network", "weights", "problem"),
    [
        (Graph.from_edges([(0, 1)]), True, "made already"),
        ([(0, 1)], [1, 2], "one number for each of 1 links"),
        ([(0, 1)], True, "without a third entry"),
        ([(0, 1)], "n", "True for the third entry"),
        ([(0, 1)], ["x"], "entry 0 has 'x', which is not a number"),
        ([(0, 1)], [10**400], "larger than a number can hold"),
        ([(0, 1), (0, 1)], [1.5e308, 1.5e308], "add up to more"),
        (np.eye(4), "n", "give True"),
        ("dataset:karate", True, "without weights"),
    ],
)
def test_weights_that_do_not_fit_are_refused(network, weights, problem):
    with pytest.raises(InputError, match=problem):
        as_graph(network, weights=weights)
