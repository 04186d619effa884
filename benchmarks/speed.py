"""Speed, scaling, time to the first sweep and memory of the default sampler: one table, JSON beside it.

    python benchmarks/speed.py --json speed.json

Everything is measured in one run, each part in a process of its own. Node updates a second are also given as ratios to
the plain baseline (baseline.py), which takes turns with the sampler, from the same state: these carry over to other
machines. com-DBLP comes from the folder named by BLOCKMIX_DATA or is downloaded; without it, or with `--generated`, a
network of its size is generated. The sweep of each kind that took least counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

COMMUNITIES, NUMBERS_OF_COMMUNITIES = 5000, (100, 1000, 10_000, 100_000)
# Slots of a row by default, and where memory is short.
SLOTS, FEWER_SLOTS = 16, 8
LEAST_UPDATES, LEAST_SCALING, MOST_WARM, MOST_COLD = 1e6, 1.8, 1.0, 25.0
MOST_BYTES = {SLOTS: 800.0, FEWER_SLOTS: 500.0}
WARM_SWEEPS = 12
# The time to the first sweep as a user meets it: a new process, a small network, one sweep.
FIRST_SWEEP = """
import time; begin = time.perf_counter()
import blockmix as bm
imported = time.perf_counter()
groups = [range(10 * g, 10 * g + 11) for g in range(4)]
graph = bm.Graph.from_edges([(a, b) for group in groups for a in group for b in group if a < b])
called = time.perf_counter()
bm.fit(graph, 4, model="assortative", sweeps=1, warm_up=0, chains=1, held_out=0.1, progress=False)
ended = time.perf_counter()
print(ended - called, imported - begin, ended - begin)
"""


def resident(field: str) -> int:
    """Resident bytes of this process: now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def network(generated: bool) -> Any:
    """com-DBLP, or a generated network of its size."""
    import blockmix as bm

    if not generated:
        return bm.load_dataset("com-DBLP")
    return bm.planted(317_080, COMMUNITIES, degree=6.6, sizes="powerlaw", seed=1).graph


def chain(data: Any, communities: int, workers: Any, slots: int = SLOTS) -> tuple[Any, Any, tuple[int, int]]:
    """The compiled sampler, a chain at its start, and the key of its random numbers."""
    from blockmix.model import Model
    from blockmix.samplers.scir.options import ScirOptions
    from blockmix.samplers.scir.sampler import Scir

    sampler, key = Scir(data, Model(communities), ScirOptions(slots=slots), workers), (1, 2)
    sampler.compile()
    return sampler, sampler.init(key), key


def timed(function: Any, *arguments: Any) -> tuple[float, float]:
    """Seconds that a call took, by the clock and of this thread's processor time."""
    begin, processor = time.perf_counter(), time.thread_time()
    function(*arguments)
    return time.perf_counter() - begin, time.thread_time() - processor


def updates(generated: bool, rounds: int) -> dict[str, float]:
    """Node updates a second of the baseline and of the sampler on one and two threads, in turns."""
    from baseline import plain_state, sweep

    from blockmix import hold_out
    from blockmix.numerics.workers import Workers

    data = hold_out(network(generated), 0.05, seed=1)
    graph = data.training
    with Workers(1) as one, Workers(2) as two:
        first, state, key = chain(data, COMMUNITIES, two)
        for _ in range(WARM_SWEEPS):
            first.step(state, key, True)
        second, _, _ = chain(data, COMMUNITIES, one)
        plain = plain_state(state.rows.words, state.rows.total, state.strengths.value)
        alpha = state.concentration / COMMUNITIES
        sweep(graph.offsets[:3].copy(), graph.neighbors, plain, alpha)  # compiles
        seconds: dict[str, list[tuple[float, float]]] = {"baseline": [], "one": [], "two": []}
        for _ in range(rounds):
            seconds["baseline"].append(timed(sweep, graph.offsets, graph.neighbors, plain, alpha))
            seconds["one"].append(timed(second.step, state, key, False))
            seconds["two"].append(timed(first.step, state, key, False))
    best = {name: graph.n_nodes / min(times)[0] for name, times in seconds.items()}
    processor = {name: min(time for _, time in times) for name, times in seconds.items()}
    return {
        "baseline_updates": best["baseline"],
        "updates_on_1_thread": best["one"],
        "updates_on_2_threads": best["two"],
        "ratio_on_1_thread": best["one"] / best["baseline"],
        "ratio_on_2_threads": best["two"] / best["baseline"],
        "scaling": best["two"] / best["one"],
        # Of processor time: the figures to go by where others use the machine.
        "updates_a_processor_second": graph.n_nodes / processor["one"],
        "ratio_of_processor_time": processor["baseline"] / processor["one"],
    }


