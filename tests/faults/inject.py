"""Let every write, sync and change of a name in the folder of a run fail once, or kill the process there, one by one.

Two commands are disturbed: a new run, and a run with a result that is extended, of the popularity model, which has one
more file of results. For each of their operations on files the command starts again from the same folder; at this
operation the disk is full (ENOSPC), broken (EIO) or read-only (EROFS), or the process ends without a word, a write half
done. Then it must hold that

- a disturbed command ends with 0, 1 or 2 and says what to do, and never calls this a defect of blockmix;
- the last whole checkpoint is still whole, and what `load` returns is a whole result or an error;
- `blockmix resume` (or `fit`, where nothing was begun) ends with 0 and gives the same bits as an undisturbed run;
- nothing temporary is left.

In the tests each operation meets one of the three errors in turn; all of them, by hand:

    python tests/faults/inject.py --all
"""

from __future__ import annotations

import argparse
import builtins
import errno
import functools
import io
import itertools
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer.main
import typer.testing
from typer.testing import CliRunner

from blockmix import InputError, Posterior, load, planted
from blockmix.cli.app import app
from blockmix.files import Damaged, is_temporary
from blockmix.inference import execute
from blockmix.inference.run_folder.snapshots import read_snapshot
from blockmix.posterior.export.files import POPULARITY, TEXT_FILES
from blockmix.posterior.predictive.checks import FEWEST_REPLICATES, predictive_checks

SHORT, LONG = 4, 8
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
KILLED = 77
# What differs between two runs of the same seed.
TIMINGS = re.compile(
    r'^ *"(seconds|total_seconds|created|peak_memory_bytes|run|resumed|threads|checksum)":.*$', re.M
)
REMEDIES = ("resume", "choose another", "the run goes on", "fit again", "blockmix open")


