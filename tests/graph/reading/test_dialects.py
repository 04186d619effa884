"""Tables of links as programs write them: separators, headers and columns are found, or chosen by the user."""

from __future__ import annotations

import pytest

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.graph import Graph
from blockmix.graph.reading.read import read_graph


@pytest.fixture
def read(tmp_path):
    def write_and_read(text: str | bytes, **options) -> Graph:
        path = tmp_path / "edges.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_graph(path, **options)

    return write_and_read


def pairs(graph: Graph) -> set[tuple]:
    names = list(graph.labels)
    return {tuple(sorted((names[a], names[b]))) for a, b in graph.edges().tolist()}


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", "|", "; ", " | ", ", ", "   ", "\t\t"])
@pytest.mark.parametrize("labels", [("1", "2", "3"), ("ann", "bob", "cem"), ('"a b"', '"c;d"', '"e,f|g"')])
@pytest.mark.parametrize(
    "header", ["", "source{}target\n", '"Source Person"{}"Target Person"\n', "from{}to\n"]
)
def test_every_separator_is_recognised(read, separator, labels, header):
    a, b, c = labels
    text = header.format(separator) + f"{a}{separator}{b}\n{b}{separator}{c}\n"
    graph = read(text)
    names = [int(x) if x.isdigit() else x.strip('"') for x in labels]
    assert sorted(graph.labels) == names
    assert pairs(graph) == {(names[0], names[1]), (names[1], names[2])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Read silently wrong before: a quoted label with a blank above integers was taken for two names.
        ('"Ann Lee" 7\n1 2\n', {("7", "Ann Lee"), ("1", "2")}),
        ("source\t\ttarget\n1\t\t2\n", {(1, 2)}),
        ("source\t\ttarget\n1\t2\n", {(1, 2)}),
        ("who\t\twhom\n1\t\t2\n", {(1, 2)}),
        ("1; 2\n2; 3\n", {(1, 2), (2, 3)}),
        # A vertical tab is part of a label, in the first line as in any other.
        ("a\x0bb c\n1 2\n", {("a\x0bb", "c"), ("1", "2")}),
        # A blank inside a label between semicolons makes it text, not two numbers.
        ("1 2;3\n4;5\n", {("1 2", "3"), ("4", "5")}),
        # The comma of a decimal number does not separate.
        ("1;2;0,5\n2;3;0,7\n", {(1, 2), (2, 3)}),
        # The index that pandas writes has no name.
        (",source,target\n0,5,6\n1,6,7\n", {(5, 6), (6, 7)}),
        ("\tsource\ttarget\n0\t5\t6\n1\t6\t7\n", {(5, 6), (6, 7)}),
        ("id,FromNodeId,ToNodeId,weight\n0,ann,bob,2\n", {("ann", "bob")}),
        ("weight node1 node2\n9 1 2\n8 2 3\n", {(1, 2), (2, 3)}),
    ],
)
def test_tables_that_are_easily_misread(read, text, expected):
    assert pairs(read(text)) == expected


def test_a_form_feed_does_not_end_a_label(read):
    with pytest.raises(GraphFormatError, match="line 1, column 4: a link needs two labels"):
        read("a\x0cb\n1 2\n")


def test_two_separators_that_cut_labels_are_for_the_user_to_decide(read):
    text = "Doe, Ann;Roe, Bob\n"
    with pytest.raises(GraphFormatError, match=r"commas or semicolons.*--sep"):
        read(text)
    assert pairs(read(text, sep=";")) == {("Doe, Ann", "Roe, Bob")}
    assert pairs(read(text, sep="semicolon")) == {("Doe, Ann", "Roe, Bob")}


def test_the_separator_of_the_user_is_the_only_one(read):
    assert pairs(read("1,2 3\n4,5 6\n", sep=",")) == {("1", "2 3"), ("4", "5 6")}
    assert pairs(read("1,2 3,4\n", sep=" ")) == {("1,2", "3,4")}
    assert pairs(read("1 2\t3\n", sep="\t")) == {("1 2", "3")}


