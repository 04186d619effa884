"""How good the default sampler is against what it has to reach: predictions, planted networks, the number K.

    python benchmarks/quality.py --seeds 21 22 23 --json quality.json
    python benchmarks/quality.py --sections planted --nodes 2000 5000

"predictions" runs the command line on real networks with 5% of the links held out, for as many seconds as
stochastic variational inference with link sampling takes, and divides the errors by those of that method: 1 - AUC
and the network-weighted log loss, below one where blockmix is better. "larger-k" compares K = 50 and K = 500 on
ca-GrQc, also without the pairs that have an end with no training link. "planted" compares a chain from the
default start with one started at the planted memberships and strengths, after the same sweeps. "auto" gives the K
that communities="auto" takes on the planted networks. The networks come from the folder named by BLOCKMIX_DATA or
are downloaded.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from predictions import fit_command

import blockmix as bm
from blockmix.evaluate import onmi, score
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.philox import stream_key
from blockmix.numerics.workers import Workers
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir, ScirState
from blockmix.samplers.starts.choose import choose_communities
from blockmix.tables.layout import Rows, Strengths, empty_rows

HELD_OUT = 0.05
# A node is in a community where its mean membership is at least this, and a community has at least three nodes.
COVER_THRESHOLD, SMALLEST_COVER = 0.1, 3
# What a strength given by the planted network is worth in pairs at the start; warm-up adapts it.
START_PAIRS = 100.0
# From the default start: perplexity at most, ONMI at least, this many times that of the start at the truth.
PERPLEXITY_GOAL, ONMI_GOAL = 1.03, 0.95
# The chosen K is at most this share off the planted one.
K_GOAL = 0.2
LARGER_K = ("ca-GrQc", (50, 500))


@dataclass(frozen=True)
class Rival:
    """What link-sampling variational inference reaches on a network, and in how many seconds."""

    network: str
    communities: int
    seconds: float
    auc: float
    log_loss: float


RIVALS = (
    Rival("netscience", 50, 2.4, 0.947, 10.3e-3),
    Rival("ca-GrQc", 50, 3.1, 0.903, 7.0e-3),
    Rival("us-air-712", 20, 2.3, 0.901, 86e-3),
    Rival("ca-HepPh", 50, 15.6, 0.961, 7.9e-3),
)
# Nodes, communities, sweeps of warm-up and as many of sampling; average degree 20, nodes in 1 to 3 communities.
PLANTED = ((2000, 20, 150), (5000, 100, 100), (20000, 500, 60))


def predictions(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Errors of blockmix over those of the rival in the rival's time, mean over the seeds."""
    print(
        "predictions: errors over those of link-sampling variational inference, in its time; below 1 is better"
    )
    rows = []
    for rival in RIVALS:
        if rival.network not in args.networks:
            continue
        runs = [
            fit_command(rival.network, rival.communities, seed, rival.seconds, args.threads)
            for seed in args.seeds
        ]
        auc, loss = (statistics.fmean(run[key] for run in runs) for key in ("auc", "log_loss"))
        ratios = {"1 - AUC": (1 - auc) / (1 - rival.auc), "log loss": loss / rival.log_loss}
        print(
            f"  {rival.network:12} K={rival.communities:<4} {rival.seconds:5.1f} s  AUC {auc:.4f} (rival {rival.auc})"
            f"  log loss {loss * 1e3:.2f}e-3 (rival {rival.log_loss * 1e3:g}e-3)"
            f"  ratios {ratios['1 - AUC']:.2f} {ratios['log loss']:.2f}",
            flush=True,
        )
        rows.append({"rival": asdict(rival), "auc": auc, "log_loss": loss, "ratios": ratios, "runs": runs})
    return rows


