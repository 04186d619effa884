"""The same bits on any number of threads, on the paths that only large networks take.

A range is shared out from a few hundred nodes on, dealt out in pieces from a few thousand, and rows of a batch are
copied by all workers from 8192 on. The constants that say so are lowered here, so that a network of 300 nodes takes
these paths in every sampler; the reference is one thread with the constants as they are. With threads alone, who gets
which piece is a matter of chance. `Shuffled` does the pieces in a random order, by random workers, on one thread: a
result that depends on either differs every time.
"""

import sys

import numpy as np
import pytest

from blockmix.generators.planted import planted
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import SAMPLERS, sampler_class, sampler_options
from blockmix.samplers.live import HostChain

KEY = (5, 6)
LOWERED = {
    "WORTH_A_THREAD": 4, "LEAST_PIECE": 3, "PIECES_A_WORKER": 4, "WORTH_COMMITTING_TOGETHER": 8
}  # fmt: skip
CASES = [(kind, name, {}) for kind, entries in SAMPLERS.items() for name in entries]
CASES += [("assortative", "scir", {"moves": "cir", "form": form}) for form in ("sparse", "dense")]
CASES += [("assortative", "scir", {"exact": False}), ("assortative", "scir", {"batches": 5})]
every_case = pytest.mark.parametrize(
    ("kind", "name", "options"), CASES, ids=[f"{k}-{n}-{' '.join(map(str, o.values()))}" for k, n, o in CASES]
)


class Watched(Workers):
    """Workers that note into how many pieces ranges were shared and dealt out."""

    def __init__(self, threads):
        super().__init__(threads)
        self.shared, self.dealt = [0], [0]

    def share(self, count, task):
        self.shared.append(self._pieces(super().share, count, task))

    def deal(self, count, task):
        self.dealt.append(self._pieces(super().deal, count, task))

    @staticmethod
    def _pieces(run, count, task):
        pieces = []

        def noted(worker, begin, end):
            pieces.append(begin)
            task(worker, begin, end)

        run(count, noted)
        return len(pieces)


class Shuffled(Workers):
    """Five workers on one thread, in a random order; a shared range has one piece a worker."""

    def __init__(self, seed):
        super().__init__(5)
        self.rng = np.random.default_rng(seed)

    def share(self, count, task):
        self._run(count, self.rng.permutation(min(self.threads, max(count, 1))), task)

    def deal(self, count, task):
        self._run(count, self.rng.integers(0, self.threads, max(count // 3, 1)), task)

    def _run(self, count, workers, task):
        cuts = np.linspace(0, count, len(workers) + 1).astype(int)
        for piece in self.rng.permutation(len(workers)):
            task(int(workers[piece]), int(cuts[piece]), int(cuts[piece + 1]))


@pytest.fixture(scope="module")
def data():
    """A network with isolated nodes, whose predictions take a path of their own."""
    made = planted(290, 5, degree=12, seed=2).graph
    return hold_out(Graph.from_edges(made.edges(), nodes=range(300)), 0.1, seed=1)


@pytest.fixture
def _lowered(monkeypatch):
    """Lower each constant wherever it is imported."""
    for name, value in LOWERED.items():
        modules = [module for path, module in sys.modules.items() if path.startswith("blockmix.")]
        holders = [module for module in modules if hasattr(module, name)]
        assert holders, f"no module has the constant {name}"
        for module in holders:
            monkeypatch.setattr(module, name, value)


def bits_of(data, kind, name, options, workers, sweeps=6):
    """Return everything a short chain is: state, predictions, running summaries and samples, measures."""
    with workers:
        settings = sampler_options(name, options, kind)
        sampler = sampler_class(name, kind)(data, Model(5, kind=kind), settings, workers)
        chain = HostChain.start(sampler, KEY, data.pairs)
        for sweep in range(sweeps):
            warm_up = sweep < sweeps // 2
            chain.advance(warm_up, sweep % (sweeps // 2) + 1)
        info = chain.info()
    measures = np.array([info.background, info.updates, *info.measures.values()])
    return {name: np.array(array) for name, array in chain.arrays().items()} | {"measures": measures}


@pytest.fixture(scope="module")
def reference(data):
    """Return a function that gives the bits on one thread; of wider scope, it runs before constants are lowered."""
    found = {
        (kind, name, str(options)): bits_of(data, kind, name, options, Workers(1))
        for kind, name, options in CASES
    }
    return lambda kind, name, options: found[kind, name, str(options)]


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@every_case
@pytest.mark.usefixtures("_lowered")
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_large_networks_give_the_same_bits_on_any_number_of_threads(
    data, reference, kind, name, options, threads
):
    workers = Workers(threads)
    same(bits_of(data, kind, name, options, workers), reference(kind, name, options))


@every_case
@pytest.mark.usefixtures("_lowered")
def test_neither_the_order_of_pieces_nor_who_does_them_changes_a_bit(data, reference, kind, name, options):
    for seed in (1, 2):
        same(bits_of(data, kind, name, options, Shuffled(seed)), reference(kind, name, options))


@every_case
@pytest.mark.usefixtures("_lowered")
def test_the_lowered_constants_lead_to_these_paths(data, kind, name, options):
    """A sweep of cgs and lmc has no parts: they share out predictions and summaries only.

    By default scir goes through a network of this size node by node, and only its strengths have parts.
    """
    with Watched(3) as workers:
        sampler = sampler_class(name, kind)(
            data, Model(5, kind=kind), sampler_options(name, options, kind), workers
        )
        state = sampler.init(KEY)
        sampler.step(state, KEY, True)
        assert (3 in workers.shared) == (name not in ("cgs", "lmc"))
        assert (max(workers.dealt) > 3) == (name == "scir" and (options != {} or kind == "popularity"))
        workers.shared.clear()
        sampler.predict(state, data.pairs, 0.0, 1.0, np.zeros(data.n_pairs))
        assert workers.shared == [3]
