"""A split that does not belong to its network is refused before a run goes on with it."""

from dataclasses import replace

import pytest

import blockmix as bm
from blockmix.files import Damaged
from blockmix.graph.split import hold_out
from blockmix.inference.run_folder.checks import check_split


def test_weights_are_on_the_network_and_the_training_network_or_on_neither():
    pairs = [(a, b, 1.0 + a % 3) for a, b in bm.planted(30, 3, degree=6, seed=1).graph.edges().tolist()]
    graph = bm.as_graph(pairs, weights=True)
    data = hold_out(graph, 0.1, seed=1)
    check_split(graph, data)
    check_split(graph.without_weights(), replace(data, training=data.training.without_weights()))
    with pytest.raises(Damaged, match="only one has links with weights"):
        check_split(graph, replace(data, training=data.training.without_weights()))
    with pytest.raises(Damaged, match="only one has links with weights"):
        check_split(graph.without_weights(), data)
