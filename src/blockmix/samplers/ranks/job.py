"""The ranks of an MPI job: rank 0 runs the program, and the others serve it.

Rank 0 alone reads, writes, prints and decides, so that a run leaves the same files whatever it ran on. Signals are its
too: the others leave them to it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable

from blockmix.samplers.ranks.team import RankComm, Team, serve

# Signals that end a run: they are for rank 0 to answer.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

# The ranks that this process leads: none, or one team.
_led: list[Team] = []


def run_on_ranks(program: Callable[[], object], comm: RankComm) -> None:
    """Run a program on rank 0, and let the other ranks serve it until it ends, however it ends."""
    if comm.rank:
        _follow(comm)
        return
    team = Team(comm)
    _led[:] = [team]
    status = 1
    try:
        program()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        raise
    except BaseException:
        # Ending all ranks leaves no time for it later.
        traceback.print_exc()
        raise
    finally:
        if team.under_way:
            # The others wait in the middle of a step that will not be finished.
            comm.abort(status)
        _led.clear()
        team.end()


def _follow(comm: RankComm) -> None:
    """Serve rank 0. What fails here ends all ranks: they would wait for this one."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    try:
        serve(comm)
    except Exception as error:
        if os.environ.get("BLOCKMIX_DEBUG"):
            traceback.print_exc()
        what = str(error) or type(error).__name__
        print(
            f"blockmix: rank {comm.rank} on {socket.gethostname()} failed, and all others end: {what}",
            file=sys.stderr,
        )
        comm.abort(1)


def team() -> Team | None:
    """Return the ranks that this process leads, if there are any."""
    return _led[0] if _led else None
