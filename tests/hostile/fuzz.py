"""Change folders at random as somebody might who wants to break blockmix, with checksums recomputed.

Every case begins with a copy of a whole run and changes one to three things in it (`changes.py`): entries, type, shape
or header of an array, a value of a manifest, or a file itself. Then the commands run on it: each must end with 0 or 2,
that is with a result or an `InputError`, within a minute of processor time and a limit of memory. To run more cases
than the tests do:

    python tests/hostile/fuzz.py --cases 10000 --seed 1 --kind all

Whether the fuzzer would notice that a check is missing, it tells itself: `--without check_range` leaves one out, and
cases must fail then. A kernel that reads beside an array does not always crash; with NUMBA_BOUNDSCHECK=1, and a compile
cache of its own, it always does.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

# Before NumPy is imported: on a busy machine the threads of BLAS wait for each other, and take half of the time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from blockmix import Graph, InputError, Posterior, fit, load, planted
from blockmix.cli.commands.ask import _QUESTIONS
from blockmix.cli.commands.diagnose import check_record, check_text
from blockmix.cli.commands.watch import lines
from blockmix.cli.record import score_record
from blockmix.cli.summary import scores_text
from blockmix.engines.slices import Mapped
from blockmix.files import Damaged, read_sealed
from blockmix.graph.accept import as_graph
from blockmix.graph.attributes import NodeTable
from blockmix.graph.external.convert import convert
from blockmix.graph.storage import FORMAT as GRAPH
from blockmix.graph.storage import VERSION as GRAPH_VERSION
from blockmix.graph.storage import Saved
from blockmix.inference import execute
from blockmix.inference.resume import resume
from blockmix.inference.run_folder.folder import RunFolder
from blockmix.inference.run_folder.results import write_results
from blockmix.inference.run_folder.status import read_status
from blockmix.posterior.export.files import write_text_files
from blockmix.posterior.predictive.checks import FEWEST_REPLICATES, can_check
from blockmix.report.write import report_html

sys.path.insert(0, str(Path(__file__).parent))
from changes import mutate

SWEEPS = 12
# Bytes that the process may take, and seconds of processor time for one command; a case takes a fraction of a second.
MEMORY, SECONDS = 4 * 2**30, 60
# On a machine that others use, a second of processor time may take so many by the clock; waiting for a pipe takes none.
PATIENCE = 15


# What a run can be, as settings of `fit`: every sampler, every link model, both laws of weights, non-links in closed
# form, a network that `convert` wrote, samples with an even rest, directions, two kinds of nodes, a given start.
KINDS: dict[str, dict[str, Any]] = {
    "scir": {"model": "assortative"}, "popularity": {"model": "popularity"}, "sgmc": {"sampler": "sgmc"},
    "mmsb": {"sampler": "sgmc", "model": "mmsb"}, "sgmc-m": {"sampler": "sgmc-m"},
    "bulk": {"sampler": "sgmc-m", "threshold": 0.6}, "svi": {"sampler": "svi"}, "cgs": {"sampler": "cgs"},
    "lmc": {"sampler": "lmc"}, "counts": {"model": "popularity", "weight_law": "counts"},
    "amounts": {"model": "popularity", "weight_law": "amounts"},
    "closed": {"model": "assortative", "exact": False}, "converted": {"model": "assortative"},
    "directed": {}, "directed counts": {"model": "popularity", "weight_law": "counts"}, "bipartite": {},
    "bipartite amounts": {"model": "popularity", "weight_law": "amounts"},
    "given": {"model": "assortative", "init": [range(20), range(20, 40), range(40, 60)]},
}  # fmt: skip


def about(post: Posterior) -> dict[str, list[str]]:
    """Return what each question of `blockmix ask` is asked about: the first nodes, and the last for a pair."""
    names = [str(label) for label in post.graph.labels.take(np.arange(post.graph.n_nodes))]
    return {
        "node": names[:1], "members": ["0"], "similar": names[:1], "pair": [*names[:1], *names[-1:]], "roles": ["1"],
        "attribute": ["club"], "place": names[1:3], "names": ["club"], "subgraph": ["0"], "missing": names[:1],
    }  # fmt: skip


def make_run(folder: Path, kind: str = "scir") -> Path:
    """Make a whole run with all results, of 60 nodes."""
    graph = make_network(folder.with_name(f"{folder.name}-network"), kind)
    with RunFolder(folder, {"threshold": 0.1}) as place:
        post = fit(
            graph, 3, sweeps=SWEEPS, warm_up=4, seed=1, threads=1, held_out=0.1, chains=2, checkpoint=place,
            **KINDS[kind],
        )  # fmt: skip
    assert write_results(post, folder, 0.1) == []
    return folder


def make_network(place: Path, kind: str) -> Graph:
    """Make a network with labels and attributes, with weights, or with neither; `place` is for its files."""
    graph = planted(60, 3, degree=8, seed=4).graph
    edges = graph.edges().tolist()
    if kind in ("scir", "popularity"):
        graph = Graph.from_edges([(f"n{a}é", f"n{b}é") for a, b in edges])
        table = {"club": [("ä", "b", None)[a % 3] for a in range(graph.n_nodes)], "age": range(graph.n_nodes)}
        return replace(graph, attributes=NodeTable.of(table))
    if "directed" in kind or "bipartite" in kind:
        # In the directed network a label is on both sides, in the bipartite one on one of them.
        shift, law = 0 if "directed" in kind else 100, kind.endswith(("counts", "amounts")) or None
        named = [(f"n{a}é", f"n{b + shift}é", 1 + (a * b) % 3) for a, b in edges]
        return Graph.from_edges(named, weights=law, directed=not shift, bipartite=bool(shift))
    if kind in ("counts", "amounts"):
        return Graph.from_edges(edges, weights=[1 + (a * b) % 3 for a, b in edges])
    if kind == "converted":
        place.with_suffix(".txt").write_text("".join(f"n{a} n{b}\n" for a, b in edges))
        convert(place.with_suffix(".txt"), place)
        return Graph.load(place)
    return graph


def accept_fingerprints() -> None:
    """Let every network have the fingerprint that it should have: nobody is kept out by a hash they can compute."""

    class Same(str):
        """A text that is equal to every other."""

        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    Graph.fingerprint = property(lambda self: Same("any"))  # type: ignore[method-assign,assignment]


def use_result(folder: Path, chance: random.Random) -> None:
    """Do what predict, evaluate and export do, and in some cases report, which takes longest."""
    post = load(folder)
    pairs = (
        np.array([[0, 1], [post.graph.n_nodes - 1, 0]])
        if post.graph.n_nodes > 1
        else np.zeros((0, 2), np.int64)
    )
    post.node_link_probability(pairs)
    list(post.covers(0.1, complete=True))
    repr(post)
    if post.weight_law is not None:
        post.node_expected_weight(pairs)
    scores_text(score_record(post))
    post.write_graphml(folder / "out.graphml")
    post.write_csv(folder / "out.csv")
    write_text_files(post, folder)
    if chance.random() < 0.1:
        report_html(post)
    if chance.random() < 0.1:
        checks = post.predictive_checks(replicates=FEWEST_REPLICATES) if can_check(post) else None
        check_text(post, checks, check_record(post, checks))


def use_network(folder: Path) -> None:
    """Do what info and a short fit do with a saved network."""
    graph = as_graph(folder)
    str(graph.summary)
    repr(graph.attributes)
    # For neighbours of the other type kernels would be compiled anew, which takes a minute.
    if graph.n_nodes <= 1000 and graph.neighbors.dtype == np.int32:
        plain = graph.sides is None and graph.weights is None
        fit(
            graph, 2, model="assortative" if plain else None, sweeps=2, chains=1, threads=1, progress=False,
        )  # fmt: skip


def read_slice(folder: Path) -> None:
    """Do what a rank does that reads its own rows of a network which rank 0 has found whole: here nobody has."""
    try:
        found = read_sealed(folder / "manifest.json", GRAPH, GRAPH_VERSION)
        links = np.array([[0, 59], [3, 40]])
        rows = Mapped(Saved(str(folder), found.get("fingerprint")), links, np.ones(2, dtype=np.bool_))
        rows.training(np.arange(1, 60, 2))
        rows.hidden(np.arange(1, 60, 2))
    except (OSError, Damaged) as error:
        # A rank says so to rank 0, which then sends it its rows.
        raise InputError(str(error)) from None


def ask(folder: Path, chance: random.Random, other: Path) -> None:
    """Ask three questions about one result; that one cannot be answered is as good as an answer."""
    post = load(folder)
    words = about(post) | {"compare": [str(other)], "moved": [str(other)]}
    for question in chance.sample(sorted(_QUESTIONS), 3):
        with suppress(InputError):
            _QUESTIONS[question].answer(post, words.get(question, []), 5).text(5)


def commands(folder: Path, chance: random.Random, original: Path) -> dict[str, Any]:
    """Return the commands as functions."""
    return {
        "watch": lambda: lines(folder, read_status(folder)),
        "network": lambda: use_network(folder / "graph"),
        "slice": lambda: read_slice(folder / "graph"),
        "result": lambda: use_result(folder, chance),
        "ask": lambda: ask(folder, chance, original),
        "resume": lambda: resume(folder, sweeps=SWEEPS + 3, threads=1, progress=False),
        "resume as it was": lambda: resume(folder, threads=1, progress=False),
    }


class Hang(BaseException):
    """Raised by an alarm, where no handler of errors stops it."""


def _hang(number: int, frame: object) -> None:
    raise Hang(f"it takes longer than {SECONDS} s of processor time, or {PATIENCE * SECONDS} s")


def set_alarms(seconds: int) -> None:
    """Let alarms ring after so much processor time, and after more by the clock; 0 stops them."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(PATIENCE * seconds)
    if seconds:
        # Where a kernel does not return no alarm is heard: then the process ends with a traceback.
        faulthandler.dump_traceback_later(2 * PATIENCE * seconds, exit=True)
    else:
        faulthandler.cancel_dump_traceback_later()


