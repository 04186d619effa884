"""`select_communities`: every K sees the same splits, the grid sees no held-out link, and the scores decide."""

from types import SimpleNamespace

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.split import hold_out
from blockmix.inference.choices import select
from blockmix.inference.choices.select import Selection, select_communities


def links_of(graph):
    return {tuple(edge) for edge in graph.edges().tolist()}


@pytest.fixture
def graph():
    return bm.planted(60, 3, degree=8, seed=2).graph


@pytest.fixture
def fits(monkeypatch):
    """What `fit_for_score` was asked for, in place of fits: the score of K is |K - 4| plus 0.1 of the split."""
    asked = []

    def fit(graph, communities, *, seed, held_out, **options):
        asked.append(SimpleNamespace(communities=communities, seed=seed, held_out=held_out, options=options))
        loss = abs(communities - 4) + 0.1 * (seed - asked[0].seed)
        scores = SimpleNamespace(log_loss=loss, perplexity=2.0 * loss, auc=1.0 / (1.0 + loss))
        return SimpleNamespace(scores=scores)

    monkeypatch.setattr(select, "fit_for_score", fit)
    return asked


def test_every_number_of_communities_is_fitted_to_the_same_splits(graph, fits):
    select_communities(graph, [5, 2, 9], splits=3, seed=7, held_out=0.1)
    by_split = {}
    for one in fits:
        by_split.setdefault(one.seed, []).append(one)
    assert len(by_split) == 3
    for same in by_split.values():
        assert [one.communities for one in same] == [2, 5, 9]
        for one in same:
            np.testing.assert_array_equal(one.held_out.pairs, same[0].held_out.pairs)
            assert links_of(one.held_out.training) == links_of(same[0].held_out.training)
            assert one.held_out.n_links == round(0.1 * graph.n_edges)
    firsts = [links_of(same[0].held_out.training) for same in by_split.values()]
    assert len({frozenset(links) for links in firsts}) == 3, "splits differ from each other"


def test_the_default_grid_is_chosen_without_any_held_out_link(graph, fits, monkeypatch):
    """It is around the number of parts of the links that all splits train on: no more of them, and no fewer."""
    seen = []

    def choose(network, seed):
        seen.append(network)
        return 6

    monkeypatch.setattr(select, "choose_communities", choose)
    found = select_communities(graph, splits=4, seed=3, held_out=0.2)
    assert found.communities.tolist() == [2, 3, 6, 12, 24]
    (network,) = seen
    held_out = set()
    for one in fits:
        held_out |= {tuple(pair) for pair in one.held_out.pairs[one.held_out.links].tolist()}
    assert len(held_out) > 0.5 * graph.n_edges
    assert links_of(network) == links_of(graph) - held_out
    assert network.n_nodes == graph.n_nodes


def test_a_grid_that_is_given_is_taken_sorted_and_once(graph, fits, monkeypatch):
    monkeypatch.setattr(select, "choose_communities", None)
    assert select_communities(graph, iter([8, 3, 8, 1]), splits=1).communities.tolist() == [1, 3, 8]
    with pytest.raises(InputError, match="the grid is empty"):
        select_communities(graph, [], splits=1)
    with pytest.raises(InputError, match="communities must be a whole number of at least 1, not 0"):
        select_communities(graph, [0, 3], splits=1)
    with pytest.raises(InputError, match="splits must be a whole number of at least 1, not 0"):
        select_communities(graph, [3], splits=0)


def test_a_default_grid_around_few_parts_has_no_zero_and_nothing_twice(graph, fits, monkeypatch):
    monkeypatch.setattr(select, "choose_communities", lambda *_: 2)
    assert select_communities(graph, splits=1).communities.tolist() == [1, 2, 4, 8]


def test_where_the_splits_hold_out_every_link_a_grid_must_be_given(graph, fits):
    with pytest.raises(InputError, match="there is none to choose a grid on; name the numbers"):
        select_communities(graph, splits=20, held_out=0.9)
    assert len(select_communities(graph, [2, 3], splits=20, held_out=0.9)) == 2


def test_scores_stand_in_the_row_of_their_k_and_the_column_of_their_split(graph, fits):
    calls = []
    found = select_communities(
        graph, [7, 4], splits=2, seed=5, on_fit=lambda *counts: calls.append(counts), sweeps=9
    )
    np.testing.assert_allclose(found.log_loss, [[0.0, 0.1], [3.0, 3.1]])
    np.testing.assert_allclose(found.perplexity, 2 * found.log_loss)
    np.testing.assert_allclose(found.auc, 1 / (1 + found.log_loss))
    assert calls == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert all(one.options == {"sweeps": 9} for one in fits)


def test_by_default_a_twentieth_of_the_links_is_held_out(graph, fits):
    select_communities(graph, [2], splits=1)
    assert fits[0].held_out.n_links == round(0.05 * graph.n_edges)


def selection(losses):
    losses = np.array(losses, dtype=float)
    return Selection(np.array([2, 4, 8]), losses, 2 * losses, 1 - losses)


def test_the_simplest_is_the_smallest_within_a_standard_error_of_the_difference():
    """The error is that of the difference to the best on the same splits, not of the score itself."""
    # 2 is worse than the best by .02 on every split (error 0), 4 by .01 +- .01
    found = selection([[0.42, 0.32, 0.52], [0.41, 0.32, 0.50], [0.40, 0.30, 0.50]])
    assert (found.best, found.simplest) == (8, 8)
    found = selection([[0.42, 0.32, 0.52], [0.43, 0.29, 0.50], [0.40, 0.30, 0.50]])
    assert (found.best, found.simplest) == (8, 4)
    one = selection([[0.42], [0.40], [0.40]])
    assert (one.best, one.simplest) == (4, 4)


def test_the_interval_is_students():
    from scipy import stats

    found = selection([[0.42, 0.32, 0.52], [0.41, 0.32, 0.50], [0.40, 0.30, 0.50]])
    lower, upper = found.interval(0.8)
    for i, row in enumerate(found.log_loss):
        exact = stats.t.interval(0.8, 2, row.mean(), stats.sem(row))
        assert (lower[i], upper[i]) == pytest.approx(exact)
    assert [row.communities for row in found] == [2, 4, 8]
    assert next(iter(found)).lower == pytest.approx(found.interval(0.9)[0][0])
    assert "* " in repr(found).splitlines()[3]


def test_five_cliques_are_found_by_fits():
    graph = bm.Graph.from_edges(
        [(a + c, b + c) for c in range(0, 60, 12) for a in range(12) for b in range(a)]
    )
    found = select_communities(graph, [1, 5], splits=2, seed=1, held_out=0.1, sweeps=60, chains=1, threads=1)
    assert found.best == found.simplest == 5
    data = hold_out(graph, 0.1, seed=2)
    post = bm.fit(graph, 5, seed=2, held_out=data, sweeps=60, chains=1, threads=1)
    assert found.log_loss[1, 1] == post.scores.log_loss
