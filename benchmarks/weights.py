"""What the weights of links add: the popularity model with weights as counts, as amounts, and without them.

    python benchmarks/weights.py                      # networks of networkx, and two generated ones
    python benchmarks/weights.py --graph-tool         # with those that graph-tool brings (run by the system's Python)
    python benchmarks/weights.py --splits 101,102,103 --only lesmis

Every network is fitted three times to the same splits, for the same number of sweeps: links alone, weights as counts
where they are whole numbers, and weights as amounts. Printed are means over the splits of the AUC of held-out links,
against uniform non-links and against those of the same degrees, of the log loss over the density, of the gain of the
log score of a held-out weight over one law for all links (in nats; --- where links alone were seen), and of the rank
correlation of expected and observed weights of held-out links, for which the fit of links alone has its link
probabilities. `seconds` is processor time of a fit.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.stats import spearmanr

import blockmix as bm
from blockmix.generators.simulate import simulate

FROM_GRAPH_TOOL = ("lesmis", "netscience", "celegansneural", "hep-th")
EXPORT = """
import sys
import numpy as np
from graph_tool import collection
graph = collection.data[sys.argv[1]]
weights = graph.ep["value"] if "value" in graph.ep else graph.ep["weight"]
np.savetxt(sys.argv[2], np.column_stack((graph.get_edges(), weights.a[graph.get_edges([graph.edge_index])[:, 2]])))
"""


def networks(graph_tool: bool) -> Iterator[tuple[str, bm.Graph, int]]:
    """Yield names, networks with weights, and numbers of communities."""
    yield "karate (networkx)", bm.as_graph(nx.karate_club_graph(), weights=True), 4
    yield "lesmis (networkx)", bm.as_graph(nx.les_miserables_graph(), weights=True), 12
    for law in ("counts", "amounts"):
        made = simulate(
            600, 12, degree=12, alpha=0.02, degrees="gamma", rho=2.0, weights=law, unit_shape=2.0, seed=1
        )
        yield f"generated, {law}", made.graph, 12
    for name in FROM_GRAPH_TOOL[1:] if graph_tool else ():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "links.txt")
            subprocess.run(["/usr/bin/python3", "-c", EXPORT, name, str(path)], check=True)
            table = np.loadtxt(path)
        table = table[table[:, 2] > 0]
        graph = bm.Graph.from_edges(table[:, :2].astype(np.int64), weights=table[:, 2])
        yield f"{name} (graph-tool)", graph, {"netscience": 50, "celegansneural": 8, "hep-th": 200}[name]


def one(
    graph: bm.Graph, communities: int, law: str | None, seed: int, sweeps: int, chains: int
) -> list[float]:
    """Fit once and return the row of figures."""
    shown = graph if law is not None else graph.without_weights()
    data = bm.hold_out(shown, 0.1, seed=seed)
    began = time.process_time()
    post = bm.fit(
        shown, communities, model="popularity", held_out=data, weight_law=law, seed=seed, sweeps=sweeps,
        chains=chains, threads=1, progress=False,
    )  # fmt: skip
    seconds = time.process_time() - began
    scores, weights = post.scores, post.weight_scores
    if weights is None:
        links = data.pairs[data.links]
        probability = post.held_out.probability[data.links]
        correlation = spearmanr(probability, graph.weights_of(links)).statistic
        gain = float("nan")
    else:
        correlation, gain = weights.correlation, weights.gain
    return [
        scores.auc, scores.auc_matched, scores.log_loss / data.density, gain, correlation, seconds,
    ]  # fmt: skip


def main() -> None:
    """Print a line for each network and law."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph-tool", action="store_true")
    parser.add_argument("--splits", default="101,102,103")
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    splits = [int(seed) for seed in asked.splits.split(",")]
    print(f"{'network':<28} {'weights':<8}   AUC  same degrees  log loss  gain   rank   seconds")
    for name, graph, communities in networks(asked.graph_tool):
        if asked.only not in name:
            continue
        whole = bool((graph.weights == np.floor(graph.weights)).all())
        for law in (None, "counts", "amounts") if whole else (None, "amounts"):
            rows = np.array(
                [one(graph, communities, law, seed, asked.sweeps, asked.chains) for seed in splits]
            )
            auc, matched, loss, gain, rank, seconds = rows.mean(axis=0)
            shown = "   ---" if np.isnan(gain) else f"{gain:6.3f}"
            print(
                f"{name:<28} {law or 'none':<8} {auc:.3f}  {matched:.3f}         {loss:8.3f} {shown} {rank:6.3f} "
                f"{seconds:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
