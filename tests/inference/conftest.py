"""Networks that the tests of the loop share; made once, because they are frozen."""

import pytest

from blockmix import Graph, planted
from blockmix.graph.planted import Planted


@pytest.fixture(scope="session")
def small_planted() -> Planted:
    """300 nodes in 6 communities, one or two each: the truth predicts its links with an AUC of 0.83."""
    return planted(300, 6, degree=16, overlap=(1, 2), seed=3)


@pytest.fixture(scope="session")
def small(small_planted) -> Graph:
    """The network of `small_planted`."""
    return small_planted.graph


@pytest.fixture(scope="session")
def medium() -> Graph:
    """1,500 nodes: enough for each of the five batches of a sweep to be shared by three threads."""
    return planted(1500, 10, degree=10, seed=5).graph
