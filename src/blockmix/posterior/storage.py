"""A posterior on disk: run.json, the network, and one .npy per array. Nothing is ever unpickled."""

from __future__ import annotations

import os
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
from blockmix.posterior.posterior import HeldOutPairs, Posterior
from blockmix.tables.samples import PosteriorSample, sample_arrays, samples_from

FORMAT, VERSION = "blockmix posterior", 1
MANIFEST = "run.json"
_TABLE = ("offsets", "community", "mean", "sd", "sizes", "strength_mean", "strength_sd", "numbers")
_BLOCKS = ("blocks_mean", "blocks_sd")


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
    if post.held_out is not None:
        arrays["held_out_pairs"] = post.held_out.pairs
        arrays["held_out_links"] = post.held_out.links
        arrays["held_out_probability"] = post.held_out.probability
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
        "held_out": held_out,
        "trace": sorted(post.trace),
        "provenance": post.provenance,
    }


def load_posterior(folder: Path) -> Posterior:
    """Read a posterior; arrays are mapped, not read, until they are used."""
    manifest = result_manifest(folder)
    try:
        post = _assemble(folder, manifest)
        _check_shapes(post)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{folder}: this result is damaged ({error}); fit again or restore a copy") from None
    if post.graph.fingerprint != post.provenance.get("graph_fingerprint"):
        raise InputError(
            f"{folder}: graph/ is not the network of this result; restore the folder from a copy"
        )
    return post


def _check_shapes(post: Posterior) -> None:
    """Check that the arrays fit together and the network; only their sizes and the offsets are read."""
    nodes, communities, entries = post.graph.n_nodes, len(post.sizes), len(post.community)
    expected = {
        "offsets": (nodes + 1,),
        "community": (entries,),
        "mean": (entries,),
        "sd": (entries,),
        "sizes": (communities,),
        "strength_mean": (communities,),
        "strength_sd": (communities,),
        "numbers": (len(post.draws), communities),
    }
    for name, shape in expected.items():
        if getattr(post, name).shape != shape:
            raise ValueError(f"{name} has the shape {getattr(post, name).shape}, not {shape}")
    if post.offsets[0] != 0 or post.offsets[-1] != entries or (np.diff(post.offsets) < 0).any():
        raise ValueError("offsets do not fit the memberships")
    shape = (communities + 1,)
    if post.blocks_mean is not None and post.blocks_sd is not None:
        shape = post.blocks_mean.shape
        if not post.blocks_sd.shape == shape == (communities, communities):
            raise ValueError("the strengths between communities are not complete")
    for sample in (sample for chain in post.draws for sample in chain):
        if len(sample.counts) != nodes or sample.strengths.shape != shape:
            raise ValueError("the posterior samples are not those of this network")
        if len(sample.communities) != len(sample.weights):
            raise ValueError("the posterior samples are not complete")
    if post.held_out is not None and post.held_out.pairs.shape != (len(post.held_out.links), 2):
        raise ValueError("the held-out pairs are not complete")
    if not isinstance(post.provenance, dict):
        raise ValueError("the provenance is missing")


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
        path = folder / "posterior" / f"{name}.npy"
        loaded: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return loaded

    held_out = None
    if manifest["held_out"] is not None:
        pairs, links, probability = (
            np.asarray(array(f"held_out_{name}")) for name in ("pairs", "links", "probability")
        )
        held_out = HeldOutPairs(pairs, links, probability, **manifest["held_out"])
    return Posterior(
        graph=Graph.load(folder / "graph"),
        **{name: array(name) for name in _TABLE},
        background_mean=float(manifest["background_mean"]),
        background_sd=float(manifest["background_sd"]),
        draws=tuple(_draws(folder, array, c) for c in range(manifest["chains"])),
        trace={name: np.asarray(array(f"trace_{name}")) for name in manifest["trace"]},
        held_out=held_out,
        provenance=manifest["provenance"],
        **({name: array(name) for name in _BLOCKS} if manifest.get("blocks") else {}),
    )


def _draws(folder: Path, array: Any, chain: int) -> tuple[PosteriorSample, ...]:
    if not (folder / "posterior" / f"draws{chain}_sweep.npy").exists():
        return ()
    names = ("sweep", "lengths", "counts", "communities", "weights", "strengths")
    return samples_from({name: array(f"draws{chain}_{name}") for name in names})


def load(path: str | os.PathLike[str]) -> Posterior:
    """Open a result written by `Posterior.save` or `blockmix fit -o`."""
    return load_posterior(Path(path))
