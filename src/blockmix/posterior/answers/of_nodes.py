"""Questions about nodes: their communities, who is like them, who is in several, who is in none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockmix.graph.sides.sides import node_index
from blockmix.posterior.answers.shares import check_top, labels_of, mean_shares
from blockmix.posterior.answers.table import Answer
from blockmix.posterior.views import beta_interval

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# A bridge has two memberships that are both this large, and whose lower bound (5%) stays above the second.
BRIDGE_SHARE, BRIDGE_LOWER = 0.1, 0.02
_LOWER_5_PERCENT = 1.645


def node_memberships(post: Posterior, label: Any, level: float) -> Answer:
    """See `Posterior.node`."""
    node = node_index(post.graph, label)
    row = slice(int(post.offsets[node]), int(post.offsets[node + 1]))
    mean, sd = np.asarray(post.mean[row]), np.asarray(post.sd[row])
    lower, upper = beta_interval(mean, sd, level)
    return Answer(
        {
            "community": np.asarray(post.community[row]),
            "share": mean,
            "sd": sd,
            "lower": lower,
            "upper": upper,
        }
    )


def similar_nodes(post: Posterior, label: Any, top: int) -> Answer:
    """See `Posterior.similar_nodes`."""
    node, top = node_index(post.graph, label), check_top(top)
    roots = mean_shares(post)
    roots.data = np.sqrt(roots.data)
    likeness = np.asarray((roots @ roots[[node]].T).todense()).ravel()
    likeness[node] = -1.0
    found = _largest(likeness, top)
    found = found[likeness[found] > 0]
    linked = post.graph.has_edges(np.column_stack((np.full(len(found), node), found)))
    return Answer(
        {
            "node": labels_of(post, found),
            "likeness": np.minimum(likeness[found], 1.0),
            "linked": linked.tolist(),
        }
    )


def _largest(values: Any, top: int) -> Any:
    """Return the places of the largest values, the largest first and ties by place."""
    top = min(top, len(values))
    found = np.argpartition(-values, top - 1)[:top]
    # Ties at the border are cut by place, so that the answer does not depend on the partition.
    least = values[found].min()
    above = np.flatnonzero(values > least)
    found = np.concatenate((above, np.flatnonzero(values == least)[: top - len(above)]))
    return found[np.lexsort((found, -values[found]))]


def bridges(post: Posterior, top: int) -> Answer:
    """See `Posterior.bridges`."""
    top = check_top(top)
    mean, sd = np.asarray(post.mean, dtype=np.float64), np.asarray(post.sd, dtype=np.float64)
    sure = (mean >= BRIDGE_SHARE) & (mean - _LOWER_5_PERCENT * sd >= BRIDGE_LOWER)
    sure &= post.clear[np.asarray(post.community)]
    nodes = np.repeat(np.arange(post.graph.n_nodes), np.diff(post.offsets))[sure]
    community, mean = np.asarray(post.community)[sure], mean[sure]
    rank = np.arange(len(nodes)) - np.searchsorted(nodes, nodes)
    # Rows are sorted by mean, so the second sure entry of a node is its second largest.
    second = np.flatnonzero(rank == 1)
    second = second[np.argsort(-mean[second], kind="stable")][:top]
    count = np.bincount(nodes, minlength=post.graph.n_nodes)
    return Answer(
        {
            "node": labels_of(post, nodes[second]),
            "communities": count[nodes[second]],
            "first": community[second - 1],
            "first_share": mean[second - 1],
            "second": community[second],
            "second_share": mean[second],
        }
    )


def nodes_in_none(post: Posterior, threshold: float) -> Answer:
    """See `Posterior.nodes_in_none`."""
    rest = post.unclear(threshold)
    first = np.asarray(post.offsets)[rest]
    has = np.diff(post.offsets)[rest] > 0
    largest, share = np.full(len(rest), -1), np.zeros(len(rest))
    largest[has] = np.asarray(post.community)[first[has]]
    share[has] = np.asarray(post.mean)[first[has]]
    order = np.lexsort((rest, -post.graph.degrees[rest]))
    return Answer(
        {
            "node": labels_of(post, rest[order]),
            "links": post.graph.degrees[rest][order],
            "nearest": largest[order],
            "share": share[order],
        }
    )
