"""What every sampler owes, one contract for all: `blockmix.samplers.contract`."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import SAMPLERS, check_sampler, default_sampler, sampler_class, sampler_options

EVERY = [(kind, name) for kind, entries in SAMPLERS.items() for name in entries]
KEY = (5, 6)
# Weights are float32 and add up to one within a few of its units; sgmc-m leaves its bulk out of the rows.
SINGLE_PRECISION = 1e-5
# Room for rounding in a probability.
ROUNDING = 1e-6

NETWORKS = {
    "two nodes": (Graph.from_edges([(0, 1)]), 2),
    "one community": (Graph.from_edges([(0, 1), (1, 2), (2, 3)]), 1),
    "more communities than nodes": (Graph.from_edges([(0, 1), (1, 2)]), 20),
    "isolated nodes": (Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(12)), 3),
    "clique": (Graph.from_edges([(a, b) for a in range(15) for b in range(a)]), 3),
    # mini-batches of links are empty at most of its nodes, mini-batches of non-links at its centre
    "star": (Graph.from_edges([(0, leaf) for leaf in range(1, 40)]), 4),
}


def every_sampler(test):
    return pytest.mark.parametrize(("kind", "name"), EVERY, ids=[f"{k}-{n}" for k, n in EVERY])(test)


def make(kind, name, data, communities, workers, **options):
    settings = sampler_options(name, options, kind)
    return sampler_class(name, kind)(data, Model(communities, kind=kind), settings, workers)


def chain(kind, name, data, communities, sweeps, threads=1, key=KEY):
    """A sampler and its state after some sweeps, the first half of them warm-up, and what the last one said."""
    with Workers(threads) as workers:
        sampler = make(kind, name, data, communities, workers)
        state = sampler.init(key)
        for sweep in range(sweeps):
            info = sampler.step(state, key, sweep < sweeps // 2)
    return sampler, state, info


def some_pairs(nodes):
    a = np.arange(nodes)
    return np.column_stack([a, (a + 1) % nodes])[: max(nodes - 1, 1)].astype(np.int64)


def predicted(sampler, state, nodes):
    pairs = some_pairs(nodes)
    out = np.full(len(pairs), 0.5)
    sampler.predict(state, pairs, 0.0, 1.0, out)
    return out


def check(kind, sampler, state, info, sweeps):
    """Everything a state must show."""
    k, nodes = sampler.communities, sampler.nodes
    assert sampler.sweeps_done(state) == sweeps
    rows = sampler.memberships(state)
    assert rows.words.shape == (nodes, 2 * sampler.slots)
    ids = rows.words[:, ::2]
    used = np.cumprod(ids >= 0, axis=1).astype(bool)
    assert used[:, 0].all()
    assert ids[used].max() < k
    for row, use in zip(ids, used, strict=True):
        assert len(np.unique(row[use])) == use.sum()
    weights = np.where(used, rows.weights[:, 1::2], 0.0).astype(np.float64)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    total = weights.sum(axis=1)
    assert (total <= 1 + SINGLE_PRECISION).all()
    assert (total > 0).all()
    if sampler.name != "sgmc-m":
        np.testing.assert_allclose(total, 1.0, atol=SINGLE_PRECISION)
    strengths = sampler.strengths(state)
    assert strengths.shape == ((k, k) if kind == "mmsb" else (k + 1,))
    assert np.isfinite(strengths).all()
    # rates in the popularity model
    assert ((strengths >= 0) & (strengths <= (np.inf if kind == "popularity" else 1))).all()
    probability = predicted(sampler, state, nodes)
    assert ((probability >= -ROUNDING) & (probability <= 1 + ROUNDING)).all()
    assert 0 <= info.background <= 1
    assert info.updates > 0
    assert info.iterations >= 1
    assert all(np.isfinite(value) for value in info.measures.values())


@every_sampler
@pytest.mark.parametrize("network", NETWORKS)
def test_odd_networks_are_sampled(network, kind, name):
    graph, communities = NETWORKS[network]
    sampler, state, info = chain(kind, name, no_hold_out(graph), communities, 30)
    check(kind, sampler, state, info, 30)


@every_sampler
def test_two_thousand_sweeps_stay_finite(kind, name):
    data = hold_out(planted(40, 3, degree=6, seed=3).graph, 0.1, seed=2)
    sampler, state, info = chain(kind, name, data, 4, 2000)
    check(kind, sampler, state, info, 2000)


@pytest.fixture(scope="module")
def network():
    return hold_out(planted(300, 5, degree=12, seed=2).graph, 0.1, seed=1)


@every_sampler
def test_the_seed_alone_decides_whatever_the_number_of_threads(network, kind, name):
    first, second, other = (
        chain(kind, name, network, 5, 6, threads=threads, key=key)
        for threads, key in ((1, KEY), (3, KEY), (1, (7, 8)))
    )
    one, two = first[0].arrays(first[1]), second[0].arrays(second[1])
    assert one.keys() == two.keys()
    for field in one:
        np.testing.assert_array_equal(one[field], two[field], err_msg=field)
    assert not np.array_equal(predicted(*first[:2], 300), predicted(*other[:2], 300))


@every_sampler
def test_a_state_restored_from_its_arrays_goes_on_to_the_same_bits(network, kind, name):
    with Workers(1) as workers:
        sampler = make(kind, name, network, 5, workers)
        state = sampler.init(KEY)
        for sweep in range(6):
            if sweep == 3:
                kept = {field: np.array(array) for field, array in sampler.arrays(state).items()}
            sampler.step(state, KEY, sweep < 4)
        # a sampler that has done other things meanwhile
        fresh = make(kind, name, network, 5, workers)
        fresh.step(fresh.init((1, 1)), (1, 1), True)
        again = fresh.restore(kept)
        for sweep in range(3, 6):
            fresh.step(again, KEY, sweep < 4)
    found, expected = fresh.arrays(again), sampler.arrays(state)
    for field in expected:
        np.testing.assert_array_equal(found[field], expected[field], err_msg=field)
    np.testing.assert_array_equal(predicted(fresh, again, 300), predicted(sampler, state, 300))


@every_sampler
def test_arrays_can_be_written_without_pickling(network, kind, name, tmp_path):
    sampler, state, _ = chain(kind, name, network, 5, 2)
    for field, array in sampler.arrays(state).items():
        np.save(tmp_path / f"{field}.npy", array, allow_pickle=False)


@every_sampler
def test_predictions_are_a_weighted_average(network, kind, name):
    sampler, state, _ = chain(kind, name, network, 5, 2)
    pairs = some_pairs(300)
    now = predicted(sampler, state, 300)
    out = np.linspace(0, 1, len(pairs))
    expected = 0.25 * out + 0.75 * now
    sampler.predict(state, pairs, 0.25, 0.75, out)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@every_sampler
def test_held_out_pairs_do_not_enter_training(kind, name):
    """Changing whether held-out pairs are links changes no bit of the chain."""
    graph = planted(60, 3, degree=8, seed=4).graph
    data = hold_out(graph, 0.1, seed=3)
    changed = type(data)(
        data.training, data.pairs, ~data.links, data.kind, data.fraction, data.density, data.seed,
        data.hidden_offsets, data.hidden_neighbors,
    )  # fmt: skip
    first, second = (chain(kind, name, held, 3, 4) for held in (data, changed))
    one, two = first[0].arrays(first[1]), second[0].arrays(second[1])
    for field in one:
        np.testing.assert_array_equal(one[field], two[field], err_msg=field)


@every_sampler
def test_kernels_compile_ahead_of_the_first_step(network, kind, name):
    with Workers(1) as workers:
        make(kind, name, network, 5, workers).compile()


@every_sampler
def test_fit_gives_a_posterior_that_can_be_kept(kind, name, tmp_path):
    graph = planted(80, 3, degree=14, overlap=(1, 1), mixing=0.05, seed=5).graph
    post = bm.fit(graph, 3, model=kind, sampler=name, seed=1, sweeps=40, chains=2, held_out=0.1)
    assert post.provenance["sampler"] == name
    assert post.scores.auc > 0.5
    assert (post.strength_sd > 0).all()
    assert np.isfinite(post.sd).all()
    if kind == "mmsb":
        assert post.blocks_mean.shape == post.blocks_sd.shape == (3, 3)
    post.save(tmp_path / "run")
    again = bm.load(tmp_path / "run")
    pairs = some_pairs(80)
    np.testing.assert_array_equal(again.node_link_probability(pairs), post.node_link_probability(pairs))
    # the draws kept predict what the run predicted: means of the same posterior
    kept = post.node_link_probability(post.held_out.pairs)
    assert np.corrcoef(kept, post.held_out.probability)[0, 1] > 0.9


@every_sampler
def test_unknown_and_wrong_options_are_refused(kind, name):
    with pytest.raises(InputError, match=rf"unknown option speed; options of {name}"):
        sampler_options(name, {"speed": 3}, kind)
    settings = sampler_class(name, kind).Options
    for field, entry in settings.__dataclass_fields__.items():
        if isinstance(entry.default, float) and not isinstance(entry.default, bool):
            with pytest.raises(InputError, match=field):
                settings(**{field: float("nan")})
        if isinstance(entry.default, str):
            with pytest.raises(InputError, match=field):
                settings(**{field: "nothing"})


def test_a_wrong_name_gets_the_nearest_right_one():
    with pytest.raises(InputError, match="did you mean 'sgmc'"):
        check_sampler("sgmcc")
    with pytest.raises(InputError, match="'mmsb' has no sampler 'scir'; its samplers: sgmc"):
        check_sampler("scir", "mmsb")
    assert default_sampler("assortative") == "scir"
    assert default_sampler("mmsb") == "sgmc"
    assert default_sampler("popularity") == "scir"
