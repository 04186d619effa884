"""A checkpoint is whole or passed over: damage of any kind is named, and the one before is used."""

import errno
import json
import os
import shutil

import numpy as np
import pytest

from blockmix import InputError, fit, planted
from blockmix.files import Damaged
from blockmix.inference.resume import resume
from blockmix.inference.run_folder.snapshots import Snapshots, read_snapshot, write_snapshot

ARRAYS = {"words": np.arange(600, dtype=np.int32).reshape(20, 30), "total": np.linspace(0, 1, 7)}


@pytest.fixture
def kept(tmp_path):
    """Two snapshots of one run."""
    store = Snapshots(tmp_path, "mine")
    store.write(ARRAYS, {"sweep": 1})
    store.write(ARRAYS, {"sweep": 2})
    return store


def flip(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def test_arrays_and_facts_come_back_to_the_bit(kept):
    found = kept.newest()
    assert found.facts == {"sweep": 2}
    assert found.run == "mine"
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].tobytes() == array.tobytes()


def test_the_last_two_are_kept(kept, tmp_path):
    for sweep in (3, 4, 5):
        kept.write(ARRAYS, {"sweep": sweep})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000004", "000005"]


def truncate(folder):
    path = folder / "words.npy"
    path.write_bytes(path.read_bytes()[:-5])
    return "words.npy: it does not match its checksum: 2,523 bytes of 2,528"


def flip_a_bit(folder):
    flip(folder / "words.npy")
    return "words.npy: it does not match its checksum"


def flip_the_header(folder):
    flip(folder / "total.npy", 30)
    return "total.npy: it does not match its checksum"


def remove(folder):
    (folder / "total.npy").unlink()
    return "total.npy: cannot be read"


def exchange(folder):
    shutil.copy(folder / "total.npy", folder / "words.npy")
    return "words.npy: it does not match its checksum"


