"""Hubs and roles in a community, after Guimerà and Amaral (Nature 433, 895, 2005), with memberships for hard groups.

A link of a node counts for a community as far as its other end is a member. `within` is the z-score of these links
among the members; `participation` is 1 - sum_k (share of the node's links in k)^2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from blockmix.posterior.answers.of_communities import members_at
from blockmix.posterior.answers.shares import check_top, labels_of, mean_shares, refuse_sides
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

HUB = 2.5
# Above these shares of links outside, by their table: peripheral, connector, kinless; for hubs provincial, connector.
PERIPHERAL, CONNECTOR, KINLESS, PROVINCIAL, CONNECTOR_HUB = 0.05, 0.62, 0.80, 0.30, 0.75


def roles(post: Posterior, community: int, top: int | None, threshold: float) -> Answer:
    """See `Posterior.roles`."""
    refuse_sides(post, "the role of a node")
    nodes = members_at(post, community, threshold)
    shares = mean_shares(post)
    # Members x communities, sparse: a large community of a large network would not fit in memory otherwise.
    links = sp.csr_array(post.graph.to_scipy()[nodes] @ shares)
    own = links[:, [community]].toarray().ravel()
    sd = own.std()
    within = (own - own.mean()) / sd if sd > 0 else np.zeros(len(own))
    degree = np.maximum(np.asarray(links.sum(axis=1)).ravel(), np.finfo(np.float64).tiny)
    participation = 1.0 - np.asarray(links.power(2).sum(axis=1)).ravel() / degree**2
    order = np.lexsort((nodes, -own))
    order = order if top is None else order[: check_top(top)]
    return Answer(
        {
            "node": labels_of(post, nodes[order]),
            "links": post.graph.degrees[nodes[order]],
            "links_inside": own[order],
            "within": within[order],
            "participation": participation[order],
            "role": [_role(z, p) for z, p in zip(within[order], participation[order], strict=True)],
        }
    )


def _role(within: float, participation: float) -> str:
    if within >= HUB:
        if participation <= PROVINCIAL:
            return "provincial hub"
        return "connector hub" if participation <= CONNECTOR_HUB else "kinless hub"
    if participation <= PERIPHERAL:
        return "ultra-peripheral"
    if participation <= CONNECTOR:
        return "peripheral"
    return "connector" if participation <= KINLESS else "kinless"
