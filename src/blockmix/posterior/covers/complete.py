"""From memberships to communities: which nodes are members, where the other nodes go, and what is connected.

Memberships are kept in compressed rows; a cover is a choice of their entries. `sure_members` chooses by the means and
standard deviations alone. `complete_cover` begins with the cover of the largest expected F1 (`expected`), puts every
node that has a link into a community and makes every community connected: programs that take a list of communities
expect both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from blockmix.posterior.covers.expected import FEWEST_LINKS, expected_members
from blockmix.posterior.views import beta_above

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# A group of fewer nodes is no community of its own.
SMALLEST = 3

Nodes = NDArray[np.int64]
Numbers = NDArray[np.int64]


def sure_members(
    post: Posterior, threshold: float, fewest_links: float = 0.0, only: int | None = None
) -> tuple[Nodes, Numbers, NDArray[np.float64]]:
    """Return node, community and mean of the entries that count as members, by rows.

    The largest of a node counts if its mean reaches the threshold; any other if it is more likely than not above the
    threshold and rests on at least `fewest_links` of the node's links. `only` looks at one community alone.
    """
    nodes = np.repeat(np.arange(post.graph.n_nodes), np.diff(post.offsets))
    mean = post.mean.astype(np.float64)
    largest = np.zeros(len(mean), dtype=bool)
    largest[post.offsets[:-1][np.diff(post.offsets) > 0]] = True
    keep = mean >= threshold
    if post.graph.sides is not None:
        # A node that sends no links says nothing in that role.
        keep &= post.graph.degrees[nodes] > 0
    if only is not None:
        keep &= post.community == only
    # The probability takes a while to compute, and only second memberships need it.
    other = np.flatnonzero(keep & ~largest)
    likely = beta_above(post.mean[other], post.sd[other], threshold) >= 0.5
    likely &= mean[other] * post.graph.degrees[nodes[other]] >= fewest_links
    keep[other] = likely
    return nodes[keep], post.community[keep].astype(np.int64), mean[keep]


def complete_cover(post: Posterior, threshold: float) -> tuple[Nodes, Numbers, NDArray[np.float64]]:
    """Return members with every node that has a link in a community, and every community connected.

    The numbers of each are node, community, and the mean share of the node's links made there. Results without
    posterior samples, of variational inference, have their sure members with two links in place of (M19).

    A node that reaches the threshold nowhere, or is linked to no other member where it does, joins the community that
    best explains its links to nodes already placed, sum_b x_bk beta_k with the shares x of their links, and so on
    outwards. Of a community in several pieces the largest keeps the number. Others that are groups of their own, and
    groups not linked to any community, are numbered from K on, larger ones first. Members of the pieces that are left
    stay where else they are listed, or are placed like nodes that reach the threshold nowhere.
    """
    if any(post.draws):
        nodes, numbers, mean = expected_members(post, threshold)
    else:
        nodes, numbers, mean = sure_members(post, threshold, FEWEST_LINKS)
    pieces = _pieces(post, nodes, numbers)
    main = _largest_pieces(pieces, numbers)
    kept = ((np.bincount(pieces) > 1) & (main | _of_their_own(post, nodes, pieces, main)))[pieces]
    nodes, numbers, mean = _place_the_rest(post, nodes[kept], numbers[kept], mean[kept])
    pieces = _pieces(post, nodes, numbers)
    # Groups linked to no community share the number K: none of them keeps it.
    main, number_of = _largest_pieces(pieces, numbers), _number_of(pieces, numbers)
    others = np.flatnonzero(~main | (number_of >= post.n_communities))
    others = others[np.lexsort((number_of[others], -np.bincount(pieces)[others]))]
    number_of[others] = post.n_communities + np.arange(len(others))
    return nodes, number_of[pieces], mean


def _number_of(pieces: Numbers, numbers: Numbers) -> Numbers:
    """Return the number of the community that each piece is of."""
    found = np.empty(int(pieces.max(initial=-1)) + 1, dtype=np.int64)
    found[pieces] = numbers
    return found


def _largest_pieces(pieces: Numbers, numbers: Numbers) -> NDArray[np.bool_]:
    """Mark the largest piece of every community."""
    number_of = _number_of(pieces, numbers)
    order = np.lexsort((-np.bincount(pieces), number_of))
    found = np.ones(len(order), dtype=np.bool_)
    found[order[1:]] = number_of[order][1:] != number_of[order][:-1]
    return found


def _of_their_own(
    post: Posterior, nodes: Nodes, pieces: Numbers, main: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Mark the smaller pieces that are groups of their own, and not members that a community does not hold together.

    Of nodes that are in no largest piece they have at least `SMALLEST`, with as many links among themselves as to nodes
    that are in one.
    """
    placed = np.zeros(post.graph.n_nodes, dtype=np.bool_)
    placed[nodes[main[pieces]]] = True
    apart, piece = ~placed[nodes], np.full(post.graph.n_nodes, -1, dtype=np.int64)
    # The first piece of a node, which has its largest share.
    piece[nodes[apart][::-1]] = pieces[apart][::-1]
    a, b = piece[post.graph.edges()].T
    ends = placed[post.graph.edges()].T
    count = len(main)
    inside = np.bincount(a[(a >= 0) & (a == b)], minlength=count)
    outside = np.bincount(np.concatenate([a[(a >= 0) & ends[1]], b[(b >= 0) & ends[0]]]), minlength=count)
    return (np.bincount(piece[piece >= 0], minlength=count) >= SMALLEST) & (inside >= outside)


