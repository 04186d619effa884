"""`model="auto"` takes the link model that predicts better, by links that are set aside from training."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.split import hold_out
from blockmix.inference.choices import link_model
from blockmix.inference.choices.link_model import choose_model, inner_split, more_non_links
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers


def hubs(seed=2):
    return bm.planted(300, 4, degree=12, degrees="powerlaw", overlap=(1, 1), seed=seed).graph


def test_a_network_with_hubs_gets_popularities_and_the_result_says_why():
    post = bm.fit(hubs(), 4, model="auto", seed=1, sweeps=40, chains=1, progress=False)
    assert post.provenance["model"]["kind"] == "popularity"
    assert post.popularity_mean is not None
    assert "set aside from training" in post.provenance["model_chosen_by"]
    assert bm.fit(hubs(), 4, seed=1, sweeps=40, chains=1).provenance["model_chosen_by"] == "user"


def test_the_choice_does_not_look_at_the_held_out_pairs():
    """Links and non-links of the outer split change places: neither the losses nor the choice change."""
    graph = hubs()
    data = hold_out(graph, 0.1, seed=3)
    other = type(data)(
        data.training, data.pairs, ~data.links, data.kind, data.fraction, data.density, data.seed,
        data.hidden_offsets, data.hidden_neighbors, data.matched,
    )  # fmt: skip
    request = FitRequest(communities=4, model="auto", seed=1)
    with Workers(1) as workers:
        first, second = (choose_model(request, held, workers) for held in (data, other))
    assert first == second
    assert set(first.losses) == {"assortative", "popularity"}


def test_an_inner_split_hides_the_outer_pairs_too():
    data = hold_out(hubs(), 0.1, seed=3)
    inner = inner_split(data, 5)
    hidden = {
        (a, int(b))
        for a in range(300)
        for b in inner.hidden_neighbors[inner.hidden_offsets[a] : inner.hidden_offsets[a + 1]]
    }
    both = np.concatenate([inner.pairs, data.pairs])
    assert {tuple(pair) for pair in both.tolist()} <= hidden
    assert len(hidden) == 2 * len(both)
    assert not inner.training.has_edges(inner.pairs).any()
    # A held-out link of the outer split must not be scored as a non-link of the inner one.
    outer = {tuple(pair) for pair in data.pairs[data.links].tolist()}
    assert not outer & {tuple(pair) for pair in inner.pairs.tolist()}


def test_further_non_links_are_neither_links_nor_held_out():
    data = hold_out(hubs(), 0.1, seed=3)
    inner = inner_split(data, 5)
    more = more_non_links(data, inner, 5)
    assert len(more) > 5000
    assert (more[:, 0] < more[:, 1]).all()
    assert not data.training.has_edges(more).any()
    held = {tuple(pair) for pair in np.concatenate([data.pairs, inner.pairs]).tolist()}
    assert not held & {tuple(pair) for pair in more.tolist()}


def test_with_too_few_links_the_model_of_the_paper_is_taken():
    post = bm.fit(bm.planted(20, 3, degree=4, seed=1).graph, 3, model="auto", sweeps=20, held_out=0)
    assert post.provenance["model"]["kind"] == "assortative"
    assert "too few links" in post.provenance["model_chosen_by"]


def test_what_cannot_be_honoured_by_both_models_is_refused():
    with pytest.raises(InputError, match="unknown option moves"):
        bm.fit(hubs(), 4, model="auto", moves="cir")
    with pytest.raises(InputError, match="sampler 'scir'"):
        bm.fit(hubs(), 4, model="auto", sampler="cgs")


def test_a_resumed_run_keeps_the_model_that_was_chosen(tmp_path):
    graph = hubs()
    whole = bm.fit(graph, 4, model="auto", seed=1, sweeps=30, chains=1)
    bm.fit(graph, 4, model="auto", seed=1, sweeps=20, chains=1, checkpoint=tmp_path / "run")
    again = bm.resume(tmp_path / "run", sweeps=30)
    assert again.provenance["model_chosen_by"] == whole.provenance["model_chosen_by"]
    np.testing.assert_array_equal(again.popularity_mean.shape, whole.popularity_mean.shape)


def test_the_lower_loss_wins(monkeypatch):
    losses = {"assortative": 2.0, "popularity": 3.0}
    monkeypatch.setattr(link_model, "_loss", lambda request, *_: losses[request.model])
    data = hold_out(hubs(), 0.1, seed=3)
    with Workers(1) as workers:
        choice = choose_model(FitRequest(communities=4, model="auto"), data, workers)
    assert choice.model == "assortative"
    assert str(choice).endswith("assortative 2.000, popularity 3.000")
