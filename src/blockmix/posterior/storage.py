"""A posterior on disk: run.json with checksums, the network, and one .npy per array. Nothing is ever unpickled."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.files import (
    Damaged,
    Foreign,
    check_own,
    manifest_head,
    manifest_text,
    read_sealed,
    reason,
    replace_text,
    seal,
)
from blockmix.folders import remove_abandoned, whole_folder
from blockmix.graph.graph import Graph
from blockmix.graph.storage import refuse_foreign, write_graph
from blockmix.posterior.checks import check_posterior
from blockmix.posterior.posterior import HeldOutPairs, Posterior, WeightPredictions
from blockmix.stored import NUMBERS, Checksums, Files, check_files, check_name, read_array, save_arrays
from blockmix.tables.samples import PosteriorSample, check_samples, sample_arrays, samples_from

FORMAT = "blockmix posterior"
# Version 1, of blockmix 0.1.0, has no checksums.
VERSION, OLDEST = 2, 1
MANIFEST = "run.json"
_TABLE = ("offsets", "community", "mean", "sd", "sizes", "strength_mean", "strength_sd", "numbers")
_BLOCKS = ("blocks_mean", "blocks_sd")
_POPULARITY = ("popularity_mean", "popularity_sd")
_WEIGHTS = ("weight", "density", "expected")
_DRAWN = ("lengths", "counts", "communities", "weights", "strengths")
# The types that arrays are written in; `draws_` stands for those of every chain.
_UNSIGNED = ("|u1", "<u2", "<u4")
_INTEGERS = ("offsets", "numbers", "draws_sweep", "draws_lengths", "held_out_pairs", "held_out_matched")
_FLOATS = (
    "sizes", "strength_mean", "strength_sd", "held_out_probability", "held_out_matched_probability", *_BLOCKS,
    "draws_unit", *(f"held_out_{name}" for name in _WEIGHTS),
)  # fmt: skip
_TYPES = dict.fromkeys(_INTEGERS, ("<i8",)) | dict.fromkeys(_FLOATS, ("<f8",)) | {
    "community": ("<i4",), "mean": ("<f4",), "sd": ("<f4",), "held_out_links": ("|b1",), "draws_weights": ("<u2",),
    "draws_counts": _UNSIGNED, "draws_communities": _UNSIGNED, "draws_strengths": ("<f4",), "draws_rest": ("<u2",),
    "draws_popularity": ("<f4",), "popularity_mean": ("<f4",), "popularity_sd": ("<f4",),
}  # fmt: skip
_DRAWS = re.compile("^draws[0-9]+_")


def save_posterior(post: Posterior, folder: Path, texts: Files | None = None) -> None:
    """Write a posterior; the manifest comes last, so that a folder with one is complete.

    `texts` are the checksums of the text files that are already there.
    """
    body = _manifest(post) | {"texts": texts or {}}
    # What cannot be written to a manifest is an error before anything is replaced.
    manifest_text(body)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_own(folder / MANIFEST)
        for name in ("graph", "posterior"):
            check_own(folder / name, folder=True)
        _refuse_foreign(folder)
        remove_abandoned(folder)
        with (
            whole_folder(folder / "posterior", sync=True) as fresh,
            whole_folder(folder / "graph", sync=True) as network,
        ):
            body["files"] = save_arrays(fresh, _arrays(post))
            write_graph(post.graph, network)
            # From here until the new manifest is in place the folder holds no result: better than a mixture.
            (folder / MANIFEST).unlink(missing_ok=True)
        replace_text(folder / MANIFEST, [manifest_text(seal(body))], follow=False, sync=True)
    except OSError as error:
        raise InputError(
            f"{folder}: the result cannot be saved ({reason(error)}); remove the cause or choose another place"
        ) from error


def _refuse_foreign(folder: Path) -> None:
    """Refuse to replace folders of these names that hold something else than a result."""
    refuse_foreign(folder / "graph")
    for path in (folder / "posterior").iterdir() if (folder / "posterior").exists() else ():
        if path.suffix != ".npy":
            raise InputError(
                f"{path}: this is no part of a result, and would be replaced with its folder; name another folder"
            )


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
        if post.held_out.weights is not None:
            arrays |= {f"held_out_{name}": getattr(post.held_out.weights, name) for name in _WEIGHTS}
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
        "even_rest": any(sample.rest is not None for chain in post.draws for sample in chain),
        "popularity": post.popularity_mean is not None,
        "held_out": held_out,
        "matched": post.held_out is not None,
        "weights": post.weight_law is not None,
        "trace": sorted(post.trace),
        "provenance": post.provenance,
    }


def load_posterior(folder: Path) -> Posterior:
    """Read a posterior; arrays are mapped into memory, and checked once."""
    manifest = result_manifest(folder)
    try:
        with Checksums() as sums:
            post = _assemble(folder, manifest, sums)
            check_posterior(post, sums)
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
        return read_sealed(folder / MANIFEST, FORMAT, VERSION, OLDEST)
    except OSError:
        raise InputError(
            f"{folder}: not a blockmix result: there is no {MANIFEST}; name a folder written by fit or save"
        ) from None
    except Foreign:
        raise InputError(f"{folder}: {MANIFEST} is not that of a blockmix result") from None
    except Damaged as damage:
        raise InputError(f"{damage}; restore it from a copy") from None


def _assemble(folder: Path, manifest: dict[str, Any], sums: Checksums) -> Posterior:
    files: Mapping[str, Any] | None = check_files(manifest.get("files")) if manifest["version"] > 1 else None

    def array(name: str) -> NDArray[Any]:
        path = folder / "posterior" / f"{check_name(name)}.npy"
        types = _TYPES.get(_DRAWS.sub("draws_", name), NUMBERS)
        if files is None:
            return read_array(path, types, mapped_by=sums)
        if name not in files:
            raise FileNotFoundError(f"{name} is not among the files that {MANIFEST} names")
        try:
            return read_array(path, types, files[name], mapped_by=sums)
        except OSError as error:
            raise Damaged(f"{path.name} cannot be read: {reason(error)}") from None

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
        if manifest.get("weights"):
            found = WeightPredictions(*(array(f"held_out_{name}") for name in _WEIGHTS))
            held_out = replace(held_out, weights=found)
    table = {name: array(name) for name in _TABLE}
    blocks = {name: array(name) for name in _BLOCKS} if manifest.get("blocks") else {}
    popular = bool(manifest.get("popularity"))
    popularity = {name: array(name) for name in _POPULARITY} if popular else {}
    if table["numbers"].ndim != 2 or len(table["numbers"]) != manifest["chains"]:
        raise Damaged(f"numbers is not that of {manifest['chains']!r:.80} chains")
    graph = Graph.load(folder / "graph")
    k = len(table["sizes"])
    shape, more = (k, k) if blocks else (k + 1,), {"rest": manifest.get("even_rest"), "popularity": popular}
    more["unit"] = manifest.get("weights")
    names = (*_DRAWN, *(name for name, there in more.items() if there))
    return Posterior(
        graph=graph,
        **table,
        background_mean=float(manifest["background_mean"]),
        background_sd=float(manifest["background_sd"]),
        draws=tuple(_draws(array, c, names, graph.n_nodes, shape, sums) for c in range(manifest["chains"])),
        trace={check_name(name): array(f"trace_{name}") for name in manifest["trace"]},
        held_out=held_out,
        provenance=manifest["provenance"],
        **blocks,
        **popularity,
    )


def _draws(
    array: Any,
    chain: int,
    names: Sequence[str],
    nodes: int,
    strengths: tuple[int, ...],
    sums: Checksums,
) -> tuple[PosteriorSample, ...]:
    try:
        sweep = array(f"draws{chain}_sweep")
    except FileNotFoundError:
        return ()
    arrays = {"sweep": sweep} | {name: array(f"draws{chain}_{name}") for name in names}
    check_samples(arrays, nodes, strengths, sums)
    return samples_from(arrays)


def load(path: str | os.PathLike[str]) -> Posterior:
    """Open a result written by `Posterior.save` or `blockmix fit -o`."""
    return load_posterior(Path(path))
