"""The folder that results go to: checked before the work, written after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from blockmix.errors import InputError

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior


@contextmanager
def claimed(output: Path | None, overwrite: bool) -> Iterator[Path | None]:
    """Make sure that results can be written here before anything is computed.

    A folder with an earlier result is used only with `overwrite`, one with anything else never. If the work
    fails, a folder that was made for it is removed again.
    """
    if output is None:
        yield None
        return
    made = _claim(output, overwrite)
    try:
        yield output
    except BaseException:
        if made:
            # Only an empty folder can be removed: results are safe.
            with suppress(OSError):
                output.rmdir()
        raise


def _claim(output: Path, overwrite: bool) -> bool:
    """Check the folder, make it if need be, and say whether it was made."""
    try:
        if output.exists():
            _refuse_taken(output, overwrite)
        made = not output.exists()
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output):
            pass
    except OSError as error:
        raise InputError(
            f"{output}: results cannot be written here ({error.strerror or error}); "
            "choose another folder with -o"
        ) from error
    return made


def _refuse_taken(output: Path, overwrite: bool) -> None:
    from blockmix.posterior.storage import read_manifest

    if not output.is_dir():
        raise InputError(f"{output}: this is a file; name a folder for the results")
    if not any(output.iterdir()):
        return
    try:
        read_manifest(output)
    except InputError:
        raise InputError(
            f"{output}: this folder holds other things than a blockmix result, which are not touched; "
            f"name a new one, for instance {output / 'run'}"
        ) from None
    if not overwrite:
        raise InputError(
            f"{output}: holds an earlier result; name another folder, or add --overwrite to replace it"
        )


def write_results(post: Posterior, folder: Path, threshold: float) -> list[str]:
    """Write the posterior and the text files; return what could not be written. The first Ctrl-C waits."""
    from blockmix.inference.interrupt import Interruption
    from blockmix.posterior.files import write_text_files

    failures = []
    with Interruption():
        try:
            post.save(folder)
        except InputError as error:
            failures.append(str(error))
        failures += [str(error) for error in write_text_files(post, folder, threshold=threshold)]
    return failures
