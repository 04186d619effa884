"""Questions about communities: their members, how they overlap, how well they are separated, how to call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Labels
from blockmix.posterior.answers.kernels import add_all_block_links, add_block_links, count_links_inside
from blockmix.posterior.answers.shares import check_community, check_top, labels_of, mean_shares, refuse_sides
from blockmix.posterior.answers.table import Answer
from blockmix.posterior.covers.complete import sure_members
from blockmix.posterior.views import CommunityCount, beta_interval
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Up to so many communities links are counted for all pairs of them, in a matrix of at most 32 MB.
_MATRIX = 2000
# Fewer nodes are a leftover, not a community, as where the number is chosen (`starts/choose.py`).
_LEAST_NODES = 3


def community_count(post: Posterior, level: float) -> CommunityCount | None:
    """See `Posterior.community_count`."""
    linked, shares = ~post.unlinked, np.zeros(post.n_communities + 1)
    for weight, chain in zip(post.chain_weights, post.draws, strict=True):
        for sample in chain:
            shares[_in_use(sample, linked)] += weight / len(chain)
    if not shares.any():
        return None
    shares /= shares.sum()
    below = np.cumsum(shares)
    lower, upper = (
        int(np.searchsorted(below, tail, side="right")) for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    found = {int(count): float(shares[count]) for count in np.flatnonzero(shares)}
    return CommunityCount(
        float(shares @ np.arange(len(shares))), lower, min(upper, post.n_communities), found
    )


def _in_use(sample: PosteriorSample, linked: NDArray[np.bool_]) -> int:
    """Count the communities that are the largest of enough nodes in a sample, and stronger than the background."""
    row = np.repeat(np.arange(len(sample.counts)), sample.counts)
    most = np.zeros(len(sample.counts), dtype=sample.weights.dtype)
    np.maximum.at(most, row, sample.weights)
    largest = sample.weights == most[row]
    node, community = row[largest], sample.communities[largest]
    # Of equal weights the first counts.
    counts = linked[node] & (np.diff(node, prepend=-1) > 0)
    found = community[counts]
    probability = sample.probabilities
    if probability.ndim == 2:
        return int(np.count_nonzero(np.bincount(found) >= _LEAST_NODES))
    nodes = np.bincount(found, minlength=len(probability) - 1)
    return int(np.count_nonzero((nodes >= _LEAST_NODES) & (probability[:-1] > probability[-1])))


def members(post: Posterior, community: int, top: int | None, level: float) -> Answer:
    """See `Posterior.members`."""
    community = check_community(post, community)
    found = np.flatnonzero(np.asarray(post.community) == community)
    nodes = np.searchsorted(np.asarray(post.offsets), found, side="right") - 1
    mean, sd = np.asarray(post.mean)[found], np.asarray(post.sd)[found]
    order = np.lexsort((nodes, -mean))
    order = order if top is None else order[: check_top(top)]
    nodes, mean, sd = nodes[order], mean[order], sd[order]
    lower, upper = beta_interval(mean, sd, level)
    columns = {"node": labels_of(post, nodes), "share": mean, "sd": sd, "lower": lower, "upper": upper}
    return Answer(columns | {"links": post.graph.degrees[nodes]})


def cover_matrix(post: Posterior, threshold: float) -> tuple[NDArray[np.int64], sp.csr_array]:
    """Return the numbers of the communities of `covers`, and their members as a matrix of nodes x communities."""
    covers = post.covers(threshold)
    numbers = np.array(list(covers), dtype=np.int64)
    nodes = np.concatenate(list(covers.values())) if covers else np.empty(0, dtype=np.int64)
    column = np.repeat(np.arange(len(covers)), [len(found) for found in covers.values()])
    shape = (post.graph.n_nodes, len(covers))
    return numbers, sp.csr_array((np.ones(len(nodes)), (nodes, column)), shape=shape)


def overlap(post: Posterior, threshold: float) -> Answer:
    """See `Posterior.overlap`."""
    refuse_sides(post, "the overlap of communities")
    numbers, member = cover_matrix(post, threshold)
    sizes = np.asarray(member.sum(axis=0)).ravel()
    shared = sp.coo_array(sp.triu(member.T @ member, k=1))
    a, b, both = shared.row, shared.col, shared.data
    # Shares of links between and within, by how much each end is in a community.
    density = link_density(post, np.concatenate((numbers, numbers[a])), np.concatenate((numbers, numbers[b])))
    alone, between = density[: len(numbers)], density[len(numbers) :]
    smaller = np.minimum(sizes[a], sizes[b])
    inside = both / smaller
    within = np.sqrt(alone[a] * alone[b])
    ratio = np.divide(between, within, out=np.zeros(len(a)), where=within > 0)
    order = np.lexsort((numbers[b], numbers[a], -inside))
    columns = {
        "first": numbers[a], "second": numbers[b], "shared": both.astype(np.int64),
        "jaccard": both / (sizes[a] + sizes[b] - both), "nested": inside, "merge": ratio,
    }  # fmt: skip
    return Answer({name: np.asarray(column)[order] for name, column in columns.items()})


def link_density(post: Posterior, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for pairs of communities, links a pair of nodes: sum of pi_ak pi_bl over links over that of pairs."""
    count = post.n_communities
    if not len(first):
        return np.zeros(0)
    keys, place = np.unique(
        np.minimum(first, second) * count + np.maximum(first, second), return_inverse=True
    )
    k, other = np.divmod(keys, count)
    post.graph.check_links()
    network = post.graph.offsets, post.graph.neighbors
    rows = np.asarray(post.offsets), np.asarray(post.community), np.asarray(post.mean, dtype=np.float64)
    if count <= _MATRIX:
        matrix = np.zeros((count, count))
        add_all_block_links(*network, *rows, matrix)
        links = matrix[k, other]
    else:
        links = np.zeros(len(keys))
        add_block_links(*network, *rows, (np.searchsorted(k, np.arange(count + 1)), other), links)
    links[k == other] *= 2.0
    shares = mean_shares(post)
    sizes = np.asarray(shares.sum(axis=0)).ravel()
    # A node is no pair with itself.
    themselves = np.asarray(sp.csr_array(shares.T @ shares)[k, other]).ravel()
    pairs = sizes[k] * sizes[other] - themselves
    density = np.divide(links, pairs, out=np.zeros(len(keys)), where=pairs > 0)
    return np.asarray(density[place.ravel()])


