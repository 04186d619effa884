"""Files that look like an edge list and are none are refused with what they look like; headers over numbers."""

import io
import tarfile

import pytest

from blockmix import GraphFormatError, read_graph
from blockmix.graph.reading.formats.not_links import lookalike


def read(text, **options):
    return read_graph(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


@pytest.mark.parametrize("arrow", ["->", "--", "<->", "-", "→", "=>"])
def test_an_arrow_is_no_node(arrow):
    text = f"# links\na {arrow} b\nb {arrow} c\n"
    with pytest.raises(GraphFormatError, match="looks like links with an arrow") as refused:
        read(text)
    assert (refused.value.line, "--columns 1,3" in str(refused.value)) == (2, True)
    assert list(read(text, columns=(1, 3)).labels) == ["a", "b", "c"]


def test_an_arrow_between_commas_is_no_node():
    with pytest.raises(GraphFormatError, match="looks like links with an arrow"):
        read("a,->,b\nb,->,c\n")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("ann pp bob\nbob pp cem\ncem pp ann\n", (1, 3)),
        ("ann\tpp\tbob\tdan\nbob\tpp\tcem\ncem\tpp\tann\n", (1, 3)),
        ("edge a b\nedge b c\nedge c a\n", (2, 3)),
        ("1,knows,2\n2,knows,3\n3,knows,1\n", (1, 3)),
    ],
)
def test_the_kind_of_a_link_is_no_node(text, columns):
    with pytest.raises(GraphFormatError, match="with their kind in column") as refused:
        read(text)
    assert f"--columns {columns[0]},{columns[1]}" in str(refused.value)
    assert read(text, columns=columns).n_nodes == 3


@pytest.mark.parametrize(
    "text",
    [
        "ann hub bob\nbob hub cem\n",  # two lines may be a star with remarks
        "ann hub 1\nbob hub 2\ncem hub 3\n",  # weights
        "1 7 2\n2 7 3\n3 7 1\n",  # a star of numbers, with weights
        "source kind target\n" + "ann pp bob\nbob pp ann\n" * 10,  # the header says it
        "ann dan bob\nbob dan cem\ndan eve ann\n",  # dan is a node
    ],
)
def test_a_column_of_labels_is_not_taken_for_kinds(text):
    assert "kind in column" not in str(lookalike(text.encode(), ""))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("(1, 2)\n(2, 3)\n", "Python text"), ("[(1, 2), (2, 3)]\n", "Python text"), ("[('a b', 'c')]", "Python text"),
        ("{'ann': ['bob']}\n", "Python text"), ("| a | b |\n|---|---|\n| 1 | 2 |\n", "a Markdown table"),
        ("*node data\nID name\n1 a\n", "UCINET VNA"), ("// made by x\na b\n", "comments"), ("; x\na b\n", "comments"),
        ("c remark\np edge 3 2\ne 1 2\n", "DIMACS"), ("p sp 3 2\na 1 2 5\n", "DIMACS"),
    ],
)  # fmt: skip
def test_other_notations_are_named(text, what):
    with pytest.raises(GraphFormatError, match=f"looks like .*{what}"):
        read(text)


@pytest.mark.parametrize(
    "text", ["(a) (b)\n(b) (c)\n", "(S)-x,(R)-y\n(R)-y,z\n", "p edge\nedge q\n", "|a b\nb c\n"]
)
def test_labels_with_marks_are_labels(text):
    assert read(text).n_edges == 2


def test_what_the_file_may_not_have_meant_is_remarked():
    notes = str(read("sender;recipients\nann;bob\nbob;cem\nNA;bob\n").summary)
    assert "'sender' and 'recipients' in the first line occur nowhere else" in notes
    assert "a node is called 'NA' (1 link)" in notes
    clean = str(read("ann;bob\nbob;cem\ncem;Nan\nNAOMI;ann\n").summary)
    assert "occur nowhere" not in clean
    assert "is called" not in clean
    assert list(read("sender;recipients\nann;bob\nbob;cem\n", header=True).labels) == ["ann", "bob", "cem"]


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("Ann", "ann", "'Ann' and 'ann'"),
        ("ann  lee", " ann lee", "'ann  lee' and ' ann lee'"),
        ("e\u0301", "\u00e9", r"'e\u0301' and '\xe9'"),
        ("ann", "ann\u200b", r"'ann' and 'ann\u200b'"),
        ("\uff21nn", "ann", r"'\uff21nn' and 'ann'"),
    ],
)
def test_two_labels_that_a_reader_cannot_tell_apart_are_remarked(one, other, shown):
    graph = read(f'"{one}",bob\n"{other}",cem\nbob,cem\n')
    assert graph.n_nodes == 4
    assert f"one label looks like another one, as {shown}: if they are one node" in str(graph.summary)
    assert "looks like another" not in str(read(f'"{one}",bob\n"{one}",cem\nbob,anna\n').summary)


@pytest.mark.parametrize("header", ["date,caller,callee,s", "t,Origin,Destination,n", "x,Quelle,Ziel,y"])
def test_the_ends_of_a_link_have_many_names(header):
    graph = read(f"{header}\n2020,ann,bob,1\n2021,bob,cem,1\n")
    assert list(graph.labels) == ["ann", "bob", "cem"]


def test_a_dash_that_is_a_label_somewhere_is_no_arrow():
    assert read("a - 1\nb c 2\n").n_nodes == 4


@pytest.mark.parametrize("text", ["a b c d\nb c\nc d e\n", "1 2 3 4\n2 3\n3 4 5\n", "a,b,c,d\nb,c\nc,d,a\n"])
def test_an_adjacency_list_is_not_read_as_two_columns(text):
    with pytest.raises(GraphFormatError, match="looks like an adjacency list"):
        read(text)
    assert read(text, columns=(1, 2)).n_edges == 3


@pytest.mark.parametrize(
    "text",
    [
        "a b {'weight': 3, 'kind': 'x'}\nb c {}\nc d {'weight': 1}\n",
        "a b 3\nb c\nc d 1\n",
        "1 2 0.5 now\n2 3\n3 4 0.5\n",
        "a,b,,\nb,c,1,\nc,d,,x\n",
        '"Ann Lee" "Bob" x\n"Cy" "Dan O" "y z"\n',
        "",
    ],
)
def test_remarks_and_empty_cells_do_not_make_an_adjacency_list(text):
    assert lookalike(text.encode(), "") is None


def test_a_word_above_numbers_makes_the_first_line_a_header():
    graph = read("Name A,Name B,Strength\nann,bob,1\nbob,cem,2.5e0\n")
    assert list(graph.labels) == ["ann", "bob", "cem"]
    assert "taken as column names" in str(graph.summary)
    assert "'Strength'" in str(graph.summary)


@pytest.mark.parametrize("first", ["ann,bob,NA", "ann,bob,", "ann,bob,?", "ann,bob,7", "1,2,x"])
def test_a_cell_without_a_value_does_not_make_the_first_line_a_header(first):
    assert read(f"{first}\nbob,cem,1\ncem,dan,2\n").n_edges == 3


def tar():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("edges.txt"))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a picture"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "a picture"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1" + bytes(50), "an Excel workbook"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(50), "a 7z archive"),
        (tar(), "a tar archive"),
    ],
)
def test_binary_files_are_named(content, what):
    with pytest.raises(GraphFormatError, match=f"looks like {what}"):
        read(content)
