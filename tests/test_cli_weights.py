"""Weights on the command line: read by `fit`, scored, shown and written; an error where the model does not use them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from blockmix.cli.app import app

SHORT = ("-k", 2, "--sweeps", 30, "--warm-up", 15, "--chains", 1, "--held-out", 0.2, "-q")


def blockmix(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """Two circles of friends that write letters, from 1 to 9 a pair."""
    path, rng = tmp_path_factory.mktemp("letters") / "letters.csv", np.random.default_rng(1)
    pairs = [(a + c, b + c) for c in (0, 9) for a in range(10) for b in range(a)]
    path.write_text("from,to,n\n" + "".join(f"p{a},p{b},{rng.integers(1, 10)}\n" for a, b in pairs))
    return path


def test_weights_are_in_all_that_a_fit_gives(letters, tmp_path):
    run = tmp_path / "run"
    options = ("--weights", "n", "--model", "popularity", "--no-report", "-o", run)
    done = blockmix("fit", letters, *options, *SHORT, "--json")
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    assert values["weight_law"] == "counts"
    assert values["weight_scores"]["n_links"] == values["held_out_links"] == 18
    assert values["total_weight"] > 90
    header, *rows = (run / "held_out.tsv").read_text().splitlines()
    assert header.endswith("weight\texpected_weight")
    assert all((float(row.split("\t")[4]) > 0) == (row.split("\t")[2] == "1") for row in rows)
    (tmp_path / "pairs.txt").write_text("p1 p2\np1 p15\n")
    table = blockmix("predict", run, tmp_path / "pairs.txt").stdout.splitlines()
    assert table[0].split("\t") == ["node_a", "node_b", "probability", "expected_weight"]
    assert float(table[1].split("\t")[3]) > float(table[2].split("\t")[3])
    assert 'attr.name="weight"' in export(run, tmp_path / "net.graphml")


def export(run, path):
    assert blockmix("export", run, path).exit_code == 0
    return path.read_text()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--weights", "n", "--model", "assortative"), "--model popularity"),
        (("--weights", "n", "--sampler", "cgs"), "the sampler 'cgs' has no popularities"),
        (("--weights", "n", "--model", "mmsb"), "--model popularity"),
        (("--weight-law", "counts", "--model", "popularity"), "have no weights"),
        (("--weight-law", "counts"), "has no effect"),
        (("--weights", "m", "--model", "popularity"), "'m' is not there"),
    ],
)
def test_weights_that_are_not_used_are_an_error(letters, options, problem):
    done = blockmix("fit", letters, *options, *SHORT)
    assert done.exit_code == 2
    assert problem in " ".join(done.stderr.split())


def test_simulate_writes_weights_that_fit_reads(tmp_path):
    made = ("simulate", "-n", 60, "-k", 2, "--kind", "model", "--degree", 8, "--degrees", "gamma")
    assert blockmix(*made, "--weights", "amounts", "-o", tmp_path / "made", "-q").exit_code == 0
    lines = (tmp_path / "made" / "edges.txt").read_text().splitlines()[1:]
    assert all(float(line.split()[2]) > 0 for line in lines)
    assert blockmix(*made[:-2], "--weights", "counts", "-o", tmp_path / "other").exit_code == 2
