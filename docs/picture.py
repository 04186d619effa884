"""Draw docs/communities.png, the picture of the README: `python docs/picture.py` (needs matplotlib).

The built-in network of Les Misérables is fitted and every character drawn as a pie chart of its mean
memberships; its area grows with the number of its links.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch, Wedge
from numpy.typing import NDArray

import blockmix as bm
from blockmix.graph.datasets.builtin import les_miserables

COMMUNITIES, SWEEPS, SEED = 8, 4000, 1
# A community whose members meet less often than this holds the odd ones out: it is drawn in grey.
LOOSE = 0.5
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E8B800", "#56B4E9")
GREY = "#C4C4C4"
MAIN_CHARACTERS = 12
WIDTH, HEIGHT = 11.0, 7.2


def spring_layout(graph: bm.Graph, rounds: int = 2000, seed: int = 5) -> NDArray[np.float64]:
    """Places for the nodes: all repel each other, links pull, and a weak force keeps them together."""
    place = np.random.default_rng(seed).normal(size=(graph.n_nodes, 2))
    linked = graph.to_scipy().toarray()
    best = 1.0 / np.sqrt(graph.n_nodes)
    for heat in np.linspace(0.1, 0.0005, rounds):
        gap = place[:, None] - place[None]
        distance = np.maximum(np.linalg.norm(gap, axis=2), 0.01)
        force = best**2 / distance**2 - linked * distance / best / 3.0
        move = (gap * force[:, :, None]).sum(axis=1) - 0.6 * place * np.array([1.0, WIDTH / HEIGHT])
        length = np.linalg.norm(move, axis=1, keepdims=True)
        place += move / np.maximum(length, 1e-9) * np.minimum(length, heat)
    return place


def apart(place: NDArray[np.float64], radius: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Push pies that overlap away from each other."""
    for _ in range(400):
        between = place[:, None] - place[None]
        distance = np.linalg.norm(between, axis=2) + np.eye(len(place))
        overlap = np.maximum(radius[:, None] + radius[None] + gap - distance, 0.0)
        np.fill_diagonal(overlap, 0.0)
        place = place + 0.3 * (between / distance[:, :, None] * overlap[:, :, None]).sum(axis=1)
    return place


def colours_of(post: bm.Posterior) -> list[str]:
    """Return a colour for every community, grey for the loose ones."""
    bright = iter(COLOURS)
    return [next(bright) if strength >= LOOSE else GREY for strength in post.strength_mean]


def draw_pie(axes: Axes, centre: NDArray[np.float64], radius: float, shares: dict[str, float]) -> None:
    """One node: a wedge per community, from the top and clockwise."""
    total = sum(shares.values())
    angle = 90.0
    for colour, share in shares.items():
        turn = 360.0 * share / total
        axes.add_patch(Wedge(centre, radius, angle - turn, angle, color=colour, linewidth=0.2, zorder=2))
        angle -= turn
    axes.add_patch(plt.Circle(centre, radius, fill=False, edgecolor="white", linewidth=1.2, zorder=3))


def draw(post: bm.Posterior) -> plt.Figure:
    """Draw the whole picture."""
    graph, colours = post.graph, colours_of(post)
    radius = 0.019 + 0.0085 * np.sqrt(graph.degrees)
    place = apart(spring_layout(graph), radius, 0.045)
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    axes.add_collection(
        LineCollection(place[graph.edges()], colors="#9AA0A6", linewidths=0.6, alpha=0.45, zorder=1)
    )
    for a in range(graph.n_nodes):
        row = slice(post.offsets[a], post.offsets[a + 1])
        shares = dict.fromkeys([*COLOURS, GREY], 0.0)
        for k, mean in zip(post.community[row], post.mean[row], strict=True):
            shares[colours[k]] += float(mean)
        draw_pie(axes, place[a], radius[a], shares)
    add_legend(axes, post, colours)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.axis("off")
    figure.subplots_adjust(0.005, 0.005, 0.995, 0.995)
    add_names(axes, graph, place, radius)
    return figure


def add_names(axes: Axes, graph: bm.Graph, place: NDArray[np.float64], radius: NDArray[np.float64]) -> None:
    """Names, those of the best linked first: the main characters at any price, others where there is room."""
    halo = [patheffects.withStroke(linewidth=2.4, foreground="white")]
    corners = np.hstack((place - 0.8 * radius[:, None], place + 0.8 * radius[:, None])).reshape(-1, 2)
    taken = axes.transData.transform(corners).reshape(-1, 4)
    for rank, a in enumerate(np.argsort(-graph.degrees, kind="stable")):
        offers = []
        # A name above its pie is easily taken for that of the pie above it: the last choice.
        for x, y in ((0, -1), (1, 0), (-1, 0), (0, 1)):
            text = axes.text(
                *(place[a] + np.array([x, y]) * (radius[a] + 0.006)),
                graph.labels[int(a)],
                size=7.0 + 0.8 * np.sqrt(graph.degrees[a]),
                ha=("right", "center", "left")[x + 1],
                va=("top", "center", "bottom")[y + 1],
                zorder=4,
                path_effects=halo,
            )
            box = text.get_window_extent().extents
            text.set_visible(False)
            shared = np.minimum(box[2:], taken[:, 2:]) - np.maximum(box[:2], taken[:, :2])
            offers.append((float(np.prod(np.maximum(shared, 0.0), axis=1).sum()), text, box))
        overlap, text, box = min(offers, key=lambda offer: offer[0])
        if overlap == 0 or rank < MAIN_CHARACTERS:
            text.set_visible(True)
            taken = np.vstack((taken, box))


def add_legend(axes: Axes, post: bm.Posterior, colours: list[str]) -> None:
    """Each tight community by its three surest members, with the interval of its strength."""
    strengths = post.strengths()
    entries = []
    for k, members in post.communities(threshold=0.3).items():
        if strengths.mean[k] >= LOOSE:
            names = ", ".join(str(name) for name in members[:3])
            text = f"{names} …   strength {strengths.lower[k]:.2f} to {strengths.upper[k]:.2f}"
            entries.append(Patch(facecolor=colours[k], label=text))
    entries.append(Patch(facecolor=GREY, label="characters who seldom meet"))
    axes.legend(
        handles=entries, loc="lower left", fontsize=8.5, frameon=False, handlelength=1, handleheight=1
    )


def main() -> None:
    """Fit, draw, write."""
    post = bm.fit(
        les_miserables(), communities=COMMUNITIES, model="assortative", seed=SEED, sweeps=SWEEPS, held_out=0
    )
    path = Path(__file__).with_name("communities.png")
    draw(post).savefig(path, dpi=110)
    print(f"{path.name}: {post!r}")


if __name__ == "__main__":
    main()
