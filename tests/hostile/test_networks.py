"""Saved networks whose every array is in order and whose rows do not fit together, and files that ranks read alone."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blockmix import Graph, InputError, fit, partition
from blockmix.engines.slices import Mapped
from blockmix.files import Damaged
from blockmix.graph.accept import as_graph
from blockmix.graph.query import is_mutual
from blockmix.graph.split import hold_out
from blockmix.graph.storage import saved_at
from blockmix.posterior.quantities import sampled_pairs

sys.path.insert(0, str(Path(__file__).parent))
from changes import change_rows, reseal


class Choice(random.Random):
    """Chance that chooses a certain change of rows, and node 7."""

    def __init__(self, what: str) -> None:
        super().__init__(1)
        self.what = what

    def choice(self, options):
        return self.what if self.what in options else options[min(7, len(options) - 1)]


@pytest.fixture
def saved(tmp_path) -> Path:
    links = [(a, b) for a in range(40) for b in range(a + 1, min(a + 4, 40))]
    Graph.from_edges(links, weights=[1.0 + a % 3 for a, _ in links]).save(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.mark.parametrize("what", ["upward", "downward", "full", "itself", "one way", "moved"])
def test_rows_that_do_not_fit_together_are_refused_before_a_run(saved, what):
    """Upward rows list twice as many links as there is room for: that was written beside the array."""
    change_rows(saved, Choice(what))
    reseal(saved)
    for use in (as_graph, partition, fit, lambda folder: as_graph(Graph.load(folder))):
        with pytest.raises(InputError, match="a link in the rows of both of its nodes"):
            use(saved)


@pytest.mark.parametrize("what", ["upward", "downward"])
def test_links_are_not_listed_beside_their_array(saved, what):
    """As results do, whose network is not looked through when they are loaded."""
    change_rows(saved, Choice(what))
    reseal(saved)
    graph = Graph.load(saved)
    for use in (
        lambda: graph.edges(),
        lambda: replace(graph, summary=None).edges(),
        lambda: hold_out(graph, 0.2),
        lambda: sampled_pairs(graph),
    ):
        with pytest.raises(InputError, match="this network is damaged"):
            use()


def test_a_link_with_two_weights_is_refused(saved):
    weights = np.load(saved / "weights.npy")
    weights[0] += 1.0
    np.save(saved / "weights.npy", weights)
    reseal(saved)
    with pytest.raises(InputError, match="this network is damaged"):
        as_graph(saved)


def test_a_node_of_a_directed_network_has_no_link_to_itself(tmp_path):
    graph = Graph.from_edges([(a, (a + 1) % 9) for a in range(9)], directed=True)
    graph.save(tmp_path / "saved")
    as_graph(tmp_path / "saved")
    # Every link from a to a + 1 becomes one from a to a.
    entries = np.concatenate((np.arange(9, 18), np.arange(9))).astype(graph.neighbors.dtype)
    np.save(tmp_path / "saved" / "neighbors.npy", entries)
    reseal(tmp_path / "saved")
    with pytest.raises(InputError, match="this network is damaged"):
        as_graph(tmp_path / "saved")


def test_rows_fit_together_as_the_definition_says():
    """On random networks, of which some are spoiled: in order, every link in both rows, no node linked to itself."""
    rng = np.random.default_rng(5)
    found = {True: 0, False: 0}
    for _ in range(400):
        nodes = int(rng.integers(2, 9))
        matrix = np.triu(rng.random((nodes, nodes)) < 0.4, 1)
        matrix |= matrix.T
        spoiled = rng.random()
        if spoiled < 0.4:
            matrix[rng.integers(nodes), rng.integers(nodes)] ^= True
        rows = [np.flatnonzero(row) for row in matrix]
        if spoiled < 0.2:
            rows = [row[::-1] for row in rows]
        right = all((np.diff(row) > 0).all() for row in rows) and (matrix == matrix.T).all()
        right = bool(right and not matrix.diagonal().any())
        offsets, entries = np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32)
        found[right] += 1
        assert is_mutual(offsets, entries, None, 0) == right
    assert min(found.values()) > 50


def test_networks_in_order_are_accepted(saved):
    graph = as_graph(saved)
    assert as_graph(graph) is graph
    assert "loaded_from" not in vars(graph)
    lonely = Graph.from_edges([(0, 1)], nodes=range(5))
    lonely.save(saved.with_name("lonely"))
    assert as_graph(saved.with_name("lonely")).n_edges == 1


@pytest.mark.parametrize(
    ("name", "at", "value", "expected"),
    [
        ("offsets", 3, 10**9, "do not lie within neighbors.npy"),
        ("offsets", 3, -5, "do not lie within neighbors.npy"),
        ("offsets", 5, 1, "do not lie within neighbors.npy"),
        ("neighbors", 0, 40, "neighbors.npy: entry 0 is 40"),
    ],
)
def test_a_rank_refuses_rows_of_other_files_than_rank_0_has_verified(saved, name, at, value, expected):
    seen = saved_at(Graph.load(saved))
    array = np.load(saved / f"{name}.npy")
    array[at] = value
    np.save(saved / f"{name}.npy", array)
    rows = Mapped(seen, np.array([[0, 1]]), np.array([True]))
    with pytest.raises(InputError, match=expected):
        rows.training(np.arange(0, 10))


def test_a_rank_refuses_a_network_of_fewer_nodes(saved):
    seen = saved_at(Graph.load(saved))
    manifest = json.loads((saved / "manifest.json").read_text())
    offsets = np.load(saved / "offsets.npy")[:11]
    np.save(saved / "offsets.npy", offsets)
    np.save(saved / "neighbors.npy", np.load(saved / "neighbors.npy")[: offsets[-1]])
    (saved / "manifest.json").write_text(json.dumps(manifest | {"nodes": 10}))
    reseal(saved)
    rows = Mapped(seen, np.array([[0, 1]]), np.array([True]))
    with pytest.raises(InputError, match="it has 10 nodes"):
        rows.training(np.arange(0, 40))


@pytest.mark.parametrize("nodes", ["../x", None, [], 39, -1])
def test_a_rank_refuses_a_manifest_with_another_number_of_nodes(saved, nodes):
    seen = saved_at(Graph.load(saved))
    body = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps(body | {"nodes": nodes}))
    reseal(saved)
    with pytest.raises(Damaged, match="not as long as the manifest says"):
        Mapped(seen, np.array([[0, 1]]), np.array([True]))


def test_a_rank_refuses_offsets_without_entries(saved):
    seen = saved_at(Graph.load(saved))
    np.save(saved / "offsets.npy", np.empty(0, dtype=np.int64))
    with pytest.raises(Damaged, match="not as long as the manifest says"):
        Mapped(seen, np.array([[0, 1]]), np.array([True]))
