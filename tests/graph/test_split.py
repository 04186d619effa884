"""A held-out split is uniform, reproducible, hides what it holds out, and refuses what cannot be split."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, matched_non_links, no_hold_out

# Every statistical test below has at most this chance of failing on correct code (and the seeds are fixed).
FALSE_ALARM = 1e-4


def ring(nodes, extra=()):
    return Graph.from_edges(np.array([(a, (a + 1) % nodes) for a in range(nodes)] + list(extra)))


def complete(nodes, without=()):
    edges = [pair for pair in itertools.combinations(range(nodes), 2) if pair not in set(without)]
    return Graph.from_edges(np.array(edges), nodes=np.arange(nodes))


def pair_set(pairs):
    return {tuple(pair) for pair in pairs.tolist()}


def check_whole(graph, held):
    """What every split promises."""
    pairs, links = pair_set(held.pairs), pair_set(held.pairs[held.links])
    everything = pair_set(graph.edges())
    assert held.pairs.dtype == np.int64
    assert held.links.dtype == np.bool_
    assert len(pairs) == held.n_pairs
    assert (held.pairs[:, 0] < held.pairs[:, 1]).all()
    assert ((held.pairs >= 0) & (held.pairs < graph.n_nodes)).all()
    assert links == pairs & everything
    assert pair_set(held.training.edges()) == everything - links
    assert list(held.training.labels) == list(graph.labels)
    assert held.density == graph.density
    for a in range(graph.n_nodes):
        row = held.hidden_neighbors[held.hidden_offsets[a] : held.hidden_offsets[a + 1]]
        assert row.tolist() == sorted(({b for pair in pairs if a in pair for b in pair}) - {a})


@st.composite
def networks(draw):
    nodes = draw(st.integers(3, 12))
    pairs = list(itertools.combinations(range(nodes), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=2, unique=True))
    labels = np.array(draw(st.lists(st.integers(-50, 500), min_size=nodes, max_size=nodes, unique=True)))
    return Graph.from_edges(labels[np.array(chosen)], nodes=labels)


@settings(deadline=None, max_examples=60)
@given(
    networks(), st.floats(0.01, 0.99), st.sampled_from(["balanced", "proportional"]), st.integers(0, 2**40)
)
def test_every_network_is_split_correctly_or_refused(graph, fraction, kind, seed):
    try:
        held = hold_out(graph, fraction, kind=kind, seed=seed)
    except InputError:
        missing = graph.n_pairs - graph.n_edges
        n_links = round(fraction * graph.n_edges)
        n_nonlinks = n_links if kind == "balanced" else round(fraction * missing)
        assert not (1 <= n_links < graph.n_edges and 1 <= n_nonlinks <= missing)
        return
    check_whole(graph, held)
    assert held.n_links == round(fraction * graph.n_edges)


def test_balanced_holds_out_as_many_non_links_as_links():
    held = hold_out(ring(100), 0.1, seed=1)
    assert (held.n_links, held.n_pairs, held.kind, held.fraction, held.seed) == (10, 20, "balanced", 0.1, 1)


def test_proportional_holds_out_the_same_fraction_of_both():
    graph = ring(100)
    held = hold_out(graph, 0.1, kind="proportional", seed=1)
    assert (held.n_links, held.n_pairs - held.n_links) == (10, round(0.1 * (graph.n_pairs - 100)))
    check_whole(graph, held)


@pytest.mark.parametrize(
    "graph", [ring(6), complete(8, without=[(0, 1), (0, 7), (3, 4), (5, 6), (6, 7), (2, 5)])]
)
def test_every_set_of_links_and_of_non_links_is_equally_likely(graph):
    # The ring has 9 non-links, the nearly complete network only 6: both come from the same numbering.
    missing = pair_set(np.array(list(itertools.combinations(range(graph.n_nodes), 2)))) - pair_set(
        graph.edges()
    )
    links = {frozenset(s): 0 for s in itertools.combinations(pair_set(graph.edges()), 2)}
    nonlinks = {frozenset(s): 0 for s in itertools.combinations(missing, 2)}
    for seed in range(4000):
        held = hold_out(graph, 2 / graph.n_edges, seed=seed)
        links[frozenset(pair_set(held.pairs[held.links]))] += 1
        nonlinks[frozenset(pair_set(held.pairs[~held.links]))] += 1
    assert stats.chisquare(list(links.values())).pvalue > FALSE_ALARM / 2
    assert stats.chisquare(list(nonlinks.values())).pvalue > FALSE_ALARM / 2


def test_non_links_of_a_large_sparse_network_are_uniform_over_nodes():
    graph = ring(3000)
    held = hold_out(graph, 0.9, seed=3)
    ends = np.bincount(held.pairs[~held.links].ravel() // 300, minlength=10)
    # Ends of different pairs are close to independent; both ends of a pair avoid each other only slightly.
    assert stats.chisquare(ends).pvalue > FALSE_ALARM


def test_the_same_seed_gives_the_same_split_and_another_one_does_not():
    graph = ring(200)
    one, same, other = (hold_out(graph, 0.1, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(one.pairs, same.pairs)
    assert one.training.fingerprint == same.training.fingerprint
    assert not np.array_equal(one.pairs, other.pairs)


def test_all_non_links_can_be_held_out():
    graph = complete(6, without=[(0, 1), (2, 3)])
    held = hold_out(graph, 2 / 13, seed=1)
    assert pair_set(held.pairs[~held.links]) == {(0, 1), (2, 3)}


def test_isolated_nodes_stay_in_the_training_network():
    graph = Graph.from_edges(np.array([(0, 1), (1, 2), (5, 6)]), nodes=np.arange(9))
    check_whole(graph, hold_out(graph, 0.4, seed=2))


def test_nothing_held_out_is_a_split_too():
    graph = ring(5)
    held = no_hold_out(graph)
    assert held.training is graph
    assert held.n_pairs == held.n_links == len(held.hidden_neighbors) == 0
    assert held.hidden_offsets.tolist() == [0] * 6
    check_whole(graph, held)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (ring(5), {"fraction": 0.05}, "less than one link"),
        (ring(5), {"fraction": 0.95}, "leaves no link for training"),
        (ring(5), {"fraction": 0.0}, "fraction=0.0"),
        (ring(5), {"fraction": 1.0}, "fraction=1.0"),
        (ring(5), {"fraction": float("nan")}, "fraction=nan"),
        (ring(5), {"kind": "half"}, "kind='half'"),
        (ring(5), {"seed": -1}, "seed=-1"),
        (complete(5), {}, "all 10 pairs are links"),
        (complete(6, without=[(0, 1)]), {"fraction": 0.5}, "7 non-links cannot be held out of 1"),
        (complete(6, without=[(0, 1)]), {"kind": "proportional", "fraction": 0.1}, "use a larger fraction"),
        (Graph.from_edges(np.array([(0, 1)]), nodes=np.arange(4)), {"fraction": 0.6}, "no link for training"),
    ],
)
def test_what_cannot_be_split_is_refused_with_the_reason(graph, options, message):
    with pytest.raises(InputError, match=message):
        hold_out(graph, **{"fraction": 0.2, "seed": 1, **options})


def test_too_many_pairs_are_refused_with_an_estimate():
    graph = ring(20_000)
    with pytest.raises(InputError, match=r"holds out 99,\d{3},\d{3} pairs \(about 6.4 GB\).*balanced"):
        hold_out(graph, 0.5, kind="proportional", seed=1)


def test_a_graph_without_links_is_refused():
    empty = Graph.from_edges(np.empty((0, 2), dtype=np.int64), nodes=np.arange(4))
    with pytest.raises(InputError, match="0 links is less than one link"):
        hold_out(empty, 0.5, seed=1)


def test_matched_non_links_have_ends_in_proportion_to_their_links():
    """Two hubs of 60 links and many leaves. False alarm: below 1e-6, by 5 standard deviations of a binomial count."""
    edges = [(0, leaf) for leaf in range(2, 62)] + [(1, leaf) for leaf in range(62, 122)]
    graph = Graph.from_edges(np.array(edges + [(a, a + 1) for a in range(2, 121)]))
    found = matched_non_links(graph, 4000, 1)
    assert found.shape == (4000, 2)
    assert (found[:, 0] < found[:, 1]).all()
    assert not graph.has_edges(found).any()
    degrees = graph.degrees.astype(float)
    weight = np.outer(degrees, degrees)
    weight[tuple(graph.edges().T)] = 0.0
    weight = np.triu(weight, 1)
    hub = weight[0].sum() / weight.sum()
    share = (found[:, 0] == 0).mean()
    assert abs(share - hub) < 5 * np.sqrt(hub * (1 - hub) / 4000)
    # uniform non-links would touch this hub once in 61 pairs
    assert share > 0.1


def test_matched_non_links_change_nothing_else_and_are_as_many_as_held_out_links():
    graph = ring(40)
    held = hold_out(graph, 0.2, seed=1)
    assert len(held.matched) == held.n_links
    np.testing.assert_array_equal(held.scored_pairs[: held.n_pairs], held.pairs)
    np.testing.assert_array_equal(hold_out(graph, 0.2, seed=1).matched, held.matched)
    assert len(no_hold_out(graph).scored_pairs) == 0


def test_where_nearly_all_pairs_are_links_there_are_no_matched_ones():
    assert len(matched_non_links(complete(8), 3, 1)) == 0
