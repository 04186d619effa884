"""What needs a library that blockmix does not install: without it, one error says what to install.

The libraries are hidden where they are installed; `.ci/run` also runs this file where they are not.
"""

import dataclasses
import importlib
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.errors import InputError
from blockmix.graph import les_miserables

FEATURES = {
    "to_pandas": ("pandas", "pip install pandas", lambda post, _: post.to_pandas()),
    "to_polars": ("polars", "blockmix[io]", lambda post, _: post.to_polars()),
    "write_parquet": (
        "polars",
        "blockmix[io]",
        lambda post, folder: post.write_parquet(folder / "x.parquet"),
    ),
    "to_networkx": ("networkx", "blockmix[networkx]", lambda post, _: post.to_networkx()),
    "Graph.to_networkx": ("networkx", "blockmix[networkx]", lambda post, _: post.graph.to_networkx()),
    "to_cdlib": ("cdlib", "pip install cdlib", lambda post, _: post.to_cdlib()),
    "to_arviz": ("arviz_base", "blockmix[arviz]", lambda post, _: post.to_arviz()),
    "plots": ("matplotlib", "blockmix[plot]", lambda post, _: plots().plot_memberships(post)),
    "scikit-learn": ("sklearn", "pip install", lambda post, _: importlib.import_module("blockmix.sklearn")),
}


def plots():
    return importlib.import_module("blockmix.report.pictures.plots")


def hide(monkeypatch, library):
    """Make every import of a library and of its parts fail, as if it were not installed."""
    for name in [library, *(name for name in sys.modules if name.startswith(f"{library}."))]:
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture(scope="module")
def post():
    return bm.fit(les_miserables(), 4, seed=1, sweeps=20, chains=2, held_out=0.1)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_that_needs_a_library_says_how_to_install_it(feature, post, monkeypatch, tmp_path):
    library, remedy, use = FEATURES[feature]
    hide(monkeypatch, library)
    monkeypatch.delitem(sys.modules, "blockmix.sklearn", raising=False)
    with pytest.raises(InputError, match=library) as caught:
        use(post, tmp_path)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    "command", [["select-k", "no such file", "--plot", "k.png"], ["reproduce", "figure2"]]
)
def test_a_command_that_needs_a_library_says_so_before_it_starts(command, monkeypatch, tmp_path):
    hide(monkeypatch, "matplotlib")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "blockmix[plot]" in done.output.replace("\n", " ")


def test_the_check_of_the_chains_is_the_same_without_any_extra(post, monkeypatch):
    with_extras = post.diagnostics()
    for library in ("arviz_base", "arviz_stats", "xarray", "pandas", "polars", "matplotlib"):
        hide(monkeypatch, library)
    without = dataclasses.replace(post).diagnostics()
    assert without is not with_extras
    assert without.verdict == with_extras.verdict
    for name, column in without.columns().items():
        np.testing.assert_array_equal(column, with_extras.columns()[name])


def test_a_fit_its_files_and_its_report_need_no_extra(tmp_path):
    graph = les_miserables()
    (tmp_path / "edges.txt").write_text("".join(f"{a} {b}\n" for a, b in graph.edges()))
    fit = ["fit", str(tmp_path / "edges.txt"), "-k", "4", "--sweeps", "20", "-q", "-o", str(tmp_path / "run")]
    for command in (fit, ["report", str(tmp_path / "run"), "-o", str(tmp_path / "report.html")]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "report.html").stat().st_size > 0
