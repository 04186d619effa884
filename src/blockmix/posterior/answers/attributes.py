"""Whether communities go with an attribute of the nodes: a permutation test.

For a community k and an attribute value v the statistic is S = sum_a pi_ak x_a over the nodes whose value is known,
with pi the mean memberships and x_a = 1 where node a has the value (or x_a the number itself). If the attribute has
nothing to do with the communities, every assignment of the values to these nodes is equally likely. S then has the
mean n mean(pi_k) mean(x) and the variance n^2 var(pi_k) var(x) / (n - 1) (Strasser and Weber 1999), which gives z. The
p-value of a cell is the share of random permutations whose largest |z| over all cells is at least as large (Westfall
and Young's single-step maxT), so that many communities and values make no false alarm more likely. Links make
memberships of neighbours alike; where the attribute is spread along links for other reasons, the test cannot tell the
difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.attributes import Attribute
from blockmix.posterior.answers.shares import mean_shares
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# A community with less expected members among the nodes with a value is not tested.
LEAST_SIZE = 2.0
# Values with fewer nodes are not tested on their own.
FEWEST_NODES = 2
MOST_VALUES = 200
PERMUTATIONS = 999
# Memberships added up for all permutations together; larger networks get fewer, but never below the second number.
_WORK, FEWEST_PERMUTATIONS = 3e8, 99


@dataclass(frozen=True, eq=False)
class Cells:
    """Statistic, expectation and z for every community (rows) and value (columns); NaN-free: untested cells are 0."""

    values: list[str]
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]
    z: NDArray[np.float64]
    scale: NDArray[np.float64]
    shares: sp.csr_array
    numbers: NDArray[np.float64]
    codes: NDArray[np.int32] | None


def attribute_of(post: Posterior, name: str) -> Attribute:
    """Return an attribute of the network by its name."""
    if post.graph.attributes is None:
        raise InputError(
            "this network has no attributes of nodes; give a table of them with nodes= (--nodes FILE) when fitting"
        )
    return post.graph.attributes[name]


def attribute_cells(post: Posterior, attribute: Attribute) -> Cells:
    """Compute the statistic of every community and value, with its moments under permutation."""
    known = np.flatnonzero(attribute.known)
    if len(known) < 3:
        raise InputError(f"the attribute is known for {len(known)} nodes; a test needs three at least")
    shares = sp.csr_array(mean_shares(post)[known])
    count = len(known)
    numbers, codes = np.empty(0), None
    if attribute.numbers is not None:
        values, numbers = ["(mean)"], attribute.numbers[known]
        observed = np.asarray(shares.T @ numbers)[:, None]
        average, spread = numbers.mean(keepdims=True), ((numbers - numbers.mean()) ** 2).sum(keepdims=True)
        rare = np.zeros(1, dtype=np.bool_)
    else:
        values, codes = _categories(attribute), np.asarray(attribute.codes)[known]
        indicator = sp.csr_array((np.ones(count), codes, np.arange(count + 1)), shape=(count, len(values)))
        observed = np.asarray((shares.T @ indicator).todense())
        having = np.bincount(codes, minlength=len(values)).astype(np.float64)
        average, spread = having / count, having * (1.0 - having / count)
        rare = having < FEWEST_NODES
    size = np.asarray(shares.sum(axis=0)).ravel()
    squares = np.asarray(shares.multiply(shares).sum(axis=0)).ravel()
    scale = np.sqrt(np.outer(np.maximum(squares - size**2 / count, 0.0), spread) / (count - 1))
    scale[size < LEAST_SIZE] = 0.0
    scale[:, rare] = 0.0
    expected = np.outer(size, average)
    z = np.divide(observed - expected, scale, out=np.zeros_like(scale), where=scale > 1e-12)
    return Cells(values, observed, expected, z, scale, shares, numbers, codes)


def _categories(attribute: Attribute) -> list[str]:
    values = list(map(str, attribute.categories or ()))
    if len(values) > MOST_VALUES:
        raise InputError(
            f"the attribute has {len(values):,} different values, more than the {MOST_VALUES} that are tested: "
            "it may be a name, or a number that was read as text"
        )
    return values


def attribute_test(
    post: Posterior, name: str, categorical: bool, permutations: int | None, seed: int
) -> Answer:
    """See `Posterior.attribute_test`."""
    attribute = attribute_of(post, name)
    attribute = attribute.as_text() if categorical else attribute
    cells = attribute_cells(post, attribute)
    if permutations is None:
        work = max(cells.shares.nnz, 1)
        permutations = int(np.clip(_WORK // work, FEWEST_PERMUTATIONS, PERMUTATIONS))
    elif isinstance(permutations, bool) or not isinstance(permutations, int) or permutations < 1:
        raise InputError(f"permutations must be a whole number from 1 on, not {permutations!r:.40}")
    largest = np.sort(_largest_z(cells, permutations, seed))
    k, v = np.nonzero(cells.scale > 1e-12)
    z = cells.z[k, v]
    # The permutation that was observed counts as one.
    beyond = len(largest) - np.searchsorted(largest, np.abs(z) - 1e-9, side="left")
    p = (1.0 + beyond) / (1.0 + permutations)
    size = np.asarray(cells.shares.sum(axis=0)).ravel()
    order = np.lexsort((v, k, -np.abs(z)))
    share, usual = cells.observed[k, v] / size[k], cells.expected[k, v] / size[k]
    smallest = float(p.min()) if len(p) else 1.0
    verdict = "goes" if smallest < 0.05 else "is not seen to go"
    note = f"{name} {verdict} with the communities: smallest p {smallest:.3g}, {permutations} permutations"
    columns = {
        "community": k[order], "value": [cells.values[i] for i in v[order]], "share": share[order],
        "expected": usual[order], "z": z[order], "p": p[order],
    }  # fmt: skip
    return Answer(columns, note)


def _largest_z(cells: Cells, permutations: int, seed: int) -> NDArray[np.float64]:
    """Return the largest |z| over all cells for random assignments of the values to the nodes."""
    rng = np.random.default_rng(seed)
    communities, width = cells.scale.shape
    scale = np.where(cells.scale > 1e-12, cells.scale, np.inf)
    entries = sp.coo_array(cells.shares)
    row, weight = entries.row, entries.data
    column = entries.col.astype(np.int64) * width
    found = np.empty(permutations)
    for i in range(permutations):
        order = rng.permutation(cells.shares.shape[0])
        if cells.codes is not None:
            place = column + cells.codes[order[row]]
            drawn = np.bincount(place, weight, communities * width)
        else:
            drawn = np.bincount(column, weight * cells.numbers[order[row]], communities * width)
        z = np.abs(drawn.reshape(communities, width) - cells.expected) / scale
        found[i] = z.max() if z.size else 0.0
    return found
