"""What `fit` and `resume` do with a posterior: write it, and print what was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from blockmix.cli.guard import FAILED, ending_as_ctrl_c, print_json, warn

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior

_FACTS = (
    "sampler", "seed", "chains", "sweeps", "warm_up", "samples", "node_updates", "seconds", "total_seconds",
    "interrupted", "resumed", "device", "threads", "peak_memory_bytes", "graph_fingerprint", "blockmix",
)  # fmt: skip


@contextmanager
def guarded_run(folder: RunFolder | None, checkpoints: bool) -> Iterator[None]:
    """Say what is kept when a signal ends the run; without checkpoints SIGTERM and SIGHUP do what Ctrl-C does."""
    from blockmix.inference.interrupt import Terminated, terminable
    from blockmix.inference.run_folder.folder import what_is_kept

    if folder is None or not checkpoints:
        with ending_as_ctrl_c():
            yield
        return
    with terminable():
        try:
            yield
        except Terminated:
            warn(f"terminated; {what_is_kept(folder.path)}")
            raise
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted at once; {what_is_kept(folder.path)}") from None


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
    _warn_early_end(post, None if failures else folder, bool(failures))
    for failure in failures:
        warn(f"error: {failure}")
    if as_json:
        print_json(record(post, threshold) | {"output": None if path is None else str(path)})
    elif always_show or not quiet or path is None:
        from blockmix.cli.summary import print_summary

        print_summary(post, threshold, path)
    if failures:
        from blockmix.inference.run_folder.folder import what_is_kept

        assert path is not None
        warn(f"not all results could be written; remove the cause: {what_is_kept(path)}")
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
    for name in ("perplexity", "log_loss", "auc", "average_precision"):
        found[name] = None if scores is None else getattr(scores, name)
    found["held_out_links"] = 0 if scores is None else scores.n_links
    found["held_out_non_links"] = 0 if scores is None else scores.n_non_links
    table = post.diagnostics()
    found["converged"] = table.converged if table.known else None
    found["r_hat"], found["effective_samples"] = table.worst_rhat, table.least_ess
    found["verdict"] = table.verdict
    return found


def _warn_early_end(post: Posterior, folder: RunFolder | None, failed: bool) -> None:
    """Say that a run was interrupted, or that its result rests on hardly anything."""
    facts = post.provenance
    sweeps = f"{facts['sweeps']:,} sweep{'' if facts['sweeps'] == 1 else 's'}"
    early = facts["sweeps"] <= max(facts["warm_up"], 1)
    if not facts["interrupted"]:
        if early:
            warn(
                f"this is a first impression, after {sweeps}: too few for samples that count and for their "
                "uncertainty; give more sweeps or more time"
            )
        return
    impression = ", still in warm-up: this is a first impression" if early else ""
    kept = "" if failed else "; the result so far is kept"
    more = (
        f"; go on with blockmix resume {quote(str(folder.path))}"
        if folder is not None and folder.resumable
        else ""
    )
    warn(f"interrupted after {sweeps}{impression}{kept}{more}")


def warn_uncounted(post: Posterior, limit: float | None, seconds: float) -> None:
    """Say what a time limit does not count, where it makes a difference; `seconds` are those since the call."""
    if limit is None or seconds <= 1.1 * limit + 1.0:
        return
    sampling = post.provenance["seconds"]
    warn(
        f"the time limit of {limit:g} s counts the search for a start and whole sweeps, which took {sampling:,.1f} s; "
        f"reading, compiling and saving took another {max(seconds - sampling, 0.0):,.1f} s"
    )
