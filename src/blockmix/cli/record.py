"""The figures of a run by name: what `--json` prints, and the only source of what the summary shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.sides.sides import reciprocity
from blockmix.posterior.predictive.words import calibration_text, scored
from blockmix.posterior.structure import (
    chains_left_out,
    convergence_word,
    disassortative,
    evidence_text,
    first_line,
    general_model_advice,
    longer,
    longer_text,
    pool_text,
)
from blockmix.report.communities import BRIDGE_SHARE, Findings

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Communities and nodes between them that the screen lists one by one, and members named for each community.
MOST_COMMUNITIES, MOST_BRIDGES, MOST_MEMBERS = 12, 8, 8
# With fewer samples the uncertainty of a share is not known, and no node is called a bridge.
FEWEST_SAMPLES = 20

_FACTS = (
    "sampler", "seed", "chains", "sweeps", "warm_up", "samples", "node_updates", "seconds", "total_seconds",
    "interrupted", "stopped_by", "resumed", "device", "threads", "peak_memory_bytes", "graph_fingerprint", "blockmix",
    "communities_chosen_by",
)  # fmt: skip
_NULL = ("null", "null_log_loss", "density_log_loss", "degree_log_loss", "gain", "error", "share", "verdict")
_NULL_NAMES = (
    "null_model", "null_log_loss", "density_log_loss", "degree_log_loss", "gain_over_null", "gain_error",
    "gain_share", "structure",
)  # fmt: skip


def record(post: Posterior, threshold: float) -> dict[str, Any]:
    """Return the figures of a run, by name."""
    found = Findings(post, threshold)
    listed = _communities(found)
    bridges = found.bridges if post.provenance["samples"] >= FEWEST_SAMPLES else found.bridges[:0]
    values: dict[str, Any] = {
        "first_line": first_line(post),
        "nodes": post.graph.n_nodes if not post.graph.directed else post.graph.n_nodes // 2,
        "edges": post.graph.n_edges,
        "sides": _sides(post),
        "total_weight": None if post.graph.weights is None else post.graph.total_weight,
        "communities": post.n_communities,
        "communities_found": len(listed),
        "nodes_in_no_community": _without_community(found),
        "listed_nodes_without_links": int((post.graph.degrees[_listed(found)] == 0).sum()),
        "threshold": threshold,
        "level": found.level,
        **_in_use(post, found.level),
        "background": post.background_mean,
        "concentration": None if post.concentration is None else post.concentration.mean,
        "concentration_sd": None if post.concentration is None else post.concentration.sd,
        "total_evidence": post.total_evidence,
        "evidence_by": post.evidence_by,
        "evidence_text": evidence_text(post),
        "bridge_nodes": len(bridges),
        "more_communities": max(len(listed) - MOST_COMMUNITIES, 0),
        "more_bridge_nodes": max(len(bridges) - MOST_BRIDGES, 0),
        "community_table": listed,
        "bridges": [_bridge(post, int(node)) for node in bridges[:MOST_BRIDGES]],
    }
    values |= {name: post.provenance.get(name) for name in _FACTS}
    # Results of blockmix 0.1 do not say who chose the model: it was always the user.
    facts = post.provenance
    values["device_chosen_by"] = facts.get("device_chosen_by", "user")
    values |= {"model": facts["model"]["kind"], "model_chosen_by": facts.get("model_chosen_by", "user")}
    return values | {"reading": _reading(post)} | score_record(post) | _chains(post)


def _sides(post: Posterior) -> dict[str, Any] | None:
    """Return what a directed or bipartite network is; None for others."""
    graph = post.graph
    if graph.sides is None:
        return None
    return {
        "kind": graph.sides.kind, "names": list(graph.sides.names), "first": graph.sides.first,
        "second": graph.n_nodes - graph.sides.first, "reciprocity": reciprocity(graph),
        "in_words": graph.sides.in_words(graph.n_nodes, graph.n_edges),
    }  # fmt: skip


def _without_community(found: Findings) -> int:
    """Count the nodes in no community; in a network of two sides those that have links there."""
    graph, listed = found.post.graph, _listed(found)
    nodes = graph.n_nodes if graph.sides is None else int(np.count_nonzero(graph.degrees))
    return nodes - len(listed)


def _reading(post: Posterior) -> dict[str, Any] | None:
    """Return what reading the network did to it, as the screen says; None for a result that was opened again."""
    summary = post.graph.summary
    return None if summary is None else asdict(summary)


def score_record(post: Posterior) -> dict[str, Any]:
    """Return the scores on the held-out pairs, and those of the null models; None where nothing was held out."""
    scores, null = post.scores, post.null
    names = ("perplexity", "log_loss", "auc", "auc_matched", "average_precision")
    values: dict[str, Any] = {name: None if scores is None else getattr(scores, name) for name in names}
    values["held_out_links"] = 0 if scores is None else scores.n_links
    values["held_out_non_links"] = 0 if scores is None else scores.n_non_links
    values |= {
        name: None if null is None else getattr(null, field)
        for name, field in zip(_NULL_NAMES, _NULL, strict=True)
    }
    known, weights = scored(post), post.weight_scores
    values |= {
        "weight_law": post.weight_law,
        "weight_law_chosen_by": post.provenance.get("weight_law_chosen_by"),
        "weight_scores": None if weights is None else asdict(weights),
    }
    return values | {
        "calibration": post.calibration().rows() if known else None,
        "calibration_by_degree": post.calibration_by_degree().rows() if known else None,
        "calibration_verdict": calibration_text(post) if known else None,
    }


def _listed(found: Findings) -> NDArray[np.int64]:
    """Return the nodes that are in a community."""
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *found.covers.values()]))


def _communities(found: Findings) -> list[dict[str, Any]]:
    """Return number, members, strength with its interval, and evidence of every community that is listed."""
    strengths = found.post.strengths(level=found.level)
    return [
        {
            "community": int(k), "members": len(found.covers[int(k)]), "strength": float(strengths.mean[k]),
            "strength_lower": float(strengths.lower[k]), "strength_upper": float(strengths.upper[k]),
            "evidence": float(found.post.evidence[k]),
            "more_members": max(len(found.covers[int(k)]) - MOST_MEMBERS, 0),
            "strongest_members": [found.post.graph.labels[int(a)] for a in found.covers[int(k)][:MOST_MEMBERS]],
            "strongest_names": [found.post.graph.name_of(int(a)) for a in found.covers[int(k)][:MOST_MEMBERS]],
        }
        for k in found.numbers
    ]  # fmt: skip


def _bridge(post: Posterior, node: int) -> dict[str, Any]:
    """Return a node between communities: its label, and its memberships that count."""
    row = range(int(post.offsets[node]), int(post.offsets[node + 1]))
    return {
        "node": post.graph.labels[node],
        "name": post.graph.name_of(node),
        "memberships": [
            {"community": int(post.community[j]), "mean": float(post.mean[j]), "sd": float(post.sd[j])}
            for j in row
            if post.mean[j] >= BRIDGE_SHARE and post.clear[post.community[j]]
        ],
    }


def _in_use(post: Posterior, level: float) -> dict[str, Any]:
    """Return how many communities are in use in the posterior samples; None where there are none."""
    count = post.community_count(level=level)
    mean, lower, upper = (None, None, None) if count is None else count[:3]
    return {
        "communities_in_use": mean,
        "communities_in_use_lower": lower,
        "communities_in_use_upper": upper,
    }


def _chains(post: Posterior) -> dict[str, Any]:
    """Return what the comparison of the chains gave, and how much each counts."""
    table = post.diagnostics()
    return {
        "converged": table.converged if table.known else None,
        "convergence": convergence_word(post),
        "verdict": table.verdict,
        **table.figures(),
        **_longer(post),
        "chain_weights": post.chain_weights.tolist(),
        "chains_left_out": chains_left_out(post),
        "pooling": pool_text(post) or None,
        "general_model_suggested": disassortative(post),
        "advice": general_model_advice(post) or None,
    }


def _longer(post: Posterior) -> dict[str, Any]:
    """Return what the run lacks until it has converged, and what that takes at least; None where it lacks nothing."""
    found = longer(post)
    names = ("missing", "times_needed", "sweeps_needed", "more_seconds_needed")
    values = dict(zip(names, found or (None,) * len(names), strict=True))
    return values | {"longer": longer_text(post) or None}
