"""The state of a run, in a file that other programs may read at any time: status.json.

The file is replaced as a whole, so that a reader finds one state or the next, never half of one.
"""

from __future__ import annotations

import math
import os
import socket
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blockmix.errors import InputError
from blockmix.files import Damaged, Foreign, manifest_head, manifest_text, read_manifest, reason, replace_text
from blockmix.inference.interrupt import Terminated
from blockmix.inference.progress import Report
from blockmix.inference.run_folder.lock import is_locked

STATUS = "status.json"
FORMAT, VERSION = "blockmix status", 1
# Seconds between two versions of the file, so that quick sweeps are not slowed down.
WRITE_EVERY = 1.0
RUNNING, DONE, INTERRUPTED, TERMINATED, FAILED, DEAD = (
    "running", "done", "interrupted", "terminated", "failed", "dead",
)  # fmt: skip

# What is not known when a run begins.
_LATER = (
    "sweep", "seconds", "updates_per_second", "share", "seconds_left", "scores", "checkpoint_sweep",
    "checkpoint_seconds", "checkpoint_bytes", "message", "missing", "seconds_left_least",
)  # fmt: skip


# Numbers in the file, or null; these must not be null.
_NEEDED = ("nodes", "links", "communities", "pid")
_NUMBERS = (
    *_NEEDED, "chains", "seed", "sweep", "seconds", "updates_per_second", "share", "seconds_left", "checkpoint_sweep",
    "checkpoint_seconds", "checkpoint_bytes", "sweeps", "seconds_left_least",
)  # fmt: skip


class StatusFile:
    """Writes status.json of a run: `facts` stay the same, the rest follows the run."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self._path = folder / STATUS
        self._record: dict[str, Any] = manifest_head(FORMAT, VERSION) | {
            "state": RUNNING, "pid": os.getpid(), "host": socket.gethostname(), "started": time.time(),
            "phase": "starting", **facts, **dict.fromkeys(_LATER),
        }  # fmt: skip
        self._written = -math.inf
        self._warned = False
        self._outcome = DONE
        self.write()

    def update(self, report: Report) -> None:
        """Note the progress after an evaluation; the file is written at most once a second."""
        scores = None if report.scores is None else asdict(report.scores)
        self._record |= {
            "phase": "warm-up" if report.warm_up else "sampling", "sweep": report.sweep,
            "seconds": report.seconds, "updates_per_second": report.updates_per_second,
            "share": report.share, "seconds_left": report.seconds_left, "scores": scores, "missing": report.missing,
            "seconds_left_least": report.seconds_left_least,
        }  # fmt: skip
        if time.monotonic() - self._written >= WRITE_EVERY:
            self.write()

    def checkpoint(self, sweep: int, seconds: float | None, size: int) -> None:
        """Note the last checkpoint: its sweep, how long writing it took, and its size in bytes."""
        self._record |= {"checkpoint_sweep": sweep, "checkpoint_seconds": seconds, "checkpoint_bytes": size}

    def finished(self, interrupted: bool) -> None:
        """Note that the sweeps have ended; results may still be written."""
        self._outcome = INTERRUPTED if interrupted else DONE
        self._record["phase"] = "finished"
        self.write()

    def end(self, error: BaseException | None) -> None:
        """Write the last state of the run: how it ended, or what ended it."""
        if error is None:
            self._record["state"] = self._outcome
        else:
            known = {Terminated: TERMINATED, KeyboardInterrupt: INTERRUPTED}
            self._record["state"] = known.get(type(error), FAILED)
            self._record["message"] = f"{type(error).__name__}: {error}"
        self.write()

    def write(self) -> None:
        """Replace the file; a run does not fail because its status cannot be written."""
        self._written = time.monotonic()
        try:
            text = manifest_text(finite(self._record | {"updated": time.time()}))
            replace_text(self._path, [text], follow=False)
        except (OSError, InputError) as error:
            if not self._warned:
                self._warned = True
                why = reason(error) if isinstance(error, OSError) else error
                warnings.warn(
                    f"{self._path}: cannot be written ({why}); the run goes on",
                    RuntimeWarning,
                    stacklevel=2,
                )


def finite(value: Any) -> Any:
    """Return the value as JSON has it: what is not a number is null."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _wrong_field(record: dict[str, Any]) -> str | None:
    """Return what of a record is missing or not of its kind, in words; None where all is well."""
    for name in _NUMBERS:
        if name not in record or not (record[name] is None or _is_number(record[name])):
            return f"{name} is {record.get(name)!r:.80}"
    for name in _NEEDED:
        if record[name] is None:
            return f"{name} is missing"
    if not isinstance(record.get("missing"), str | None):
        return f"missing is {record['missing']!r:.80}"
    for name in ("started", "updated"):
        if not _is_number(record.get(name, 0.0)):
            return f"{name} is {record[name]!r:.80}"
    for name in ("state", "phase", "sampler", "host"):
        if not isinstance(record.get(name), str):
            return f"{name} is {record.get(name)!r:.80}"
    scores: Any = record.get("scores")
    if "scores" not in record or not (scores is None or isinstance(scores, dict)):
        return f"scores is {scores!r:.80}"
    named: dict[str, Any] = scores or {}
    for name in ("perplexity", "auc", "log_loss"):
        if not (named.get(name) is None or _is_number(named[name])):
            return f"{name} is {named[name]!r:.80}"
    if record["sweep"] is not None and (record["seconds"] is None or record["updates_per_second"] is None):
        return "seconds or updates_per_second is missing"
    if record["checkpoint_sweep"] is not None and record["checkpoint_bytes"] is None:
        return "checkpoint_bytes is missing"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) < 1e300


def read_status(folder: Path) -> dict[str, Any]:
    """Return the record of status.json, with the state "dead" where the process that wrote it is gone.

    `age` is the number of seconds since it was written.
    """
    path = folder / STATUS
    try:
        record = read_manifest(path, FORMAT, VERSION)
    except OSError:
        raise InputError(
            f"{folder}: no run is or was here: there is no {STATUS}; name the folder of blockmix fit -o"
        ) from None
    except Foreign:
        raise InputError(f"{path}: this is not the status of a blockmix run") from None
    except Damaged as damage:
        raise InputError(str(damage)) from None
    wrong = _wrong_field(record)
    if wrong is not None:
        raise InputError(f"{path}: this is not the status of a blockmix run: {wrong}")
    if record.get("state") == RUNNING and not is_locked(folder):
        record["state"] = DEAD
    updated = record.get("updated")
    record["age"] = None if updated is None else max(time.time() - updated, 0.0)
    return record
