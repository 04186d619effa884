"""Chains that found the same communities under other names are one posterior."""

import numpy as np
import pytest
import scipy.sparse as sp

from blockmix.posterior import merge
from blockmix.posterior.merge import match_labels, merge_chains

# Means and deviations are accumulated in float32.
MEAN_ERROR, SD_ERROR = 1e-5, 1e-3


def histories(rng, samples=30, nodes=40, communities=5):
    """Two chains around the same memberships, in communities clear enough for labels to be matched."""
    centre = np.eye(communities)[rng.integers(0, communities, nodes)] * 5 + 0.2
    return [np.stack([[rng.dirichlet(c) for c in centre] for _ in range(samples)]) for _ in range(2)]


def dense_of(merged, communities):
    nodes = len(merged.offsets) - 1
    mean, sd = np.zeros((nodes, communities)), np.zeros((nodes, communities))
    for a in range(nodes):
        row = slice(merged.offsets[a], merged.offsets[a + 1])
        mean[a, merged.community[row]] = merged.mean[row]
        sd[a, merged.community[row]] = merged.sd[row]
    return mean, sd


def test_one_chain_gives_its_means_and_deviations_numbered_by_size(chain_of):
    history, _ = histories(np.random.default_rng(0))
    merged = merge_chains([chain_of(history, slots=5)], 5)
    order = np.argsort(-history.mean(axis=(0, 1)))
    mean, sd = dense_of(merged, 5)
    kept = mean > 0
    np.testing.assert_allclose(mean[kept], history.mean(axis=0)[:, order][kept], atol=MEAN_ERROR)
    np.testing.assert_allclose(sd[kept], history.std(axis=0)[:, order][kept], atol=SD_ERROR)
    np.testing.assert_allclose(merged.sizes, history.mean(axis=0).sum(axis=0)[order], rtol=1e-5)
    np.testing.assert_array_equal(merged.numbers[0][order], np.arange(5))


def test_a_chain_and_its_copy_under_other_names_give_the_same_table(chain_of):
    history, _ = histories(np.random.default_rng(1))
    alone = merge_chains([chain_of(history, slots=5)], 5)
    names = np.array([3, 0, 4, 1, 2])
    both = merge_chains([chain_of(history, slots=5), chain_of(history[:, :, names], slots=5)], 5)
    np.testing.assert_array_equal(both.community, alone.community)
    np.testing.assert_allclose(both.mean, alone.mean, atol=MEAN_ERROR)
    np.testing.assert_allclose(both.sd, alone.sd, atol=SD_ERROR)
    # community j of the second chain is community names[j] of the first
    np.testing.assert_array_equal(both.numbers[1], both.numbers[0][names])


def test_variances_are_pooled_within_and_between_chains(chain_of):
    first, second = histories(np.random.default_rng(2))
    second = second[:20]
    merged = merge_chains([chain_of(first, slots=5), chain_of(second[:, :, ::-1], slots=5)], 5)
    everything = np.concatenate([first, second])
    order = np.argsort(-everything.mean(axis=(0, 1)))
    mean, sd = dense_of(merged, 5)
    kept = mean > 0
    np.testing.assert_allclose(mean[kept], everything.mean(axis=0)[:, order][kept], atol=MEAN_ERROR)
    np.testing.assert_allclose(sd[kept], everything.std(axis=0)[:, order][kept], atol=SD_ERROR)


def test_chains_that_disagree_have_a_spread_although_neither_moves(chain_of):
    one, other = np.array([[[0.9, 0.1]] * 3] * 5), np.array([[[0.7, 0.3]] * 3] * 5)
    _, sd = dense_of(merge_chains([chain_of(one), chain_of(other)], 2), 2)
    np.testing.assert_allclose(sd, 0.1, atol=SD_ERROR)


def test_rows_are_sorted_and_small_means_left_out(chain_of):
    history = np.array([[[0.2, 0.7995, 0.0005], [0.0, 0.0, 1.0]]])
    merged = merge_chains([chain_of(history)], 3)
    np.testing.assert_array_equal(merged.offsets, [0, 2, 3])
    np.testing.assert_allclose(merged.mean, [0.7995, 0.2, 1.0], atol=MEAN_ERROR)


def test_deviations_that_rounded_below_zero_do_not_move_other_entries(chain_of):
    """The second moment may round to zero where the mean is tiny; its neighbours' sd must stay theirs."""
    history = np.array([[[0.6, 0.4], [0.5, 0.5]], [[0.4, 0.6], [0.5, 0.5]]])
    chain = chain_of(history)
    place = int(np.flatnonzero(chain.running.community[0] == 0)[0])
    chain.running.deviation[0, place] = -2 * float(chain.running.mean[0, place]) ** 2
    _, sd = dense_of(merge_chains([chain], 2), 2)
    np.testing.assert_allclose(sorted(sd[0]), [0.0, 0.1], atol=SD_ERROR)
    np.testing.assert_allclose(sd[1], 0.0, atol=SD_ERROR)


@pytest.mark.parametrize("optimal", [True, False])
def test_labels_are_matched_by_shared_membership(monkeypatch, optimal):
    if not optimal:
        monkeypatch.setattr(merge, "OPTIMAL_MATCHING", 0)
    rng = np.random.default_rng(5)
    dense = np.eye(8)[rng.integers(0, 8, 100)] * 0.9 + 0.1 / 8
    names = rng.permutation(8)
    numbers = match_labels(sp.csr_matrix(dense), sp.csr_matrix(dense[:, names]))
    np.testing.assert_array_equal(numbers, names)


@pytest.mark.parametrize("optimal", [True, False])
def test_communities_nobody_is_in_still_get_a_number_of_their_own(monkeypatch, optimal):
    if not optimal:
        monkeypatch.setattr(merge, "OPTIMAL_MATCHING", 0)
    first, other = np.zeros((4, 5)), np.zeros((4, 5))
    first[:, 1], other[:, 3] = 1.0, 1.0
    numbers = match_labels(sp.csr_matrix(first), sp.csr_matrix(other))
    assert numbers[3] == 1
    assert sorted(numbers) == list(range(5))


def test_a_chain_that_does_not_count_does_not_decide_how_others_are_matched(chain_of):
    """To memberships that are all even any numbering is as good as another."""
    hard = np.repeat(np.eye(2), 3, axis=0)
    chains = [chain_of([rows, rows]) for rows in (np.full((6, 2), 0.5), hard, hard[:, ::-1])]
    merged = merge_chains(chains, 2, np.array([0.0, 0.5, 0.5]))
    np.testing.assert_allclose(merged.mean, 1.0)
    assert (merged.numbers[1] != merged.numbers[2]).all()
