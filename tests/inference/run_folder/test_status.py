"""Other programs can read the state of a run: status.json is whole at any time, and names runs that were killed."""

import errno
import json
import os
import signal

import pytest

from blockmix import InputError, fit, planted
from blockmix.inference.interrupt import Terminated
from blockmix.inference.run_folder import status as module
from blockmix.inference.run_folder.folder import RunFolder
from blockmix.inference.run_folder.status import read_status


@pytest.fixture(scope="module")
def tiny():
    return planted(60, 3, degree=8, seed=4).graph


def seen_at(folder, sweep, seen):
    def callback(report):
        if report.sweep == sweep:
            seen.append(read_status(folder))

    return callback


@pytest.fixture
def every_time(monkeypatch):
    monkeypatch.setattr(module, "WRITE_EVERY", 0.0)


def test_a_running_fit_writes_sweep_phase_speed_and_scores(tmp_path, tiny, every_time):
    seen = []
    options = {"seed": 7, "chains": 2, "sweeps": 40, "warm_up": 25, "threads": 1}
    fit(tiny, 3, checkpoint=tmp_path, callback=seen_at(tmp_path, 30, seen), **options)
    (record,) = seen
    assert record["state"] == "running"
    assert (record["sweep"], record["sweeps"], record["phase"]) == (30, 40, "sampling")
    assert (record["nodes"], record["communities"], record["chains"], record["seed"]) == (60, 3, 2, 7)
    assert record["pid"] == os.getpid()
    assert record["share"] == 0.75
    assert record["updates_per_second"] > 0
    assert 0 <= record["scores"]["auc"] <= 1
    assert record["checkpoint_sweep"] == 0
    assert record["age"] < 60


def test_the_last_status_is_how_the_run_ended(tmp_path, tiny):
    fit(tiny, 3, sweeps=20, threads=1, checkpoint=tmp_path / "done")
    done = read_status(tmp_path / "done")
    assert (done["state"], done["sweep"], done["checkpoint_sweep"]) == ("done", 20, 20)

    def at_ten(what):
        def callback(report):
            if report.sweep == 10:
                what()

        return callback

    interrupt = at_ten(lambda: signal.raise_signal(signal.SIGINT))
    fit(tiny, 3, sweeps=20, threads=1, checkpoint=tmp_path / "interrupted", callback=interrupt)
    assert read_status(tmp_path / "interrupted")["state"] == "interrupted"
    with pytest.raises(ZeroDivisionError):
        fit(tiny, 3, sweeps=20, threads=1, checkpoint=tmp_path / "failed", callback=at_ten(lambda: 1 / 0))
    failed = read_status(tmp_path / "failed")
    assert (failed["state"], failed["message"]) == ("failed", "ZeroDivisionError: division by zero")
    if os.name != "nt":
        terminate = at_ten(lambda: signal.raise_signal(signal.SIGTERM))
        with pytest.raises(Terminated):
            fit(tiny, 3, sweeps=20, threads=1, checkpoint=tmp_path / "terminated", callback=terminate)
        assert read_status(tmp_path / "terminated")["state"] == "terminated"


def test_it_is_done_only_when_the_folder_is_closed(tmp_path, tiny):
    """Results may be written after the last sweep: whoever waits for "done" finds them."""
    with RunFolder(tmp_path) as folder:
        fit(tiny, 3, sweeps=20, threads=1, checkpoint=folder)
        assert read_status(tmp_path)["state"] == "running"
        assert read_status(tmp_path)["phase"] == "finished"
    assert read_status(tmp_path)["state"] == "done"


def test_a_run_with_the_state_running_but_without_its_lock_is_dead(tmp_path, tiny):
    fit(tiny, 3, sweeps=20, threads=1, checkpoint=tmp_path)
    path = tmp_path / "status.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "running"}))
    assert read_status(tmp_path)["state"] == "dead"


def test_quick_sweeps_are_not_slowed_down_by_it(tmp_path, tiny, monkeypatch):
    written = []
    write = module.StatusFile.write
    monkeypatch.setattr(module.StatusFile, "write", lambda self: (written.append(1), write(self)))
    monkeypatch.setattr(module, "WRITE_EVERY", 3600.0)
    fit(tiny, 3, sweeps=200, chains=1, threads=1, checkpoint=tmp_path)
    # begun, finished, closed
    assert len(written) == 3


def test_a_status_that_cannot_be_written_does_not_end_the_run(tmp_path, tiny, monkeypatch, every_time):
    replace = os.replace

    def full(source, target):
        if str(target).endswith("status.json"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match=r"status\.json: cannot be written \(No space") as warned:
        post = fit(tiny, 3, sweeps=20, threads=1, checkpoint=tmp_path)
    assert len(warned) == 1
    assert post.provenance["sweeps"] == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no run is or was here"),
        ("{", "cannot be read"),
        ("[]", "this is not the status of a blockmix run"),
        ('{"format": "blockmix status", "version": 7}', "written in version 7 of the format"),
    ],
)
def test_a_folder_without_a_status_is_an_error(tmp_path, text, message):
    if text is not None:
        (tmp_path / "status.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_status(tmp_path)


@pytest.mark.parametrize("name", ["started", "updated"])
@pytest.mark.parametrize("value", [10**400, "x", True])
def test_a_time_that_is_no_number_is_refused(tmp_path, name, value):
    """An age of 400 digits fits into no float."""
    facts = dict.fromkeys(("nodes", "links", "communities", "chains", "seed", "sweeps"), 1)
    module.StatusFile(tmp_path, facts | {"sampler": "scir"})
    read_status(tmp_path)
    record = json.loads((tmp_path / "status.json").read_text())
    (tmp_path / "status.json").write_text(json.dumps(record | {name: value}))
    with pytest.raises(InputError, match=f"not the status of a blockmix run: {name} is"):
        read_status(tmp_path)
