"""The drawing as a still picture in SVG: for browsers without WebGL, for printing, and before scripts run."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.report.communities import Findings
from blockmix.report.markup import Markup, element, joined, void
from blockmix.report.pictures.colours import PALETTE, REST, rgb
from blockmix.report.pictures.density import density_image, png
from blockmix.report.pictures.drawing import Drawing
from blockmix.report.pictures.pack import MOST_NODES, Entries
from blockmix.report.pictures.places import node_places

WIDTH, HEIGHT, _MARGIN = 1200.0, 760.0, 40.0
# Pixels of the image of a map for every unit of the picture.
_FINE = 0.8
# Lines and names beyond these would hide the picture, and slow the page.
_MOST_LINES, _MOST_NAMES, _MOST_MAP_NAMES, _LONGEST_NAME = 6_000, 60, 24, 28
# More lines than this on a map are fainter, as in the page.
_FEW_BANDS = 150
# The radius of a node on the image of a map: its share of the room that it has in its disc, and at most so many pixels.
# Beyond so many nodes each is one pixel: they are a density.
_NODE_RADIUS, _LARGEST_NODE, _MANY_NODES = 0.6, 6.0, 200_000
# Width of a letter on average, to see where names fit.
_LETTER = 8.0
_SLIVER = 0.03

# The picture is an image of its own: it follows the colour scheme of the page around it.
_STYLE = (
    "line{stroke:#7d8793;stroke-opacity:.42}"
    "text{font:500 14px system-ui,sans-serif;fill:#2a323d;paint-order:stroke;stroke:#fdfcfa;"
    "stroke-width:3px;stroke-linejoin:round;text-anchor:middle}"
    # Widths here are those of the image: names would be too small to read in a small one.
    "@media(max-width:560px){text{display:none}}"
    "@media(prefers-color-scheme:dark){line{stroke:#9aa4b1}text{fill:#e4e7eb;stroke:#171b21}}"
)


def still_picture(
    found: Findings, drawing: Drawing, colours: NDArray[np.int64], entries: Entries | None = None
) -> Markup:
    """Draw the picture as one SVG document; that of a map needs the memberships as they are sent."""
    x, y, radius = fitted(drawing)
    is_map = drawing.kind == "map"
    lines = [
        void("line", x1=_short(x[a]), y1=_short(y[a]), x2=_short(x[b]), y2=_short(y[b]),
             stroke_width=_short(0.9 + 3.0 * w * is_map))
        for (a, b), w in list(zip(drawing.links.tolist(), drawing.weight.tolist(), strict=True))[:_MOST_LINES]
    ]  # fmt: skip
    if is_map:
        thin = min(1.0, math.sqrt(_FEW_BANDS / max(len(lines), 1)))
        lines = [element("g", *lines, opacity=_short(thin))]
    if is_map and entries is not None:
        discs = [_nodes_of_map(found, drawing, colours, entries)]
    else:
        discs = [
            joined(*pie(x[i], y[i], radius[i], shares))
            for i, shares in enumerate(all_shares(found, drawing, colours))
        ]
    names = [
        element("text", text, x=_short(middle), y=_short(line + 4.5))
        for text, middle, line in name_places(found, drawing, x, y, radius)
    ]
    return element(
        "svg", element("style", Markup(_STYLE)), *lines, *discs, *names,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
    )  # fmt: skip


def _nodes_of_map(found: Findings, drawing: Drawing, colours: NDArray[np.int64], entries: Entries) -> Markup:
    """Draw all nodes of a map as an image of their density."""
    places = drawing.places
    assert places is not None
    count = len(places.numbers)
    disc_of = np.full(found.post.n_communities, -1, dtype=np.int64)
    disc_of[places.numbers] = np.arange(count)
    disc = disc_of[entries.community]
    keep = disc >= 0
    node, disc, share = entries.node[keep], disc[keep], entries.mean[keep]
    nodes = min(found.post.graph.n_nodes, MOST_NODES)
    place = node_places(places, node, disc, share, nodes)
    chosen = [PALETTE[i] for i in colours[:count]]
    palette = np.array([rgb(c) for c in (*chosen, *[REST] * (count + 1 - len(chosen)))])
    total = np.bincount(node, share, minlength=nodes)
    mixed: NDArray[np.float64] = np.zeros((nodes, 3))
    for i in range(3):
        mixed[:, i] = np.bincount(node, share * palette[disc, i], minlength=nodes)
    mixed = np.where(total[:, None] > 0, mixed / np.maximum(total, 1e-9)[:, None], palette[-1])
    low, scale, middle = _frame(drawing)
    x = WIDTH / 2 + (place[:, 0] - low[0] - middle[0]) * scale
    y = HEIGHT / 2 - (place[:, 1] - low[1] - middle[1]) * scale
    usual = min(max(1.5, _NODE_RADIUS * places.unit * scale * _FINE), _LARGEST_NODE)
    radius = usual if nodes <= _MANY_NODES else 0.0
    size = round(WIDTH * _FINE), round(HEIGHT * _FINE)
    image = png(density_image(x * _FINE, y * _FINE, mixed, *size, radius=radius))
    address = "data:image/png;base64," + base64.b64encode(image).decode("ascii")
    return void("image", href=address, x=0, y=0, width=WIDTH, height=HEIGHT)


def data_address(svg: str) -> str:
    """Return the picture as an address that an `img` can show; scripts never run in an image."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")


