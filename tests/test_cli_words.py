"""Words on the screen: one record behind summary and JSON, reports written and shown, no line against another."""

from __future__ import annotations

import contextlib
import io
import json
import re
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.cli.deliver import print_written
from blockmix.cli.record import record
from blockmix.errors import InputError
from blockmix.evaluate import read_covers


def blockmix(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def words_of(text):
    return " ".join(text.split())


def write_edges(path, pairs):
    path.write_text("".join(f"{a} {b}\n" for a, b in pairs))
    return path


@pytest.fixture(scope="module")
def cliques(tmp_path_factory) -> Path:
    """Four cliques of twelve in a ring."""
    pairs = [(a + c, b + c) for c in range(0, 48, 12) for a in range(12) for b in range(a)]
    pairs += [(c, (c + 13) % 48) for c in range(0, 48, 12)]
    return write_edges(tmp_path_factory.mktemp("words") / "edges.txt", pairs)


@pytest.fixture(scope="module")
def run(cliques) -> tuple[Path, str]:
    folder = cliques.parent / "run"
    done = blockmix("fit", cliques, "-k", 6, "--sweeps", 400, "--seed", 1, "-o", folder)
    assert done.exit_code == 0, done.output
    return folder, done.stdout


@pytest.fixture(scope="module")
def nothing(tmp_path_factory) -> Path:
    """An Erdős–Rényi network of 200 nodes."""
    rng = np.random.default_rng(3)
    pairs = [(a, b) for a in range(200) for b in range(a) if rng.random() < 0.04]
    return write_edges(tmp_path_factory.mktemp("nothing") / "edges.txt", pairs)


def test_one_number_of_communities_on_screen_in_json_report_library_and_files(run, cliques):
    folder, shown = run
    post = bm.load(folder)
    found = record(post, 0.1)["communities_found"]
    assert found == len(post.communities()) == 4
    assert f"{found} communities in 48 nodes" in shown
    assert len(read_covers(folder / "communities.txt", post.graph.labels)) == found
    assert f"{found} communities in 48 nodes" in (folder / "report.html").read_text("utf-8")
    assert f": {found} communities." in repr(post)


def test_communities_come_in_the_order_of_their_evidence(run):
    post = bm.load(run[0])
    assert (np.diff(post.evidence) <= 0).all()
    assert list(post.communities()) == sorted(post.communities())
    rows = record(post, 0.1)["community_table"]
    assert [row["evidence"] for row in rows] == sorted((row["evidence"] for row in rows), reverse=True)


def test_every_number_on_the_screen_is_in_the_record(run):
    """Numbers are compared as they are shown; those of fixed sentences (thresholds of the checks) are known."""
    folder, shown = run
    values = record(bm.load(folder), 0.1)
    pieces = json.dumps(values, default=float) + values["verdict"] + values["first_line"]
    numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", pieces)]
    screen = shown[: shown.index("Written to")]
    known = {50.0}
    for text in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-\d+)?%?", screen):
        value = float(text.rstrip("%").replace(",", ""))
        if text.endswith("%"):
            value /= 100
        digits = len(text.rstrip("%").partition(".")[2]) + (2 if text.endswith("%") else 0)
        near = any(abs(value - n) <= 0.51 * 10**-digits or abs(value - n) <= 0.02 * abs(n) for n in numbers)
        assert near or value * 100 in known, text


def test_the_first_line_tells_convergence_and_structure(run):
    _, shown = run
    assert re.match(
        r"(Converged|Not converged: [^.]*)\. Held-out pairs are predicted \d+% better than by the ", shown
    )


def test_a_network_without_structure_is_told_so_in_the_first_line_and_gets_no_communities(nothing):
    done = blockmix("fit", nothing, "-k", 6, "--sweeps", 200, "--seed", 1)
    shown = words_of(done.stdout)
    assert "predicted better" not in shown.split("Predictions")[0]
    assert re.match(
        r"[\w: ]+\. Held-out pairs are predicted (no better|worse) than by the (density|degrees) alone",
        shown,
    )
    assert "No clear communities in 200 nodes" in shown
    assert "200 nodes in no clear community" in shown
    assert "bridge communities" not in shown


