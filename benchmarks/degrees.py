"""The link models side by side: same splits, same chains, same processor time, and what model="auto" takes.

    python benchmarks/degrees.py --seeds 0 1 2 --json degrees.json
    python benchmarks/degrees.py --networks netscience football --seeds 11 12 13 14 --sweeps 300 --held-out 0.1

On every network the assortative model makes `--sweeps` sweeps with the default number of chains, and the popularity
model as many as take the same processor time (found from a short run), so that a busy machine changes nothing but the
waiting. All fits have one thread. "auto" is the model that `model="auto"` takes; its cost is the processor time of the
choice over that of the fit. Printed for each: AUC against uniform and against matched non-links (M12); the log loss
(M5) over the density, with its non-link term over 20,000 uniform non-links in place of the few held-out ones, whose
noise would hide the difference on small networks; the mean of -log p over held-out links that touch a node without
training links; and predicted over observed degrees, in training, of the 1% of nodes with the most links. The last
table says for every network how far auto is from the better of the two. The networks come from the folder named by
BLOCKMIX_DATA or are downloaded; "planted-N" and "abcd-N" are generated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockmix as bm
from blockmix.graph.split import HeldOut
from blockmix.inference.choices.link_model import choose_model
from blockmix.inference.fit import choose_held_out
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers

# Networks of the goals first, with K; then those that only help to decide about the default.
NETWORKS: dict[str, int | str] = {
    "us-air-712": 20, "ca-HepPh": 50, "email-Enron": 200, "com-YouTube-top5000": 509, "ca-GrQc": 500,
    "com-DBLP": 5000, "netscience": 50, "football": 12, "polbooks": 4,
    "karate": 2, "dolphins": 4, "lesmis": 8, "us-airport-2010": 20, "us-air-t100-july": 20, "ca-HepTh": 500,
    "ca-CondMat": 500, "ego-Twitter": 100, "planted-1000": 20, "abcd-2000": "auto",
}  # fmt: skip
MODELS = ("assortative", "popularity")
# Non-links for the log loss, and other ends on which an expected degree is estimated.
NON_LINKS, OTHER_ENDS = 20_000, 2000
# At most so many of the largest nodes, evenly spread over the 1%.
MOST_HUBS = 20
# The popularity model gets its number of sweeps from a run of this share of the sweeps; at least and at most so many
# times those of the other model, since a clock says little about a network on which a fit takes a second.
TRIAL_SHARE, FEWEST, MOST = 0.2, 0.4, 1.5


def network(name: str, seed: int) -> bm.Graph:
    """Return a network by name; generated ones are new for every seed."""
    kind, _, nodes = name.partition("-")
    if kind == "planted":
        return bm.planted(int(nodes), 20, degree=20, seed=seed).graph
    if kind == "abcd":
        return bm.abcd(int(nodes), memberships=1.25, noise=0.1, seed=seed).graph
    return bm.load_dataset(name)


def uniform_non_links(graph: bm.Graph, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw pairs that are no links."""
    pairs = np.sort(rng.integers(0, graph.n_nodes, (NON_LINKS, 2)), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.asarray(pairs[~graph.has_edges(pairs)], dtype=np.int64)


def predicted_degrees(post: bm.Posterior, rng: np.random.Generator) -> float:
    """Return predicted over observed degrees, in training, of the 1% of nodes with the most links.

    Held-out pairs count on neither side: more links are held out than pairs, so that all pairs have fewer links than
    the model has seen.
    """
    assert post.held_out is not None
    pairs, links = post.held_out.pairs, post.held_out.links
    graph = post.graph.without_edges(pairs[links])
    hidden = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.argsort(-graph.degrees, kind="stable")[: max(round(0.01 * graph.n_nodes), 1)]
    hubs = order[np.linspace(0, len(order) - 1, min(len(order), MOST_HUBS)).astype(int)]
    total = 0.0
    for hub in hubs:
        unseen = np.append(hidden[hidden[:, 0] == hub, 1], hub)
        drawn = rng.integers(0, graph.n_nodes, OTHER_ENDS)
        others = np.setdiff1d(np.arange(graph.n_nodes) if graph.n_nodes <= 2 * OTHER_ENDS else drawn, unseen)
        ends = np.column_stack([np.full(len(others), hub), others]).astype(np.int64)
        total += float(post.node_link_probability(ends).mean()) * (graph.n_nodes - len(unseen))
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
        "sweeps": float(post.provenance["sweeps"]),
    }


def fit(
    graph: bm.Graph, communities: Any, model: Any, seed: int, data: HeldOut, sweeps: int
) -> tuple[bm.Posterior, float]:
    """Fit with one thread; return the posterior and the seconds of processor time."""
    began = time.process_time()
    post = bm.fit(
        graph, communities, model=model, seed=seed, held_out=data, sweeps=sweeps, threads=1, progress=False
    )
    return post, time.process_time() - began


