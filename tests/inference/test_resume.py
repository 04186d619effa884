"""A run that was stopped goes on from its last checkpoint as if nothing had happened."""

import dataclasses
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from blockmix import InputError, fit, hold_out, planted
from blockmix.inference import execute, request
from blockmix.inference.interrupt import Terminated
from blockmix.inference.resume import resume
from blockmix.inference.run_folder import checkpointer
from blockmix.samplers import SAMPLERS

SWEEPS_BETWEEN = 7


class Crash(Exception):
    pass


def crash_at(sweep):
    def callback(report):
        if report.sweep >= sweep:
            raise Crash

    return callback


def signal_at(sweep, number):
    def callback(report):
        if report.sweep == sweep:
            signal.raise_signal(number)

    return callback


@pytest.fixture
def often(monkeypatch):
    """Checkpoints every few sweeps rather than seconds, and none that waits for the disk."""

    def due(self):
        # Asked once a sweep; every checkpoint, the one a run is resumed from included, is at a multiple.
        self.asked = getattr(self, "asked", 0) + 1
        return self.asked % SWEEPS_BETWEEN == 0

    monkeypatch.setattr(checkpointer.Checkpointer, "due", due)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def tiny():
    return planted(60, 3, degree=8, seed=4).graph


def stopped(graph, k, folder, at, **options):
    """Make a run that breaks off at this sweep."""
    with pytest.raises(Crash):
        fit(graph, k, checkpoint=folder, callback=crash_at(at), **options)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, known in SAMPLERS.items() for name in known]
)
def test_every_sampler_goes_on_to_the_same_bits(tmp_path, tiny, same_run, often, kind, name):
    """Broken off in warm-up, at its end, and while samples are taken; the state and all results are the same."""
    options = {
        "model": kind, "sampler": name, "sweeps": 40, "warm_up": 15, "seed": 5, "chains": 2, "threads": 1
    }  # fmt: skip
    alone = fit(tiny, 3, checkpoint=tmp_path / "alone", **options)
    stopped(tiny, 3, tmp_path / "run", 3, **options)
    for at in (10, 20):
        with pytest.raises(Crash):
            resume(tmp_path / "run", callback=crash_at(at), threads=1)
    post = resume(tmp_path / "run", threads=1)
    assert post.provenance["resumed"] == 3
    same_run(post, alone, (tmp_path / "run", tmp_path / "alone"))


@pytest.mark.parametrize("lost", ["forecast", "state", "summary"])
def test_the_comparison_notices_whatever_is_not_restored(tmp_path, tiny, same_run, monkeypatch, lost, often):
    """Were a part of the run not brought back as it was, results would differ: the tests here can fail."""
    options = {"seed": 5, "chains": 1, "threads": 1, "held_out": 0.1, "sweeps": 40, "warm_up": 10}
    alone = fit(tiny, 3, **options)
    stopped(tiny, 3, tmp_path, 20, **options)
    restore = execute.HostChain.restore

    def forgetful(*arguments):
        chain = restore(*arguments)
        part = {
            "forecast": chain.forecast(),
            "state": chain.state.strengths.value,
            "summary": chain.summary().running.mean,
        }[lost]
        part *= 0.9
        return chain

    monkeypatch.setattr(execute.HostChain, "restore", forgetful)
    with pytest.raises(AssertionError):
        same_run(resume(tmp_path, threads=1), alone)


@pytest.mark.parametrize("chains", [1, 2])
def test_a_run_that_ends_when_its_score_has_settled_does_so_at_the_same_sweep(
    tmp_path, tiny, same_run, chains, monkeypatch
):
    # Two chains that agree late would make the test long.
    monkeypatch.setattr(request, "most_sweeps", lambda *_: 600)
    options = {"seed": 5, "chains": chains, "threads": 1, "held_out": 0.1}
    alone = fit(tiny, 3, **options)
    for at in (50, alone.provenance["warm_up"] + 30, alone.provenance["sweeps"] - 15):
        stopped(tiny, 3, tmp_path / str(at), at, **options)
        same_run(resume(tmp_path / str(at), threads=2), alone)


def test_of_a_time_limit_the_remaining_seconds_count(tmp_path, tiny):
    """Broken off after 1.5 of 2 seconds, and resumed later; counted anew it would come to 3.5."""

    def crash(report):
        if report.seconds >= 1.5:
            raise Crash

    with pytest.raises(Crash):
        fit(
            tiny,
            3,
            time_limit=2.0,
            chains=1,
            threads=1,
            checkpoint=tmp_path,
            checkpoint_every=0.1,
            callback=crash,
        )
    time.sleep(0.5)
    post = resume(tmp_path, threads=1)
    assert 2.0 <= post.provenance["seconds"] < 3.5
    assert np.diff(post.trace["seconds"]).min() >= 0


