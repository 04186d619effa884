"""Static plots with matplotlib, for papers and notebooks: each function returns a Figure.

matplotlib comes with `pip install "blockmix[plot]"` and is imported when a plot is made. Figures are made
without pyplot: they open no window, and none stays in memory. Save one with `figure.savefig("network.pdf")`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from blockmix.errors import InputError, optional
from blockmix.graph.labels import Label
from blockmix.inference.choices.select import Selection
from blockmix.posterior.posterior import Posterior
from blockmix.report.communities import Findings
from blockmix.report.pictures.colours import PALETTE, REST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _SOFT, _LINE = "#1d2530", "#5c6673", "#7d8793"
_MOST_BARS = 24


def plot_selection(selection: Selection) -> Figure:
    """Plot held-out log loss against the number of communities, with intervals over splits; mark the simplest."""
    rows = list(selection)
    at = np.array([row.communities for row in rows])
    mean = np.array([row.log_loss for row in rows])
    figure = _figure(5.4, 3.6)
    axes = figure.add_subplot()
    axes.vlines(at, [r.lower for r in rows], [r.upper for r in rows], color=PALETTE[0], lw=1.6, alpha=0.6)
    axes.plot(at, mean, "o-", color=PALETTE[0], lw=1.2, ms=5)
    chosen = at == selection.simplest
    axes.plot(at[chosen], mean[chosen], "o", color=PALETTE[1], ms=8, label=f"K = {selection.simplest}")
    axes.set_xscale("log")
    axes.set_xticks(at, [f"{k:,}" for k in at])
    axes.minorticks_off()
    axes.legend(frameon=False)
    _finish(axes, title="How many communities", xlabel="communities allowed", ylabel="held-out log loss")
    return figure


def plot_memberships(post: Posterior, nodes: Iterable[Label] | None = None, *, level: float = 0.9) -> Figure:
    """Plot bars of the memberships of some nodes, one a line, with the interval of the largest share.

    `nodes` are labels; by default the nodes that surely belong to several communities, or, where there are
    none, those with the most links.
    """
    found = Findings(post, level=level)
    rows = _chosen(found, nodes)
    colours = _colours(found)
    figure = _figure(7.0, 0.9 + 0.3 * len(rows))
    axes = figure.add_subplot()
    for line, node in enumerate(rows):
        _bar(axes, found, node, line, colours)
    axes.set_yticks(range(len(rows)), [_plain(post.graph.labels[a]) for a in rows])
    axes.set(xlim=(0.0, 1.0), ylim=(len(rows) - 0.4, -0.6))
    _finish(axes, title="Memberships", xlabel=f"share of links (line: {level:.0%} interval of the largest)")
    return figure


def _bar(axes: Axes, found: Findings, node: int, line: int, colours: dict[int, str]) -> None:
    """Draw the memberships of a node side by side with their numbers, and the interval of the largest below."""
    post, left = found.post, 0.0
    entries = range(int(post.offsets[node]), int(post.offsets[node + 1]))
    for j in entries:
        number, share = int(post.community[j]), float(post.mean[j])
        axes.barh(line, share, left=left, height=0.72, color=colours.get(number, REST))
        if share >= 0.08:
            axes.text(left + share / 2, line, str(number), ha="center", va="center", size=7, color="white")
        left += share
    if len(entries):
        first = entries[0]
        axes.hlines(line + 0.25, found.bounds[0][first], found.bounds[1][first], color=_INK, lw=1.2)


def plot_network(post: Posterior, *, threshold: float = 0.1, seed: int = 0) -> Figure:
    """Plot the network with every node as a pie chart of its communities; beyond 5,000 nodes the communities."""
    figure = _figure(9.0, 5.7)
    from matplotlib.collections import LineCollection

    from blockmix.report.pictures.drawing import draw
    from blockmix.report.pictures.picture import HEIGHT, WIDTH, all_shares, fitted, name_places

    found = Findings(post, threshold)
    drawing, colours = draw(found, seed=seed)
    x, y, radius = fitted(drawing)
    axes = figure.add_subplot()
    lines = np.column_stack([x, y])[drawing.links]
    width = 0.5 + 2.0 * drawing.weight * (drawing.kind == "map")
    axes.add_collection(LineCollection(list(lines), linewidths=width, colors=_LINE, alpha=0.3))
    axes.add_collection(_pies(x, y, radius, all_shares(found, drawing, colours)))
    for text, middle, line in name_places(found, drawing, x, y, radius):
        axes.text(middle, line, _plain(text), size=7, color=_INK, ha="center", va="center", zorder=3)
    axes.set(aspect="equal", xlim=(0.0, WIDTH), ylim=(HEIGHT, 0.0))
    axes.axis("off")
    return figure


def _pies(x: Any, y: Any, radius: Any, all_shares: list[list[tuple[str, float]]]) -> Any:
    """Draw discs of wedges, from the top and clockwise where y points down."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle, Wedge

    patches: list[Circle | Wedge] = []
    faces: list[str] = []
    for i, shares in enumerate(all_shares):
        total, angle = sum(share for _, share in shares), -90.0
        for colour, share in shares:
            turn = 360.0 * share / total
            whole = len(shares) == 1
            patches.append(
                Circle((x[i], y[i]), radius[i])
                if whole
                else Wedge((x[i], y[i]), radius[i], angle, angle + turn)
            )
            faces.append(colour)
            angle += turn
    return PatchCollection(patches, facecolors=faces, linewidths=0, zorder=2)


def _figure(width: float, height: float) -> Figure:
    module = optional("matplotlib.figure", "a plot", 'pip install "blockmix[plot]"')
    figure: Figure = module.Figure(figsize=(width, height), layout="constrained")
    # Notebooks show figures by themselves only after pyplot was imported; with this they show these too.
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    """Draw a figure for a notebook."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def _finish(axes: Axes, *, title: str, xlabel: str, ylabel: str = "") -> None:
    """Style the axes the same way in all plots: no box, soft ticks."""
    axes.set_title(title, loc="left", size=10, color=_INK)
    axes.set_xlabel(xlabel, size=9, color=_SOFT)
    axes.set_ylabel(ylabel, size=9, color=_SOFT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, colors=_SOFT)


def _chosen(found: Findings, nodes: Iterable[Label] | None) -> list[int]:
    graph = found.post.graph
    if nodes is not None:
        wanted: list[int] = graph.labels.indices(list(nodes)).tolist()
        if not wanted:
            raise InputError("plot_memberships needs at least one node")
        return wanted
    bridges: list[int] = found.bridges[:_MOST_BARS].tolist()
    return bridges or np.argsort(-graph.degrees, kind="stable")[:_MOST_BARS].tolist()


def _colours(found: Findings) -> dict[int, str]:
    """Return the colour of every listed community, the same as in the drawing of the network."""
    from blockmix.report.pictures.drawing import draw

    return {int(k): PALETTE[c] for k, c in zip(found.numbers, draw(found)[1], strict=True)}


def _plain(label: Label) -> str:
    """Escape a label for matplotlib, where dollar signs would start mathematics."""
    from blockmix.report.pictures.picture import shown_name

    return shown_name(str(label)).replace("$", r"\$")
