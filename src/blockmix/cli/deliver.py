"""What `fit` and `resume` do with a posterior: write it, and print what was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from blockmix.cli.guard import FAILED, print_json, sigterm_as_ctrl_c, warn, warnings_as_messages

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior

_FACTS = (
    "sampler", "seed", "chains", "sweeps", "warm_up", "samples", "node_updates", "seconds", "total_seconds",
    "interrupted", "resumed", "device", "threads", "peak_memory_bytes", "graph_fingerprint", "blockmix",
)  # fmt: skip


@contextmanager
def guarded_run(folder: RunFolder | None, checkpoints: bool) -> Iterator[None]:
    """Show warnings as messages; let SIGTERM leave a checkpoint, or do what Ctrl-C does where there is none."""
    from blockmix.inference.interrupt import Terminated

    with ExitStack() as stack:
        stack.enter_context(warnings_as_messages())
        if folder is None or not checkpoints:
            stack.enter_context(sigterm_as_ctrl_c())
        try:
            yield
        except Terminated:
            assert folder is not None
            warn(f"terminated; the run is kept: go on with blockmix resume {quote(str(folder.path))}")
            raise


def deliver(
    post: Posterior,
    folder: RunFolder | None,
    threshold: float,
    as_json: bool,
    quiet: bool,
    always_show: bool = False,
) -> None:
    """Write the results, then print what was found: they are on disk before anything is printed."""
    from blockmix.inference.run_folder.results import write_results

    path = None if folder is None else folder.path
    failures = write_results(post, path, threshold) if path is not None else []
    _warn_interrupted(post, folder)
    for failure in failures:
        warn(f"error: {failure}")
    if as_json:
        print_json(record(post, threshold) | {"output": None if path is None else str(path)})
    elif always_show or not quiet or path is None:
        from blockmix.cli.summary import print_summary

        print_summary(post, threshold, path)
    if failures:
        warn(f"not all results could be written; what could be is in {path}")
        raise typer.Exit(FAILED)


def record(post: Posterior, threshold: float) -> dict[str, Any]:
    """Return the figures of a run, by name."""
    facts, scores = post.provenance, post.scores
    found: dict[str, Any] = {
        "nodes": post.graph.n_nodes,
        "edges": post.graph.n_edges,
        "communities": post.n_communities,
        "communities_found": len(post.covers(threshold)),
    }
    found |= {name: facts[name] for name in _FACTS}
    found |= {"model": facts["model"]["kind"], "model_chosen_by": facts["model_chosen_by"]}
    for name in ("perplexity", "log_loss", "auc", "auc_matched", "average_precision"):
        found[name] = None if scores is None else getattr(scores, name)
    found["held_out_links"] = 0 if scores is None else scores.n_links
    found["held_out_non_links"] = 0 if scores is None else scores.n_non_links
    table = post.diagnostics()
    found["converged"] = table.converged if table.known else None
    found["r_hat"], found["effective_samples"] = table.worst_rhat, table.least_ess
    found["verdict"] = table.verdict
    return found


def _warn_interrupted(post: Posterior, folder: RunFolder | None) -> None:
    facts = post.provenance
    if not facts["interrupted"]:
        return
    early = "" if facts["sweeps"] > facts["warm_up"] else ", still in warm-up: this is a first impression"
    more = (
        f"; go on with blockmix resume {quote(str(folder.path))}"
        if folder is not None and folder.resumable
        else ""
    )
    warn(f"interrupted after {facts['sweeps']:,} sweeps{early}; the result so far is kept{more}")
