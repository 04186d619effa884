"""What calibration finds for each sampler that claims the posterior, through `blockmix.fit` as a user calls it.

False alarms: each table of p-values is tested at 1e-3 as a whole, so that each "is uniform" alarms for one seed in
1000. Seeds are fixed. `cgs` and `lmc` are tested again with networks whose links are 10% more likely than the model
says, which is a sampler whose likelihood is off by 10%, and must fail.

The default of `scir` is exact on networks of up to 2,048 nodes, as these are. Its closed form for larger ones and its
diffusion are not, and tests state how: which quantities rank uniformly and which do not. Where a change of the sampler
makes one of them uniform, that test fails and has to be changed with it.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import blockmix as bm
from blockmix.graph.split import no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import sampler_class, sampler_options
from blockmix.samplers.scir.popularity import weights

sys.path.insert(0, str(Path(__file__).parent))
import harness

FALSE_ALARM = 1e-3
WRONG = 1.1
DRAWS = 9

# Two communities of 24 nodes that overlap much, and a background that is learned.
OVERLAPPING = Model(2, alpha=0.5, eta=(2.0, 3.0))
# The default prior with three communities: nothing is given, K alpha and the background are learned.
DEFAULT = Model(3)
# Sparse networks: a background of 2%, and strengths around 0.4 or 0.8.
MEDIUM_STRENGTHS = Model(3, alpha=0.1, eta=(2.0, 3.0), background=0.02)
LARGE_STRENGTHS = Model(3, alpha=0.1, eta=(4.0, 1.0), background=0.02)
# The law of a posterior sample does not depend on the number of chains: one takes an eighth of the time.
ONE_CHAIN = {"chains": 1}
# What the diffusion converges to: small steps, few nodes at a time, all neighbours and non-links, nothing cut off.
SMALL_STEPS = {
    "moves": "cir", "form": "dense", "step": 0.2, "neighbors": 1000, "non_links": 1000
}  # fmt: skip


def rank_table(setup, networks, factor=1.0, seed=3):
    return harness.rank_table(harness.rank_truths(setup, networks, DRAWS, seed, factor), DRAWS)


def rank_failures(setup, networks, factor=1.0):
    return harness.failures(rank_table(setup, networks, factor), FALSE_ALARM)


def mean_rank(table, quantity):
    return next(row.position for row in table if row.quantity == quantity)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setup",
    # The default of 500 sweeps is too few for lmc here: samples depend on each other, and ranks pile up at the ends.
    [harness.Setup("cgs", 24, OVERLAPPING), harness.Setup("lmc", 24, OVERLAPPING, {"sweeps": 1200})],
    ids=["cgs", "lmc"],
)
def test_the_truth_ranks_uniformly_among_samples_of_an_exact_sampler(setup):
    assert rank_failures(setup, 90) == []
    assert "probability of all pairs" in rank_failures(setup, 40, WRONG)


@pytest.mark.slow
def test_the_truth_ranks_uniformly_among_samples_of_the_diffusion_with_small_steps():
    setup = harness.Setup(
        "scir",
        12,
        Model(2, alpha=0.7, eta=(2.0, 3.0)),
        {**SMALL_STEPS, **ONE_CHAIN, "batches": 4, "sweeps": 800},
    )
    assert rank_failures(setup, 60) == []


@pytest.mark.slow
def test_the_truth_ranks_uniformly_among_samples_of_the_default_on_sparse_networks():
    assert rank_failures(harness.Setup("scir", 60, MEDIUM_STRENGTHS, ONE_CHAIN), 100) == []


# Popularities learned with the rest. Sparse networks of 60 nodes; and dense ones of 20 with the background learned too.
POPULAR = Model(3, alpha=0.1, eta=(2.0, 3.0), background=0.02, kind="popularity")
POPULAR_DENSE = Model(3, alpha=0.1, kind="popularity")


@pytest.mark.slow
def test_the_truth_ranks_uniformly_among_samples_of_the_popularity_model():
    setup = harness.Setup("scir", 60, POPULAR, ONE_CHAIN)
    assert rank_failures(setup, 80) == []
    assert "probability of all pairs" in rank_failures(setup, 80, 1.3)


@pytest.mark.slow
def test_on_dense_networks_of_twenty_nodes_the_popularity_model_needs_more_sweeps():
    """A community of everybody can stand for the background, and chains change slowly between the two."""
    setup = harness.Setup("scir", 20, POPULAR_DENSE, {**ONE_CHAIN, "sweeps": 4000})
    assert rank_failures(setup, 60) == []


@pytest.mark.slow
def test_alternating_the_popularity_model_with_networks_keeps_the_prior():
    """K alpha is learned, as is all else."""
    setup = harness.Setup("scir", 6, Model(2, eta=(2.0, 3.0), kind="popularity"))
    assert harness.failures(harness.geweke_table(setup, 12_000, seed=1), FALSE_ALARM) == []
    wrong = harness.failures(harness.geweke_table(setup, 4000, seed=1, factor=WRONG), FALSE_ALARM)
    assert "probability of all pairs" in wrong


@pytest.mark.slow
@pytest.mark.parametrize("law", ["counts", "amounts"])
def test_alternating_with_weights_keeps_the_prior(law, monkeypatch):
    """Everything learned. Amounts are measured in ones: the prior of a unit's size must not depend on the data."""
    monkeypatch.setattr(weights, "scale_of", lambda graph: 1.0)
    setup = harness.Setup("scir", 6, Model(2, eta=(2.0, 3.0), kind="popularity", weights=law))
    assert harness.failures(harness.geweke_table(setup, 3000, seed=1), FALSE_ALARM) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nodes", "model", "networks"),
    [(60, LARGE_STRENGTHS, 60), (30, DEFAULT, 60), (40, Model(3, alpha=1.0), 40)],
    ids=["large strengths", "default", "soft memberships"],
)
def test_the_truth_ranks_uniformly_among_samples_of_the_default_in_hard_cases(nodes, model, networks):
    """Strengths around 0.8 on sparse networks; the default prior, with K alpha learned; K alpha = 3."""
    assert rank_failures(harness.Setup("scir", nodes, model, {**ONE_CHAIN, "sweeps": 1500}), networks) == []


