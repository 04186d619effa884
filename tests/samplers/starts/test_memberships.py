"""A start from a hard partition: mostly in the node's part, strengths at the density of links inside it."""

import numpy as np
import pytest

from blockmix.graph.graph import Graph
from blockmix.model import Model
from blockmix.samplers.starts.memberships import HOME_SHARE, dense_rows, start_rows, start_strengths

# A clique of four nodes, a path of three, one link between them, a node without links; the last part is empty.
LINKS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (4, 5), (5, 6), (3, 4)]
PARTS = np.array([0, 0, 0, 0, 1, 1, 1, 2])


@pytest.fixture
def graph():
    return Graph.from_edges(LINKS, nodes=range(8))


def test_strengths_start_at_the_density_inside_each_part_and_the_background_between_them(graph):
    """Pairs of different nodes only; one link and one non-link more, so that none is 0 or 1."""
    found = start_strengths(graph, PARTS, Model(4))
    inside, between = 6 + 3, 28 - 6 - 3
    np.testing.assert_allclose(found.value, [7 / 8, 3 / 5, 1 / 2, 1 / 2, 2 / (between + 2)])
    np.testing.assert_allclose(found.total, [8, 5, 2, 2, between + 2])
    np.testing.assert_array_equal(found.expansion, found.total)
    assert inside + between == graph.n_pairs
    assert start_strengths(graph, PARTS, Model(4, background=0.03)).value[-1] == 0.03


def test_rows_start_mostly_in_the_part_and_a_little_in_another_community(graph):
    model = Model(4)
    rows = start_rows(graph, PARTS, model, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(rows.words[:, 0], PARTS)
    np.testing.assert_allclose(rows.weights[:, 1], HOME_SHARE)
    np.testing.assert_allclose(rows.weights[:, 1] + rows.weights[:, 3], 1.0)
    assert (rows.words[:, 2] != PARTS).all()
    assert ((rows.words[:, 2] >= 0) & (rows.words[:, 2] < 4)).all()
    assert (rows.words[:, 4] == -1).all()
    np.testing.assert_allclose(rows.total, graph.degrees + 4 * model.concentrations(graph.degrees), rtol=1e-6)
    dense = dense_rows(rows, 4)
    for a in range(8):
        expected = np.zeros(4)
        expected[rows.words[a, [0, 2]]] = rows.weights[a, [1, 3]]
        np.testing.assert_array_equal(dense.weights[a, 1::2], expected.astype(np.float32))


def test_with_one_community_or_one_slot_a_node_is_in_its_part_alone(graph):
    for communities, slots, parts in ((1, 3, np.zeros(8, dtype=np.int64)), (4, 1, PARTS)):
        rows = start_rows(graph, parts, Model(communities), slots, np.random.default_rng(1))
        np.testing.assert_array_equal(rows.weights[:, 1], 1.0)
        assert (rows.words[:, 2::2] == -1).all()