def test_ones_own_split_and_numpy_numbers_are_kept(tmp_path, tiny, same_run):
    data = hold_out(tiny, 0.2, seed=9)
    flipped = dataclasses.replace(data, links=~data.links)
    options = {
        "held_out": flipped, "sweeps": np.int64(30), "seed": np.uint32(3), "alpha": np.float32(0.2),
        "eta": [1, 2], "slots": 4, "background": 0.01, "threads": 1,
    }  # fmt: skip
    stopped(tiny, np.int32(3), tmp_path, 20, **options)
    post = resume(tmp_path, threads=1)
    same_run(post, fit(tiny, 3, **options))
    np.testing.assert_array_equal(post.held_out.links, ~data.links)


def test_nothing_held_out_and_a_chosen_number_of_communities(tmp_path, tiny, same_run):
    options = {"held_out": 0, "sweeps": 30, "threads": 1}
    stopped(tiny, "auto", tmp_path, 20, **options)
    same_run(resume(tmp_path, threads=1), fit(tiny, "auto", **options))


def test_a_run_that_had_ended_gives_the_same_posterior_again(tmp_path, tiny, same_run):
    post = fit(tiny, 3, sweeps=33, seed=1, threads=1, checkpoint=tmp_path)
    again = resume(tmp_path, threads=1)
    same_run(again, post)
    assert again.trace["sweep"][-1] == 33


@pytest.mark.parametrize("first", [33, 40])
def test_a_run_that_had_ended_goes_on_when_given_more_sweeps(tmp_path, tiny, same_run, first):
    """As if it had been given them at once; also where it ended between two evaluations."""
    options = {"seed": 1, "warm_up": 12, "chains": 2, "threads": 1}
    fit(tiny, 3, sweeps=first, checkpoint=tmp_path, **options)
    same_run(resume(tmp_path, sweeps=60, threads=1), fit(tiny, 3, sweeps=60, **options))
    assert resume(tmp_path, time_limit=1.0, threads=1).provenance["seconds"] >= 1.0


def test_new_limits_must_lie_ahead(tmp_path, tiny):
    fit(tiny, 3, sweeps=30, threads=1, chains=1, checkpoint=tmp_path)
    with pytest.raises(InputError, match="sweeps is 30, and this run has 30 behind it already"):
        resume(tmp_path, sweeps=30)
    with pytest.raises(InputError, match=r"time_limit is 1e-06"):
        resume(tmp_path, time_limit=1e-6)
    with pytest.raises(InputError, match="sweeps must be a whole number"):
        resume(tmp_path, sweeps=40.5)


def test_ctrl_c_keeps_the_posterior_and_a_checkpoint(tmp_path, tiny, same_run):
    """Interrupted between two evaluations; the evaluation made for the interrupted result is taken back."""
    options = {"sweeps": 60, "warm_up": 15, "seed": 2, "chains": 2, "threads": 1}
    kept = fit(tiny, 3, checkpoint=tmp_path, callback=signal_at(30, signal.SIGINT), **options)
    assert kept.provenance["interrupted"]
    assert kept.provenance["sweeps"] == 31
    post = resume(tmp_path, threads=1)
    assert not post.provenance["interrupted"]
    same_run(post, fit(tiny, 3, **options))


def test_ctrl_c_in_warm_up_goes_on_in_warm_up(tmp_path, tiny, same_run):
    options = {"sweeps": 60, "warm_up": 20, "seed": 2, "chains": 1, "threads": 1}
    kept = fit(tiny, 3, checkpoint=tmp_path, callback=signal_at(10, signal.SIGINT), **options)
    assert kept.provenance["samples"] == 1
    same_run(resume(tmp_path, threads=1), fit(tiny, 3, **options))


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_sigterm_leaves_a_checkpoint_and_ends_the_program(tmp_path, tiny, same_run):
    options = {"sweeps": 60, "warm_up": 15, "seed": 2, "threads": 1}
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated) as ended:
        fit(tiny, 3, checkpoint=tmp_path, callback=signal_at(30, signal.SIGTERM), **options)
    assert ended.value.code == 143
    assert isinstance(ended.value, SystemExit)
    assert signal.getsignal(signal.SIGTERM) is before
    same_run(resume(tmp_path, threads=1), fit(tiny, 3, **options))