def fitted(drawing: Drawing) -> tuple[Any, Any, Any]:
    """Convert places and radii to the units of the picture, y downwards."""
    if not len(drawing.ids):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    low, scale, middle = _frame(drawing)
    x = WIDTH / 2 + (drawing.place[:, 0] - low[0] - middle[0]) * scale
    y = HEIGHT / 2 - (drawing.place[:, 1] - low[1] - middle[1]) * scale
    return x, y, drawing.radius * scale


def _frame(drawing: Drawing) -> tuple[Any, float, Any]:
    """Return the lower corner of all discs, the units of the picture in one of the plane, and half of the extent."""
    place, radius = drawing.place, drawing.radius
    if drawing.places is not None:
        place, radius = drawing.places.centre, drawing.places.radius
    low = (place - radius[:, None]).min(axis=0)
    span = np.maximum((place + radius[:, None]).max(axis=0) - low, 1e-9)
    return low, float(min((WIDTH - 2 * _MARGIN) / span[0], (HEIGHT - 2 * _MARGIN) / span[1])), span / 2


def all_shares(
    found: Findings, drawing: Drawing, colours: NDArray[np.int64]
) -> list[list[tuple[str, float]]]:
    """Return for every disc its colours and their shares, largest first, what is in no listed community last."""
    names = {int(k): PALETTE[c] for k, c in zip(found.numbers, colours, strict=True)}
    if drawing.kind == "map":
        return [[(names.get(int(k), REST), 1.0)] for k in drawing.ids]
    post = found.post
    community, mean = post.community.tolist(), post.mean.tolist()
    result = []
    for node in drawing.ids.tolist():
        row = range(int(post.offsets[node]), int(post.offsets[node + 1]))
        listed = [(names[community[j]], mean[j]) for j in row if community[j] in names and mean[j] >= _SLIVER]
        rest = 1.0 - sum(share for _, share in listed)
        result.append([*listed, (REST, rest)] if rest >= _SLIVER or not listed else listed)
    return result


def pie(x: float, y: float, radius: float, shares: list[tuple[str, float]]) -> list[Markup]:
    """Draw one disc: a wedge for each share, from the top and clockwise."""
    if len(shares) == 1:
        return [void("circle", cx=_short(x), cy=_short(y), r=_short(radius), fill=shares[0][0])]
    total = sum(share for _, share in shares)
    wedges, before = [], 0.0
    for colour, share in shares:
        after = before + share / total
        ends = [2.0 * math.pi * t for t in (before, after)]
        (x0, y0), (x1, y1) = ((x + radius * math.sin(t), y - radius * math.cos(t)) for t in ends)
        large = int(after - before > 0.5)
        arc = f"A{radius:.2f} {radius:.2f} 0 {large} 1 {x1:.2f} {y1:.2f}"
        path = f"M{x:.1f} {y:.1f}L{x0:.2f} {y0:.2f}{arc}Z"
        wedges.append(void("path", d=path, fill=colour))
        before = after
    return wedges


def name_places(
    found: Findings, drawing: Drawing, x: Any, y: Any, radius: Any
) -> list[tuple[str, float, float]]:
    """Place names of the largest discs beside the disc, clear of other names and discs."""
    graph = found.post.graph
    taken = np.zeros((0, 4))
    result: list[tuple[str, float, float]] = []
    most = _MOST_NAMES if drawing.kind == "network" else _MOST_MAP_NAMES
    for i in np.argsort(-drawing.radius, kind="stable")[: 2 * _MOST_NAMES].tolist():
        if len(result) >= most:
            break
        number = int(drawing.ids[i])
        if drawing.kind == "map" and number not in found.names:
            continue
        text = shown_name(graph.name_of(number) if drawing.kind == "network" else found.names[number])
        width = 0.5 * _LETTER * len(text)
        for right, down in ((1, 0), (-1, 0), (0, 1), (0, -1)) if drawing.kind == "network" else ((0, 0),):
            middle = float(x[i] + right * (radius[i] + 4.0 + width))
            line = float(y[i] + down * (radius[i] + 9.0))
            box = np.array([middle - width, line - 8.0, middle + width, line + 8.0])
            discs = (x, y, radius) if drawing.kind == "network" else None
            if _clear(box, taken, discs):
                taken = np.vstack([taken, box])
                result.append((text, middle, line))
                break
    return result


def _clear(box: NDArray[np.float64], taken: NDArray[np.float64], discs: tuple[Any, Any, Any] | None) -> bool:
    """Return whether a box lies in the picture and covers neither a name nor one of the discs."""
    if box[0] < 0.0 or box[2] > WIDTH:
        return False
    if (np.minimum(box[2:], taken[:, 2:]) > np.maximum(box[:2], taken[:, :2])).all(axis=1).any():
        return False
    if discs is None:
        return True
    x, y, radius = discs
    gap = np.hypot(x - np.clip(x, box[0], box[2]), y - np.clip(y, box[1], box[3]))
    return not (gap < 0.8 * radius).any()


def shown_name(label: str) -> str:
    """Shorten a label for a picture to a readable length, without invisible characters.

    >>> shown_name("a" * 40), shown_name("line\\nend")
    ('aaaaaaaaaaaaaaaaaaaaaaaaaaa…', 'line�end')
    """
    text = label if len(label) <= _LONGEST_NAME else label[: _LONGEST_NAME - 1] + "…"
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def _short(value: float) -> str:
    return f"{value:.1f}"
