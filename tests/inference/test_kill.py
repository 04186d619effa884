"""A run that is killed again and again ends at the bits of one that was left alone."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import blockmix as bm

KILLS, SWEEPS, WARM_UP = 16, 1400, 140
# Both link models, directions, both laws of weights; 64 kills in all.
KINDS = ("assortative", "popularity", "directed counts", "amounts")

# One process imports everything and forks a child for each life of the run, so that a life costs no start-up. The
# first child is left alone. Each other one is killed a random time after it has written a random number of
# checkpoints, none included: in a sweep, while a checkpoint is written, before it has got anywhere. Only after
# enough deaths may a life last to the end.
PROGRAM = """
    import json, os, random, signal, sys, time
    from pathlib import Path
    import blockmix as bm
    from blockmix.inference.run_folder.checkpointer import Checkpointer
    from blockmix.inference.run_folder.folder import RunFolder, has_run
    from blockmix.inference.resume import resume

    folder, alone = Path(sys.argv[1]), Path(sys.argv[2])
    kills, sweeps, warm_up = (int(word) for word in sys.argv[3:6])
    kind = sys.argv[6]
    between = sweeps // (5 * kills)

    def due(self):
        # By sweeps rather than seconds, so that a busy machine does not change how far a life gets.
        self.asked = getattr(self, "asked", 0) + 1
        return self.asked % between == 0

    by_time = Checkpointer.due
    graph = bm.planted(120, 4, degree=10, seed=2).graph
    options = dict(seed=3, sweeps=sweeps, warm_up=warm_up, chains=2, threads=1, model="popularity")
    if kind == "assortative":
        options["model"] = kind
    elif kind != "popularity":
        weighted = [(a, b, 1 + (a * b) % 3) for a, b in graph.edges().tolist()]
        graph = bm.Graph.from_edges(weighted, weights=True, directed="directed" in kind)
        options["weight_law"] = kind.split()[-1]
    chance = random.Random(8)

    def live(place):
        Checkpointer.due = due if place == folder and deaths < kills else by_time
        if has_run(place) and any(place.glob("checkpoint/0*")):
            post = resume(place, threads=1)
        else:
            with RunFolder(place) as opened:
                opened.clear()
                post = bm.fit(graph, 4, checkpoint=opened, **options)
        post.save(place)

    def child(place):
        pid = os.fork()
        if pid == 0:
            live(place)
            os._exit(0)
        return pid

    def newest():
        return max((int(path.name) for path in folder.glob("checkpoint/0*")), default=0)

    def over(pid):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill_some_time(pid):
        goal = newest() + chance.randrange(4)
        while newest() < goal and not over(pid):
            time.sleep(0.001)
        if chance.random() < 0.5:
            # Aim at a checkpoint while it is written.
            while not any(folder.glob("checkpoint/.partial-*")) and not over(pid):
                time.sleep(0.0001)
            time.sleep(chance.uniform(0.0, 0.005))
        else:
            time.sleep(chance.uniform(0.0, 2 * pause))
        os.kill(pid, signal.SIGKILL)

    deaths, sweep_at_death, partial = 0, [], 0
    bm.fit(graph, 4, **options | {"sweeps": 5, "warm_up": 2})
    began = time.perf_counter()
    assert os.waitpid(child(alone), 0)[1] == 0
    pause = (time.perf_counter() - began) / (5 * kills)
    while True:
        pid = child(folder)
        if deaths < kills:
            kill_some_time(pid)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSIGNALED(status):
            assert status == 0, status
            break
        deaths += 1
        partial += any(folder.glob("checkpoint/.partial-*"))
        kept = sorted(folder.glob("checkpoint/0*/manifest.json"))
        sweep_at_death.append(json.loads(kept[-1].read_text())["facts"]["sweep"] if kept else -1)
    print(json.dumps({"deaths": deaths, "sweeps": sweep_at_death, "partial": partial}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs fork and waitid")
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_killed_at_random_moments_ends_at_the_same_bits(tmp_path, same_run, kind):
    run, alone = tmp_path / "run", tmp_path / "alone"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), run, alone, *map(str, (KILLS, SWEEPS, WARM_UP)), kind],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    # A life may end before its signal comes.
    assert record["deaths"] >= KILLS - 2
    # The kills came at many places of the run, in warm-up and later, and every life went on where the last one was.
    assert len(set(record["sweeps"])) > KILLS // 2
    assert record["sweeps"][0] < WARM_UP < record["sweeps"][-1]
    assert record["sweeps"] == sorted(record["sweeps"])
    assert record["partial"] >= 1
    post, undisturbed = bm.load(run), bm.load(alone)
    assert (post.provenance["sweeps"], post.provenance["interrupted"]) == (SWEEPS, False)
    assert post.provenance["resumed"] > KILLS // 4
    same_run(post, undisturbed, (run, alone))


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_the_program_itself_is_killed_and_resumed(tmp_path, small, same_run):
    """The same with the program as users start it, once; resumed, it ends a hundred sweeps after the checkpoint."""
    edges, folder = tmp_path / "edges.txt", tmp_path / "run"
    edges.write_text("".join(f"{a} {b}\n" for a, b in small.edges()))
    command = [sys.executable, "-m", "blockmix.cli"]
    words = ["fit", edges, "-k", 4, "--sweeps", 10**6, "--warm-up", 100, "--chains", 1, "--seed", 1, "-q"]
    words += ["--checkpoint-every", 0.1, "-o", folder]
    with subprocess.Popen([*command, *map(str, words)], stderr=subprocess.PIPE) as run:
        while not (folder / "checkpoint" / "000002").exists() and run.poll() is None:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        assert run.wait(timeout=60) == -signal.SIGKILL, run.stderr.read()
    assert not (folder / "run.json").exists()
    kept = max(path for path in (folder / "checkpoint").glob("0*"))
    sweeps = max(json.loads((kept / "manifest.json").read_text())["facts"]["sweep"], 100) + 100
    done = subprocess.run(
        [*command, "resume", folder, "--sweeps", str(sweeps), "--json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["sweeps"], record["resumed"]) == (sweeps, 1)
    alone = bm.fit(bm.read_graph(edges), 4, sweeps=sweeps, warm_up=100, chains=1, seed=1)
    same_run(bm.load(folder), alone)
