"""`blockmix select-k` reads whatever `blockmix fit` reads, with the same options about the file."""

import inspect

import pytest
from typer.testing import CliRunner

from blockmix.cli.app import app
from blockmix.cli.commands.fit import fit
from blockmix.cli.commands.select import select_k


def blockmix(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def mails(tmp_path):
    path = tmp_path / "mails.txt"
    path.write_text("".join(f"{i};x;ann{a};ann{b};2\n" for i, (a, b) in enumerate([(1, 2), (2, 3), (3, 1)])))
    return path


def test_the_options_about_the_file_are_those_of_fit():
    names = ("edges", "nodes", "format", "sep", "header", "columns", "weights")
    theirs, ours = (inspect.signature(command).parameters for command in (fit, select_k))
    assert [str(ours[name]) for name in names] == [str(theirs[name]) for name in names]


def test_the_file_is_read_as_the_options_say(mails, tmp_path, monkeypatch):
    seen = []

    def no_fit(graph, *_, **__):
        seen.append(graph)
        raise KeyboardInterrupt

    monkeypatch.setattr("blockmix.inference.choices.select.select_communities", no_fit)
    (tmp_path / "people.csv").write_text("id,age\nann1,3\nzoe,4\n")
    options = ("--sep", ";", "--no-header", "--columns", "3,4", "--weights", "5", "--format", "edges")
    blockmix("select-k", mails, *options, "--nodes", tmp_path / "people.csv")
    assert list(seen[0].labels) == ["ann1", "ann2", "ann3", "zoe"]
    assert seen[0].n_edges == 3


def test_a_weight_of_zero_is_an_error_with_its_line(mails):
    mails.write_text(mails.read_text().replace(";ann1;2\n", ";ann1;0\n"))
    done = blockmix("select-k", mails, "--columns", "3,4", "--weights", "5")
    assert done.exit_code == 2
    assert "line 3" in done.stderr
    assert "a weight must be above zero" in done.stderr
