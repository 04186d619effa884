"""Every format is recognised by what the file contains, and gives the network that it describes."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.graph import Graph
from blockmix.graph.reading.read import read_graph

# Most formats are read by these libraries; what is said without them is in test_extras.py.
pytest.importorskip("networkx")
pytest.importorskip("polars")

TRIANGLE_AND_TAIL = {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")}
GRAPHML = (
    '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="k" for="node" attr.name="club" attr.type="string"/><graph edgedefault="undirected">'
    '<node id="a"><data key="k">x</data></node><node id="b"/><node id="c"/><node id="d"/><node id="e"/>'
    '<edge source="a" target="b"/><edge source="b" target="c"/><edge source="a" target="c"/>'
    '<edge source="c" target="d"/></graph></graphml>'
)
GML = (
    'Creator "somebody"\ngraph [ directed 0\n'
    + "".join(f'node [ id {i} label "{n}" club "x" ]\n' for i, n in enumerate("abcde"))
    + "".join(f"edge [ source {a} target {b} ]\n" for a, b in [(0, 1), (1, 2), (0, 2), (2, 3)])
    + "]\n"
)
PAJEK = (
    "*Vertices 5\n"
    + "".join(f'{i} "{n}"\n' for i, n in enumerate("abcde", 1))
    + "*Edges\n1 2\n2 3\n1 3\n3 4\n"
)
NODE_LINK = {
    "directed": False,
    "nodes": [{"id": n, "club": "x"} for n in "abcde"],
    "links": [{"source": a, "target": b, "weight": 2} for a, b in sorted(TRIANGLE_AND_TAIL)],
}
MATRIX = [[0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
NAMED_MATRIX = ",a,b,c,d,e\n" + "".join(
    f"{n},{','.join(map(str, row))}\n" for n, row in zip("abcde", MATRIX, strict=True)
)
PLACES = [(0, 1), (1, 2), (0, 2), (2, 3)]
METIS = "% a comment\n5 4\n2 3\n1 3\n1 2 4\n3\n\n"


@pytest.fixture
def read(tmp_path):
    def write_and_read(text: str | bytes, name: str = "network", **options) -> Graph:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_graph(path, **options)

    return write_and_read


def links(graph: Graph, names: str = "") -> set[tuple]:
    labels = [names[i] for i in range(len(graph.labels))] if names else list(graph.labels)
    return {tuple(sorted((labels[a], labels[b]))) for a, b in graph.edges().tolist()}


@pytest.mark.parametrize("text", [GRAPHML, GML, PAJEK, json.dumps(NODE_LINK), NAMED_MATRIX])
def test_named_networks_of_every_format_are_the_same(read, text):
    graph = read(text)
    assert list(graph.labels) == list("abcde")
    assert links(graph) == TRIANGLE_AND_TAIL
    assert "read as" in str(graph.summary)
    assert "1 isolated node kept" in str(graph.summary)


@pytest.mark.parametrize(
    "text",
    [
        METIS,
        "\n".join(" ".join(map(str, row)) for row in MATRIX),
        "\n".join(";".join(map(str, row)) for row in MATRIX) + "\n",
        "\ufeff" + "\n".join(", ".join(map(str, row)) for row in MATRIX),
        "%%MatrixMarket matrix array integer symmetric\n5 5\n"
        + "".join(f"{MATRIX[i][j]}\n" for j in range(5) for i in range(j, 5)),
        "%%MatrixMarket matrix array real general\n5 5\n" + "".join(f"{v}.0\n" for row in MATRIX for v in row),
        "%%MatrixMarket matrix array integer skew-symmetric\n5 5\n"
        + "".join(f"{-MATRIX[i][j]}\n" for j in range(5) for i in range(j + 1, 5)),
        "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 4\n2 1\n3 2\n3 1\n4 3\n",
        json.dumps({"nodes": [{"x": 1}] * 5, "links": [{"source": a, "target": b} for a, b in PLACES]}),
    ],
)  # fmt: skip
def test_numbered_networks_of_every_format_are_the_same(read, text):
    assert links(read(text), "abcde") == TRIANGLE_AND_TAIL


def test_attributes_of_nodes_are_kept(read):
    for text in (GML, json.dumps(NODE_LINK)):
        assert read(text).attributes["club"].values() == ["x"] * 5
    assert read(GRAPHML).attributes["club"].values() == ["x", None, None, None, None]


def test_other_forms_of_json(read):
    assert links(read('[["a", "b"], ["b", "c", 3]]')) == {("a", "b"), ("b", "c")}
    assert links(read('[{"from": 1, "to": 2}]')) == {(1, 2)}
    cytoscape = {
        "elements": {"nodes": [{"data": {"id": "a"}}], "edges": [{"data": {"source": "a", "target": "b"}}]}
    }
    assert links(read(json.dumps(cytoscape))) == {("a", "b")}
    named = {"nodes": [{"name": "a"}, {"name": "b"}], "edges": [{"source": 0, "target": 1}]}
    assert links(read(json.dumps(named))) == {("a", "b")}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1}', "no list of links; its keys are: 'a'"),
        ('{"links": [', "not valid"),
        ('{"nodes": [], "links": [5]}', "link 0 is '5', not an object"),
        ('{"links": [{"source": 1}]}', "link 0 has no source and target"),
        ('{"links": [{"source": 1.5, "target": 2}]}', "link 0 has no source and target"),
        ('{"nodes": [{"id": 1}, {}], "links": []}', "others have none"),
        ('{"nodes": [{}], "links": [{"source": 0, "target": 7}]}', "not in the list of 1 nodes"),
        ("[1, 2]", "entry 0 of the list is '1'"),
        ("[" * 100_000, "nested too deeply|not valid"),
        ('{"a": ' + "9" * 5000 + "}", "too long|no list of links"),
        ("<graphml><node", "networkx cannot read this GraphML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]>\n<graphml>&a;</graphml>', "entities of its own"),
        ("graph [ node [ id 1 ] edge [ source 1 target 9 ] ]", "networkx cannot read this GML"),
        ("*Vertices x\n", "networkx cannot read this Pajek"),
        ("%%MatrixMarket matrix array real general\n99999 99999\n1\n", "more than the file has entries for"),
        ("%%MatrixMarket matrix array real general\n2 3\n1\n", "2 by 3"),
        ("%%MatrixMarket matrix array real general\n3 3\n1\n0\n", "not the 9 numbers"),
        # SciPy 1.17 crashes on this one.
        ("%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n1\n1\n1\n", "not the 4 numbers"),
        ("%%MatrixMarket matrix array complex general\n1 1\n1 0\n", "only arrays of real numbers"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\nx\n0\n1\n", "not the 4 numbers"),
        (b"PAR1" + bytes(60), "polars cannot read this Parquet"),
    ],
)
def test_damaged_files_are_refused_in_words(read, text, problem):
    with pytest.raises(GraphFormatError, match=problem) as caught:
        read(text)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "links_of_it"),
    [
        ("1 2 1\n2 3 1\n1 3 1\n", 3),
        ("source,target,weight\n1,2,5\n2,3,5\n1,3,5\n", 3),
        ("0 1 5\n1 2 5\n2 0 7\n", 3),
        ("3 2\n1 2\n2 3\n", 2),
        ("1 1\n2 1\n", 1),
        # As many lines and numbers as a METIS file of four nodes and links, but 2 is a neighbour of 1 and 1 none of 2.
        ("4 4\n2 3\n3 4\n4 1\n1 2\n", 4),
    ],
)
def test_edge_lists_that_resemble_a_matrix_or_a_metis_file_stay_edge_lists(read, text, links_of_it):
    assert read(text).n_edges == links_of_it


def test_the_user_can_name_the_format(read):
    text = "0 1 1\n1 0 1\n1 1 0\n"
    assert read(text).n_nodes == 3
    assert read(text, format="edges").n_nodes == 2
    assert read("2 1\n2\n1\n", format="metis").n_edges == 1
    assert read("0 5\n0 0\n", format="matrix").n_edges == 1
    with pytest.raises(GraphFormatError, match="this row has 2 entries, and the matrix 3 rows"):
        read("0 1\n1 0\n1 1\n", format="matrix")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3 2\n2\n1 3\n", "ends after 2 of 3 nodes"),
        ("2 1\n2\n1\n1\n", "line 4: there are more than the 2 nodes"),
        ("2 1\n3\n1\n", "line 2: a neighbour is not a node from 1 to 2"),
        ("2 1 7\n2\n1\n", "line 1: the third number"),
        ("2 1 1\n2\n1\n", "line 2: the line has not one weight"),
        ("2 x\n2\n1\n", "whole numbers only"),
    ],
)
def test_a_bad_metis_file_is_named_with_its_line(read, text, problem):
    with pytest.raises(GraphFormatError, match=problem):
        read(text, format="metis")


def test_weights_of_a_metis_file_are_left_out(read):
    graph = read("3 2 011 2\n7 7 2 5\n7 7 1 5 3 5\n7 7 2 5\n", "net.graph")
    assert links(graph, "abc") == {("a", "b"), ("b", "c")}
    assert "weights are not used" in str(graph.summary)


def test_parquet_files_by_their_columns(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "links.parquet"
    table = {"when": [1, 2], "from": ["a", "b"], "to": ["b", "c"], "w": [1.0, 0.0]}
    polars.DataFrame(table).write_parquet(path)
    graph = read_graph(path)
    assert links(graph) == {("a", "b"), ("b", "c")}
    assert "('when', 'w')" in str(graph.summary)
    assert links(read_graph(path, columns=("when", 2))) == {("1", "a"), ("2", "b")}
    with pytest.raises(GraphFormatError, match="row 2 of column 'w' has 0"):
        read_graph(path, weights="w")
    with pytest.raises(InputError, match="sep and header"):
        read_graph(path, sep=",")


def test_gexf_of_networkx_is_read(tmp_path):
    networkx = pytest.importorskip("networkx")
    path = tmp_path / "net.gexf"
    networkx.write_gexf(networkx.Graph([("a", "b"), ("b", "c")]), path)
    assert links(read_graph(path)) == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize("nodes", [[7], ["x"]])
def test_isolated_nodes_can_be_added_to_any_format(read, nodes):
    graph = read(METIS, nodes=nodes)
    assert graph.n_nodes == 6
    assert graph.n_edges == 4


def test_a_size_line_cannot_ask_for_all_memory_when_nodes_are_text(read):
    text = f"%%MatrixMarket matrix coordinate pattern general\n{10**12} {10**12} 1\n1 2\n"
    with pytest.raises(GraphFormatError, match="declares"):
        read(text, nodes=["ann"])


def test_a_large_matrix_is_read_as_one(read):
    rng = np.random.default_rng(1)
    matrix = np.triu(rng.random((300, 300)) < 0.05, 1).astype(int)
    matrix += matrix.T
    text = io.StringIO()
    np.savetxt(text, matrix, fmt="%d", delimiter=",")
    assert read(text.getvalue()).n_edges == matrix.sum() // 2


def test_graphml_types_of_other_programs_are_read_as_text(tmp_path):
    """graph-tool writes vectors with types that GraphML does not have."""
    file = tmp_path / "network.graphml"
    file.write_text(
        GRAPHML.replace('attr.type="string"', 'attr.type="vector_float"').replace(">x<", ">0.5, 1<")
    )
    graph = read_graph(file)
    assert (graph.n_nodes, graph.n_edges) == (5, 4)
    assert list(graph.attributes) == ["club"]


def test_a_file_of_graph_tool_is_named():
    with pytest.raises(GraphFormatError, match=r"graph-tool file.*g\.save"):
        read_graph(io.BytesIO("⛾ gt".encode() + b"\x01\x00"))