def _place_the_rest(
    post: Posterior, nodes: Nodes, numbers: Numbers, mean: NDArray[np.float64]
) -> tuple[Nodes, Numbers, NDArray[np.float64]]:
    """Add the linked nodes that have no entry, each to the community that best explains its links."""
    graph, communities = post.graph, post.n_communities
    adjacency = graph.to_scipy().astype(np.float64)
    strength = np.maximum(post.strength_mean, np.finfo(np.float64).tiny)
    linked = np.flatnonzero(graph.degrees > 0)
    while True:
        rest = np.setdiff1d(linked, nodes)
        # A node placed here has the mean zero and still counts for its neighbours, just very little.
        weight = np.maximum(mean, 1e-12) * strength[numbers]
        placed = sp.csr_matrix((weight, (nodes, numbers)), shape=(graph.n_nodes, communities))
        explained = sp.coo_matrix(adjacency[rest] @ placed)
        if not explained.nnz:
            break
        order = np.lexsort((explained.col, -explained.data, explained.row))
        rows, first = np.unique(explained.row[order], return_index=True)
        nodes = np.concatenate([nodes, rest[rows]])
        numbers = np.concatenate([numbers, explained.col[order][first].astype(np.int64)])
        mean = np.concatenate([mean, np.zeros(len(rows))])
    # None of their neighbours is placed. They share the number K until each piece gets a number of its own.
    nodes = np.concatenate([nodes, rest])
    numbers = np.concatenate([numbers, np.full(len(rest), communities)])
    return nodes, numbers, np.concatenate([mean, np.zeros(len(rest))])


def _pieces(post: Posterior, nodes: Nodes, numbers: Numbers) -> NDArray[np.int64]:
    """Return the piece of every entry: entries of one community are joined where their nodes are linked."""
    order = np.lexsort((numbers, nodes))
    count = np.bincount(nodes, minlength=post.graph.n_nodes)
    begin = np.concatenate([[0], np.cumsum(count)])
    a, b = post.graph.edges().T
    joined = [np.empty((0, 2), dtype=np.int64)]
    for i in range(int(count.max(initial=0))):
        for j in range(int(count.max(initial=0))):
            both = (count[a] > i) & (count[b] > j)
            x, y = order[begin[a[both]] + i], order[begin[b[both]] + j]
            same = numbers[x] == numbers[y]
            joined.append(np.stack([x[same], y[same]], axis=1))
    pairs = np.concatenate(joined)
    links = sp.coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(nodes), len(nodes)))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
