"""Evidence of communities: equal to its definition pair by pair, and absent where there are no communities."""

import itertools

import numpy as np
import pytest
from scipy.special import binom

from blockmix import Graph, fit
from blockmix.posterior.evidence.assortative import community_evidence
from blockmix.posterior.evidence.parts import CHANCE, Memberships

NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def table_of(pi):
    """Memberships as compressed rows."""
    keep = pi > 0
    offsets = np.concatenate([[0], np.cumsum(keep.sum(axis=1))]).astype(np.int64)
    return Memberships(offsets, np.nonzero(keep)[1].astype(np.int32), pi[keep].astype(np.float32))


def erdos_renyi(nodes, degree, seed):
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(nodes, 1))
    return Graph.from_edges(pairs[rng.random(len(pairs)) < degree / (nodes - 1)])


def test_the_evidence_is_that_of_the_definition_pair_by_pair():
    rng = np.random.default_rng(1)
    graph = erdos_renyi(14, 5, 2)
    pi = rng.dirichlet([0.3] * 3, graph.n_nodes).astype(np.float32).astype(np.float64)
    pi[pi < 0.01] = 0.0
    beta, delta = np.array([0.8, 0.5, 0.3]), 0.05
    links = {tuple(pair) for pair in graph.edges().tolist()}
    hidden = np.array([(0, 1), (2, 5)])
    links -= {tuple(pair) for pair in hidden.tolist()}
    expected = np.zeros(3)
    for a, b in itertools.combinations(range(graph.n_nodes), 2):
        if [a, b] in hidden.tolist():
            continue
        t = pi[a] * pi[b] * (beta - delta)
        p = delta + t.sum()
        expected += np.log(p / (p - t)) if (a, b) in links else np.log1p(-t)
    training = graph.without_edges(hidden[graph.has_edges(hidden)])
    for a in range(graph.n_nodes):
        share = pi[a][pi[a] > 0] / pi[a].sum()
        several = np.exp(-(share * np.log(share)).sum())
        cost = np.log(binom(3, several)) + 0.5 * (several - 1) * np.log(training.degrees[a] + 1)
        expected -= pi[a] * cost
    expected -= np.log(graph.n_nodes / CHANCE)
    found, _ = community_evidence(table_of(pi), beta, delta, training, hidden)
    # Forty terms of the logarithm, memberships in float32.
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_community_weaker_than_the_background_has_no_evidence():
    graph = Graph.from_edges([(a, 10 + b) for a in range(10) for b in range(10)])
    pi = np.repeat(np.eye(2), 10, axis=0)
    found, _ = community_evidence(table_of(pi), np.array([0.01, 0.01]), 0.99, graph, NO_PAIRS)
    assert (found < 0).all()


def test_a_clique_in_a_sparse_network_has_evidence_and_a_random_set_has_none():
    graph = erdos_renyi(200, 4, 3)
    clique = np.array(list(itertools.combinations(range(8), 2)))
    graph = Graph.from_edges(np.concatenate([graph.edges(), clique]), nodes=range(200))
    pi = np.zeros((200, 2))
    pi[:8, 0] = 1.0
    pi[100:130, 1] = 1.0
    found, total = community_evidence(table_of(pi), np.array([0.95, 0.05]), 0.02, graph, NO_PAIRS)
    assert found[0] > 20
    assert found[1] < 0
    assert total > 0


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "degree", "k"), [(300, 8, 8), (600, 4, 30), (100, 20, 6)])
def test_a_network_without_communities_gets_none(nodes, degree, k):
    """Erdős–Rényi networks, eight chains, and one short one, whose memberships fit the noise best."""
    alone = fit(
        erdos_renyi(nodes, degree, 1), k, model="assortative", seed=1, sweeps=60, chains=1, progress=False
    )
    assert alone.communities() == {}
    post = fit(erdos_renyi(nodes, degree, 1), k, model="assortative", seed=1, sweeps=300, progress=False)
    assert post.communities() == {}
    assert len(post.unclear_nodes()) == post.graph.n_nodes
    assert post.null.verdict != "better"


@pytest.mark.slow
def test_a_complete_bipartite_network_gets_no_communities_of_the_assortative_model():
    post = fit(
        Graph.from_edges([(a, 30 + b) for a in range(30) for b in range(30)]),
        4,
        model="assortative",
        seed=1,
        sweeps=400,
        progress=False,
    )
    assert post.communities() == {}
