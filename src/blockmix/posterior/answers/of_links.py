"""Links that are missing and links that surprise, without visiting all pairs.

Candidates are scored by the link probability (M1) at the posterior means, and the best of them again by the average
over the posterior samples, which is what is reported. Where the means and the average disagree much, a pair may be
missed: ten times as many candidates as asked for are scored again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.posterior.answers.shares import check_community, check_top, labels_of, mean_shares
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Candidates scored again for every row of the answer.
_AGAIN = 10
# Pairs among the strongest members of all communities together, at most.
MOST_CANDIDATES = 4_000_000
_LINKS_AT_ONCE = 1 << 20


def _strength_matrix(post: Posterior) -> Any:
    """Return what multiplies pi_a and pi_b above the background: the strengths, or those of the general model."""
    if post.blocks_mean is not None:
        return sp.csr_array(post.blocks_mean)
    return sp.diags_array(post.strength_mean - post.background_mean)


def mean_probability(post: Posterior, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """(M1) Compute the link probability at the posterior means."""
    shares = mean_shares(post)
    scaled = sp.csr_array(shares @ _strength_matrix(post))
    base = 0.0 if post.blocks_mean is not None else post.background_mean
    found = np.empty(len(pairs))
    for begin in range(0, len(pairs), _LINKS_AT_ONCE):
        part = pairs[begin : begin + _LINKS_AT_ONCE]
        product = scaled[part[:, 0]].multiply(shares[part[:, 1]])
        found[begin : begin + len(part)] = base + np.asarray(product.sum(axis=1)).ravel()
    return found


def missing_links(post: Posterior, label: Any, community: int | None, top: int) -> Answer:
    """See `Posterior.missing_links`."""
    top = check_top(top)
    if label is not None:
        pairs = _around(post, post.graph.labels.index(label), top)
    else:
        pairs = _in_communities(post, community, top)
    probability = post.node_link_probability(pairs) if len(pairs) else np.empty(0)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -probability))[:top]
    return _answer(post, pairs[order], probability[order])


def _around(post: Posterior, node: int, top: int) -> NDArray[np.int64]:
    """Return the most likely partners of a node that it has no link to."""
    shares = mean_shares(post)
    score = np.asarray((shares @ (shares[[node]] @ _strength_matrix(post)).T).todense()).ravel()
    score[node] = -np.inf
    score[post.graph.neighbors_of(node)] = -np.inf
    wanted = min(_AGAIN * top, len(score))
    found = np.argpartition(-score, wanted - 1)[:wanted]
    found = found[np.isfinite(score[found])]
    return np.column_stack((np.full(len(found), node), found)).astype(np.int64)


def _in_communities(post: Posterior, community: int | None, top: int) -> NDArray[np.int64]:
    """Return the most likely pairs without a link among the strongest members of every community, or of one."""
    shares = sp.csc_array(mean_shares(post))
    chosen = range(post.n_communities) if community is None else [check_community(post, community)]
    used = [k for k in chosen if shares.indptr[k + 1] - shares.indptr[k] > 1]
    if not used:
        return np.empty((0, 2), dtype=np.int64)
    each = max(int(np.sqrt(2.0 * MOST_CANDIDATES / len(used))), 3)
    keys = []
    for k in used:
        column = slice(shares.indptr[k], shares.indptr[k + 1])
        members, weight = shares.indices[column], shares.data[column]
        strongest = np.sort(members[np.argsort(-weight, kind="stable")[:each]]).astype(np.int64)
        i, j = np.triu_indices(len(strongest), 1)
        keys.append(strongest[i] * post.graph.n_nodes + strongest[j])
    key = np.unique(np.concatenate(keys))
    pairs = np.column_stack(np.divmod(key, post.graph.n_nodes))
    pairs = pairs[~post.graph.has_edges(pairs)]
    score = mean_probability(post, pairs)
    wanted = min(_AGAIN * top, len(pairs))
    return pairs[np.argsort(-score, kind="stable")[:wanted]]


def surprising_links(post: Posterior, top: int) -> Answer:
    """See `Posterior.surprising_links`."""
    top = check_top(top)
    links = post.graph.edges().astype(np.int64)
    if not len(links):
        return _answer(post, links, np.empty(0))
    score = mean_probability(post, links)
    wanted = min(_AGAIN * top, len(links))
    candidates = links[np.argsort(score, kind="stable")[:wanted]]
    probability = post.node_link_probability(candidates)
    order = np.lexsort((candidates[:, 1], candidates[:, 0], probability))[:top]
    return _answer(post, candidates[order], probability[order])


def _answer(post: Posterior, pairs: NDArray[np.int64], probability: NDArray[np.float64]) -> Answer:
    first, second = (labels_of(post, pairs[:, side]) for side in (0, 1))
    return Answer({"node_a": first, "node_b": second, "probability": probability})
