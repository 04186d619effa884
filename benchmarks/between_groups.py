"""Rates between groups for the popularity model, as a prototype: is a rate of its own for some pairs of groups better?

    python benchmarks/between_groups.py --networks football:12 polbooks:8 --splits 101 102 103
    python benchmarks/between_groups.py --networks football:12 --methods graph-tool assortative popularity
    python benchmarks/between_groups.py --check

The popularity model has one background rate eps for all pairs of nodes. Here pairs of communities may have their own:

    (B1) rate_ab = r_a r_b sum_kl pi_ak B_kl pi_bl,  B_kk = eps + w_k,  B_kl = B_lk = eps g_kl for k != l,
         g_kl = 1 with probability 1 - q, else g_kl ~ Exponential(1);  q ~ Beta(1, 9).

All other priors are those of (DC2), K alpha is learned (Q1), and nodes move by (DC5) to (DC9) with

    (B2) f_bk = sum_l B_kl theta_bl,  lambda_k = rho + sum_l B_kl T_al.

A unit at a link is made by two communities, (k, l) in proportion to theta_ak B_kl theta_bl. With L_kl units and
P_kl = sum_{a<b} v_ab (theta_ak theta_bl + theta_al theta_bk) the pair k != l has L_kl ~ Poisson(g_kl x), x = eps P_kl,
so that with g_kl integrated out

    (B3) odds of a rate of its own = q/(1 - q) L_kl! e^x (1 + x)^-(L_kl + 1),  then g_kl ~ Gamma(1 + L_kl)/(1 + x),
         q ~ Beta(1 + pairs with one, 9 + pairs without),

and eps moves by a random walk on its logarithm with all g_kl integrated out. The scale move of (DC10) carries B along.

"flat" is the same program with no pair that has a rate of its own; in the first 50 sweeps both are flat. "assortative"
and "popularity" are `blockmix.fit`, "graph-tool" is that of benchmarks/peers.py. Scores are of probabilities averaged
over all chains: AUC of held-out links against all pairs without a link, log loss over density with the same pairs; then
differences from the first method and their standard errors. `--check` compares moments on five nodes with weighted
draws from the prior, everything learned.
"""

from __future__ import annotations

import argparse
import math
from types import SimpleNamespace

import numpy as np
from between_groups_chain import (
    EPS,
    FLAT_PAIRS,
    K_ALPHA,
    LEAST,
    RHO,
    SHAPE,
    SHARE,
    TOTAL,
    Floats,
    seed_chain,
    started,
    swept,
)  # fmt: skip
from numpy.typing import NDArray
from peers_methods import graph_tool

import blockmix as bm
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut, no_hold_out
from blockmix.inference.fit import choose_held_out

# The share of the sweeps that is warm-up.
WARM_UP = 0.4
METHODS = ("flat", "sparse", "assortative", "popularity", "graph-tool")
# graph-tool gives pairs of groups without links a probability of zero.
LEAST_PROBABILITY, MOST_PROBABILITY = 1e-12, 1.0 - 1e-15
NETWORKS = ("football:12", "polbooks:4", "polbooks:8", "lesmis:8", "dolphins:4", "karate:2")
# Of the check: a ring of four nodes, which no communities explain, with a fifth one; sweeps, batches, draws.
RING = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]
CHECK_COMMUNITIES, CHECK_SWEEPS, BATCHES, DRAWS = 3, 60_000, 40, 50_000
QUANTITIES = (
    "log eps", "log rho", "log K alpha", "q", "log(1 + r) of 0", "log(1 + r) of 4", "p of 0, 1", "p of 0, 2",
    "log(1 + g)", "g above 3",
)  # fmt: skip