def test_where_the_background_is_above_the_strengths_the_general_model_is_suggested(tmp_path):
    edges = write_edges(tmp_path / "edges", [(a, 20 + b) for a in range(20) for b in range(20)])
    done = blockmix("fit", edges, "-k", 3, "--sweeps", 200, "--seed", 1, "-o", tmp_path / "run")
    assert "--model mmsb" in words_of(done.stdout)
    assert "Fit the general model" in (tmp_path / "run" / "report.html").read_text("utf-8")
    assert record(bm.load(tmp_path / "run"), 0.1)["general_model_suggested"] is True


def test_fit_writes_a_report_and_ends_with_what_comes_next(run):
    folder, shown = run
    assert (folder / "report.html").stat().st_size > 10_000
    after = shown[shown.index("Next:") :]
    assert f"blockmix open {folder}" in after
    for command in re.findall(r"blockmix (\w+)", after):
        assert blockmix(command, "--help").exit_code == 0


def test_a_run_that_lacks_sweeps_names_the_command_that_makes_them(cliques, tmp_path):
    folder = tmp_path / "run"
    shown = blockmix("fit", cliques, "-k", 6, "--sweeps", 30, "--seed", 1, "-o", folder, "--no-report").stdout
    needed = record(bm.load(folder), 0.1)["sweeps_needed"]
    assert needed > 30
    assert f"blockmix resume {folder} --sweeps {needed} " in shown[shown.index("Next:") :]
    converged = record(bm.load(folder), 0.1) | {"sweeps_needed": None}
    for values, words in (
        (converged, []),
        (converged | {"interrupted": True}, [f"blockmix resume {folder} "]),
    ):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            print_written(["memberships.tsv"], folder, None, values)
        assert ("resume" in said.getvalue()) == bool(words)
        assert all(word in said.getvalue() for word in words)


def test_no_report_writes_none_also_when_the_run_is_resumed(cliques, tmp_path):
    words = ("fit", cliques, "-k", 4, "--sweeps", 20, "-q", "-o", tmp_path / "run", "--no-report")
    assert blockmix(*words).exit_code == 0
    assert blockmix("resume", tmp_path / "run", "--sweeps", 40, "-q").exit_code == 0
    assert not (tmp_path / "run" / "report.html").exists()
    done = blockmix("fit", cliques, "-k", 4, "--no-report")
    assert done.exit_code == 2
    assert "--no-report has no effect without -o" in done.stderr


def test_open_shows_the_report_and_writes_one_where_there_is_none(cliques, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda address: shown.append(address) or True)
    folder = tmp_path / "run"
    blockmix("fit", cliques, "-k", 4, "--sweeps", 20, "-q", "-o", folder, "--no-report")
    assert blockmix("open", folder).exit_code == 0
    assert shown == [(folder / "report.html").resolve().as_uri()]
    assert (folder / "report.html").exists()
    assert json.loads(blockmix("open", folder, "--json").stdout) == {"report": str(folder / "report.html")}
    assert len(shown) == 1


@pytest.mark.parametrize(
    "page",
    [
        "<!doctype html>\n<script>alert(1)</script>",
        "REPORT" + "<META HTTP-EQUIV=refresh content='0;url=https://example.org'>",
        " REPORT",
        "",
    ],
)
def test_open_shows_no_page_that_somebody_else_made(run, page, monkeypatch):
    """The folder may have been sent: a page with scripts of its own would run them in the browser."""
    file, shown = run[0] / "report.html", []
    whole = file.read_text()
    monkeypatch.setattr(webbrowser, "open", lambda address: shown.append(file.read_text()) or True)
    file.write_text(page.replace("REPORT", whole))
    done = blockmix("open", run[0])
    assert done.exit_code == 0
    assert "is not a report of this version of blockmix: it is written anew" in done.stderr
    assert shown[0].startswith(whole[: whole.index("<title>")])
    assert len(re.findall("http-equiv", shown[0], re.IGNORECASE)) == 1
    # Such a report is shown as it is.
    before = file.stat().st_mtime_ns
    assert blockmix("open", run[0]).exit_code == 0
    assert file.stat().st_mtime_ns == before


