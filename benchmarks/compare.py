"""The speed of a sweep in this tree and in an earlier commit, in one run.

    python benchmarks/compare.py COMMIT [--sampler scir] [--repeats 7] [--set moves=cir ...]
    python benchmarks/compare.py COMMIT --network com-dblp.txt --communities 5000 --repeats 2

Both versions run in a process of their own, and their sweeps alternate, so that whatever else the machine does slows
both. What is compared is the processor time of one thread. Where arrays are in memory moves a process by a few
percent, so that both are started several times. Reported are the median of the ratios old/new, above 1 if the new
one is faster, and their range, and the held-out scores of both, from predictions averaged over the sweeps that were
timed. The network is planted unless a file is named. The earlier commit is checked out to a temporary folder; sources
are found under either layout.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NODES, COMMUNITIES, DEGREE, WARM_UP = 20_000, 200, 14, 10
LEAST = 0.97


def first_of(*modules: str) -> Any:
    """The first of these modules that this version has."""
    for name in modules:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise SystemExit(f"none of {modules} is in this version")


def serve(arguments: argparse.Namespace, options: dict[str, Any]) -> None:
    """Make a sweep for every line read, print the processor time it took and the held-out log loss so far."""
    import numpy as np

    import blockmix as bm
    from blockmix.evaluate import score

    sampler_name, communities = arguments.sampler, arguments.communities

    workers = first_of("blockmix.numerics.workers", "blockmix.kernels.workers").Workers(1)
    samplers = import_module("blockmix.samplers")
    if arguments.network is None:
        graph = bm.planted(NODES, communities, degree=DEGREE, seed=1).graph
    else:
        graph = bm.read_graph(arguments.network)
    data = bm.hold_out(graph, 0.05, seed=1)
    settings = samplers.sampler_options(sampler_name, options)
    sampler = samplers.sampler_class(sampler_name)(data, bm.Model(communities), settings, workers)
    sampler.compile()
    state, key = sampler.init((1, 2)), (1, 2)
    for sweep in range(WARM_UP):
        sampler.step(state, key, sweep < WARM_UP // 2)
    print("ready", flush=True)
    forecast = np.zeros(len(data.pairs))
    for number, _ in enumerate(sys.stdin, 1):
        began = time.thread_time()
        sampler.step(state, key, False)
        seconds = time.thread_time() - began
        sampler.predict(state, data.pairs, 1.0 - 1.0 / number, 1.0 / number, forecast)
        found = score(np.clip(forecast, 0.0, 1.0), data.links, data.density)
        print(seconds, found.log_loss, found.auc, flush=True)


def start(source: Path, cache: Path, arguments: argparse.Namespace) -> subprocess.Popen[str]:
    """A process that makes sweeps with the sources in this folder."""
    command = [sys.executable, __file__, "--serve", "--sampler", arguments.sampler]
    command += ["--communities", str(arguments.communities), "--set", *arguments.set]
    if arguments.network is not None:
        command += ["--network", str(arguments.network.resolve())]
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "NUMBA_CACHE_DIR": str(cache)}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    if process.stdout.readline().strip() != "ready":
        raise SystemExit(f"the version in {source} does not start")
    return process


def one_sweep(process: subprocess.Popen[str]) -> tuple[float, ...]:
    """Seconds of the next sweep, held-out log loss and AUC so far."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return tuple(float(part) for part in process.stdout.readline().split())


def compare(old: Path, folder: Path, arguments: argparse.Namespace) -> float:
    """Start both versions and alternate their sweeps; the ratio of the medians, old/new."""
    processes = {
        name: start(source, folder / f"kernels-{name}", arguments)
        for name, source in (("old", old), ("new", ROOT))
    }
    times: dict[str, list[float]] = {"old": [], "new": []}
    scores: dict[str, list[float]] = {}
    for i in range(arguments.sweeps):
        for name in ("old", "new") if i % 2 else ("new", "old"):
            seconds, *scores[name] = one_sweep(processes[name])
            times[name].append(seconds)
    for process in processes.values():
        process.terminate()
        process.wait()
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["old"] / medians["new"]
    print(
        f"old {1e3 * medians['old']:.2f} ms  new {1e3 * medians['new']:.2f} ms  ratio {ratio:.3f}  log loss and AUC "
        + "  ".join(f"{name} {scores[name][0]:.5g} {scores[name][1]:.5f}" for name in ("old", "new")),
        flush=True,
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", default="HEAD~1")
    parser.add_argument("--sampler", default="scir")
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--network", type=Path, help="a file; left out: a planted network")
    parser.add_argument("--communities", type=int, default=COMMUNITIES)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        pairs = (entry.split("=", 1) for entry in arguments.set)
        values = {name: json.loads(text) if text[:1] in "0123456789.[{tf" else text for name, text in pairs}
        serve(arguments, values)
        return
    with tempfile.TemporaryDirectory() as folder:
        old, git = Path(folder) / "old", ["git", "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(old), arguments.commit], cwd=ROOT, check=True)
        try:
            ratios = [compare(old, Path(folder), arguments) for _ in range(arguments.repeats)]
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], cwd=ROOT, check=True)
    middle = statistics.median(ratios)
    print(f"median ratio {middle:.3f}, from {min(ratios):.3f} to {max(ratios):.3f}; goal {LEAST}: ", end="")
    print("reached" if middle >= LEAST else "missed")


if __name__ == "__main__":
    main()
