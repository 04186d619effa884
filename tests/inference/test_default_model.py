"""A model that is not named: chosen by a short run, unless a sampler, a device, a setting or the network decides."""

import pytest

import blockmix as bm
from blockmix.cli.record import record
from blockmix.errors import InputError
from blockmix.inference.choices.default_model import default_model
from blockmix.inference.choices.select import fit_for_score
from blockmix.inference.request import FitRequest
from blockmix.samplers import SAMPLERS


def hubs(seed=2):
    return bm.planted(300, 4, degree=12, degrees="powerlaw", overlap=(1, 1), seed=seed).graph


def equals(seed=4):
    return bm.planted(300, 6, degree=16, overlap=(1, 1), seed=seed).graph


def chosen(post):
    return post.provenance["model"]["kind"], post.provenance["model_chosen_by"]


@pytest.mark.parametrize(
    ("graph", "model", "said"),
    [(hubs, "popularity", "not below 0.25"), (equals, "assortative", "below 0.25")],
)
def test_a_fit_without_a_model_is_that_of_auto_to_the_bit_and_says_why(graph, model, said):
    common = {"communities": 4, "seed": 1, "sweeps": 30, "chains": 1, "progress": False}
    first, second = bm.fit(graph(), **common), bm.fit(graph(), model="auto", **common)
    assert chosen(first) == chosen(second)
    assert chosen(first)[0] == model
    assert said in chosen(first)[1]
    assert first.mean.tobytes() == second.mean.tobytes()
    named = bm.fit(graph(), model=model, **common)
    assert named.mean.tobytes() == first.mean.tobytes()
    assert chosen(named) == (model, "user")


@pytest.mark.parametrize("sampler", sorted(set(SAMPLERS["assortative"]) - {"scir"}))
def test_a_sampler_without_popularities_decides_and_the_result_says_so(sampler):
    request = FitRequest(4, sampler=sampler)
    assert (request.model, request.model_chosen) == (
        "assortative",
        f"the sampler '{sampler}' has no popularities",
    )


def test_a_named_sampler_is_in_the_provenance_and_in_the_record():
    post = bm.fit(hubs(), 4, sampler="sgmc", seed=1, sweeps=10, progress=False)
    assert chosen(post) == ("assortative", "the sampler 'sgmc' has no popularities")
    assert record(post, 0.1)["model_chosen_by"] == "the sampler 'sgmc' has no popularities"


@pytest.mark.parametrize(
    ("options", "named"),
    [({"moves": "cir"}, "moves='cir'"), ({"exact": False}, "exact=False"), ({"start": "flat"}, "start='flat'"),
     ({"slots": 8, "step": 0.4}, "step=0.4")],
    ids=str,
)  # fmt: skip
def test_a_setting_that_popularities_do_not_have_decides(options, named):
    request = FitRequest(4, options=options)
    assert (request.model, request.model_chosen) == (
        "assortative",
        f"{named} is not a setting of the model with popularities",
    )
    assert all(getattr(request.options, name) == value for name, value in options.items())


@pytest.mark.parametrize(
    "options", [{"slots": 8}, {"batches": 3}, {"smallest": 0.01}, {"start": "random"}], ids=str
)
def test_settings_of_both_models_leave_it_open(options):
    assert FitRequest(4, options=options).model == "auto"
    assert default_model("scir", options, "cpu") == ("auto", "")


def test_the_prior_is_of_both_models_and_is_kept():
    post = bm.fit(
        hubs(), 4, alpha=0.2, eta=(2.0, 3.0), background=0.01, seed=1, sweeps=20, chains=1, progress=False
    )
    assert chosen(post)[0] == "popularity"
    assert post.provenance["model"]["alpha"] == 0.2
    assert post.background_mean == pytest.approx(0.01)
    assert post.concentration is None


def test_a_gpu_decides():
    assert default_model("", {}, "cuda") == ("assortative", "the GPU has no popularities")
    assert default_model("", {}, "auto") == ("auto", "")


def test_device_auto_comes_after_the_model():
    post = bm.fit(hubs(), 4, device="auto", seed=1, sweeps=20, chains=1, progress=False)
    assert chosen(post)[0] == "popularity"
    assert post.provenance["device"] == "cpu"
    assert "assortative model only" in post.provenance["device_chosen_by"]


def test_the_short_run_for_the_plain_reference_is_made_by_the_kernels():
    graph = bm.planted(40, 2, degree=8, overlap=(1, 1), seed=1).graph
    common = {"communities": 2, "seed": 1, "sweeps": 2, "warm_up": 1, "chains": 1, "progress": False}
    found = bm.fit(graph, device="reference", **common)
    assert chosen(found) == chosen(bm.fit(graph, **common))


@pytest.mark.parametrize("what", ["directed", "bipartite", "weights"])
def test_what_the_network_needs_decides(what):
    pairs = [(a, 10 + b) for a in range(10) for b in range(10) if (a + b) % 3]
    if what == "weights":
        graph = bm.Graph.from_edges([(a, b, 1.5) for a, b in pairs], weights=True)
    else:
        graph = bm.Graph.from_edges(pairs, **{what: True})
    common = {"seed": 1, "sweeps": 6, "chains": 1, "held_out": 0, "progress": False}
    assert chosen(bm.fit(graph, 2, **common))[0] == "popularity"
    with pytest.raises(InputError, match="sampler"):
        bm.fit(graph, 2, sampler="cgs", **common)
    with pytest.raises(InputError, match="moves='cir' is not" if what == "weights" else "unknown option"):
        bm.fit(graph, 2, moves="cir", **common)


def test_scores_for_a_number_of_communities_are_those_of_the_default_model():
    post = fit_for_score(hubs(), 4, seed=1, sweeps=20, chains=1, progress=False)
    assert chosen(post)[0] == "popularity"


def test_a_name_that_is_no_setting_is_refused_as_before():
    with pytest.raises(InputError, match="unknown option slot "):
        FitRequest(4, options={"slot": 3})
    with pytest.raises(InputError, match="neighbors=5 has no effect"):
        FitRequest(4, options={"neighbors": 5})
