"""The links within and between communities as a picture of squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blockmix.errors import InputError
from blockmix.posterior.answers.of_communities import link_density
from blockmix.posterior.posterior import Posterior
from blockmix.report.pictures.plots import _figure, _finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COMMUNITIES = 60


def plot_blocks(post: Posterior, *, threshold: float = 0.1) -> Figure:
    """Plot how dense links are within every community and between each two, in the order of the communities.

    A square is the share of pairs that are linked, each pair counted by how much its ends are members. Of more than 60
    communities the first 60 are shown.
    """
    figure = _figure(6.0, 5.2)
    numbers = np.array(list(post.covers(threshold)), dtype=np.int64)
    if not len(numbers):
        raise InputError(f"there is no community to plot at the threshold {threshold:g}")
    shown = numbers[:MOST_COMMUNITIES]
    density = link_density(post, np.repeat(shown, len(shown)), np.tile(shown, len(shown)))
    density = density.reshape(len(shown), len(shown))
    axes = figure.add_subplot()
    image = axes.imshow(density, cmap="Blues", vmin=0.0, interpolation="nearest")
    figure.colorbar(image, ax=axes, label="share of pairs linked", shrink=0.8)
    places = np.arange(len(shown))[:: max(1, len(shown) // 15)]
    axes.set_xticks(places, [str(k) for k in shown[places]])
    axes.set_yticks(places, [str(k) for k in shown[places]])
    rest = f", the first {len(shown)} of {len(numbers):,}" if len(shown) < len(numbers) else ""
    _finish(axes, title=f"Links within and between communities{rest}", xlabel="community", ylabel="community")
    return figure
