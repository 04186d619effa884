"""What people export and print: the right network, or one error that says what the file is; remarks on odd labels."""

import io

import pytest

from blockmix import GraphFormatError, read_graph
from blockmix.graph.reading.dialect import find_ends


def read(text, **options):
    return read_graph(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def notes(text, **options):
    return str(read(text, **options).summary)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("A = [0 1 0;\n 1 0 1;\n 0 1 0];\n", "a line of a program"),
        ("edges <- c(1, 2)\n", "a line of a program"),
        ("let edges = [[1, 2]];\n", "a line of a program"),
        ("   (2,1)        1\n   (1,2)        1\n", "a sparse matrix as MATLAB or SciPy prints it"),
        ("  (0, 1)\t1.0\n  (1, 0)\t1.0\n", "a sparse matrix as MATLAB or SciPy prints it"),
        ('structure(list(from = c("a", "b")), class = "data.frame")\n', "R text"),
        ("# A tibble: 2 x 2\n  from  to\n  <chr> <chr>\n1 a     b\n", "a table as R prints it"),
        (" source | target \n--------+--------\n ann    | bob\n", "a table that is drawn with lines"),
        ("+-----+-----+\n| src | dst |\n+-----+-----+\n| ann | bob |\n", "a table that is drawn with lines"),
        ("source  target\n------- -------\n1  2\n", "a table that is drawn with lines"),
        ("====== ======\nann    bob\n====== ======\n", "a table that is drawn with lines"),
        ("| source | target |\n|--------+--------|\n| ann | bob |\n", "a table that is drawn with lines"),
        ('{| class="wikitable"\n|-\n| ann || bob\n|}\n', "a table of a wiki"),
        ("INSERT INTO edges VALUES (1,2),(2,3);\n", "statements of SQL"),
        ("COPY public.edges (source, target) FROM stdin;\n1\t2\n", "statements of SQL"),
        ("edge(a, b).\nedge(b, c).\n", "facts"),
        ("(A:0.1,B:0.2,(C:0.3,D:0.4):0.5);\n", "a tree in Newick"),
        ('(tlp "2.3"\n(nodes 0..2)\n(edge 0 0 1)\n)\n', "TLP of Tulip"),
        ("- [ann, bob]\n- [bob, cem]\n", "YAML"),
        ("- source: ann\n  target: bob\n", "YAML"),
        ("ann:\n  - bob\n  - cem\n", "YAML"),
        ("@prefix ex: <http://x/> .\nex:a ex:knows ex:b .\n", "Turtle"),
        ("@article{smith2020,\n  author = {Smith, J},\n}\n", "BibTeX"),
        ("graph TD\n    A-->B\n    B-->C\n", "Mermaid"),
        ("LEDA.GRAPH\nstring\nint\n", "LEDA"),
        (">>graph6<<D?{\n", "graph6"),
        ("dl nr=3, nc=2\ndata:\n1 0\n", "UCINET DL"),
        ("DL format = edgelist1 N = 3\ndata:\n1 2\n", "UCINET DL"),
        ("*Edges\n1 2 1\n2 3 1\n", "Pajek without its section"),
        ("/* made by x */\ndigraph G {\n a -> b;\n}\n", "comments"),
        ("# ann\nbob 1.0\ncem 2.0\n# bob\ncem 0.5\n", "LGL"),
        ('# path flow name node_id\n1:1 0.25 "a" 1\n1:2 0.25 "b" 2\n', "Infomap"),
        ("# node_id module flow\n1 1 0.25\n2 1 0.25\n", "Infomap"),
        ("# script\nann 2\nbob {}\ncem {}\nbob 1\ncem {}\n", "a multi-line adjacency list"),
        ("node\tcommunity\nann\t1\nbob\t1\n", "nodes and their communities"),
        ("(lp0\n(I1\nI2\ntp1\na.", "pickle"),
        (b"\x80\x02]q\x00(K\x01K\x02\x86q\x01e.", "pickle"),
        (b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + bytes(90), "MATLAB"),
        ("Source\tTarget\nann\tbob\n".encode("utf-32"), "UTF-32"),
    ],
)
def test_what_is_no_list_of_links_is_named(text, what):
    with pytest.raises(GraphFormatError, match=f"looks like .*{what}"):
        read(text)


