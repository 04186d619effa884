"""`sgmc-m`: at threshold 1 it is `sgmc`; below, rows are sparse in fact, and everything in the bulk still counts."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.model import Model
from blockmix.model.reference import pair_likelihood
from blockmix.numerics.workers import Workers
from blockmix.samplers.sgmc.sampler import Sgmc, SgmcOptions
from blockmix.samplers.sgmc_m import reference as ref
from blockmix.samplers.sgmc_m.sampler import SgmcM, SgmcMOptions

KEY = (3, 4)


def small_network(nodes=300, communities=12, degree=10):
    return hold_out(planted(nodes, communities, degree=degree, seed=5).graph, 0.05, seed=2)


def make(data, communities, threads=1, alpha=None, background=None, **options):
    model = Model(communities, alpha=alpha, background=background)
    return SgmcM(data, model, SgmcMOptions(**options), Workers(threads))


def run(sampler, sweeps, state=None, warm_up=True):
    state = sampler.init(KEY) if state is None else state
    for _ in range(sweeps):
        info = sampler.step(state, KEY, warm_up)
    return state, info


def splits(sampler, state):
    """Every row as the reference has it, with its number of active communities."""
    table, rows = state.table, []
    for a in range(sampler.nodes):
        block = slice(table.start[a], table.start[a] + table.count[a])
        rows.append(
            ref.Split(
                table.community[block].astype(np.int64), table.phi[block].astype(np.float64),
                float(table.bulk[a]), sampler.communities,
            )
        )  # fmt: skip
    return rows


def same_bits(sampler, one, other):
    first, second = sampler.arrays(one), sampler.arrays(other)
    return all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("totals", ["degree", "prior"])
def test_at_threshold_one_it_is_sgmc(totals):
    """The same random numbers, so that memberships and strengths agree number by number, up to single precision."""
    data = small_network(80, 5)
    full = Sgmc(data, Model(5), SgmcOptions(totals=totals), Workers(1))
    sampler = make(data, 5, threshold=1.0, totals=totals)
    dense, state = full.init(KEY), sampler.init(KEY)
    # Both from the same strengths, whatever either does to begin with.
    state.strengths = type(state.strengths)(*(array.copy() for array in dense.strengths))
    for _ in range(3):
        full.step(dense, KEY, True)
        info = sampler.step(state, KEY, True)
    phi = np.stack([row.written_out() for row in splits(sampler, state)])
    assert phi == pytest.approx(dense.dense.phi, rel=2e-2, abs=1e-4)
    assert sampler.strengths(state) == pytest.approx(full.strengths(dense), rel=2e-2)
    assert info.measures["active"] == 5


def test_the_starting_memberships_are_those_of_sgmc():
    """Spread evenly outside the node's part: a bulk has exactly that form."""
    data = small_network(60, 4, 6)
    full, sampler = Sgmc(data, Model(6), SgmcOptions(), Workers(1)), make(data, 6)
    phi = np.stack([row.written_out() for row in splits(sampler, sampler.init(KEY))])
    assert phi == pytest.approx(full.init(KEY).dense.phi, rel=1e-6)


def test_active_sets_and_candidates_keep_their_rules_over_many_sweeps():
    data = small_network()
    sampler = make(data, 40, start="random", threshold=0.8)
    state, info = run(sampler, 25)
    represented = np.zeros(40, dtype=np.int64)
    for row, active in zip(splits(sampler, state), state.table.active, strict=True):
        pi = row.memberships()
        own = row.listed[:active]
        assert 1 <= active <= len(row.listed)
        assert len(set(row.listed)) == len(row.listed)
        assert (np.diff(pi[own]) <= 1e-9).all()
        assert pi[own].sum() >= 0.8 - 1e-4
        assert pi[own[:-1]].sum() < 0.8 + 1e-4
        represented[own] += 1
    assert np.array_equal(represented, state.represented)
    assert info.measures["active"] == pytest.approx(state.table.active.mean())


