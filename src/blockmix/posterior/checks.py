"""Whether a posterior from a folder fits together: types, shapes, the range of every index, what is not a number.

Called once when a result is loaded, before any kernel reads it; each check raises `Damaged` with the array's name.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.files import Damaged
from blockmix.graph.graph import Graph
from blockmix.posterior.posterior import HeldOutPairs, Posterior
from blockmix.stored import Checksums, check_finite, check_layout, check_offsets, check_range

# Rounding may carry a mean of float32 memberships beyond one by this.
_ROUNDING = 1e-3
_COUNTS = (
    "seed", "chains", "sweeps", "warm_up", "samples", "node_updates", "threads", "nodes", "links", "resumed",
)  # fmt: skip
_TEXTS = (
    "blockmix", "created", "sampler", "communities_chosen_by", "model_chosen_by", "stopped_by", "device",
    "device_chosen_by", "python", "graph_fingerprint",
)  # fmt: skip
_SECONDS = ("seconds", "total_seconds")


def check_posterior(post: Posterior, sums: Checksums | None = None) -> None:
    """Refuse a posterior whose parts do not fit together and the network.

    Where its files are compared with their checksums, by `sums`, long arrays are checked in the same pass.
    """
    _check_table(post, sums)
    _check_trace(post)
    check_provenance(post.provenance)
    model = post.provenance.get("model", {})
    if "kind" in model and (model["kind"] == "popularity") != (post.popularity_mean is not None):
        raise Damaged("the table and the model differ in whether nodes have popularities")
    _check_weights(post)
    if post.held_out is not None:
        _check_held_out(post.held_out, post.graph)


def _check_table(post: Posterior, sums: Checksums | None) -> None:
    nodes, k, entries = post.graph.n_nodes, len(post.sizes), len(post.community)
    layout: dict[str, Any] = {
        "offsets": (np.int64, (nodes + 1,)),
        "community": (np.int32, (entries,)),
        "mean": (np.float32, (entries,)),
        "sd": (np.float32, (entries,)),
        "sizes": (np.float64, (k,)),
        "strength_mean": (np.float64, (k,)),
        "strength_sd": (np.float64, (k,)),
        "numbers": (np.int64, (len(post.draws), k)),
    }
    if post.blocks_mean is not None:
        layout |= {"blocks_mean": (np.float64, (k, k)), "blocks_sd": (np.float64, (k, k))}
    if post.popularity_mean is not None:
        layout |= dict.fromkeys(("popularity_mean", "popularity_sd"), (np.float32, (nodes,)))
    check_layout({name: getattr(post, name) for name in layout}, layout)
    check_offsets("offsets", post.offsets, entries)
    check_range("community", post.community, k, sums=sums)
    for name in ("mean", "sd"):
        check_finite(name, getattr(post, name), 0.0, 1.0 + _ROUNDING, sums)
    check_finite("sizes", post.sizes, 0.0)
    for name in layout.keys() & {"popularity_mean", "popularity_sd"}:
        check_finite(name, getattr(post, name), 0.0, sums=sums)
    for chain in post.draws:
        if any((sample.popularity is None) != (post.popularity_mean is None) for sample in chain):
            raise Damaged("the posterior samples and the table differ in whether nodes have popularities")
    for name in layout.keys() & {"strength_mean", "strength_sd", "blocks_mean", "blocks_sd"}:
        check_finite(name, getattr(post, name), 0.0, 1.0 + _ROUNDING)
    for name in ("background_mean", "background_sd"):
        check_finite(name, np.array([getattr(post, name)]), 0.0, 1.0 + _ROUNDING)
    for numbers in post.numbers:
        if not np.array_equal(np.sort(numbers), np.arange(k)):
            raise Damaged(f"numbers does not give every community one number of 0 .. {k - 1}")


def _check_weights(post: Posterior) -> None:
    """Refuse weights that are not one share for every chain; a result without them weighs all the same."""
    pool = post.provenance.get("pool")
    if pool is None:
        return
    weights = pool.get("weights") if isinstance(pool, dict) else None
    if not isinstance(weights, list) or len(weights) != len(post.draws) or not all(map(_is_number, weights)):
        raise Damaged(f"the weights of the chains are {weights!r:.80}")
    if min(weights, default=0.0) < 0.0 or abs(sum(weights) - 1.0) > _ROUNDING:
        raise Damaged(f"the weights of the chains are not shares: {weights!r:.80}")
    losses = pool.get("log_loss")
    worse, stacked = pool.get("worse_than_density"), pool.get("stacked")
    known = losses is None or (isinstance(losses, list) and len(losses) == len(weights))
    if not known or not all(map(_is_number, losses or [])) or not isinstance(stacked, bool):
        raise Damaged(f"log_loss or stacked in the pool is {losses!r:.80}, {stacked!r:.80}")
    if not isinstance(worse, list) or not all(type(c) is int and 0 <= c < len(weights) for c in worse):
        raise Damaged(f"worse_than_density in the pool is {worse!r:.80}")


def _check_held_out(held_out: HeldOutPairs, graph: Graph) -> None:
    nodes = graph.n_nodes
    found = {
        "held_out_pairs": held_out.pairs,
        "held_out_links": held_out.links,
        "held_out_probability": held_out.probability,
        "held_out_matched": held_out.matched,
        "held_out_matched_probability": held_out.matched_probability,
    }
    count, matched = len(held_out.links), len(held_out.matched_probability)
    check_layout(
        found,
        {
            "held_out_pairs": (np.int64, (count, 2)),
            "held_out_links": (np.bool_, (count,)),
            "held_out_probability": (np.float64, (count,)),
            "held_out_matched": (np.int64, (matched, 2)),
            "held_out_matched_probability": (np.float64, (matched,)),
        },
    )
    if held_out.weights is not None:
        arrays = {f"held_out_{name}": array for name, array in vars(held_out.weights).items()}
        check_layout(arrays, dict.fromkeys(arrays, (np.float64, (count,))))
        for name, array in arrays.items():
            check_finite(name, array, 0.0)
        if (held_out.links != (held_out.weights.weight > 0.0)).any():
            raise Damaged("held_out_weight is above zero at a non-link, or zero at a link")
    check_range("held_out_matched", held_out.matched, nodes)
    check_finite("held_out_matched_probability", held_out.matched_probability, 0.0, 1.0)
    check_pairs("held_out_pairs", held_out.pairs, held_out.links, nodes)
    sides, scored = graph.sides, (held_out.pairs, held_out.matched)
    if sides is not None and not all(sides.joins(pairs).all() for pairs in scored):
        raise Damaged("held-out pairs join nodes of one side")
    check_finite("held_out_probability", held_out.probability, 0.0, 1.0)
    for name in ("density", "fraction"):
        value = getattr(held_out, name)
        if not _is_number(value) or not 0 <= value <= 1:
            raise Damaged(f"{name} of the held-out pairs is {value!r:.80}, not a share")
    if not isinstance(held_out.kind, str):
        raise Damaged(f"kind of the held-out pairs is {held_out.kind!r:.80}")


def check_pairs(name: str, pairs: NDArray[Any], links: NDArray[np.bool_], nodes: int) -> None:
    """Refuse held-out pairs of nodes that do not exist or of a node with itself, and flags that are neither 0 nor 1."""
    check_range(name, pairs, nodes)
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise Damaged(f"{name} has a pair of a node with itself")
    check_range(f"the flags of {name}", links.view(np.uint8), 2)


def _check_trace(post: Posterior) -> None:
    lengths = {name: values.shape for name, values in post.trace.items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise Damaged(f"the columns of the trace have different shapes: {lengths!r:.200}")
    if "sweep" in post.trace:
        sweep = post.trace["sweep"]
        check_finite("trace_sweep", sweep, 0.0)
        if (sweep[1:] < sweep[:-1]).any():
            raise Damaged("trace_sweep goes back")
    if "chain" in post.trace:
        chain = post.trace["chain"]
        check_finite("trace_chain", chain, 0.0, max(len(chain) - 1, 0))
        chains = int(chain.max()) + 1 if len(chain) else 1
        if not np.array_equal(chain, np.arange(len(chain)) % chains) or len(chain) % chains:
            raise Damaged(f"trace_chain does not name {chains} chains in turn")
        for name in post.trace.keys() & {"sweep", "warm_up"}:
            together = post.trace[name].reshape(-1, chains)
            if (together != together[:, :1]).any():
                raise Damaged(f"trace_{name} differs between chains")
    for name in ("warm_up", "seconds"):
        if name in post.trace:
            check_finite(f"trace_{name}", post.trace[name], 0.0)


def check_provenance(facts: object) -> None:
    """Refuse a record of the run in which something is not of its kind; what is missing is no error."""
    if not isinstance(facts, dict):
        raise Damaged("the provenance is missing")
    for name in _COUNTS:
        _check_fact(
            facts, name, lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
        )
    for name in _TEXTS:
        _check_fact(facts, name, lambda value: isinstance(value, str))
    for name in _SECONDS:
        _check_fact(facts, name, lambda value: _is_number(value) and 0 <= value < 1e15)
    _check_fact(facts, "options", lambda value: isinstance(value, dict))
    _check_fact(facts, "model", _is_model)
    _check_fact(facts, "interrupted", lambda value: isinstance(value, bool))
    _check_fact(
        facts, "peak_memory_bytes", lambda value: value is None or (_is_number(value) and 0 <= value < 2**63)
    )


def _check_fact(facts: dict[str, Any], name: str, fits: Any) -> None:
    if name in facts and not fits(facts[name]):
        raise Damaged(f"{name} in the provenance is {facts[name]!r:.80}")


def _is_model(value: object) -> bool:
    """Return whether this may be the prior of a run; `transform` takes alpha from it."""
    return isinstance(value, dict) and (value.get("alpha") is None or _is_number(value["alpha"]))


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, float | int):
        return False
    # A whole number of JSON may be too large for a float.
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**1023
