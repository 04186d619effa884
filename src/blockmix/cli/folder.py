"""The folder that results go to: checked and locked before the work, written after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder
    from blockmix.posterior.posterior import Posterior

# Seconds between checkpoints; that of the library, which is not loaded for --help.
DEFAULT_EVERY = 60.0


@contextmanager
def claimed(
    output: Path | None, overwrite: bool, every: float = DEFAULT_EVERY, notes: dict[str, Any] | None = None
) -> Iterator[RunFolder | None]:
    """Make sure that results can be written here before anything is computed, and lock the folder.

    A folder with an earlier result or an unfinished run is used only with `overwrite`, one with anything else
    never. If the work fails, a folder that was made for it and holds nothing is removed again.
    """
    if output is None:
        yield None
        return
    from blockmix.inference.run_folder.folder import RunFolder

    _check(output, overwrite)
    with RunFolder(output, every, notes) as folder:
        folder.clear()
        yield folder


def _check(output: Path, overwrite: bool) -> None:
    """Refuse a place that results must not or cannot go to."""
    try:
        if output.exists():
            _refuse_taken(output, overwrite)
            with tempfile.TemporaryFile(dir=output):
                pass
    except OSError as error:
        raise InputError(
            f"{output}: results cannot be written here ({error.strerror or error}); "
            "choose another folder with -o"
        ) from error


def _refuse_taken(output: Path, overwrite: bool) -> None:
    from blockmix.inference.run_folder.folder import OWN_FILES, has_run
    from blockmix.inference.run_folder.lock import is_locked
    from blockmix.posterior.storage import read_manifest

    if not output.is_dir():
        raise InputError(f"{output}: this is a file; name a folder for the results")
    if is_locked(output):
        # The lock itself names the other process.
        return
    unfinished = has_run(output)
    if not unfinished and all(path.name in OWN_FILES for path in output.iterdir()):
        return
    try:
        read_manifest(output)
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


def write_results(post: Posterior, folder: Path, threshold: float) -> list[str]:
    """Write the posterior and the text files; return what could not be written. The first signal waits."""
    from blockmix.inference.interrupt import Interruption
    from blockmix.posterior.export.files import write_text_files

    failures = []
    with Interruption(terminate=True):
        try:
            post.save(folder)
        except InputError as error:
            failures.append(str(error))
        failures += [str(error) for error in write_text_files(post, folder, threshold=threshold)]
    return failures
