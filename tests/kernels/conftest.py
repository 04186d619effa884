"""A small network with held-out pairs and random memberships, as the reference and as the kernels see it."""

from types import SimpleNamespace

import numpy as np
import pytest

from blockmix.kernels.layout import Key, Network, Prior, Settings, Strengths, new_scratch
from blockmix.model.reference.scir import Globals


def _lists(mask):
    """Offsets and neighbours of a boolean matrix."""
    ends = np.argwhere(mask)
    offsets = np.searchsorted(ends[:, 0], np.arange(len(mask) + 1)).astype(np.int64)
    return offsets, ends[:, 1].astype(np.int32)


@pytest.fixture(scope="session")
def poisoned():
    """A function that fills everything a kernel must set before it reads it with NaN or an absurd number."""

    def poison(scratch):
        for name, array in scratch._asdict().items():
            if name != "place":
                array[...] = np.nan if array.dtype.kind == "f" else 10**6
        return scratch

    return poison


@pytest.fixture(scope="session")
def kernel_case(sparse_rows, random_memberships, poisoned):
    """A function that draws a network, held-out pairs, memberships and strengths on both sides of delta."""

    def build(seed, nodes=12, communities=6, slots=6, most=3, below=True, link=0.35, hide=0.15, alpha=0.2):
        rng = np.random.default_rng(seed)
        upper = np.triu(rng.random((nodes, nodes)) < link, 1)
        hidden = np.triu(rng.random((nodes, nodes)) < hide, 1)
        linked, hidden = upper | upper.T, hidden | hidden.T
        observed = ~(hidden | np.eye(nodes, dtype=bool))
        pi = random_memberships(rng, nodes, communities, most)
        rows = sparse_rows(pi, slots)
        rows.total[:] = rng.uniform(0.5, 9.0, nodes)
        beta = rng.uniform(0.2, 0.95, communities)
        if below:
            beta[-1] = 0.01
        delta = 0.06
        value = np.append(beta, delta)
        return SimpleNamespace(
            pi=pi,
            total=rows.total.astype(np.float64),
            rows=rows,
            adjacency=linked.astype(float),
            observed=observed,
            network=Network(*_lists(linked & observed), *_lists(hidden)),
            strengths=Strengths(value, np.full(communities + 1, 5.0), np.full(communities + 1, 3.0)),
            members=np.stack([pi.sum(axis=0), (pi**2).sum(axis=0)], axis=1),
            prior=Prior(alpha, alpha, 1.0, 1.0, 1.0, 1.0),
            settings=Settings(0.5, 10**6, 0, 1e-3, 2e-7, 0.0, False),
            key=Key(np.uint32(11), np.uint32(12), np.uint32(0)),
            scratch=poisoned(new_scratch(communities, slots, nodes)),
            g=Globals(beta, delta, alpha),
        )

    return build
