"""Runs that last: resuming and watching them from the command line, and what -v, -k and --force say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.cli.commands.watch import lines
from blockmix.inference.request import DEFAULT_EVERY
from blockmix.inference.run_folder.folder import RunFolder
from blockmix.inference.run_folder.lock import FolderLock
from blockmix.inference.run_folder.status import read_status

TEXTS = ("memberships.tsv", "communities.txt", "held_out.tsv")


def blockmix(*words: object):
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(w) for w in words])


def last_json(text: str):
    return json.loads(text.splitlines()[-1])


@pytest.fixture(scope="module")
def edges(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "edges.txt"
    ring = [(a, b) for c in (0, 8, 16) for a in range(c, c + 8) for b in range(c, a)]
    path.write_text("".join(f"{a} {b}\n" for a, b in ring))
    return path


@pytest.fixture
def result(edges, tmp_path) -> Path:
    folder = tmp_path / "run"
    words = ("-k", 3, "-o", folder, "--sweeps", 60, "--warm-up", 20, "--seed", 2, "-q", "--threshold", 0.3)
    done = blockmix("fit", edges, *words)
    assert done.exit_code == 0, done.output
    return folder


class TestResume:
    def test_a_run_that_had_ended_prints_that_and_changes_nothing(self, result):
        before = (result / "run.json").read_bytes()
        done = blockmix("resume", result)
        assert (done.exit_code, done.stdout) == (0, "")
        assert "this run had ended, after 60 sweeps" in done.stderr
        assert "going on" not in done.stderr
        assert "--sweeps 120" in done.stderr
        assert (result / "run.json").read_bytes() == before

    def test_results_that_are_missing_are_written_from_the_last_checkpoint(self, result):
        """As after a kill between the last sweep and the last file."""
        before = {name: (result / name).read_bytes() for name in TEXTS}
        for name in (*TEXTS, "run.json"):
            (result / name).unlink()
        assert blockmix("resume", result, "-q").exit_code == 0
        assert {name: (result / name).read_bytes() for name in TEXTS} == before

    @pytest.mark.parametrize("lost", [*TEXTS, "posterior/mean.npy", "graph/neighbors.npy"])
    def test_a_single_file_that_is_missing_is_written_again(self, result, lost):
        """As after a kill while results are written; the run had ended, and is not computed again."""
        before = (result / lost).read_bytes()
        (result / lost).unlink()
        done = blockmix("resume", result)
        assert done.exit_code == 0, done.output
        assert "its results are written" not in done.stderr
        assert (result / lost).read_bytes() == before
        bm.load(result)

    def test_a_result_of_fewer_sweeps_is_replaced_by_that_of_the_last_checkpoint(self, result, tmp_path):
        """As after a kill between the last checkpoint of an extended run and saving its result."""
        shutil.copytree(result, tmp_path / "short")
        assert blockmix("resume", result, "--sweeps", 90, "-q").exit_code == 0
        long = {name: (result / name).read_bytes() for name in TEXTS}
        for name in (*TEXTS, "run.json"):
            shutil.copy(tmp_path / "short" / name, result / name)
        for name in ("posterior", "graph"):
            shutil.rmtree(result / name)
            shutil.copytree(tmp_path / "short" / name, result / name)
        assert bm.load(result).provenance["sweeps"] == 60
        assert blockmix("resume", result, "-q").exit_code == 0
        assert bm.load(result).provenance["sweeps"] == 90
        assert {name: (result / name).read_bytes() for name in TEXTS} == long
        assert "its results are written" in blockmix("resume", result).stderr

    def test_text_files_are_written_before_the_manifest_that_names_them(self, result, monkeypatch):
        """Killed between the two, the folder does not claim to be complete."""

        def killed(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr("blockmix.inference.run_folder.results.save_posterior", killed)
        blockmix("resume", result, "--sweeps", 90, "-q")
        monkeypatch.undo()
        assert bm.load(result).provenance["sweeps"] == 60
        assert blockmix("resume", result, "-q").exit_code == 0
        assert bm.load(result).provenance["sweeps"] == 90

    @pytest.mark.parametrize("name", TEXTS)
    def test_a_text_file_that_was_cut_is_written_again(self, result, name):
        whole = (result / name).read_bytes()
        (result / name).write_bytes(whole[:-4])
        done = blockmix("resume", result)
        assert done.exit_code == 0, done.output
        assert (result / name).read_bytes() == whole
        assert "its results are written" in blockmix("resume", result).stderr

    def test_a_damaged_result_is_written_again_and_damage_is_exit_status_2_before(self, result):
        for path in [*(result / "posterior").glob("*.npy"), *(result / "graph").iterdir()][::7]:
            whole = path.read_bytes()
            path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
            done = blockmix("report", result)
            assert done.exit_code == 2
            assert len(done.stderr.splitlines()) == 1
            assert blockmix("resume", result).exit_code == 0
            assert path.read_bytes() == whole

    def test_a_run_without_a_checkpoint_begins_from_its_start(self, edges, result, tmp_path):
        """As after a kill while kernels are compiled or a start is found."""
        before = {name: (result / name).read_bytes() for name in TEXTS}
        for name in (*TEXTS, "run.json"):
            (result / name).unlink()
        for path in (result / "checkpoint").glob("0*"):
            shutil.rmtree(path)
        done = blockmix("resume", result, "-q")
        assert done.exit_code == 0, done.output
        assert {name: (result / name).read_bytes() for name in TEXTS} == before

    def test_more_sweeps_give_what_they_would_have_given_at_once(self, edges, result, tmp_path):
        done = blockmix("resume", result, "--sweeps", 90, "--json", "--checkpoint-every", 5)
        assert done.exit_code == 0, done.output
        assert (last_json(done.stdout)["sweeps"], last_json(done.stdout)["resumed"]) == (90, 1)
        words = ("-k", 3, "--sweeps", 90, "--warm-up", 20, "--seed", 2, "-q", "--threshold", 0.3)
        blockmix("fit", edges, *words, "-o", tmp_path / "atonce")
        for name in TEXTS:
            assert (result / name).read_bytes() == (tmp_path / "atonce" / name).read_bytes(), name

    def test_threads_of_zero_are_refused(self, result):
        done = blockmix("resume", result, "--threads", 0)
        assert done.exit_code == 2
        assert "threads must be a whole number of at least 1, not 0" in done.stderr

    def test_it_cannot_go_back(self, result):
        done = blockmix("resume", result, "--sweeps", 10)
        assert done.exit_code == 2
        assert "give more than that" in done.stderr

    def test_a_folder_without_a_run_is_an_error(self, tmp_path):
        assert blockmix("resume", tmp_path / "none").exit_code == 2
        assert not list(tmp_path.iterdir())

    def test_a_damaged_checkpoint_is_one_message(self, result):
        path = next((result / "checkpoint" / "000002").glob("*.npy"))
        path.write_bytes(path.read_bytes()[:-1])
        done = blockmix("resume", result, "--sweeps", 90)
        assert done.exit_code == 0, done.output
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
        assert f"{path.parent}: {path.name}: it does not match its checksum" in line
        assert "Warning" not in done.stderr

    def test_a_checkpoint_of_a_later_version_is_refused(self, result):
        for path in (result / "checkpoint").glob("*/manifest.json"):
            if path.parent.name != "graph":
                path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 9}))
        done = blockmix("resume", result)
        assert done.exit_code == 2
        assert "version 9 of the format" in done.stderr


class TestFolder:
    def test_an_unfinished_run_is_replaced_only_when_asked(self, edges, result):
        (result / "run.json").unlink()
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", result)
        assert done.exit_code == 2
        assert f"go on with it (blockmix resume {result})" in done.stderr
        done = blockmix("fit", edges, "-k", 2, "--sweeps", 20, "-q", "-o", result, "--overwrite")
        assert done.exit_code == 0, done.output
        assert bm.load(result).n_communities == 2

    def test_a_folder_that_another_run_writes_to_is_refused(self, edges, result):
        lock = FolderLock(result)
        lock.acquire()
        for words in (("fit", edges, "-k", 3, "-o", result, "--overwrite"), ("resume", result)):
            done = blockmix(*words)
            assert done.exit_code == 2
            assert f"another run is writing here: process {os.getpid()}" in done.stderr
        lock.release()

    def test_what_a_run_left_that_never_began_does_not_block_the_folder(self, edges, tmp_path):
        (tmp_path / ".lock").write_text("")
        (tmp_path / "status.json").write_text("{}")
        assert blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-q", "-o", tmp_path).exit_code == 0

    def test_no_checkpoints_when_not_wanted(self, edges, tmp_path):
        words = ("-k", 3, "--sweeps", 20, "-q", "-o", tmp_path / "run", "--checkpoint-every", 0)
        assert blockmix("fit", edges, *words).exit_code == 0
        assert not (tmp_path / "run" / "checkpoint").exists()
        assert read_status(tmp_path / "run")["state"] == "done"

    @pytest.mark.parametrize("command", ["fit", "resume"])
    def test_the_default_that_the_help_shows_is_that_of_the_library(self, command):
        """The commands pass nothing on where the option is left out; the library is not loaded for --help."""
        words = " ".join(blockmix(command, "--help").stdout.replace("│", " ").split())
        assert f"[default: ({DEFAULT_EVERY})]" in words.split("--checkpoint-every")[-1]


class TestWatch:
    def test_a_run_that_is_done(self, result):
        done = blockmix("watch", result)
        assert done.exit_code == 0, done.output
        assert "run: done" in " ".join(done.stdout.split())
        assert "sweep 60 of 60" in done.stdout
        record = last_json(blockmix("watch", result, "--json").stdout)
        assert (record["state"], record["sweep"]) == ("done", 60)

    def test_a_dead_run_gives_status_1(self, result):
        path = result / "status.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "running"}))
        done = blockmix("watch", result, "--once")
        assert done.exit_code == 1
        assert "ended without writing why" in " ".join(done.stdout.replace("│", " ").split())
        assert last_json(blockmix("watch", result, "--json").stdout)["state"] == "dead"

    def test_a_run_under_way_is_shown_to_its_end(self, edges, tmp_path):
        """In another process, as a user does it."""
        command = [sys.executable, "-m", "blockmix.cli"]
        words = [edges, "-k", "3", "-o", tmp_path / "run", "--time-limit", "3", "-q"]
        run = subprocess.Popen([*command, "fit", *words])
        while not (tmp_path / "run" / "status.json").exists():
            assert run.poll() is None
            time.sleep(0.01)
        done = blockmix("watch", tmp_path / "run", "--every", 0.2)
        assert run.wait(timeout=60) == 0
        assert done.exit_code == 0, done.output
        assert "done" in done.stdout
        assert (tmp_path / "run" / "run.json").exists()

    def test_every_state_is_described(self, result):
        record = read_status(result)
        for state, message in (
            ("running", "process"), ("interrupted", "interrupted 9 s ago; go on with: blockmix resume"),
            ("failed", "failed 9 s ago: boom; go on"), ("terminated", "terminated 9 s ago; go on with"),
        ):  # fmt: skip
            text = "\n".join(lines(result, record | {"state": state, "age": 9.0, "message": "boom"}))
            assert message in text
        waiting = record | {"state": "running", "missing": "R-hat above 1.05 for 30%", "seconds_left": 12.0}
        waiting |= {"seconds_left_least": 11.9}
        assert "about 12 s left" in lines(result, waiting)[1]
        assert "up to 12 s left" in lines(result, waiting | {"seconds_left_least": 3.0})[1]
        assert lines(result, waiting)[2] == "missing: R-hat above 1.05 for 30%"
        silent = lines(result, record | {"state": "running", "age": 3600.0})
        assert "no news for 3,600 s" in silent[-1]
        early = record | {"sweep": None, "checkpoint_sweep": None}
        assert "starting" in lines(result, early | {"state": "dead"})[1]
        assert "go on with: blockmix resume" in lines(result, early | {"state": "dead"})[-1]
        assert "it left no checkpoint" in lines(result / "none", early | {"state": "dead"})[-1]

    def test_a_folder_without_a_run(self, tmp_path):
        assert blockmix("watch", tmp_path).exit_code == 2


class TestHelp:
    def test_exit_statuses_are_documented(self):
        text = " ".join(blockmix("--help").stdout.split())
        for status in (
            "0 done",
            "1 something failed",
            "2 wrong input",
            "130 interrupted",
            "143 and 129 ended by SIGTERM and SIGHUP",
        ):
            assert status in text

    @pytest.mark.parametrize("command", ["fit", "resume", "watch"])
    def test_every_command_shows_how_it_is_used(self, command):
        text = blockmix(command, "--help").stdout
        assert text.count(f"blockmix {command} ") >= 2

    def test_the_shell_can_complete_commands_and_samplers(self):
        assert "--install-completion" in blockmix("--help").stdout
        asked = {
            "_BLOCKMIX_COMPLETE": "complete_bash",
            "COMP_WORDS": "blockmix fit --sampler sc",
            "COMP_CWORD": "3",
        }
        done = subprocess.run(
            [sys.executable, "-c", "from blockmix.cli.app import app; app(prog_name='blockmix')"],
            env=os.environ | asked, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout.split() == ["scir"]


class TestRemarks:
    def test_logs_are_quiet_unless_asked_for(self, edges, tmp_path):
        quiet = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", tmp_path / "a")
        verbose = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", tmp_path / "b", "-v")
        assert "checkpoint at sweep" not in quiet.stderr
        assert "checkpoint at sweep 20" in verbose.stderr

    def test_one_community_is_remarked_on(self, edges):
        done = blockmix("fit", edges, "-k", 1, "--sweeps", 20)
        assert done.exit_code == 0, done.output
        assert "one community: every node is a member" in done.stderr

    def test_more_communities_than_memory_are_refused_before_a_folder_is_made(self, edges, tmp_path):
        done = blockmix("fit", edges, "-k", 2 * 10**9, "--sweeps", 20, "-o", tmp_path / "run")
        assert done.exit_code == 2
        assert "use fewer communities" in done.stderr
        assert not (tmp_path / "run").exists()

    def test_the_verdict_on_the_chains_is_in_the_summary(self, edges):
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 100, "--chains", 2)
        assert "Chains" in done.stdout
        assert "R-hat" in done.stdout

    def test_what_could_not_be_checked_is_in_the_summary_and_in_the_record(self, edges):
        """One chain, too few draws, nothing held out: never silence, and never converged."""
        alone = ["fit", edges, "-k", 3, "--sweeps", 100, "--chains", 1, "--held-out", 0]
        shown = " ".join(blockmix(*alone).stdout.split())
        assert shown.startswith("Convergence unknown. Not compared with chance: nothing was held out.")
        assert "Chains One chain: whether another" in shown
        assert "Nothing was held out: predictions were not checked." in shown
        record = json.loads(blockmix(*alone, "--json").stdout)
        assert record["converged"] is None
        assert record["r_hat"] is None
        assert record["verdict"].startswith("One chain")
        short = blockmix("fit", edges, "-k", 3, "--sweeps", 6, "--chains", 2)
        shown = " ".join(short.stdout.split())
        assert shown.startswith("Convergence unknown.")
        assert "Too few draws" in shown


def test_a_folder_that_is_open_already_is_used_as_it_is(edges, tmp_path):
    """What the command line does: one lock around the fit and the writing of its results."""
    with RunFolder(tmp_path, notes={"threshold": 0.7}) as folder:
        bm.fit(bm.read_graph(edges), 3, sweeps=20, checkpoint=folder, threads=1)
    with RunFolder(tmp_path) as folder:
        folder.earlier_run()
        assert folder.notes == {"threshold": 0.7}
