"""Static plots: figures with what they promise in them."""

import sys

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.report.pictures import plots

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def texts(figure):
    return {text.get_text() for axes in figure.axes for text in axes.texts}


def test_memberships_show_bridges_first_and_any_node_asked_for(small):
    names = [t.get_text() for t in plots.plot_memberships(small).axes[0].get_yticklabels()]
    assert len(names) == 15
    figure = plots.plot_memberships(small, ["node 20", "node 19"])
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["node 20", "node 19"]
    assert sum(bar.get_width() for bar in figure.axes[0].patches) == pytest.approx(0.97 + 0.98, abs=1e-5)
    with pytest.raises(InputError, match="no node is labelled"):
        plots.plot_memberships(small, ["nobody"])


def test_the_network_has_every_node_and_link(small):
    lines, pies = plots.plot_network(small).axes[0].collections
    assert len(lines.get_paths()) == small.graph.n_edges
    # Every eighth node is a pie of two wedges.
    assert len(pies.get_paths()) == 120 + 15


def test_labels_are_no_mathematics(small, tmp_path):
    plots.plot_memberships(small, ["$\\frac{1}{2}$ ]]> \x07"]).savefig(tmp_path / "a.png")


def test_without_matplotlib_the_remedy_is_named(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"blockmix\[plot\]"):
        plots.plot_network(small)


def test_blocks_show_the_density_within_and_between_communities(small):
    figure = small.plot_blocks()
    shown = figure.axes[0].images[0].get_array()
    communities = list(small.covers())
    assert shown.shape == (len(communities), len(communities))
    assert np.allclose(shown, shown.T)
    # Communities are denser within than between.
    assert (np.diag(shown) >= shown.max(axis=1) - 1e-12).all()
    shares = np.zeros((small.graph.n_nodes, small.n_communities))
    shares[np.repeat(np.arange(len(shares)), np.diff(small.offsets)), small.community] = small.mean
    adjacency = small.graph.to_scipy().toarray()
    k, other = communities[:2]
    linked = shares[:, k] @ adjacency @ shares[:, other]
    pairs = shares[:, k].sum() * shares[:, other].sum() - (shares[:, k] * shares[:, other]).sum()
    assert shown[0, 1] == pytest.approx(linked / pairs)


def test_plots_are_methods_of_the_result(small):
    assert len(small.plot().axes) == len(small.plot_network().axes) == 1
    names = [t.get_text() for t in small.plot_memberships(["node 20"]).axes[0].get_yticklabels()]
    assert names == ["node 20"]
