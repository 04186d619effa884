"""The results in the folder of a run: where they may go, whether they are there, writing them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any

from blockmix.errors import InputError
from blockmix.files import Damaged, is_temporary, reason
from blockmix.inference.interrupt import Interruption
from blockmix.inference.run_folder.folder import OWN_FILES, RunFolder, has_run
from blockmix.inference.run_folder.lock import is_locked
from blockmix.posterior.export.files import POPULARITY, text_names, write_text_files
from blockmix.posterior.posterior import Posterior
from blockmix.posterior.storage import load_posterior, result_manifest, save_posterior
from blockmix.stored import Files, file_entry


@contextmanager
def claim_folder(
    output: Path | None, overwrite: bool, notes: dict[str, Any] | None = None
) -> Iterator[RunFolder | None]:
    """Make sure that results can be written here before anything is computed, and lock the folder.

    A folder with an earlier result or an unfinished run is used only with `overwrite`, one with anything else
    never. If the work fails, a folder that was made for it and holds nothing is removed again.
    """
    if output is None:
        if overwrite:
            raise InputError("--overwrite has no effect without -o: name a folder with -o, or leave it out")
        yield None
        return
    _check_writable(output, overwrite)
    with RunFolder(output, notes) as folder:
        folder.clear()
        yield folder


def _check_writable(output: Path, overwrite: bool) -> None:
    """Refuse a place that results must not or cannot go to."""
    try:
        if output.exists():
            _refuse_taken(output, overwrite)
            with tempfile.TemporaryFile(dir=output):
                pass
    except OSError as error:
        raise InputError(
            f"{output}: results cannot be written here ({reason(error)}); choose another folder with -o"
        ) from error


def _refuse_taken(output: Path, overwrite: bool) -> None:
    if not output.is_dir():
        raise InputError(f"{output}: this is a file; name a folder for the results")
    if is_locked(output):
        # `RunFolder` raises the error that names the other process.
        return
    unfinished = has_run(output)
    if not unfinished and all(_is_own(path.name) for path in output.iterdir()):
        return
    try:
        result_manifest(output)
        holds = "an earlier result; name another folder"
    except InputError:
        if not unfinished:
            raise InputError(
                f"{output}: this folder holds other things than a blockmix result, which are not touched; "
                f"name a new one, for instance {output / 'run'}"
            ) from None
        holds = f"a run that was not finished; go on with it (blockmix resume {quote(str(output))})"
    if not overwrite:
        raise InputError(f"{output}: holds {holds}, or add --overwrite to replace it")


def _is_own(name: str) -> bool:
    """Return whether a run that has no result yet may have left this in its folder."""
    return name in OWN_FILES or is_temporary(name)


def write_results(post: Posterior, folder: Path, threshold: float) -> list[str]:
    """Write the posterior and the text files; return what could not be written. The first signal waits."""
    failures: list[str] = []
    with Interruption(terminate=True):
        # Somebody may have removed the folder during the run: the results are still worth writing.
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        # That of an earlier result would be taken for a part of this one.
        if POPULARITY not in text_names(post):
            with suppress(OSError):
                (folder / POPULARITY).unlink(missing_ok=True)
        # The manifest of the posterior comes last and has the checksums of all that was written before it.
        failures += [str(error) for error in write_text_files(post, folder, threshold=threshold)]
        try:
            save_posterior(post, folder, {} if failures else text_entries(folder, post))
        except (InputError, OSError) as error:
            failures.append(str(error))
    return failures


def text_entries(folder: Path, post: Posterior) -> Files:
    """Return the checksums of the text files of this result in its folder."""
    return {name: file_entry(folder / name) for name in text_names(post)}


def holds_result_of(folder: Path, post: Posterior) -> bool:
    """Return whether all files of this very result are in the folder: of this run, after as many sweeps, and whole."""
    try:
        manifest = result_manifest(folder)
        facts = manifest["provenance"]
        same = all(
            facts.get(name) == post.provenance[name] for name in ("run", "sweeps", "samples", "interrupted")
        )
        if not same or manifest.get("texts") != text_entries(folder, post):
            return False
        load_posterior(folder)
    except (InputError, Damaged, OSError, KeyError, AttributeError):
        return False
    return True
