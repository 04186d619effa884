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