# Known errors: of the closed form for non-links, which networks of more than 2,048 nodes have, and of the diffusion.


@pytest.mark.slow
def test_the_closed_form_overestimates_strengths_near_one_on_sparse_networks():
    options = {**ONE_CHAIN, "exact": False}
    table = rank_table(harness.Setup("scir", 60, LARGE_STRENGTHS, options), 120)
    wrong = ["strength 2", "strength 3", "probability of all pairs"]
    assert harness.failures(table, FALSE_ALARM) == wrong
    assert max(mean_rank(table, quantity) for quantity in wrong) < 0.4


@pytest.mark.slow
def test_the_diffusion_with_default_steps_spreads_memberships_too_evenly():
    """A step of 0.5 is not small: (S2) is exact only as the step goes to zero."""
    table = rank_table(harness.Setup("scir", 60, MEDIUM_STRENGTHS, {"moves": "cir", **ONE_CHAIN}), 70)
    assert "squared memberships" in harness.failures(table, FALSE_ALARM)
    assert mean_rank(table, "squared memberships") > 0.55


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "alpha"), [("cgs", 0.8), ("lmc", 0.8), ("scir", 0.8), ("scir", None)])
def test_alternating_with_networks_keeps_the_prior(sampler, alpha):
    """Without alpha K alpha is learned: the whole of the default prior but for the strengths."""
    setup = harness.Setup(sampler, 6, Model(2, alpha=alpha, eta=(2.0, 3.0)))
    # A sweep of the default is begun anew for every network, which takes longer than the sweep.
    steps = 4000 if sampler == "scir" else 12_000
    assert harness.failures(harness.geweke_table(setup, steps, seed=1), FALSE_ALARM) == []
    wrong = harness.failures(harness.geweke_table(setup, 6000, seed=1, factor=1.3), FALSE_ALARM)
    assert "probability of all pairs" in wrong


@pytest.mark.parametrize(("shift", "uniform"), [(0.0, True), (0.5, False)])
def test_ranks_are_called_uniform_where_they_are(shift, uniform):
    """False alarm: 1 in 1000. A truth half a standard deviation too high is noticed on 150 networks."""
    rng = np.random.default_rng(1)
    below = (rng.normal(size=(150, DRAWS)) < rng.normal(size=(150, 1)) + shift).sum(axis=1)
    failed = harness.failures(harness.rank_table({"x": below}, DRAWS), FALSE_ALARM)
    assert failed == ([] if uniform else ["x"])


def test_quantities_do_not_depend_on_how_communities_are_numbered():
    rng = np.random.default_rng(2)
    setup = harness.Setup("cgs", 9, Model(3, alpha=0.5))
    parameters = harness.draw_parameters(setup, rng)
    linked = harness.simulate(parameters, rng)
    other = parameters._replace(
        memberships=parameters.memberships[:, [2, 0, 1]], strengths=parameters.strengths[[2, 0, 1]]
    )
    assert harness.quantities(other, linked) == pytest.approx(harness.quantities(parameters, linked))


@pytest.mark.parametrize(
    ("sampler", "arguments"),
    [
        ("cgs", {}),
        ("lmc", {}),
        ("scir", {}),
        ("scir", {"moves": "cir", "form": "dense"}),
        ("scir", {"moves": "cir", "form": "sparse"}),
        ("popularity", {}),
    ],
)
def test_a_chain_starts_at_the_parameters_given(sampler, arguments):
    rng = np.random.default_rng(3)
    kind = "popularity" if sampler == "popularity" else "assortative"
    sampler = "scir" if sampler == "popularity" else sampler
    setup = harness.Setup(sampler, 9, Model(3, alpha=0.5, kind=kind), arguments)
    parameters = harness.draw_parameters(setup, rng)
    data = no_hold_out(harness.graph_of(harness.simulate(parameters, rng), 9))
    options = sampler_options(sampler, dict(arguments), kind)
    with Workers(1) as workers:
        made = sampler_class(sampler, kind)(data, setup.model, options, workers)
        found = harness.parameters_of(made, harness.start_at(made, parameters, rng, (1, 2)))
    for got, expected in zip(found, parameters, strict=True):
        if expected is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_samples_of_a_fit_are_unpacked_as_the_fit_sees_them():
    rng = np.random.default_rng(4)
    setup = harness.Setup("cgs", 12, Model(3, alpha=0.5), {"sweeps": 30})
    graph = harness.graph_of(harness.simulate(harness.draw_parameters(setup, rng), rng), 12)
    samples = setup.fit(graph, 5)
    post = bm.fit(graph, 3, sampler="cgs", seed=5, held_out=0, alpha=0.5, sweeps=30, progress=False)
    mean = np.mean([harness.link_probabilities(sample) for sample in samples], axis=0)
    pairs = np.column_stack(np.triu_indices(12, 1))
    np.testing.assert_allclose(mean, post.node_link_probability(pairs), atol=1e-4)


def test_a_prior_that_depends_on_the_network_is_refused():
    with pytest.raises(ValueError, match="state the alpha"):
        harness.Setup("cgs", 9, Model(3))
