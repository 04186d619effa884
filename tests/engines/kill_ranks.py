"""SIGKILL to a rank of an MPI job at random moments: what does it leave, and does the run go on to the same bits?

    python tests/engines/kill_ranks.py [--kills 20] [--ranks 2] [--seed 1]

Each time a job is started, one of its ranks is killed after a random part of the time that a whole run takes, and the
run is resumed on one, two or three ranks to its end. Prints a line a kill, and at the end how many were different.
Status 1 where anything was lost: a file that differs, ranks that live on, a run that cannot be resumed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import blockmix as bm

SWEEPS, LONGEST, ENDS_WITHIN = 120, 300, 10.0
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
# When checkpoints are written depends on the clock.
CHECKPOINTS = "checkpoint"


def start(ranks: int, *words: object) -> subprocess.Popen[str]:
    """Start a command of blockmix on so many ranks of one thread."""
    assert MPIEXEC is not None
    command = [MPIEXEC, "-n", str(ranks), sys.executable, "-m", "blockmix", *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def finish(job: subprocess.Popen[str], within: float = LONGEST) -> str:
    """Wait for a job and return its messages; one that does not end in time is killed and is an error."""
    try:
        return job.communicate(timeout=within)[1]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        raise SystemExit(f"ranks did not end within {within} s: {job.communicate()[1]}") from None


def ranks_of(job: subprocess.Popen[str]) -> list[int]:
    """Return the processes that the launcher has started: those below it that run Python."""
    parents, words = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words[int(entry.name)] = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
    below = {job.pid}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(pid for pid in below if words.get(pid, [b""])[0] == sys.executable.encode())


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of every array and text of a result; clocks and messages may differ."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.suffix in (".npy", ".tsv", ".txt")
        and file.name != "trace_seconds.npy"
        and CHECKPOINTS not in file.relative_to(folder).parts
    }


def killed(folder: Path, edges: Path, ranks: int, after: float, rng: random.Random) -> str:
    """Start a run, kill one rank, and return what happened."""
    job = start(ranks, "fit", edges, *OPTIONS, "-o", folder)
    time.sleep(after)
    pids = ranks_of(job)
    if job.poll() is not None or not pids:
        finish(job)
        return "ended before"
    victim = rng.choice(pids)
    os.kill(victim, signal.SIGKILL)
    began = time.monotonic()
    finish(job, ENDS_WITHIN)
    taken = time.monotonic() - began
    left = ranks_of(job)
    if left:
        raise SystemExit(f"ranks {left} live on")
    return f"rank {pids.index(victim)} killed, all ended in {taken:.1f} s"


OPTIONS = (
    "-k",
    10,
    "--model",
    "assortative",
    "--sweeps",
    SWEEPS,
    "--seed",
    2,
    "--chains",
    1,
    "-q",
    "--no-report",
    "--checkpoint-every",
    0.3,
)


def main() -> None:
    """Kill, resume and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, different = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        edges = root / "edges.txt"
        links = bm.planted(2100, 10, degree=8, seed=1).graph.edges()
        edges.write_text("".join(f"{a} {b}\n" for a, b in links))
        began = time.monotonic()
        said = finish(start(options.ranks, "fit", edges, *OPTIONS, "-o", root / "whole"))
        whole, wanted = time.monotonic() - began, digests(root / "whole")
        if not wanted:
            raise SystemExit(f"the run to compare with failed: {said}")
        print(f"a whole run takes {whole:.1f} s and leaves {len(wanted)} arrays and texts", flush=True)
        for number in range(options.kills):
            folder, ranks = root / f"run{number}", rng.randint(1, 3)
            after = rng.uniform(0.1, 1.0) * whole
            said = killed(folder, edges, options.ranks, after, rng)
            if said != "ended before":
                # Before its first checkpoint there is nothing to go on from: such a run is made again.
                kept = (folder / "checkpoint").exists() and any((folder / "checkpoint").glob("0*"))
                words = (
                    ("resume", folder, "-q")
                    if kept
                    else ("fit", edges, *OPTIONS, "-o", folder, "--overwrite")
                )
                said += f", {'resumed' if kept else 'made again'} on {ranks}"
                message = finish(start(ranks, *words))
                said += f": {message.strip()}" if message.strip() else ""
            found = digests(folder)
            wrong = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
            different += len(wrong)
            print(
                f"{number + 1:3d} after {after:5.1f} s: {said}; {len(wrong)} differ {wrong[:3]}", flush=True
            )
    print(f"{different} of all files differ")
    raise SystemExit(bool(different))


if __name__ == "__main__":
    main()
