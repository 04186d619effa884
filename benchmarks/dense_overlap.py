"""Networks whose communities overlap densely: the default sampler beside variational inference, in equal time.

    python benchmarks/dense_overlap.py [--nodes 1000] [--memberships 1.25 1.75] [--seconds 5] [--seeds 1 2 3]

Stochastic variational inference with link sampling, the strongest published code, is said to win on such networks. It
cannot be installed from a package index and is not run here; `svi` and its published form stand for variational
inference. The networks are benchmarks after ABCD+o2 with noise 0.1, which is no model that any of them fits. All
methods get the true number of communities, alpha = 1/K, the same split with 5% of the links held out, and so many
seconds of processor time on one thread; `svi` and `scir` begin at the partition, the published form where it does.
ONMI compares the communities with the true ones.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import blockmix as bm
from blockmix.evaluate import onmi
from blockmix.generators.planted import Planted
from blockmix.inference import fit
from blockmix.inference.request import FitRequest

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "scir": ("scir", {}),
    "svi": ("svi", {}),
    "svi as published": ("svi", {"form": "paper"}),
}
SCORES = ("auc", "log_loss", "onmi")


def run(method: str, made: Planted, seed: int, seconds: float) -> dict[str, float]:
    """Fit once; return the scores."""
    sampler, options = METHODS[method]
    data = bm.hold_out(made.graph, 0.05, seed=seed)
    k = len(made.covers)
    request = FitRequest(
        k, "assortative", sampler, options, seed=seed, chains=1, threads=1, held_out=data, time_limit=seconds,
        alpha=1.0 / k,
    )  # fmt: skip
    post = fit.fit_request(request, made.graph, progress=False, clock=time.process_time)
    assert post.scores is not None
    found = list(post.covers(complete=True).values())
    return {
        "auc": post.scores.auc, "log_loss": 1e3 * post.scores.log_loss,
        "onmi": onmi(found, made.covers, made.graph.n_nodes),
    }  # fmt: skip


def main() -> None:
    """Print one row for each overlap and method, means over seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--memberships", type=float, nargs="+", default=[1.25, 1.75])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| communities a node | method | AUC | log loss (1e-3) | ONMI |\n|---|---|---|---|---|")
    for memberships in args.memberships:
        networks = {seed: bm.abcd(args.nodes, memberships=memberships, seed=seed) for seed in args.seeds}
        for method in METHODS:
            runs = [run(method, made, seed, args.seconds) for seed, made in networks.items()]
            auc, log_loss, score = (statistics.fmean(r[name] for r in runs) for name in SCORES)
            print(f"| {memberships:g} | {method} | {auc:.3f} | {log_loss:.1f} | {score:.3f} |", flush=True)


if __name__ == "__main__":
    main()
