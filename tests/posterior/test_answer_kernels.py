"""The loops behind the answers give what matrices of all pairs give."""

from __future__ import annotations

import numpy as np
import pytest

import blockmix as bm
from blockmix.posterior.answers import of_communities
from blockmix.posterior.answers.of_communities import cover_matrix, link_density
from blockmix.posterior.answers.of_links import mean_probability
from blockmix.posterior.answers.shares import mean_shares


@pytest.fixture
def mixed(posterior_of):
    """A posterior of thirty nodes and six communities, every node in up to three of them, the last one in none."""
    rng = np.random.default_rng(5)
    pairs = np.column_stack(np.triu_indices(30, 1))
    graph = bm.Graph.from_edges(pairs[rng.random(len(pairs)) < 0.3], nodes=np.arange(30))
    shares = np.zeros((2, 30, 6))
    for node in range(29):
        shares[:, node, rng.choice(6, 3, replace=False)] = rng.dirichlet([1.0, 1.0, 1.0])
    shares[:, 29, 0] = 1.0
    return posterior_of([shares], graph=graph)


@pytest.mark.parametrize("matrix", [True, False], ids=["matrix", "only the pairs asked for"])
def test_links_between_communities_are_those_of_dense_matrices(mixed, monkeypatch, matrix):
    monkeypatch.setattr(of_communities, "_MATRIX", 6 if matrix else 5)
    shares, links = mean_shares(mixed).toarray(), mixed.graph.to_scipy().toarray()
    pairs = 1.0 - np.eye(30)
    expected = (shares.T @ links @ shares) / (shares.T @ pairs @ shares)
    # In either order, twice, and on the diagonal.
    k, other = np.array([0, 3, 5, 2, 2, 0]), np.array([3, 0, 1, 2, 4, 3])
    assert link_density(mixed, k, other) == pytest.approx(expected[k, other], rel=1e-9)


def test_links_inside_communities_are_those_of_dense_matrices(mixed, monkeypatch):
    # A random network has no clear community: all count here.
    monkeypatch.setattr(bm.Posterior, "clear", np.ones(6, dtype=bool))
    numbers, member = cover_matrix(mixed, 0.1)
    inside = np.diag(member.T.toarray() @ mixed.graph.to_scipy().toarray() @ member.toarray()) / 2
    assert len(numbers) > 3
    assert mixed.quality()["links"].tolist() == inside.tolist()


def test_the_probability_at_the_means_is_the_formula(mixed):
    shares = mean_shares(mixed).toarray()
    pairs = np.column_stack(np.triu_indices(30, 1))
    above = mixed.strength_mean - mixed.background_mean
    expected = mixed.background_mean + ((shares * above) @ shares.T)[pairs[:, 0], pairs[:, 1]]
    assert mean_probability(mixed, pairs) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2, 3], [5, -2, 9, 40], ["ann", "bob", "çem", "d"]],
    ids=["range", "integers", "text"],
)
def test_labels_of_many_nodes_are_those_of_each(labels):
    names = bm.Graph.from_edges([(labels[0], labels[1])], nodes=labels).labels
    wanted = [3, 0, 3, 1]
    assert names.take(np.array(wanted)) == [names[i] for i in wanted]
    assert names.take([]) == []
    for outside in (-1, 4):
        with pytest.raises(IndexError, match="not among the 4 nodes"):
            names.take([0, outside])
