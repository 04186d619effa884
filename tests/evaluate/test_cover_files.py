"""Files of communities are read and written in the user's labels, and errors name the line."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmix.errors import GraphFormatError, InputError
from blockmix.evaluate import read_cover_file, read_covers, write_covers
from blockmix.graph.labels import Labels

NAMES = Labels.of(["ann", "bob", "New York", "#4", " eve"])


def lists(cover):
    return [c.tolist() for c in cover]


@pytest.mark.parametrize("labels", [Labels.range(5), Labels.of([10, -3, 7, 99, 2]), NAMES])
@pytest.mark.parametrize("name", ["cover.txt", "cover.txt.gz"])
def test_what_is_written_is_read_back(tmp_path, labels, name):
    cover = [[2], [0, 1, 2], [3], [3, 4], [4], [0, 3]]
    write_covers(tmp_path / name, cover, labels)
    assert lists(read_covers(tmp_path / name, labels)) == cover


@settings(deadline=None)
@given(
    names=st.lists(st.text(min_size=1, max_size=6), min_size=3, max_size=3, unique_by=str.strip),
    cover=st.lists(st.sets(st.integers(0, 2), min_size=1), max_size=4),
)
def test_any_label_comes_back_or_is_refused_when_written(tmp_path_factory, names, cover):
    path = tmp_path_factory.mktemp("covers") / "cover.txt"
    labels = Labels.from_text(names) if all(_encodable(n) for n in names) else NAMES
    try:
        write_covers(path, [sorted(c) for c in cover], labels)
    except InputError:
        return
    # Two labels on every line can also be a node and its group, so the layout is named.
    assert lists(read_covers(path, labels, "communities")) == [sorted(c) for c in cover]


def _encodable(name):
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def test_tabs_spaces_comments_blank_lines_and_windows_line_ends(tmp_path):
    path = tmp_path / "cover.txt"
    path.write_bytes(b"\xef\xbb\xbf# truth\r\n1\t2 3\r\n\r\n  0 4  \r\n")
    assert lists(read_covers(path, Labels.range(5))) == [[1, 2, 3], [0, 4]]


def test_gzip_is_known_by_its_content(tmp_path):
    path = tmp_path / "cover.txt"
    path.write_bytes(gzip.compress(b"1 2\n"))
    assert lists(read_covers(path, Labels.range(5))) == [[1, 2]]


def test_labels_not_in_the_network_are_counted_and_left_out(tmp_path):
    path = tmp_path / "cover.txt"
    path.write_text(f"0 7\n8 9\n1 1 2 {2**63 - 1} {2**70}\n")
    found = read_cover_file(path, Labels.of([0, 1, 2, 2**63 - 1]))
    assert lists(found.communities) == [[0], [1, 2, 3]]
    assert (found.n_unknown, found.n_lost, found.first_unknown) == (4, 1, "7")
    whole = tmp_path / "whole.txt"
    whole.write_text("0 1\n")
    assert read_cover_file(whole, Labels.range(2)).first_unknown is None


def test_an_empty_file_is_an_empty_cover(tmp_path):
    path = tmp_path / "cover.txt"
    path.write_text("# nothing\n")
    assert read_covers(path, Labels.range(3)) == []


@pytest.mark.parametrize(
    ("content", "labels", "message"),
    [
        (b"0 1\n2 x3\n", Labels.range(5), r"cover.txt, line 2, column 3: not an integer.*'x3'"),
        (b"ann\n\nb\xff\n", NAMES, r"line 3, column 2: not UTF-8"),
        (b"zoe\n", NAMES, r"no label in this file is a node of the network \(found: 'zoe'\)"),
        (b"90 91\n", Labels.range(5), "no label in this file"),
        (gzip.compress(b"0 1\n" * 1000, mtime=0)[:-9], Labels.range(5), r"\.gz file is cut short"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, content, labels, message):
    path = tmp_path / "cover.txt"
    path.write_bytes(content)
    with pytest.raises(GraphFormatError, match=message):
        read_covers(path, labels)


def test_a_missing_file_and_a_missing_folder_are_said(tmp_path):
    with pytest.raises(GraphFormatError, match=r"nowhere\.txt: there is no such file"):
        read_covers(tmp_path / "nowhere.txt", NAMES)
    with pytest.raises(InputError, match="cannot be written"):
        write_covers(tmp_path / "no" / "cover.txt", [[0]], NAMES)


def test_nodes_and_labels_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(InputError, match="node 9"):
        write_covers(tmp_path / "c.txt", [[9]], NAMES)
    with pytest.raises(InputError, match="tab or line break"):
        write_covers(tmp_path / "c.txt", [[0]], Labels.of(["a\tb"]))


def test_a_hundred_thousand_communities_are_read(tmp_path):
    rng = np.random.default_rng(3)
    cover = [np.unique(c) for c in rng.integers(0, 500_000, (100_000, 10))]
    write_covers(tmp_path / "c.txt", cover, Labels.range(500_000))
    again = read_covers(tmp_path / "c.txt", Labels.range(500_000))
    assert len(again) == len(cover)
    assert all(np.array_equal(a, b) for a, b in zip(again, cover, strict=True))


@pytest.mark.parametrize(
    "content",
    [
        "ann\tred\nbob\tred\ncem\tblue\ndot\tblue\n",
        "ann,red\nbob,red\ncem,blue\ndot,blue\n",
        "ann;red\nbob;red\ncem;blue\ndot;blue\n",
        "node group\nann red\nbob red\ncem blue\ndot blue\n",
        "# truth\n\nann red\r\nbob red\r\ncem blue\r\ndot blue\r\n",
    ],
)
def test_a_node_and_its_group_a_line_is_recognised(tmp_path, content):
    path = tmp_path / "groups.txt"
    path.write_text(content)
    found = read_cover_file(path, Labels.of(["ann", "bob", "cem", "dot"]))
    assert lists(found.communities) == [[0, 1], [2, 3]]
    assert found.layout == "nodes"


def test_groups_that_are_numbers_like_the_nodes_are_recognised_by_how_often_they_repeat(tmp_path):
    path = tmp_path / "groups.txt"
    path.write_text("".join(f"{node}\t{node // 4}\n" for node in range(12)) + "0\t1\n")
    found = read_cover_file(path, Labels.range(12))
    assert lists(found.communities) == [[0, 1, 2, 3], [0, 4, 5, 6, 7], [8, 9, 10, 11]]
    path.write_text("0 1\n2 3\n4 5\n6 7\n")
    assert read_cover_file(path, Labels.range(12)).layout == "communities"


def test_the_layout_can_be_named(tmp_path):
    path = tmp_path / "groups.txt"
    path.write_text("ann bob\nbob ann\n")
    names = Labels.of(["ann", "bob"])
    assert read_cover_file(path, names).layout == "communities"
    assert lists(read_cover_file(path, names, "nodes").communities) == [[0], [1]]
    path.write_text("ann red\nbob red\n")
    assert read_cover_file(path, names, "communities").n_unknown == 2
    path.write_text("ann red blue\n")
    with pytest.raises(GraphFormatError, match="line 1: a line must name a node and its group"):
        read_cover_file(path, names, "nodes")
    with pytest.raises(InputError, match="layout='rows'"):
        read_cover_file(path, names, "rows")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0 1\r2 3\n", "line 1, column 4: a carriage return inside a line"),
        (b"0 1\n2 " + b"9" * 5000 + b"\n", "line 2, column 3: a number of 5,000 digits"),
        (b"0\t" + b"x" * 140_000 + b"\n", "line 1: a field of 140,000 characters"),
    ],
)
def test_odd_files_are_refused_with_line_and_remedy(tmp_path, content, message):
    path = tmp_path / "cover.txt"
    path.write_bytes(content)
    with pytest.raises(GraphFormatError, match=message) as caught:
        read_cover_file(path, Labels.range(5), "communities")
    assert caught.value.remedy


def test_a_line_of_another_length_at_the_end_makes_lines_communities(tmp_path):
    """All lines decide, also those after the first few thousand; the file is read a second time from its beginning."""
    path = tmp_path / "groups.txt"
    rows = [f"{node % 12}\t{90 + node % 3}\n" for node in range(5000)]
    path.write_text("".join(rows))
    found = read_cover_file(path, Labels.range(12))
    assert (found.layout, len(found.communities)) == ("nodes", 3)
    path.write_bytes(gzip.compress("".join([*rows, "1 2 3\n"]).encode()))
    found = read_cover_file(path, Labels.range(12))
    assert (found.layout, len(found.communities), found.n_unknown) == ("communities", 5001, 5000)
    assert found.communities[-1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("field", "problem"),
    [(b"2" * 140_000, "a field of 140,000 characters"), (b"2" * 5000, "a number of 5,000 digits")],
)
def test_endless_fields_are_refused_as_nodes_and_as_groups(tmp_path, field, problem):
    path = tmp_path / "groups.txt"
    for line in (b"1 " + field, field + b" 1", b"1 2 " + field):
        path.write_bytes(line + b"\n")
        with pytest.raises(GraphFormatError, match=problem):
            read_cover_file(path, Labels.range(5))
