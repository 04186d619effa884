"""Draw docs/figures/degrees.svg: expected degrees under the posterior against observed ones, by both link models.

python docs/degrees.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import blockmix as bm

mpl.use("svg")
# The same file for the same data: no date, no random identifiers.
mpl.rcParams["svg.hashsalt"] = "blockmix"
TARGET = Path(__file__).parent / "figures" / "degrees.svg"
NODES, COMMUNITIES, DEGREE = 600, 6, 14
COLOURS = {"assortative": "#0072B2", "popularity": "#D55E00"}


def expected_degrees(post: bm.Posterior) -> np.ndarray:
    """Return the sum of the link probabilities of every node with all others."""
    pairs = np.column_stack(np.triu_indices(NODES, 1)).astype(np.int64)
    probability = post.node_link_probability(pairs)
    return np.bincount(pairs[:, 0], probability, NODES) + np.bincount(pairs[:, 1], probability, NODES)


def main() -> None:
    """Fit both models to one network and draw them side by side."""
    import matplotlib.pyplot as plt

    graph = bm.planted(NODES, COMMUNITIES, degree=DEGREE, degrees="powerlaw", seed=1).graph
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.5), sharex=True, sharey=True, layout="constrained")
    for axis, (model, colour) in zip(axes, COLOURS.items(), strict=True):
        post = bm.fit(graph, COMMUNITIES, model=model, seed=1, sweeps=150, held_out=0, progress=False)  # type: ignore[arg-type]
        expected = expected_degrees(post)
        linked = graph.degrees > 0
        axis.loglog(
            graph.degrees[linked],
            expected[linked],
            ".",
            color=colour,
            alpha=0.5,
            markersize=4,
            rasterized=True,
        )
        limits = [1, float(graph.degrees.max()) * 1.2]
        axis.plot(limits, limits, color="0.5", linewidth=0.8)
        hubs = np.argsort(-graph.degrees)[:6]
        share = expected[hubs].sum() / graph.degrees[hubs].sum()
        axis.set(title=f"{model}: 1% largest at {share:.0%}", xlabel="links of a node")
    axes[0].set_ylabel("expected under the posterior")
    TARGET.parent.mkdir(exist_ok=True)
    figure.savefig(TARGET, metadata={"Date": None}, dpi=150)


if __name__ == "__main__":
    main()
