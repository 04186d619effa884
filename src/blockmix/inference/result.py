"""From the end of a run to the posterior that the user gets, with its provenance."""

from __future__ import annotations

import datetime
import platform
import sys
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from blockmix._version import __version__
from blockmix.evaluate.null_models import NullComparison, compare_with_null
from blockmix.graph.graph import Graph
from blockmix.graph.sides.sides import first_side
from blockmix.graph.split import HeldOut
from blockmix.inference.loop import RunResult
from blockmix.inference.request import FitRequest
from blockmix.posterior.evidence.compute import evidence_of
from blockmix.posterior.evidence.parts import Memberships
from blockmix.posterior.merge import merge_chains, reorder
from blockmix.posterior.pooling import Pool, equal_pool, pool_chains, pooled_forecast
from blockmix.posterior.posterior import HeldOutPairs, Posterior, WeightPredictions
from blockmix.samplers.live import WeighingChain
from blockmix.tables.summary import ChainSummary


def build_posterior(
    graph: Graph,
    data: HeldOut,
    request: FitRequest,
    result: RunResult,
    total_seconds: float,
    threads: int,
) -> Posterior:
    """Weigh and pool the chains, number the communities, and record the provenance."""
    model = request.prior
    summaries, at = [chain.summary() for chain in result.chains], result.position
    pool, held_out = _pooled_predictions(data, result, model.weights is not None)
    merged = merge_chains(summaries, model.communities, pool.weights)
    mean, sd = _pooled_strengths(summaries, merged.numbers, pool.weights)
    popularities = _popularity(summaries, pool.weights)
    table = Memberships(merged.offsets, merged.community, merged.mean)
    popularity = popularities.get("popularity_mean")
    evidence, _, _ = evidence_of(
        table, mean, popularity, data.training, data.pairs, lambda: _compared(data, held_out)
    )
    if not np.isnan(evidence).any():
        order = np.argsort(-evidence, kind="stable")
        merged = reorder(merged, order)
        mean, sd = (np.append(values[:-1][order], values[-1]) for values in (mean, sd))
    provenance: dict[str, Any] = {
        "blockmix": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "sampler": request.sampler,
        "model": model.to_dict("concentration" in at.trace()) | {"eta": list(model.eta)},
        "options": asdict(request.options),
        "communities_chosen_by": "integrated likelihood of a hard partition" if request.chosen else "user",
        "model_chosen_by": request.model_chosen or "user",
        "seed": request.seed,
        "chains": len(result.chains),
        "sweeps": at.sweep,
        "warm_up": at.warm_up_sweeps,
        "samples": sum(s.samples for s in summaries),
        "pool": pool.facts(),
        "interrupted": result.interrupted,
        "stopped_by": result.stopped_by,
        "node_updates": at.updates,
        "seconds": at.seconds,
        "total_seconds": total_seconds,
        "device": request.device,
        "device_chosen_by": request.device_chosen or "user",
        "threads": threads,
        "peak_memory_bytes": peak_memory_bytes(),
        "python": platform.python_version(),
        "nodes": graph.n_nodes,
        "links": graph.n_edges,
        "graph_fingerprint": graph.fingerprint,
    }
    if graph.weights is not None:
        provenance["total_weight"] = graph.total_weight
        provenance["weight_law_chosen_by"] = request.law_chosen or "user"
    return Posterior(
        graph=graph,
        offsets=merged.offsets,
        community=merged.community,
        mean=merged.mean,
        sd=merged.sd,
        sizes=merged.sizes,
        **_strengths(mean, sd),
        numbers=merged.numbers,
        draws=tuple(tuple(s.kept.samples) for s in summaries),
        trace=at.trace(),
        held_out=held_out,
        provenance=provenance,
        **popularities,
    )


def _compared(data: HeldOut, held_out: HeldOutPairs | None) -> NullComparison | None:
    """Compare the predictions of held-out pairs with those of the null models, as `Posterior.null` does."""
    if held_out is None or not 0 < np.count_nonzero(held_out.links) < len(held_out.links):
        return None
    return compare_with_null(
        held_out.probability, held_out.pairs, held_out.links, data.training.degrees, held_out.density,
        first_side(data.training),
    )  # fmt: skip


