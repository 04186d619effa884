"""Running means and deviations of sparse memberships are those of the whole history."""

import numpy as np
import pytest

from blockmix.tables.running import add_sample, new_running

# float32 accumulation over at most 200 samples of numbers of size 1.
MEAN_ERROR = 200 * 2**-24
# An sd is the root of a mean square: float32 noise of 1e-7 in it shows as 5e-4 where the true sd is 0.
SD_ERROR = 5e-4


def run(history, sparse_rows, *, slots, entries):
    """Running tables after all samples; history is samples x nodes x communities."""
    running = new_running(history.shape[1], entries)
    for t, dense in enumerate(history, start=1):
        add_sample(0, history.shape[1], float(t), sparse_rows(dense, slots), running)
    return running


def dense_of(running, communities, samples):
    nodes = len(running.community)
    mean, sd = np.zeros((nodes, communities)), np.zeros((nodes, communities))
    for a in range(nodes):
        for i in np.flatnonzero(running.community[a] >= 0):
            k = running.community[a, i]
            mean[a, k] = running.mean[a, i]
            sd[a, k] = np.sqrt(max(running.deviation[a, i], 0) / samples)
    return mean, sd


@pytest.mark.parametrize(
    ("nodes", "communities", "most", "samples"), [(5, 6, 3, 200), (3, 1, 1, 20), (17, 12, 8, 60)]
)
def test_mean_and_sd_are_those_of_numpy_over_all_samples(
    nodes, communities, most, samples, sparse_rows, random_memberships
):
    rng = np.random.default_rng(communities)
    history = np.stack([random_memberships(rng, nodes, communities, most) for _ in range(samples)])
    running = run(history, sparse_rows, slots=most, entries=communities)
    mean, sd = dense_of(running, communities, samples)
    np.testing.assert_allclose(mean, history.mean(axis=0), atol=MEAN_ERROR)
    np.testing.assert_allclose(sd, history.std(axis=0), atol=SD_ERROR)
    assert not running.lost.any()


def test_one_sample_is_its_own_mean_without_spread(sparse_rows):
    dense = np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    running = run(dense[None], sparse_rows, slots=3, entries=3)
    mean, sd = dense_of(running, 3, 1)
    np.testing.assert_array_equal(mean, dense)
    assert not sd.any()


def test_a_membership_that_never_moves_has_no_spread_to_speak_of(sparse_rows):
    history = np.repeat(np.array([[[0.3, 0.7]]]), 200, axis=0)
    mean, sd = dense_of(run(history, sparse_rows, slots=2, entries=2), 2, 200)
    np.testing.assert_allclose(mean, [[0.3, 0.7]], atol=MEAN_ERROR)
    assert (sd < SD_ERROR).all()


def test_only_the_nodes_asked_for_are_updated(sparse_rows):
    rows = sparse_rows(np.eye(4), 2)
    running = new_running(4, 4)
    add_sample(1, 3, 1.0, rows, running)
    np.testing.assert_array_equal((running.community >= 0).any(axis=1), [False, True, True, False])


def test_when_entries_run_out_the_heavy_stay_and_the_rest_is_counted_as_lost(sparse_rows):
    """Two steady communities and, in every sample, another passer-by: the steady ones keep their entries."""
    samples, communities = 50, 52
    history = np.zeros((samples, 1, communities))
    history[:, 0, 0], history[:, 0, 1] = 0.6, 0.3
    for t in range(samples):
        history[t, 0, 2 + t] = 0.1
    running = run(history, sparse_rows, slots=3, entries=3)
    mean, sd = dense_of(running, communities, samples)
    np.testing.assert_allclose(mean[0, :2], [0.6, 0.3], atol=MEAN_ERROR)
    assert (sd[0, :2] < SD_ERROR).all()
    assert mean.sum() + running.lost[0] == pytest.approx(1.0, abs=1e-4)
    assert running.lost[0] == pytest.approx(0.1, abs=0.1 / samples + 1e-4)


def test_a_heavy_newcomer_displaces_the_lightest(sparse_rows):
    history = np.array([[[0.98, 0.02, 0.0]], [[0.5, 0.0, 0.5]]])
    running = run(history, sparse_rows, slots=2, entries=2)
    assert set(running.community[0].tolist()) == {0, 2}
    mean, sd = dense_of(running, 3, 2)
    np.testing.assert_allclose(mean[0], [0.74, 0.0, 0.25], atol=MEAN_ERROR)
    assert sd[0, 2] == pytest.approx(0.25, abs=SD_ERROR)
    assert running.lost[0] == pytest.approx(0.01, abs=1e-6)
