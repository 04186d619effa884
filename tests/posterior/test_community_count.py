"""How many communities are in use in the posterior samples."""

from types import SimpleNamespace

import numpy as np
import pytest

from blockmix.posterior.answers.of_communities import community_count
from blockmix.tables.samples import PosteriorSample


def sample(largest, strengths):
    """A sample in which every node has its largest membership where `largest` says, and a smaller one elsewhere."""
    nodes, other = len(largest), max(largest) + 1
    # The smaller membership stands first in every other row: the order of a row does not matter.
    pairs = [((k, 40000), (other, 20000))[:: 1 if a % 2 else -1] for a, k in enumerate(largest)]
    communities, weights = np.array(pairs).reshape(-1, 2).T
    return PosteriorSample(
        0, np.full(nodes, 2, np.uint8), communities.astype(np.uint16), weights.astype(np.uint16),
        np.array(strengths, np.float32),
    )  # fmt: skip


def posterior(chains, weights, unlinked=()):
    isolated = np.zeros(9, dtype=bool)
    isolated[list(unlinked)] = True
    return SimpleNamespace(
        unlinked=isolated, n_communities=4, draws=tuple(map(tuple, chains)), chain_weights=np.array(weights)
    )


THREE = sample([0, 0, 0, 1, 1, 1, 2, 2, 2], [0.5, 0.6, 0.7, 0.8, 0.1])
TWO = sample([0, 0, 0, 1, 1, 1, 1, 2, 2], [0.5, 0.6, 0.7, 0.8, 0.1])
WEAK = sample([0, 0, 0, 1, 1, 1, 2, 2, 2], [0.5, 0.05, 0.7, 0.8, 0.1])


def test_communities_of_three_nodes_that_are_stronger_than_the_background_count():
    assert community_count(posterior([[THREE]], [1.0]), 0.9) == (3.0, 3, 3, {3: 1.0})
    assert community_count(posterior([[TWO]], [1.0]), 0.9).shares == {2: 1.0}
    assert community_count(posterior([[WEAK]], [1.0]), 0.9).shares == {2: 1.0}


def test_nodes_without_links_tell_nothing():
    assert community_count(posterior([[THREE]], [1.0], unlinked=[0, 8]), 0.9).shares == {1: 1.0}


def test_chains_count_by_their_weights_and_the_interval_is_that_of_the_samples():
    found = community_count(posterior([[THREE, TWO], [TWO], []], [0.2, 0.8, 0.0]), 0.9)
    assert found.shares == pytest.approx({2: 0.9, 3: 0.1})
    assert found.mean == pytest.approx(2.1)
    assert (found.lower, found.upper) == (2, 3)
    assert community_count(posterior([[THREE, TWO], [TWO]], [0.2, 0.8]), 0.5)[1:3] == (2, 2)
    assert community_count(posterior([[], []], [0.5, 0.5]), 0.9) is None
