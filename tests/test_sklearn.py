"""blockmix as a scikit-learn estimator: its own checks, and what a network adds to them."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from blockmix.generators.planted import planted
from blockmix.sklearn import MixedMembership

# Checks of scikit-learn that do not fit an estimator of networks, each with the reason.
EXCEPTIONS = {
    "check_clustering": "hands over points in the plane although the estimator says it takes pairwise input",
    "check_fit_idempotent": "fits to part of the rows of a kernel: that is no adjacency matrix",
    "check_methods_subset_invariance": "predicts for part of the rows: memberships belong to the whole network",
    "check_estimator_sparse_array": "takes anything with predict_proba for a classifier; sparse input is tested below",
    "check_estimator_sparse_matrix": "the same",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(
        estimator_checks_generator(
            MixedMembership(n_components=3, sweeps=10, random_state=0, chains=1),
            expected_failed_checks=EXCEPTIONS,
            mark="skip",
        )
    ),
)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def network():
    return planted(120, 3, degree=16, seed=1, overlap=(1, 1), mixing=0.05)


def test_sparse_and_dense_adjacency_give_the_same_memberships(network):
    adjacency = network.graph.to_scipy()
    estimator = MixedMembership(n_components=3, sweeps=60, random_state=4)
    sparse = clone(estimator).fit(sp.csr_array(adjacency))
    dense = clone(estimator).fit(adjacency.toarray())
    np.testing.assert_array_equal(sparse.memberships_, dense.memberships_)
    assert sparse.memberships_.shape == (120, 3)
    np.testing.assert_allclose(sparse.memberships_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(sparse.predict(adjacency), sparse.labels_)
    np.testing.assert_array_equal(sparse.predict_proba(adjacency), sparse.memberships_)


def test_the_planted_communities_are_found(network):
    estimator = MixedMembership(n_components=3, sweeps=150, random_state=4).fit(network.graph.to_scipy())
    for members in network.covers:
        found = np.bincount(estimator.labels_[members], minlength=3)
        assert found.max() > 0.7 * len(members)


def test_the_link_model_can_be_chosen(network):
    estimator = MixedMembership(n_components=3, model="popularity", sweeps=20, random_state=4)
    estimator.fit(network.graph.to_scipy())
    assert estimator.posterior_.popularity_mean is not None


def test_another_network_is_refused(network):
    adjacency = network.graph.to_scipy().toarray()
    estimator = MixedMembership(n_components=2, sweeps=5, random_state=0).fit(adjacency)
    changed = adjacency.copy()
    changed[0, 1] = changed[1, 0] = 1 - changed[0, 1]
    with pytest.raises(ValueError, match="not the network"):
        estimator.predict(changed)
    with pytest.raises(ValueError, match="square"):
        MixedMembership().fit(np.ones((4, 3)))


def test_no_threads_are_refused(network):
    with pytest.raises(ValueError, match="threads must be a whole number of at least 1, not 0"):
        MixedMembership(n_components=2, n_jobs=0).fit(network.graph.to_scipy())
