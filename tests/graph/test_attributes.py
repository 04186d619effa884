"""Attributes of nodes: from tables of any kind, matched by label, and back from disk as they were."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest

from blockmix.errors import GraphFormatError, InputError
from blockmix.files import seal
from blockmix.graph.accept import as_graph
from blockmix.graph.attributes import Attribute, NodeTable
from blockmix.graph.graph import Graph
from blockmix.graph.reading.nodes import read_nodes
from blockmix.graph.reading.read import read_graph


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2.5, None], "number", [1.0, 2.5, None]),
        (["1", "-2", ""], "number", [1.0, -2.0, None]),
        (["01", "2"], "text", ["01", "2"]),
        (["1", "x"], "text", ["1", "x"]),
        ([True, False], "text", ["True", "False"]),
        (["", None], "text", [None, None]),
        ([math.nan, 3.0], "number", [None, 3.0]),
        (["NA", "7"], "number", [None, 7.0]),
        (np.array([1, 2]), "number", [1.0, 2.0]),
        (["9" * 5000], "text", ["9" * 5000]),
        (["e6", "."], "text", ["e6", "."]),
        ([".5", "5.", "-1e3"], "number", [0.5, 5.0, -1000.0]),
    ],
)
def test_numbers_are_numbers_and_everything_else_is_text(values, kind, expected):
    attribute = Attribute.of(values)
    assert attribute.kind == kind
    assert attribute.values() == expected
    assert [attribute[i] for i in range(len(attribute))] == expected
    assert attribute.known.tolist() == [value is not None for value in expected]


@pytest.mark.parametrize(
    "text",
    [
        "id,club,age\n2,x,31\n7,,40\n",
        "club;ID;age\nx;2;31\n;7;40\n",
        "node\tclub\tage\n2\tx\t31\n7\t\t40\n",
        '"name"|"club"|"age"\n"2"|"x"|"31"\n# a comment\n\n7||40\n',
        "\ufeffwho\tclub\tage\r\n2\tx\t31\r\n7\t\t40\r\n",
    ],
)
def test_a_table_of_nodes_is_recognised_by_its_first_line(text):
    nodes = read_nodes(io.BytesIO(text.encode()))
    assert nodes.labels.tolist() == [2, 7]
    assert nodes.table["club"].values() == ["x", None]
    assert nodes.table["age"].values() == [31.0, 40.0]


@pytest.mark.parametrize("text", ["Doe, John\nRoe, Ann\n", "node one\nnode two\n"])
def test_a_list_of_labels_with_blanks_and_commas_stays_a_list(text):
    nodes = read_nodes(io.StringIO(text))
    assert nodes.table is None
    assert nodes.labels.tolist() == text.splitlines()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,club\n1,x\n1,y\n", "node '1' has two rows"),
        ("id,club\n1\n", "line 2: this line has 1 columns, and the first line names 2"),
        ("id,club,club\n1,x,y\n", "line 1: two columns have the same name"),
        ("id,club\n,x\n", "line 2, column 1: a label is empty"),
        (b"id,club\n1,\xff\n", "line 2.*UTF-8"),
        (b"id\tclub\n1\tx\0\n", "line 2.*NUL"),
    ],
)
def test_a_bad_table_is_named_with_its_line(text, problem):
    with pytest.raises(InputError, match=problem):
        read_nodes(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def test_nodes_of_edge_list_and_table_are_matched_and_counted(tmp_path):
    edges, nodes = tmp_path / "edges.txt", tmp_path / "nodes.csv"
    edges.write_text("1 2\n2 3\n")
    nodes.write_text("id,club\n3,x\n9,y\n")
    graph = read_graph(edges, nodes=nodes)
    assert list(graph.labels) == [1, 2, 3, 9]
    assert graph.attributes["club"].values() == [None, None, "x", "y"]
    assert "attributes: 'club'" in str(graph.summary)
    assert "2 of 4 nodes are not in the node table" in str(graph.summary)


def test_attributes_come_back_from_disk(tmp_path):
    table = NodeTable.of({"club": ["x", None, "Zoë"], "age": [1.5, None, 3]})
    graph = Graph.from_edges([(0, 1), (1, 2)])
    object.__setattr__(graph, "attributes", table)
    graph.save(tmp_path / "net")
    for mmap in (True, False):
        found = Graph.load(tmp_path / "net", mmap=mmap).attributes
        assert list(found) == ["club", "age"]
        assert found["club"].values() == ["x", None, "Zoë"]
        assert found["age"].values() == [1.5, None, 3.0]


@pytest.mark.parametrize(
    ("file", "array"),
    [
        ("attribute_0_codes.npy", np.array([0, 5, 1], dtype=np.int32)),
        ("attribute_0_codes.npy", np.array([0, -2, 1], dtype=np.int32)),
        ("attribute_0_codes.npy", np.array([0], dtype=np.int32)),
        ("attribute_0_offsets.npy", np.array([0, 9, 2], dtype=np.int64)),
        ("attribute_0_text.npy", np.array([255, 255], dtype=np.uint8)),
        ("attribute_1_numbers.npy", np.zeros(2)),
        ("attribute_1_numbers.npy", np.zeros(3, dtype=np.int64)),
    ],
)
def test_crafted_attributes_are_refused(tmp_path, file, array):
    graph = Graph.from_edges([(0, 1), (1, 2)])
    object.__setattr__(graph, "attributes", NodeTable.of({"club": ["x", None, "y"], "age": [1, 2, 3]}))
    graph.save(tmp_path / "net")
    np.save(tmp_path / "net" / file, array, allow_pickle=False)
    with pytest.raises(InputError, match=r"attribute_"):
        Graph.load(tmp_path / "net", verify=False)


@pytest.mark.parametrize("listed", [5, [5], [{"name": 1, "kind": "text"}], [{"name": "a", "kind": "x"}]])
def test_crafted_manifests_of_attributes_are_refused(tmp_path, listed):
    Graph.from_edges([(0, 1)]).save(tmp_path / "net")
    manifest = tmp_path / "net" / "manifest.json"
    body = json.loads(manifest.read_text()) | {"attributes": listed}
    manifest.write_text(json.dumps(seal({name: body[name] for name in body if name != "checksum"})))
    with pytest.raises(InputError, match="attribute"):
        Graph.load(tmp_path / "net")


def test_a_missing_attribute_is_named():
    with pytest.raises(InputError, match="no attribute 'age'; attributes: 'club'"):
        NodeTable.of({"club": ["x"]})["age"]
    with pytest.raises(InputError, match="has 1 values for 2 nodes"):
        NodeTable.of({"club": ["x"]}, 2)


def test_numbers_can_be_taken_as_categories():
    assert Attribute.of([1, 2, None, 1]).as_text().values() == ["1", "2", None, "1"]


def test_a_damaged_table_is_a_format_error():
    with pytest.raises(GraphFormatError, match="carriage return"):
        read_nodes(io.BytesIO(b"id\tclub\n1\tx\ry\n"))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({1: 2}, "column '1' must be a sequence of labels, not '2'"),
        ({"id": [1, 2], "x": 5}, "attribute 'x' must be one value for each node, not '5'"),
        ({"id": [1, 2], "x": "ab"}, "attribute 'x' must be one value for each node, not 'ab'"),
        ({"id": [1, 2], "x": np.ones((2, 2))}, "attribute 'x' must be one value for each node"),
        ([["a"]], "value 0 is .*, not a label"),
        (np.ones((2, 2), dtype=int), "must be a sequence of labels"),
    ],
)
def test_columns_and_labels_that_are_none_are_named(given, problem):
    with pytest.raises(InputError, match=problem):
        read_nodes(given)


def test_whole_numbers_of_any_size_are_labels():
    graph = as_graph([(1, 2)], nodes=[2**63, 3])
    assert sorted(map(str, graph.labels)) == sorted(["1", "2", "3", str(2**63)])


@pytest.mark.parametrize("given", [7, 1.5, b"ab", True])
def test_what_holds_no_nodes_is_refused(given):
    with pytest.raises(InputError, match="nodes must be labels, a table or a file of them, not"):
        read_nodes(given)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("id,age\n1.0,3\n2.0,4\n", "the table has '1.0', the network '1'"),
        ("id,age\n01,3\n02,4\n", "the table has '01', the network '1'"),
        ("name,age\nann,3\nbob,4\n", "no label of the column 'name'"),
        ("1,ann\n2,bob\n", "if it is a table, call the column with the labels id"),
        ("person,dept\n1,x\n2,y\n", "if it is a table, call the column with the labels id"),
    ],
)
@pytest.mark.parametrize("network", ["1 2\n2 3\n", '[["1", "2"], ["2", "3"]]'])
def test_a_table_of_other_nodes_is_an_error(table, problem, network):
    """Without a node in common every row would be one more node without links."""
    with pytest.raises(InputError, match=problem):
        read_graph(io.StringIO(network), nodes=io.StringIO(table))


def test_a_list_of_nodes_without_links_and_a_table_of_some_nodes_are_taken():
    network = "1 2\n2 3\n"
    assert read_graph(io.StringIO(network), nodes=io.StringIO("7\n8\n")).n_nodes == 5
    assert read_graph(io.StringIO(network), nodes=io.StringIO("id,age\n1,3\n9,4\n,\n")).n_nodes == 4
    assert list(
        read_graph(io.StringIO(network), nodes=io.StringIO(":ID,name\n1,ann\n2,bob\n")).attributes
    ) == ["name"]