def spoil_the_manifest(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"sweep": 2', '"sweep": 3'))
    return "manifest.json: it does not match its checksum"


def cut_the_manifest(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text()[:40])
    return "manifest.json cannot be read"


def another_file(folder):
    (folder / "manifest.json").write_text('{"format": "other"}')
    return "this is not the manifest of a blockmix checkpoint"


def another_run(folder):
    shutil.rmtree(folder)
    write_snapshot(folder, "theirs", ARRAYS, {"sweep": 9})
    return "it belongs to another run"


def a_pickle(folder):
    np.save(folder / "words.npy", np.array([{}], dtype=object))
    return "words.npy: it does not match its checksum"


DAMAGES = [
    truncate, flip_a_bit, flip_the_header, remove, exchange, spoil_the_manifest, cut_the_manifest, another_file,
    another_run, a_pickle,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_named_and_the_snapshot_before_is_used(kept, tmp_path, damage):
    message = damage(tmp_path / "000002")
    with pytest.warns(RuntimeWarning, match=message) as warned:
        found = kept.newest()
    assert found.facts == {"sweep": 1}
    assert str(tmp_path / "000002") in str(warned[0].message)


def test_a_pickle_is_not_opened_even_with_the_right_checksum(tmp_path, monkeypatch):
    target = tmp_path / "000001"
    monkeypatch.setattr(
        np,
        "save",
        lambda file, array, allow_pickle: np.lib.format.write_array(file, np.array([{}], dtype=object)),
    )
    write_snapshot(target, "mine", ARRAYS, {})
    with pytest.raises(Damaged, match=r"words\.npy holds the type \|O, not numbers"):
        read_snapshot(target)


def test_if_none_is_whole_that_is_an_error(kept, tmp_path):
    for name in ("000001", "000002"):
        flip(tmp_path / name / "total.npy")
    with pytest.warns(RuntimeWarning), pytest.raises(InputError, match="none of the checkpoints is whole"):
        kept.newest()


def test_a_damaged_one_does_not_push_out_the_good_one(kept, tmp_path):
    flip(tmp_path / "000002" / "total.npy")
    with pytest.warns(RuntimeWarning):
        found = kept.newest()
    after = Snapshots(tmp_path, "mine", found.path)
    after.write(ARRAYS, {"sweep": 3})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000001", "000003"]


def test_an_unknown_version_of_the_format_is_refused(kept, tmp_path):
    path = tmp_path / "000002" / "manifest.json"
    body = json.loads(path.read_text())
    path.write_text(json.dumps(body | {"version": 2}))
    with pytest.raises(
        InputError, match=r"version 2 of the format, and this blockmix reads version 1; use the"
    ):
        kept.newest()


def test_what_a_killed_process_left_half_written_is_removed(kept, tmp_path):
    left = tmp_path / f".partial-{'ab' * 16}"
    left.mkdir()
    (left / "words.npy").write_bytes(b"half")
    assert kept.newest().facts == {"sweep": 2}
    kept.write(ARRAYS, {"sweep": 3})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000002", "000003"]


@pytest.fixture(scope="module")
def tiny():
    return planted(60, 3, degree=8, seed=4).graph


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["write", "bring to the disk", "rename"])
def test_a_full_disk_loses_no_earlier_checkpoint(tmp_path, tiny, monkeypatch, same_run, where):
    """The disk fills up at sweep 20: the run goes on with a warning, and the checkpoint of sweep 0 is whole."""
    options = {"sweeps": 30, "seed": 1, "chains": 1, "threads": 1}
    target = {"write": (np, "save"), "bring to the disk": (os, "fsync"), "rename": (os, "rename")}[where]

    def fill(report):
        if report.sweep == 20:
            monkeypatch.setattr(*target, full)

    with pytest.warns(
        RuntimeWarning, match=r"no checkpoint at sweep 30 \(No space left on device\); the run goes"
    ):
        post = fit(tiny, 3, checkpoint=tmp_path, callback=fill, **options)
    monkeypatch.undo()
    assert post.provenance["sweeps"] == 30
    assert [path.name for path in (tmp_path / "checkpoint").glob("*0*")] == ["000001"]
    assert not list((tmp_path / "checkpoint").glob(".partial*"))
    same_run(resume(tmp_path, threads=1), post)


def test_a_disk_that_is_full_from_the_start_is_an_error_before_any_work(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="checkpoints cannot be written"):
        fit(tiny, 3, sweeps=10, chains=1, checkpoint=tmp_path / "run")


@pytest.mark.parametrize("name", ["graph", "training"])
def test_a_network_that_was_exchanged_is_noticed(tmp_path, tiny, name):
    fit(tiny, 3, sweeps=10, chains=1, threads=1, checkpoint=tmp_path)
    planted(60, 3, degree=8, seed=5).graph.save(tmp_path / "checkpoint" / name)
    with pytest.raises(InputError, match=f"{name}: this is not the network of this run"):
        resume(tmp_path)


def test_settings_that_are_damaged_are_an_error(tmp_path, tiny):
    fit(tiny, 3, sweeps=10, chains=1, threads=1, checkpoint=tmp_path)
    flip(tmp_path / "checkpoint" / "start" / "pairs.npy")
    with pytest.raises(InputError, match=r"pairs\.npy: it does not match its checksum; restore the folder"):
        resume(tmp_path)


def test_a_resumed_run_uses_the_checkpoint_before_a_damaged_one(tmp_path, tiny, same_run):
    options = {"sweeps": 30, "seed": 1, "chains": 2, "threads": 1}
    post = fit(tiny, 3, checkpoint=tmp_path, **options)
    flip(tmp_path / "checkpoint" / "000002" / "chain1_state_words.npy")
    with pytest.warns(RuntimeWarning, match="chain1_state_words.npy: it does not match its checksum"):
        again = resume(tmp_path, threads=1)
    same_run(again, post)