def test_printed_active_sets_stay_below_the_threshold_over_many_sweeps_and_some_are_empty():
    """(E6) With a threshold that a single community can hold alone."""
    sampler = make(small_network(), 12, start="partition", threshold=0.4, active="printed")
    state, _ = run(sampler, 15)
    for row, active in zip(splits(sampler, state), state.table.active, strict=True):
        assert row.memberships()[row.listed[:active]].sum() < 0.4 + 1e-4
    assert 0 < (state.table.active == 0).sum() < len(state.table.active)


def test_totals_of_rows_are_sums_of_what_is_stored():
    sampler = make(small_network(), 40, start="random")
    state, _ = run(sampler, 10)
    sums = [row.written_out().sum() for row in splits(sampler, state)]
    assert state.table.total == pytest.approx(sums, rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"promotion": "equal"}, {"bulk_batch": 4}])
def test_the_memory_ratio_is_counted_from_what_is_stored(options):
    sampler = make(small_network(), 40, **options)
    state, info = run(sampler, 4)
    stored = sampler.arrays(state)
    entries = len(stored["phi"]) + len(stored["bulk"])
    assert info.measures["memory_ratio"] == pytest.approx(entries / (sampler.nodes * 40))
    assert info.measures["memory_ratio"] == pytest.approx(ref.memory_ratio(splits(sampler, state)))
    assert info.measures["memory_ratio"] < 1.0


def arrays_within(thing, depth=3):
    """Every array that an object holds, in tuples, lists and attributes too."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple | list) and depth:
        for part in thing:
            yield from arrays_within(part, depth - 1)
    elif hasattr(thing, "__dict__") and depth:
        for part in vars(thing).values():
            yield from arrays_within(part, depth - 1)


def test_no_array_of_nodes_times_communities_is_ever_made():
    """Not even for a moment: everything that Python allocates in sampling stays below a quarter of it."""
    data = small_network(3000, 100)
    sampler = make(data, 1000)
    # Once before: what numba keeps of a first call is no memory of the sampler.
    warm, out = run(sampler, 1)[0], np.zeros(data.n_pairs)
    sampler.predict(warm, data.pairs, 0.0, 1.0, out)
    sampler.memberships(warm)
    sampler.arrays(warm)
    tracemalloc.start()
    try:
        state = sampler.init(KEY)
        for _ in range(3):
            sampler.step(state, KEY, True)
            sampler.predict(state, data.pairs, 0.0, 1.0, out)
            sampler.memberships(state)
        sampler.arrays(state)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    full = 4 * sampler.nodes * 1000
    assert peak < full / 4
    arrays = list(arrays_within(sampler)) + list(arrays_within(state))
    assert len(arrays) > 20
    assert max(array.nbytes for array in arrays) < full / 8


def test_predictions_are_those_of_the_rows_written_out(pooled_probabilities):
    """With the bulk's part; an isolated node has the mean over all of them, two over pairs of different ones."""
    linked = planted(60, 4, degree=6, seed=5).graph
    data = hold_out(Graph.from_edges(linked.edges(), nodes=range(64)), 0.05, seed=2)
    sampler = make(data, 9, start="random")
    state, _ = run(sampler, 3)
    pi = np.stack([row.memberships() for row in splits(sampler, state)])
    isolated = data.training.degrees == 0
    assert (state.table.bulk[isolated] > 0.0).any(), "the bulk's part would not be noticed"
    value = sampler.strengths(state)
    pairs = np.concatenate([data.pairs, [(5, 61), (62, 7), (60, 63)]])
    out = np.full(len(pairs), 0.5)
    sampler.predict(state, pairs, 0.5, 0.25, out)
    exact = pooled_probabilities(
        pairs, pi, isolated, lambda pi_a, pi_b: pair_likelihood(1, pi_a, pi_b, value[:-1], value[-1])
    )
    assert out == pytest.approx(0.25 + 0.25 * exact, rel=1e-5)


