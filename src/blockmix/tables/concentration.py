"""The Dirichlet concentration of a node's memberships: nodes without links have one of their own."""

from __future__ import annotations

from blockmix.numerics.compile import inlined_kernel
from blockmix.tables.layout import Network


@inlined_kernel
def concentration(a: int, network: Network, alpha: float, alpha_unlinked: float) -> float:
    """The alpha of node a: one of these two."""
    return alpha if network.offsets[a + 1] > network.offsets[a] else alpha_unlinked
