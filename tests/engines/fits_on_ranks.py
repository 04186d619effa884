"""Fits on one process and on 1, 2, 3 and 4 ranks, for test_mpi.py: digests of what each leaves, as one JSON object.

Started by mpiexec with four processes. Each number of ranks is a communicator of its own, so that one start serves all.
"""

import hashlib
import json
import os
import tempfile
import traceback
from pathlib import Path

from mpi4py import MPI
from watched import watched

import blockmix as bm
from blockmix.engines.mpi import MpiComm
from blockmix.posterior.export.files import write_text_files
from blockmix.samplers.ranks.job import run_on_ranks, team
from blockmix.tables import samples

RANKS = (1, 2, 3, 4)
# Isolated nodes, too: leaves whose only link is held out.
LEAVES = 150
ROOM = 100_000
USUAL_ROOM, FEWEST = (samples.BYTES_IN_ALL, samples.BYTES_A_NODE), samples.FEWEST_SAMPLES


def networks():
    """A network large enough to be divided, and one whose chains are spread."""
    planted = bm.planted(2100, 10, degree=8, seed=1).graph.edges().tolist()
    large = bm.Graph.from_edges([*planted, *((a, 2100 + a) for a in range(LEAVES))])
    return large, bm.planted(60, 3, degree=8, seed=1).graph


def fits(place):
    """Each kind of run by name: what `fit` is given."""
    large, small = networks()
    # Another object: one that was saved is read from there as well.
    networks()[0].save(place)
    saved = bm.Graph.load(place)
    usual = {"held_out": 0.1, "seed": 4, "sweeps": 60, "warm_up": 53, "progress": False, "threads": 1}
    plain = usual | {"model": "assortative"}
    return {
        "divided": ((large, 10), plain | {"chains": 1}),
        # The same network, which every rank reads for itself; and of seven samples some are let go.
        "saved": ((saved, 10), plain | {"chains": 1}),
        "popularity": (
            (large, 8),
            usual | {"chains": 1, "model": "popularity", "batches": 3, "sweeps": 20, "warm_up": 12},
        ),
        # No model is named: all ranks make the short run that chooses it, and then the fit.
        "chosen": ((large, 8), usual | {"chains": 1, "batches": 3, "sweeps": 20, "warm_up": 12}),
        "spread": ((small, 3), plain | {"chains": 4, "sweeps": 20, "warm_up": 10}),
    }


def digests(post, folder):
    """A digest of every array of a result, and of its text files."""
    post.save(folder / "result")
    write_text_files(post, folder)
    found = {}
    for file in sorted(folder.rglob("*")):
        # Only the clock may differ.
        if file.suffix in (".npy", ".txt", ".tsv") and file.name != "trace_seconds.npy":
            found[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return found


def main():
    world, found = MPI.COMM_WORLD, {}
    # Its waiting leaves the processors to those who work.
    everybody = MpiComm()
    place = everybody.decide(tempfile.mkdtemp() if world.rank == 0 else None)
    # Only rank 0 fits, and only its network is looked at.
    kinds = fits(Path(place) / "network") if world.rank == 0 else {}
    for name in everybody.decide(list(kinds)):
        arguments, options = kinds.get(name, ((), {}))
        # Room for three or four samples of all nodes, and for twice as many of half of them.
        samples.BYTES_IN_ALL, samples.BYTES_A_NODE = (ROOM, 0) if name == "saved" else USUAL_ROOM
        samples.FEWEST_SAMPLES = 2 if name == "saved" else FEWEST
        for ranks in (0, *RANKS):
            group = world.Split(int(world.rank < max(ranks, 1)))

            def said():
                return "" if team() is None else team().shared

            def run(arguments=arguments, options=options, name=name, ranks=ranks):
                post = bm.fit(*arguments, **options)
                with tempfile.TemporaryDirectory() as folder:
                    kept = len(post.draws[0])
                    found[f"{name}/{ranks}"] = [digests(post, Path(folder)), kept, said()]

            if ranks == 0 and world.rank == 0:
                run()
            elif world.rank < ranks:
                run_on_ranks(run, watched(MpiComm(group)))
            everybody.decide(None)
            group.Free()
    if world.rank == 0:
        Path(os.environ["FOUND"]).write_text(json.dumps(found))


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)