def hub_network():
    """Return a network with some nodes of high degree, whose mini-batches are worth a second thread."""
    rng = np.random.default_rng(0)
    hubs = [(h, b) for h in range(3) for b in range(3, 600)]
    rest = rng.integers(3, 600, (600, 2))
    return no_hold_out(Graph.from_edges(hubs + [tuple(e) for e in rest[rest[:, 0] != rest[:, 1]]]))


@pytest.mark.parametrize("options", [{"start": "random"}, {"threshold": 1.0}])
def test_the_number_of_threads_changes_no_bit(options):
    data, options = hub_network(), options | {"batch_non_links": 250}
    one = make(data, 20, threads=1, **options)
    first, _ = run(one, 3)
    for threads in (2, 3):
        sampler = make(data, 20, threads=threads, **options)
        shared = []
        inner = sampler._iterate_shared
        sampler._iterate_shared = lambda *args, shared=shared, inner=inner: shared.append(1) or inner(*args)
        state, _ = run(sampler, 3)
        assert shared
        assert same_bits(one, first, state)
        sampler.workers.close()


def test_a_restored_chain_goes_on_to_the_same_bits():
    sampler = make(small_network(), 40, start="random")
    state, _ = run(sampler, 3)
    other = make(small_network(), 40, start="random")
    resumed = other.restore(sampler.arrays(state))
    assert other.sweeps_done(resumed) == 3
    run(sampler, 3, state, warm_up=False)
    run(other, 3, resumed, warm_up=False)
    assert same_bits(sampler, state, resumed)


def test_another_key_is_another_chain():
    sampler = make(small_network(), 40)
    state, other = sampler.init(KEY), sampler.init(KEY)
    sampler.step(state, KEY, True)
    sampler.step(other, (3, 5), True)
    assert not same_bits(sampler, state, other)


def test_a_table_that_is_full_grows_without_an_effect_on_results():
    """A table packed to the last entry before every sweep gives the same chain as one with unused entries."""
    sampler = make(small_network(), 40, start="random")
    state, tight = sampler.init(KEY), sampler.init(KEY)
    for _ in range(4):
        tight = sampler.restore(sampler.arrays(tight))
        table = tight.table
        tight.table = table._replace(
            community=table.community[: table.used[0]], phi=table.phi[: table.used[0]]
        )
        sampler.step(state, KEY, True)
        sampler.step(tight, KEY, True)
    assert same_bits(sampler, state, tight)


CLIQUE = [(a, b) for a in range(6) for b in range(a)]


@pytest.mark.parametrize(
    ("edges", "nodes", "communities"),
    [([(0, 1)], 2, 1), ([(0, 1)], 2, 5), (CLIQUE, 6, 3), (CLIQUE, 9, 20), ([(0, 1), (1, 2)], 4, 2)],
)
@pytest.mark.parametrize("options", [{}, {"promotion": "equal", "bulk_batch": 2}, {"threshold": 1.0}])
def test_small_and_odd_networks_stay_finite(edges, nodes, communities, options):
    """Two nodes, a clique, isolated nodes, one community, more communities than nodes."""
    sampler = make(no_hold_out(Graph.from_edges(edges, nodes=range(nodes))), communities, **options)
    state, _ = run(sampler, 200)
    for array in sampler.arrays(state).values():
        assert np.isfinite(array).all()
    weights = sampler.memberships(state).weights[:, 1::2]
    used = sampler.memberships(state).words[:, ::2] >= 0
    assert (weights[used] >= 0).all()
    assert (weights[used] <= 1 + 1e-6).all()


