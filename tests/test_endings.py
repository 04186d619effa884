"""However a run ends early, its exit status and its last message are true, and `resume` goes on from what is kept."""

import os
import shutil
import signal
import time

import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.inference import execute, fit
from blockmix.inference.interrupt import Terminated
from blockmix.inference.loop import Run
from blockmix.inference.run_folder import results, snapshots
from blockmix.inference.run_folder.status import read_status

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
ENDINGS = {signal.SIGTERM: 143, signal.SIGHUP: 129}
TEXTS = ("memberships.tsv", "communities.txt", "held_out.tsv")


@pytest.fixture(autouse=True)
def signals_as_usual():
    """Signals do what they do in a program that ignores none: under `nohup`, for one, SIGHUP is ignored."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDINGS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "edges.txt"
    graph = bm.planted(60, 3, degree=8, seed=4).graph
    path.write_text("".join(f"{a} {b}\n" for a, b in graph.edges()))
    return path


@pytest.fixture(scope="module")
def alone(edges, tmp_path_factory):
    """Return the text files of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    assert start(edges, folder).exit_code == 0
    return {name: (folder / name).read_bytes() for name in TEXTS}


def blockmix(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def start(edges, folder, *more):
    words = ("--sweeps", 20, "--seed", 1, "--chains", 1, "--threads", 1, "-q", "-o", folder)
    return blockmix("fit", edges, "-k", 3, *words, *more)


def raising(number):
    def raise_signal(*_, **__):
        signal.raise_signal(number)

    return raise_signal


@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("place", ["compile_kernels", "_chains", "_run_from"])
def test_a_signal_before_the_first_checkpoint_keeps_the_start(
    edges, tmp_path, monkeypatch, alone, number, place
):
    """While kernels are compiled, while a start is found, and before the first checkpoint is written."""
    folder = tmp_path / "run"
    monkeypatch.setattr(execute, place, raising(number))
    done = start(edges, folder)
    monkeypatch.undo()
    assert done.exit_code == ENDINGS[number]
    begin = f"begin again with blockmix resume {folder}"
    assert done.stderr == f"terminated; its settings, network and split are kept: {begin}\n"
    assert read_status(folder)["state"] == "terminated"
    assert signal.getsignal(number) == signal.SIG_DFL
    assert blockmix("resume", folder, "-q").exit_code == 0
    assert {name: (folder / name).read_bytes() for name in TEXTS} == alone


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_before_anything_is_written_says_so(edges, tmp_path, monkeypatch, number):
    monkeypatch.setattr(fit, "choose_held_out", raising(number))
    done = start(edges, tmp_path / "run")
    assert (done.exit_code, done.stderr) == (ENDINGS[number], "terminated; nothing was kept: fit again\n")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_during_the_sweeps_keeps_a_checkpoint(edges, tmp_path, monkeypatch, alone, number):
    advance = Run._advance

    def signalled(self, at):
        advance(self, at)
        if at.sweep == 7:
            signal.raise_signal(number)

    monkeypatch.setattr(Run, "_advance", signalled)
    done = start(edges, tmp_path / "run")
    monkeypatch.undo()
    assert done.exit_code == ENDINGS[number]
    assert "the run is kept up to its last checkpoint: go on with blockmix resume" in done.stderr
    assert read_status(tmp_path / "run")["checkpoint_sweep"] == 7
    assert blockmix("resume", tmp_path / "run", "-q").exit_code == 0
    assert {name: (tmp_path / "run" / name).read_bytes() for name in TEXTS} == alone


def test_programs_get_the_signal_as_an_exception_and_their_own_handlers_stay(tmp_path, monkeypatch):
    graph = bm.planted(60, 3, degree=8, seed=4).graph
    monkeypatch.setattr(execute, "compile_kernels", raising(signal.SIGHUP))
    with pytest.raises(Terminated) as ended:
        bm.fit(graph, 3, sweeps=5, checkpoint=tmp_path / "run")
    assert ended.value.code == 129
    seen = []
    before = signal.signal(signal.SIGHUP, lambda *_: seen.append(1))
    try:
        post = bm.fit(graph, 3, sweeps=5, chains=1, checkpoint=tmp_path / "other")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (seen, post.provenance["sweeps"]) == ([1], 5)


def test_two_ctrl_c_say_what_the_checkpoint_keeps(edges, tmp_path, monkeypatch):
    def impatient(*_):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Run, "_advance", impatient)
    done = start(edges, tmp_path / "run")
    assert done.exit_code == 130
    kept = "the run is kept up to its last checkpoint: go on with blockmix resume"
    assert done.stderr == f"interrupted at once; {kept} {tmp_path / 'run'}\n"
    words = ("fit", edges, "-k", 3, "--sweeps", 20, "-q")
    done = blockmix(*words)
    assert (done.exit_code, done.stderr) == (130, "interrupted: nothing was kept\n")


