"""A watchdog over every step that ranks take together: one that does not end is named, with where each thread waits."""

import faulthandler
import functools
import sys

from blockmix.engines.contract import Comm

COLLECTIVES = [name for name, method in vars(Comm).items() if callable(method) and not name.startswith("_")]


def watched(comm, seconds=240.0):
    """Return a `Comm` whose collectives end the process, and by that the job, if one takes longer than this.

    In `decide` ranks wait for whatever rank 0 does before it, compiling too.
    """
    for name in COLLECTIVES:
        setattr(comm, name, _guarded(getattr(comm, name), f"{name} on rank {comm.rank}", seconds))
    return comm


def _guarded(method, what, seconds):
    @functools.wraps(method)
    def call(*arguments):
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            return method(*arguments)
        except BaseException:
            print(f"in {what}", file=sys.stderr)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    return call
