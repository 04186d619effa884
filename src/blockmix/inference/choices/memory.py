"""Whether a run fits into memory, estimated before it starts."""

from __future__ import annotations

import os
from pathlib import Path

from blockmix.errors import InputError
from blockmix.inference.request import FitRequest
from blockmix.tables.samples import FEWEST_SAMPLES
from blockmix.tables.summary import SPARE_ENTRIES

# A slot of a row, and an entry of the running table (community, mean, deviation).
_SLOT_BYTES, _ENTRY_BYTES = 8, 12
# Dense memberships: phi and a copy to work on, in double precision, beside the row that is shown to others.
_DENSE_BYTES = 16
# The running mean and variance of a popularity, and its value in a posterior sample.
_POPULARITY_BYTES, _POPULARITY_SAMPLE = 8, 4
# Strengths with their statistics and running moments, a community; of the general model a pair of them.
_COMMUNITY_BYTES, _BLOCK_BYTES = 100, 60


def least_bytes(request: FitRequest, nodes: int) -> int:
    """Return the bytes that the states and summaries of all chains take at least, without draws and network.

    A sampler with `slots` holds so many communities a node, any other all K of them.
    """
    k = request.prior.communities
    dense = not hasattr(request.options, "slots")
    slots = k if dense else min(request.options.slots, k)
    node = _SLOT_BYTES * slots + _ENTRY_BYTES * min(slots + SPARE_ENTRIES, k)
    if dense:
        node += _DENSE_BYTES * k
    strengths = _BLOCK_BYTES * k * k if request.model == "mmsb" else _COMMUNITY_BYTES * k
    # A packed draw keeps at least one community a node.
    sample = 4 * nodes + 4 * (k * k if request.model == "mmsb" else k)
    if request.model == "popularity":
        node += _POPULARITY_BYTES
        sample += _POPULARITY_SAMPLE * nodes
    return (request.chains or 1) * (nodes * node + strengths + FEWEST_SAMPLES * sample)


def available_bytes() -> int | None:
    """Return the memory that this process may still take, where the system reports it."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024 * int(line.split()[1]))
        limit, used = (Path("/sys/fs/cgroup", f"memory.{name}").read_text() for name in ("max", "current"))
        found.append(int(limit) - int(used))
    except (OSError, ValueError, IndexError):
        pass
    limited = _address_space_left()
    if limited is not None:
        found.append(limited)
    if not found and "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(min(found), 0) if found else None


def _address_space_left() -> int | None:
    """Return what `ulimit -v` leaves of the address space, where it is limited and the system reports the use."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return limit - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        # Windows, or a system without /proc.
        return None


def check_memory(request: FitRequest, nodes: int) -> None:
    """Refuse a run that cannot fit into memory, with the estimate and what to do about it."""
    needed, free = least_bytes(request, nodes), available_bytes()
    if free is None or needed <= free:
        return
    k = request.prior.communities
    sparse = hasattr(request.options, "slots")
    fewer = "fewer communities" if k > 1 else "a larger machine"
    if sparse and request.options.slots > 1:
        fewer += f", fewer slots a node than {request.options.slots}"
    elif not sparse and request.model == "assortative":
        fewer += ", the sampler scir, whose memory does not grow with the communities"
    if request.chains and request.chains > 1:
        fewer += f", fewer chains than {request.chains}"
    raise InputError(
        f"{k:,} communities of {nodes:,} nodes with {request.sampler} take at least {_size(needed)} of memory "
        f"({needed / nodes:,.0f} bytes a node), and {_size(free)} are free: use {fewer}, "
        "or force=True (--force) to try all the same"
    )


def _size(count: int) -> str:
    """Return a number of bytes as text.

    >>> _size(2_500_000_000), _size(40_000_000)
    ('2.5 GB', '0.04 GB')
    """
    return f"{count / 1e9:,.{1 if count >= 1e9 else 2}f} GB"
