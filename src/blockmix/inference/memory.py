"""Whether a run fits into memory, estimated before it starts."""

from __future__ import annotations

import os
from pathlib import Path

from blockmix.errors import InputError
from blockmix.inference.task import Task
from blockmix.tables.samples import FEWEST_SAMPLES
from blockmix.tables.summary import SPARE_ENTRIES

# A slot of a row, and an entry of the running table (community, mean, deviation).
_SLOT_BYTES, _ENTRY_BYTES = 8, 12
# Dense memberships: phi and a copy to work on, in double precision, beside the row that is shown to others.
_DENSE_BYTES = 16
# Strengths with their statistics and running moments, a community; of the general model a pair of them.
_COMMUNITY_BYTES, _BLOCK_BYTES = 100, 60


def least_bytes(task: Task, nodes: int) -> int:
    """Bytes that the states and summaries of all chains take at least; draws and the network come on top.

    A sampler with `slots` holds so many communities a node, any other all K of them.
    """
    k = task.model.communities
    dense = not hasattr(task.options, "slots")
    slots = k if dense else min(task.options.slots, k)
    node = _SLOT_BYTES * slots + _ENTRY_BYTES * min(slots + SPARE_ENTRIES, k)
    if dense:
        node += _DENSE_BYTES * k
    strengths = _BLOCK_BYTES * k * k if task.model.kind == "mmsb" else _COMMUNITY_BYTES * k
    # A packed draw keeps at least one community a node.
    draw = 4 * nodes + 4 * (k * k if task.model.kind == "mmsb" else k)
    return task.chains * (nodes * node + strengths + FEWEST_SAMPLES * draw)


def available_bytes() -> int | None:
    """Memory that this process may still take, where the system tells it."""
    found = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                found.append(1024 * int(line.split()[1]))
        limit, used = (Path("/sys/fs/cgroup", f"memory.{name}").read_text() for name in ("max", "current"))
        found.append(int(limit) - int(used))
    except (OSError, ValueError, IndexError):
        pass
    if not found and "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(min(found), 0) if found else None


def check_memory(task: Task, nodes: int) -> None:
    """Refuse a run that cannot fit into memory, with the estimate and what to do about it."""
    needed, free = least_bytes(task, nodes), available_bytes()
    if free is None or needed <= free:
        return
    k = task.model.communities
    sparse = hasattr(task.options, "slots")
    fewer = "fewer communities" if k > 1 else "a larger machine"
    if sparse and task.options.slots > 1:
        fewer += f", fewer slots a node than {task.options.slots}"
    elif not sparse and task.model.kind == "assortative":
        fewer += ", the sampler scir, whose memory does not grow with the communities"
    if task.chains > 1:
        fewer += f", fewer chains than {task.chains}"
    raise InputError(
        f"{k:,} communities of {nodes:,} nodes with {task.sampler} take at least {_size(needed)} of memory "
        f"({needed / nodes:,.0f} bytes a node), and {_size(free)} are free: use {fewer}, "
        "or force=True (--force) to try all the same"
    )


def _size(count: int) -> str:
    """
    >>> _size(2_500_000_000), _size(40_000_000)
    ('2.5 GB', '0.04 GB')
    """
    return f"{count / 1e9:,.{1 if count >= 1e9 else 2}f} GB"
