"""The command line. It is thin: every command calls the library, and nothing else calls it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the `blockmix` program."""
    try:
        # Imported here, so that Ctrl-C while modules load is no traceback either.
        from blockmix.cli.app import app
        from blockmix.cli.guard import leave
    except KeyboardInterrupt:
        sys.exit(130)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a label must not end a run.
            stream.reconfigure(errors="replace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        leave()
