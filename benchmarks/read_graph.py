"""How fast edge lists are read, and in how much memory.

    python benchmarks/read_graph.py [--edges 10000000] [--threads 2] [--repeats 3] [--json FILE]

Writes an edge list with ids of six and seven digits to a temporary folder, then measures: the parser alone on
one thread, from the page cache; the whole of read_graph (parse, relabel, CSR), each time in a fresh process
with its kernels already compiled; and how far that process's peak memory rises above what it held before, as
a multiple of the finished CSR. The same for a file listing both directions, and for scattered 19-digit ids.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PARSE_TARGET = 20e6
READ_TARGET_S = 4.0
MEMORY_TARGET = 4.0


def write_edges(
    path: Path,
    n_edges: int,
    n_ids: int,
    *,
    separator: str = " ",
    extra: str = "",
    both: bool = False,
    scattered: bool = False,
    crafted: bool = False,
    seed: int = 1,
) -> None:
    """Random links between n_ids nodes; `both` lists each of half as many in both directions.

    `crafted` ids fall into one slot of a hash table that has no key: reading them took time in the square of their
    number before the tables had one.
    """
    rng = np.random.default_rng(seed)
    names = rng.integers(10**18, 2**62, n_ids) if scattered else np.arange(100_000, 100_000 + n_ids)
    if crafted:
        names = unmixed(np.arange(1, n_ids + 1, dtype=np.uint64) << np.uint64(32)).view(np.int64)
    with path.open("w") as out:
        for start in range(0, n_edges, 500_000):
            pairs = names[rng.integers(0, n_ids, (min(500_000, n_edges - start), 2))]
            if both:
                pairs[len(pairs) // 2 :] = pairs[: len(pairs) - len(pairs) // 2, ::-1]
            out.write("".join([f"{a}{separator}{b}{extra}\n" for a, b in pairs.tolist()]))


def unmixed(x: np.ndarray) -> np.ndarray:
    """The inverse of the finaliser of splitmix64."""
    for factor, shift in ((0x94D049BB133111EB, 31), (0xBF58476D1CE4E5B9, 27)):
        x = x ^ (x >> np.uint64(shift)) ^ (x >> np.uint64(2 * shift))
        x = x * np.uint64(pow(factor, -1, 2**64))
    return np.asarray(x ^ (x >> np.uint64(30)) ^ (x >> np.uint64(60)))


def resident_bytes() -> tuple[int, int]:
    """(now, peak) resident memory of this process.

    Linux keeps ru_maxrss across exec: in a process started from a large one it begins at the parent's peak
    and hides growth. The high-water mark in /proc belongs to this program alone, so it is preferred.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(fields["VmRSS"].split()[0]) * 1024, int(fields["VmHWM"].split()[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak, peak


def measure_parse(path: Path) -> dict[str, float]:
    """The parser alone: every block of the file, one thread, text already in the page cache."""
    from blockmix.graph.reading import parser
    from blockmix.graph.reading.source import Source

    with Source(path) as source:
        blocks = [load() for load in source.blocks(0)]
    pairs = np.empty((max(len(b) for b in blocks) // 4 + 1, 2), dtype=np.int64)
    parser.parse_integers(blocks[0], len(blocks[0]), parser.ANY, pairs)
    best, records = np.inf, 0
    for _ in range(3):
        start = time.perf_counter()
        records = sum(parser.parse_integers(block, len(block), parser.ANY, pairs)[1] for block in blocks)
        best = min(best, time.perf_counter() - start)
    with Source(path) as source:
        start = time.perf_counter()
        for load in source.blocks(0):
            block = load()
            parser.parse_integers(block, len(block), parser.ANY, pairs)
        with_reading = time.perf_counter() - start
    return {
        "seconds": best,
        "edges_per_s": records / best,
        "edges_per_s_with_reading": records / with_reading,
    }


def measure_read(path: Path, threads: int, warm: Path) -> dict[str, float]:
    """read_graph in this process, its kernels compiled beforehand on a small file of the same kind."""
    from blockmix.graph.reading.read import read_graph

    read_graph(warm, threads=threads)
    before, _ = resident_bytes()
    start = time.perf_counter()
    graph = read_graph(path, threads=threads)
    seconds = time.perf_counter() - start
    finished = graph.offsets.nbytes + graph.neighbors.nbytes
    grown = resident_bytes()[1] - before
    return {
        "seconds": seconds,
        "csr_bytes": finished,
        "peak_growth_bytes": grown,
        "times_csr": grown / finished,
        "links": graph.n_edges,
        "nodes": graph.n_nodes,
    }


def in_fresh_process(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def best_read(path: Path, threads: int, repeats: int, warm: Path) -> dict[str, float]:
    runs = [in_fresh_process("--one-read", path, warm, "--threads", threads) for _ in range(repeats)]
    best = min(runs, key=lambda run: run["seconds"])
    best["times_csr"] = max(run["times_csr"] for run in runs)
    return best


def benchmark(n_edges: int, threads: int, repeats: int, n_ids: int) -> dict[str, object]:
    figures: dict[str, object] = {
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "edges": n_edges,
        "ids": n_ids,
        "threads": threads,
    }
    print(f"{'file':<22}{'what':<30}{'seconds':>9}{'M edges/s':>11}{'peak / CSR':>12}")
    kinds: dict[str, dict[str, Any]] = {
        "blank": {},
        "tab": {"separator": "\t"},
        "tab and weight": {"separator": "\t", "extra": "\t0.5"},
        "both directions": {"both": True},
        "scattered ids": {"scattered": True},
        "crafted ids": {"crafted": True},
        "semicolon": {"separator": ";"},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in kinds.items():
            path, warm = Path(folder, "edges.txt"), Path(folder, "warm.txt")
            write_edges(path, n_edges, n_ids, **kind)
            write_edges(warm, 1000, n_ids, **kind)
            parsed = in_fresh_process("--one-parse", path)
            show(name, "parser, 1 thread", parsed["seconds"], parsed["edges_per_s"])
            figures[name] = {"parse": parsed}
            for used in sorted({1, threads}):
                read = best_read(path, used, repeats, warm)
                show(name, f"read_graph, {used} threads", read["seconds"], n_edges / read["seconds"], read)
                figures[name][f"read_{used}"] = read  # type: ignore[index]
    print(
        f"targets: parser {PARSE_TARGET / 1e6:.0f} M edges/s; read_graph of 10M edges on 2 threads "
        f"{READ_TARGET_S:.0f} s and {MEMORY_TARGET:.0f} times the CSR"
    )
    return figures


def show(name: str, what: str, seconds: float, rate: float, read: dict[str, float] | None = None) -> None:
    memory = f"{read['times_csr']:>12.2f}" if read else ""
    print(f"{name:<22}{what:<30}{seconds:>9.2f}{rate / 1e6:>11.1f}{memory}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description="Measure the reading of edge lists.")
    options.add_argument("--edges", type=int, default=10_000_000)
    options.add_argument(
        "--ids", type=int, default=2_000_000, help="number of different node ids to draw from"
    )
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--json", type=Path, help="also write the figures to this file")
    options.add_argument("--one-parse", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--one-read", type=Path, nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one_parse:
        print(json.dumps(measure_parse(chosen.one_parse)))
    elif chosen.one_read:
        print(json.dumps(measure_read(chosen.one_read[0], chosen.threads, chosen.one_read[1])))
    else:
        figures = benchmark(chosen.edges, chosen.threads, chosen.repeats, chosen.ids)
        if chosen.json:
            chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