@pytest.mark.parametrize(
    ("text", "what", "columns"),
    [
        ("ann & bob \\\\\nbob & cem \\\\\n", "an arrow or the like", (1, 3)),
        ("ann / bob\nbob / cem\n", "an arrow or the like", (1, 3)),
        ("1) ann - bob\n2) bob - cem\n3) cem - ann\n", "an arrow or the like", (2, 4)),
        ("a\tpp\tb\tc\nb\tpd\tc\nc\tpp\ta\td\ne\tpp\tf\n", "their kind in column 2", (1, 3)),
        ("source,source,target\nann,x,bob\nbob,y,cem\n", "two columns that are called 'source'", (1, 3)),
        ("id,name,id,name\n1,ann,2,bob\n2,bob,3,cem\n", "two columns that are called 'id'", (1, 3)),
        (
            "tweet_id,user_id,retweeted\n"
            + "".join(f"{900 - 13 * i % 877},{i % 12},{(i * 5 + 1) % 12}\n" for i in range(40)),
            "an index, a time or the like",
            (2, 3),
        ),
        ("ann bob cem\nbob cem dan\ndan eve ann\ncem ann eve\n", "more than two labels a line", (1, 2)),
        (
            "id,friend1,friend2\n1,2,3\n2,1,3\n3,1,2\n",
            "more than two labels a line, in columns such as 'friend2'",
            (1, 2),
        ),
        ("id1\tid2\tid3\n1\t2\t3\n2\t3\t4\n", "more than two labels a line", (1, 2)),
        ("1\t2\t3\t4\t5\t6\t7\n8\t9\t10\t11\t12\t13\t14\n", "more than two labels a line", (1, 2)),
        (
            "4\nalpha 0 1 2 3\nbeta 1 0 2 3\ngamma 2 2 0 1\ndelta 3 3 1 0\n",
            "a name and numbers a line",
            None,
        ),
        (";a;b;c\na;;x;\nb;x;;x\nc;;x;\n", "entries that are no numbers, such as 'x'", None),
        (";a;b;c\na;0;0,5;1\nb;0,5;0;0\nc;1;0;0\n", "entries that are no numbers, such as '0,5'", None),
    ],
)
def test_the_remedy_names_the_columns(text, what, columns):
    with pytest.raises(GraphFormatError, match=what) as refused:
        read(text)
    if columns is not None:
        assert f"--columns {columns[0]},{columns[1]}" in str(refused.value)
        assert read(text, columns=columns).n_nodes >= 3


def test_a_sif_file_is_known_by_its_name(tmp_path):
    file = tmp_path / "made.sif"
    file.write_text("nodeA pp nodeB\nnodeB pd nodeC\n")
    with pytest.raises(GraphFormatError, match="--columns 1,3"):
        read_graph(file)


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (":START_ID(Person) role :END_ID(Movie) :TYPE", (0, 2)),
        ("_id _labels _start _end _type", (2, 3)),
        ("subject predicate object", (0, 2)),
        ("year exporter importer value", (1, 2)),
        ("country1 country2", (0, 1)),
        ("protein1 protein2 combined_score", (0, 1)),
        ("person event start end", None),
        ("v1 v2", None),
        ("nova terra", None),
    ],
)
def test_names_of_ends(names, ends):
    assert find_ends(names.split()) == ends


def test_ends_named_in_a_comment_are_the_columns():
    graph = read("# made by x\n# time source target\n1 10 20\n2 20 30\n3 30 10\n")
    assert list(graph.labels) == [10, 20, 30]
    assert "links from columns 2 ('source') and 3 ('target')" in str(graph.summary)
    assert read("#from\tto\tweight\nann\tbob\t2\nbob\tcem\t3\n", weights="weight").total_weight == 5
    assert list(read("# one two three\n1 10 20\n2 20 30\n").labels) == [1, 2, 10, 20]


