"""A request is checked once, when it is made: mistakes and settings without effect are named, with the remedy."""

import json

import pytest

from blockmix import Graph, InputError, fit, hold_out, planted
from blockmix.inference.request import FitRequest
from blockmix.samplers import SAMPLERS


@pytest.fixture(scope="module")
def split():
    return hold_out(planted(60, 3, degree=8, seed=4).graph, 0.1, seed=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"options": {"neighbors": 16}}, r'neighbors=16 has no effect: it belongs to moves="cir"; add that'),
        ({"options": {"neighbors": 5, "form": "sparse"}}, "neighbors=5 has no effect"),
        ({"options": {"slots": 9, "form": "dense"}}, r'slots=9 has no effect: form="dense" keeps all of a row'),
        ({"options": {"smallest": 0.1, "form": "dense"}}, "smallest=0.1 has no effect"),
        ({"options": {"start": "random"}, "init": [[0, 1]]}, "start='random' has no effect: the chains start from"),
        ({"sampler": "svi", "options": {"tolerance": 0.1}}, r'tolerance=0.1 has no effect: it belongs to pairs="fac'),
        ({"sampler": "svi", "options": {"most_rounds": 9}}, "most_rounds=9 has no effect"),
        ({"sampler": "sgmc", "options": {"schedule": "constant", "decay": 0.6}}, "decay=0.6 has no effect"),
        ({"sampler": "sgmc-m", "options": {"schedule": "constant", "delay": 9.0}}, "delay=9.0 has no effect"),
        ({"checkpoint_every": 60.0}, "checkpoint_every=60 .* there is no folder for checkpoints; name one"),
        ({"checkpoint_every": 0}, "checkpoint_every=0 .* has no effect"),
        ({"held_out": 0, "held_out_kind": "balanced"}, "held_out_kind='balanced' .* nothing is held out; give"),
        ({"held_out_kind": "half"}, "kind='half'"),
        ({"held_out": "much"}, "held_out must be a share of the links.*not 'much'"),
        ({"threads": 0}, "threads must be a whole number of at least 1, not 0"),
        ({"threads": -1}, "threads must be a whole number of at least 1, not -1"),
        ({"threads": 1.5}, "threads must be a whole number"),
        ({"sampler": "svi", "init": [[0, 1]]}, "init is a start for the sampler 'scir', not for 'svi'"),
    ],
    ids=str,
)  # fmt: skip
def test_a_setting_that_is_wrong_or_has_no_effect_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        FitRequest(3, **wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"options": {"neighbors": 16, "moves": "cir"}},
        {"options": {"neighbors": 16, "non_links": 3}},
        {"options": {"slots": 9, "moves": "cir"}},
        {"sampler": "svi", "options": {"tolerance": 0.1, "pairs": "factors"}},
        {"sampler": "sgmc", "options": {"decay": 0.6}},
        {"checkpoint": "run", "checkpoint_every": 0},
        {"held_out": 0.1, "held_out_kind": "balanced"},
        {"held_out_kind": "proportional"},
        {"threads": 1},
    ],
    ids=str,
)
def test_a_setting_that_has_an_effect_is_not(right):
    FitRequest(3, **right)


def test_a_kind_of_hold_out_beside_a_split_that_was_made_is_refused(split):
    with pytest.raises(InputError, match="held_out is a split that was made already"):
        FitRequest(3, held_out=split, held_out_kind="balanced")


def test_a_kind_of_hold_out_is_refused_where_the_default_holds_nothing_out():
    ring = Graph.from_edges([(a, (a + 1) % 30) for a in range(30)])
    with pytest.raises(InputError, match="by default nothing is held out of a network as small"):
        fit(ring, 2, held_out_kind="balanced", sweeps=5)


def test_fit_makes_the_same_checks(split):
    with pytest.raises(InputError, match="threads must be a whole number of at least 1, not 0"):
        fit(split.training, 3, threads=0)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, known in SAMPLERS.items() for name in known]
)
def test_a_request_comes_back_from_its_manifest(kind, name):
    request = FitRequest(4, model=kind, sampler=name, seed=2**64 - 1, chains=3, alpha=0.2, eta=(1, 2))
    stored = json.loads(json.dumps(request.manifest()))
    assert FitRequest.from_manifest(stored) == request
    assert FitRequest.from_manifest(stored, threads=2).threads == 2