def held_bytes(*things: Any) -> int:
    """Bytes of all arrays held by objects, tuples and lists, each memory once."""
    import numpy as np

    from blockmix.numerics.workers import Workers

    found: dict[int, int] = {}

    def visit(thing: Any) -> None:
        if isinstance(thing, np.ndarray):
            base = thing
            while isinstance(base.base, np.ndarray):
                base = base.base
            found[id(base)] = base.nbytes
        elif isinstance(thing, tuple | list):
            for part in thing:
                visit(part)
        elif type(thing).__module__.startswith("blockmix") and not isinstance(thing, Workers | type):
            for part in getattr(thing, "__dict__", {}).values():
                visit(part)

    for thing in things:
        visit(thing)
    return sum(found.values())


def at_communities(generated: bool, communities: int, sweeps: int, slots: int) -> dict[str, float]:
    """Sweep time and memory with K communities on two threads, posterior summaries included."""
    from blockmix import hold_out
    from blockmix.numerics.workers import Workers
    from blockmix.tables.summary import ChainSummary

    data = hold_out(network(generated), 0.05, seed=1)
    nodes = data.training.n_nodes
    with Workers(2) as workers:
        before = resident("VmRSS")
        sampler, state, key = chain(data, communities, workers, slots)
        summary = ChainSummary.empty(nodes, communities, sampler.slots)
        times = []
        for i in range(sweeps):
            times.append(timed(sampler.step, state, key, i < sweeps // 2)[0])
            if i >= sweeps // 2:
                summary.add(i, state.rows, state.strengths.value, workers)
        # Everything that a chain holds but the network.
        kept_apart = ("problem", "workers", "comm")
        work = [value for name, value in vars(sampler.kernels).items() if name not in kept_apart]
        work += [sampler.problem.degrees, sampler.problem.shard.names]
        held = held_bytes(state, summary.running, summary.strength_mean, summary.strength_deviation, work)
        draws = full_draws(summary, nodes)
    return {
        "communities": communities,
        "slots": slots,
        "seconds_a_sweep": min(times[sweeps // 2 :]),
        "updates": nodes / min(times[sweeps // 2 :]),
        "held_bytes_a_node": (held + draws) / nodes,
        "draws_bytes_a_node": draws / nodes,
        "peak_growth_a_node": (resident("VmHWM") - before) / nodes,
    }


def full_draws(summary: Any, nodes: int) -> int:
    """Bytes of the draws once the store is full: its limit, or all it may hold of draws of this size."""
    from blockmix.tables.samples import BYTES_A_NODE, BYTES_IN_ALL, FEWEST_SAMPLES, MOST_SAMPLES

    one = max(draw.nbytes for draw in summary.kept.samples)
    room = max(BYTES_IN_ALL, BYTES_A_NODE * nodes)
    return int(one * max(FEWEST_SAMPLES, min(MOST_SAMPLES, room // one)))


def first_sweep(cache: str | None) -> list[float]:
    """Seconds from the call of `fit` to its end, of the import, and of both and reading the network."""
    environment = dict(os.environ) | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    done = subprocess.run(
        [sys.executable, "-c", FIRST_SWEEP], env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def starts() -> dict[str, float]:
    """Time to the first sweep with an empty compile cache, then warm."""
    with tempfile.TemporaryDirectory() as cache:
        cold = first_sweep(cache)
        warm = min(first_sweep(cache) for _ in range(3))
    return {"cold_seconds": cold[0], "warm_seconds": warm[0], "import_seconds": warm[1]}


def in_own_process(part: str, args: argparse.Namespace) -> dict[str, float]:
    """One part of the table, measured in a process of its own."""
    command = [sys.executable, __file__, "--part", part, "--rounds", str(args.rounds)]
    command += ["--generated"] * args.generated
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    row: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return row


class Line(NamedTuple):
    """A line of the table: what, how much, what it should be, and whether it is."""

    what: str
    found: str
    goal: str = ""
    holds: bool = True


def lines(found: dict[str, Any]) -> Iterator[Line]:
    """The table."""
    rates, starts = found["updates"], found["starts"]
    for threads in ("1_thread", "2_threads"):
        rate, ratio = rates[f"updates_on_{threads}"], rates[f"ratio_on_{threads}"]
        what, value = (
            f"million updates/s, {threads.replace('_', ' ')}",
            f"{rate / 1e6:.3f} ({ratio:.2f} x baseline)",
        )
        if threads == "2_threads":
            yield Line(what, value, f">= {LEAST_UPDATES / 1e6:.0f}", rate >= LEAST_UPDATES)
        else:
            yield Line(what, value)
    rate, ratio = rates["updates_a_processor_second"] / 1e6, rates["ratio_of_processor_time"]
    yield Line("  of processor time, 1 thread", f"{rate:.3f} ({ratio:.2f} x baseline)")
    yield Line("baseline, 1 thread", f"{rates['baseline_updates'] / 1e6:.3f}")
    scaling = rates["scaling"]
    yield Line("2 threads over 1", f"{scaling:.2f}", f">= {LEAST_SCALING}", scaling >= LEAST_SCALING)
    for row in found["communities"]:
        yield Line(
            f"ms a sweep, K = {row['communities']}, {row['slots']} slots",
            f"{row['seconds_a_sweep'] * 1e3:.0f}",
        )
    for row in found["communities"]:
        what, held = (
            f"bytes a node, K = {row['communities']}, {row['slots']} slots",
            row["held_bytes_a_node"],
        )
        yield Line(
            what, f"{held:.0f}", f"<= {MOST_BYTES[row['slots']]:.0f}", held <= MOST_BYTES[row["slots"]]
        )
        yield Line("  of them draws", f"{row['draws_bytes_a_node']:.0f}")
        yield Line("  growth of the peak", f"{row['peak_growth_a_node']:.0f}")
    warm, cold = starts["warm_seconds"], starts["cold_seconds"]
    yield Line("s to the first sweep, warm", f"{warm:.2f}", f"<= {MOST_WARM:.0f}", warm <= MOST_WARM)
    yield Line("  import before it", f"{starts['import_seconds']:.2f}")
    yield Line("  with an empty cache", f"{cold:.1f}", f"<= {MOST_COLD:.0f}", cold <= MOST_COLD)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=6, help="sweeps of each kind")
    parser.add_argument("--generated", action="store_true", help="on a generated network")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part == "updates":
        print(json.dumps(updates(args.generated, args.rounds)))
        return
    if args.part:
        communities, slots = map(int, args.part.split(":"))
        print(json.dumps(at_communities(args.generated, communities, 2 * args.rounds, slots)))
        return
    found: dict[str, Any] = {"updates": in_own_process("updates", args)}
    parts = [f"{k}:{slots}" for slots in MOST_BYTES for k in NUMBERS_OF_COMMUNITIES]
    found["communities"] = [in_own_process(part, args) for part in parts]
    found["starts"] = starts()
    for line in lines(found):
        print(f"{line.what:40} {line.found:>24}  {line.goal}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