def test_labels_that_look_like_names_of_columns_are_labels():
    assert read("node1 node2\nnode2 node3\nnode3 node1\n").n_edges == 3
    far = "node1 node2\n" + "".join(f"node{i} node{i + 1}\n" for i in range(3, 40)) + "node40 node1\n"
    assert "'node1' is the label of a node as well" in notes(far)
    assert read(far, header=False).n_edges == 39


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_rows_of_a_spreadsheet_are_no_links(end):
    for rows in (
        ["1,2,5", "2,3,4", ",,", ",,"],
        ["ann;bob", "bob;cem", ";", " ; "],
        [",", "ann,bob", ",", "bob,cem"],
    ):
        assert read(end.join(rows) + end).n_edges == 2
    table = end.join(["Id;Source;Target", "1;ann;bob", ";;", "2;bob;cem", ";;"]) + end
    assert read(table).n_edges == 2
    with pytest.raises(GraphFormatError, match="a label is empty") as refused:
        read(end.join(["id,source,target,n", "1,ann,bob,2", "2,,,7", "3,bob,cem,1"]) + end)
    assert refused.value.line == 3


def test_a_field_over_two_lines_is_an_error_with_its_line():
    for top in ("source,target,text\n", ""):
        with pytest.raises(GraphFormatError, match="a quoted field is not closed") as refused:
            read(top + '@ann,@bob,7,"hello, world\nhow are you, bob"\n@bob,@cem,8,"fine"\n')
        assert refused.value.line == (2 if top else 1)
    assert read('1,2,"a ""b"", c"\n2,3,"x"\n').n_edges == 2
    assert read('ann\tbob\t"hello\nbob\tcem\tworld"\n').n_edges == 2


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("007 008\n008 009\n7 8\n", "as '007' and '7'"),
        ("1.0 2.0\n2.0 3.0\n1 3\n", "as '1.0' and '1'"),
        ("1.23457E+12,a\n1.23457E+12,b\n3.1E+12,a\n", "without their last digits, as Excel writes them"),
        ("ann\t\\N\nbob\t\\N\nann\tbob\n", "if these cells have no value"),
        ("ann,bob\nbob,cem\nTotal,2\n", "'Total' (1 link): if it is a line of sums, remove it"),
        ("ann\tbob; cem\nbob\tcem\ncem\tann\n", "1 label looks like several names, such as 'bob; cem'"),
        ("n 4\n" + "".join(f"{i} {i + 1}\n" for i in range(12)), "all labels but 'n' are whole numbers"),
        ("52.52,13.40\n48.85,2.35\n51.50,0.12\n", "labels such as '52.52' are numbers with decimals"),
        ("3 3 2\n1 2 1.0\n2 3 1.0\n", "the first line '3 3 2' was read as a link but fits the counts"),
        ("1 2 -1\n2 3 1\n3 1 -1\n", "column 3 has values such as -1: every line is a link"),
        ("a,b,0\nb,c,1\nc,a,0\n", "column 3 has values such as 0: every line is a link"),
        ("ann,bob # friends\nbob,cem\n", "a label has a # in it"),
        (",a,b,c,Total\na,0,1,1,2\nb,1,0,1,2\nc,1,1,0,2\nTotal,2,2,2,6\n", "if it is a line of sums"),
        ("source,target\r\nann,bob\r\nsource,target\r\nbob,cem\r\n", "line 3 has the column names again"),
    ],
)
def test_what_is_odd_is_remarked(text, remark):
    assert remark in notes(text)


@pytest.mark.parametrize("sides", [{"directed": True}, {"bipartite": True}])
def test_directed_and_bipartite_networks_have_the_same_remarks(sides):
    assert "a node is called 'NA'" in notes("ann,NA\nbob,NA\ncem,bob2\n", **sides)


@pytest.mark.parametrize(
    "text",
    [
        "10.1000/182,10.1000/183\n10.1000/183,10.1000/184\n",
        "10.0.0.1 10.0.0.2\n10.0.0.2 10.0.0.3\n",
        "Lee; Ann\tRoe; Bob\nWu; Cem\tKim; Dan\n",
        "Lee, Ann;Roe, Bob\nLee, Kim;Roe, Ann\n",
        "".join(f"{i} x{i // 2}\n" for i in range(40)),
        "ann bob 3\nbob cem 1\n",
    ],
)
def test_what_is_usual_is_not_remarked(text):
    assert (
        "\n"
        not in notes(text, sep="\t" if "\t" in text else ";" if ";" in text else None)
        .split("extra")[0]
        .strip()
    )