class Faults:
    """Counts operations on files below a folder, and lets one of them fail (`error`) or end the process (None)."""

    def __init__(self, folder: Path, at: int = 0, error: int | None = None) -> None:
        self.folder, self.at, self.error = str(folder), at, error
        self._numbers = itertools.count(1)
        self.count = 0
        self.what = ""

    def meet(self, path: object, what: str, half: Callable[[], Any] = lambda: None) -> None:
        """Count an operation; at the one chosen do half of it, where it has halves, and fail."""
        if not str(path).startswith(self.folder):
            return
        self.count = number = next(self._numbers)
        if number != self.at:
            return
        self.what = f"{what} {Path(str(path)).name}"
        half()
        if self.error is None:
            os._exit(KILLED)
        raise OSError(self.error, os.strerror(self.error), str(path))

    @contextmanager
    def injected(self) -> Iterator[Faults]:
        """Replace the functions that blockmix writes with, for as long as the block lasts."""
        faults, before = (
            self,
            {name: getattr(os, name) for name in ("fsync", "rename", "replace", "unlink", "mkdir")},
        )
        opened, names = builtins.open, {}

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                faults.meet(self.name, "write", lambda: io.FileIO.write(self, bytes(data)[: len(data) // 2]))
                return super().write(data) or 0

        def open_counted(file: Any, mode: str = "r", *words: Any, **options: Any) -> Any:
            if (
                not isinstance(file, str | Path)
                or not set(mode) & set("wx")
                or not str(file).startswith(faults.folder)
            ):
                return opened(file, mode, *words, **options)
            buffered = io.BufferedWriter(Raw(str(file), mode.replace("b", "").replace("t", "")))
            return buffered if "b" in mode else io.TextIOWrapper(buffered, *words[1:], **options)

        def fsync(descriptor: int) -> None:
            faults.meet(os.readlink(f"/proc/self/fd/{descriptor}"), "sync")
            # The disk of this machine is not under test, and takes its time.

        def on_path(name: str) -> Callable[..., Any]:
            def call(path: Any, *words: Any, **options: Any) -> Any:
                faults.meet(path, name)
                return before[name](path, *words, **options)

            return call

        names = {name: on_path(name) for name in before} | {"fsync": fsync}
        for name, function in names.items():
            setattr(os, name, function)
        builtins.open = io.open = open_counted
        try:
            yield self
        finally:
            builtins.open = io.open = opened
            for name, function in before.items():
                setattr(os, name, function)


# The command line is the same for all cases: making it anew would take half of the time.
typer.testing._get_command = functools.cache(typer.main.get_command)


def blockmix(*words: object) -> tuple[int, str]:
    """Run a command; return its exit status and what it printed on standard error."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stderr


def content(run: Path) -> dict[str, Any]:
    """Return all that a result is, without timings."""
    load(run)
    paths = [path for name in ("graph", "posterior") for path in (run / name).iterdir()]
    paths += [run / name for name in (*TEXT_FILES, POPULARITY) if (run / name).exists()]
    found: dict[str, Any] = {
        str(path.relative_to(run)): path.read_bytes() for path in paths if path.name != "trace_seconds.npy"
    }
    text = TIMINGS.sub("", (run / "run.json").read_text())
    return found | {"run.json": re.sub(r'"trace_seconds": \{[^}]*\}', "", text)}


def temporary(run: Path) -> list[str]:
    """Return what is left of files and folders that were not finished."""
    return [str(path) for path in run.rglob(".*") if is_temporary(path.name)]


def whole_checkpoints(run: Path) -> list[str]:
    """Return the names of the checkpoints that are whole."""
    found = []
    for path in sorted((run / "checkpoint").glob("0*")):
        try:
            read_snapshot(path)
            found.append(path.name)
        except (Damaged, InputError):
            pass
    return found


class Scenario:
    """A command to disturb, the folder that it begins with, and what it must leave in the end."""

    def __init__(self, place: Path, extended: bool) -> None:
        self.run, self.before = place / "run", place / "before"
        edges = place / "edges.txt"
        graph = planted(60, 3, degree=8, seed=4).graph
        edges.write_text("".join(f"n{a} n{b}\n" for a, b in graph.edges()))
        options = (
            "--model",
            "popularity" if extended else "assortative",
            "-k",
            3,
            "--warm-up",
            2,
            "--seed",
            1,
            "--chains",
            1,
            "--threads",
            1,
            "--held-out",
            0.1,
            "-q",
        )
        fit = ("fit", edges, *options, "--sweeps")
        self.name = "extended run" if extended else "new run"
        self.again: tuple[object, ...] = (*fit, LONG, "-o", self.run)
        self.command = self.again
        if extended:
            assert blockmix(*fit, SHORT, "-o", self.before) == (0, "")
            self.command = ("resume", self.run, "--sweeps", LONG, "-q")
        self.prepare()
        assert blockmix(*self.command)[0] == 0
        self.expected = content(self.run)

    def prepare(self) -> None:
        """Put the folder back to what it was before the command."""
        shutil.rmtree(self.run, ignore_errors=True)
        if self.before.exists():
            shutil.copytree(self.before, self.run)

    def operations(self) -> int:
        """Return how many operations on files the command makes."""
        self.prepare()
        with Faults(self.run).injected() as faults:
            assert blockmix(*self.command)[0] == 0
        assert content(self.run) == self.expected
        return faults.count

    def fail(self, at: int, error: int) -> str:
        """Let one operation fail; return what it was."""
        self.prepare()
        checkpoints = whole_checkpoints(self.run)
        with Faults(self.run, at, error).injected() as faults:
            status, said = blockmix(*self.command)
        assert faults.what, f"operation {at} was not reached"
        assert status in (0, 1, 2), (status, said)
        assert "defect" not in said, said
        if status:
            assert os.strerror(error) in said, said
            assert any(remedy in said for remedy in REMEDIES), said
        assert faults.what.startswith("unlink") or not temporary(self.run)
        self._check(checkpoints, status)
        return faults.what

    def kill(self, at: int) -> str:
        """Let the process end at one operation."""
        self.prepare()
        checkpoints = whole_checkpoints(self.run)
        child = os.fork()
        if child == 0:
            with Faults(self.run, at).injected():
                blockmix(*self.command)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED, f"operation {at} was not reached"
        self._check(checkpoints, KILLED)
        return "killed"

    def _check(self, checkpoints: list[str], status: int) -> None:
        """Compare what is left with what must be, go on, and compare the end."""
        left = whole_checkpoints(self.run)
        assert not checkpoints or (left and left[-1] >= checkpoints[-1]), (checkpoints, left)
        try:
            sweeps = load(self.run).provenance["sweeps"]
            assert sweeps in (SHORT, LONG)
        except InputError:
            assert status != 0
        begun = (self.run / "checkpoint" / "start").exists()
        words = ("resume", self.run, "--sweeps", LONG, "-q") if begun else self.again
        status, said = blockmix(*words)
        if status == 2 and "behind it already" in said:
            # The last checkpoint has all sweeps: only results were missing.
            status, said = blockmix("resume", self.run, "-q")
        assert status == 0, said
        found = content(self.run)
        different = [name for name in self.expected if found.get(name) != self.expected[name]]
        assert not different, different
        assert (self.run / "report.html").is_file()
        assert not temporary(self.run)


def run_all(scenario: Scenario, kill: bool, errors: int, every: int = 1) -> int:
    """Disturb each operation; print how many there were of each kind and return the number of failures."""
    count, failures, met = scenario.operations(), 0, Counter[str]()
    for at in range(1, count + 1, every):
        for turn in range(1 if kill else errors):
            error = ERRORS[(at + turn) % len(ERRORS)]
            try:
                what = scenario.kill(at) if kill else scenario.fail(at, error)
                met[what.split()[0]] += 1
            except AssertionError as problem:
                failures += 1
                how = "killed" if kill else errno.errorcode[error]
                print(f"{scenario.name}, operation {at} of {count}, {how}: {problem}", flush=True)
    print(f"{scenario.name}: {count} operations, {dict(met)}, {failures} failures", flush=True)
    return failures


def main() -> None:
    """Disturb both commands in both ways."""
    options = argparse.ArgumentParser()
    options.add_argument("--all", action="store_true", help="every error at every operation")
    options.add_argument("--kill", action="store_true", help="only kill")
    options.add_argument("--fail", action="store_true", help="only fail")
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    failures = 0
    # Many small files: in memory where there is such a place.
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as name:
        for extended in (False, True):
            place = Path(name) / str(extended)
            place.mkdir()
            scenario = Scenario(place, extended)
            execute.compile_kernels = lambda *_: None
            # Hundreds of reports are written, and most of their time would be spent on drawing networks.
            Posterior.predictive_checks = functools.partialmethod(predictive_checks, FEWEST_REPLICATES)
            if not chosen.fail:
                failures += run_all(scenario, kill=True, errors=1)
            if not chosen.kill:
                failures += run_all(scenario, kill=False, errors=3 if chosen.all else 1)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
