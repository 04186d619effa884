"""Is there structure? Null models, weights of chains and evidence of communities, on networks with and without any.

    python benchmarks/structure.py [--seconds 15] [--seed 1] [NAME ...]

NAME is a known network, as in football:auto or polbooks:4, or er:NODES:DEGREE:K (Erdős–Rényi), bipartite:SIDE:K
(complete) or planted:NODES:K. For each network: log losses of held-out pairs by the model, the density and the degrees;
by equal weights of the chains, by stacking (cross-fitted, with priors of different strength) and by the rule of
`posterior/pooling.py`; and how many communities had two members before and have evidence above zero now. Predictions
are those of the samples kept.
"""

from __future__ import annotations

import argparse

import numpy as np

import blockmix as bm
from blockmix.evaluate import log_loss
from blockmix.graph.datasets.load import load_dataset
from blockmix.posterior import pooling

NAMES = (
    "polbooks:4", "football:auto", "us-air-712:auto", "netscience:100", "er:300:8:8", "er:1000:4:30", "er:100:20:6",
    "bipartite:30:4", "planted:1000:20",
)  # fmt: skip
PRIORS = (0.001, 1.0, 5.0)


def network(name: str, seed: int) -> tuple[bm.Graph, int | str]:
    """Return the network that a name stands for, and how many communities to allow."""
    kind, *numbers = name.split(":")
    if kind == "er":
        nodes, degree, k = map(int, numbers)
        pairs = np.column_stack(np.triu_indices(nodes, 1))
        keep = np.random.default_rng(seed).random(len(pairs)) < degree / (nodes - 1)
        return bm.Graph.from_edges(pairs[keep]), k
    if kind == "bipartite":
        side, k = map(int, numbers)
        return bm.Graph.from_edges([(a, side + b) for a in range(side) for b in range(side)]), k
    if kind == "planted":
        nodes, k = map(int, numbers)
        return bm.planted(nodes, k, degree=20, seed=seed).graph, k
    return load_dataset(kind), "auto" if numbers[:1] in ([], ["auto"]) else int(numbers[0])


def forecasts(post: bm.Posterior) -> np.ndarray:
    """Return the predictions of every chain, from the samples kept."""
    assert post.held_out is not None
    found = np.zeros((len(post.draws), len(post.held_out.links)))
    for chain, out in zip(post.draws, found, strict=True):
        for sample in chain:
            post.predictor.add_sample(sample, post.held_out.pairs, out)
        out /= len(chain)
    return np.clip(found, 0.0, 1.0)


def always_stacked(predicted: np.ndarray, links: np.ndarray, density: float, prior: float) -> np.ndarray:
    """Pool with stacking weights found on the other folds, whether or not they are better than equal ones."""
    before, pooling.PRIOR = pooling.PRIOR, prior
    pooled = pooling._by_folds(predicted, links, lambda p, y: pooling._stacking_weights(p, y, density))
    pooling.PRIOR = before
    return pooled


def report(name: str, seconds: float, seed: int) -> None:
    """Fit one network and print its figures."""
    graph, k = network(name, seed)
    post = bm.fit(graph, k, model="assortative", seed=seed, time_limit=seconds)
    assert post.held_out is not None
    assert post.null is not None
    links, density = post.held_out.links, post.held_out.density
    predicted, null = forecasts(post), post.null
    print(f"{name}: {graph.n_nodes:,} nodes, {graph.n_edges:,} links, K = {post.n_communities}")
    print(
        f"  {null.verdict}: log loss {null.log_loss:.5f}, density {null.density_log_loss:.5f}, degrees "
        f"{null.degree_log_loss:.5f}, gain {null.gain:.5f} +- {null.error:.5f}"
    )
    losses = {"equal": predicted.mean(axis=0), "rule": pooling.pooled_forecast(predicted, links, density)}
    losses |= {f"stacked, prior {a:g}": always_stacked(predicted, links, density, a) for a in PRIORS}
    print("  " + ", ".join(f"{how} {log_loss(p, links, density):.5f}" for how, p in losses.items()))
    print(f"  weights {post.chain_weights.round(3).tolist()}")
    before, now = len(post.covers(clear=False)), len(post.covers())
    evidence = np.sort(post.evidence)[::-1]
    print(f"  communities {before} before, {now} clear; evidence {evidence[0]:.0f} to {evidence[-1]:.0f}\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    for name in words.names:
        report(name, words.seconds, words.seed)


if __name__ == "__main__":
    main()
