"""Folders appear whole or not at all, and what killed processes have left of them goes."""

import errno
import os
import shutil
import subprocess
import sys
import time

import pytest

from blockmix import Graph
from blockmix.files import is_temporary
from blockmix.folders import remove_abandoned, scratch_folder, whole_folder

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no locks of folders")
# Begins to write a folder, says so, and goes on until it is killed.
WRITER = """
import sys, time
from pathlib import Path
from blockmix.folders import whole_folder
with whole_folder(Path(sys.argv[1])) as folder:
    (folder / "neighbors.npy").write_text("half")
    print(folder.name, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("sync", [False, True])
def test_a_folder_is_replaced_whole(tmp_path, sync):
    target = tmp_path / "net"
    for text in ("old", "new"):
        with whole_folder(target, sync) as folder:
            (folder / "below").mkdir()
            (folder / "below" / "file").write_text(text)
            assert target.exists() == (text == "new")
        assert (target / "below" / "file").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["net"]


@pytest.mark.parametrize("when", ["while it is filled", "while it is renamed"])
def test_a_folder_that_cannot_be_finished_leaves_the_earlier_one(tmp_path, monkeypatch, when):
    target, rename = tmp_path / "net", os.rename
    with whole_folder(target) as folder:
        (folder / "file").write_text("old")

    def fail(source, place):
        if place == target and (source / "new").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        rename(source, place)

    monkeypatch.setattr(os, "rename", fail)

    def replace():
        with whole_folder(target) as folder:
            (folder / "new").write_text("new")
            if when == "while it is filled":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        replace()
    assert [path.name for path in tmp_path.iterdir()] == ["net"]
    assert (target / "file").read_text() == "old"


@pytest.fixture
def writer(tmp_path):
    """A process that is writing a folder, and the temporary one that it fills."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "net")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process, tmp_path / process.stdout.readline().strip()
    process.kill()
    process.communicate()


@POSIX
def test_what_a_killed_process_left_is_removed_by_the_next_command(tmp_path, writer):
    process, left = writer
    network = Graph.from_edges([(0, 1)])
    network.save(tmp_path / "other")
    assert left.exists(), "it is being written"
    process.kill()
    process.wait()
    network.save(tmp_path / "other")
    assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


@POSIX
def test_what_another_user_has_left_is_not_touched(tmp_path, writer, monkeypatch):
    """In a folder such as /tmp others may put links into theirs while it is removed."""
    process, left = writer
    process.kill()
    process.wait()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    remove_abandoned(tmp_path)
    assert left.exists()
    monkeypatch.undo()
    remove_abandoned(tmp_path)
    assert not left.exists()


@POSIX
def test_a_whole_folder_that_was_left_is_kept_for_a_day(tmp_path, writer):
    process, left = writer
    (left / "manifest.json").write_text("{}")
    process.kill()
    process.wait()
    remove_abandoned(tmp_path)
    assert left.exists(), "it may be all that there is of a folder that was being replaced"
    os.utime(left, (0, time.time() - 25 * 3600))
    remove_abandoned(tmp_path)
    assert not left.exists()


@POSIX
def test_without_locks_what_was_left_is_kept_for_a_day(tmp_path, writer, monkeypatch):
    import fcntl

    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    process, left = writer
    process.kill()
    process.wait()
    monkeypatch.setattr(fcntl, "flock", refuse)
    with scratch_folder(tmp_path / "net") as fresh:
        remove_abandoned(tmp_path)
        assert left.exists()
        assert fresh.exists()
        os.utime(left, (0, time.time() - 25 * 3600))
        remove_abandoned(tmp_path)
        assert not left.exists()


@POSIX
def test_a_folder_that_is_taken_for_a_left_over_one_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    import fcntl

    lock, removed = fcntl.flock, []

    def lock_late(descriptor, how):
        if not removed:
            removed.extend(path for path in tmp_path.iterdir() if is_temporary(path.name))
            shutil.rmtree(removed[0])
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    with whole_folder(tmp_path / "net") as folder:
        assert folder != removed[0]
        (folder / "file").write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["net"]
