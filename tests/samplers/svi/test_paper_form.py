"""`form="paper"` of `svi` is the published algorithm: whole mini-batches of it are those of the reference."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.data import non_link_weight
from blockmix.samplers.svi import reference
from blockmix.samplers.svi.options import CORRECTED, PAPER, SviOptions
from blockmix.samplers.svi.sampler import PAPER_BACKGROUND, Svi

KEY, NODES, COMMUNITIES, ALPHA = (3, 4), 40, 4, 0.3
FORMS = {
    "paper": {"form": "paper"},
    "paper, joint pairs": {"form": "paper", "pairs": "joint"},
    "paper, weighted": {"form": "paper", "weighted": True},
    "paper, its own steps": {"form": "paper", "step": 0.3, "delay": 7.0, "decay": 0.8, "strength_step": 0.2},
    "pairs of the mini-batch": {"evidence": "pairs"},
}


@pytest.fixture(scope="module")
def data():
    return hold_out(planted(NODES, COMMUNITIES, degree=7, seed=2).graph, 0.1, seed=3)


def joint(y, log_a, log_b, levels):
    return reference.joint_indicators(y, log_a, log_b, levels)


def coupled(tolerance):
    def local(y, log_a, log_b, levels):
        return reference.coupled_indicators(y, log_a, log_b, levels, tolerance=tolerance, most=50)

    return local


@pytest.mark.parametrize("form", FORMS)
def test_mini_batches_are_those_of_the_reference(form, data):
    """(V7), (V10) The factors of all nodes, in the mini-batch or not, and of the strengths."""
    options = SviOptions(**FORMS[form])
    with Workers(1) as workers:
        sampler = Svi(data, Model(COMMUNITIES, alpha=ALPHA), options, workers)
        sampler.batches.__class__ = type("One", (type(sampler.batches),), {"per_sweep": 1})
        state, kinds = sampler.init(KEY), set()
        prior = reference.Prior(
            ALPHA, background=sampler.background, background_eta=(float(sampler.nodes), 1.0)
        )
        local = joint if options.pairs == "joint" else coupled(options.tolerance)
        for t in range(8):
            gamma, strengths = state.factors.gamma.copy(), state.strengths.copy()
            batch = sampler.batches.draw(KEY, t)
            kinds.add(batch.y)
            sampler.step(state, KEY, False)
            weight = 1.0 if batch.y or not options.weighted else non_link_weight(data)
            pairs = list(zip(batch.first.tolist(), batch.second.tolist(), strict=True))
            target, inside = reference.batch_targets(
                gamma, strengths, pairs, batch.y, weight * batch.scale, prior, local
            )
            rho = reference.step_size(t, options.step, options.delay, options.decay)
            np.testing.assert_allclose(
                state.factors.gamma, reference.natural_step(gamma, target, rho), rtol=1e-8
            )
            rho = reference.step_size(
                t, options.strength_step, options.strength_delay, options.strength_decay
            )
            np.testing.assert_allclose(
                state.strengths, reference.natural_step(strengths, inside, rho), rtol=1e-8
            )
        assert kinds == {0, 1}
        assert (state.factors.updates == 8).all()


def test_targets_are_unbiased_over_all_mini_batches():
    """(V10) The mean over every mini-batch that can be drawn is (V5) and (V6), on five nodes with a hidden pair."""
    nodes, links, hidden = 5, [(0, 1), (1, 2), (0, 2), (3, 4)], (0, 4)
    adjacency, observed = np.zeros((nodes, nodes)), ~np.eye(nodes, dtype=bool)
    for a, b in links:
        adjacency[a, b] = adjacency[b, a] = 1
    observed[hidden] = observed[hidden[::-1]] = False
    rng = np.random.default_rng(3)
    gamma, strengths = rng.gamma(2.0, size=(nodes, 3)), rng.gamma(3.0, size=(4, 2))
    prior, mean = reference.Prior(0.4), 0.0
    for a in range(nodes):
        for y in (0, 1):
            population = np.flatnonzero(observed[a] & (adjacency[a] == y))
            size = len(population) if y else min(2, len(population))
            for others in combinations(population, size):
                scale = nodes * len(population) / size if size else 0.0
                found = reference.batch_targets(
                    gamma, strengths, [(a, b) for b in others], y, scale, prior, joint
                )
                mean = mean + np.concatenate([part.ravel() for part in found]) * (
                    0.5 / nodes / comb(len(population), size)
                )
    tables = reference.all_indicators(gamma, strengths, adjacency, observed, prior, joint)
    full = [
        reference.membership_targets(nodes, tables, adjacency, prior),
        reference.strength_targets(3, tables, adjacency, prior),
    ]
    np.testing.assert_allclose(mean, np.concatenate([part.ravel() for part in full]), rtol=1e-10)


def test_the_paper_form_is_all_published_choices_and_each_can_be_taken_back():
    paper, plain = SviOptions(form="paper"), SviOptions()
    # Written out, so that a changed constant is noticed; the steps are below.
    assert PAPER.items() >= {
        "pairs": "factors", "evidence": "pairs", "weighted": False, "tolerance": 1e-5, "start": "even",
    }.items()  # fmt: skip
    assert {name: getattr(paper, name) for name in PAPER} == PAPER
    assert {name: getattr(plain, name) for name in CORRECTED} == CORRECTED
    for name, value in CORRECTED.items():
        assert getattr(SviOptions(form="paper", **{name: value}), name) == value
    node, strength = paper.steps()
    assert reference.step_size(3072.0, *node) == pytest.approx(4096.0**-0.5)
    assert reference.step_size(3072.0, *strength) == pytest.approx(4096.0**-0.9)
    assert paper.non_links(4000) == 400


def test_the_even_start_prefers_no_community_and_the_background_is_fixed(data):
    with Workers(1) as workers:
        sampler = Svi(data, Model(COMMUNITIES), SviOptions(form="paper"), workers)
        state = sampler.init(KEY)
        assert abs(state.factors.gamma - 1.0).max() < 0.5
        assert abs(state.factors.gamma.mean(axis=0) - 1.0).max() < 0.1
        info = sampler.step(state, KEY, True)
        assert info.background == pytest.approx(PAPER_BACKGROUND * data.training.density)
        again = sampler.restore(sampler.arrays(state))
        sampler.step(state, KEY, False)
        sampler.step(again, KEY, False)
        np.testing.assert_array_equal(state.factors.gamma, again.factors.gamma)
        given = Svi(data, Model(COMMUNITIES, background=1e-30), SviOptions(form="paper"), workers)
        assert given.step(given.init(KEY), KEY, True).background == 1e-30


def test_settings_without_effect_are_refused_and_a_fit_records_the_form():
    graph = planted(60, 3, degree=6, seed=1).graph
    with pytest.raises(InputError, match="neighbors=5 has no effect: it belongs to evidence"):
        bm.fit(graph, 3, sampler="svi", form="paper", neighbors=5)
    for options, message in (
        ({"form": "published"}, "form must be one of corrected, paper"),
        ({"evidence": "nodes"}, "evidence must be one of partners, pairs"),
        ({"weighted": 0}, "weighted must be True or False"),
    ):
        with pytest.raises(InputError, match=message):
            SviOptions(**options)
    post = bm.fit(graph, 3, sampler="svi", form="paper", sweeps=10, chains=1, seed=1)
    assert {name: post.provenance["options"][name] for name in PAPER} == PAPER
    assert post.provenance["model"]["alpha"] == 1 / 3
