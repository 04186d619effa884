"""Links that are missing and links that surprise, without visiting all pairs.

Candidates are scored by the link probability, (M1) or (DC1), at the posterior means, and the best of them again by the
average over the posterior samples, which is what is reported. Where the means and the average disagree much, a pair may
be missed: ten times as many candidates as asked for are scored again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.graph.sides.sides import node_index
from blockmix.posterior.answers.kernels import add_pair_scores
from blockmix.posterior.answers.shares import check_community, check_top, labels_of, mean_shares
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Candidates scored again for every row of the answer.
_AGAIN = 10
# Pairs among the strongest members of all communities together, at most, and how many of them are scored by (M1).
MOST_CANDIDATES, MOST_SCORED = 4_000_000, 200_000
# Blocks of the general model in which links are looked for: those with the largest strengths.
_MOST_BLOCKS = 1000


def strength_matrix(post: Posterior) -> Any:
    """Return what multiplies pi_a and pi_b above the background: the strengths, or those of the general model."""
    return sp.diags_array(_above(post)) if post.blocks_mean is None else sp.csr_array(post.blocks_mean)


def _above(post: Posterior) -> NDArray[np.float64]:
    """Return what a shared community adds to the background: the strength less this, or the rate of (DC1)."""
    if post.popularity_mean is not None:
        return np.asarray(link_rate(post.strength_mean))
    return post.strength_mean - post.background_mean


def link_rate(probability: Any) -> Any:
    """(DC1) Compute the rates of links with these probabilities."""
    return -np.log1p(-np.minimum(probability, 1.0 - 1e-12))


def link_weights(post: Posterior) -> sp.csr_array:
    """Return the mean memberships, times popularities where there are any: theta of (DC1)."""
    shares = mean_shares(post)
    if post.popularity_mean is None:
        return shares
    return sp.csr_array(sp.diags_array(post.popularity_mean.astype(np.float64)) @ shares)


def mean_probability(post: Posterior, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """(M1), (DC1) Compute the link probability at the posterior means."""
    shares, popular = link_weights(post), post.popularity_mean
    base: Any = 0.0 if post.blocks_mean is not None else post.background_mean
    if popular is not None:
        base = link_rate(base) * popular[pairs[:, 0]].astype(np.float64) * popular[pairs[:, 1]]
    found = np.zeros(len(pairs)) + base
    above, blocks = _above(post), np.empty((0, 0)) if post.blocks_mean is None else post.blocks_mean
    add_pair_scores(pairs, shares.indptr, shares.indices, shares.data, above, blocks, found)
    return np.asarray(found if popular is None else -np.expm1(-found))


def missing_links(post: Posterior, label: Any, community: int | None, top: int) -> Answer:
    """See `Posterior.missing_links`."""
    top = check_top(top)
    if label is not None:
        pairs = _around(post, node_index(post.graph, label), top)
    else:
        pairs = _in_communities(post, community, top)
    probability = post.node_link_probability(pairs) if len(pairs) else np.empty(0)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -probability))[:top]
    return _answer(post, pairs[order], probability[order])


def _around(post: Posterior, node: int, top: int) -> NDArray[np.int64]:
    """Return the most likely partners of a node that it has no link to."""
    shares = link_weights(post)
    score = np.asarray((shares @ (shares[[node]] @ strength_matrix(post)).T).todense()).ravel()
    if post.popularity_mean is not None:
        score += link_rate(post.background_mean) * post.popularity_mean[node] * post.popularity_mean
    score[node] = -np.inf
    score[post.graph.neighbors_of(node)] = -np.inf
    if post.graph.sides is not None:
        others = np.arange(len(score))
        score[~post.graph.sides.joins(np.column_stack((np.full(len(score), node), others)))] = -np.inf
    wanted = min(_AGAIN * top, len(score))
    found = np.argpartition(-score, wanted - 1)[:wanted]
    found = found[np.isfinite(score[found])]
    pairs = np.column_stack((np.full(len(found), node), found)).astype(np.int64)
    return pairs if post.graph.sides is None else np.sort(pairs, axis=1)


def _in_communities(post: Posterior, community: int | None, top: int) -> NDArray[np.int64]:
    """Return the most likely pairs without a link among the strongest members of every community, or of one.

    Pairs of a block, two members of community k or one each of k and l in the general model, are first compared by what
    this block alone gives them, pi_ak pi_bl beta_kl, and the best of each block by (M1).
    """
    columns = sp.csc_array(link_weights(post))
    blocks = _blocks(post, columns, None if community is None else check_community(post, community))
    each = max(int(np.sqrt(2.0 * MOST_CANDIDATES / max(len(blocks), 1))), 3)
    kept = max(MOST_SCORED // max(len(blocks), 1), _AGAIN * top)
    keys = [np.empty(0, dtype=np.int64)]
    for k, other in blocks:
        (a, first), (b, second) = (_strongest(columns, number, each) for number in (k, other))
        i, j = np.triu_indices(len(a), 1) if k == other else _grid(len(a), len(b))
        pairs = np.column_stack((a[i], b[j]))
        free = ~post.graph.has_edges(pairs) & (pairs[:, 0] != pairs[:, 1])
        if post.graph.sides is not None:
            pairs = np.sort(pairs, axis=1)
            free &= post.graph.sides.joins(pairs)
        pairs, score = pairs[free], (first[i] * second[j])[free]
        if len(pairs) > kept:
            pairs = pairs[np.argpartition(-score, kept - 1)[:kept]]
        keys.append(pairs.min(axis=1) * post.graph.n_nodes + pairs.max(axis=1))
    key = np.unique(np.concatenate(keys))
    pairs = np.column_stack(np.divmod(key, post.graph.n_nodes))
    score = mean_probability(post, pairs)
    wanted = min(_AGAIN * top, len(pairs))
    return pairs[np.argsort(-score, kind="stable")[:wanted]]


def _blocks(post: Posterior, columns: sp.csc_array, community: int | None) -> list[tuple[int, int]]:
    """Return the pairs of communities between which links are looked for, those with members only."""
    used = np.flatnonzero(np.diff(columns.indptr) > 0)
    if post.blocks_mean is None:
        return [(int(k), int(k)) for k in used if community is None or k == community]
    i, j = np.triu_indices(len(used))
    k, other = used[i], used[j]
    if community is not None:
        chosen = (k == community) | (other == community)
        k, other = k[chosen], other[chosen]
    order = np.argsort(-post.blocks_mean[k, other], kind="stable")[:_MOST_BLOCKS]
    return list(zip(k[order].tolist(), other[order].tolist(), strict=True))


def _strongest(columns: sp.csc_array, k: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the members of community k with the largest memberships, and these."""
    held = slice(columns.indptr[k], columns.indptr[k + 1])
    members, weight = columns.indices[held].astype(np.int64), columns.data[held]
    order = np.lexsort((members, -weight))[:most]
    return members[order], weight[order]


def _grid(rows: int, columns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)


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
