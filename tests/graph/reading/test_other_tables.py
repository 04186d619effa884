"""Tables that real programs write: what has its labels elsewhere, or no links, is read rightly or refused."""

import io

import pytest

from blockmix import GraphFormatError, read_graph
from blockmix.graph.reading.formats.not_links import lookalike


def read(text, **options):
    return read_graph(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


@pytest.mark.parametrize(
    "text",
    [
        '"from" "to"\n"1" "ann" "bob"\n"2" "bob" "cem"\n"3" "cem" "ann"\n',  # write.table
        '"a","b"\n"1","ann","bob"\n"2","bob","cem"\n"3","cem","ann"\n',  # names that mean nothing
        "from\tto\n1\tann\tbob\n2\tbob\tcem\n3\tcem\tann\n",  # quote = FALSE
        '"from" "to" "w"\n"1" "ann" "bob" 1.5\n"2" "bob" "cem" 2\n"3" "cem" "ann" 1\n',
    ],
)
def test_the_row_names_of_r_are_no_nodes(text):
    graph = read(text)
    assert (set(graph.labels), graph.n_edges) == ({"ann", "bob", "cem"}, 3)
    assert "links from columns 2" in str(graph.summary)


def test_row_names_above_numbers_leave_whole_numbers_as_labels():
    graph = read('"from" "to"\n"1" 5 7\n"2" 7 9\n"3" 1 5\n')
    assert list(graph.labels) == [1, 5, 7, 9]
    assert read('"from" "to" "w"\n"1" 5 7 2\n"2" 7 9 3\n', weights="w").total_weight == 5


def test_a_column_of_weights_without_a_name_is_no_label():
    graph = read("source target\n1 2 0.5\n2 3 0.25\n3 1 1\n")
    assert (list(graph.labels), graph.n_edges) == ([1, 2, 3], 3)


def test_labels_that_hold_the_separator_are_an_error_with_the_line():
    with pytest.raises(GraphFormatError, match="has 4 columns, and the first line names 2") as refused:
        read("# names\nsource,target\nSmith, Ann,Jones, Bob\nJones, Bob,Can, Cem\n")
    assert (refused.value.line, "Quote labels" in str(refused.value)) == (3, True)
    assert read("source,target\nann,bob,,\nbob,cem,,\n").n_edges == 2


@pytest.mark.parametrize("top", ["sep=;\r\n", "\ufeffsep=;\n", '"sep=;"\r\n'])
def test_the_line_that_tells_excel_the_separator_is_no_link(top):
    graph = read(top + "Source;Target;Weight\r\nann;bob;1,5\r\nbob;cem;2\r\n")
    assert (list(graph.labels), graph.n_edges) == (["ann", "bob", "cem"], 2)
    assert list(read(top + "1;2\n2;3\n").labels) == [1, 2, 3]
    with pytest.raises(GraphFormatError) as refused:
        read(top + "a b;c\nb c\n")
    assert refused.value.line == 3


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("0.5 ann bob\n0.7 bob cem\n0.1 cem dot\n", "a number in column 1"),
        ("1.5 1 2\n0.25 2 3\n1 3 4\n", "a number in column 1"),
        (
            "2004-04-15 10:16,ann,bob\n2004-04-16 11:00,dot,cem\n2005-01-01 00:00,ann,eve\n",
            "a date in column 1",
        ),
        ("15.04.2004;ann;bob\n16.04.2004;dot;cem\n17.04.2004;ann;eve\n", "a date in column 1"),
        ("0,ann,bob\n1,bob,cem\n2,cem,ann\n3,cem,dot\n", "an index, a time or the like"),
        ("year,here,there\n1990,FR,DE\n1990,DE,IT\n1991,FR,IT\n", "an index, a time or the like"),
    ],
)
def test_what_is_before_the_labels_is_no_label(text, what):
    with pytest.raises(GraphFormatError, match=what) as refused:
        read(text)
    assert "--columns 2,3" in str(refused.value)
    assert refused.value.line == 1
    assert read(text, columns=(2, 3), header=text.startswith("year")).n_edges >= 3


def test_decimal_commas_are_numbers_where_the_separator_is_known():
    text = "0,5;ann;bob\n0,7;bob;cem\n0,1;cem;dot\n"
    with pytest.raises(GraphFormatError, match="separated by commas or semicolons"):
        read(text)
    for known in ({"sep": ";"}, {}):
        with pytest.raises(GraphFormatError, match="a number in column 1"):
            read(text if known else "sep=;\n" + text, **known)


