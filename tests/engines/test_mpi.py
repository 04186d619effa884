"""The ranks of an MPI job leave the same bits as one process, end together, and say one thing."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import blockmix as bm
from blockmix.engines import slices
from blockmix.engines.contract import Comm
from blockmix.engines.launched import launched, launched_rank
from blockmix.engines.shards import InMemory, Layout, cut, divide
from blockmix.engines.slices import Mapped, drop_from_rows, rows_of_pairs, sees
from blockmix.graph.split import hold_out
from blockmix.graph.storage import saved_at

HERE = Path(__file__).parent
COLLECTIVES = ["add", "exchange", "decide", "hand_out", "swap", "gather"]
# A collective that never ends would take the tests with it.
LONGEST = 300
MISSING = [name for name in ("mpi4py",) if importlib.util.find_spec(name) is None]
MISSING += (
    [] if shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") else ["mpiexec"]
)
needs_mpi = pytest.mark.skipif(bool(MISSING), reason=f"MPI cannot be had here: no {', '.join(MISSING)}")


def start(ranks, *command, **environment):
    """Start a Python command on so many ranks, with one thread each."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return subprocess.Popen(
        [mpiexec, "-n", str(ranks), sys.executable, *command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )  # fmt: skip


def finish(job):
    """Wait for a job and return what it printed; one that hangs is killed, and fails the test."""
    try:
        output, errors = job.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        output, errors = job.communicate()
        pytest.fail(f"the ranks did not end within {LONGEST} s: {errors}")
    return job.returncode, output, errors


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What `fits_on_ranks.py` found, by kind of run and number of ranks; 0 is one process without ranks."""
    file = tmp_path_factory.mktemp("ranks") / "found.json"
    status, _, errors = finish(start(4, str(HERE / "fits_on_ranks.py"), FOUND=str(file)))
    assert status == 0, errors
    return json.loads(file.read_text())


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["divided", "saved", "popularity", "chosen", "spread"])
def test_a_fit_has_the_same_bits_on_any_number_of_ranks(found, name, ranks):
    """Memberships, strengths, predictions, posterior samples, trace and text files."""
    alone, kept, _ = found[f"{name}/0"]
    arrays, kept_there, shared = found[f"{name}/{ranks}"]
    assert len(alone) > 15
    assert arrays == alone
    assert kept_there == kept
    if name == "saved":
        # Of seven samples: or nothing would show that ranks agree on how many there is room for.
        assert kept < 7
    said = {"saved": "each rank reads its own", "spread": "4 chains are spread"}
    assert said.get(name, "the network is in memory") in shared


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    file = tmp_path_factory.mktemp("network") / "edges.txt"
    links = bm.planted(2100, 10, degree=8, seed=1).graph.edges()
    file.write_text("".join(f"{a} {b}\n" for a, b in links))
    return file


def command(*words):
    return ("-m", "blockmix", *map(str, words))


@needs_mpi
def test_a_run_killed_on_two_ranks_goes_on_alone_to_the_same_bits(edges, tmp_path):
    """SIGTERM to rank 0 writes a checkpoint and ends both; the rest is made by one process."""
    model = ("--model", "assortative")
    options = (
        "-k",
        10,
        *model,
        "--sweeps",
        20_000,
        "--warm-up",
        5,
        "--seed",
        2,
        "--chains",
        1,
        "-q",
        "--no-report",
    )
    job = start(2, *command("fit", edges, *options, "-o", tmp_path / "run"))
    pid = wait_for_sweeps(tmp_path / "run", job)
    os.kill(pid, signal.SIGTERM)
    status, _, errors = finish(job)
    assert status != 0
    assert errors.count("terminated; the run is kept up to its last checkpoint") == 1
    # How many sweeps were made until then depends on the machine.
    wanted = json.loads((tmp_path / "run" / "status.json").read_text())["sweep"] + 10
    post = bm.resume(tmp_path / "run", sweeps=wanted, progress=False)
    assert post.provenance["resumed"] == 1
    alone = bm.fit(
        edges, 10, model="assortative", sweeps=wanted, warm_up=5, seed=2, chains=1, progress=False
    )  # fmt: skip
    for name in ("offsets", "community", "mean", "sd", "strength_mean"):
        np.testing.assert_array_equal(getattr(post, name), getattr(alone, name))


def wait_for_sweeps(folder, job):
    """Wait until a run has made a sweep; return the process number of rank 0."""
    began = time.monotonic()
    while time.monotonic() - began < LONGEST and job.poll() is None:
        status = folder / "status.json"
        if status.exists() and (json.loads(status.read_text())["sweep"] or 0) > 0:
            return json.loads(status.read_text())["pid"]
        time.sleep(0.05)
    pytest.fail(f"no sweep was made: {finish(job)}")


@needs_mpi
@pytest.mark.parametrize(
    ("words", "said"),
    [(("no-such-file.txt",), "there is no such file"), (("ring.txt", "--chains", "1"), "--chains 2")],
)
def test_wrong_input_ends_all_ranks_with_one_message(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ring.txt").write_text("".join(f"{a} {(a + 1) % 50}\n" for a in range(50)))
    status, output, errors = finish(start(2, *command("fit", *words, "-k", 3, "-q")))
    assert (status, output) == (2, "")
    assert errors.count("error:") == 1
    assert said in errors


@needs_mpi
def test_a_rank_that_fails_says_which_and_ends_all():
    """A rank that raises while others wait for it must not leave them waiting."""
    program = (
        "from blockmix.engines.mpi import MpiComm\n"
        "from blockmix.samplers.ranks.job import run_on_ranks, team\n"
        "from blockmix.samplers.ranks.hosted import Hosted\n"
        "comm = MpiComm()\n"
        "def fail(self): raise MemoryError('no room')\n"
        "Hosted.record_last = fail if comm.rank else (lambda self: comm.gather(0))\n"
        "run_on_ranks(lambda: (team().share_as('hosted'), team().order('record_last')), comm)"
    )
    status, _, errors = finish(start(2, "-c", program))
    assert status != 0
    assert "rank 1 on" in errors
    assert "no room" in errors


def test_every_collective_is_under_the_watchdog_of_these_tests():
    """`watched` guards the methods of `Comm`."""
    assert [name for name, method in vars(Comm).items() if callable(method) and name[0] != "_"] == COLLECTIVES


@needs_mpi
@pytest.mark.parametrize("name", COLLECTIVES)
def test_a_collective_that_a_rank_does_not_join_ends_the_job(name):
    """The watchdog of these tests: without it a deadlock would take all the time there is, and say nothing."""
    program = (
        "import sys, time; import numpy as np\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from watched import watched\n"
        "from blockmix.engines.halo import Halo, Partner\n"
        "from blockmix.engines.mpi import MpiComm\n"
        "from blockmix.tables.layout import Rows\n"
        "comm, one = watched(MpiComm(), 2), np.zeros(1, dtype=np.int64)\n"
        "comm.halo = Halo([[Partner(1 - comm.rank, one[:0], one)]])\n"
        "rows = Rows(*(np.zeros((1, 4), dtype=d) for d in (np.int32, np.float32)), np.ones(1, dtype=np.float32))\n"
        "given = {'add': (one,), 'exchange': (rows, 0), 'decide': (1,), 'hand_out': ([1, 2],), 'swap': ([1, 2],),\n"
        f"         'gather': (1,)}}[{name!r}]\n"
        f"waits = 1 if {name!r} == 'hand_out' else 0\n"
        f"time.sleep(100) if comm.rank != waits else comm.{name}(*given)"
    )
    began = time.monotonic()
    status, _, errors = finish(start(2, "-c", program))
    assert status != 0
    assert "Timeout" in errors
    assert name in errors
    assert time.monotonic() - began < 60


def test_the_launcher_is_known_from_the_environment(monkeypatch):
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    assert (launched(), launched_rank()) == (1, 0)
    monkeypatch.setenv("SLURM_NTASKS", "8")
    # inside an allocation, but not started by srun
    assert launched() == 1
    monkeypatch.setenv("PMIX_RANK", "3")
    assert (launched(), launched_rank()) == (8, 3)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_parts_of_a_network_have_every_node_once_and_all_of_its_links(ranks):
    data = hold_out(bm.planted(60, 3, degree=6, seed=2).graph, 0.2, seed=1)
    degrees = data.training.degrees
    owner = divide(np.arange(60, dtype=np.int32) % 7, degrees, ranks)
    layout = Layout.of(data, owner, ranks, 4)
    parts = [cut(layout, InMemory(data), rank) for rank in range(ranks)]
    shards = [part.shard for part in parts]
    assert sorted(np.concatenate([shard.names[: shard.own] for shard in shards])) == list(range(60))
    assert sorted(np.concatenate([part.numbers for part in parts])) == list(range(len(data.scored_pairs)))
    for part, shard in zip(parts, shards, strict=True):
        for place, name in enumerate(shard.names[: shard.own]):
            begin, end = shard.network.offsets[place : place + 2]
            assert (shard.names[shard.network.neighbors[begin:end]] == data.training.neighbors_of(name)).all()
        for batch in range(4):
            assert set(shard.names[shard.starts[batch] : shard.starts[batch + 1]] % 4) <= {batch}
        assert (shard.names[part.pairs] == data.scored_pairs[part.numbers]).all()
        assert (owner[shard.names[shard.own :]] == part.owners).all()
    links = [int(degrees[owner == rank].sum()) for rank in range(ranks)]
    assert max(links) < 2 * degrees.sum() / ranks


@pytest.mark.parametrize("at_once", [1, 40, 1 << 24])
def test_a_part_cut_from_a_saved_network_is_the_one_cut_in_memory(tmp_path, monkeypatch, at_once):
    """Every array and its type: kernels are compiled once for both."""
    monkeypatch.setattr(slices, "READ_AT_ONCE", at_once)
    network = [*bm.planted(60, 3, degree=6, seed=2).graph.edges().tolist(), *((a, 60 + a) for a in range(30))]
    whole = bm.Graph.from_edges(network)
    whole.save(tmp_path / "saved")
    graph = bm.Graph.load(tmp_path / "saved")
    data = hold_out(graph, 0.4, seed=1)
    assert (data.training.degrees == 0).any()
    owner = divide(np.arange(graph.n_nodes, dtype=np.int32) % 7, data.training.degrees, 3)
    layout = Layout.of(data, owner, 3, 4)
    for rank in range(3):
        wanted = cut(layout, InMemory(data), rank)
        found = cut(layout, Mapped(saved_at(graph), data.pairs, data.links), rank)
        for one, other in zip(flat(found), flat(wanted), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def flat(part):
    """All arrays of a part."""
    return [*part.shard.network, part.shard.names, part.shard.starts, part.shard.isolated, *part[1:]]


def test_a_network_that_another_process_does_not_see_is_named(tmp_path):
    graph = bm.Graph.from_edges([(1, 2), (2, 3)])
    assert saved_at(graph) is None
    graph.save(tmp_path / "saved")
    saved = saved_at(graph)
    assert sees(saved) == ""
    assert "no " in sees(saved._replace(folder=str(tmp_path / "elsewhere")))
    bm.Graph.from_edges([(1, 2), (2, 4), (4, 1)]).save(tmp_path / "saved")
    assert "another network" in sees(saved)
    neighbors = tmp_path / "saved" / "neighbors.npy"
    neighbors.write_bytes(neighbors.read_bytes()[:-4])
    manifest = json.loads((tmp_path / "saved" / "manifest.json").read_text())
    assert "bytes of entries" in sees(saved._replace(fingerprint=manifest["fingerprint"]))


def test_rows_without_held_out_links_at_their_ends_and_in_the_middle():
    starts, entries = np.array([0, 4, 4, 7]), np.array([1, 4, 6, 9, 0, 2, 5], dtype=np.int32)
    out_starts, out = rows_of_pairs(np.array([7, 3, 8]), np.array([[1, 7], [7, 9], [2, 8], [5, 6]]), np.int32)
    left = drop_from_rows(starts, entries, out_starts, out)
    assert entries[:left].tolist() == [4, 6, 0, 5]
    assert starts.tolist() == [0, 2, 2, 4]
    nobody = rows_of_pairs(np.empty(0, dtype=np.int64), np.array([[1, 2]]), np.int32)
    assert [array.tolist() for array in nobody] == [[0], []]
