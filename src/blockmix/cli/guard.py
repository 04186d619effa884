"""What every command shares: options, errors as one message, notes on standard error, JSON on standard output."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from blockmix.errors import BlockmixError, printable

FAILED, WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
# Libraries and the compiler alone take about 700 MiB of addresses.
LEAST_ADDRESS_SPACE = 800 * 2**20


# What `--threshold` means, and what a complete cover is.
THRESHOLD = (
    "A node is listed in its largest community if its mean membership there is at least T; for any other community "
    "it must also have P(membership >= T) >= 0.5"
)
COMPLETE = (
    "Compare a complete cover: communities without clear evidence count too, T is a share of a node's links, second "
    "memberships need more than one link, and remaining nodes join their neighbours' community."
)

Seed = Annotated[int, typer.Option("--seed", metavar="S", help="The same seed gives the same result.")]


class _Printable(logging.Formatter):
    """Lines of the log, unable to move the cursor."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return printable(super().format(record), keep="\n")


def _verbose(value: bool) -> bool:
    """Show the library's log on standard error, or not."""
    shown = logging.StreamHandler()
    shown.setFormatter(_Printable("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("blockmix")
    logger.handlers[:] = [shown] if value else []
    logger.setLevel(logging.INFO if value else logging.WARNING)
    return value


Verbose = Annotated[
    bool,
    typer.Option(
        "-v", "--verbose", callback=_verbose, help="Show more on standard error: settings, checkpoints."
    ),
]


class Guarded(TyperGroup):
    """The commands, with every error turned into one message and an exit status."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command asked for."""
        try:
            if not {"-h", "--help"} & set(sys.argv):
                _check_address_space()
            with warnings_as_messages():
                return super().invoke(ctx)
        except BrokenPipeError:
            leave()
        except (Exception, KeyboardInterrupt) as error:
            # Usage errors and exits of typer carry their own message and status.
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort):
                raise
            if ctx.params.get("debug"):
                traceback.print_exc()
            message, status = describe_error(error)
            warn(message)
            raise typer.Exit(status) from None


def _check_address_space() -> None:
    """Refuse a limit of memory (`ulimit -v`) under which libraries fail to load, in words that name everything else."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        raise MemoryError(
            f"this shell limits the memory of a process to {limit / 2**20:,.0f} MiB (ulimit -v), and blockmix needs at "
            f"least {LEAST_ADDRESS_SPACE / 2**20:,.0f} MiB; raise the limit"
        )


def describe_error(error: BaseException) -> tuple[str, int]:
    """Return the message and the exit status of an error."""
    if isinstance(error, BlockmixError):
        return f"error: {error}", WRONG_INPUT
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "interrupted: nothing was kept", INTERRUPTED
    if isinstance(error, MemoryError):
        remedy = (
            ""
            if "ulimit" in str(error)
            else "; use fewer communities, chains or threads, or a larger machine"
        )
        return f"error: not enough memory ({error}){remedy}", FAILED
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return (
            f"error: not enough memory or processes for another thread ({error}); use fewer --threads, or raise the "
            "limits of this shell (ulimit -v, ulimit -u)",
            FAILED,
        )
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"error: {place}{error.strerror or error}", FAILED
    return (
        f"error: {type(error).__name__}: {error}\nThis is a defect of blockmix. "
        "Run it again as `blockmix --debug ...` (or with BLOCKMIX_DEBUG=1) and report what it prints.",
        FAILED,
    )


def leave() -> NoReturn:
    """End without a message when the output is read no more, as other programs do in a pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(BROKEN_PIPE)


def warn(message: str) -> None:
    """Print a message that is not a result, on standard error; a terminal that is gone shows none."""
    with suppress(OSError):
        # Messages quote files, manifests, hosts and servers.
        print(printable(message, keep="\n"), file=sys.stderr, flush=True)


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object on one line of standard output; what is not a number is null."""
    print(json.dumps(_plain(record), allow_nan=False), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Show a warning of the library as one line on standard error, without the place in the code."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        warn(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


@contextmanager
def ending_as_ctrl_c() -> Iterator[None]:
    """Let a request to end (SIGTERM: `kill`, `timeout`, a batch system; SIGHUP) do what Ctrl-C does."""
    from blockmix.inference.interrupt import ENDING

    before: dict[int, Any] = {}
    try:
        for number in ENDING:
            # `nohup` ignores SIGHUP, and so does blockmix then.
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    except ValueError:
        # Not the main thread: signals are not handled here.
        pass
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
