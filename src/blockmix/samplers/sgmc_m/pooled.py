"""The pooled row of isolated nodes (`tables.predictor`) as one more row of the table, the bulk's part included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel
from blockmix.samplers.sgmc_m.frame import Strength
from blockmix.samplers.sgmc_m.table import SplitRows
from blockmix.tables.predictor import mean_over_pairs


def with_pooled_row(
    table: SplitRows, nodes: NDArray[np.int64], strength: Strength
) -> tuple[SplitRows, float]:
    """Return the table with the mean memberships of these nodes as a last row, and the link probability of two of them.

    The row has nothing in the bulk. The probability is the mean over pairs of different nodes, NaN if there are none.
    """
    communities = len(strength.excess)
    pooled = np.zeros(communities)
    between = pool_split_rows(nodes, table, strength, pooled)
    row = {"start": len(table.phi), "room": 0, "count": communities, "active": 0, "bulk": 0.0, "total": 1.0}
    longer = {
        name: np.append(getattr(table, name), getattr(table, name).dtype.type(row[name])) for name in row
    }
    ids = np.arange(communities, dtype=np.int32)
    entries = {
        "community": np.concatenate([table.community, ids]),
        "phi": np.concatenate([table.phi, pooled.astype(np.float32)]),
    }
    return table._replace(**longer, **entries), between


@kernel
def pool_split_rows(nodes: np.ndarray, table: SplitRows, strength: Strength, pooled: np.ndarray) -> float:
    """Write the mean memberships of these nodes to `pooled`, which is zero; return the mean probability of two of them.

    A row is p in every community and e_k more in those that it lists. The sum of the rows before it is P in every
    community and E_k more, so that sum_k d_k (p + e_k)(P + E_k) = p (P D + sum_k d_k E_k) + sum_k d_k e_k (P + E_k).
    """
    even, lists, products = 0.0, 0.0, 0.0
    for a in nodes:
        inverse = 1.0 / table.total[a]
        p = table.bulk[a] * inverse
        products += p * (even * strength.excess_sum + lists)
        for i in range(table.start[a], table.start[a] + table.count[a]):
            k = table.community[i]
            more = np.float64(table.phi[i]) * inverse - p
            products += strength.excess[k] * more * (even + pooled[k])
            lists += strength.excess[k] * more
            pooled[k] += more
        even += p
    for k in range(len(pooled)):
        pooled[k] = (pooled[k] + even) / len(nodes)
    return mean_over_pairs(len(nodes), products, strength.background)
