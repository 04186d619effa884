"""The curve over numbers of communities, drawn."""

import numpy as np
import pytest

from blockmix.inference.choices.select import Selection

pytest.importorskip("matplotlib")


def test_every_number_is_drawn_and_the_simplest_is_marked(tmp_path):
    from blockmix.report.pictures.plots import plot_selection

    loss = np.array([[3.0, 3.2, 3.1], [2.0, 2.2, 2.1], [2.0, 2.1, 2.1]])
    chosen = Selection(np.array([2, 5, 10]), loss, loss, loss)
    assert (chosen.best, chosen.simplest) == (10, 5)
    figure = plot_selection(chosen)
    (axes,) = figure.axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), loss.mean(axis=1))
    assert axes.lines[1].get_xdata().tolist() == [5]
    figure.savefig(tmp_path / "k.png")
