"""Changes of a run's folder as somebody might make them who wants to break blockmix: arrays, manifests, files, links.

Every function changes one thing and returns in words what it was. `mutate` chooses among them, so that each kind of
array and each value of a manifest has about the same chance, however many files there are of a kind.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from reseal import reseal

# Where kernels would be led astray, and numbers just outside of what is allowed.
INTEGERS = (-1, 0, 1, 2, 3, 59, 60, 61, 255, 300, 65535, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
FLOATS = (0.0, -1.0, 1.0, 2.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan"))
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 10**6, 2**40, 2**70, 10**400, 0.5, -0.5, 1e300, float("nan"), float("inf"), "", "x",
    "../x", "\x1b[2J", "/dev/zero", [], [1], {}, {"a": 1},
)  # fmt: skip
# Names that lead out of a folder, or to another array.
NAMES = ("x", "../x", "a/b", "../elsewhere/mine", "/dev/zero", "mean", "offsets", "\x1b[2J")
# Numbers that ask for much work and are legal: a run with a million sweeps is long, and not a crash.
LEGAL_BUT_LONG = {"sweeps", "time_limit", "warm_up", "iterations", "alpha", "communities"}


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
    """Change, remove, add or rename one value somewhere in a manifest; each value has the same chance."""
    body = json.loads(path.read_text())
    # Checksums and sizes are made right again later: to change them is to do nothing.
    places = [place for place in _places(body) if place[1] not in ("sha256", "bytes", "checksum")]
    holder, key = chance.choice(places)
    what = chance.choice(["value", "value", "value", "remove", "add", "rename"])
    value = chance.choice(VALUES)
    if what == "remove":
        del holder[key]
    elif what == "rename" and isinstance(holder, dict):
        value = chance.choice(NAMES)
        holder[value] = holder.pop(key)
    elif what == "add" and isinstance(holder, dict):
        holder[chance.choice(NAMES)] = value
    elif what == "add":
        value = chance.choice(NAMES)
        holder.append(value)
    elif not (key in LEGAL_BUT_LONG and isinstance(value, int | float)):
        holder[key] = value
    path.write_text(json.dumps(body))
    return f"{path.parent.name}/{path.name}: {what} {key} {value!r}"


def _places(body: Any) -> list[tuple[Any, Any]]:
    """Return all values of a manifest, each as what holds it and the key or number there."""
    found = []
    for key in sorted(body) if isinstance(body, dict) else range(len(body)):
        found.append((body, key))
        if isinstance(body[key], dict | list):
            found += _places(body[key])
    return found


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


def change_rows(graph: Path, chance: random.Random) -> str:
    """Rewrite a saved network so that each row is in order and the rows do not fit together; return what was done."""
    offsets, neighbors = (np.load(graph / f"{name}.npy") for name in ("offsets", "neighbors"))
    nodes = range(len(offsets) - 1)
    rows = [set(neighbors[offsets[a] : offsets[a + 1]].tolist()) for a in nodes]
    what, a = (
        chance.choice(["upward", "downward", "full", "itself", "one way", "moved"]),
        chance.choice(nodes),
    )
    if what in ("upward", "downward", "full"):
        rows = [{b for b in nodes if what == "full" or (b > c) == (what == "upward")} for c in nodes]
    elif what == "itself":
        rows[a] |= {a}
    else:
        rows[a] = {chance.choice(nodes)} if what == "one way" else {min(b + 1, nodes[-1]) for b in rows[a]}
    if sum(map(len, rows)) % 2:
        rows[next(b for b in nodes if rows[b])].pop()
    entries = np.array([b for row in rows for b in sorted(row)], dtype=neighbors.dtype)
    np.save(graph / "neighbors.npy", entries)
    np.save(graph / "offsets.npy", np.cumsum([0, *map(len, rows)]).astype(np.int64))
    if (graph / "weights.npy").exists():
        np.save(graph / "weights.npy", np.ones(len(entries)))
    body = json.loads((graph / "manifest.json").read_text())
    (graph / "manifest.json").write_text(json.dumps(body | {"links": len(entries) // 2}))
    return f"{graph.parent.name}/{graph.name}: rows {what}"


def elsewhere(path: Path) -> Path:
    """Return a folder outside of the run that nothing may be written to."""
    run = next(parent for parent in path.parents if parent.name == "run")
    return run.with_name("elsewhere")


def _kind(path: Path) -> str:
    """Return what a file is, without the number of a chain: chain1_state_words is chain_state_words."""
    return f"{path.parent.name if path.parent.name in ('start', 'training') else ''}/{re.sub('[0-9]+', '', path.name)}"


def choose_file(paths: list[Path], chance: random.Random) -> Path:
    """Choose a kind of file and then one of this kind; of the checkpoints, more often the newest, which is read."""
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        kinds.setdefault(_kind(path), []).append(path)
    of_kind = kinds[chance.choice(sorted(kinds))]
    newest = max((path.parent.name for path in of_kind if path.parent.name.isdigit()), default="")
    read = [path for path in of_kind if not path.parent.name.isdigit() or path.parent.name == newest]
    return chance.choice(read if chance.random() < 0.8 else of_kind)


def mutate(folder: Path, chance: random.Random, only: str = "") -> list[str]:
    """Change one to three things of a run; most often an array. `only` is what the paths of files must have."""
    done = []
    for _ in range(chance.choice([1, 1, 2, 3])):
        plain = sorted(
            path
            for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink() and re.search(only, str(path.relative_to(folder)))
        )
        arrays = [path for path in plain if path.suffix == ".npy"]
        manifests = [path for path in plain if path.suffix == ".json"]
        how = chance.random()
        try:
            if not only and chance.random() < 0.04:
                name = chance.choice(("graph", "checkpoint/graph", "checkpoint/training"))
                done.append(change_rows(folder / name, chance))
            elif arrays and (how < 0.65 or not manifests):
                done.append(change_array(choose_file(arrays, chance), chance))
            elif manifests and (how < 0.93 or only):
                done.append(change_manifest(choose_file(manifests, chance), chance))
            elif how < 0.98 or only:
                done.append(change_file(chance.choice(plain if only else [*plain, folder / ".lock"]), chance))
            else:
                names = ("checkpoint", "graph", "posterior", "checkpoint/start", "checkpoint/graph")
                done.append(change_folder(folder / chance.choice(names)))
        except Exception as error:
            # What an earlier change made of this file cannot be changed again.
            done.append(f"nothing ({type(error).__name__})")
    reseal(folder)
    return done
