"""A folder that somebody sent: links, pipes and files of others in it are refused and left as they are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix import InputError, fit, planted
from blockmix.cli.app import app
from blockmix.files import check_own, replace_text
from blockmix.folders import remove_arrays, remove_temporary, whole_folder
from blockmix.inference.run_folder.folder import RunFolder
from blockmix.inference.run_folder.results import write_results
from blockmix.inference.run_folder.status import read_status

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX links and pipes")

FILES = (".lock", "status.json", "run.json", "memberships.tsv", "communities.txt", "held_out.tsv")
FOLDERS = ("checkpoint", "posterior", "graph")


def blockmix(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; links count as what they are."""
    return {
        str(path.relative_to(folder)): b"" if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture(scope="module")
def tiny():
    return planted(60, 3, degree=8, seed=4).graph


@pytest.fixture(scope="module")
def original(tmp_path_factory, tiny) -> Path:
    folder = tmp_path_factory.mktemp("links") / "run"
    with RunFolder(folder) as place:
        post = fit(tiny, 3, sweeps=10, chains=1, threads=1, checkpoint=place)
    assert write_results(post, folder, 0.1) == []
    return folder


@pytest.fixture
def run(original, tmp_path) -> Path:
    """A run that had ended, with all its results."""
    return Path(shutil.copytree(original, tmp_path / "run"))


@pytest.fixture
def outside(tmp_path) -> Path:
    """Somebody's own files, which nothing may touch."""
    folder = tmp_path / "outside"
    (folder / "000001").mkdir(parents=True)
    (folder / "file").write_text("precious")
    (folder / "000001" / "words.npy").write_text("precious")
    (folder / f".partial-{'ab' * 16}").mkdir()
    return folder


def put(place: Path, what: str, outside: Path) -> None:
    """Replace what is here by a link or a pipe."""
    if place.is_dir():
        place.rename(place.with_name("moved-" + place.name))
    else:
        place.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to({"file": outside / "file", "folder": outside, "dangling": outside / "none"}[what])


@pytest.mark.parametrize("what", ["file", "folder", "dangling", "pipe"])
@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
def test_resume_refuses_what_blockmix_did_not_write(run, outside, name, what):
    """One message, status 2, nothing outside is changed and the run itself neither."""
    put(run / name, what, outside)
    before, inside = contents(outside), contents(run) if what != "pipe" else None
    done = blockmix("resume", run, "--sweeps", 20, "-q")
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert f"{run / name}: this is " in done.stderr
    assert contents(outside) == before
    assert (outside / f".partial-{'ab' * 16}").is_dir()
    assert inside is None or contents(run) == inside


@pytest.mark.parametrize("name", [".lock", "status.json", "checkpoint"])
def test_fit_refuses_a_folder_with_links(tmp_path, tiny, outside, name):
    folder = tmp_path / "new"
    folder.mkdir()
    put(folder / name, "folder" if name == "checkpoint" else "file", outside)
    before = contents(outside)
    with pytest.raises(InputError, match="this is a symbolic link"):
        fit(tiny, 3, sweeps=5, chains=1, threads=1, checkpoint=folder)
    assert contents(outside) == before


@pytest.mark.parametrize("name", ["run.json", "posterior", "graph"])
def test_saving_a_posterior_refuses_links(run, outside, name):
    post = bm.load(run)
    put(run / name, "folder" if name != "run.json" else "file", outside)
    before = contents(outside)
    with pytest.raises(InputError, match="this is a symbolic link"):
        post.save(run)
    assert contents(outside) == before


def test_a_second_name_of_a_file_is_no_lock(run, outside):
    os.link(outside / "file", run / ".lock")
    with pytest.raises(InputError, match="not a plain file with one name"):
        RunFolder(run)
    assert (outside / "file").read_text() == "precious"


def test_links_among_the_checkpoints_are_left_alone(run, outside):
    """A numbered link is neither pruned nor followed when checkpoints are removed."""
    (run / "checkpoint" / "000000").symlink_to(outside)
    (run / "checkpoint" / f".partial-{'cd' * 16}").symlink_to(outside)
    (run / "checkpoint" / "2024").mkdir()
    before = contents(outside)
    for sweeps in (20, 30, 40):
        assert blockmix("resume", run, "--sweeps", sweeps, "-q").exit_code == 0
    assert contents(outside) == before
    assert (run / "checkpoint" / "2024").is_dir()


def test_only_what_blockmix_made_is_removed(tmp_path, outside):
    folder = tmp_path / "checkpoint"
    (folder / "000001").mkdir(parents=True)
    for name in ("words.npy", "manifest.json", "notes.txt"):
        (folder / "000001" / name).write_text("x")
    (folder / "start").mkdir()
    (folder / "start" / "link.npy").symlink_to(outside / "file")
    (folder / "graph").mkdir()
    remove_arrays(folder)
    assert sorted(contents(folder)) == ["000001/notes.txt", "start/link.npy"]
    assert not (folder / "graph").exists()
    (tmp_path / f".partial-{'ab' * 16}").write_text("left over")
    (tmp_path / ".partial-mine").write_text("not ours")
    remove_temporary(tmp_path)
    assert [path.name for path in tmp_path.glob(".partial-*")] == [".partial-mine"]


def test_temporary_names_cannot_be_known_before(tmp_path, outside):
    (tmp_path / "status.json.partial").symlink_to(outside / "file")
    replace_text(tmp_path / "status.json", ["new"], follow=False)
    assert (outside / "file").read_text() == "precious"
    assert (tmp_path / "status.json").read_text() == "new"


def test_a_device_is_named_as_one(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="this is a device"):
        check_own(Path(os.devnull))
    with pytest.raises(InputError, match="this is a folder"):
        check_own(tmp_path / "folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="this is a file"), whole_folder(tmp_path / "file"):
        pass


@pytest.mark.parametrize("name", ["status.json", ".lock", "run.json"])
def test_reading_never_waits_for_a_pipe_or_a_device(run, outside, name):
    """`watch` and `load` end at once where a file is a pipe, or a link to a device without end."""
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (run / name).unlink(missing_ok=True)
        make(run / name)
        if name == "run.json":
            with pytest.raises(InputError, match="not a plain file"):
                bm.load(run)
        elif name == "status.json":
            with pytest.raises(InputError, match="not a plain file"):
                read_status(run)
        else:
            assert read_status(run)["state"] == "done"
