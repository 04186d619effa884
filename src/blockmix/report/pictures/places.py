"""The map of a large network: only communities are laid out, and every node follows from its memberships.

A community is a disc whose area is the number of nodes that are in it more than in any other. Its nodes fill the disc
in the order of their membership, the surest in the middle, along a sunflower spiral. A node in several communities
lies at the mean of their centres, weighed by its memberships: overlap is position. The page's script computes the
places of nodes from the same numbers by the same rule (`places.js`), so that the file holds no coordinates of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockmix.report.communities import Findings
from blockmix.report.pictures.layout import force_layout, push_apart

# Communities that have a disc; nodes of all others lie in one disc for nodes in none.
MOST_PLACED = 20_000
# The angle between two nodes of the spiral that follow each other, 2 pi (1 - 1 / golden ratio).
TURN = 2.399963229728653
# Share of the picture that discs cover, and the space between them in radii of an average disc.
_COVERED, _GAP = 0.42, 0.12
# How many others pull a community, and how much an average one does.
_PULLS, _PULL = 6, 0.12
# A community of very few nodes still has a disc that can be seen and hit.
_LEAST_SHARE = 0.15
# With more discs than this they are pushed apart for fewer rounds.
_MANY_DISCS = 3_000
_FAR = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Places:
    """Discs of communities: their numbers, centres, radii and nodes; the last disc is for nodes in none of them.

    `links` are pairs of discs and `weight` the expected number of links between them.
    """

    numbers: NDArray[np.int64]
    centre: Floats
    radius: Floats
    nodes: NDArray[np.int64]
    links: NDArray[np.int64]
    weight: Floats

    @property
    def unit(self) -> float:
        """The radius of the share of a disc that one node has."""
        return (
            float(np.sqrt(np.median(self.radius**2 / np.maximum(self.nodes, 1)))) if len(self.nodes) else 1.0
        )


def make_places(
    found: Findings, links: NDArray[np.int64], weight: Floats, first: NDArray[np.int64], *, seed: int = 0
) -> Places:
    """Lay out the discs: close where many links run between two. `first` is the disc of every node."""
    count = min(len(found.placed), MOST_PLACED)
    nodes = np.bincount(first, minlength=count + 1)
    size = np.maximum(nodes, 1.0)
    size = np.maximum(size, _LEAST_SHARE * size.mean())
    inside = (links < count).all(axis=1)
    links, weight = links[inside], weight[inside]
    close, pull = excess_links(links, weight, count)
    start = np.random.default_rng(seed).normal(size=(count, 2))
    mass = np.clip(size[:count] / size.mean(), 0.3, 6.0)
    centre = force_layout(close, pull, start, mass=mass)
    low, high = (centre.min(axis=0), centre.max(axis=0)) if count else (np.zeros(2), np.ones(2))
    width, height = np.maximum(high - low, 1e-6)
    radius = np.sqrt(size * (_COVERED * width * height / (np.pi * size.sum())))
    # Nodes in no community lie in the lower right corner; if there are none, nothing is there.
    shown = count + int(nodes[count] > 0)
    radius[shown:] = 0.0
    centre = np.vstack([centre, [high[0], low[1]] if shown > count else (low + high) / 2])
    rounds = 400 if count <= _MANY_DISCS else 60
    centre[:shown] = push_apart(centre[:shown], radius[:shown], _GAP * float(radius.mean()), rounds=rounds)
    return Places(found.placed[:count], centre, radius, nodes, links, weight)


def excess_links(links: NDArray[np.int64], weight: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
    """Return the pairs that have more links than their sizes alone would give, the strongest of each, and their pull.

    Between large communities there are always links. What brings two together is the excess over w_a w_b / w, with w_a
    the links of a to others and w those of all.
    """
    if not len(links):
        return links, weight
    of_each = np.bincount(links.ravel(), np.repeat(weight, 2), minlength=count)
    excess = weight - of_each[links[:, 0]] * of_each[links[:, 1]] / of_each.sum()
    strength = excess / np.sqrt(of_each[links[:, 0]] * of_each[links[:, 1]])
    kept = strongest_links(links, strength, count, _PULLS) & (strength > 0)
    usual = float(np.median(strength[kept])) if kept.any() else 1.0
    return links[kept], _PULL * strength[kept] / usual


def strongest_links(links: NDArray[np.int64], weight: Floats, count: int, few: int) -> NDArray[np.bool_]:
    """Return which links are among the `few` strongest of one of their two ends."""
    ends = np.concatenate([links[:, 0], links[:, 1]])
    order = np.lexsort((np.tile(np.arange(len(links)), 2), -np.tile(weight, 2), ends))
    rank = np.empty(len(order), dtype=np.int64)
    begins = np.searchsorted(ends[order], np.arange(count))
    rank[order] = np.arange(len(order)) - begins[ends[order]]
    return np.asarray((rank < few).reshape(2, -1).any(axis=0))


def main_discs(found: Findings, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the disc of every node: that of its largest membership that has one, else the last."""
    place = np.full(found.post.n_communities, len(numbers), dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    disc = place[found.post.community]
    listed = np.flatnonzero(disc < len(numbers))
    # Entries of a node are sorted by their mean: the first that is listed is the largest.
    nodes, first = np.unique(found.node[listed], return_index=True)
    result = np.full(found.post.graph.n_nodes, len(numbers), dtype=np.int64)
    result[nodes] = disc[listed[first]]
    return result


def node_places(
    places: Places, node: NDArray[np.int64], disc: NDArray[np.int64], share: Floats, count: int
) -> Floats:
    """Compute the places of `count` nodes from their memberships as they are sent.

    `node`, `disc` and `share` are the entries, node by node and the largest first; entries of communities without a
    disc are left out.
    """
    last = len(places.radius) - 1
    total = np.bincount(node, share, minlength=count)
    mean: Floats = np.zeros((count, 2))
    for i in (0, 1):
        mean[:, i] = np.bincount(node, share * places.centre[disc, i], minlength=count)
    mean /= np.maximum(total, _FAR)[:, None]
    first, largest = np.full(count, last), np.zeros(count)
    owner, where = np.unique(node, return_index=True)
    first[owner], largest[owner] = disc[where], share[where]
    mean[total <= 0] = places.centre[last]
    order = np.lexsort((np.arange(count), -largest, first))
    begins = np.searchsorted(first[order], np.arange(last + 1))
    rank = np.empty(count)
    rank[order] = np.arange(count) - begins[first[order]]
    # The part of the offset that belongs to the largest community: mixed nodes lie between discs, not around one.
    part = np.where(total > 0, largest / np.maximum(total, _FAR), 1.0)
    nodes = np.maximum(np.bincount(first, minlength=last + 1), 1)[first]
    away = places.radius[first] * np.sqrt((rank + 0.5) / nodes) * part
    return np.asarray(mean + away[:, None] * np.column_stack([np.cos(TURN * rank), np.sin(TURN * rank)]))
