"""The GPU's kernels and everything around them, without a GPU: their own source, compiled for the CPU.

`tests/twin.py` has the device. Where there is a GPU, tests/engines/test_contract.py compares it with the reference too.
"""

import re

import numpy as np
import pytest

import blockmix as bm
from blockmix.engines import cuda
from blockmix.engines.choose import check_device, choose_device
from blockmix.engines.cuda import CudaEngine
from blockmix.errors import InputError
from blockmix.graph.split import hold_out, no_hold_out
from blockmix.inference.request import FitRequest
from blockmix.model import Model
from blockmix.numerics import purposes
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir import constants, exposure
from blockmix.samplers.scir import frame as cpu_frame
from blockmix.samplers.scir.cuda import frame, sources, space
from blockmix.samplers.scir.indicators import tilts, unshared
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir

KEY = (5, 6)
NETWORK_SEED = 3


def network():
    """Planted and overlapping, with a hub, four isolated nodes, and two that lose their only link to the hold-out."""
    edges = [tuple(edge) for edge in bm.planted(70, 4, degree=8, seed=NETWORK_SEED).graph.edges()]
    edges += [(0, other) for other in range(3, 60, 2)]
    return hold_out(bm.Graph.from_edges([*edges, (0, 74), (1, 75)], nodes=range(76)), 0.15, seed=1)


def samplers_of(data, model, options, workers, device):
    """The default sampler on the device and on the CPU."""
    chosen = ScirOptions(**({"exact": False} | options))
    return Scir(data, model, chosen, workers, CudaEngine(workers, device=device)), Scir(
        data, model, chosen, workers
    )


def assert_same_state(first, second, communities):
    """The same rows to rounding, the same sums, the same strengths."""

    def dense(words):
        table = np.zeros((len(words), communities))
        nodes, slots = np.nonzero(words[:, ::2] >= 0)
        table[nodes, words[nodes, 2 * slots]] = words.view(np.float32)[nodes, 2 * slots + 1]
        return table

    np.testing.assert_allclose(dense(first["words"]), dense(second["words"]), atol=1e-5)
    np.testing.assert_allclose(first["strengths"], second["strengths"], rtol=1e-7)
    np.testing.assert_allclose(first["sums"], second["sums"], atol=2**14)
    np.testing.assert_allclose(first["concentration"], second["concentration"], rtol=1e-9)


