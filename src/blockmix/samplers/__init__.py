"""How it is learned: one file per sampler."""

from __future__ import annotations

from difflib import get_close_matches

from blockmix.errors import InputError

SAMPLERS = ("scir",)


def check_sampler(name: str) -> str:
    """The name of a sampler, or an error with the nearest right one."""
    if name in SAMPLERS:
        return name
    near = get_close_matches(str(name), SAMPLERS, n=1, cutoff=0.3)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InputError(f"there is no sampler {name!r}{hint} Samplers: {', '.join(SAMPLERS)}.")
