"""The command line on directed and bipartite networks, from a file to every output."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app

FIT = ["--sweeps", "60", "--chains", "2", "--threads", "1", "--seed", "3"]


def run(*words, code=0, **options):
    """Run a command and return what it printed."""
    result = CliRunner().invoke(app, [str(word) for word in words], **options)
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directed network with hubs, and its fit."""
    place = tmp_path_factory.mktemp("directed")
    run("simulate", "-n", "60", "-k", "3", "--degree", "8", "--overlap", "1", "--seed", "2", "--directed", "-o",
        place / "made", "-q")  # fmt: skip
    run("fit", place / "made" / "edges.txt", "-k", "3", "--directed", "-o", place / "run", *FIT, "-q")
    return place


def table(path):
    """The rows of a table as dictionaries."""
    lines = path.read_text().splitlines()
    head = lines[0].split("\t")
    return [dict(zip(head, line.split("\t"), strict=True)) for line in lines[1:]]


def test_the_screen_and_the_json_say_that_links_have_directions(folder):
    edges = folder / "made" / "edges.txt"
    shown = " ".join(run("fit", edges, "-k", "3", "--directed", *FIT).output.split())
    assert "directed, 60 nodes, " in shown
    assert "of them with one back" in shown
    assert "The popularity model was chosen: links have directions" in shown
    found = json.loads(run("fit", edges, "-k", "3", "--directed", *FIT, "--json", "-q").stdout)
    assert (found["nodes"], found["model"]) == (60, "popularity")
    assert found["sides"]["kind"] == "directed"
    assert found["sides"]["names"] == ["out", "in"]
    pairs = {tuple(map(int, line.split())) for line in edges.read_text().splitlines()[1:]}
    back = np.mean([(b, a) in pairs for a, b in pairs])
    assert found["sides"]["reciprocity"] == pytest.approx(back)


def test_files_have_plain_labels_and_a_role(folder):
    rows = table(folder / "run" / "memberships.tsv")
    assert {row["role"] for row in rows} == {"out", "in"}
    assert {row["node"] for row in rows} <= {str(a) for a in range(60)}
    assert [row["role"] for row in table(folder / "run" / "popularity.tsv")] == ["out"] * 60 + ["in"] * 60
    links = {tuple(line.split()) for line in (folder / "made" / "edges.txt").read_text().splitlines()[1:]}
    held_out = table(folder / "run" / "held_out.tsv")
    assert any(row["link"] == "1" for row in held_out)
    assert all(((row["node_a"], row["node_b"]) in links) == (row["link"] == "1") for row in held_out)
    assert "(out)" in (folder / "run" / "communities.txt").read_text()


def test_predictions_depend_on_the_direction(folder):
    printed = run("predict", folder / "run", "-", input="3 7\n7 3\n").stdout.splitlines()
    assert [line.split("\t")[:2] for line in printed[1:]] == [["3", "7"], ["7", "3"]]
    post = bm.load(folder / "run")
    there, back = post.link_probability([(3, 7), (7, 3)])
    assert there != back
    assert [float(line.split("\t")[2]) for line in printed[1:]] == pytest.approx([there, back], rel=1e-4)
    assert "no link to itself" in run("predict", folder / "run", "-", input="3 3\n", code=2).output


def test_questions_know_roles(folder):
    place = folder / "run"
    rows = json.loads(run("ask", place, "missing", "3 (in)", "--json").stdout)["rows"]
    assert {row["node_b"] for row in rows} == {"3 (in)"}
    assert all(row["node_a"].endswith(" (out)") for row in rows)
    rows = json.loads(run("ask", place, "missing", "--json", "--top", "50").stdout)["rows"]
    graph = bm.load(place).graph
    for row in rows:
        assert row["node_a"].endswith(" (out)")
        assert row["node_b"].endswith(" (in)")
        assert row["node_a"].split()[0] != row["node_b"].split()[0]
        assert not graph.has_edges([graph.labels.indices([row["node_a"], row["node_b"]])])[0]
    assert "give '3 (out)' or '3 (in)'" in run("ask", place, "node", "3", code=2).output
    for words in (["overlap"], ["quality"], ["roles", "0"], ["place", "3 (out)"]):
        assert "--directed" in run("ask", place, *words, code=2).output
    for words in (
        ["similar", "3 (out)"],
        ["bridges"],
        ["surprising"],
        ["pair", "3", "7"],
        ["names"],
        ["subgraph", "0"],
    ):
        run("ask", place, *words)


