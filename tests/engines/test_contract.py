"""What every engine owes: the default sampler on it is the plain reference, up to the tolerance that the engine states.

The reference (`samplers/scir/reference`) is the default move in plain Python with the random numbers of the kernels.
Every engine starts from the same state and makes the same sweep, so that whatever a kernel does differently shows in
single memberships, not in averages.
"""

import numpy as np
import pytest

import blockmix as bm
from blockmix.engines.choose import DEVICES, check_device, make_engine
from blockmix.engines.contract import Flags, Shard, Solo
from blockmix.engines.cuda import why_not
from blockmix.engines.host import CpuEngine
from blockmix.errors import InputError
from blockmix.graph.split import HeldOut, hold_out, no_hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.reference.kernels import dense_memberships
from blockmix.samplers.scir.sampler import Scir
from blockmix.tables.layout import Network, Rows

KEY = (5, 6)
# Strengths are drawn from sums in fixed point, of which the background has a small difference.
STRENGTH_TOLERANCE = 1e-6
SWEEPS = 6


def overlapping():
    """A planted network with four isolated nodes; two more lose their only link to the hold-out."""
    edges = [tuple(edge) for edge in bm.planted(50, 4, degree=8, seed=3).graph.edges()]
    graph = bm.Graph.from_edges([*edges, (0, 54), (1, 55)], nodes=range(56))
    return hold_out(graph, 0.15, seed=1)


NETWORKS = {
    "overlapping": overlapping,
    "two nodes": lambda: no_hold_out(bm.Graph.from_edges([(0, 1)])),
    "isolated nodes": lambda: no_hold_out(bm.Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(9))),
    "clique": lambda: no_hold_out(bm.Graph.from_edges([(a, b) for a in range(10) for b in range(a)])),
    "star": lambda: no_hold_out(bm.Graph.from_edges([(0, leaf) for leaf in range(1, 40)])),
}
SETTINGS = {
    "defaults": (Model(6), {}),
    "closed form": (Model(6), {"exact": False}),
    "exact in batches": (Model(6), {"batches": 3}),
    "births": (Model(20), {}),
    "more communities than nodes, few slots": (Model(80), {"slots": 3, "batches": 2}),
    "dense memberships": (Model(5, alpha=0.8), {"batches": 1}),
    "background given": (Model(4, background=0.02), {"cut": 0.05, "start": "random"}),
    "one community": (Model(1), {}),
    "prior of strengths given": (Model(4, eta=(0.3, 6.0)), {}),
}


def pair_of_samplers(data, model, options, workers, device):
    """The default sampler on an engine and on the reference, and one state for each with the same bits."""
    if device == "cuda":
        options = options | {"exact": False}
    samplers = [
        Scir(data, model, ScirOptions(**options), workers, make_engine(name, workers))
        for name in (device, "reference")
    ]
    start = samplers[0].arrays(samplers[0].init(KEY))
    return samplers, [sampler.restore(start) for sampler in samplers]


def other_nodes(engine, model, states):
    """How many nodes have memberships further apart than the engine's tolerance."""
    first, second = (
        dense_memberships(Rows(words, words.view(np.float32), words[:, 0]), model.communities)
        for words in (engine.get(state.rows.words) for state in states)
    )
    return int((np.abs(first - second).max(axis=1) > engine.tolerance).sum())


@pytest.fixture(params=DEVICES)
def device(request):
    """Every device; `cuda` is the GPU where there is one, and tests/engines/test_cuda.py runs its twin elsewhere."""
    if request.param == "cuda" and why_not():
        pytest.skip(why_not())
    return request.param


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_every_sweep_is_that_of_the_reference(device, network, settings):
    """Warm-up and sampling; after each sweep the states are set equal, so that differences do not add up."""
    (model, options), data = SETTINGS[settings], NETWORKS[network]()
    with Workers(2) as workers:
        samplers, states = pair_of_samplers(data, model, options, workers, device)
        engine, different = samplers[0].engine, 0
        for sweep in range(SWEEPS):
            infos = [s.step(state, KEY, sweep < 3) for s, state in zip(samplers, states, strict=True)]
            different += other_nodes(engine, model, states)
            if not different:
                np.testing.assert_allclose(
                    *(engine.get(state.strengths.value) for state in states),
                    rtol=STRENGTH_TOLERANCE,
                    atol=1e-12,
                )
                for name, value in infos[1].measures.items():
                    assert infos[0].measures[name] == pytest.approx(value, abs=1e-6), name
            states[1] = samplers[1].restore(samplers[0].arrays(states[0]))
    assert different <= engine.other_draws * SWEEPS * len(states[0].rows.total)


