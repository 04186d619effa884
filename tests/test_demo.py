"""The demo needs nothing, is quick, and ends in something to read."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.graph.datasets.builtin import les_miserables


def test_the_built_in_network_is_that_of_knuth():
    networkx = pytest.importorskip("networkx")
    ours, theirs = les_miserables().to_networkx(), networkx.les_miserables_graph()
    assert set(map(frozenset, ours.edges)) == set(map(frozenset, theirs.edges))


def test_the_demo_explains_what_it_found(tmp_path):
    done = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    for message in ("communities", "Strength", "Courfeyrac", "bridge communities", "AUC", "blockmix fit"):
        assert message in done.stdout
    assert bm.load(tmp_path / "run").graph.n_nodes == 77


def test_the_demo_finds_the_friends_of_the_abc():
    record_of = CliRunner().invoke(app, ["demo", "--quiet", "--json"])
    assert record_of.stderr == ""
    record = json.loads(record_of.stdout)
    assert record["nodes"] == 77
    assert record["auc"] > 0.7
    post = bm.fit(les_miserables(), 8, seed=1, sweeps=2000, held_out=0.1)
    students = {"Enjolras", "Combeferre", "Courfeyrac", "Feuilly", "Joly", "Bahorel", "Bossuet"}
    assert any(students <= set(members) for members in post.communities(0.3).values())


def test_screen_and_report_of_the_demo_state_the_same_verdict_with_and_without_extras(tmp_path, monkeypatch):
    """The libraries of the extras are hidden in the second run: nothing that is said may change."""
    said = []
    for folder in ("with", "without"):
        if folder == "without":
            for library in ("arviz_base", "arviz_stats", "xarray", "networkx", "polars", "matplotlib"):
                for name in [library, *(name for name in sys.modules if name.startswith(f"{library}."))]:
                    monkeypatch.setitem(sys.modules, name, None)
        done = CliRunner().invoke(app, ["demo", "-o", str(tmp_path / folder)])
        assert done.exit_code == 0, done.output
        verdict = bm.load(tmp_path / folder).diagnostics().verdict
        assert verdict in " ".join(done.stdout.split())
        report = (tmp_path / folder / "report.html").read_text("utf-8")
        assert verdict in report
        said.append((verdict, "No problem was found" in report))
    assert said[0] == said[1]
    assert said[0][0].startswith("The 4 chains agree: R-hat is at most")
    assert done.stdout.startswith("Converged.")


@pytest.mark.slow
def test_the_demo_runs_on_a_new_machine(tmp_path):
    """No data, an empty compile cache, and a home that does not exist. benchmarks/speed.py measures the time."""
    clean = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "HOME": str(tmp_path / "home"), "BLOCKMIX_DATA": ""}
    command = [sys.executable, "-m", "blockmix.cli", "demo"]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | clean, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
