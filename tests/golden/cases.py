"""Short fits of every sampler and model, and everything they leave, array by array and file by file.

Names of arrays are those of checkpoints and of saved posteriors: what a user keeps, and what a resumed run reads.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import blockmix as bm

# What differs from run to run, or from machine to machine, in a manifest or a list of facts.
CHANGING = {
    "created", "seconds", "total_seconds", "threads", "peak_memory_bytes", "python", "blockmix", "run",
    "updates_per_second", "written_by", "checksum",
}  # fmt: skip

FITS: dict[str, dict[str, Any]] = {
    "scir": {"communities": 6, "chains": 2},
    "scir, number of communities chosen": {},
    "scir, nothing held out": {"communities": 5, "held_out": 0, "chains": 1},
    "scir, prior and background given": {
        "communities": 5,
        "alpha": 0.2,
        "eta": (2.0, 3.0),
        "background": 0.01,
    },
    "scir, random start, few slots": {"communities": 40, "start": "random", "slots": 4, "batches": 3},
    "scir, proportional hold-out": {"communities": 6, "held_out": 0.2, "held_out_kind": "proportional"},
    "scir, diffusion": {"communities": 6, "moves": "cir", "form": "sparse", "neighbors": 5},
    "scir, diffusion, dense": {"communities": 6, "moves": "cir"},
    "scir, diffusion, non-links sampled": {"communities": 6, "non_links": 7, "form": "sparse"},
    "scir, diffusion, dense, non-links sampled": {"communities": 6, "non_links": 7, "form": "dense"},
    "popularity": {"communities": 6, "model": "popularity", "chains": 2},
    "popularity, batches, few slots": {"communities": 40, "model": "popularity", "batches": 3, "slots": 4},
    "sgmc": {"communities": 6, "sampler": "sgmc"},
    "sgmc, printed form": {"communities": 6, "sampler": "sgmc", "preconditioned": False, "totals": "prior"},
    "sgmc-m": {"communities": 12, "sampler": "sgmc-m"},
    "svi": {"communities": 6, "sampler": "svi"},
    "svi, factors": {"communities": 6, "sampler": "svi", "pairs": "factors"},
    "cgs": {"communities": 4, "sampler": "cgs"},
    "lmc": {"communities": 4, "sampler": "lmc"},
    "sgmc, paper form": {"communities": 6, "sampler": "sgmc", "form": "paper"},
    "sgmc-m, paper form": {"communities": 12, "sampler": "sgmc-m", "form": "paper"},
    "svi, paper form": {"communities": 6, "sampler": "svi", "form": "paper"},
    "lmc, paper form": {"communities": 4, "sampler": "lmc", "form": "paper"},
    "general model": {"communities": 4, "model": "mmsb"},
}
SWEEPS = 24
# What is compared by its sums where numbers are rounded differently.
SUMMED = {
    "scores", "link probabilities", "posterior/posterior/mean.npy", "posterior/posterior/sd.npy",
    "posterior/posterior/strength_mean.npy", "posterior/posterior/held_out_probability.npy",
}  # fmt: skip


def network() -> bm.Graph:
    """A planted network with overlap; a few nodes have no links, and two lose theirs to the hold-out."""
    graph = bm.planted(120, 6, degree=9, seed=5).graph
    isolated = [f"alone {i}" for i in range(3)]
    labels = [f"n{i}" for i in range(graph.n_nodes)]
    edges = [(labels[a], labels[b]) for a, b in graph.edges()]
    return bm.Graph.from_edges([*edges, ("n0", "leaf 1"), ("n1", "leaf 2")], nodes=[*labels, *isolated])


class Findings:
    """Digests of arrays and texts by name, and a few plain numbers for machines that round differently."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self.numbers: dict[str, list[float]] = {}

    def array(self, name: str, values: Any) -> None:
        """Take in an array: type, shape and every bit of it."""
        array = np.ascontiguousarray(values)
        head = f"{array.dtype.str} {array.shape} ".encode()
        self.digests[name] = hashlib.sha256(head + array.tobytes()).hexdigest()[:12]
        if name in SUMMED:
            finite = array[np.isfinite(array)].astype(np.float64)
            self.numbers[name] = [
                float(f"{value:.9g}") for value in (np.abs(finite).sum(), (finite**2).sum())
            ]

    def text(self, name: str, text: str) -> None:
        """Take in a text as it is."""
        self.digests[name] = hashlib.sha256(text.encode()).hexdigest()[:12]


def plain(value: Any) -> Any:
    """A manifest without what changes from run to run."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in CHANGING}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def fit_findings(name: str, folder: Path) -> Findings:
    """One fit of the list: its last checkpoint, its posterior and its scores."""
    # What stands for a model that is not named is tested elsewhere.
    found, options = Findings(), {"model": "assortative"} | FITS[name]
    communities = options.pop("communities", "auto")
    run = folder / "run"
    post = bm.fit(network(), communities, seed=3, sweeps=SWEEPS, warm_up=10, checkpoint=run, **options)
    for path in sorted((run / "checkpoint").rglob("*.npy")):
        place = path.relative_to(run / "checkpoint")
        # Of the numbered checkpoints only the last: the others depend on the clock.
        if place.parts[0] in ("start", "graph", "training") or place.parts[0] == last_checkpoint(run):
            part = "state" if place.parts[0].isdigit() else place.parts[0]
            if path.stem not in ("trace_seconds",):
                found.array(f"{part}/{path.stem}", np.load(path, allow_pickle=False))
    post.save(folder / "saved")
    for path in sorted((folder / "saved").rglob("*.npy")):
        if path.stem != "trace_seconds":
            found.array(
                f"posterior/{path.relative_to(folder / 'saved').as_posix()}",
                np.load(path, allow_pickle=False),
            )
    found.text("provenance", json.dumps(plain(post.provenance), sort_keys=True, default=str))
    if post.scores is not None:
        found.array("scores", [post.scores.log_loss, post.scores.auc, post.scores.perplexity])
    labels = [f"n{i}" for i in range(40)] + ["alone 0", "alone 1", "leaf 1", "leaf 2"]
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[:i]]
    found.array("link probabilities", post.link_probability(pairs))
    found.text("communities", json.dumps(post.communities(threshold=0.2), sort_keys=True, default=str))
    found.text("memberships", str(post.memberships(threshold=0.1)))
    found.array("diagnostics", np.nan_to_num(np.array([post.diagnostics().mean, post.diagnostics().sd])))
    return found


def last_checkpoint(run: Path) -> str:
    """The name of the newest numbered checkpoint."""
    return max(path.name for path in (run / "checkpoint").iterdir() if path.name.isdigit())


def command_line_findings(folder: Path) -> Findings:
    """What the command line writes: a generated network, a run, a prediction."""
    found = Findings()
    made, run = folder / "made", folder / "run"
    call("simulate", "-n", "90", "-k", "4", "--degree", "8", "--seed", "2", "-o", made)
    call(
        "fit", made / "edges.txt", "-k", "4", "--model", "assortative", "--seed", "1", "--sweeps", "30",
        "--held-out", "0.1", "-o", run,
    )  # fmt: skip
    for path in sorted([*made.iterdir(), *run.glob("*.tsv"), *run.glob("*.txt")]):
        if path.suffix in (".txt", ".tsv"):
            found.text(f"{path.parent.name}/{path.name}", path.read_text("utf-8"))
    return found


def call(*arguments: Any) -> None:
    """Run the command line; anything but success is an error."""
    command = [sys.executable, "-m", "blockmix", *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