def larger_k(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Scores at a small and a large K, with and without the pairs that training says nothing about."""
    network, numbers = LARGER_K
    print(f"larger K: {network}, {args.time_limit:g} s")
    graph, rows = bm.load_dataset(network), []
    for seed in args.seeds:
        data = bm.hold_out(graph, HELD_OUT, seed=seed)
        known = data.training.degrees[data.pairs].min(axis=1) > 0
        for k in numbers:
            post = bm.fit(
                graph,
                k,
                model="assortative",
                seed=seed,
                held_out=data,
                time_limit=args.time_limit,
                threads=args.threads,
                progress=False,
            )
            assert post.held_out is not None
            p = post.held_out.probability
            every, linked = (
                score(p, data.links, data.density),
                score(p[known], data.links[known], data.density),
            )
            isolated = int(data.links[~known].sum())
            print(
                f"  seed {seed} K={k:<4} AUC {every.auc:.4f}  log loss {every.log_loss * 1e3:.2f}e-3  perplexity "
                f"{every.perplexity:.2f};  without {isolated} of {data.n_links} links with an isolated end: AUC "
                f"{linked.auc:.4f}  log loss {linked.log_loss * 1e3:.2f}e-3",
                flush=True,
            )
            rows.append(
                {
                    "seed": seed,
                    "communities": k,
                    "all": asdict(every),
                    "linked": asdict(linked),
                    "isolated": isolated,
                }
            )
    return rows


def start_at_truth(sampler: Scir, made: Any) -> ScirState:
    """A chain at the planted memberships and strengths."""
    members = sp.csr_array(made.memberships)
    rows = empty_rows(sampler.nodes, sampler.slots)
    nodes = np.repeat(np.arange(sampler.nodes), np.diff(members.indptr))
    slot = np.arange(len(nodes)) - members.indptr[nodes]
    rows.words[nodes, 2 * slot] = members.indices
    rows.weights[nodes, 2 * slot + 1] = members.data
    rows.total[:] = sampler.graph.degrees + sampler.communities * sampler.model.concentration
    value = np.append(np.asarray(made.strengths, dtype=np.float64), made.background)
    pairs = np.full(len(value), START_PAIRS)
    return sampler.start_at(rows, Strengths(value, pairs, pairs.copy()))


def memberships(rows: Rows, communities: int) -> sp.csr_array:
    """The rows of a state as a sparse matrix."""
    ids = rows.words[:, ::2]
    nodes, slots = np.nonzero(np.cumprod(ids >= 0, axis=1))
    values = rows.weights[nodes, 2 * slots + 1].astype(np.float64)
    return sp.csr_array((values, (nodes, ids[nodes, slots])), shape=(len(ids), communities))


def covers_of(mean: sp.csr_array) -> list[NDArray[np.int64]]:
    """The nodes of every community, by mean membership."""
    columns = sp.csc_array(mean)
    columns.data[columns.data < COVER_THRESHOLD] = 0.0
    columns.eliminate_zeros()
    found = np.split(columns.indices.astype(np.int64), columns.indptr[1:-1])
    return [np.sort(members) for members in found if len(members) >= SMALLEST_COVER]


def run_chain(
    data: HeldOut, k: int, sweeps: int, seed: int, threads: int, start: Callable[[Scir], ScirState] | None
) -> tuple[float, sp.csr_array]:
    """Balanced perplexity and mean memberships of one chain, as many sweeps of sampling as of warm-up."""
    low, high = stream_key(np.uint64(seed), 0)
    key = int(low), int(high)
    with Workers(threads) as workers:
        sampler = Scir(data, Model(k), ScirOptions(), workers)
        sampler.compile()
        state = sampler.init(key) if start is None else start(sampler)
        for _ in range(sweeps):
            sampler.step(state, key, True)
        p, mean = np.zeros(data.n_pairs), sp.csr_array((sampler.nodes, k))
        for _ in range(sweeps):
            sampler.step(state, key, False)
            sampler.predict(state, data.pairs, 1.0, 1.0 / sweeps, p)
            mean = mean + memberships(state.rows, k) / sweeps
    return score(p, data.links, data.density).perplexity, mean


def planted(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The default start against a start at the truth."""
    print(
        f"planted: default start over start at the truth; goals: perplexity at most {PERPLEXITY_GOAL}, ONMI at least "
        f"{ONMI_GOAL}"
    )
    rows = []
    for nodes, k, sweeps in _planted_sizes(args):
        for seed in args.seeds:
            made = bm.planted(nodes, k, seed=seed)
            data = bm.hold_out(made.graph, HELD_OUT, seed=seed)
            found = {}
            for name, start in (("truth", lambda s, m=made: start_at_truth(s, m)), ("default", None)):
                perplexity, mean = run_chain(data, k, sweeps, seed, args.threads, start)
                found[name] = (perplexity, float(onmi(covers_of(mean), made.covers, nodes)))
            ratio = [d / t for d, t in zip(found["default"], found["truth"], strict=True)]
            print(
                f"  N={nodes} K={k} seed {seed}: perplexity {found['default'][0]:.3f} (truth {found['truth'][0]:.3f}), "
                f"ONMI {found['default'][1]:.3f} (truth {found['truth'][1]:.3f}); ratios {ratio[0]:.3f} {ratio[1]:.3f}",
                flush=True,
            )
            rows.append(
                {
                    "nodes": nodes,
                    "communities": k,
                    "seed": seed,
                    "sweeps": 2 * sweeps,
                    **found,
                    "ratio": ratio,
                }
            )
    return rows


def auto(args: argparse.Namespace) -> list[dict[str, Any]]:
    """The K that is chosen over the K that was planted."""
    print(f"auto: chosen K over planted K; goal: within {K_GOAL:.0%}")
    rows = []
    for nodes, k, _ in _planted_sizes(args):
        for seed in args.seeds:
            data = bm.hold_out(bm.planted(nodes, k, seed=seed).graph, HELD_OUT, seed=seed)
            chosen = choose_communities(data.training, seed)
            print(f"  N={nodes} K={k} seed {seed}: chosen {chosen}, ratio {chosen / k:.3f}", flush=True)
            rows.append(
                {"nodes": nodes, "communities": k, "seed": seed, "chosen": chosen, "ratio": chosen / k}
            )
    return rows


def _planted_sizes(args: argparse.Namespace) -> list[tuple[int, int, int]]:
    return [size for size in PLANTED if size[0] in args.nodes]


SECTIONS: dict[str, Callable[[argparse.Namespace], list[dict[str, Any]]]] = {
    "predictions": predictions,
    "larger-k": larger_k,
    "planted": planted,
    "auto": auto,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23])
    networks, sizes = [rival.network for rival in RIVALS], [size[0] for size in PLANTED]
    parser.add_argument("--networks", nargs="+", choices=networks, default=networks, help="of predictions")
    parser.add_argument(
        "--nodes", type=int, nargs="+", choices=sizes, default=sizes, help="of planted and auto"
    )
    parser.add_argument("--time-limit", type=float, default=15.0, help="seconds a run of larger-k takes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = {name: SECTIONS[name](args) for name in args.sections}
    if args.json:
        args.json.write_text(
            json.dumps({"arguments": vars(args) | {"json": None}, "sections": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
