"""A run that cannot fit into memory is refused before it starts, with the estimate and a way out."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from blockmix import Graph, InputError, fit, hold_out, planted
from blockmix.cli.guard import describe_error
from blockmix.inference.choices import memory
from blockmix.inference.choices.memory import available_bytes, least_bytes
from blockmix.inference.execute import make_samplers
from blockmix.inference.request import FitRequest
from blockmix.numerics.workers import Workers
from blockmix.tables.summary import ChainSummary


def request(communities, sampler="scir", chains=1, **options):
    return FitRequest(communities, "assortative", sampler=sampler, options=options, chains=chains)


def test_the_estimate_is_a_lower_bound_that_is_not_far_off():
    """What a chain allocates lies above the estimate, and below twice as much."""
    data = hold_out(planted(20_000, 50, degree=6, seed=1).graph, 0.05, seed=1)
    wanted = request(200)
    with Workers(1) as workers:
        (sampler,) = make_samplers(wanted, data, workers)
        tracemalloc.start()
        (sampler,) = make_samplers(wanted, data, workers)
        state = sampler.init((1, 2))
        summary = ChainSummary.empty(sampler.nodes, 200, sampler.slots)
        for sweep in range(8):
            summary.add(sweep, state.rows, state.strengths.value, workers)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert least_bytes(wanted, 20_000) < taken < 2 * least_bytes(wanted, 20_000)


def test_memory_grows_with_chains_and_slots_and_of_dense_samplers_with_communities():
    assert least_bytes(request(500, chains=3), 1000) == 3 * least_bytes(request(500), 1000)
    assert least_bytes(request(500, slots=32), 1000) > least_bytes(request(500), 1000)
    assert least_bytes(request(5000), 10**6) < 1.1 * least_bytes(request(500), 10**6)
    assert least_bytes(request(5000, "sgmc"), 10**6) > 9 * least_bytes(request(500, "sgmc"), 10**6)


def test_what_is_free_is_known_here():
    free = available_bytes()
    assert free is None or 0 <= free < 2**50


def test_too_many_communities_are_refused_with_the_estimate(monkeypatch):
    ring = Graph.from_edges([(a, (a + 1) % 50) for a in range(50)])
    with pytest.raises(InputError, match=r"at least .* of memory .* GB are free: use fewer communities"):
        fit(ring, 2 * 10**9)
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)
    with pytest.raises(InputError, match=r"fewer slots a node than 16, fewer chains than 4, or force=True"):
        fit(ring, 100, chains=4)
    with pytest.raises(InputError, match="the sampler scir, whose memory does not grow"):
        fit(ring, 100, sampler="sgmc")
    assert fit(ring, 2, sweeps=3, force=True, threads=1).provenance["sweeps"] == 3


def test_where_free_memory_is_unknown_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.check_memory(request(2 * 10**9), 50)


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="needs limits of the address space and /proc"
)
def test_a_low_limit_of_memory_is_named(tmp_path):
    """Before libraries fail to load, with messages about everything else; help is shown all the same."""
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n")
    program = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({0}, {0})); " + (
        "from blockmix.cli import main; main()"
    )

    def run(limit, *words):
        return subprocess.run(
            [sys.executable, "-c", program.format(limit), *words], capture_output=True, text=True, check=False
        )

    done = run(300 * 2**20, "fit", str(tmp_path / "edges.txt"), "-k", "2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: not enough memory (this shell limits the memory of a process to 300 MiB (ulimit -v), and blockmix "
        "needs at least 800 MiB; raise the limit)\n"
    )
    assert run(300 * 2**20, "fit", "--help").returncode == 0


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="needs limits of the address space and /proc"
)
def test_the_estimate_knows_the_limit_of_the_address_space(monkeypatch):
    import resource

    used = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used + 10**8, used + 10**8))
    assert 0 < memory.available_bytes() <= 10**8 + 10**7


def test_threads_that_cannot_be_started_are_a_matter_of_limits():
    message, status = describe_error(RuntimeError("can't start new thread"))
    assert (status, "defect" in message, "--threads" in message) == (1, False, True)
