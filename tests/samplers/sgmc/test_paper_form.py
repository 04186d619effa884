"""`form="paper"` is the algorithm as printed: whole iterations of it are those of the reference, choice by choice."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.model.reference import Globals
from blockmix.numerics.purposes import DRAW_MEMBERSHIPS, DRAW_NON_PARTNERS, DRAW_STRENGTHS
from blockmix.numerics.workers import Workers
from blockmix.samplers.langevin.dynamics import in_subset, two_normals
from blockmix.samplers.langevin.options import CORRECTED, PAPER
from blockmix.samplers.minibatch import iteration_key
from blockmix.samplers.sgmc import reference
from blockmix.samplers.sgmc.sampler import Sgmc, SgmcOptions
from blockmix.tables.minibatch import sample_neighbors, sample_non_neighbors

KEY, COMMUNITIES, NODES = (3, 4), 5, 40
ALPHA, DELAY = 1.0 / COMMUNITIES, 1024.0
# phi is stored in single precision; an iteration of strengths reads the rounded memberships.
SINGLE = 5e-6
# The whole form, and each of its choices alone beside those of blockmix.
FORMS = {
    "paper": {"form": "paper"},
    "paper, exact scales": {"form": "paper", "scales": "exact"},
    "paper, preconditioned": {"form": "paper", "preconditioned": True},
    "non-links of the network": {"non_links_of": "network"},
    "printed scales": {"scales": "printed"},
    "printed update": {"preconditioned": False},
    "prior totals": {"totals": "prior"},
    "a subset of the strengths": {"strength_share": 0.5},
    "corrected": {},
}


@pytest.fixture(scope="module")
def data():
    return hold_out(planted(NODES, COMMUNITIES, degree=7, seed=2).graph, 0.1, seed=3)


def matrices(data):
    """Return adjacency and which pairs are observed."""
    adjacency, observed = np.zeros((NODES, NODES)), ~np.eye(NODES, dtype=bool)
    for a, b in data.training.edges():
        adjacency[a, b] = adjacency[b, a] = 1
    for a, b in data.pairs:
        observed[a, b] = observed[b, a] = False
    return adjacency, observed


def normals(purpose, number, count, key):
    blocks = (count + 1) // 2
    return np.array([n for block in range(blocks) for n in two_normals(purpose, number, block, key)])[:count]


def moved_row(a, t, phi, g, options, network, data):
    """Return the row of node a after iteration t, by (L3) and (L5) or (L6), with the weights of (L2) or (L12)."""
    key, out = iteration_key(KEY, t), np.zeros(NODES, dtype=np.int64)
    adjacency, observed = matrices(data)
    pi = phi / phi.sum(axis=1, keepdims=True)
    printed, gradient = options.scales == "printed", 0.0
    weigh = reference.printed_partner_weight if printed else reference.partner_weight
    for y in (1, 0):
        if y:
            count, _ = sample_neighbors(a, options.neighbors, network, key, out)
        else:
            count, _ = sample_non_neighbors(a, options.non_neighbors, DRAW_NON_PARTNERS, network, key, out)
        weight = weigh(a, y, count, adjacency, observed)
        gradient = gradient + weight * reference.membership_gradient(a, y, out[:count].copy(), pi, g)
    noise, eps = normals(DRAW_MEMBERSHIPS, a, COMMUNITIES, key), reference.step_size(t, *steps_of(options)[0])
    if not options.preconditioned:
        return reference.printed_step(phi[a], g.alpha, gradient, eps, noise)
    degree = float(adjacency[a].sum()) if options.expand else 0.0
    if options.expand:
        eps *= min(1.0, (COMMUNITIES * g.alpha + degree) / COMMUNITIES) ** 2
    return reference.preconditioned_step(phi[a], g.alpha, gradient, eps, noise, degree)


def steps_of(options):
    step, strength_step = options.steps(COMMUNITIES)
    return (step, DELAY, options.decay), (strength_step, DELAY, options.decay)


def moved_strengths(t, batch, pi, strengths, options):
    """Return theta after iteration t, by (L7) and (L8) over the pairs, of the random subset (L13)."""
    key, theta = iteration_key(KEY, t), strengths.theta.copy()
    pairs = np.stack([batch.first, batch.second], axis=1)
    background = float(strengths.value[-1])
    gradient = np.vstack(
        [
            reference.strength_gradient(batch.y, pairs, pi, theta[:-1], background),
            reference.background_gradient(batch.y, pairs, pi, strengths.value[:-1], theta[-1])[None],
        ]
    )
    size, chosen = max(1, round(options.strength_share * COMMUNITIES)), []
    for k in range(COMMUNITIES):
        if in_subset(k, COMMUNITIES, size - len(chosen), key):
            chosen.append(k)
    learned = [] if options.fixed_background else [COMMUNITIES]
    eps = reference.step_size(t, *steps_of(options)[1])
    for k in chosen + learned:
        noise, total = normals(DRAW_STRENGTHS, k, 2, key), batch.scale * gradient[k]
        if options.preconditioned:
            m = float(strengths.expansion[k])
            theta[k] = reference.preconditioned_step(theta[k], strengths.prior[k], total, eps, noise, m)
        else:
            theta[k] = reference.printed_step(theta[k], strengths.prior[k], total, eps, noise)
    return theta


def pair_scale_of(batch, options, adjacency, observed):
    """Return h of (L1), (L11) or (L12) of a mini-batch, counted from the matrices."""
    if options.scales == "printed" and not batch.y:
        return reference.printed_pair_scale(NODES, 0, len(batch.first))
    if options.non_links_of == "network" and not batch.y:
        return reference.network_pair_scale(len(batch.first), adjacency, observed)
    return reference.pair_scale(int(batch.first[0]), batch.y, len(batch.first), adjacency, observed)


@pytest.mark.parametrize("form", FORMS)
def test_iterations_are_those_of_the_reference(form, data):
    options = SgmcOptions(delay=DELAY, start="random", batch_non_links=6, neighbors=4, non_neighbors=4, **{
        name: value for name, value in FORMS[form].items() if name != "start"
    })  # fmt: skip
    with Workers(1) as workers:
        sampler = Sgmc(data, Model(COMMUNITIES, alpha=ALPHA), options, workers)
        state, kinds, spread = sampler.init(KEY), set(), set()
        for t in range(12):
            phi = state.dense.phi.astype(np.float64)
            before = type(state.strengths)(*(array.copy() for array in state.strengths))
            batch = sampler.batches.draw(KEY, t)
            kinds.add(batch.y)
            if not batch.y:
                spread.add(len(set(batch.first.tolist())) > 1)
            assert batch.scale == pytest.approx(pair_scale_of(batch, options, *matrices(data)))
            one_iteration(sampler, state)
            g = Globals(before.value[:-1], float(before.value[-1]), ALPHA)
            for a in batch.nodes:
                want = moved_row(a, t, phi, g, options, sampler.batches.network, data)
                np.testing.assert_allclose(state.dense.phi[a], want, rtol=SINGLE, atol=SINGLE)
            untouched = np.setdiff1d(np.arange(NODES), batch.nodes)
            np.testing.assert_array_equal(state.dense.phi[untouched], phi[untouched].astype(np.float32))
            pi = state.dense.phi / state.dense.total[:, None]
            want = moved_strengths(t, batch, pi, before, options)
            np.testing.assert_allclose(state.strengths.theta, want, rtol=1e-6)
        assert kinds == {0, 1}
        assert spread == {options.non_links_of == "network"}


def one_iteration(sampler, state):
    """Make a sweep of a single iteration; not in warm-up, so that no expansion adapts."""
    sampler.batches.__class__ = type("One", (type(sampler.batches),), {"per_sweep": 1})
    sampler.step(state, KEY, False)


def test_the_paper_form_is_all_printed_choices_and_each_can_be_taken_back():
    paper = SgmcOptions(form="paper")
    # Written out, so that a changed constant is noticed.
    assert PAPER == {
        "preconditioned": False, "totals": "prior", "non_links_of": "network", "scales": "printed",
        "strength_share": 0.5, "start": "random",
    }  # fmt: skip
    assert {name: getattr(paper, name) for name in PAPER} == PAPER
    assert (paper.neighbors, paper.non_neighbors) == (10, 10)
    assert paper.steps(50) == (1024.0**-0.5, 1024.0**-0.5)
    assert (paper.delay_of(7), paper.decay) == (1024.0, 0.5)
    assert paper.fixed_background
    plain = SgmcOptions()
    assert {name: getattr(plain, name) for name in CORRECTED} == CORRECTED
    for name, value in CORRECTED.items():
        if name == "totals":
            value = "prior"
        assert getattr(SgmcOptions(form="paper", **{name: value}), name) == value


def test_the_background_of_the_paper_form_is_fixed_at_the_value_given(data):
    """Published programs of this family have 0.05 and 1e-7."""
    for background in (0.05, 1e-7):
        with Workers(1) as workers:
            model = Model(COMMUNITIES, background=background)
            sampler = Sgmc(data, model, SgmcOptions(form="paper"), workers)
            state = sampler.init(KEY)
            assert sampler.step(state, KEY, True).background == background
    with Workers(1) as workers:
        sampler = Sgmc(data, Model(COMMUNITIES), SgmcOptions(form="paper", preconditioned=True), workers)
        state = sampler.init(KEY)
        before = sampler.strengths(state)[-1]
        assert sampler.step(state, KEY, True).background == before


def test_the_general_model_has_no_paper_form():
    graph = planted(30, 3, degree=6, seed=1).graph
    with pytest.raises(InputError, match="assortative model that the paper samples"):
        bm.fit(graph, 3, model="mmsb", form="paper", sweeps=4)


def test_a_fit_records_what_the_form_stood_for():
    graph = planted(60, 3, degree=6, seed=1).graph
    post = bm.fit(graph, 3, sampler="sgmc", form="paper", sweeps=10, chains=1, seed=1)
    assert {name: post.provenance["options"][name] for name in PAPER} == PAPER
    assert post.provenance["options"]["form"] == "paper"
    assert post.provenance["model"]["alpha"] == post.provenance["model"]["alpha_unlinked"] == 1 / 3
    given = bm.fit(graph, 3, sampler="sgmc", form="paper", alpha=0.2, sweeps=10, chains=1, seed=1)
    assert given.provenance["model"]["alpha"] == 0.2


def test_the_number_of_threads_does_not_change_a_bit_of_the_paper_form():
    data = hold_out(planted(900, 6, degree=8, seed=2).graph, 0.1, seed=3)
    found = []
    for threads in (1, 2, 3):
        with Workers(threads) as workers:
            options = SgmcOptions(form="paper", batch_non_links=400)
            sampler = Sgmc(data, Model(6), options, workers)
            sampler.large = 300 if threads > 1 else sampler.large
            state = sampler.init(KEY)
            for _ in range(2):
                sampler.step(state, KEY, True)
            found.append((state.dense.phi.copy(), state.strengths.theta.copy()))
    for phi, theta in found[1:]:
        np.testing.assert_array_equal(phi, found[0][0])
        np.testing.assert_array_equal(theta, found[0][1])