def test_a_folder_that_is_removed_during_the_run_gets_its_results_all_the_same(
    edges, tmp_path, monkeypatch, alone
):
    folder, advance = tmp_path / "run", Run._advance

    def remove(self, at):
        advance(self, at)
        if at.sweep == 7:
            shutil.rmtree(folder)

    monkeypatch.setattr(Run, "_advance", remove)
    done = start(edges, folder)
    assert done.exit_code == 0, done.stderr
    assert "the folder is gone with all checkpoints; the run goes on, and writes its results" in done.stderr
    assert "earlier checkpoints are kept" not in done.stderr
    assert {name: (folder / name).read_bytes() for name in TEXTS} == alone
    assert bm.load(folder).provenance["sweeps"] == 20


def test_a_run_whose_checkpoints_were_removed_is_not_said_to_go_on(edges, tmp_path, monkeypatch):
    """Neither after Ctrl-C, which keeps the result, nor by `watch`."""
    folder, advance = tmp_path / "run", Run._advance

    def remove_and_interrupt(self, at):
        advance(self, at)
        if at.sweep == 7:
            shutil.rmtree(folder / "checkpoint")
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Run, "_advance", remove_and_interrupt)
    done = start(edges, folder)
    assert done.exit_code == 0, done.stderr
    assert "the result so far is kept; its checkpoints are gone: it cannot be continued" in done.stderr
    seen = blockmix("watch", folder, "--once")
    assert seen.exit_code == 0, seen.stderr
    assert "blockmix resume" not in done.stderr + seen.stdout
    assert "it left no checkpoint" in seen.stdout


def test_a_folder_that_is_gone_when_the_run_fails_does_not_hide_the_failure(tmp_path, monkeypatch, edges):
    def fail(*_):
        shutil.rmtree(tmp_path / "run")
        raise MemoryError("none left")

    monkeypatch.setattr(execute, "compile_kernels", fail)
    done = start(edges, tmp_path / "run")
    assert done.exit_code == 1
    assert "not enough memory (none left)" in done.stderr


def full(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_before_the_first_checkpoint_is_described_as_it_is(edges, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots.Snapshots, "write", full)
    done = start(edges, tmp_path / "run")
    assert done.exit_code == 0
    assert "there is no checkpoint yet, and blockmix resume would begin it again" in done.stderr
    assert "earlier checkpoints" not in done.stderr


def test_results_that_cannot_be_written_are_not_called_kept(edges, tmp_path, monkeypatch, alone):
    folder = tmp_path / "run"
    monkeypatch.setattr(results, "save_posterior", full)
    done = start(edges, folder)
    monkeypatch.undo()
    assert done.exit_code == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("not all results could be written; remove the cause: the run is kept")
    assert "result so far is kept" not in done.stderr
    assert blockmix("resume", folder, "-q").exit_code == 0
    assert bm.load(folder).provenance["sweeps"] == 20


def test_a_result_of_one_sweep_is_called_a_first_impression(edges, tmp_path):
    words = ("fit", edges, "-k", 3, "--chains", 1, "--threads", 1)
    done = blockmix(*words, "--time-limit", 1e-9)
    assert done.exit_code == 0
    assert "this is a first impression, after 1 sweep:" in done.stderr
    assert "first impression" not in blockmix(*words, "--sweeps", 20).stderr


def test_a_time_limit_says_what_it_does_not_count(edges, monkeypatch):
    words = ("fit", edges, "-k", 3, "--chains", 1, "--threads", 1, "--time-limit", 0.2)
    assert "the time limit" not in blockmix(*words).stderr
    monkeypatch.setattr(execute, "compile_kernels", lambda *_: time.sleep(1.5))
    said = blockmix(*words).stderr
    assert "the time limit of 0.2 s counts the search for a start and whole sweeps, which took 0.2 s" in said
    assert "reading, compiling and saving took another 1." in said


def test_progress_shows_the_start_and_the_first_sweep(edges):
    said = blockmix("fit", edges, "-k", 3, "--sweeps", 5).stderr.splitlines()
    # Compiling is named only where something is compiled (tests/numerics/test_compiling.py).
    waiting = ["finding a start", "making the first sweep"]
    assert [line for line in said if line in waiting] == waiting
