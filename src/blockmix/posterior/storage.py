"""A posterior on disk: run.json, the network, and one .npy per array. Nothing is ever unpickled."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import (
    Damaged,
    Foreign,
    check_own,
    manifest_head,
    manifest_text,
    read_manifest,
    reason,
    replace_text,
    whole_folder,
)
from blockmix.graph.graph import Graph
from blockmix.posterior.checks import check_posterior
from blockmix.posterior.posterior import HeldOutPairs, Posterior
from blockmix.stored import NUMBERS, check_name, read_array
from blockmix.tables.samples import PosteriorSample, check_samples, sample_arrays, samples_from

FORMAT, VERSION = "blockmix posterior", 1
MANIFEST = "run.json"
_TABLE = ("offsets", "community", "mean", "sd", "sizes", "strength_mean", "strength_sd", "numbers")
_BLOCKS = ("blocks_mean", "blocks_sd")
_POPULARITY = ("popularity_mean", "popularity_sd")
# The types that arrays are written in; `draws_` stands for those of every chain.
_UNSIGNED = ("|u1", "<u2", "<u4")
_INTEGERS = ("offsets", "numbers", "draws_sweep", "draws_lengths", "held_out_pairs", "held_out_matched")
_FLOATS = (
    "sizes",
    "strength_mean",
    "strength_sd",
    "held_out_probability",
    "held_out_matched_probability",
    *_BLOCKS,
)
_TYPES = dict.fromkeys(_INTEGERS, ("<i8",)) | dict.fromkeys(_FLOATS, ("<f8",)) | {
    "community": ("<i4",), "mean": ("<f4",), "sd": ("<f4",), "held_out_links": ("|b1",), "draws_weights": ("<u2",),
    "draws_counts": _UNSIGNED, "draws_communities": _UNSIGNED, "draws_strengths": ("<f4",),
    "draws_popularity": ("<f4",), "popularity_mean": ("<f4",), "popularity_sd": ("<f4",),
}  # fmt: skip
_DRAWS = re.compile("^draws[0-9]+_")


def save_posterior(post: Posterior, folder: Path) -> None:
    """Write a posterior; the manifest comes last, so that a folder with one is complete."""
    text = manifest_text(_manifest(post))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_own(folder / MANIFEST)
        for name in ("graph", "posterior"):
            check_own(folder / name, folder=True)
        post.graph.save(folder / "graph")
        with whole_folder(folder / "posterior") as fresh:
            for name, array in _arrays(post).items():
                np.save(fresh / f"{name}.npy", array, allow_pickle=False)
            # From here until the new manifest is in place the folder holds no result: better than a mixture.
            (folder / MANIFEST).unlink(missing_ok=True)
        replace_text(folder / MANIFEST, [text], follow=False)
    except OSError as error:
        raise InputError(f"{folder}: the result cannot be saved ({reason(error)})") from error


def _arrays(post: Posterior) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {name: getattr(post, name) for name in _TABLE}
    for c, chain in enumerate(post.draws):
        arrays |= {f"draws{c}_{name}": array for name, array in sample_arrays(chain).items()}
    if post.blocks_mean is not None and post.blocks_sd is not None:
        arrays |= {name: getattr(post, name) for name in _BLOCKS}
    if post.popularity_mean is not None:
        arrays |= {name: getattr(post, name) for name in _POPULARITY}
    if post.held_out is not None:
        arrays["held_out_pairs"] = post.held_out.pairs
        arrays["held_out_links"] = post.held_out.links
        arrays["held_out_probability"] = post.held_out.probability
        arrays["held_out_matched"] = post.held_out.matched
        arrays["held_out_matched_probability"] = post.held_out.matched_probability
    return arrays | {f"trace_{name}": values for name, values in post.trace.items()}


def _manifest(post: Posterior) -> dict[str, Any]:
    held_out = None
    if post.held_out is not None:
        held_out = {key: getattr(post.held_out, key) for key in ("density", "kind", "fraction")}
    return manifest_head(FORMAT, VERSION) | {
        "background_mean": post.background_mean,
        "background_sd": post.background_sd,
        "chains": len(post.draws),
        "blocks": post.blocks_mean is not None,
        "popularity": post.popularity_mean is not None,
        "held_out": held_out,
        "matched": post.held_out is not None,
        "trace": sorted(post.trace),
        "provenance": post.provenance,
    }


def load_posterior(folder: Path) -> Posterior:
    """Read a posterior; arrays are mapped into memory, and checked once."""
    manifest = result_manifest(folder)
    try:
        post = _assemble(folder, manifest)
        check_posterior(post)
    except InputError:
        raise
    except (Damaged, OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{folder}: this result is damaged ({error}); fit again or restore a copy") from None
    if post.graph.fingerprint != post.provenance.get("graph_fingerprint"):
        raise InputError(
            f"{folder}: graph/ is not the network of this result; restore the folder from a copy"
        )
    return post


def result_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a result, or raise an error that says why the folder holds none."""
    try:
        return read_manifest(folder / MANIFEST, FORMAT, VERSION)
    except OSError:
        raise InputError(
            f"{folder}: not a blockmix result: there is no {MANIFEST}; name a folder written by fit or save"
        ) from None
    except Foreign:
        raise InputError(f"{folder}: {MANIFEST} is not that of a blockmix result") from None
    except Damaged as damage:
        raise InputError(f"{damage}; restore it from a copy") from None


