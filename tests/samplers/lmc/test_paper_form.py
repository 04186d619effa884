"""`form="paper"` of `lmc` is the metric of the paper under a test: no damping, no refreshing, totals of the prior."""

import math

import numpy as np
import pytest

import blockmix as bm
from blockmix.generators.planted import planted
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.model.reference import Globals
from blockmix.numerics.philox import stream_word
from blockmix.numerics.purposes import DRAW_ACCEPT, DRAW_PROPOSAL
from blockmix.numerics.variates import normal, uniform
from blockmix.numerics.workers import Workers
from blockmix.samplers.lmc import reference
from blockmix.samplers.lmc.options import CORRECTED, PAPER, PAPER_BACKGROUND, LmcOptions
from blockmix.samplers.lmc.sampler import Lmc

KEY, NODES, COMMUNITIES = (3, 4), 30, 3


@pytest.fixture(scope="module")
def data():
    return hold_out(planted(NODES, COMMUNITIES, degree=6, seed=2).graph, 0.1, seed=3)


def test_the_paper_form_is_all_printed_choices_and_each_can_be_taken_back():
    paper, plain = LmcOptions(form="paper"), LmcOptions()
    # Written out, so that a changed constant is noticed.
    assert PAPER == {"damping": 0.0, "refresh": 0, "totals": "prior", "widened": False, "start": "random"}
    assert {name: getattr(paper, name) for name in PAPER} == PAPER
    assert {name: getattr(plain, name) for name in CORRECTED} == CORRECTED
    for name, value in CORRECTED.items():
        assert getattr(LmcOptions(form="paper", **{name: value}), name) == value


def reference_rows(phi, value, alpha, expansion, step, data):
    """Return the rows after one sweep: (H2) and (H4) of the reference with the random numbers of the kernel."""
    adjacency, observed = np.zeros((NODES, NODES)), ~np.eye(NODES, dtype=bool)
    for a, b in data.training.edges():
        adjacency[a, b] = adjacency[b, a] = 1
    for a, b in data.pairs:
        observed[a, b] = observed[b, a] = False
    g, key = Globals(value[:-1], float(value[-1]), alpha), tuple(np.uint32(word) for word in KEY)
    phi, sweep, first, accepted = phi.copy(), np.uint32(0), np.uint32(0), 0
    for a in range(NODES):
        drift = reference.row_drift(a, phi, adjacency, observed, g, expansion[a])
        mean, variance = reference.proposal(phi[a], drift, step, 0.0)
        words = [stream_word(DRAW_PROPOSAL, k) for k in range(COMMUNITIES)]
        noise = np.array([normal(*key, np.uint32(a), sweep, word, first) for word in words])
        proposed = np.abs(mean + np.sqrt(variance) * noise)
        ratio = reference.row_log_ratio(a, phi, proposed, adjacency, observed, g, expansion[a], (step, 0.0))
        if uniform(*key, np.uint32(a), sweep, stream_word(DRAW_ACCEPT, 0), first) < math.exp(min(ratio, 0.0)):
            phi[a] = proposed
            accepted += 1
    return phi, accepted


@pytest.mark.parametrize("totals", ["prior", "degree"])
def test_a_sweep_of_rows_is_that_of_the_reference(data, totals):
    """Every row is proposed with c = 0, tested with M = 0 (or that of its degree), and nothing else is done to it."""
    with Workers(1) as workers:
        options = LmcOptions(form="paper", totals=totals, step=0.05)
        sampler = Lmc(data, Model(COMMUNITIES, alpha=1.0), options, workers)
        state = sampler.init(KEY)
        phi, value = state.phi.copy(), state.strengths.value.copy()
        sampler.step(state, KEY, False)
    expansion = np.zeros(NODES) if totals == "prior" else 1.0 + data.training.degrees
    want, accepted = reference_rows(phi, value, 1.0, expansion, 0.05, data)
    assert 0 < accepted < NODES
    np.testing.assert_allclose(state.phi, want, rtol=1e-9)


@pytest.mark.parametrize(
    ("taken_back", "expected"),
    [
        ({}, (0.0, 0, False, 0.0)),
        ({"damping": 0.5}, (0.5, 0, False, 0.0)), ({"refresh": 2}, (0.0, 2, False, 0.0)),
        ({"totals": "degree"}, (0.0, 0, True, 0.0)), ({"widened": True}, (0.0, 0, False, 1.0)),
    ],
)  # fmt: skip
def test_every_printed_choice_reaches_the_kernels_of_rows_and_strengths(taken_back, expected, data):
    """The kernels are compared with the reference for both values of each; here, that the setting is what they get."""

    class Noted(Lmc):
        def _update_strengths(self, state, frame):
            seen.append(frame.tuning)
            return super()._update_strengths(state, frame)

    seen = []
    with Workers(1) as workers:
        sampler = Noted(data, Model(COMMUNITIES), LmcOptions(form="paper", **taken_back), workers)
        sampler.step(sampler.init(KEY), KEY, False)
    assert [(t.damping, t.refresh, t.expand, t.widen) for t in seen] == [expected]


def test_totals_stay_those_of_the_prior_and_nothing_is_refreshed(data):
    with Workers(1) as workers:
        sampler = Lmc(data, Model(COMMUNITIES, alpha=0.5), LmcOptions(form="paper"), workers)
        state = sampler.init(KEY)
        assert (sampler.expansion == 0.0).all()
        np.testing.assert_allclose(state.phi.sum(axis=1), COMMUNITIES * 0.5)
        before = state.strengths.value[-1]
        accepted = 0.0
        for _ in range(60):
            info = sampler.step(state, KEY, True)
            accepted += info.measures["accepted_strengths"]
        assert (state.strengths.expansion == 0.0).all()
        assert info.background == before == pytest.approx(PAPER_BACKGROUND * data.training.density)
        assert accepted > 0.0
        again = sampler.restore(sampler.arrays(state))
        sampler.step(state, KEY, False)
        sampler.step(again, KEY, False)
        np.testing.assert_array_equal(state.phi, again.phi)


def test_a_fit_records_what_the_form_stood_for():
    graph = planted(40, 3, degree=6, seed=1).graph
    post = bm.fit(graph, 3, sampler="lmc", form="paper", sweeps=10, chains=1, seed=1)
    assert {name: post.provenance["options"][name] for name in PAPER} == PAPER
    assert post.provenance["model"]["alpha"] == 1 / 3
