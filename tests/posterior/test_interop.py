"""What leaves blockmix for other libraries is what the posterior holds."""

import builtins
import csv
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.errors import InputError

STRANGE = ["<b>&", 'qu"ote', "tab\tend", "nul\x00", "\ud7ff", "snow\N{SNOWMAN}"]


@pytest.fixture(scope="module")
def post():
    names = [*STRANGE, *(f"n{i}" for i in range(18))]
    edges = [(names[a], names[b]) for a in range(24) for b in range(a) if a % 3 == b % 3 or (a + b) % 11 == 0]
    return bm.fit(bm.Graph.from_edges(edges), 3, seed=2, sweeps=60, warm_up=20, chains=2, held_out=0)


def rows(post):
    return list(post.memberships())


def test_data_frames_hold_the_table_of_memberships(post):
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    table = post.memberships(threshold=0.05, level=0.5)
    for frame in (post.to_pandas(threshold=0.05, level=0.5), post.to_polars(threshold=0.05, level=0.5)):
        assert list(frame.columns) == ["node", "community", "mean", "sd", "lower", "upper"]
        assert list(frame["node"]) == table.node
        np.testing.assert_array_equal(frame["upper"].to_numpy(), table.upper)


def test_parquet_reads_back(post, tmp_path):
    polars = pytest.importorskip("polars")
    post.write_parquet(tmp_path / "memberships.parquet")
    assert polars.read_parquet(tmp_path / "memberships.parquet").equals(post.to_polars())
    with pytest.raises(InputError, match="cannot be written"):
        post.write_parquet(tmp_path / "no" / "folder.parquet")


def test_networkx_nodes_know_their_memberships(post):
    pytest.importorskip("networkx")
    network = post.to_networkx()
    assert network.number_of_edges() == post.graph.n_edges
    for row in rows(post):
        node = network.nodes[row.node]
        assert node["memberships"][row.community] == pytest.approx(row.mean)
        assert node["memberships_sd"][row.community] == pytest.approx(row.sd)
        assert node["membership"] == max(node["memberships"].values())


def test_graphml_is_valid_xml_with_labels_as_text(post, tmp_path):
    post.write_graphml(tmp_path / "network.graphml")
    space = "{http://graphml.graphdrawing.org/xmlns}"
    tree = ElementTree.parse(tmp_path / "network.graphml")
    nodes = list(tree.iter(f"{space}node"))
    labels = [node.find(f"{space}data[@key='label']").text for node in nodes]
    expected = [str(label).replace("\x00", "\N{REPLACEMENT CHARACTER}") for label in post.graph.labels]
    assert labels == expected
    assert len(list(tree.iter(f"{space}edge"))) == post.graph.n_edges
    networkx = pytest.importorskip("networkx")
    network = networkx.read_graphml(tmp_path / "network.graphml")
    assert network.nodes["n0"]["community"] == rows(post)[0].community
    assert network.nodes["n0"]["membership"] == pytest.approx(rows(post)[0].mean, abs=1e-6)


def test_cdlib_gets_the_overlapping_communities(post):
    pytest.importorskip("cdlib", reason="cdlib is not installed")
    clustering = post.to_cdlib(threshold=0.2)
    assert clustering.overlap
    found = {frozenset(members) for members in clustering.communities}
    assert found == {frozenset(members) for members in post.communities(0.2, complete=True).values()}


def test_arviz_gets_strengths_background_and_chosen_nodes(post):
    pytest.importorskip("arviz_base")
    tree = post.to_arviz(nodes=["n3", "<b>&"])
    group = tree["posterior"]
    assert dict(group["strength"].sizes) == {"chain": 2, "draw": 40, "community": 3}
    np.testing.assert_allclose(group["strength"].mean(("chain", "draw")), post.strength_mean, atol=2e-3)
    np.testing.assert_allclose(float(group["background"].mean()), post.background_mean, atol=1e-3)
    assert list(group["membership"].dims) == ["chain", "draw", "node", "community"]
    mean = group["membership"].sel(node="n3").mean(("chain", "draw")).to_numpy()
    held = {row.community: row.mean for row in rows(post) if row.node == "n3"}
    for community, value in held.items():
        assert mean[community] == pytest.approx(value, abs=5e-3)


def test_memberships_of_a_draw_add_up_to_one(post):
    found = post.draws[1][0].memberships(np.array([0, 5]), post.numbers[1])
    assert found.shape == (2, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_a_missing_library_is_named_with_its_remedy(post, monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "arviz_base":
            raise ModuleNotFoundError("No module named 'arviz_base'", name="arviz_base")
        return real(name, *args, **kwargs)

    monkeypatch.setattr("blockmix.errors.import_module", refuse)
    with pytest.raises(InputError, match=r"to_arviz needs arviz_base.*pip install"):
        post.to_arviz()


def test_csv_reads_back_whatever_the_labels(post, tmp_path):
    post.write_csv(tmp_path / "memberships.csv", threshold=0.1)
    with (tmp_path / "memberships.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    table = post.memberships(threshold=0.1)
    assert [row["node"] for row in found] == [str(label) for label in table.node]
    np.testing.assert_allclose([float(row["upper"]) for row in found], table.upper, rtol=1e-5)


@pytest.mark.parametrize("name", ["network.graphml", "memberships.parquet", "memberships.csv"])
def test_the_command_exports_by_the_ending_of_the_file(post, tmp_path, name):
    pytest.importorskip("polars")
    post.save(tmp_path / "run")
    done = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / name)])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / name).stat().st_size > 100


def test_an_unknown_ending_is_refused_before_anything_is_read(tmp_path):
    done = CliRunner().invoke(app, ["export", str(tmp_path / "run"), str(tmp_path / "x.docx")])
    assert done.exit_code == 2
    assert ".graphml, .parquet, .csv" in done.stderr


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "\uff1d1"]


def test_csv_cells_that_a_spreadsheet_would_calculate_are_text(tmp_path):
    names = [*FORMULAS, "-7", "+49.5", "ann", "a=b"]
    edges = [(names[a], names[b]) for a in range(len(names)) for b in range(a)]
    post = bm.fit(bm.Graph.from_edges(edges), 1, seed=2, sweeps=10, chains=1, held_out=0)
    post.save(tmp_path / "run")
    words = ["export", str(tmp_path / "run"), str(tmp_path / "out.csv")]

    def cells():
        with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
            return {row["node"] for row in csv.DictReader(file)}

    assert CliRunner().invoke(app, words).exit_code == 0
    assert cells() == {f"'{name}" for name in FORMULAS} | {"-7", "+49.5", "ann", "a=b"}
    assert CliRunner().invoke(app, [*words, "--keep-formulas"]).exit_code == 0
    assert cells() == set(names)
    done = CliRunner().invoke(app, ["export", str(tmp_path / "run"), "out.graphml", "--keep-formulas"])
    assert done.exit_code == 2
    assert "--keep-formulas has no effect on .graphml" in done.stderr