def test_open_says_where_the_report_is_if_no_browser_starts(run, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    done = blockmix("open", run[0])
    assert done.exit_code == 1
    assert str((run[0] / "report.html").resolve()) in done.stderr


def test_ctrl_c_while_the_report_is_written_does_not_deny_the_results(cliques, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("blockmix.report.write_report", interrupted)
    done = blockmix("fit", cliques, "-k", 4, "--sweeps", 20, "-q", "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert "interrupted before the report was written" in done.stderr
    assert "nothing was kept" not in done.stderr
    assert bm.load(tmp_path / "run").graph.n_nodes == 48


@pytest.mark.parametrize("name", ["report.html", "no_community.txt"])
def test_resume_writes_a_file_that_is_missing(cliques, tmp_path, name):
    folder = tmp_path / "run"
    assert blockmix("fit", cliques, "-k", 4, "--sweeps", 20, "-q", "-o", folder).exit_code == 0
    assert name in {path.name for path in folder.iterdir()}
    (folder / name).unlink()
    assert blockmix("resume", folder, "-q").exit_code == 0
    assert (folder / name).is_file()
    assert "this run had ended" in blockmix("resume", folder, "-q").stderr


def test_the_report_of_an_earlier_result_does_not_stay(cliques, tmp_path):
    words = ("fit", cliques, "-k", 4, "--sweeps", 20, "-q", "-o", tmp_path / "run")
    assert blockmix(*words).exit_code == 0
    assert blockmix(*words, "--overwrite", "--no-report").exit_code == 0
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_report_that_cannot_be_written_is_not_named_as_written(cliques, tmp_path, monkeypatch):
    def full(*_, **__):
        raise InputError("report.html: no space left on device")

    monkeypatch.setattr("blockmix.report.write_report", full)
    done = blockmix("fit", cliques, "-k", 4, "--sweeps", 20, "-o", tmp_path / "run")
    assert done.exit_code == 1
    assert "no space left" in done.stderr
    assert "Report to open" not in done.stdout
    assert f"write it with blockmix open {tmp_path / 'run'}" in done.stderr


def test_the_name_of_a_folder_does_not_reach_the_terminal_raw(cliques, tmp_path):
    done = blockmix("fit", cliques, "-k", 4, "--sweeps", 20, "-o", tmp_path / "r\x1b[2Jun")
    assert done.exit_code == 0, done.output
    assert "\x1b[2J" not in done.stdout + done.stderr
    assert "Report to open" in done.stdout


def test_open_refuses_a_folder_without_a_result(tmp_path):
    done = blockmix("open", tmp_path)
    assert done.exit_code == 2
    assert "not a blockmix result" in done.stderr


def test_a_report_is_named_and_not_denied(tmp_path, monkeypatch):
    """The demo writes a report without -o: it must not say that nothing was written."""
    monkeypatch.chdir(tmp_path)
    done = blockmix("demo")
    assert done.exit_code == 0
    assert "Nothing was written" not in done.stdout + done.stderr
    assert str((tmp_path / "blockmix-demo.html").resolve()) in words_of(done.stdout).replace(" ", "")


def test_compiling_is_not_named_when_everything_is_in_the_cache(cliques):
    words = ("fit", cliques, "-k", 4, "--sweeps", 20)
    blockmix(*words)
    assert "compil" not in blockmix(*words).stderr


def test_json_names_the_weights_of_the_chains(cliques):
    done = blockmix("fit", cliques, "-k", 4, "--sweeps", 40, "--chains", 2, "--json", "-q")
    values = json.loads(done.stdout)
    assert len(values["chain_weights"]) == 2
    assert sum(values["chain_weights"]) == pytest.approx(1.0)


COMMANDS = (
    "demo", "fit", "resume", "watch", "open", "report", "ask", "diagnose", "predict", "evaluate", "export", "simulate",
    "datasets", "partition", "samplers", "select-k", "reproduce", "convert",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = blockmix(command, "--help").stdout
    text = shown.partition("Usage:")[2].partition("\n")[2]
    assert f"blockmix {command}" in text


def test_every_command_is_in_the_list_above():
    assert {command.name or command.callback.__name__ for command in app.registered_commands} == set(COMMANDS)


def test_every_option_says_what_happens_without_it():
    """A flag is off; anything else shows its default, or says in words what is done if it is not given."""
    group = get_command(app)
    for name, command in group.commands.items():
        for option in command.params:
            if option.param_type_name != "option" or option.required or getattr(option, "is_flag", False):
                continue
            told = option.default is not None or isinstance(option.show_default, str)
            said = re.search(r"default|if not given", option.help or "")
            assert told or said, (name, option.name)


def test_nodes_are_called_by_their_names_on_the_screen_and_in_the_report(cliques, tmp_path):
    people = "".join(f"{i},Person {'abcdefgh'[i % 8] * (1 + i // 8)}\n" for i in range(48))
    (tmp_path / "people.csv").write_text("id,Full name\n" + people)
    words = ("fit", cliques, "-k", 4, "--sweeps", 60, "--seed", 1, "--nodes", tmp_path / "people.csv")
    done = blockmix(*words, "-o", tmp_path / "run")
    assert "Person aa" in words_of(done.stdout)
    assert "Person aa" in (tmp_path / "run" / "report.html").read_text("utf-8")
    row = record(bm.load(tmp_path / "run"), 0.1)["community_table"][0]
    assert all(isinstance(label, int) for label in row["strongest_members"])
    assert all(name.startswith("Person ") for name in row["strongest_names"])


def test_members_without_a_link_are_counted_and_said_to_be_unknown(cliques, tmp_path):
    (tmp_path / "nodes.txt").write_text("lone\n")
    done = blockmix("fit", cliques, "-k", 4, "--sweeps", 60, "--seed", 1, "--nodes", tmp_path / "nodes.txt",
                    "-o", tmp_path / "run")  # fmt: skip
    post = bm.load(tmp_path / "run")
    assert any("lone" in members for members in post.communities().values())
    assert record(post, 0.1)["listed_nodes_without_links"] == 1
    assert "1 member has no link in the network and is placed where links are least likely" in words_of(
        done.stdout
    )
    assert record(post, 0.999999)["listed_nodes_without_links"] == 0


@pytest.mark.parametrize("name", [None, *get_command(app).commands])
def test_every_line_of_the_examples_is_in_the_help_as_it_was_written(name):
    """What a terminal library takes for markup, such as words in square brackets, would be left out."""
    command = get_command(app) if name is None else get_command(app).commands[name]
    shown = CliRunner().invoke(app, [*([name] if name else []), "--help"], env={"COLUMNS": "200"}).stdout
    examples = [line.strip() for line in command.callback.__doc__.split("\b")[-1].splitlines()]
    examples = [line for line in examples if line.startswith(("blockmix ", "echo "))]
    assert examples
    assert [line for line in examples if line not in shown] == []


def test_no_line_of_a_help_text_is_broken_on_a_terminal_of_80_columns():
    """Lines behind the first are kept as they are written, so that a longer one would go on in the next."""
    wide = {
        (name, line)
        for name, command in get_command(app).commands.items()
        for line in (command.help or "").splitlines()[1:]
        if len(line) > 78
    }
    assert wide == set()
