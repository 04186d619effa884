"""blockmix beside what a user would pick instead: the same networks, the same machine, one run.

    pip install cdlib networkit igraph infomap scikit-network    # and Debian's python3-graph-tool
    python benchmarks/peers.py [--networks football planted-5000] [--limit 600] [--json FILE] [--table FILE]

Every method gets the network with 5% of its links held out, in a process of its own with a time limit. Its
communities are compared with the true ones (ONMI, omega index, best-match F1; where truth covers a part of the
network, on those nodes; repeated communities removed). Held-out pairs are ranked by the method's own link
probabilities where it has them, otherwise by the density of the communities a pair shares, which is the same rule for
all: AUC against uniform non-links, "matched" against non-links matched by degree (M12). Networks "abcd-1.25" are
benchmarks after ABCD+o2 with 5,000 nodes, noise 0.1 and so many communities a node. A method that is not installed,
fails, or does not finish is shown as such; one that did not finish is not tried on networks with more links.
graph-tool runs in the system's Python, if that has it; its memory is that of the larger of both processes.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from peers_methods import METHODS, THREADS
from read_graph import resident_bytes

import blockmix as bm
from blockmix.evaluate import best_match_f1, omega, onmi, restrict, score, unique_communities

NETWORKS = (
    "planted-1000", "planted-5000", "planted-20000", "planted-100000", "football", "polbooks",
    "com-YouTube-top5000", "com-DBLP",
)  # fmt: skip
SCORES = ("onmi", "omega", "f1", "auc", "auc_matched")
HELD_OUT = 0.05
Results = dict[str, dict[str, list[dict[str, Any]]]]  # by network, by method, one row a seed
# Omega looks at all pairs that share a community: beyond so many nodes in one community it is left out.
LARGEST_FOR_OMEGA = 30_000


@functools.cache
def network(name: str, seed: int) -> tuple[bm.Graph, list[np.ndarray]]:
    """A network and its true communities as node numbers."""
    if name.startswith("planted-"):
        nodes = int(name.split("-")[1])
        made = bm.planted(nodes, nodes // 50 if nodes >= 5000 else 20, degree=20, seed=seed)
        return made.graph, made.covers
    if name.startswith("abcd-"):
        made = bm.abcd(5000, memberships=float(name.split("-")[1]), noise=0.1, seed=seed)
        return made.graph, made.covers
    graph = bm.load_dataset(name)
    return graph, [graph.labels.indices(list(group)) for group in bm.load_truth(name)]


def cover_probability(graph: bm.Graph, covers: list[np.ndarray], pairs: np.ndarray) -> np.ndarray:
    """A pair's score under a cover: one less the product, over the communities it shares, of one less their density."""
    nodes = np.concatenate(covers) if covers else np.zeros(0, dtype=np.int64)
    groups = np.repeat(np.arange(len(covers)), [len(c) for c in covers])
    order = np.argsort(nodes, kind="stable")
    nodes, groups = nodes[order], groups[order]
    first = np.searchsorted(nodes, np.arange(graph.n_nodes + 1))
    member = [set(groups[first[a] : first[a + 1]].tolist()) for a in range(graph.n_nodes)]
    inside = np.zeros(len(covers))
    for a, b in graph.edges().tolist():
        for k in member[a] & member[b]:
            inside[k] += 1
    size = np.array([len(c) for c in covers], dtype=np.float64)
    density = np.minimum(inside / np.maximum(size * (size - 1) / 2, 1), 1 - 1e-9)
    return np.array(
        [1 - np.prod([1 - density[k] for k in member[a] & member[b]]) for a, b in pairs.tolist()], dtype=float
    )


def run_one(method: str, name: str, seed: int, out: str) -> None:
    """In a process of its own: run, save communities and predictions, print time and memory."""
    graph, _ = network(name, seed)
    data = bm.hold_out(graph, HELD_OUT, seed=seed)
    function, _ = METHODS[method]
    # Libraries are imported and kernels loaded before the clock starts.
    if method.startswith("blockmix"):
        model: Any = next((name for name in ("popularity", "auto") if name in method), "assortative")
        bm.fit(bm.planted(200, 4, seed=1).graph, model=model, sweeps=3, warm_up=1, progress=False)
    else:
        function(bm.hold_out(bm.planted(60, 3, degree=12, seed=1).graph, HELD_OUT, seed=1), 1)
    _, before = resident_bytes()
    began = time.perf_counter()
    covers, predict = function(data, seed)
    seconds = time.perf_counter() - began
    _, peak = resident_bytes()
    peak = max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
    pairs = data.scored_pairs
    probability = cover_probability(data.training, covers, pairs) if predict is None else predict(pairs)
    lengths = np.array([len(c) for c in covers], dtype=np.int64)
    members = np.concatenate(covers) if covers else np.zeros(0, dtype=np.int64)
    np.savez(out, lengths=lengths, members=members, probability=probability, links=data.links)
    print(json.dumps({"seconds": seconds, "peak_mb": peak / 2**20, "added_mb": (peak - before) / 2**20}))


