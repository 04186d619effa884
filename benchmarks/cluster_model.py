"""What a sweep takes on P machines, by a model of its cost: compute, rows of the halo, sums, latency and memory.

    python benchmarks/cluster_model.py            the measured points, and predictions for 10 to 1,000 machines
    python benchmarks/cluster_model.py --json F   what benchmarks/mpi.py --json wrote, beside the model

How many rows a rank reads is derived and not fitted (`ghosts`); so are the sums. Four numbers are fitted to the points
of `MEASURED`: seconds a link, seconds a row that is packed and unpacked, bytes a row, and how unevenly batches end.
Latency and bandwidth of a network between machines are assumed: nothing was measured on more than one machine.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Network:
    """Nodes, links, communities allowed, and the share of links that lead anywhere rather than into a community."""

    nodes: float
    links: float
    communities: float
    anywhere: float


@dataclass(frozen=True)
class Machine:
    """What one rank is: its threads, and what each step costs it.

    `link` seconds of one thread a link; `row` seconds of one thread to pack, copy and unpack a row; `row_bytes` of a
    message; `uneven`, the share of the compute time that ranks wait for the slowest one; `latency` seconds and
    `bandwidth` bytes a second between ranks; `call` seconds of a message in Python.
    """

    threads: int = 1
    link: float = 0.46e-6
    row: float = 0.24e-6
    row_bytes: float = 34.6
    uneven: float = 0.04
    latency: float = 2e-6
    bandwidth: float = 12.5e9
    call: float = 24e-6


# Batches of a sweep; bytes of sums a community and sweep: two words a batch, three for the strengths, 8 bytes each.
BATCHES, SUM_BYTES = 5, 8 * (2 * 5 + 3)
# Sixteen threads of one process on one machine take this many times one thread's share: memory is shared.
SIXTEEN_THREADS = 1.14
# Bytes a link in a rank's part (both ends, int32), of the state and summary of a node, of the row of a ghost.
LINK_BYTES, NODE_BYTES, GHOST_BYTES = 8, 800, 140
# The start on rank 0: bytes in those of the network at worst, and sweeps of one machine's threads (docs/lab-notes.md).
START_MEMORY, START_SWEEPS = 5.6, 15

# Lab notes, 2026-11-18: 16 cores, ranks of one thread: ranks, seconds a sweep, MB sent, rows read a node.
MEASURED_NETWORK = Network(1e6, 15e6, 1e4, 1 / 3)
MEASURED = ((2, 3.87, 36, 1.0), (4, 2.02, 99, 2.8), (8, 1.01, 182, 5.0), (16, 0.540, 260, 7.0))
ONE_MACHINE = Machine(bandwidth=math.inf, latency=0.0)


@dataclass(frozen=True)
class Cost:
    """Seconds of a sweep by cause, bytes that all ranks send, rows that all read, and bytes of memory."""

    compute: float
    exchange: float
    sums: float
    calls: float
    sent: float
    ghosts: float
    rank_bytes: float
    first_bytes: float

    @property
    def seconds(self) -> float:
        """The whole sweep: nothing is done at once."""
        return self.compute + self.exchange + self.sums + self.calls


def ghosts(network: Network, ranks: int) -> float:
    """Return how many rows of others a rank reads: communities are on one rank, and the other links lead anywhere.

    A rank's nodes have `ends` such ends. Each of the other nodes is missed by all of them with probability
    (1 - 1/N)^ends.
    """
    if ranks == 1:
        return 0.0
    ends = network.anywhere * 2 * network.links / ranks
    return network.nodes * (1 - 1 / ranks) * -math.expm1(ends * math.log1p(-1 / network.nodes))


def cost(network: Network, ranks: int, machine: Machine) -> Cost:
    """Return what a sweep costs."""
    read = ghosts(network, ranks)
    one = machine.link * (SIXTEEN_THREADS if machine.threads >= 16 else 1.0)
    compute = one * network.links / ranks / machine.threads
    several = ranks > 1
    packing = read * machine.row / min(machine.threads, max(ranks - 1, 1))
    sums = 2 * SUM_BYTES * network.communities / machine.bandwidth
    rounds = (BATCHES + 2) * 2 * math.ceil(math.log2(ranks)) * machine.latency if several else 0.0
    partners = min(ranks - 1, read)
    network_bytes = LINK_BYTES * network.links + 8 * network.nodes
    rank_bytes = (network_bytes + NODE_BYTES * network.nodes) / ranks + GHOST_BYTES * read
    return Cost(
        compute=compute * (1 + machine.uneven * several),
        exchange=packing + read * machine.row_bytes / machine.bandwidth,
        sums=sums * several + rounds,
        calls=BATCHES * partners * (machine.call + machine.latency),
        sent=ranks * (read * machine.row_bytes + SUM_BYTES * network.communities * several),
        ghosts=ranks * read,
        rank_bytes=rank_bytes,
        first_bytes=network_bytes * (1 + START_MEMORY) + NODE_BYTES * network.nodes,
    )


def compared(points: object = MEASURED, network: Network = MEASURED_NETWORK) -> list[tuple[float, ...]]:
    """Return ranks, and measured and predicted seconds, MB and rows read a node, for each measured point."""
    found = []
    for ranks, seconds, sent, read in points:  # type: ignore[attr-defined]
        made = cost(network, ranks, ONE_MACHINE)
        found.append((ranks, seconds, made.seconds, sent, made.sent / 1e6, read, made.ghosts / network.nodes))
    return found


def breaks_first(network: Network, machines: int, machine: Machine, memory: float) -> str:
    """Return what ends such a run first: memory, the start, or what takes more time than computing."""
    made = cost(network, machines, machine)
    if made.rank_bytes > memory:
        return "memory of every rank"
    if made.first_bytes > memory:
        return "memory of rank 0"
    one = cost(network, 1, machine).compute
    if START_SWEEPS * one > 1000 * made.seconds:
        return "time of the start"
    others = {"exchange of rows": made.exchange, "sums": made.sums, "number of messages": made.calls}
    name, seconds = max(others.items(), key=lambda other: other[1])
    return name if seconds > made.compute else "nothing yet"


def predictions(memory: float = 256e9) -> list[tuple[Network, int, Cost, float, str]]:
    """Return networks of 1e9 to 1e11 links, 15 links a node, on 10 to 1,000 machines of 16 threads."""
    found = []
    for anywhere in (1 / 3, 0.05):
        for links in (1e9, 1e10, 1e11):
            network = Network(links / 15, links, links / 1500, anywhere)
            machine = Machine(threads=16)
            alone = cost(network, 1, machine).seconds
            for machines in (10, 100, 1000):
                made = cost(network, machines, machine)
                share = alone / machines / made.seconds
                found.append(
                    (network, machines, made, share, breaks_first(network, machines, machine, memory))
                )
    return found


def main() -> None:
    """Print both tables, as they are on the page about clusters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="what benchmarks/mpi.py has measured elsewhere")
    parser.add_argument("--nodes", type=float, default=1e6, help="of that measurement")
    parser.add_argument("--links", type=float, default=15e6)
    options = parser.parse_args()
    points, network = MEASURED, MEASURED_NETWORK
    if options.json:
        rows = [row for row in json.loads(options.json.read_text()) if row.get("ranks", 0) > 1]
        points = tuple((r["ranks"], r["seconds"], r["MB_sent_a_sweep"], r["ghosts_a_node"]) for r in rows)
        network = replace(network, nodes=options.nodes, links=options.links, communities=options.nodes / 100)
    print("\n".join([*measured_table(points, network), "", *predicted_table()]))