def test_strengths_below_the_background_are_drawn_as_in_the_reference(device):
    """Where d_k is negative the kernels thin the background's part by rejection: another branch."""
    model, data = Model(4), overlapping()
    with Workers(1) as workers:
        samplers, states = pair_of_samplers(data, model, {"start": "random"}, workers, device)
        for _ in range(4):
            for i, sampler in enumerate(samplers):
                arrays = sampler.arrays(states[i])
                arrays["strengths"][0] = 0.001, 0.3, 0.002, 0.4, 0.08
                states[i] = sampler.restore(arrays)
                sampler.step(states[i], KEY, False)
        assert other_nodes(samplers[0].engine, model, states) == 0


def test_predictions_are_those_of_the_reference(device):
    data = overlapping()
    nodes = data.training.n_nodes
    pairs = np.array([(a, b) for a in range(0, nodes, 3) for b in range(a)], dtype=np.int64)
    with Workers(2) as workers:
        samplers, states = pair_of_samplers(data, Model(6), {}, workers, device)
        samplers[0].step(states[0], KEY, True)
        states[1] = samplers[1].restore(samplers[0].arrays(states[0]))
        out = [np.full(len(pairs), 0.25) for _ in samplers]
        for sampler, state, values in zip(samplers, states, out, strict=True):
            sampler.predict(state, pairs, 0.3, 0.7, values)
    np.testing.assert_allclose(out[0], out[1], rtol=1e-6)


def test_a_fit_runs_on_every_device_and_says_which(device):
    graph = bm.planted(40, 3, degree=8, seed=1).graph
    options = {"exact": False} if device == "cuda" else {}
    post = bm.fit(graph, 3, model="assortative", sweeps=8, chains=1, seed=2, device=device, **options)
    assert post.provenance["device"] == device
    assert np.isfinite(post.scores.log_loss)


class Shuffled(CpuEngine):
    """An engine that stores nodes in another order: places and names differ."""

    def __init__(self, workers, order):
        super().__init__(workers)
        self.order = order

    def shard(self, data: HeldOut) -> Shard:
        whole = super().shard(data).network
        place_of = np.argsort(self.order)
        parts = []
        for offsets, neighbors in (whole[:2], whole[2:]):
            # neighbours stay in the order of their names, as they are on one process
            rows = [place_of[neighbors[offsets[name] : offsets[name + 1]]] for name in self.order]
            parts += [np.append(0, np.cumsum([len(row) for row in rows])), np.concatenate([*rows, []])]
        network = Network(parts[0], parts[1].astype(np.int32), parts[2], parts[3].astype(np.int32))
        return Shard(network, self.order.astype(np.uint32))


def test_a_node_draws_the_same_wherever_it_is_stored():
    """Random numbers are keyed by name, rows and priors are found by place; one batch, so that all read old rows.

    In closed form: exact sums go through members in the order of places, on one process.
    """
    data, model, options = overlapping(), Model(6), ScirOptions(batches=1, exact=False)
    order = np.random.default_rng(3).permutation(data.training.n_nodes)
    with Workers(2) as workers:
        plain, shuffled = (
            Scir(data, model, options, workers),
            Scir(data, model, options, workers, Shuffled(workers, order)),
        )
        state = plain.init(KEY)
        moved = shuffled.restore(plain.arrays(state))
        words = state.rows.words[order]
        moved.rows = Rows(words, words.view(np.float32), state.rows.total[order])
        for sweep in range(4):
            plain.step(state, KEY, sweep < 2)
            shuffled.step(moved, KEY, sweep < 2)
    np.testing.assert_array_equal(moved.rows.total, state.rows.total[order])
    np.testing.assert_array_equal(moved.strengths.value, state.strengths.value)


def test_a_device_that_is_not_there_or_cannot_run_a_sampler_is_an_error():
    with pytest.raises(InputError, match="device must be 'cpu', 'cuda' or 'auto', not 'gpu'"):
        check_device("gpu", "scir")
    with pytest.raises(InputError, match="'reference' runs scir only, not cgs; use device='cpu'"):
        check_device("reference", "cgs")
    graph = bm.planted(40, 3, degree=8, seed=1).graph
    with pytest.raises(InputError, match="link indicators only"):
        bm.fit(graph, 3, sweeps=8, chains=1, device="reference", moves="cir")


def test_alone_a_process_decides_for_itself():
    comm, flags, sums = Solo(), Flags(stop=True), np.arange(3)
    assert comm.decide(flags) is flags
    comm.add(sums)
    comm.exchange(None, 0)
    assert comm.hand_out(iter([sums])) is comm.swap([sums])[0] is comm.gather(sums)[0]
    np.testing.assert_array_equal(sums, [0, 1, 2])
    assert (comm.rank, comm.size) == (0, 1)