def test_times_of_contacts_are_no_nodes():
    contacts = [(20 * (i // 3), 1000 + i * 7 % 23, 1000 + (i * 7 + 5) % 23) for i in range(90)]
    with pytest.raises(GraphFormatError, match="an index, a time or the like in column 1"):
        read("".join(f"{t} {a} {b} 9A 9B\n" for t, a, b in contacts))


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{i} {i + 1} {i % 7 + 1}\n" for i in range(40)),  # a path with weights
        "".join(
            f"{u} {100 + i % 30} {i % 5 + 1} {8e8 + i:.0f}\n" for u in (1, 2, 3) for i in range(30)
        ),  # ratings
        "".join(f"1 {i} {i % 20 + 2}\n" for i in range(2, 60)),  # a star with weights
        "ann bob 0.5\nbob cem 0.25\ncem ann 1\n",
        "ann hub x\nbob hub y\ncem hub z\n",
        "0.5 1.5 3\n1.5 2.5 4\n2.5 0.5 5\n",  # decimals as labels
        "a 1 0\nb 1 1\na 0 1\nb 0 0\n",  # zeros and ones behind labels that repeat
    ],
)
def test_edge_lists_with_weights_stay_edge_lists(text):
    assert lookalike(text.encode(), "") is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("event,ann,bob,cem\np1,1,1,0\np2,0,1,1\np3,1,0,1\n", "incidence"),
        ("1 0 1\n0 1 1\n1 1 0\n0 0 1\n1 1 1\n", "incidence"),
        ("a: b c\nb: c\n", "an adjacency list, with a colon"),
        ("circle0\t71\t215\t54\ncircle1\t173\ncircle2\t155\t99\t327\t140\n", "such as communities"),
        ("hello world\nthis is not a network at all\nbut some text\n", "such as communities"),
        ("Id,Label,age\n1,ann,30\n2,bob,31\n", "a table of nodes"),
        ("id\tname\n1\tann\n2\tbob\n", "a table of nodes"),
        ('"SUID","interaction","name","shared name"\n"1","pp","a (pp) b","a (pp) b"\n', "Cytoscape"),
        ("nodedef>name VARCHAR,label VARCHAR\ns1,Site 1\n", "GDF"),
        ("<http://a> <http://knows> <http://b> .\n", "RDF"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "Git LFS"),
        ("% bip unweighted\n% 4 3 3\n1 1\n1 2\n3 3\n", "a bipartite network of KONECT"),
        ("Source,Target\nann,bob\n".encode("utf-16-le"), "UTF-16"),
        ("Source,Target\nann,bob\n".encode("utf-16-be"), "UTF-16"),
    ],
)
def test_what_other_programs_write_is_named(text, what):
    with pytest.raises(GraphFormatError, match=f"looks like .*{what}"):
        read(text)


def test_a_bipartite_network_of_konect_is_read_as_one_where_the_user_says_so():
    text = "% bip unweighted\n% 4 3 3\n1 1\n1 2\n3 3\n2 1\n"
    with pytest.raises(GraphFormatError, match="--bipartite"):
        read(text)
    assert (read(text, bipartite=True).n_nodes, read(text, bipartite=True).n_edges) == (6, 4)


def test_a_tgf_file_is_known_by_its_name(tmp_path):
    file = tmp_path / "made.tgf"
    file.write_text("1 First\n2 Second\n#\n1 2 link\n")
    with pytest.raises(GraphFormatError, match="TGF"):
        read_graph(file)


@pytest.mark.parametrize("section", ["*Arcslist", "*edgeslist", "*Matrix"])
def test_sections_of_pajek_that_networkx_reads_wrongly_are_refused(section):
    pytest.importorskip("networkx")
    with pytest.raises(GraphFormatError, match=rf"the section \{section} of this Pajek file is not read"):
        read(f'*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n{section}\n1 2 3\n')


def test_json_lines_are_read_and_their_errors_have_lines():
    pairs = '{"source": "ann", "target": "bob", "w": 2}\n\n{"source": "bob", "target": "cem", "w": 3}\n'
    assert list(read(pairs).labels) == ["ann", "bob", "cem"]
    assert read(pairs, weights="w").total_weight == 5
    assert read('["a", "b"]\n["b", "c"]\n').n_edges == 2
    with pytest.raises(GraphFormatError, match="not valid") as refused:
        read(pairs + '{"source": "ann",\n')
    assert refused.value.line == 4


def test_hashtags_that_are_skipped_as_comments_are_remarked():
    graph = read("rust,go\n#python,rust\n#go,#rust\ngo,zig\n")
    assert graph.n_edges == 2
    assert "2 lines are skipped as comments, such as '#python,rust'" in str(graph.summary)
    assert "skipped as comments" not in str(read("# made by x\nann,bob\n# half way\nbob,cem\n").summary)
    with pytest.raises(GraphFormatError, match="begin with # or % are comments"):
        read("source,target\n#python,#rust\n")


def test_column_names_between_the_links_are_remarked():
    graph = read("source,target\nann,bob\nsource,target\nbob,cem\n")
    assert "line 3 has the column names again" in str(graph.summary)
    assert "again" not in str(read("source,target\nann,bob\nbob,target\n").summary)
