"""The assortative and the popularity model side by side: same splits, same chains, same time.

    python benchmarks/degrees.py --seeds 0 1 2 --json degrees.json
    python benchmarks/degrees.py --networks netscience football --seeds 0

On every network the assortative model runs as a user would run it, until its held-out score has settled, and the
popularity model for as many seconds of sampling, on the same split. Printed for each model: AUC against uniform and
against matched non-links (M12); the log loss (M5) over the density, with its non-link term over 20,000 uniform
non-links in place of the few held-out ones, whose noise would hide the difference on small networks; the mean of -log p
over held-out links that touch a node without training links; and predicted over observed degrees of the 1% of nodes
with the most links. The networks come from the folder named by BLOCKMIX_DATA or are downloaded.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockmix as bm
from blockmix.inference.fit import choose_held_out

NETWORKS = {
    "us-air-712": 20, "ca-HepPh": 50, "email-Enron": 200, "com-YouTube-top5000": 509, "ca-GrQc": 500,
    "com-DBLP": 5000, "netscience": 50, "football": 12, "polbooks": 4,
}  # fmt: skip
MODELS = ("assortative", "popularity")
# Non-links for the log loss, and other ends on which an expected degree is estimated.
NON_LINKS, OTHER_ENDS = 20_000, 2000
# At most so many of the largest nodes, evenly spread over the 1%.
MOST_HUBS = 20


def uniform_non_links(graph: bm.Graph, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw pairs that are no links."""
    pairs = np.sort(rng.integers(0, graph.n_nodes, (NON_LINKS, 2)), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.asarray(pairs[~graph.has_edges(pairs)], dtype=np.int64)


def predicted_degrees(post: bm.Posterior, rng: np.random.Generator) -> float:
    """Return predicted over observed degrees of the 1% of nodes with the most links."""
    graph = post.graph
    order = np.argsort(-graph.degrees, kind="stable")[: max(round(0.01 * graph.n_nodes), 1)]
    hubs = order[np.linspace(0, len(order) - 1, min(len(order), MOST_HUBS)).astype(int)]
    total = 0.0
    for hub in hubs:
        others = np.setdiff1d(rng.integers(0, graph.n_nodes, OTHER_ENDS), [hub])
        if graph.n_nodes <= 2 * OTHER_ENDS:
            others = np.setdiff1d(np.arange(graph.n_nodes), [hub])
        pairs = np.column_stack([np.full(len(others), hub), others]).astype(np.int64)
        total += float(post.node_link_probability(pairs).mean()) * (graph.n_nodes - 1)
    return total / float(graph.degrees[hubs].sum())


def figures(post: bm.Posterior, seed: int) -> dict[str, float]:
    """Return what is compared of one fit."""
    rng = np.random.default_rng(seed)
    held_out, scores = post.held_out, post.scores
    assert held_out is not None
    assert scores is not None
    links = held_out.links
    loss = -np.log(np.maximum(held_out.probability[links], 1e-300))
    others = post.node_link_probability(uniform_non_links(post.graph, rng))
    density = held_out.density
    alone = post.unlinked[held_out.pairs[links]].any(axis=1)
    return {
        "auc": scores.auc,
        "auc_matched": scores.auc_matched,
        "log_loss": float(loss.mean() - (1.0 - density) / density * np.log1p(-others).mean()),
        "without_links": float(loss[alone].mean()) if alone.any() else float("nan"),
        "degrees": predicted_degrees(post, rng),
        "seconds": float(post.provenance["seconds"]),
        "sweeps": float(post.provenance["sweeps"]),
    }


def compare(name: str, communities: int, seed: int, longest: float | None) -> dict[str, dict[str, float]]:
    """Fit both models on one split, the second for as long as the first took."""
    graph = bm.load_dataset(name)
    data = choose_held_out(graph, None, None, seed)
    found: dict[str, dict[str, float]] = {}
    limit = longest
    for model in MODELS:
        options: dict[str, Any] = {} if limit is None else {"time_limit": limit}
        post = bm.fit(graph, communities, model=model, seed=seed, held_out=data, progress=False, **options)  # type: ignore[arg-type]
        found[model] = figures(post, seed)
        limit = found[model]["seconds"]
    return found


def main() -> None:
    """Compare the models and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--time-limit", type=float, help="seconds for each fit, in place of the settled score"
    )
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    record: dict[str, Any] = {}
    print(
        f"{'network, K':25} {'model':12} {'AUC':>7} {'matched':>7} {'log loss':>8} {'alone':>6} {'degrees':>7} s"
    )
    for name in given.networks:
        runs = [compare(name, NETWORKS[name], seed, given.time_limit) for seed in given.seeds]
        record[name] = runs
        for model in MODELS:
            mean = {key: float(np.nanmean([run[model][key] for run in runs])) for key in runs[0][model]}
            print(
                f"{name + ' ' + str(NETWORKS[name]):25} {model:12} {mean['auc']:7.4f} {mean['auc_matched']:7.4f} "
                f"{mean['log_loss']:8.3f} {mean['without_links']:6.2f} {mean['degrees']:7.2f} {mean['seconds']:.1f}",
                flush=True,
            )
        if given.json:
            given.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
