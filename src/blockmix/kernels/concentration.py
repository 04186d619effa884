"""The Dirichlet concentration of a node's memberships: nodes without links have one of their own."""

from __future__ import annotations

from blockmix.kernels.layout import Network
from blockmix.kernels.philox import inlined_kernel


@inlined_kernel
def concentration(a: int, network: Network, alpha: float, alpha_unlinked: float) -> float:
    """The alpha of node a: one of these two."""
    return alpha if network.offsets[a + 1] > network.offsets[a] else alpha_unlinked