def compare(name: str, seed: int, sweeps: int, share: float | None) -> dict[str, Any]:
    """Fit both models on one split for the same processor time, and let auto choose."""
    graph = network(name, seed)
    communities = NETWORKS[name]
    data = choose_held_out(graph, share, None, seed)
    found: dict[str, Any] = {}
    post, seconds = fit(graph, communities, "assortative", seed, data, sweeps)
    found["assortative"] = figures(post, seed) | {"seconds": seconds}
    k = post.n_communities
    # Starts, predictions and results take a time of their own: a run of two sweeps has little else.
    few, trial = (fit(graph, k, "popularity", seed, data, n)[1] for n in (2, round(TRIAL_SHARE * sweeps) + 2))
    ratio = TRIAL_SHARE * (seconds - few) / max(trial - few, 1e-9)
    ratio = min(max(ratio, FEWEST), MOST)
    post, took = fit(graph, k, "popularity", seed, data, round(ratio * sweeps))
    found["popularity"] = figures(post, seed) | {"seconds": took}
    request = FitRequest(k, model="auto", seed=seed, threads=1).for_network(graph, k)
    began = time.process_time()
    with Workers(1) as workers:
        choice = choose_model(request, data, workers)
    found["auto"] = found[choice.model] | {"choice": (time.process_time() - began) / max(seconds, 1e-9)}
    found["chosen"] = choice.model
    return found


def known_mean(values: list[float]) -> float:
    """Return the mean of the values that are known, NaN where none is."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def row(name: str, model: str, runs: list[dict[str, Any]]) -> str:
    """Return a line of the table: means over the splits."""
    mean = {key: known_mean([run[model][key] for run in runs]) for key in runs[0][model]}
    alone = "" if np.isnan(mean["without_links"]) else f"{mean['without_links']:.2f}"
    label = f"{name}, {NETWORKS[name]}"
    return (
        f"{label:25} {model:12} {mean['auc']:7.4f} {mean['auc_matched']:7.4f} {mean['log_loss']:8.3f} "
        f"{alone:>6} {mean['degrees']:7.2f} {mean['sweeps']:6.0f} {mean['seconds']:7.1f}"
    )


def verdict(name: str, runs: list[dict[str, Any]]) -> str:
    """Return how far auto is from the better of the two models, and what the choice costs."""
    mean = {
        model: {key: float(np.mean([run[model][key] for run in runs])) for key in ("auc", "log_loss")}
        for model in (*MODELS, "auto")
    }
    popular = sum(run["chosen"] == "popularity" for run in runs)
    lost_auc = max(mean[m]["auc"] for m in MODELS) / mean["auto"]["auc"] - 1.0
    lost_loss = mean["auto"]["log_loss"] / min(mean[m]["log_loss"] for m in MODELS) - 1.0
    gained = 1.0 - mean["popularity"]["log_loss"] / mean["assortative"]["log_loss"]
    cost = float(np.mean([run["auto"]["choice"] for run in runs]))
    risen = mean["popularity"]["auc"] / mean["assortative"]["auc"] - 1.0
    return (
        f"{name:22} popularity against assortative: log loss {-gained:+6.1%}, AUC {risen:+6.2%}; "
        f"auto took popularity {popular} of {len(runs)} "
        f"times, loses {lost_auc:.2%} of AUC and {lost_loss:.2%} of log loss, costs {cost:.0%}"
    )


def main() -> None:
    """Compare the models and print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS)[:9], choices=list(NETWORKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--sweeps", type=int, default=200, help="of the assortative model, warm-up included")
    parser.add_argument("--held-out", type=float, help="share of the links, in place of the default")
    parser.add_argument("--json", type=Path, help="what is there already is not run again")
    given = parser.parse_args()
    record: dict[str, dict[str, Any]] = {}
    if given.json and given.json.exists():
        record = json.loads(given.json.read_text())
    # Kernels are compiled, or loaded, before anything is timed.
    small = bm.planted(200, 4, seed=1).graph
    for model in MODELS:
        fit(small, 4, model, 1, choose_held_out(small, None, None, 1), 4)
    print(
        f"{'network, K':25} {'model':12} {'AUC':>7} {'matched':>7} {'log loss':>8} {'alone':>6} "
        f"{'degrees':>7} sweeps seconds"
    )
    for name in given.networks:
        done = record.setdefault(name, {})
        for seed in given.seeds:
            if str(seed) not in done:
                done[str(seed)] = compare(name, seed, given.sweeps, given.held_out)
            if given.json:
                given.json.write_text(json.dumps(record, indent=1) + "\n")
        runs = [done[str(seed)] for seed in given.seeds]
        print("\n".join(row(name, model, runs) for model in MODELS), flush=True)
    print()
    for name in given.networks:
        print(verdict(name, [record[name][str(seed)] for seed in given.seeds]))


if __name__ == "__main__":
    main()
