"""What a run takes of a GPU's memory, estimated before anything is allocated."""

from __future__ import annotations

from blockmix.engines.cuda import Device
from blockmix.errors import InputError
from blockmix.samplers.scir.cuda.space import LARGEST_SCRATCH
from blockmix.samplers.scir.problem import Problem
from blockmix.tables.summary import SPARE_ENTRIES

# Bytes of a slot of a row; of an entry of the running table; of a node besides: offsets, order, total, lost mass, and
# while a posterior sample is packed its counts, their sums and two entries.
SLOT, ENTRY, NODE = 8, 12, 8 + 4 + 2 + 4 + 4 + 1 + 8 + 16
# Bytes of a community: sums, strengths, their moments and what they are drawn from.
COMMUNITY = 200
# Slots of a row that are worth trying instead.
FEWER_SLOTS = (12, 8, 6, 4)


def needed_bytes(problem: Problem, slots: int) -> int:
    """Return the bytes that network, work space and one chain take, with rows of so many slots."""
    network = problem.shard.network
    links = 4 * (len(network.neighbors) + len(network.hidden_neighbors))
    node = (
        NODE
        + SLOT * slots * (1 + 1 / problem.batches)
        + ENTRY * min(slots + SPARE_ENTRIES, problem.communities)
    )
    scratch = min(LARGEST_SCRATCH, 100 * problem.nodes * slots)
    return int(problem.nodes * node) + links + COMMUNITY * problem.communities + scratch


def check_memory(problem: Problem, device: Device) -> None:
    """Refuse a run that does not fit, with the numbers and what would fit."""
    needed, free = needed_bytes(problem, problem.slots), device.free_bytes()
    if needed <= free:
        return
    fitting = [
        slots for slots in FEWER_SLOTS if slots < problem.slots and needed_bytes(problem, slots) <= free
    ]
    remedy = f"slots={fitting[0]} (--set slots={fitting[0]}) would fit; or use" if fitting else "use"
    links = len(problem.shard.network.neighbors) // 2
    raise InputError(
        f"{problem.nodes:,} nodes and {links:,} links with {problem.slots} slots a node take about "
        f"{needed / 1e9:,.2f} GB of the GPU's memory ({needed / problem.nodes:,.0f} bytes a node), and "
        f"{free / 1e9:,.2f} GB of {device.name} are free: {remedy} device='cpu', or a GPU with more memory"
    )