def test_repeated_links_of_a_gml_file_are_merged_and_other_encodings_refused():
    pytest.importorskip("networkx")
    node = 'node [ id 0 label "Müller" ]\nnode [ id 1 label "Möller" ]\n'
    graph = read(f"graph [\ndirected 0\n{node}edge [ source 0 target 1 ]\nedge [ source 0 target 1 ]\n]\n")
    assert (graph.n_edges, graph.summary.merged) == (1, 1)
    assert "multigraph" not in notes(f"graph [\n{node}edge [ source 0 target 1 ]\n]\n")
    with pytest.raises(GraphFormatError, match="line 2 is not UTF-8 text"):
        read(f"graph [\n{node}edge [ source 0 target 1 ]\n]\n".encode("cp1252"))
    with pytest.raises(GraphFormatError, match="line 2 is not UTF-8 text"):
        read('*Vertices 2\n1 "Müller"\n2 "Möller"\n*Edges\n1 2 1\n'.encode("cp1252"))


def test_truth_values_of_a_matrix_are_links():
    graph = read('"","a","b","c"\n"a",FALSE,TRUE,TRUE\n"b",TRUE,FALSE,FALSE\n"c",TRUE,FALSE,FALSE\n')
    assert sorted(map(tuple, graph.edges().tolist())) == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ('{"ann": ["bob", "cem"], "bob": ["ann"], "cem": []}', {("ann", "bob"), ("ann", "cem")}),
        ('{"ann": {"bob": 2, "cem": 3}, "bob": {"ann": 2}}', {("ann", "bob"), ("ann", "cem")}),
        (
            '{"nodes": [{"id": "a"}, {"id": "b"}], "adjacency": '
            '[[{"id": "b", "weight": 3}], [{"id": "a", "weight": 3}]]}',
            {("a", "b")},
        ),
        (
            '{"graph": {"nodes": {"a": {"x": 1}, "b": {}}, "edges": [{"source": "a", "target": "b"}]}}',
            {("a", "b")},
        ),
        (
            '[{"data": {"id": "a"}}, {"data": {"id": "b"}}, {"data": {"source": "a", "target": "b"}}]',
            {("a", "b")},
        ),
        ('{"elements": [{"data": {"id": "a"}}, {"data": {"source": "a", "target": "b"}}]}', {("a", "b")}),
        ('[{"person1": "a", "person2": "b"}, {"person1": "b", "person2": "c"}]', {("a", "b"), ("b", "c")}),
        ('{"columns": ["source", "target"], "data": [["a", "b"], ["b", "c"]]}', {("a", "b"), ("b", "c")}),
        ('{"source": {"0": "a", "1": "b"}, "target": {"0": "b", "1": "c"}}', {("a", "b"), ("b", "c")}),
    ],
)
def test_forms_of_json(text, links):
    graph = read(text)
    names = list(graph.labels)
    assert {tuple(sorted((names[a], names[b]))) for a, b in graph.edges().tolist()} == links
    if "weight" in text:
        assert read(text, weights=True).total_weight == 3


def test_attributes_of_graphology_are_kept_and_unlisted_nodes_remarked():
    nodes = '[{"key": "a", "attributes": {"club": "x"}}, {"key": "b"}]'
    graph = read(f'{{"nodes": {nodes}, "edges": [{{"source": "a", "target": "c"}}]}}')
    assert graph.attributes["club"][graph.labels.index("a")] == "x"
    assert "1 node of a link is not in the list of nodes, such as 'c'" in str(graph.summary)


@pytest.mark.parametrize(
    "text", ['{"cells": [], "nbformat": 4}', '{"a": ["x"], "b": ["y"]}', '{"a": {}, "b": {}}']
)
def test_json_of_something_else_is_refused_with_its_keys(text):
    with pytest.raises(GraphFormatError, match="its keys are"):
        read(text)


def test_the_remedy_of_a_weight_says_how_decimals_are_written():
    for text in ("Von;Nach;w\nann;bob;1,5\n", 'from,to,w\nann,bob,"1,234"\n'):
        with pytest.raises(
            GraphFormatError, match="Write decimals with a point and thousands without a mark"
        ):
            read(text, weights="w")
    with pytest.raises(GraphFormatError, match="write_weighted_edgelist"):
        read("ann bob {'weight': 1.0}\n", weights="weight")
