"""Where new nodes belong, from their links to known ones, without a new fit.

The posterior of a new node's memberships, given everything else at its posterior mean, is
p(pi) ~ Dirichlet(alpha) x prod_links p_b(pi) x prod_non-links (1 - p_b(pi)), with (M1)
p_b = background + sum_k pi_k pi_bk (beta_k - background). The non-links are summed over all nodes at once: log(1 - p)
is close to -p - p^2/2 for the probabilities of non-links, and the sums of p_b and p_b^2 over all nodes b need only the
sums of pi_bk and of pi_bk pi_bl, which are the same for every new node; the linked ones are subtracted. Mean and
standard deviation are found by importance sampling, half from the variational posterior of the links alone and half
from a flat Dirichlet distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from blockmix.errors import InputError
from blockmix.posterior.answers.shares import mean_shares, refuse_general, refuse_popular
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

DRAWS = 4000
_ROUNDS, _CLOSE = 200, 1e-6
LEAST_MEAN = 1e-2


def transform(post: Posterior, links: Any, seed: int) -> Answer:
    """See `Posterior.transform`."""
    refuse_general(post, "placing a new node")
    refuse_popular(post, "placing a new node")
    listed = links.items() if isinstance(links, Mapping) else [("new", links)]
    shares = mean_shares(post)
    rise = np.maximum(post.strength_mean - post.background_mean, 0.0)
    # What a unit of membership adds to the sum of all link probabilities, and two of them to that of the squares.
    slope = rise * np.asarray(shares.sum(axis=0)).ravel()
    curve = sp.csr_array(sp.diags_array(rise) @ (shares.T @ shares) @ sp.diags_array(rise))
    alpha = _alpha(post)
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {"node": [], "community": [], "share": [], "sd": []}
    for name, neighbours in listed:
        nodes = _neighbours(post, name, neighbours)
        rows = shares[nodes]
        used = np.unique(rows.indices)
        explained = np.asarray(rows[:, used].todense()) * rise[used]
        sums = slope[used], np.asarray(curve[used][:, used].todense())
        mean, sd = _posterior(explained, sums, alpha, post.background_mean, rng)
        order = np.argsort(-mean, kind="stable")
        for i in order[mean[order] >= LEAST_MEAN].tolist():
            columns["node"].append(name)
            columns["community"].append(int(used[i]))
            columns["share"].append(float(mean[i]))
            columns["sd"].append(float(sd[i]))
    return Answer(columns)


def _alpha(post: Posterior) -> float:
    if post.concentration is not None:
        return post.concentration.mean / post.n_communities
    prior = post.provenance.get("model")
    value = prior.get("alpha") if isinstance(prior, Mapping) else None
    return float(value) if isinstance(value, int | float) and value > 0 else 0.3 / post.n_communities


def _neighbours(post: Posterior, name: Any, neighbours: Any) -> NDArray[np.int64]:
    if isinstance(neighbours, str) or not isinstance(neighbours, Iterable):
        raise InputError(f"the links of {name!r:.40} must be a list of labels of known nodes")
    nodes = np.unique(post.graph.labels.indices(list(neighbours)))
    nodes = nodes[np.diff(post.offsets)[nodes] > 0]
    if not len(nodes):
        raise InputError(
            f"{name!r:.40} has no link to a node with known memberships: nothing says where it belongs"
        )
    return nodes


def _posterior(
    explained: NDArray[np.float64],
    sums: tuple[Any, Any],
    alpha: float,
    background: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and sd of the memberships in the communities of the neighbours."""
    gamma = _variational(explained, alpha, background)
    # A mixture with a flatter law: where links leave several explanations, the variational law covers one of them.
    flat = np.full(len(gamma), 0.5)
    half = DRAWS // 2
    drawn = np.concatenate((rng.dirichlet(gamma, half), rng.dirichlet(flat, DRAWS - half)))
    drawn = np.maximum(drawn, 1e-300)
    # einsum and not a product of matrices: these are small, and threads of a linear algebra library would only wait.
    links = background + np.einsum("ik,bk->ib", drawn, explained)
    slope, curve = sums
    rise = drawn @ slope
    # Up to constants: the sums of p and of p^2 over all nodes, without the linked ones.
    single = rise - links.sum(axis=1)
    squares = (np.einsum("ik,kj->ij", drawn, curve) * drawn).sum(axis=1)
    double = 2.0 * background * rise + squares - (links**2).sum(axis=1)
    target = (alpha - 1.0) * np.log(drawn).sum(axis=1) + np.log(links).sum(axis=1) - single - 0.5 * double
    proposal = np.logaddexp(_log_dirichlet(drawn, gamma), _log_dirichlet(drawn, flat)) - np.log(2.0)
    weight = np.exp(target - proposal - (target - proposal).max())
    weight /= weight.sum()
    mean = weight @ drawn
    sd = np.sqrt(np.maximum(weight @ drawn**2 - mean**2, 0.0))
    return mean, sd


def _variational(explained: NDArray[np.float64], alpha: float, background: float) -> NDArray[np.float64]:
    """Return the Dirichlet parameters of the variational posterior given the links."""
    gamma: NDArray[np.float64] = np.full(explained.shape[1], alpha + len(explained) / explained.shape[1])
    for _ in range(_ROUNDS):
        part = explained * np.exp(digamma(gamma) - digamma(gamma.sum()))
        part /= background + part.sum(axis=1, keepdims=True)
        new = np.maximum(alpha, 0.05) + part.sum(axis=0)
        if np.abs(new - gamma).max() < _CLOSE:
            break
        gamma = new
    return gamma


def _log_dirichlet(drawn: NDArray[np.float64], gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    constant = gammaln(gamma.sum()) - gammaln(gamma).sum()
    return np.asarray(constant + ((gamma - 1.0) * np.log(drawn)).sum(axis=1), dtype=np.float64)