def probabilities(data: HeldOut, communities: int, key: tuple[int, int], sweeps: int, sparse: bool) -> Floats:
    """Return the mean probability of a link of all pairs under one chain."""
    network, chain = started(data, communities, key)
    seed_chain(1000 * key[0] + key[1])
    found = []
    for sweep in swept(network, chain, sweeps, sparse):
        if sweep >= WARM_UP * sweeps and sweep % 5 == 0:
            found.append(-np.expm1(-(chain.theta @ chain.rates @ chain.theta.T)))
    return np.asarray(np.mean(found, axis=0))


def predicted(
    method: str, graph: bm.Graph, data: HeldOut, communities: int, split: int, given: argparse.Namespace
) -> Floats:
    """Return the probability of a link of all pairs, by a method."""
    nodes = data.training.n_nodes
    if method in ("flat", "sparse"):
        chains = [
            probabilities(data, communities, (split, chain), given.sweeps, method == "sparse")
            for chain in range(given.chains)
        ]
        return np.asarray(np.mean(chains, axis=0))
    above = np.triu_indices(nodes, 1)
    pairs = np.column_stack(above).astype(np.int64)
    if method == "graph-tool":
        _, predict = graph_tool(SimpleNamespace(training=data.training, scored_pairs=pairs), split)
        assert predict is not None
    else:
        predict = bm.fit(
            graph, communities, model=method, seed=split, held_out=data, sweeps=given.sweeps,
            chains=given.chains, threads=1, progress=False,
        ).node_link_probability  # fmt: skip
    found = np.zeros((nodes, nodes))
    found[above] = predict(pairs)
    return found + found.T


def scores(probability: Floats, graph: bm.Graph, data: HeldOut) -> tuple[float, float]:
    """Return AUC and log loss over density of the held-out links against all pairs without a link."""
    probability = np.clip(probability, LEAST_PROBABILITY, MOST_PROBABILITY)
    linked = np.zeros(probability.shape, dtype=bool)
    linked[tuple(graph.edges().T)] = True
    linked |= linked.T
    above = np.triu_indices(len(linked), 1)
    others = np.sort(probability[above][~linked[above]])
    ends = data.pairs[data.links]
    links = probability[ends[:, 0], ends[:, 1]]
    below = (np.searchsorted(others, links) + np.searchsorted(others, links, side="right")) / 2.0
    odds = len(others) / graph.n_edges
    return float(below.mean() / len(others)), float(-np.log(links).mean() - odds * np.log1p(-others).mean())


def compare(name: str, given: argparse.Namespace) -> None:
    """Print the scores of all methods on one network, and how far they are from those of the first."""
    source, _, k = name.partition(":")
    graph, rows = bm.load_dataset(source), []
    for split in given.splits:
        data = choose_held_out(graph, given.held_out, None, split)
        rows.append(
            [scores(predicted(m, graph, data, int(k), split, given), graph, data) for m in given.methods]
        )
    found = np.array(rows)
    for at, (method, mean) in enumerate(zip(given.methods, found.mean(axis=0), strict=True)):
        gap = found[:, at] - found[:, 0]
        error = gap.std(axis=0, ddof=min(1, len(gap) - 1)) / math.sqrt(len(gap))
        print(
            f"{name:12} {method:12} AUC {mean[0]:.4f}  log loss {mean[1]:.4f}  difference {gap.mean(axis=0)[0]:+.4f} "
            f"({error[0]:.4f}) {gap.mean(axis=0)[1]:+.4f} ({error[1]:.4f})",
            flush=True,
        )


def quantities(theta: Floats, rates: Floats, scalars: Floats) -> Floats:
    """Return what is compared, for every draw; none of it depends on how communities are numbered."""
    p = -np.expm1(-np.einsum("dak,dkl,dbl->dab", theta[:, :3], rates, theta[:, :3], optimize=True))
    r, lower = theta.sum(axis=2), np.tril_indices(rates.shape[1], -1)
    g = rates[:, *lower] / scalars[:, EPS, None]
    logs = np.log(scalars[:, [EPS, SHAPE, TOTAL]])
    found = (
        scalars[:, SHARE],
        np.log1p(r[:, 0]),
        np.log1p(r[:, 4]),
        p[:, 0, 1],
        p[:, 0, 2],
        np.log1p(g).mean(axis=1),
        (g > 3.0).mean(axis=1),
    )
    return np.column_stack([logs, *found])  # fmt: skip


