"""What all tests share: a hypothesis profile, and the way to the networks that are not in the repository."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Numba compiles on first use, so the first example of a property may take seconds; on a busy machine any may.
settings.register_profile("blockmix", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("blockmix")

# Programs that tests start under mpiexec.
collect_ignore = ["engines/fits_on_ranks.py", "engines/kill_ranks.py"]

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real networks kept next to the repository; tests that need it are skipped without it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real networks in ../shared/data are not on this machine")
    return SHARED_DATA


@pytest.fixture(scope="session")
def reseal():
    """Return a function that makes the checksums of a changed folder right again."""
    import sys

    sys.path.insert(0, str(Path(__file__).parent))
    from reseal import reseal

    return reseal


@pytest.fixture(scope="session")
def twin_module():
    """The module with the twin of a GPU; tests that need it are skipped where there is no compiler."""
    import sys

    sys.path.insert(0, str(Path(__file__).parent))
    import twin

    if twin.compiler() is None:
        pytest.skip("the twin of a GPU needs g++")
    return twin


@pytest.fixture(scope="session")
def twin_device(twin_module, tmp_path_factory):
    """A twin of a GPU: the kernels' own source on the CPU."""
    return twin_module.TwinDevice(tmp_path_factory.mktemp("twin"))


@pytest.fixture(scope="session")
def sparse_rows():
    """A function that turns dense memberships (nodes x communities) into the rows that kernels read."""
    import numpy as np

    from blockmix.tables.layout import Rows

    def build(memberships, slots: int) -> Rows:
        memberships = np.asarray(memberships, dtype=np.float64)
        # NaN poison: what stands behind the end of a row must never be read.
        words = np.full((len(memberships), 2 * slots), np.float32(np.nan)).view(np.int32)
        weights = words.view(np.float32)
        for a, row in enumerate(memberships):
            used = np.flatnonzero(row)
            assert len(used) <= slots
            for j, k in enumerate(used):
                words[a, 2 * j] = k
                weights[a, 2 * j + 1] = row[k]
            if len(used) < slots:
                words[a, 2 * len(used)] = -1
        return Rows(words, weights, np.ones(len(memberships), dtype=np.float32))

    return build


@pytest.fixture(scope="session")
def random_memberships():
    """A function that draws sparse memberships: at most `most` communities a node, rows that sum to one."""
    import numpy as np

    def draw(rng: np.random.Generator, nodes: int, communities: int, most: int) -> np.ndarray:
        dense = np.zeros((nodes, communities))
        for a in range(nodes):
            used = rng.choice(communities, rng.integers(1, min(most, communities) + 1), replace=False)
            dense[a, used] = rng.dirichlet(np.full(len(used), 0.7)) * 0.99 + 0.01 / len(used)
        return dense.astype(np.float32).astype(np.float64)

    return draw


@pytest.fixture(scope="session")
def pooled_probabilities():
    """A function that predicts pairs by enumeration: where ends are isolated, the mean over all that could be there.

    `probability(pi_a, pi_b)` is the link model. A node is never paired with itself.
    """
    import numpy as np

    def predict(pairs, pi: np.ndarray, isolated: np.ndarray, probability) -> np.ndarray:
        alone = np.flatnonzero(isolated)

        def mean(a: int, b: int) -> float:
            first, second = (alone if isolated[end] else [end] for end in (a, b))
            return float(np.mean([probability(pi[i], pi[j]) for i in first for j in second if i != j]))

        return np.array([mean(a, b) for a, b in pairs])

    return predict
