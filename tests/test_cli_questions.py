"""The command line reads any table, keeps attributes to the end, and answers questions about a result."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app

RING = [(a, b) for c in (0, 8, 16) for a in range(c, c + 8) for b in range(c, a)]


def blockmix(*words: object, input: str | bytes | None = None):
    return CliRunner().invoke(app, [str(word) for word in words], input=input)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of a table with chosen columns and a node table with hostile words."""
    place = tmp_path_factory.mktemp("questions")
    mails, people = place / "mails.csv", place / "people.csv"
    mails.write_text("when;who;whom\n" + "".join(f"1;p{a};p{b}\n" for a, b in RING))
    people.write_text("id,team,age\n" + "".join(f'p{a},"<blink>{a // 8}",{20 + a // 8}\n' for a in range(24)))
    done = blockmix(
        "fit",
        mails,
        "--columns",
        "who,whom",
        "--nodes",
        people,
        "-k",
        3,
        "--sweeps",
        200,
        "-o",
        place / "run",
    )
    assert done.exit_code == 0, done.output
    assert "links from columns 2 ('who') and 3 ('whom')" in done.stderr
    assert "attributes: 'team', 'age'" in done.stderr
    return place


def test_attributes_are_in_every_output(folder, tmp_path):
    lines = (folder / "run" / "memberships.tsv").read_text().splitlines()
    assert lines[0] == "node\tcommunity\tmean\tsd\tteam\tage"
    assert lines[1].endswith("\t20")
    assert blockmix("export", folder / "run", tmp_path / "x.csv").exit_code == 0
    assert (tmp_path / "x.csv").read_text().startswith("node,community,mean,sd,lower,upper,team,age")
    assert blockmix("export", folder / "run", tmp_path / "x.graphml").exit_code == 0
    again = bm.read_graph(tmp_path / "x.graphml")
    assert again.attributes["team"][0] == "<blink>0"
    post = bm.load(folder / "run")
    assert post.to_pandas()["age"].max() == 22
    assert post.to_polars()["team"].n_unique() == 3
    assert post.to_networkx().nodes["p9"]["age"] == 21.0


def test_the_report_has_the_test_of_each_attribute_and_no_markup_of_theirs(folder, tmp_path):
    assert blockmix("report", folder / "run", "-o", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert "team goes with the communities" in page
    assert "&lt;blink&gt;0" in page
    assert "<blink>0" not in page


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (["node", "p3"], {"community", "share", "sd", "lower", "upper"}),
        (["members", "0", "--top", "2"], {"node", "share", "sd", "lower", "upper", "links"}),
        (["bridges"], None),
        (["similar", "p3"], {"node", "likeness", "linked"}),
        (["none"], None),
        (["pair", "p0", "p9"], {"node_a", "node_b", "probability", "lower", "upper", "share_community", "community",
                               "in_it", "between"}),
        (["missing"], None),
        (["missing", "p3"], {"node_a", "node_b", "probability"}),
        (["surprising"], {"node_a", "node_b", "probability"}),
        (["overlap"], None),
        (["roles", "1"], {"node", "links", "links_inside", "within", "participation", "role"}),
        (["quality"], {"community", "members", "links", "density", "conductance", "modularity"}),
        (["names"], {"community", "name"}),
        (["names", "team"], {"community", "name"}),
        (["attribute", "age"], {"community", "value", "share", "expected", "z", "p"}),
        (["subgraph", "1"], {"node_a", "node_b"}),
        (["place", "p0", "p1", "p2"], {"node", "community", "share", "sd", "popularity", "popularity_sd"}),
    ],
)  # fmt: skip
def test_every_question_has_an_answer(folder, words, row):
    table = blockmix("ask", folder / "run", *words)
    assert table.exit_code == 0, table.output
    done = blockmix("ask", folder / "run", *words, "--json")
    found = json.loads(done.stdout)
    assert found["question"] == words[0]
    if row is not None:
        assert found["rows"][0].keys() == row
        if words[0] != "subgraph":
            assert len(found["rows"]) <= (2 if "--top" in words else 20)


def test_two_results_are_compared(folder):
    done = blockmix("ask", folder / "run", "compare", folder / "run")
    assert "24 nodes in both; ONMI 1.000" in done.stdout
    assert json.loads(blockmix("ask", folder / "run", "moved", folder / "run", "--json").stdout)["rows"] == []


