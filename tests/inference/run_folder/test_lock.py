"""One folder, one run: the lock is the system's and dies with its holder."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from blockmix import InputError
from blockmix.inference.run_folder.lock import LOCK, FolderLock, holder, is_locked


def test_a_folder_is_locked_until_it_is_released(tmp_path):
    lock = FolderLock(tmp_path)
    assert not is_locked(tmp_path)
    lock.acquire()
    assert is_locked(tmp_path)
    assert holder(tmp_path)["pid"] == os.getpid()
    lock.release()
    assert not is_locked(tmp_path)
    assert not list(tmp_path.iterdir())
    lock.release()


def test_a_second_run_is_refused_with_the_holder_of_the_lock(tmp_path):
    """Also from within one process."""
    first, second = FolderLock(tmp_path), FolderLock(tmp_path)
    first.acquire()
    with pytest.raises(
        InputError, match=f"another run is writing here: process {os.getpid()}, since .*end it"
    ):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_a_holder_that_could_not_sign_is_a_holder_all_the_same(tmp_path):
    first = FolderLock(tmp_path)
    first.acquire()
    (tmp_path / LOCK).write_text("")
    with pytest.raises(InputError, match="another run is writing here; wait for its end"):
        FolderLock(tmp_path).acquire()
    first.release()


def test_a_file_left_by_a_process_that_ended_is_no_lock(tmp_path):
    (tmp_path / LOCK).write_text('{"pid": 1, "host": "elsewhere", "since": "long ago"}')
    assert not is_locked(tmp_path)
    lock = FolderLock(tmp_path)
    lock.acquire()
    assert holder(tmp_path)["pid"] == os.getpid()
    lock.release()


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_the_lock_of_a_killed_process_is_gone(tmp_path):
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom blockmix.inference.run_folder.lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); lock.acquire(); print('locked', flush=True); time.sleep(600)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"locked\n"
    with pytest.raises(InputError, match=f"process {other.pid}"):
        FolderLock(tmp_path).acquire()
    other.send_signal(signal.SIGKILL)
    other.communicate(timeout=60)
    assert (tmp_path / LOCK).exists()
    lock = FolderLock(tmp_path)
    lock.acquire()
    lock.release()


def test_a_lock_file_that_its_holder_removed_meanwhile_is_not_trusted(tmp_path, monkeypatch):
    """Between opening the file and locking it, its holder ended and removed it: another file is the lock now."""
    from blockmix.inference.run_folder import lock as module

    take, removed = module._take, []

    def late(descriptor):
        if not removed:
            (tmp_path / LOCK).unlink()
            removed.append(True)
        take(descriptor)

    monkeypatch.setattr(module, "_take", late)
    lock = FolderLock(tmp_path)
    lock.acquire()
    assert is_locked(tmp_path)
    lock.release()


def test_a_place_without_locks_is_refused(tmp_path, monkeypatch):
    from blockmix.inference.run_folder import lock as module
    from blockmix.inference.run_folder.folder import RunFolder

    def none(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(module, "_take", none)
    with pytest.raises(InputError, match=r"cannot be written to \(No locks available\)"):
        RunFolder(tmp_path / "run")