def measure(
    method: str, name: str, seed: int, limit: float, truth: list[np.ndarray], nodes: int
) -> dict[str, Any]:
    """The same from outside, with a limit, and the scores."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "found.npz"))
        command = [sys.executable, __file__, "--one", method, name, str(seed), out]
        environment = os.environ | {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": str(THREADS)}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=limit, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"not done in {limit:.0f} s"}
        if done.returncode:
            return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1][:120]}
        row = dict(json.loads(done.stdout.strip().splitlines()[-1]))
        found = np.load(out, allow_pickle=False)
        covers = np.split(found["members"], np.cumsum(found["lengths"])[:-1]) if len(found["lengths"]) else []
        held_out, matched = np.split(found["probability"], [len(found["links"])])
        ranked = score(held_out, found["links"], 0.5, matched)
        row |= {"auc": ranked.auc, "auc_matched": ranked.auc_matched}
        return row | scores(covers, truth, nodes)


def unfinished(results: Results, method: str, links: int) -> str | None:
    """A network with fewer links on which the method ran into the limit."""
    for name, rows in results.items():
        timed_out = any(row.get("failed", "").startswith("not done") for row in rows.get(method, []))
        if timed_out and network(name, 1)[0].n_edges < links:
            return name
    return None


def scores(covers: list[np.ndarray], truth: list[np.ndarray], nodes: int) -> dict[str, float]:
    """Communities of one node say nothing and are left out; comparison on the nodes that truth covers."""
    covered = np.unique(np.concatenate(truth))
    if len(covered) < nodes:
        covers, truth = (
            [np.searchsorted(covered, members) for members in restrict(cover, covered)]
            for cover in (covers, truth)
        )
    covers = [c for c in unique_communities(covers) if len(c) > 1]
    truth = unique_communities(truth)
    small = not covers or max(len(c) for c in covers) <= LARGEST_FOR_OMEGA
    return {
        "communities": float(len(covers)),
        "onmi": onmi(covers, truth, len(covered)),
        "omega": omega(covers, truth, len(covered)) if small else float("nan"),
        "f1": best_match_f1(covers, truth),
    }


def table(results: Results) -> str:
    """Markdown: a table a network, means over seeds, the best of each score in bold."""
    lines = []
    for name, rows in results.items():
        means = {m: mean_row(r) for m, r in rows.items()}
        done = {m: row for m, row in means.items() if "failed" not in row}
        # Results of earlier versions have no AUC against matched non-links.
        values = {m: {s: row.get(s, float("nan")) for s in SCORES} for m, row in done.items()}
        best = {s: max((r[s] for r in values.values() if r[s] == r[s]), default=0) for s in SCORES}
        lines += [f"### {name}", "", "| method | ONMI | omega | F1 | AUC | matched | communities | seconds | peak MB |",
                  "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
        for method, row in done.items():
            cells = [_bold(values[method][s], best[s]) for s in SCORES]
            rest = f"{row['communities']:.0f} | {_seconds(row['seconds'])} | {_megabytes(row['peak_mb'])}"
            lines.append(f"| {method} | {' | '.join(cells)} | {rest} |")
        lines.append("")
        for reason in dict.fromkeys(row["failed"].split(":")[0] for row in means.values() if "failed" in row):
            names = [m for m, row in means.items() if row.get("failed", "").split(":")[0] == reason]
            why = " (did not finish on a smaller network)" if reason == "not tried" else ""
            lines += [f"{reason[0].upper()}{reason[1:]}{why}: {', '.join(names)}.", ""]
    return "\n".join(lines)


def _bold(value: float, best: float) -> str:
    return "" if value != value else f"**{value:.3f}**" if value >= best - 5e-4 else f"{value:.3f}"


def _megabytes(value: float) -> str:
    return "" if value != value else f"{value:.0f}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= 0.1 else "< 0.1"


def mean_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    failed = [row for row in rows if "failed" in row]
    if failed:
        return failed[0]
    # What could not be measured is null in JSON.
    return {
        key: float(np.mean([np.nan if row[key] is None else row[key] for row in rows])) for key in rows[0]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1, help="how many networks or splits of each kind")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each method on each network")
    parser.add_argument("--json", help="write all figures here; what is there already is not run again")
    parser.add_argument("--table", help="write the table here, as Markdown")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, name, seed, out = options.one
        run_one(method, name, int(seed), out)
        return
    results: Results = {}
    if options.json and Path(options.json).exists():
        results = json.loads(Path(options.json).read_text("utf-8"))
    for name in sorted(options.networks, key=lambda name: network(name, 1)[0].n_edges):
        for seed in range(1, options.seeds + 1):
            graph, truth = network(name, seed)
            for method in options.methods:
                rows = results.setdefault(name, {}).setdefault(method, [])
                if len(rows) >= seed:
                    continue
                slow = unfinished(results, method, graph.n_edges)
                if slow:
                    rows.append({"failed": f"not tried: not done in the limit on {slow}"})
                else:
                    rows.append(measure(method, name, seed, options.limit, truth, graph.n_nodes))
                print(name, seed, method, json.dumps(rows[-1]), flush=True)
                if options.json:
                    Path(options.json).write_text(json.dumps(results, indent=1), "utf-8")
    text = table({name: results[name] for name in options.networks})
    print(text)
    if options.table:
        Path(options.table).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
