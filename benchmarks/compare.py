"""The speed of a sweep in this tree and in an earlier commit, in one run.

    python benchmarks/compare.py COMMIT [--sampler scir] [--repeats 7] [--set moves=cir ...]

Both versions run in a process of their own, and their sweeps alternate, so that whatever else the machine does slows
both. What is compared is the processor time of one thread. Where arrays are in memory moves a process by a few
percent, so that both are started several times. Reported are the median of the ratios old/new, above 1 if the new
one is faster, and their range. The earlier commit is checked out to a temporary folder; sources are found under either
layout.
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


def serve(sampler_name: str, options: dict[str, Any]) -> None:
    """Make a sweep for every line read, and print the processor time it took."""
    import blockmix as bm

    workers = first_of("blockmix.numerics.workers", "blockmix.kernels.workers").Workers(1)
    samplers = import_module("blockmix.samplers")
    data = bm.hold_out(bm.planted(NODES, COMMUNITIES, degree=DEGREE, seed=1).graph, 0.05, seed=1)
    settings = samplers.sampler_options(sampler_name, options)
    sampler = samplers.sampler_class(sampler_name)(data, bm.Model(COMMUNITIES), settings, workers)
    sampler.compile()
    state, key = sampler.init((1, 2)), (1, 2)
    for sweep in range(WARM_UP):
        sampler.step(state, key, sweep < WARM_UP // 2)
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.thread_time()
        sampler.step(state, key, False)
        print(time.thread_time() - began, flush=True)


def start(source: Path, cache: Path, arguments: argparse.Namespace) -> subprocess.Popen[str]:
    """A process that makes sweeps with the sources in this folder."""
    command = [sys.executable, __file__, "--serve", "--sampler", arguments.sampler, "--set", *arguments.set]
    environment = os.environ | {"PYTHONPATH": str(source / "src"), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def one_sweep(process: subprocess.Popen[str]) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def compare(old: Path, folder: Path, arguments: argparse.Namespace) -> float:
    """Start both versions and alternate their sweeps; the ratio of the medians, old/new."""
    processes = {
        name: start(source, folder / f"kernels-{name}", arguments)
        for name, source in (("old", old), ("new", ROOT))
    }
    for process in processes.values():
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
    times: dict[str, list[float]] = {"old": [], "new": []}
    for i in range(arguments.sweeps):
        for name in ("old", "new") if i % 2 else ("new", "old"):
            times[name].append(one_sweep(processes[name]))
    for process in processes.values():
        process.terminate()
        process.wait()
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["old"] / medians["new"]
    print(
        f"old {1e3 * medians['old']:.2f} ms  new {1e3 * medians['new']:.2f} ms  ratio {ratio:.3f}", flush=True
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
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        pairs = (entry.split("=", 1) for entry in arguments.set)
        values = {name: json.loads(text) if text[:1] in "0123456789.[{tf" else text for name, text in pairs}
        serve(arguments.sampler, values)
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
