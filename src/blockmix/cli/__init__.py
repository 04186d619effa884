"""The command line. It is thin: every command calls the library, and nothing else calls it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blockmix.samplers.ranks.team import RankComm


def joined_or_leave() -> RankComm:
    """Join the ranks of the MPI job that this process was started in; where that fails, one of them says so."""
    from typing import cast

    from blockmix.engines.choose import join
    from blockmix.engines.launched import launched_rank
    from blockmix.errors import InputError

    try:
        return cast("RankComm", join())
    except InputError as error:
        if launched_rank() == 0:
            print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def main() -> None:
    """Run the `blockmix` program."""
    try:
        # Imported here, so that Ctrl-C while modules load is no traceback either.
        from blockmix.cli.app import app
        from blockmix.cli.guard import leave
        from blockmix.engines.launched import launched
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a label must not end a run.
            stream.reconfigure(errors="replace")
    try:
        try:
            if launched() > 1:
                from blockmix.samplers.ranks.job import run_on_ranks

                run_on_ranks(app, joined_or_leave())
            else:
                app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        leave()