def test_a_program_with_a_handler_of_its_own_keeps_it(tmp_path, tiny):
    received = []
    before = signal.signal(signal.SIGTERM, lambda *_: received.append(1))
    try:
        post = fit(tiny, 3, sweeps=40, checkpoint=tmp_path, callback=signal_at(30, signal.SIGTERM), threads=1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [1]
    assert not post.provenance["interrupted"]


def test_a_run_stopped_before_its_first_checkpoint_begins_from_its_start(
    tmp_path, tiny, same_run, monkeypatch
):
    """The split of the user, the chosen communities and new limits are kept."""

    def crash(*_):
        raise Crash

    options = {"held_out": hold_out(tiny, 0.2, seed=9), "seed": 3, "threads": 1, "chains": 2}
    monkeypatch.setattr(execute, "compile_kernels", crash)
    for folder in ("run", "longer"):
        with pytest.raises(Crash):
            fit(tiny, "auto", sweeps=20, checkpoint=tmp_path / folder, **options)
    monkeypatch.undo()
    post = resume(tmp_path / "run", threads=1)
    same_run(post, fit(tiny, "auto", sweeps=20, **options))
    assert post.provenance["run"] is not None
    same_run(resume(tmp_path / "longer", sweeps=30, threads=1), fit(tiny, "auto", sweeps=30, **options))


def test_communities_that_were_given_are_not_kept_before_the_first_checkpoint(tmp_path, tiny, monkeypatch):
    def crash(*_):
        raise Crash

    monkeypatch.setattr(execute, "compile_kernels", crash)
    with pytest.raises(Crash):
        fit(tiny, 2, sweeps=20, threads=1, checkpoint=tmp_path, init=[range(30), range(30, 60)])
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"began at communities that were given \(init\)"):
        resume(tmp_path)


def test_an_earlier_run_is_not_overwritten(tmp_path, tiny):
    fit(tiny, 3, sweeps=10, threads=1, chains=1, checkpoint=tmp_path / "run")
    with pytest.raises(InputError, match="holds the checkpoints of an earlier run"):
        fit(tiny, 3, sweeps=10, threads=1, chains=1, checkpoint=tmp_path / "run")


def test_a_folder_without_a_run_is_refused_and_left_alone(tmp_path):
    with pytest.raises(InputError, match="there is no run to resume"):
        resume(tmp_path)
    with pytest.raises(InputError, match="there is no such folder"):
        resume(tmp_path / "none")
    assert not list(tmp_path.iterdir())


def test_without_checkpoints_there_is_nothing_to_resume(tmp_path, tiny):
    fit(tiny, 3, sweeps=10, threads=1, checkpoint=tmp_path, checkpoint_every=0)
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]
    with pytest.raises(InputError, match="there is no run to resume"):
        resume(tmp_path)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "often", True])
def test_a_wrong_interval_is_refused(tmp_path, tiny, wrong):
    with pytest.raises(InputError, match="checkpoint_every must be a number of seconds"):
        fit(tiny, 3, sweeps=10, threads=1, checkpoint=tmp_path / "run", checkpoint_every=wrong)
    assert not (tmp_path / "run").exists()


def test_another_version_of_blockmix_is_a_warning(tmp_path, tiny, monkeypatch):
    stopped(tiny, 3, tmp_path, 10, sweeps=20, threads=1)
    monkeypatch.setattr("blockmix.inference.resume.__version__", "99.0")
    with pytest.warns(RuntimeWarning, match=r"begun with blockmix \S+, and goes on with 99.0"):
        resume(tmp_path, threads=1)


def test_large_checkpoints_are_written_less_often_than_asked_for(tmp_path, tiny, monkeypatch):
    """Writing is made to take 0.05 s, and may take a fifth of the time: four checkpoints in a second at most."""
    monkeypatch.setattr(checkpointer, "MOST_SHARE", 0.2)
    written = []
    write = checkpointer.Snapshots.write

    def slow(self, arrays, facts):
        time.sleep(0.05)
        written.append(facts["sweep"])
        return write(self, arrays, facts)

    monkeypatch.setattr(checkpointer.Snapshots, "write", slow)
    post = fit(tiny, 3, time_limit=1.5, threads=1, chains=1, checkpoint=tmp_path, checkpoint_every=1e-9)
    # The first and the last are always written.
    assert 2 <= len(written) <= 2 + 1.5 / 0.25
    assert written[-1] == post.provenance["sweeps"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_two_runs_cannot_write_to_one_folder(tmp_path, tiny):
    program = (
        "import sys, blockmix as bm\n"
        "graph = bm.planted(60, 3, degree=8, seed=4).graph\n"
        "def say(report): print('alive', flush=True)\n"
        "bm.fit(graph, 3, time_limit=300, threads=1, checkpoint=sys.argv[1], callback=say)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"alive\n"
        for attempt in (lambda: fit(tiny, 3, sweeps=5, checkpoint=tmp_path), lambda: resume(tmp_path)):
            with pytest.raises(InputError, match=rf"another run is writing here: process {other.pid}, since"):
                attempt()
    finally:
        other.kill()
        other.communicate(timeout=60)
    # A process that ended holds no lock.
    with pytest.raises(Crash):
        resume(tmp_path, threads=1, callback=crash_at(0))
