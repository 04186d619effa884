"""What is drawn and where: the whole network while it is small, a map by memberships beyond that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.report.communities import Findings
from blockmix.report.pictures.colours import assign_colours, close_in_picture
from blockmix.report.pictures.layout import force_layout, push_apart
from blockmix.report.pictures.places import MOST_PLACED, Places, main_discs, make_places, strongest_links

# Beyond these a layout by links is a tangle of lines, and slow.
MOST_NODES, MOST_LINKS, MOST_CENTRES = 5_000, 25_000, 250
# Links of the graph of communities: each community keeps its strongest few.
_LINKS_A_COMMUNITY = 2
# How much a link inside no community pulls, compared with one inside.
_OUTSIDE = 0.2
# How much links pull in all, picked by eye, and the mean degree from which on each pulls less.
_PULL, _MANY_LINKS = 3.0, 6.0


@dataclass(frozen=True, eq=False)
class Drawing:
    """Discs and lines. `ids` are node numbers if `kind` is "network", community numbers if it is "map".

    `links` are pairs of rows of `ids`, `weight` their importance from 0 to 1, `links_in_all` how many there
    are of which these are drawn. `places` are the discs of a map.
    """

    kind: str
    ids: NDArray[np.int64]
    place: NDArray[np.float64]
    radius: NDArray[np.float64]
    links: NDArray[np.int64]
    weight: NDArray[np.float64]
    links_in_all: int
    places: Places | None = None


def draw(found: Findings, *, seed: int = 0) -> tuple[Drawing, NDArray[np.int64]]:
    """Draw a posterior; return also the colour of every listed community as a number into the palette."""
    links, weight = found.community_links(min(len(found.placed), MOST_PLACED))
    if found.post.graph.n_nodes <= MOST_NODES:
        shown = min(len(found.numbers), MOST_CENTRES)
        inside = (links < shown).all(axis=1)
        centres = _community_places(found, shown, links[inside], weight[inside], seed)
        drawing = _network(found, centres, seed)
    else:
        drawing = _map(found, links, weight, seed)
    listed = (links < len(found.numbers)).all(axis=1)
    centre, radius = _where(found, drawing)
    return drawing, assign_colours(
        *close_in_picture(links[listed], weight[listed], centre, radius), len(found.numbers)
    )


def _where(found: Findings, drawing: Drawing) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where the listed communities are in the picture, and how far they reach."""
    count = len(found.numbers)
    if drawing.places is not None:
        # Beyond `MOST_PLACED` communities have no disc.
        far = max(count - len(drawing.places.numbers), 0)
        places = np.pad(drawing.places.centre[:-1], ((0, far), (0, 0)))
        return places[:count], np.pad(drawing.places.radius[:-1], (0, far))[:count]
    shares = _shares(found, count)
    size = np.maximum(np.asarray(shares.sum(axis=0)).ravel(), 1e-9)
    centre = (shares.T @ drawing.place) / size[:, None]
    spread = (shares.T @ (drawing.place**2).sum(axis=1)) / size - (centre**2).sum(axis=1)
    return np.asarray(centre), np.sqrt(np.maximum(spread, 0.0))


def _community_places(
    found: Findings, shown: int, links: NDArray[Any], weight: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """Place the first communities: close where many links run between them."""
    size = np.maximum(found.post.sizes[found.numbers[:shown]], 1.0)
    # A large community has many links to all others: what counts is the excess over its size.
    pull = weight / np.sqrt(size[links[:, 0]] * size[links[:, 1]]) if len(links) else weight
    pull = pull / max(float(pull.max(initial=0.0)), 1e-12)
    start = np.random.default_rng(seed).normal(size=(shown, 2))
    return force_layout(links, pull, start)


def _network(found: Findings, centres: NDArray[np.float64], seed: int) -> Drawing:
    """Draw all nodes, those of a community together; a sample of the links where there are too many."""
    post, graph = found.post, found.post.graph
    rng = np.random.default_rng(seed)
    shares = _shares(found, len(centres))
    links = np.asarray(graph.edges(), dtype=np.int64)
    degree = np.maximum(graph.degrees, 1)
    together = np.asarray(shares[links[:, 0]].multiply(shares[links[:, 1]]).sum(axis=1)).ravel()
    # Divided by degrees, so that hubs do not draw everything into one spot, and weaker where links are many.
    pull = (_OUTSIDE + together) / np.sqrt(degree[links].prod(axis=1))
    pull *= _PULL * min(1.0, _MANY_LINKS / float(degree.mean()))
    # A node outside all listed communities starts in the middle.
    start = shares @ centres + rng.normal(
        scale=0.15 * (np.abs(centres).max(initial=1.0)), size=(graph.n_nodes, 2)
    )
    place = force_layout(links, pull, start)
    radius = _radii(place, np.sqrt(graph.degrees + 1.0))
    place = push_apart(place, radius, 0.35 * float(np.median(radius)) if len(radius) else 0.0, rounds=250)
    if len(links) > MOST_LINKS:
        links = links[np.sort(rng.choice(len(links), MOST_LINKS, replace=False))]
    return Drawing(
        "network", np.arange(graph.n_nodes), place, radius, links, np.ones(len(links)), post.graph.n_edges
    )


def _shares(found: Findings, shown: int) -> Any:
    """Mean memberships in the communities that have a place, as a sparse matrix of nodes x places."""
    from scipy.sparse import csr_array

    post = found.post
    column = np.full(post.n_communities, -1)
    column[found.numbers[:shown]] = np.arange(shown)
    where = column[post.community]
    keep = where >= 0
    values = np.asarray(post.mean, dtype=np.float64)[keep]
    return csr_array((values, (found.node[keep], where[keep])), shape=(post.graph.n_nodes, shown))


def _map(found: Findings, links: NDArray[Any], weight: NDArray[np.float64], seed: int) -> Drawing:
    """Draw a disc for every community, its area the number of its nodes, and the strongest links between them."""
    numbers = found.placed[:MOST_PLACED]
    places = make_places(found, links, weight, main_discs(found, numbers), seed=seed)
    # Lines between listed communities only: others are many, and grey.
    listed = (places.links < len(found.numbers)).all(axis=1)
    chosen = np.flatnonzero(listed)
    strong = strongest_links(places.links[chosen], places.weight[chosen], len(numbers), _LINKS_A_COMMUNITY)
    chosen = chosen[strong]
    drawn = places.weight[chosen]
    return Drawing(
        "map", numbers, places.centre[:-1], places.radius[:-1], places.links[chosen],
        np.sqrt(drawn / max(float(drawn.max(initial=0.0)), 1e-12)), len(places.links), places,
    )  # fmt: skip


def _radii(place: NDArray[np.float64], size: NDArray[np.float64], share: float = 0.1) -> NDArray[np.float64]:
    """Compute radii proportional to `size` so that all discs together cover this share of the picture."""
    if not len(place):
        return np.zeros(0)
    width, height = np.maximum(np.ptp(place, axis=0), 1e-6)
    # One huge hub must not make all others invisible.
    size = np.minimum(size, 6.0 * np.median(size))
    return np.asarray(size * np.sqrt(share * width * height / (np.pi * (size**2).sum())))
