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
from blockmix.engines.launched import launched, launched_rank
from blockmix.engines.shards import Cuts, divide
from blockmix.graph.split import hold_out

HERE = Path(__file__).parent
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
@pytest.mark.parametrize("name", ["divided", "popularity", "spread"])
def test_a_fit_has_the_same_bits_on_any_number_of_ranks(found, name, ranks):
    """Memberships, strengths, predictions, posterior samples, trace and text files."""
    alone = found[f"{name}/0"]
    assert len(alone) > 15
    assert found[f"{name}/{ranks}"] == alone


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
    options = ("-k", 10, "--sweeps", 150, "--seed", 2, "--chains", 1, "-q", "--no-report")
    job = start(2, *command("fit", edges, *options, "-o", tmp_path / "run"))
    pid = wait_for_sweeps(tmp_path / "run", job)
    os.kill(pid, signal.SIGTERM)
    status, _, errors = finish(job)
    assert status != 0
    assert errors.count("terminated; the run is kept up to its last checkpoint") == 1
    assert bm.resume(tmp_path / "run", sweeps=40, progress=False).provenance["resumed"] == 1


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
    cuts = Cuts(data, owner, ranks, 4)
    parts = [cuts.part(rank) for rank in range(ranks)]
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