def test_a_result_comes_back_and_goes_on(folder, tmp_path):
    post = bm.load(folder / "run")
    assert post.graph.directed
    edges = folder / "made" / "edges.txt"
    run("fit", edges, "-k", "3", "--directed", "-o", tmp_path / "short", *FIT, "-q")
    run("resume", tmp_path / "short", "--sweeps", "90", "-q")
    run(
        "fit",
        edges,
        "-k",
        "3",
        "--directed",
        "-o",
        tmp_path / "long",
        "--sweeps",
        "90",
        "--warm-up",
        "24",
        *FIT[2:],
        "-q",
    )
    for name in ("memberships.tsv", "held_out.tsv", "popularity.tsv"):
        assert (tmp_path / "short" / name).read_text() == (tmp_path / "long" / name).read_text()


def test_the_report_shows_both_roles(folder):
    page = (folder / "run" / "report.html").read_text()
    assert "in a directed network of 60 nodes" in page
    assert "as one that sends links, (out), and as one that receives them, (in)" in page


def test_known_communities_are_compared_by_role_with_or_without_roles_in_the_file(folder, tmp_path):
    truth = folder / "made" / "communities.txt"
    found = json.loads(run("evaluate", folder / "run", "--truth", truth, "--json").stdout)
    assert set(found["by_role"]) == {"out", "in"}
    assert found["onmi"] > 0.6
    plain = tmp_path / "plain.txt"
    plain.write_text(
        "\n".join("\t".join(str(a) for a in range(begin, begin + 20)) for begin in (0, 20, 40)) + "\n"
    )
    found = json.loads(run("evaluate", folder / "run", "--truth", plain, "--json").stdout)
    assert found["n_nodes"] == 120
    assert found["by_role"]["out"]["n_nodes"] == 60


def test_exports_carry_both_roles(folder, tmp_path):
    networkx = pytest.importorskip("networkx")
    post = bm.load(folder / "run")
    made = post.to_networkx()
    assert made.is_directed()
    assert made.number_of_nodes() == 60
    assert made.number_of_edges() == post.graph.n_edges
    assert {"out_community", "in_community", "out_popularity", "in_popularity"} <= set(
        made.nodes["3" if "3" in made else 3]
    )
    post.write_graphml(tmp_path / "x.graphml")
    again = networkx.read_graphml(tmp_path / "x.graphml")
    assert {data["role"] for _, data in again.nodes(data=True)} == {"out", "in"}
    post.write_csv(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines()[0].endswith(",role")


def test_two_kinds_of_nodes_from_file_to_report(tmp_path):
    run("simulate", "-n", "50", "-k", "3", "--degree", "8", "--overlap", "1", "--seed", "2", "--bipartite", "-o",
        tmp_path / "made", "-q")  # fmt: skip
    edges = tmp_path / "made" / "edges.txt"
    shown = run("fit", edges, "-k", "3", "--bipartite", "-o", tmp_path / "run", *FIT)
    assert "two kinds of nodes, which only this" in " ".join(shown.output.split())
    assert {row["role"] for row in table(tmp_path / "run" / "memberships.tsv")} == {"first", "second"}
    post = bm.load(tmp_path / "run")
    first, second = (post.graph.labels[a] for a in (0, post.graph.n_nodes - 1))
    assert 0 < post.link_probability([(first, second)])[0] < 1
    for pair in ((second, first), (first, first)):
        with pytest.raises(bm.InputError, match=r"of the (first|second) kind"):
            post.link_probability([pair])
    found = json.loads(
        run("evaluate", tmp_path / "run", "--truth", tmp_path / "made" / "communities.txt", "--json").stdout
    )
    assert found["onmi"] > 0.6
    assert "in a bipartite network of " in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "mmsb"], "--model popularity"),
        (["--model", "assortative"], "--model popularity"),
        (["--sampler", "sgmc"], "leave the sampler out"),
        (["--bipartite"], "leave directed out"),
    ],
)
def test_what_cannot_use_directions_is_an_error_with_a_remedy(folder, words, said):
    result = run("fit", folder / "made" / "edges.txt", "--directed", *words, code=2)
    assert said in " ".join(result.output.split())


def test_directions_are_merged_unless_asked_for_and_the_default_model_stays(folder):
    found = json.loads(run("fit", folder / "made" / "edges.txt", "-k", "3", *FIT, "--json", "-q").stdout)
    assert (found["sides"], found["model"], found["nodes"]) == (None, "assortative", 60)