def measured_table(points: object = MEASURED, network: Network = MEASURED_NETWORK) -> list[str]:
    """Return the lines of the table of measured points."""
    lines = [
        "| ranks | seconds a sweep, model | MB sent, model | rows read a node, model |",
        "|---|---|---|---|",
    ]
    for ranks, seconds, s_model, sent, b_model, read, r_model in compared(points, network):
        lines.append(
            f"| {ranks} | {seconds:.3g}, {s_model:.3g} | {sent:.0f}, {b_model:.0f} | {read:.1f}, {r_model:.1f} |"
        )
    return lines


def predicted_table() -> list[str]:
    """Return the lines of the table of predictions."""
    lines = [
        "| links | lead anywhere | machines | seconds a sweep | rows, sums, messages | of linear | GB a machine "
        "| first to break |",
        "|" + "---|" * 8,
    ]
    for network, machines, made, share, first in predictions():
        parts = ", ".join(f"{part:.2g}" for part in (made.exchange, made.sums, made.calls))
        lines.append(
            f"| {network.links:.0e} | {network.anywhere:.0%} | {machines:,} | {made.seconds:.2g} | {parts} "
            f"| {share:.2f} | {made.rank_bytes / 1e9:.2g} | {first} |"
        )
    return lines


if __name__ == "__main__":
    main()