def test_manifests_of_earlier_versions_are_read():
    """All settings were written, also those without effect."""
    stored = {
        "model": {"communities": 4, "alpha": None, "eta": [1.0, 1.0], "background": None, "kind": "assortative"},
        "sampler": "scir", "seed": 7, "chains": 2, "chosen": True, "device": "cpu",
        "options": {
            "slots": 8, "moves": "auto", "batches": 5, "smallest": 0.005, "cut": 0.0, "start": "partition",
            "neighbors": 16, "non_links": 0, "step": 0.5, "form": "auto",
        },
    }  # fmt: skip
    request = FitRequest.from_manifest(stored)
    assert (request.communities, request.options.slots, request.chosen) == (4, 8, True)
    expected = stored | {
        "model": stored["model"] | {"eta": (1.0, 1.0)},
        "model_chosen": "",
        "device_chosen": "",
    }
    assert request.manifest() == expected | {"options": stored["options"] | {"weighted": True, "exact": None}}


def test_settings_of_a_sampler_before_it_had_forms_are_read():
    """All values were written: none of them is replaced by what a form stands for."""
    stored = {
        "model": {"communities": 4, "alpha": None, "eta": [1.0, 1.0], "background": None, "kind": "assortative"},
        "sampler": "sgmc", "seed": 7, "chains": 1, "chosen": False, "device": "cpu",
        "options": {
            "neighbors": 10, "non_neighbors": 10, "batch_non_links": 32, "preconditioned": False, "totals": "auto",
            "schedule": "annealed", "step": None, "strength_step": None, "delay": None, "decay": 0.5,
            "strength_share": 1.0, "start": "random",
        },
    }  # fmt: skip
    options = FitRequest.from_manifest(stored).manifest()["options"]
    more = {"form": "corrected", "non_links_of": "node", "scales": "exact"}
    assert options == stored["options"] | more


def test_what_depends_on_the_network_is_filled_in():
    graph = planted(60, 3, degree=8, seed=4).graph
    assert FitRequest().for_network(graph, 5).chains == 8
    assert FitRequest(sampler="sgmc").for_network(graph, 5).chains == 1
    assert FitRequest(chains=2).for_network(graph, 5).chains == 2
    assert FitRequest(6).for_network(graph).communities == 6
    assert FitRequest().for_network(graph, 5).prior.communities == 5


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("alpha", "x", "alpha must be a positive number, from 1e-12 to 1e.06, not 'x'; leave it out"),
        ("alpha", 1e300, "alpha must be a positive number.*not 1e\\+300"),
        ("alpha", True, "alpha must be a positive number.*not True"),
        ("eta", (1e300, 1.0), "eta must be two positive numbers.*not \\(1e\\+300"),
        ("background", "x", "background must lie strictly between 0 and 1.*not 'x'"),
        ("held_out", "x", "held_out must be a share of the links.*not 'x'"),
        ("held_out", [0.1], "held_out must be a share of the links"),
        ("held_out", float("nan"), "held_out must be a share of the links.*not nan"),
        ("sampler", [], "sampler must be the name of a sampler, not \\[\\]"),
        ("checkpoint", "a\0b", "checkpoint must be the path of a folder: .* has a NUL character"),
        ("threads", float("nan"), "threads must be a whole number of at least 1, not nan"),
        ("threads", 1e30, "threads must be at most 4,096, not 1e\\+30"),
        ("sweeps", 1e30, "sweeps must be at most 4,000,000,000, not 1e\\+30"),
        ("warm_up", 10**10, "warm_up must be at most"),
        ("chains", 10**7, "chains must be at most 1,000,000"),
        ("communities", 1e30, "communities must be at most 2,147,483,647"),
        ("time_limit", True, "time_limit must be a positive number of seconds, not True"),
        ("checkpoint", 3, "checkpoint must be the path of a folder, not 3"),
        ("checkpoint", "", "checkpoint must be the path of a folder, not an empty text"),
        ("held_out_kind", "x", "held_out_kind='x'.*use 'balanced' or 'proportional'"),
        ("held_out_kind", [], "held_out_kind=\\[\\].*use 'balanced' or 'proportional'"),
        ("force", "yes", "force must be True or False, not 'yes'"),
        ("progress", "yes", "progress must be True, False or None, not 'yes'"),
        ("callback", 3, "callback must be a function"),
    ],
)
def test_odd_arguments_of_fit_are_refused_by_name_and_value(small, name, value, expected):
    with pytest.raises(InputError, match=expected):
        fit(small, **{"communities": 3, "sweeps": 2, name: value})