def _assemble(folder: Path, manifest: dict[str, Any]) -> Posterior:
    def array(name: str) -> NDArray[Any]:
        path = folder / "posterior" / f"{check_name(name)}.npy"
        return read_array(path, _TYPES.get(_DRAWS.sub("draws_", name), NUMBERS), mmap=True)

    held_out = None
    if manifest["held_out"] is not None:
        pairs, links, probability = (array(f"held_out_{name}") for name in ("pairs", "links", "probability"))
        held_out = HeldOutPairs(pairs, links, probability, **manifest["held_out"])
        # Results of blockmix 0.1 have no matched non-links.
        if manifest.get("matched"):
            held_out = replace(
                held_out,
                matched=array("held_out_matched"),
                matched_probability=array("held_out_matched_probability"),
            )
    table = {name: array(name) for name in _TABLE}
    blocks = {name: array(name) for name in _BLOCKS} if manifest.get("blocks") else {}
    popular = bool(manifest.get("popularity"))
    popularity = {name: array(name) for name in _POPULARITY} if popular else {}
    if table["numbers"].ndim != 2 or len(table["numbers"]) != manifest["chains"]:
        raise Damaged(f"numbers is not that of {manifest['chains']!r:.80} chains")
    graph = Graph.load(folder / "graph")
    k = len(table["sizes"])
    return Posterior(
        graph=graph,
        **table,
        background_mean=float(manifest["background_mean"]),
        background_sd=float(manifest["background_sd"]),
        draws=tuple(
            _draws(array, c, graph.n_nodes, (k, k) if blocks else (k + 1,), popular)
            for c in range(manifest["chains"])
        ),
        trace={check_name(name): array(f"trace_{name}") for name in manifest["trace"]},
        held_out=held_out,
        provenance=manifest["provenance"],
        **blocks,
        **popularity,
    )


def _draws(
    array: Any, chain: int, nodes: int, strengths: tuple[int, ...], popular: bool
) -> tuple[PosteriorSample, ...]:
    try:
        sweep = array(f"draws{chain}_sweep")
    except FileNotFoundError:
        return ()
    names = (
        "lengths",
        "counts",
        "communities",
        "weights",
        "strengths",
        *(("popularity",) if popular else ()),
    )
    arrays = {"sweep": sweep} | {name: array(f"draws{chain}_{name}") for name in names}
    check_samples(arrays, nodes, strengths)
    return samples_from(arrays)


def load(path: str | os.PathLike[str]) -> Posterior:
    """Open a result written by `Posterior.save` or `blockmix fit -o`."""
    return load_posterior(Path(path))
