"""Change folders at random as somebody might who wants to break blockmix, with checksums recomputed.

Every case begins with a copy of a whole run and changes one to three things in it: entries, type, shape or header of an
array, a value of a manifest, or a file itself. Then the commands run on it: each must end with 0 or 2, that is with a
result or an `InputError`, within a minute and a limit of memory. To run more cases than the tests do:

    python tests/hostile/fuzz.py --cases 10000 --seed 1

Whether the fuzzer would notice that a check is missing, it tells itself: `--without check_range` leaves one out, and
cases must fail then.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from blockmix import InputError, fit, load, planted
from blockmix.cli.commands.watch import lines
from blockmix.inference.resume import resume
from blockmix.inference.run_folder.folder import RunFolder
from blockmix.inference.run_folder.results import write_results
from blockmix.inference.run_folder.status import read_status
from blockmix.posterior.export.files import write_text_files
from blockmix.report.write import report_html

sys.path.insert(0, str(Path(__file__).parents[1]))
from reseal import reseal

SWEEPS = 12
# Where kernels would be led astray, and numbers just outside of what is allowed.
INTEGERS = (-1, 0, 1, 2, 3, 59, 60, 61, 255, 300, 65535, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
FLOATS = (0.0, -1.0, 1.0, 2.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"))
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 10**6, 2**40, 2**70, 0.5, -0.5, 1e300, float("nan"), float("inf"), "", "x", "../x",
    "\x1b[2J", "/dev/zero", [], [1], {}, {"a": 1},
)  # fmt: skip
# Numbers that ask for much work and are legal: a run with a million sweeps is long, and not a crash.
# Bytes that the process may take, and seconds for one command; a case takes a fraction of a second.
MEMORY, SECONDS = 4 * 2**30, 60
LEGAL_BUT_LONG = {"sweeps", "time_limit", "warm_up", "iterations", "alpha", "communities"}


def make_run(folder: Path, sampler: str = "scir", **options: Any) -> Path:
    """Make a whole run with all results, of 60 nodes."""
    graph = planted(60, 3, degree=8, seed=4).graph
    if sampler == "scir":
        graph = type(graph).from_edges([(f"n{a}é", f"n{b}é") for a, b in graph.edges().tolist()])
    with RunFolder(folder, {"threshold": 0.1}) as place:
        post = fit(
            graph, 3, sampler=sampler, sweeps=SWEEPS, warm_up=4, seed=1, threads=1, held_out=0.1, chains=2,
            checkpoint=place, **options,
        )  # fmt: skip
    assert write_results(post, folder, 0.1) == []
    return folder


def change_array(path: Path, chance: random.Random) -> str:
    """Change one array; return what was done."""
    array = np.array(np.load(path))
    kind = chance.choice(["entries", "entries", "entries", "type", "shape", "bytes", "header", "order"])
    if kind == "entries" and array.size:
        flat = array.reshape(-1)
        for _ in range(chance.choice([1, 1, 5])):
            at = chance.randrange(len(flat))
            if array.dtype.kind == "f":
                with np.errstate(over="ignore"):
                    flat[at] = chance.choice(FLOATS)
            elif array.dtype.kind == "b":
                flat.view(np.uint8)[at] = chance.choice([0, 1, 2, 255])
            else:
                flat[at] = np.array(chance.choice(INTEGERS) % 2**64, dtype=np.uint64).astype(array.dtype)
        np.save(path, array)
    elif kind == "type":
        dtype = chance.choice(
            ["<i4", "<i8", ">i4", ">i8", "<f4", "<f8", "|u1", "<u2", "|b1", "<c16", "<U3", "<M8[s]"]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.save(path, array.astype(dtype))
    elif kind == "shape":
        change = chance.choice(["cut", "longer", "column", "flat", "empty", "scalar"])
        changed = {
            "cut": lambda: array[..., :-1], "longer": lambda: np.concatenate([array, array]),
            "column": lambda: array[..., None], "flat": lambda: array.reshape(-1), "empty": lambda: array[:0],
            "scalar": lambda: array.reshape(-1)[:1].reshape(()) if array.size else array,
        }[change]()  # fmt: skip
        np.save(path, np.ascontiguousarray(changed))
        if change == "scalar" and array.size:
            np.save(path, array.reshape(-1)[0])
    elif kind == "order" and array.ndim == 2:
        np.save(path, np.asfortranarray(array))
    elif kind == "header":
        data = path.read_bytes()
        old = str(array.shape).encode()
        path.write_bytes(data.replace(old, str((10**11,)).encode()[: len(old)].ljust(len(old)), 1))
    else:
        data = bytearray(path.read_bytes())
        for _ in range(3):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(bytes(data[: chance.choice([len(data), len(data), 10])]))
    return f"{path.name}: {kind}"


def change_manifest(path: Path, chance: random.Random) -> str:
    """Change, remove or add one value somewhere in a manifest."""
    body = json.loads(path.read_text())
    holder, key = body, chance.choice(sorted(body))
    while isinstance(holder[key], dict) and holder[key] and chance.random() < 0.8:
        holder = holder[key]
        key = chance.choice(sorted(holder))
    what = chance.choice(["value", "value", "value", "remove", "add"])
    value = chance.choice(VALUES)
    if what == "value" and not (key in LEGAL_BUT_LONG and isinstance(value, int | float)):
        holder[key] = value
    elif what == "remove":
        del holder[key]
    else:
        holder[chance.choice(["x", "../x", "a/b"])] = value
    path.write_text(json.dumps(body))
    return f"{path.parent.name}/{path.name}: {what} {key} {value!r}"


def change_file(path: Path, chance: random.Random) -> str:
    """Replace a file by nothing, a pipe, a link, a folder or noise."""
    what = chance.choice(["gone", "pipe", "endless", "elsewhere", "folder", "noise"])
    path.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(path)
    elif what == "endless":
        path.symlink_to("/dev/zero")
    elif what == "elsewhere":
        path.symlink_to(elsewhere(path) / "mine.txt")
    elif what == "folder":
        path.mkdir()
    elif what == "noise":
        path.write_bytes(chance.randbytes(40))
    return f"{path.name}: {what}"


def change_folder(path: Path) -> str:
    """Move a folder of the run elsewhere and leave a link to it."""
    target = elsewhere(path) / path.name
    shutil.move(path, target)
    path.symlink_to(target)
    return f"{path.name}: linked folder"


def elsewhere(path: Path) -> Path:
    """Return a folder outside of the run that nothing may be written to."""
    run = next(parent for parent in path.parents if parent.name == "run")
    return run.with_name("elsewhere")


def accept_fingerprints() -> None:
    """Let every network have the fingerprint that it should have: nobody is kept out by a hash they can compute."""
    from blockmix.graph.graph import Graph

    class Same(str):
        """A text that is equal to every other."""

        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    Graph.fingerprint = property(lambda self: Same("any"))  # type: ignore[method-assign,assignment]


def mutate(folder: Path, chance: random.Random) -> list[str]:
    """Change one to three things of a run; most often an array."""
    done = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        plain = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        arrays = [path for path in plain if path.suffix == ".npy"]
        manifests = [path for path in plain if path.suffix == ".json"]
        how = chance.random()
        try:
            if how < 0.65 and arrays:
                done.append(change_array(chance.choice(arrays), chance))
            elif how < 0.93 and manifests:
                done.append(change_manifest(chance.choice(manifests), chance))
            elif how < 0.98:
                done.append(change_file(chance.choice([*plain, folder / ".lock"]), chance))
            else:
                names = ("checkpoint", "graph", "posterior", "checkpoint/start", "checkpoint/graph")
                done.append(change_folder(folder / chance.choice(names)))
        except Exception as error:
            # What an earlier change made of this file cannot be changed again.
            done.append(f"nothing ({type(error).__name__})")
    reseal(folder)
    return done


def use_result(folder: Path) -> None:
    """Do what report, predict, evaluate and export do."""
    post = load(folder)
    pairs = (
        np.array([[0, 1], [post.graph.n_nodes - 1, 0]])
        if post.graph.n_nodes > 1
        else np.zeros((0, 2), np.int64)
    )
    post.node_link_probability(pairs)
    list(post.covers(0.1, complete=True))
    repr(post)
    post.write_graphml(folder / "out.graphml")
    post.write_csv(folder / "out.csv")
    write_text_files(post, folder)
    report_html(post)


def commands(folder: Path) -> dict[str, Any]:
    """Return the commands as functions."""
    return {
        "watch": lambda: lines(folder, read_status(folder)),
        "result": lambda: use_result(folder),
        "resume": lambda: resume(folder, sweeps=SWEEPS + 3, threads=1, progress=False),
        "resume as it was": lambda: resume(folder, threads=1, progress=False),
    }


class Hang(BaseException):
    """Raised by the alarm, where no handler of errors stops it."""


def _hang(number: int, frame: object) -> None:
    raise Hang(f"it takes longer than {SECONDS} s")


def disable(check: str) -> None:
    """Leave out a check, wherever it was imported to."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("blockmix")]
    found = [module for module in modules if hasattr(module, check)]
    if not found:
        sys.exit(f"there is no check {check}")
    for module in found:
        setattr(module, check, lambda first=None, *_, **__: first)


