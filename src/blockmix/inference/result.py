"""From the end of a run to the posterior that is handed out, with its provenance."""

from __future__ import annotations

import datetime
import platform
import sys
from dataclasses import asdict
from typing import Any

import numpy as np

from blockmix._version import __version__
from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.inference.loop import RunResult
from blockmix.model import Model
from blockmix.posterior.chain import ChainSummary
from blockmix.posterior.merge import merge_chains
from blockmix.posterior.posterior import HeldOutPairs, Posterior
from blockmix.samplers.options import ScirOptions


def build_posterior(
    graph: Graph,
    data: HeldOut,
    model: Model,
    options: ScirOptions,
    result: RunResult,
    seed: int,
    chosen: bool,
    total_seconds: float,
    threads: int,
) -> Posterior:
    """Pool the chains, number the communities, and say where it all came from."""
    summaries = [chain.summary for chain in result.chains]
    merged = merge_chains(summaries, model.communities)
    mean, sd = _pooled_strengths(summaries, merged.numbers)
    held_out = None
    if data.n_pairs:
        held_out = HeldOutPairs(
            data.pairs,
            data.links,
            np.clip(result.probability, 0.0, 1.0),
            data.density,
            data.kind,
            data.fraction,
        )
    provenance: dict[str, Any] = {
        "blockmix": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "sampler": "scir",
        "model": model.to_dict() | {"eta": list(model.eta)},
        "options": asdict(options),
        "communities_chosen_by": "integrated likelihood of a hard partition" if chosen else "user",
        "seed": seed,
        "chains": len(result.chains),
        "sweeps": result.sweeps,
        "warm_up": result.warm_up,
        "samples": sum(s.samples for s in summaries),
        "interrupted": result.interrupted,
        "node_updates": result.node_updates,
        "seconds": result.seconds,
        "total_seconds": total_seconds,
        "device": "cpu",
        "threads": threads,
        "peak_memory_bytes": peak_memory_bytes(),
        "python": platform.python_version(),
        "nodes": graph.n_nodes,
        "links": graph.n_edges,
        "graph_fingerprint": graph.fingerprint,
    }
    return Posterior(
        graph=graph,
        offsets=merged.offsets,
        community=merged.community,
        mean=merged.mean,
        sd=merged.sd,
        sizes=merged.sizes,
        strength_mean=mean[:-1],
        strength_sd=sd[:-1],
        background_mean=float(mean[-1]),
        background_sd=float(sd[-1]),
        numbers=merged.numbers,
        draws=tuple(tuple(s.draws.draws) for s in summaries),
        trace=result.trace,
        held_out=held_out,
        provenance=provenance,
    )


def _pooled_strengths(summaries: list[ChainSummary], numbers: Any) -> tuple[Any, Any]:
    """Mean and sd of the strengths over all chains, in the table's numbering, background last."""
    samples = np.array([max(s.samples, 1) for s in summaries], dtype=np.float64)
    shares = samples / samples.sum()
    k = numbers.shape[1]
    first, second = np.zeros(k + 1), np.zeros(k + 1)
    for share, summary, number in zip(shares, summaries, numbers, strict=True):
        place = np.append(number, k)
        first[place] += share * summary.strength_mean
        second[place] += share * (summary.strength_mean**2 + summary.strength_sd**2)
    return first, np.sqrt(np.maximum(second - first**2, 0.0))


def peak_memory_bytes() -> int | None:
    """The largest resident size of this process so far, where the system tells it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