def test_communities_that_were_planted_are_predicted():
    graph = planted(300, 8, degree=14, overlap=(1, 2), mixing=0.05, seed=5).graph
    data = hold_out(graph, 0.05, seed=2)
    sampler = make(data, 8)
    state, mean = sampler.init(KEY), np.zeros(data.n_pairs)
    for sweep in range(60):
        sampler.step(state, KEY, sweep < 30)
        if sweep >= 30:
            sampler.predict(state, data.pairs, 1.0, 1.0 / 30, mean)
    rank = stats.rankdata(mean)[data.links].sum()
    links, others = data.n_links, data.n_pairs - data.n_links
    assert (rank - links * (links + 1) / 2) / (links * others) > 0.85


def test_the_promotion_of_the_paper_fills_rows_and_drawn_shares_do_not():
    """(A8) What makes the difference in memory: equal values need hundreds of communities to reach the threshold."""
    data = small_network(600, 40)
    ratio = {
        promotion: run(make(data, 200, promotion=promotion), 12)[1].measures["memory_ratio"]
        for promotion in ("split", "equal")
    }
    assert ratio["split"] < 0.2
    assert ratio["equal"] > 2 * ratio["split"]


STEP_ERROR = 0.008


class FixedStrengths(SgmcM):
    """The sampler with fixed strengths."""

    def _schedule(self, warm_up):
        return super()._schedule(warm_up)._replace(strength_step=0.0, adapt=0.0)


def moments_of_a_pair(tiny, beta, sweeps=4000, burn_in=300, copies=200):
    """E[pi_a1] over time in copies of two linked nodes, at threshold 1; alpha = 0.7."""
    data = tiny.copies_of([(0, 1)], 2, copies)
    options = SgmcMOptions(threshold=1.0, schedule="constant", step=0.05)
    sampler = FixedStrengths(data, Model(2, alpha=0.7, background=0.05), options, Workers(1))
    value = np.append(beta, 0.05)
    main = np.tile(np.arange(2, dtype=np.int32), (2 * copies, 1))
    state = sampler.start_at(main, sampler.strengths_at(value, np.ones(3)))
    mean = np.zeros(2 * copies)
    for sweep in range(burn_in + sweeps):
        sampler.step(state, KEY, False)
        if sweep >= burn_in:
            phi = state.table.phi[state.table.start[:, None] + np.arange(2)].astype(np.float64)
            mean += phi[:, 0] / phi.sum(axis=1) / sweeps
    assert sampler.strengths(state) == pytest.approx(value, abs=1e-12)
    return mean.reshape(copies, 2).mean(axis=1)


@pytest.mark.slow
def test_at_threshold_one_the_moments_are_those_of_the_posterior(tiny):
    """Quadrature on two linked nodes, E[pi_11] = 0.5743. Student's t over copies at a false-alarm rate of 1e-3, beside
    an allowance for the step (measured: 0.012 at 0.2, 0.004 at 0.05, 0.002 at 0.0125); the posterior of other strengths
    is rejected.
    """
    exact = tiny.posterior_moments([(0, 1)], 2, 0.7, (0.9, 0.4), 0.05)[0][0]
    assert exact == pytest.approx(0.5743, abs=2e-4)
    found = moments_of_a_pair(tiny, (0.9, 0.4))
    noise = found.std(ddof=1) / np.sqrt(len(found)) * stats.t.isf(1e-3 / 2, len(found) - 1)
    assert abs(found.mean() - exact) < noise + STEP_ERROR
    wrong = tiny.posterior_moments([(0, 1)], 2, 0.7, (0.6, 0.4), 0.05)[0][0]
    assert abs(found.mean() - wrong) > noise + STEP_ERROR


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"promotion": "all"}, "promotion"),
        ({"bulk_batch": -1}, "bulk_batch"),
        ({"bulk_batch": 2.5}, "bulk_batch"),
        ({"slots": 0}, "slots"),
    ],
)
def test_wrong_settings_are_named(options, message):
    with pytest.raises(InputError, match=message):
        SgmcMOptions(**options)