def _pooled_predictions(data: HeldOut, result: RunResult, weighted: bool) -> tuple[Pool, HeldOutPairs | None]:
    """Return how chains are weighed, and what all of them together predict of the held-out pairs."""
    if not data.n_pairs:
        return equal_pool(len(result.chains)), None
    forecasts = np.clip([chain.forecast() for chain in result.chains], 0.0, 1.0)
    scored = forecasts[:, : data.n_pairs]
    pool = pool_chains(scored, data.links, data.density)
    pooled = np.clip(pooled_forecast(scored, data.links, data.density), 0.0, 1.0)
    matched = np.clip(pool.weights @ forecasts[:, data.n_pairs :], 0.0, 1.0)
    weights = _weight_predictions(data, result, pool.weights) if weighted else None
    held_out = HeldOutPairs(
        data.pairs, data.links, pooled, data.density, data.kind, data.fraction, data.matched, matched, weights
    )
    return pool, held_out


def _weight_predictions(data: HeldOut, result: RunResult, weights: NDArray[np.float64]) -> WeightPredictions:
    """Return what was predicted about the weights of held-out pairs, chains counting by their weights."""
    forecasts = np.array([cast(WeighingChain, chain).weight_forecast() for chain in result.chains])
    density, expected = np.tensordot(weights, forecasts, 1)
    assert data.weights is not None
    return WeightPredictions(data.weights, density, expected)


def _pooled_strengths(
    summaries: list[ChainSummary], numbers: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and sd of the strengths over all chains, in the table's numbering, background last or as a matrix."""
    shape = summaries[0].strength_mean.shape
    first, second = np.zeros(shape), np.zeros(shape)
    for share, summary, number in zip(weights, summaries, numbers, strict=True):
        place = np.ix_(number, number) if len(shape) == 2 else np.append(number, len(number))
        first[place] += share * summary.strength_mean
        second[place] += share * (summary.strength_mean**2 + summary.strength_sd**2)
    return first, np.sqrt(np.maximum(second - first**2, 0.0))


def _popularity(summaries: list[ChainSummary], weights: NDArray[np.float64]) -> dict[str, Any]:
    """Return mean and sd of every popularity over all chains; no fields in models without it."""
    first, second = np.zeros(1), np.zeros(1)
    for share, summary in zip(weights, summaries, strict=True):
        if summary.popularity is None:
            return {}
        mean = summary.popularity.mean.astype(np.float64)
        variance = np.maximum(summary.popularity.deviation, 0.0) / max(summary.samples, 1)
        first = first + share * mean
        second = second + share * (mean**2 + variance)
    sd = np.sqrt(np.maximum(second - first**2, 0.0))
    return {"popularity_mean": first.astype(np.float32), "popularity_sd": sd.astype(np.float32)}


def _strengths(mean: NDArray[np.float64], sd: NDArray[np.float64]) -> dict[str, Any]:
    """Return the fields of the posterior.

    Of the general model the strengths are the diagonal, and the background is the mean of the rest.
    """
    if mean.ndim == 1:
        return {
            "strength_mean": mean[:-1], "strength_sd": sd[:-1], "background_mean": float(mean[-1]),
            "background_sd": float(sd[-1]), "blocks_mean": None, "blocks_sd": None,
        }  # fmt: skip
    rest = ~np.eye(len(mean), dtype=bool)
    background = float(mean[rest].mean()) if rest.any() else float(mean[0, 0])
    return {
        "strength_mean": np.diag(mean).copy(), "strength_sd": np.diag(sd).copy(), "background_mean": background,
        "background_sd": float(mean[rest].std()) if rest.any() else 0.0, "blocks_mean": mean, "blocks_sd": sd,
    }  # fmt: skip


def peak_memory_bytes() -> int | None:
    """Return the largest resident size of this process so far, where the system reports it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