def test_columns_are_chosen_by_name_or_number(read):
    text = "time;who;whom\n3;ann;bob\n4;bob;cem\n"
    expected = {("ann", "bob"), ("bob", "cem")}
    assert pairs(read(text, columns=("who", "whom"))) == expected
    assert pairs(read(text, columns=("WHOM", "who"))) == expected
    assert pairs(read(text, columns=(2, 3), header=True)) == expected
    assert pairs(read("9 1 2\n9 2 3\n", columns=(3, 2))) == {(1, 2), (2, 3)}
    assert pairs(read("a\tx y\tb\nc\t\td\n", columns=(1, 3))) == {("a", "b"), ("c", "d")}
    with pytest.raises(
        GraphFormatError, match=r"'to whom' is not there; the columns are: 'time', 'who', 'whom'"
    ):
        read(text, columns=("who", "to whom"))
    with pytest.raises(GraphFormatError, match="no column 4: this line has 3"):
        read(text, columns=(1, 4))
    with pytest.raises(GraphFormatError, match=r"line 2.*fewer columns"):
        read("9 1 2\n9 2\n", columns=(2, 3))


def test_a_header_is_taken_or_not_as_the_user_says(read):
    assert pairs(read("source target\n", header=False)) == {("source", "target")}
    assert pairs(read("1 2\n3 4\n", header=True)) == {(3, 4)}
    assert pairs(read("who whom\nann bob\n", header=True)) == {("ann", "bob")}


def test_columns_that_are_not_used_are_named(read):
    summary = str(read("source,target,weight,when\n1,2,5,monday\n").summary)
    assert "extra columns ignored in 1 record ('weight', 'when')" in summary
    assert "weights are not used" in summary
    assert "(column 3)" in str(read("1 2 5\n").summary)


@pytest.mark.parametrize("weight", ["1", "0.5", ".5", "1e-3", '"2"', "+3", "1."])
def test_weights_above_zero_are_read_and_the_summary_names_their_column(read, weight):
    graph = read(f"a,b,w\nann,bob,{weight}\n", weights="w")
    assert graph.weights.tolist() == [float(weight.strip('"'))] * 2
    assert "weights from column 3 ('w')" in str(graph.summary)


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        ("0", "above zero"), ("-1", "above zero"), ("0.0", "above zero"), ("-2e5", "above zero"),
        ("x", "not a number"), ("", "not a number"), ("nan", "not a number"), ("inf", "not a number"),
        ("1e", "not a number"), ("1 2", "not a number"), ("1,5", "not a number"), ("0x1", "not a number"),
    ],
)  # fmt: skip
def test_other_weights_are_an_error_with_the_line(read, weight, problem):
    with pytest.raises(GraphFormatError, match=rf"line 3, column 3: .*{problem}"):
        read(f"a;w;b\n1;1;2\n2;{weight};3\n", weights="w", columns=("a", "b"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": "::"}, "sep='::'"),
        ({"sep": 5}, "sep=5"),
        ({"header": 1}, "header=1"),
        ({"columns": "ab"}, "columns='ab'"),
        ({"columns": (0, 1)}, "counted from 1"),
        ({"columns": ("a", "a")}, "one column twice"),
        ({"columns": (1, 2, 3)}, "two columns"),
        ({"weights": 1.5}, "weights: 1.5"),
        ({"weights": 2, "columns": (1, 2)}, "weights=2 is a column of labels"),
        ({"format": "xlsx"}, "format='xlsx': formats are edges"),
    ],
)
def test_odd_options_are_named(read, options, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        read("1 2 3\n", **options)


def test_options_of_tables_do_not_go_with_other_formats(read):
    with pytest.raises(InputError, match="sep: a file in the format 'json' has no columns"):
        read('[["a", "b"]]', sep=",")


@pytest.mark.parametrize("text", ["\x0c1 2\n2 3\n", "2 3\nann \x0c1\n", "é1 \x0c1\n"])
def test_a_label_with_a_form_feed_is_pointed_out(read, text):
    """It is part of the label, but most files that have one mean a blank."""
    notes = read(text).summary.notes
    assert notes == (r"a label has control characters, '\x0c1': they are part of it and separate nothing",)
    assert read(text.replace("\x0c", "")).summary.notes == ()