def disable(check: str) -> None:
    """Leave out a check, wherever it was imported to."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("blockmix")]
    found = [module for module in modules if hasattr(module, check)]
    if not found:
        sys.exit(f"there is no check {check}")
    for module in found:
        setattr(module, check, lambda first=None, *_, **__: first)


def run_case(original: Path, place: Path, chance: random.Random, counts: Counter[str], only: str) -> None:
    """Change a copy of the run and use it; anything but a result or an `InputError` is raised."""
    folder = Path(shutil.copytree(original, place / "run"))
    outside = place / "elsewhere"
    outside.mkdir()
    (outside / "mine.txt").write_text("precious")
    done = mutate(folder, chance, only)
    before = state(outside)
    try:
        for name, command in commands(folder, chance, original).items():
            try:
                set_alarms(SECONDS)
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
        set_alarms(0)
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
    options.add_argument(
        "--kind", default="scir", choices=[*KINDS, "all"], help="of run; all takes them in turn"
    )
    options.add_argument("--begin", type=int, default=0, help="number of the first case")
    options.add_argument(
        "--without", metavar="CHECK", help="leave out a check, to see whether that is noticed"
    )
    options.add_argument("--only", default="", metavar="REGEX", help="change only files with such a path")
    options.add_argument("--first", action="store_true", help="stop at the first failure")
    options.add_argument("--seconds", type=int, default=SECONDS, help="of processor time for one command")
    chosen = options.parse_args()
    globals()["SECONDS"] = chosen.seconds
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for alarm in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(alarm, _hang)
    accept_fingerprints()
    faulthandler.enable()
    os.fsync = lambda descriptor: None
    counts: Counter[str] = Counter()
    failures = 0
    # Many small files: in memory where there is such a place.
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as name:
        kinds = [*KINDS] if chosen.kind == "all" else [chosen.kind]
        originals = [make_run(Path(name) / f"original-{kind}", kind) for kind in kinds]
        # All that a run needs is compiled now.
        execute.compile_kernels = lambda *_: None
        if chosen.without:
            disable(chosen.without)
        for case in range(chosen.begin, chosen.begin + chosen.cases):
            seed = f"{chosen.seed}-{case}"
            print(seed, end="\r", file=sys.stderr, flush=True)
            try:
                run_case(originals[case % len(kinds)], Path(name), random.Random(seed), counts, chosen.only)
            except AssertionError as error:
                failures += 1
                print(f"case {seed}: {error}", flush=True)
                if chosen.first:
                    break
    print(f"{dict(sorted(counts.items()))}, {failures} failures")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