CASES = {
    "defaults": (Model(6), {}),
    "many communities": (Model(300), {"start": "random"}),
    "alpha, background and cut": (Model(4, alpha=0.8, background=0.02), {"cut": 0.05, "batches": 1}),
    "all of a row is drawn": (Model(3), {"smallest": 1e-10}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tiny_lists", [False, True])
def test_a_sweep_is_that_of_the_cpu(case, tiny_lists, twin_device, monkeypatch):
    """Node by node, in warm-up and after; also where nodes are handed on to larger lists, some of them twice."""
    model, options = CASES[case]
    if tiny_lists:
        monkeypatch.setattr(space, "SHARED", (space.Size(8, 6, 32, 3), space.Size(17, 20, 32, 1)))
    with Workers(1) as workers:
        there, here = samplers_of(network(), model, options, workers, twin_device)
        states = [sampler.restore(here.arrays(here.init(KEY))) for sampler in (there, here)]
        for sweep in range(2):
            infos = [s.step(state, KEY, sweep < 1) for s, state in zip((there, here), states, strict=True)]
            assert_same_state(there.arrays(states[0]), here.arrays(states[1]), model.communities)
            assert infos[0].measures == pytest.approx(infos[1].measures, rel=1e-6)
        if tiny_lists and case == "many communities":
            handed_on = there.kernels.space.counters.view(np.ndarray)[:, :, 2].sum(axis=0)
            assert (handed_on[:2] > 0).all()


def test_strengths_below_the_background(twin_device):
    """The kernels thin the background's part by rejection there: another branch."""
    low = np.array([0.001, 0.3, 0.002, 0.4, 0.08])
    with Workers(1) as workers:
        there, here = samplers_of(network(), Model(4), {"start": "random"}, workers, twin_device)
        start = here.arrays(here.init(KEY))
        start["strengths"][0] = low
        states = [sampler.restore(start) for sampler in (there, here)]
        for sampler, state in zip((there, here), states, strict=True):
            sampler.step(state, KEY, False)
        assert_same_state(there.arrays(states[0]), here.arrays(states[1]), 4)


def test_predictions_and_summaries_are_those_of_the_cpu(twin_device):
    """Isolated nodes are pooled; running means replace their smallest entry; packed samples have the same bits."""
    data = network()
    pairs = np.array([(a, b) for a in range(0, 76, 5) for b in range(a)], dtype=np.int64)
    with Workers(1) as workers:
        options = {"slots": 3, "start": "random"}
        there, here = samplers_of(data, Model(40), options, workers, twin_device)
        chains = [sampler.chain.start(sampler, KEY, pairs) for sampler in (there, here)]
        for sweep in range(7):
            for chain in chains:
                chain.advance(sweep < 1, sweep if sweep else 1)
        first, second = (chain.arrays() for chain in chains)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype, name
        np.testing.assert_allclose(array, second[name], rtol=1e-6, atol=1e-6, err_msg=name)
    assert (first["summary_running_lost"] > 0).any()


@pytest.fixture
def as_gpu(twin_device, monkeypatch):
    """A process whose GPU is the twin, and that takes it for small networks too."""
    monkeypatch.setattr(cuda, "why_not", lambda: "")
    monkeypatch.setattr(cuda, "open_device", lambda: twin_device)
    monkeypatch.setattr(twin_device, "free", 2**34)
    return twin_device


def test_a_run_goes_on_from_a_checkpoint_on_either_device(as_gpu, tmp_path):
    """Stopped and resumed on the GPU it has the bits of a run that never stopped; on the CPU it goes on as well."""
    graph = bm.planted(60, 3, degree=8, seed=1).graph
    settings = {"seed": 2, "chains": 1, "warm_up": 2, "device": "cuda", "exact": False, "held_out": 0.1}
    whole = bm.fit(graph, 3, sweeps=6, **settings)
    for name in ("gpu", "cpu"):
        bm.fit(graph, 3, sweeps=4, **settings, checkpoint=tmp_path / name)
    same = bm.resume(tmp_path / "gpu", sweeps=6)
    np.testing.assert_array_equal(same.mean, whole.mean)
    assert same.provenance["device"] == "cuda"
    other = bm.resume(tmp_path / "cpu", sweeps=6, device="cpu")
    assert other.provenance["device"] == "cpu"
    assert other.scores.log_loss == pytest.approx(whole.scores.log_loss, rel=1e-4)


def test_what_the_gpu_does_not_do_is_an_error(as_gpu):
    graph = bm.planted(40, 3, degree=8, seed=1).graph
    for options, words in (
        ({"moves": "cir"}, "link indicators only"),
        ({"exact": True}, "closed form only: leave out exact"),
        ({"slots": 40}, "at most 32 slots, not 40"),
        ({"model": "popularity"}, "assortative model only, not 'popularity'"),
        ({"sampler": "sgmc"}, "'cuda' runs scir only, not sgmc"),
        ({}, r"a network of 40 nodes has them summed exactly.*exact=False"),
    ):
        with pytest.raises(InputError, match=words):
            bm.fit(graph, 3, sweeps=4, chains=1, device="cuda", **options)


def test_what_does_not_fit_is_refused_with_numbers_before_anything_is_allocated(as_gpu, monkeypatch):
    data = no_hold_out(bm.planted(3000, 3, degree=4, seed=1).graph)
    monkeypatch.setattr(as_gpu, "zeros", None)
    with Workers(1) as workers:
        for free, remedy in ((6_000_000, r"slots=\d+ .* would fit"), (1000, "use device='cpu'")):
            monkeypatch.setattr(as_gpu, "free", free)
            with pytest.raises(
                InputError, match=rf"3,000 nodes and .* GB .*bytes a node.* are free: .*{remedy}"
            ):
                Scir(data, Model(60), ScirOptions(), workers, CudaEngine(workers))


def test_auto_takes_the_gpu_where_that_is_worth_it(as_gpu, monkeypatch):
    def choose(sampler="scir", model="assortative", nodes=10**6, links=10**7, **options):
        return choose_device(sampler, model, ScirOptions(**options), nodes, links)

    assert choose() == ("cuda", "there is a GPU, twin of a GPU")
    for arguments, words in (
        ({"sampler": "sgmc"}, "runs on the CPU only"),
        ({"nodes": 2000}, "too few"),
        ({"links": 1000}, "too few"),
        ({"moves": "cir"}, "link indicators"),
    ):
        device, reason = choose(**arguments)
        assert device == "cpu"
        assert words in reason
    monkeypatch.setattr(cuda, "why_not", lambda: "CuPy is not installed: pip install it")
    assert choose() == ("cpu", "CuPy is not installed")
    graph = bm.planted(40, 3, degree=8, seed=1).graph
    request = FitRequest(communities=3, model="assortative", device="auto").on_device(graph)
    assert request.device == "cpu"
    assert "too few" in request.device_chosen


def test_without_a_driver_or_the_extra_the_error_says_what_to_install(monkeypatch):
    def no_library(name):
        raise OSError(name)

    cuda.open_device.cache_clear()
    monkeypatch.setattr(cuda.ctypes, "CDLL", no_library)
    with pytest.raises(InputError, match=r"libcuda.so.1.*install the driver.*device='cpu'"):
        check_device("cuda", "scir")
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(InputError, match=re.escape("pip install 'blockmix[cuda]'")):
        FitRequest(communities=3, device="cuda")


def test_the_source_and_python_agree_on_constants_and_fields():
    text = sources.source()
    for name, value in re.findall(r"(DRAW_\w+) = (\d+)", text):
        assert getattr(purposes, name) == int(value), name
    known = [constants, cpu_frame, tilts, unshared, exposure]
    names = re.findall(r"\b([A-Z_]{4,}) = ([-0-9.e]+)[,;]", text)
    assert len(names) >= 10
    for name, value in names:
        found = [getattr(module, name) for module in known if hasattr(module, name)]
        if not name.startswith("DRAW_") and name not in ("FILTER_WORDS",):
            assert found, name
            assert found[0] == float(value), name
    for name, fields in (
        ("Frame", frame.FRAME), ("Work", frame.WORK), ("StrengthMove", frame.MOVE), ("Running", frame.RUNNING)
    ):  # fmt: skip
        body = re.sub(r"//.*", "", re.search(rf"struct {name} {{(.*?)}};", text, re.DOTALL)[1])
        declared = []
        for line in body.split(";"):
            words = line.replace("const ", "").split()
            kind = "p" if "*" in line else {"i64": "i", "double": "f"}.get(words[0] if words else "", "")
            declared += [(part.strip(" *"), kind) for part in " ".join(words[1:]).split(",") if words]
        assert tuple(declared) == fields, name
