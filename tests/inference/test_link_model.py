"""`model="auto"` takes popularities where a short run finds that nodes differ in them."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.inference.choices import link_model
from blockmix.inference.choices.link_model import EQUAL, Spread, choose_model, measured_spread
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers


def hubs(seed=2):
    return bm.planted(300, 4, degree=12, degrees="powerlaw", overlap=(1, 1), seed=seed).graph


def test_a_network_with_hubs_gets_popularities_and_the_result_says_why():
    post = bm.fit(hubs(), 4, model="auto", seed=1, sweeps=40, chains=1, progress=False)
    assert post.provenance["model"]["kind"] == "popularity"
    assert post.popularity_mean is not None
    assert "spread of popularities" in post.provenance["model_chosen_by"]
    named = bm.fit(hubs(), 4, model="popularity", seed=1, sweeps=40, chains=1)
    assert named.provenance["model_chosen_by"] == "user"


def test_the_choice_does_not_look_at_the_held_out_pairs():
    """Links and non-links of the split change places: neither the spread nor the choice changes."""
    graph = hubs()
    data = hold_out(graph, 0.1, seed=3)
    other = type(data)(
        data.training, data.pairs, ~data.links, data.kind, data.fraction, data.density, data.seed,
        data.hidden_offsets, data.hidden_neighbors, data.matched,
    )  # fmt: skip
    request = FitRequest(communities=4, model="auto", seed=1)
    with Workers(1) as workers:
        first, second = (choose_model(request, held, workers) for held in (data, other))
    assert first.spread.value == second.spread.value
    assert first.model == second.model
    assert first.spread.value > EQUAL


def test_a_network_of_equals_gets_the_model_of_the_paper():
    graph = bm.planted(300, 6, degree=16, overlap=(1, 1), seed=4).graph
    with Workers(1) as workers:
        choice = choose_model(FitRequest(6, model="auto", seed=1), no_hold_out(graph), workers)
    assert choice.model == "assortative"
    assert choice.spread.value < EQUAL


def test_the_spread_is_the_mean_over_the_last_sweeps_of_a_chain_that_no_fit_has():
    data = hold_out(hubs(), 0.1, seed=3)
    request = FitRequest(4, model="popularity", seed=5)
    with Workers(1) as workers:
        found = measured_spread(request, data, workers)
        sampler, key = request.make_sampler(data, workers), request.chain_key(10**6)
        state, spreads = sampler.init(key), []
        for _ in range(40):
            sampler.step(state, key, True)
            spreads.append(float(state.rho[0]) ** -0.5)
    assert found.value == pytest.approx(np.mean(spreads[30:]))
    assert found.sweeps == 40


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


@pytest.mark.parametrize(("spread", "model", "said"), [(0.24, "assortative", "is 0.24, below 0.25"),
                                                       (0.25, "popularity", "is 0.25, not below 0.25")])  # fmt: skip
def test_a_spread_below_the_limit_means_equal(monkeypatch, spread, model, said):
    monkeypatch.setattr(link_model, "measured_spread", lambda *_: Spread(spread, 40))
    with Workers(1) as workers:
        choice = choose_model(FitRequest(communities=4, model="auto"), hold_out(hubs(), 0.1, seed=3), workers)
    assert choice.model == model
    assert str(choice).endswith(said)


class Clock:
    """A clock that goes on by one second whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize(("limit", "sweeps", "averaged"), [(75.0, 8, 2), (205.0, 21, 5), (1000.0, 40, 10)])
def test_the_short_run_takes_a_tenth_of_a_time_limit_at_most(limit, sweeps, averaged):
    data = hold_out(hubs(), 0.1, seed=3)
    request = FitRequest(4, model="popularity", seed=5, time_limit=limit)
    with Workers(1) as workers:
        found = measured_spread(request, data, workers, Clock())
        sampler, key = request.make_sampler(data, workers), request.chain_key(10**6)
        state = sampler.init(key)
        spreads = [float(sampler.step(state, key, True).measures["spread"]) for _ in range(sweeps)]
    assert found.sweeps == sweeps
    assert found.value == pytest.approx(np.mean(spreads[-averaged:]))
    said = str(link_model.ModelChoice("popularity", found))
    assert (f"a short run of {sweeps} sweeps, for lack of time," in said) == (sweeps < 40)


def test_the_short_run_counts_in_the_time_limit():
    """The clock of a run begins when the short run did: its seconds are among those of the run."""
    from blockmix.inference.fit import fit_request

    request = FitRequest(4, seed=5, time_limit=300.0, chains=1)
    post = fit_request(request, hubs(), progress=False, clock=Clock())
    named = fit_request(FitRequest(4, model="popularity", seed=5, time_limit=300.0, chains=1), hubs(),
                        progress=False, clock=Clock())  # fmt: skip
    assert post.provenance["model"]["kind"] == "popularity"
    assert post.provenance["seconds"] >= 300.0
    assert 28 <= named.provenance["sweeps"] - post.provenance["sweeps"] <= 34
