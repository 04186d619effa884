"""Directed and bipartite networks: how they are made, split, saved and asked for pairs."""

import io
from collections import Counter
from json import dumps

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.sides.sides import node_index, node_pairs, reciprocity
from blockmix.graph.split import draw_pairs, hold_out

ARCS = [("ann", "bob"), ("bob", "ann"), ("ann", "cem"), ("cem", "cem"), ("ann", "cem"), ("dea", "ann")]


def links_of(graph):
    """The links as pairs of labels without roles."""
    first, second = (graph.sides.plain(graph.labels.take(ends)) for ends in graph.edges().T)
    return sorted(zip(first, second, strict=True))


def dense(kind, seed=1, nodes=7, share=0.6):
    """A network with so many links that few pairs are left."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b and rng.random() < share]
    return bm.Graph.from_edges(pairs, **{kind: True})


def test_directions_are_kept_apart_and_self_loops_and_repeats_dropped():
    graph = bm.Graph.from_edges(ARCS, directed=True)
    assert links_of(graph) == [("ann", "bob"), ("ann", "cem"), ("bob", "ann"), ("dea", "ann")]
    assert graph.directed
    assert (graph.summary.nodes, graph.summary.links, graph.summary.self_loops) == (4, 4, 1)
    assert "1 repeated link merged" in graph.summary.notes
    assert graph.summary.isolated == 0
    assert reciprocity(graph) == 0.5
    # cem has no link that goes out, and dea none that comes in.
    assert [graph.labels[int(a)] for a in np.flatnonzero(graph.degrees == 0)] == ["cem (out)", "dea (in)"]


def test_a_label_in_both_columns_is_two_nodes_of_a_bipartite_network():
    graph = bm.Graph.from_edges([("a", "x"), ("b", "x"), ("x", "a")], bipartite=True)
    assert list(graph.labels) == ["a (first)", "x (first)", "b (first)", "a (second)", "x (second)"]
    apart = bm.Graph.from_edges([("a", "x"), ("b", "x")], bipartite=True)
    assert list(apart.labels) == ["a", "b", "x"]
    assert links_of(apart) == [("a", "x"), ("b", "x")]
    assert list(bm.Graph.from_edges([(1, 10), (2, 10)], bipartite=True).labels) == [1, 2, 10]


def test_pairs_that_may_be_linked_are_those_across():
    directed, bipartite = (bm.Graph.from_edges(ARCS, **{kind: True}) for kind in ("directed", "bipartite"))
    assert directed.n_pairs == 4 * 3
    assert bipartite.n_pairs == 4 * 3  # ann, bob, cem, dea by bob, ann, cem
    assert directed.density == 4 / 12
    every = [(a, b) for a in range(8) for b in range(a + 1, 8)]
    allowed = np.array(every)[directed.sides.joins(np.array(every))]
    assert len(allowed) == directed.n_pairs
    assert all(a < 4 <= b and b != a + 4 for a, b in allowed.tolist())


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_every_non_link_across_is_drawn_equally_often(kind):
    """Chi-square over 3,000 draws of two of all non-links; the largest of five seeds at a false-alarm rate of 1e-4."""
    from scipy import stats

    graph = dense(kind)
    free = graph.n_pairs - graph.n_edges
    counts = Counter()
    for seed in range(3000):
        links, others = draw_pairs(graph, 2, 2, seed)
        assert graph.has_edges(links).all()
        assert graph.sides.joins(others).all()
        assert not graph.has_edges(others).any()
        counts.update(map(tuple, others.tolist()))
    assert len(counts) == free
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_a_split_hides_pairs_across_and_a_node_from_itself(kind):
    rng = np.random.default_rng(3)
    graph = bm.Graph.from_edges(rng.integers(0, 30, (150, 2)), **{kind: True})
    data = hold_out(graph, 0.2, seed=2)
    assert data.training.sides == graph.sides
    assert graph.sides.joins(data.scored_pairs).all()
    np.testing.assert_array_equal(graph.has_edges(data.pairs), data.links)
    assert not graph.has_edges(data.matched).any()
    alone = graph.sides.self_pairs()
    assert len(data.hidden_neighbors) == 2 * (len(data.pairs) + len(alone))
    for a, b in alone.tolist():
        assert b in data.hidden_neighbors[data.hidden_offsets[a] : data.hidden_offsets[a + 1]]


@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_a_saved_network_comes_back_with_its_sides(kind, tmp_path):
    graph = bm.Graph.from_edges(ARCS, weights=[1, 2, 3, 4, 5, 6], **{kind: True})
    graph.save(tmp_path / "saved")
    for again in (bm.Graph.load(tmp_path / "saved"), bm.as_graph(tmp_path / "saved")):
        assert again.sides == graph.sides
        assert again.fingerprint == graph.fingerprint
        assert links_of(again) == links_of(graph)
        assert again.attributes["role"].values() == graph.attributes["role"].values()
    assert graph.fingerprint != graph.without_sides().fingerprint


def test_a_saved_network_with_links_inside_a_side_is_refused(tmp_path):
    """The manifest is sealed: it is written anew with another number of nodes on the first side."""
    import json

    from blockmix.files import manifest_text, seal

    bm.Graph.from_edges(ARCS, directed=True).save(tmp_path / "saved")
    path = tmp_path / "saved" / "manifest.json"
    manifest = json.loads(path.read_text())
    wrong = (
        {"first": 3, "directed": False}, {"first": 0, "directed": False}, {"first": 5, "directed": True},
        {"integers": True}, {"directed": False}, {"first": "4"}, {"more": 1},
    )  # fmt: skip
    for sides in wrong:
        changed = manifest | {"sides": manifest["sides"] | sides}
        path.write_text(manifest_text(seal({k: v for k, v in changed.items() if k != "checksum"})))
        with pytest.raises(InputError, match="save the network again"):
            bm.Graph.load(tmp_path / "saved")


def test_weights_of_repeats_are_added_up_by_direction():
    graph = bm.Graph.from_edges([("a", "b"), ("b", "a"), ("a", "b")], weights=[1, 2, 4], directed=True)
    assert graph.weights_of(node_pairs(graph, [("a", "b"), ("b", "a")])).tolist() == [5.0, 2.0]


def test_pairs_of_labels_are_looked_up_each_on_its_side():
    graph = bm.Graph.from_edges(ARCS, directed=True)
    assert node_pairs(graph, [("ann", "bob"), ("bob (out)", "ann (in)")]).tolist() == [[0, 5], [1, 4]]
    with pytest.raises(InputError, match="that sends links is labelled 'eve'"):
        node_pairs(graph, [("eve", "bob")])
    with pytest.raises(InputError, match="that sends links is labelled 'ann \\(in\\)'"):
        node_pairs(graph, [("ann (in)", "bob")])
    with pytest.raises(InputError, match="give 'ann \\(out\\)' or 'ann \\(in\\)'"):
        node_index(graph, "ann")
    apart = bm.Graph.from_edges([("a", "x"), ("b", "x")], bipartite=True)
    with pytest.raises(InputError, match="of the first kind is labelled 'x'"):
        node_pairs(apart, [("x", "a")])


def test_files_tables_and_libraries_give_the_same_directed_network(tmp_path):
    networkx, scipy_sparse = pytest.importorskip("networkx"), pytest.importorskip("scipy.sparse")
    pandas = pytest.importorskip("pandas")
    pairs = [(0, 1), (1, 0), (0, 2), (3, 0)]
    wanted = links_of(bm.Graph.from_edges(pairs, directed=True))
    text = "".join(f"{a} {b}\n" for a, b in pairs)
    network = networkx.DiGraph(pairs)
    networkx.write_graphml(network, tmp_path / "made.graphml")
    matrix = scipy_sparse.csr_array((np.ones(4), np.array(pairs).T), shape=(4, 4))
    frame = pandas.DataFrame(pairs, columns=["source", "target"])
    records = [{"source": a, "target": b} for a, b in pairs]
    json = dumps({"nodes": [{"id": node} for node in range(4)], "links": records})
    for source in (pairs, np.array(pairs), io.StringIO(text), network, matrix, frame, io.StringIO(json)):
        assert links_of(bm.as_graph(source, directed=True)) == wanted, type(source)
    read = bm.read_graph(tmp_path / "made.graphml", directed=True)
    assert sorted((int(a), int(b)) for a, b in links_of(read)) == wanted
    again = bm.as_graph(network, directed=True).to_networkx()
    assert again.is_directed()
    assert sorted(again.edges()) == wanted
    # What happens by default, and how to change it, is in the summary.
    assert "directed=True" in str(bm.as_graph(network).summary)
    assert bm.as_graph(network).sides is None


def test_two_kinds_of_nodes_are_known_by_attribute_column_or_side_of_a_matrix():
    networkx, sparse = pytest.importorskip("networkx"), pytest.importorskip("scipy.sparse")
    network = networkx.Graph()
    network.add_nodes_from(["x", "y"], bipartite=1)
    network.add_nodes_from(["a", "b"], bipartite=0, shape="round")
    network.add_edges_from([("x", "a"), ("b", "x"), ("y", "b")])
    graph = bm.as_graph(network, bipartite=True)
    assert links_of(graph) == [("a", "x"), ("b", "x"), ("b", "y")]
    assert graph.attributes["role"].values() == ["first", "first", "second", "second"]
    assert graph.attributes["shape"].values() == ["round", "round", None, None]
    assert "bipartite=True" in str(bm.as_graph(network).summary)
    assert dict(graph.to_networkx().nodes(data="bipartite")) == {"a": 0, "b": 0, "x": 1, "y": 1}
    matrix = bm.as_graph(sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]])), bipartite=True)
    assert links_of(matrix) == [(0, 0), (0, 2), (1, 1)]
    network.add_edge("a", "b")
    with pytest.raises(InputError, match="two nodes of one kind"):
        bm.as_graph(network, bipartite=True)
    with pytest.raises(InputError, match="no attribute 'bipartite'"):
        bm.as_graph(networkx.Graph([(1, 2)]), bipartite=True)


def test_attributes_of_a_node_are_those_of_both_its_roles():
    graph = bm.as_graph([(1, 2), (2, 3)], directed=True, nodes={"id": [3, 2, 1], "club": ["c", "b", "a"]})
    assert graph.attributes["club"].values() == ["a", "b", "c"] * 2
    assert graph.attributes["role"].values() == ["out"] * 3 + ["in"] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bm.as_graph([(1, 2)], directed=True, bipartite=True), "leave directed out"),
        (lambda: bm.as_graph([(1, 2)], directed="yes"), "must be True or False"),
        (lambda: bm.as_graph("dataset:karate", directed=True), "known networks"),
        (lambda: bm.as_graph(bm.Graph.from_edges([(1, 2)]), directed=True), "made already"),
        (lambda: bm.Graph.from_edges([(1, 2)], nodes=[3], bipartite=True), "3.*has no link"),
        (lambda: bm.read_graph(io.StringIO("3 2\n2 3\n1\n1\n"), format="metis", directed=True), "edge list"),
    ],
)
def test_what_cannot_be_read_with_sides_is_an_error_with_a_remedy(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_converting_a_file_keeps_directions(tmp_path):
    from blockmix.graph.external.convert import convert

    (tmp_path / "edges.txt").write_text("a b\nb a\na c\n")
    convert(tmp_path / "edges.txt", tmp_path / "saved", directed=True)
    assert links_of(bm.Graph.load(tmp_path / "saved")) == [("a", "b"), ("a", "c"), ("b", "a")]
