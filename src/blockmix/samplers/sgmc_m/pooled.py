"""The pooled row of isolated nodes (`tables.predictor`) as one more row of the table, the bulk's part included."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockmix.numerics.compile import kernel
from blockmix.samplers.sgmc_m.table import SplitRows


def with_pooled_row(table: SplitRows, nodes: NDArray[np.int64], communities: int) -> SplitRows:
    """Return the table with one more row at its end, the mean memberships of these nodes, with nothing in the bulk."""
    pooled = np.zeros(communities)
    pool_split_rows(nodes, table, pooled)
    row = {"start": len(table.phi), "room": 0, "count": communities, "active": 0, "bulk": 0.0, "total": 1.0}
    longer = {
        name: np.append(getattr(table, name), getattr(table, name).dtype.type(row[name])) for name in row
    }
    ids = np.arange(communities, dtype=np.int32)
    entries = {
        "community": np.concatenate([table.community, ids]),
        "phi": np.concatenate([table.phi, pooled.astype(np.float32)]),
    }
    return table._replace(**longer, **entries)


@kernel
def pool_split_rows(nodes: np.ndarray, table: SplitRows, pooled: np.ndarray) -> None:
    """Write the mean memberships of these nodes, community by community, the bulk's included."""
    pooled[:] = 0.0
    even = 0.0
    for a in nodes:
        inverse = 1.0 / (table.total[a] * len(nodes))
        even += table.bulk[a] * inverse
        for i in range(table.start[a], table.start[a] + table.count[a]):
            pooled[table.community[i]] += (np.float64(table.phi[i]) - table.bulk[a]) * inverse
    for k in range(len(pooled)):
        pooled[k] += even