def weighted(linked: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Return posterior means of the quantities from draws of the prior, weighted by their likelihood."""
    nodes, k, above = len(linked), CHECK_COMMUNITIES, np.triu_indices(len(linked), 1)
    q, eps = rng.beta(1.0, FLAT_PAIRS, DRAWS), rng.gamma(1.0, 1.0 / nodes, DRAWS)
    rho = np.clip(1.0 / (1.0 - rng.random(DRAWS)) - 1.0, *RHO)
    total = np.clip(rng.exponential(size=DRAWS), *K_ALPHA)
    g = np.where(rng.random((DRAWS, k, k)) < q[:, None, None], rng.exponential(size=(DRAWS, k, k)), 1.0)
    rates = eps[:, None, None] * np.tril(g, -1)
    rates += rates.transpose(0, 2, 1)
    rates += (eps[:, None] + rng.gamma(1.0, size=(DRAWS, k)))[:, :, None] * np.eye(k)
    pi = rng.gamma(np.broadcast_to((total / k)[:, None, None], (DRAWS, nodes, k))) + LEAST
    theta = (
        pi
        / pi.sum(axis=2, keepdims=True)
        * rng.gamma(rho[:, None], 1.0 / rho[:, None], (DRAWS, nodes))[:, :, None]
    )
    p = -np.expm1(-np.einsum("dak,dkl,dbl->dab", theta, rates, theta, optimize=True))[:, *above]
    likely = np.where(linked[above], p, 1.0 - p).prod(axis=1)
    return np.asarray(likely @ quantities(theta, rates, np.column_stack([eps, q, rho, total])) / likely.sum())


def check() -> None:
    """Print the means of a chain on five nodes beside those of weighted draws, everything learned."""
    graph = Graph.from_edges(RING)
    linked = np.zeros((graph.n_nodes, graph.n_nodes), dtype=bool)
    linked[tuple(np.array(RING).T)] = True
    linked |= linked.T
    rng = np.random.default_rng(1)
    exact = np.array([weighted(linked, rng) for _ in range(BATCHES)])
    network, chain = started(no_hold_out(graph), CHECK_COMMUNITIES, (1, 1))
    seed_chain(1)
    states = [
        (chain.theta.copy(), chain.rates.copy(), chain.scalars.copy())
        for sweep in swept(network, chain, 500 + CHECK_SWEEPS, True, 0) if sweep >= 500
    ]  # fmt: skip
    values = quantities(*(np.array(part) for part in zip(*states, strict=True)))
    found = values.reshape(BATCHES, -1, values.shape[1]).mean(axis=1)
    error = np.hypot(found.std(axis=0, ddof=1), exact.std(axis=0, ddof=1)) / math.sqrt(BATCHES)
    gap = found.mean(axis=0) - exact.mean(axis=0)
    for name, a, b, deviation, z in zip(
        QUANTITIES, found.mean(axis=0), exact.mean(axis=0), gap / values.std(axis=0), gap / error, strict=True
    ):
        print(f"{name:16} chain {a:8.4f}  draws {b:8.4f}  difference {deviation:+.3f} sd  z {z:+.1f}")


def main() -> None:
    """Compare on networks, or check the chain."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), help="name:K")
    parser.add_argument("--methods", nargs="+", default=["flat", "sparse"], choices=METHODS)
    parser.add_argument("--splits", nargs="+", type=int, default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--held-out", type=float, default=0.1, help="share of the links")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        check()
        return
    for name in given.networks:
        compare(name, given)


if __name__ == "__main__":
    main()
