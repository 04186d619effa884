"""Overlapping communities as a scikit-learn estimator.

>>> import numpy as np
>>> from blockmix.sklearn import MixedMembership
>>> adjacency = np.kron(np.eye(2), np.ones((8, 8)) - np.eye(8))
>>> labels = MixedMembership(n_components=2, sweeps=200, random_state=1).fit_predict(adjacency)
>>> len(set(labels[:8])), len(set(labels[8:])), len(set(labels))
(1, 1, 2)
"""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import optional

optional("sklearn", "blockmix.sklearn", "pip install scikit-learn")

from sklearn.base import BaseEstimator, ClusterMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402


class MixedMembership(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Overlapping communities of a network given by its adjacency matrix.

    X is square and symmetric, sparse or dense; entries above zero are links, the diagonal is ignored. The model
    is that of the nodes it was fitted to: `predict` and `predict_proba` are about those, and refuse others.

    Parameters:
        n_components: how many communities to allow, or "auto".
        model, sampler, sweeps, time_limit, chains, held_out, alpha: as in `blockmix.fit`.
        n_jobs: threads; None or -1 for all.
        weights: whether the entries of X are weights of the links, which only the model with popularities uses; by
            default only their presence counts.
        random_state: seed, RandomState or None.

    Attributes:
        posterior_: the `blockmix.Posterior`.
        memberships_: array of nodes x communities, rows adding up to one.
        labels_: the largest membership of each node.
        n_components_: how many communities were allowed.
    """

    def __init__(
        self, n_components: int | Literal["auto"] = "auto", *,
        model: Literal["assortative", "popularity", "mmsb", "auto"] | None = None, sampler: str | None = None,
        sweeps: int | None = None, time_limit: float | None = None, chains: int | None = None,
        held_out: float | None = 0.0, alpha: float | None = None, weights: bool = False, n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.model = model
        self.sampler = sampler
        self.sweeps = sweeps
        self.time_limit = time_limit
        self.chains = chains
        self.held_out = held_out
        self.alpha = alpha
        self.weights = weights
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> MixedMembership:
        """Find the communities of the network with adjacency matrix X."""
        from blockmix.inference.fit import fit

        graph = _graph(self._checked(X, reset=True), self.weights)
        post = fit(
            graph, self.n_components, model=self.model, sampler=self.sampler, sweeps=self.sweeps,
            time_limit=self.time_limit, chains=self.chains, held_out=self.held_out, alpha=self.alpha,
            seed=_seed(self.random_state),
            threads=None if self.n_jobs in (None, -1) else self.n_jobs, progress=False,
        )  # fmt: skip
        self.posterior_ = post
        self.n_components_ = post.n_communities
        self.memberships_ = _dense(post)
        self.labels_ = self.memberships_.argmax(axis=1)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the community that each node of the fitted network is in most."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return mean memberships of the nodes of the fitted network, nodes x communities; X must be that network."""
        check_is_fitted(self)
        graph = _graph(self._checked(X, reset=False), self.weights)
        if graph.fingerprint != self.posterior_.graph.fingerprint:
            raise ValueError(
                "X is not the network this model was fitted to: memberships belong to its nodes; call fit again"
            )
        return self.memberships_.copy()

    def _checked(self, X: Any, reset: bool) -> Any:
        X = validate_data(self, X, accept_sparse="csr", reset=reset, dtype="numeric", ensure_min_samples=2)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square adjacency matrix, not of shape {X.shape}")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = True
        return tags


def _graph(X: Any, weights: bool) -> Any:
    """Return the network whose links are the positive entries of X; with weights these are of both directions."""
    import scipy.sparse

    from blockmix.graph.graph import Graph

    if weights:
        return Graph.from_scipy(scipy.sparse.csr_array(X), weights=True)
    links = scipy.sparse.csr_array(X > 0)
    return Graph.from_scipy(scipy.sparse.csr_array(links + links.T))


def _dense(post: Any) -> NDArray[np.float64]:
    """Return mean memberships as an array; rows are scaled to make up for what a posterior does not keep."""
    found = np.zeros((post.graph.n_nodes, post.n_communities))
    found[np.repeat(np.arange(len(found)), np.diff(post.offsets)), post.community] = post.mean
    empty = found.sum(axis=1) == 0
    found[empty] = 1.0
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _seed(random_state: Any) -> int:
    """Return a seed for `fit`: an integer is taken as it is."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
