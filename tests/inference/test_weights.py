"""A fit of a network with weights, as users run it: what it learns, scores and keeps, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.generators.simulate import simulate
from blockmix.inference.choices import weight_law
from blockmix.inference.choices.weights import may_be_counts
from blockmix.inference.request import FitRequest
from blockmix.posterior.export.files import write_held_out

SHORT = {"model": "popularity", "sweeps": 60, "warm_up": 30, "chains": 1, "seed": 3, "progress": False}


def network(law, seed=1):
    """100 nodes in 4 communities, with counts or amounts as weights."""
    options = {
        "degree": 14,
        "alpha": 0.1,
        "background": 0.004,
        "degrees": "gamma",
        "rho": 3.0,
        "weights": law,
        "unit_shape": 4.0,
    }
    return simulate(100, 4, seed=seed, **options).graph


@pytest.fixture(scope="module", params=["counts", "amounts"])
def law(request):
    return request.param


@pytest.fixture(scope="module")
def post(law):
    return bm.fit(network(law), 4, held_out=0.15, weight_law=law, **SHORT)


def test_whole_numbers_that_are_small_may_be_counts(post, law):
    assert post.weight_law == law == post.provenance["model"]["weights"]
    assert may_be_counts(post.graph) == (law == "counts")
    edges = post.graph.edges()
    assert not may_be_counts(bm.Graph.from_edges(edges, weights=1000.0 * np.arange(1, len(edges) + 1)))


@pytest.mark.parametrize(("better", "worse"), [("counts", "amounts"), ("amounts", "counts")])
def test_the_law_of_whole_numbers_is_the_one_that_predicts_links_better(monkeypatch, better, worse):
    losses = {better: 1.0, worse: 2.0}
    monkeypatch.setattr(weight_law, "_loss", lambda request, *_: losses[request.weight_law])
    found = bm.fit(network("counts"), 2, **SHORT | {"sweeps": 4, "warm_up": 2})
    assert found.weight_law == better
    assert f"{better} 1.000" in found.provenance["weight_law_chosen_by"]


def test_fractions_are_amounts_without_a_comparison(monkeypatch):
    monkeypatch.setattr(weight_law, "_loss", lambda *_: pytest.fail("compared"))
    found = bm.fit(network("amounts"), 2, **SHORT | {"sweeps": 4, "warm_up": 2})
    assert found.weight_law == "amounts"
    assert "whole numbers" in found.provenance["weight_law_chosen_by"]


def test_weights_of_held_out_links_are_predicted_better_than_by_one_law(post):
    scores = post.weight_scores
    assert scores.n_links == post.scores.n_links
    assert scores.gain > 2.0 * scores.error
    assert scores.correlation > 0.25


def test_expected_weights_of_the_kept_samples_are_those_of_the_run(post):
    """The run averages over all states, the result over those that were kept: here all of them."""
    held_out = post.held_out
    np.testing.assert_allclose(
        post.node_expected_weight(held_out.pairs), held_out.weights.expected, rtol=0.02, atol=1e-3
    )
    total = post.node_expected_weight(np.column_stack(np.triu_indices(100, 1))).sum()
    assert total == pytest.approx(post.graph.total_weight, rel=0.15)


def test_labels_and_node_numbers_ask_the_same(post):
    pairs = [(3, 7), (50, 2)]
    np.testing.assert_array_equal(post.expected_weight(pairs), post.node_expected_weight(np.array(pairs)))
    with pytest.raises(InputError, match="no link to itself"):
        post.node_expected_weight(np.array([(2, 2)]))


def test_a_result_keeps_its_weights(post, tmp_path):
    post.save(tmp_path / "run")
    again = bm.load(tmp_path / "run")
    assert again.weight_scores == post.weight_scores
    pairs = np.array([(0, 1), (4, 99)])
    np.testing.assert_array_equal(again.node_expected_weight(pairs), post.node_expected_weight(pairs))
    assert again.graph.fingerprint == post.graph.fingerprint
    write_held_out(post, tmp_path / "held_out.tsv")
    lines = (tmp_path / "held_out.tsv").read_text().splitlines()
    assert lines[0].split("\t")[-2:] == ["weight", "expected_weight"]
    assert [float(line.split("\t")[4]) for line in lines[1:]] == pytest.approx(
        post.held_out.weights.weight.tolist()
    )


def test_a_resumed_run_goes_on_to_the_same_bits(law, post, tmp_path):
    bm.fit(
        network(law), 4, held_out=0.15, **SHORT | {"sweeps": 45}, weight_law=law, checkpoint=tmp_path / "run"
    )
    longer = bm.resume(tmp_path / "run", sweeps=60, progress=False)
    np.testing.assert_array_equal(longer.held_out.weights.density, post.held_out.weights.density)
    np.testing.assert_array_equal(longer.mean, post.mean)
    assert longer.weight_scores == post.weight_scores


def test_auto_takes_the_model_that_uses_weights():
    auto = bm.fit(network("counts"), 4, **SHORT | {"model": "auto", "sweeps": 6, "warm_up": 3})
    assert auto.provenance["model"]["kind"] == "popularity"
    assert "weights" in auto.provenance["model_chosen_by"]


def test_select_communities_takes_weights():
    found = bm.select_communities(network("counts"), [2], splits=1, sweeps=4, chains=1, model="popularity")
    assert np.isfinite(found.log_loss).all()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"model": "assortative"}, "sees only whether there is a link"),
        ({"model": "mmsb"}, "sees only whether there is a link"),
        ({"model": "assortative", "sampler": "svi"}, "sees only whether there is a link"),
        ({"weight_law": "sizes"}, "must be one of counts, amounts"),
        ({"model": "assortative", "weight_law": "counts"}, "has no effect: the model"),
        ({"weights": True}, "made already"),
    ],
)
def test_weights_that_would_not_be_used_are_an_error(arguments, problem):
    with pytest.raises(InputError, match=problem):
        bm.fit(network("amounts"), 2, **SHORT | arguments)


def test_counts_are_whole_numbers():
    graph = bm.Graph.from_edges([("a", "b", 1), ("b", "c", 1.5)], weights=True)
    with pytest.raises(InputError, match=r"between .b. and .c. has the weight 1\.5"):
        bm.fit(graph, 2, **SHORT, weight_law="counts")


@pytest.mark.parametrize("weight", [5e-324, 1e101])
@pytest.mark.parametrize("law", ["counts", "amounts", None])
def test_weights_whose_sums_would_be_no_numbers_are_refused(weight, law):
    """A result with them was saved, and could not be opened again."""
    edges = network("counts").edges()
    graph = bm.Graph.from_edges(edges, weights=np.full(len(edges), weight))
    with pytest.raises(InputError, match=r"must be from 1e-100 to 1e\+100: multiply or divide"):
        bm.fit(graph, 2, **SHORT, weight_law=law)


def test_a_law_without_weights_is_an_error():
    with pytest.raises(InputError, match="the links of this network have no weights"):
        bm.fit([(0, 1), (1, 2)], 2, **SHORT, weight_law="counts")


def test_a_split_of_the_network_without_weights_is_refused():
    graph = network("counts")
    with pytest.raises(InputError, match="has no weights, other than the network"):
        bm.fit(graph, 2, held_out=bm.hold_out(graph.without_weights(), 0.1), **SHORT)


def test_requests_of_earlier_versions_have_no_law():
    values = json.loads(json.dumps(FitRequest(communities=3, model="popularity").manifest()))
    assert "weights" not in values["model"]
    assert FitRequest.from_manifest(values | {"chains": 1}).weight_law is None


def test_a_result_without_weights_expects_none():
    plain = bm.fit([(0, 1), (1, 2), (0, 2)], 2, **SHORT | {"sweeps": 4, "warm_up": 2})
    assert plain.weight_law is None
    assert plain.weight_scores is None
    with pytest.raises(InputError, match="links without weights"):
        plain.expected_weight([(0, 1)])
