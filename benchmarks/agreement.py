"""Whether chains agree: the share of label-free quantities with a good R-hat and enough effective samples.

    python benchmarks/agreement.py --json agreement.json
    python benchmarks/agreement.py --networks karate netscience --options '{}' '{"start": "random"}'

Every network is fitted with default chains, for `--seconds` of two processors. On a machine that others share, seconds
on the clock mean little. So the time is given as sweeps: two short runs measure the processor time of a sweep and of
all else, and the run then makes as many sweeps as two processors would make in that time (`--clock` runs by the clock
instead). Several `--options`, each a JSON object of settings of `fit`, are compared in one call.

Printed: `agree`, the share of the quantities that decide the verdict (`blockmix.posterior.diagnostics`) with R-hat
below 1.05 and a bulk effective sample size above 400; `R-hat` and `ESS`, the shares that keep one of the two limits;
`alone`, the share whose R-hat is below 1.05 between the two halves of single chains, averaged over chains. Where
`alone` is high and `R-hat` low, chains are in different modes; where both are low, they move slowly. `spread` is the
standard deviation between chains of their mean log loss of sampled pairs over that within chains, `median` the median
effective sample size. Then the number of communities, sweeps, processor seconds, and the worst kind of quantities. The
goal is 95% on networks of up to 20,000 links in 60 s. Networks come from the folder named by BLOCKMIX_DATA or are
downloaded.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockmix as bm
from blockmix.posterior.convergence import r_hat
from blockmix.posterior.diagnostics import common_samples, table_of
from blockmix.posterior.quantities import invariant_quantities

REAL = ("karate", "football", "polbooks", "netscience", "us-air-712", "ca-GrQc", "ca-HepPh")
# Planted networks: nodes, communities, average degree.
PLANTED = {"planted-300": (300, 5, 12), "planted-1000": (1000, 20, 15), "planted-4000": (4000, 40, 10)}
NETWORKS = (*REAL, *PLANTED)
MODELS = ("assortative", "popularity")
R_HAT, EFFECTIVE = 1.05, 400.0
# Processors that the goal is for, and the sweeps of the two runs that measure the time of one.
PROCESSORS, SHORT, PILOT = 2, 10, 60


def network(name: str) -> bm.Graph:
    """Return a network by name."""
    if name not in PLANTED:
        return bm.load_dataset(name)
    nodes, communities, degree = PLANTED[name]
    return bm.planted(nodes, communities, degree=degree, seed=1).graph


def fit_for(graph: bm.Graph, seconds: float, clock: bool, options: dict[str, Any]) -> bm.Posterior:
    """Fit for so many seconds of two processors: as many sweeps as they would make, or by the clock."""
    if clock:
        return bm.fit(graph, time_limit=seconds, threads=PROCESSORS, progress=False, **options)
    times = []
    # The first run compiles the kernels, or loads them.
    for sweeps in (SHORT, SHORT, PILOT):
        began = time.process_time()
        bm.fit(graph, sweeps=sweeps, threads=1, progress=False, **options)
        times.append(time.process_time() - began)
    each = max((times[2] - times[1]) / (PILOT - SHORT), 1e-6)
    left = PROCESSORS * seconds - max(times[1] - SHORT * each, 0.0)
    sweeps = max(int(left / each), PILOT)
    return bm.fit(graph, sweeps=sweeps, threads=PROCESSORS, progress=False, **options)


def alone(values: NDArray[np.float64]) -> float:
    """Return the share of quantities whose R-hat between the halves of a chain is small, averaged over chains."""
    half = values.shape[2] // 2
    halves = np.stack([values[:, :, :half], values[:, :, half : 2 * half]], axis=2)
    return float(np.mean(r_hat(halves) < R_HAT))


def figures(post: bm.Posterior) -> dict[str, Any]:
    """Return what is printed of one fit."""
    samples = common_samples(post.draws)
    found = list(invariant_quantities(post, samples))
    table = table_of(found, samples, post.held_out is not None)
    decides = table.decides
    kinds = np.array(table.kind, dtype=object)[decides]
    close, enough = table.rhat[decides] < R_HAT, table.ess_bulk[decides] > EFFECTIVE
    shares = {kind: float((close & enough)[kinds == kind].mean()) for kind in dict.fromkeys(kinds.tolist())}
    loss = next(q.values for q in found if q.name == "log loss of sampled pairs")
    values = np.stack([quantity.values for quantity in found])[decides]
    return {
        "agree": float((close & enough).mean()), "rhat": float(close.mean()), "ess": float(enough.mean()),
        "alone": alone(values), "modes": float(loss.mean(axis=1).std() / loss.std(axis=1).mean()),
        "kinds": shares, "median_ess": float(np.median(table.ess_bulk[decides])),
        "worst_rhat": table.worst_rhat, "communities": post.n_communities, "draws": table.draws,
        "log_loss": float(loss.mean()), "auc": post.scores.auc if post.scores else float("nan"),
    }  # fmt: skip


def measure(
    graph: bm.Graph, given: argparse.Namespace, model: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Fit one network with all seeds, and return the means of what is printed."""
    runs = []
    for seed in given.seeds:
        began = time.process_time()
        post = fit_for(graph, given.seconds, given.clock, {"model": model, "seed": seed, **options})
        processor = time.process_time() - began
        runs.append({**figures(post), "sweeps": post.provenance["sweeps"], "processor": processor})
    means = {
        key: float(np.mean([run[key] for run in runs])) for key in runs[0] if isinstance(runs[0][key], float | int)
    }  # fmt: skip
    return {**means, "runs": runs}


def line(name: str, links: int, model: str, found: dict[str, Any]) -> str:
    """Return a line of the table."""
    kinds = found["runs"][0]["kinds"]
    worst = min(kinds, key=lambda kind: kinds[kind])
    return (
        f"{name:13} {links:7,} {model[:6]:6} {found['agree']:5.0%} {found['rhat']:5.0%} {found['ess']:5.0%} "
        f"{found['alone']:5.0%} {found['modes']:6.2f} {found['median_ess']:6.0f} {found['communities']:4.0f} "
        f"{found['sweeps']:7,.0f} {found['processor']:5.0f}  {worst} {kinds[worst]:.0%}"
    )


def main() -> None:
    """Measure every network and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of two processors for each fit")
    parser.add_argument(
        "--clock", action="store_true", help="by the clock, on a machine with nothing else to do"
    )
    parser.add_argument("--options", nargs="+", type=json.loads, default=[{}], metavar="JSON")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    record: list[dict[str, Any]] = []
    print(
        f"{'network':13} {'links':>7} {'model':6} {'agree':>5} {'R-hat':>5} {'ESS':>5} {'alone':>5} {'spread':>6} "
        f"{'median':>6} {'K':>4} {'sweeps':>7} {'cpu s':>5}  worst kind"
    )
    for options in given.options:
        print(json.dumps(options))
        for name in given.networks:
            graph = network(name)
            for model in given.models:
                found = measure(graph, given, model, options)
                print(line(name, graph.n_edges, model, found), flush=True)
                record.append({"network": name, "model": model, "options": options, **found})
                if given.json:
                    given.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