def quality(post: Posterior, threshold: float) -> Answer:
    """See `Posterior.quality`."""
    refuse_sides(post, "the quality of communities")
    numbers, member = cover_matrix(post, threshold)
    sizes = np.asarray(member.sum(axis=0)).ravel()
    volume = np.asarray(member.T @ post.graph.degrees.astype(np.float64)).ravel()
    links = np.zeros(len(numbers), dtype=np.int64)
    post.graph.check_links()
    count_links_inside(post.graph.offsets, post.graph.neighbors, member.indptr, member.indices, links)
    inside = 2.0 * links
    ends = 2.0 * post.graph.n_edges
    cut = volume - inside
    smaller = np.minimum(volume, ends - volume)
    pairs = sizes * (sizes - 1)
    return Answer(
        {
            "community": numbers,
            "members": sizes.astype(np.int64),
            "links": links,
            "density": np.divide(inside, pairs, out=np.zeros(len(sizes)), where=pairs > 0),
            "conductance": np.divide(cut, smaller, out=np.zeros(len(sizes)), where=smaller > 0),
            "modularity": inside / ends - (volume / ends) ** 2,
        }
    )


def subgraph(post: Posterior, community: int, threshold: float) -> Graph:
    """See `Posterior.subgraph`."""
    return induced(post.graph, np.sort(members_at(post, community, threshold)))


def members_at(post: Posterior, community: int, threshold: float) -> NDArray[np.int64]:
    """Return the nodes that count as members of a community, whether or not `covers` lists it."""
    community = check_community(post, community)
    found = sure_members(post, threshold, only=community)[0]
    if not len(found):
        raise InputError(f"community {community} has no member at the threshold {threshold:g}")
    return found


def induced(graph: Graph, nodes: NDArray[np.int64]) -> Graph:
    """Return the network of these nodes, in increasing order, and the links between them."""
    weighted = graph.weights is not None
    rows = (graph.to_scipy_weights() if weighted else graph.to_scipy(np.int8))[nodes][:, nodes]
    rows.sort_indices()
    names = [graph.labels[int(node)] for node in nodes]
    labels = (
        Labels.of(names) if graph.labels.kind != "text" else Labels.from_text([str(name) for name in names])
    )
    attributes = None if graph.attributes is None else graph.attributes.taken(nodes)
    offsets = rows.indptr.astype(np.int64)
    neighbors, weights = rows.indices.astype(graph.neighbors.dtype), rows.data if weighted else None
    return Graph(offsets, neighbors, labels, attributes=attributes, weights=weights)