def run_case(original: Path, place: Path, chance: random.Random, counts: Counter[str]) -> None:
    """Change a copy of the run and use it; anything but a result or an `InputError` is raised."""
    folder = Path(shutil.copytree(original, place / "run"))
    outside = place / "elsewhere"
    outside.mkdir()
    (outside / "mine.txt").write_text("precious")
    done = mutate(folder, chance)
    before = state(outside)
    try:
        for name, command in commands(folder).items():
            try:
                signal.alarm(SECONDS)
                # Where a kernel does not return the alarm is not heard: then the process ends with a traceback.
                faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    command()
                counts[f"{name}: 0"] += 1
            except InputError:
                counts[f"{name}: 2"] += 1
            except BaseException as error:
                raise AssertionError(f"{name} after {done}: {type(error).__name__}: {error}") from error
            if state(outside) != before:
                raise AssertionError(f"{name} after {done}: something outside of the run was changed")
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        shutil.rmtree(folder)
        shutil.rmtree(outside)


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Return all that is in a folder, with sizes and times."""
    return {
        str(path): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
        if not path.is_dir()
    }


def main() -> None:
    """Run many cases and print how they ended."""
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--sampler", default="scir")
    options.add_argument(
        "--without", metavar="CHECK", help="leave out a check, to see whether that is noticed"
    )
    options.add_argument("--first", action="store_true", help="stop at the first failure")
    options.add_argument("--seconds", type=int, default=SECONDS, help="for one command")
    chosen = options.parse_args()
    globals()["SECONDS"] = chosen.seconds
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _hang)
    accept_fingerprints()
    faulthandler.enable()
    os.fsync = lambda descriptor: None
    counts: Counter[str] = Counter()
    failures = 0
    # Many small files: in memory where there is such a place.
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as name:
        original = make_run(Path(name) / "original", chosen.sampler)
        if chosen.without:
            disable(chosen.without)
        for case in range(chosen.cases):
            seed = f"{chosen.seed}-{case}"
            print(seed, end="\r", file=sys.stderr, flush=True)
            try:
                run_case(original, Path(name), random.Random(seed), counts)
            except AssertionError as error:
                failures += 1
                print(f"case {seed}: {error}", flush=True)
                if chosen.first:
                    break
    print(f"{dict(sorted(counts.items()))}, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