def test_the_links_of_a_community_are_all_there(folder):
    found = json.loads(blockmix("ask", folder / "run", "subgraph", "0", "--json").stdout)
    # A clique of eight: more rows than other questions show.
    assert len(found["rows"]) == 28
    assert found["note"] == "8 nodes, 28 links"


@pytest.mark.parametrize("number", ["auto", "3"])
def test_a_partition_is_printed_or_written_one_community_a_line(tmp_path, number):
    edges = tmp_path / "edges.txt"
    edges.write_text("".join(f"p{a} p{b}\n" for a, b in RING))
    words = ["partition", edges, "-k", number, "-q"]
    done = blockmix(*words)
    assert done.exit_code == 0, done.output
    assert sorted(len(line.split("\t")) for line in done.stdout.splitlines()) == [8, 8, 8]
    assert blockmix(*words, "-o", tmp_path / "parts.txt").stdout == ""
    assert (tmp_path / "parts.txt").read_text().count("\n") == 3
    record = json.loads(blockmix(*words, "--json").stdout)
    assert (record["communities"], record["sizes"]) == (3, [8, 8, 8])
    assert "give a whole number from 1 on, or auto" in blockmix("partition", edges, "-k", "x").stderr


def test_a_partition_of_a_table_takes_the_columns_that_are_chosen(tmp_path):
    edges = tmp_path / "mails.csv"
    edges.write_text("when;who;whom\n" + "".join(f"1;p{a};p{b}\n" for a, b in RING))
    done = blockmix("partition", edges, "--sep", "semicolon", "--columns", "who,whom", "-q")
    assert sorted(len(line.split("\t")) for line in done.stdout.splitlines()) == [8, 8, 8], done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nodes"], "there is no question 'nodes'; questions: node, members"),
        (["node"], "use: blockmix ask DIR node NODE"),
        (["pair", "p1", "p2", "p3"], "3 words behind pair do not fit"),
        (["bridges", "p1"], "use: blockmix ask DIR bridges"),
        (["members", "x"], "'x' is not the number of a community"),
        (["members", "9"], "numbered 0 to 2"),
        (["node", "zoe"], "no node is labelled 'zoe'"),
        (["attribute", "height"], "no attribute 'height'; attributes: 'team', 'age'"),
    ],
)
def test_a_question_that_cannot_be_answered_says_why(folder, words, message):
    done = blockmix("ask", folder / "run", *words)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_a_truth_of_nodes_and_groups_is_recognised_and_said(folder, tmp_path):
    truth = tmp_path / "groups.tsv"
    truth.write_text("".join(f"p{a}\tteam {a // 8}\n" for a in range(24)))
    done = blockmix("evaluate", folder / "run", "--truth", truth)
    assert done.exit_code == 0, done.output
    assert "read as a node and its group a line, 3 groups" in " ".join(done.stderr.split())
    assert "ONMI  1.000" in done.stdout
    record = json.loads(blockmix("evaluate", folder / "run", "--truth", truth, "--json").stdout)
    assert record["truth_layout"] == "nodes"
    truth.write_text("".join("\t".join(f"p{a}" for a in range(8 * g, 8 * g + 8)) + "\n" for g in range(3)))
    done = blockmix("evaluate", folder / "run", "--truth", truth)
    assert "read as a community a line, 3 groups (--truth-layout nodes" in " ".join(done.stderr.split())
    assert "ONMI  1.000" in done.stdout
    assert (
        "read as"
        not in blockmix("evaluate", folder / "run", "--truth", truth, "--truth-layout", "communities").stderr
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--columns", "a"], "give two columns"),
        (["--sep", "x"], "separator must be"),
        (["--weights", "nope"], "'nope'"),
        (["--format", "xls"], "formats are edges"),
    ],
)
def test_odd_options_of_a_file_are_named(tmp_path, words, message):
    path = tmp_path / "edges.txt"
    path.write_text("1 2\n")
    done = blockmix("fit", path, *words)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_standard_input_can_be_anything(tmp_path):
    done = blockmix("fit", "-", "-k", 2, "--sweeps", 5, "--json", input=json.dumps([[a, b] for a, b in RING]))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1])["nodes"] == 24
