"""Posteriors made by hand, so that every number in them is known."""

import numpy as np
import pytest

from blockmix import Graph
from blockmix.numerics.workers import Workers
from blockmix.posterior.merge import merge_chains
from blockmix.posterior.posterior import HeldOutPairs, Posterior
from blockmix.tables.summary import ChainSummary

LINKS = [
    ("ann", "bob"),
    ("bob", "cem"),
    ("ann", "cem"),
    ("cem", "dot"),
    ("dot", "eve"),
    ("eve", "fay"),
    ("dot", "fay"),
]


@pytest.fixture
def chain_of(sparse_rows):
    """A function that runs a history (samples x nodes x communities) through a chain's summary."""

    def build(history, strengths=None, slots=4) -> ChainSummary:
        history = np.asarray(history, dtype=np.float64)
        samples, nodes, communities = history.shape
        if strengths is None:
            strengths = np.tile(np.append(np.full(communities, 0.5), 0.05), (samples, 1))
        chain = ChainSummary.empty(nodes, communities, slots)
        with Workers(1) as workers:
            for t in range(samples):
                chain.add(
                    10 + t, sparse_rows(history[t], slots), np.asarray(strengths[t], dtype=float), workers
                )
        return chain

    return build


@pytest.fixture
def posterior_of(chain_of):
    """A function that makes a `Posterior` of histories, one for each chain."""

    def build(histories, strengths=None, graph=None, held_out=None) -> Posterior:
        graph = graph or Graph.from_edges(LINKS)
        strengths = strengths or [None] * len(histories)
        chains = [chain_of(history, values) for history, values in zip(histories, strengths, strict=True)]
        communities = np.shape(histories[0])[2]
        merged = merge_chains(chains, communities)
        order = np.argsort(merged.numbers[0])
        return Posterior(
            graph=graph,
            offsets=merged.offsets,
            community=merged.community,
            mean=merged.mean,
            sd=merged.sd,
            sizes=merged.sizes,
            strength_mean=chains[0].strength_mean[:-1][order],
            strength_sd=chains[0].strength_sd[:-1][order],
            background_mean=float(chains[0].strength_mean[-1]),
            background_sd=float(chains[0].strength_sd[-1]),
            numbers=merged.numbers,
            draws=tuple(tuple(chain.kept.samples) for chain in chains),
            trace={"sweep": np.arange(3), "perplexity": np.array([3.0, np.nan, 2.0])},
            held_out=held_out,
            provenance={"graph_fingerprint": graph.fingerprint, "seed": 1},
        )

    return build


@pytest.fixture
def two_triangles(posterior_of) -> Posterior:
    """Three samples of two overlapping groups: {ann, bob, cem, dot} and {cem, dot, eve, fay}."""
    base = np.array(
        [[1.0, 0, 0], [0.95, 0.05, 0], [0.8, 0.2, 0], [0.3, 0.7, 0], [0.05, 0.95, 0], [0, 1.0, 0]]
    )
    history = np.stack([base, base, base])
    history[1, 2] = [0.7, 0.3, 0.0]
    history[2, 2] = [0.9, 0.1, 0.0]
    strengths = np.array([[0.8, 0.6, 0.2, 0.02], [0.7, 0.6, 0.5, 0.04], [0.9, 0.6, 0.8, 0.03]])
    held_out = HeldOutPairs(
        np.array([[0, 1], [2, 3], [0, 5], [1, 4]]), np.array([True, True, False, False]),
        np.array([0.8, 0.5, 0.1, 0.2]), 7 / 15, "balanced", 0.3,
    )  # fmt: skip
    return posterior_of([history], [strengths], held_out=held_out)
