"""Nothing that files, manifests, hosts or labels hold moves the cursor of a terminal."""

import json
import logging

import pytest
from typer import testing
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli import guard
from blockmix.cli.app import app
from blockmix.errors import printable
from blockmix.inference.run_folder import lock

# Clears the screen, in seven bits and in eight; reverses what follows; ends a line.
EVIL = "\x1b[2J\x9b2J\u202e\u2028\r\x07"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil") / "run"
    names = [f"n{i}{EVIL.replace(chr(13), '')}" for i in range(12)]
    graph = bm.Graph.from_edges([(names[a], names[b]) for a in range(12) for b in range(a)])
    post = bm.fit(graph, 2, sweeps=10, chains=1, seed=1, checkpoint=folder)
    post.save(folder)
    return folder


def blockmix(*words, **options):
    done = CliRunner().invoke(app, [str(word) for word in words], **options)
    for text in (done.stdout, done.stderr):
        # Rich and the table use line ends and tabs, nothing else.
        assert all(c.isprintable() or c in "\n\t" for c in text), repr(text)
    return done


def test_labels_on_the_screen_are_escaped(run, tmp_path):
    (tmp_path / "truth").write_text(f"n0 stranger{EVIL.replace(chr(13), '')}\n")
    blockmix("evaluate", run, "--truth", tmp_path / "truth")
    blockmix("resume", run, "--sweeps", 12)
    edges = tmp_path / "edges.txt"
    # Two cliques: communities that are clear enough to be listed.
    pairs = [(a + c, b + c) for c in (0, 12) for a in range(12) for b in range(a)]
    edges.write_text("".join(f"a\x1b[2J{a}\ta\x1b[2J{b}\n" for a, b in pairs), encoding="utf-8")
    assert "a\\x1b[2J" in blockmix("fit", edges, "-k", 2, "--sweeps", 100).stdout


def test_predictions_are_raw_in_a_pipe_and_escaped_on_a_terminal(run, tmp_path, monkeypatch):
    names = list(bm.load(run).graph.labels)
    (tmp_path / "pairs").write_text(f"{names[0]}\t{names[1]}\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["predict", str(run), str(tmp_path / "pairs")])
    assert "\x1b[2J" in done.stdout
    monkeypatch.setattr(testing._NamedTextIOWrapper, "isatty", lambda self: True, raising=False)
    assert "\\x1b[2J" in blockmix("predict", run, tmp_path / "pairs").stdout


@pytest.mark.parametrize("field", ["host", "sampler", "phase", "message", "state"])
def test_the_status_of_a_run_is_escaped(run, field):
    path = run / "status.json"
    before = path.read_text()
    path.write_text(json.dumps(json.loads(before) | {"state": "failed"} | {field: EVIL}))
    try:
        blockmix("watch", run, "--once")
    finally:
        path.write_text(before)


def test_errors_that_quote_a_manifest_or_a_lock_are_escaped(run, tmp_path):
    (tmp_path / "run.json").write_text(
        json.dumps({"format": "blockmix posterior", "version": EVIL, "written_by": f"{EVIL}\nerror: x"})
    )
    done = blockmix("report", tmp_path)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert lock._named({"pid": EVIL, "host": f"{EVIL}\n", "since": [EVIL]}).isprintable()


def test_the_log_is_escaped(capsys):
    record = logging.LogRecord("blockmix", logging.INFO, "", 0, f"labels {EVIL}", (), None)
    assert guard._Printable().format(record).isprintable()
    guard.warn(f"two\nlines {EVIL}")
    assert capsys.readouterr().err == f"two\nlines {printable(EVIL)}\n"


def test_blanks_of_other_scripts_are_not_escaped():
    assert printable("東京\u3000都 naïve") == "東京\u3000都 naïve"
    assert printable(EVIL) == r"\x1b[2J\x9b2J\u202e\u2028\r\x07"
