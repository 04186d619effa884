"""The cases of `kernel_case` as the kernels of `scir` see them: a frame, a node, the work space of a worker."""

import numpy as np
import pytest

from blockmix.numerics.compile import from_python
from blockmix.samplers.scir.frame import STATISTICS, Frame, NodePriors, Settings, Work, new_scratch, node_at
from blockmix.samplers.scir.members import empty_single_lists, list_single
from blockmix.samplers.scir.non_links import empty_bounds, set_bounds

node_at = from_python(node_at)
# Added to every node's name, so that a kernel which takes a place for a name is noticed.
FIRST_NAME = 1000


def lists_of(rows, communities, nodes):
    """The members of every community."""
    lists = empty_single_lists(communities, nodes)
    list_single(rows, lists)
    return lists


def bounds_of(strengths):
    """What bounds the likelihood of non-links."""
    bounds = empty_bounds(len(strengths.value) - 1)
    set_bounds(strengths.value, bounds)
    return bounds


@pytest.fixture(scope="session")
def kernel_case(kernel_case, poisoned):
    """The same function; its cases have `frame()` and `node(a)`, made from what their fields are by then."""

    def build(seed, nodes=12, communities=6, slots=6, alpha=0.2, smallest=1e-3, **options):
        case = kernel_case(seed, nodes=nodes, communities=communities, slots=slots, alpha=alpha, **options)
        case.settings = Settings(0.5, 10**6, 0, 0.0, False)
        case.scratch = poisoned(new_scratch(communities, slots, nodes, nodes))
        case.priors = NodePriors(np.full(2, alpha), np.full(2, smallest))
        case.names = np.arange(FIRST_NAME, FIRST_NAME + nodes, dtype=np.uint32)
        case.lists = lambda: lists_of(case.rows, communities, nodes)
        case.bounds = lambda: bounds_of(case.strengths)
        case.frame = lambda **changes: Frame(
            case.network,
            case.names,
            case.rows,
            case.members,
            case.lists(),
            case.strengths,
            case.bounds(),
            case.priors,
            case.settings,
            case.key,
        )._replace(**changes)
        case.node = lambda a: node_at(a, case.frame())
        return case

    return build


@pytest.fixture(scope="session")
def new_work():
    """A function that makes the work space of one worker, with room for statistics of K communities."""

    def build(scratch):
        statistics = np.zeros((len(scratch.position), STATISTICS), dtype=np.int64)
        return Work(scratch, statistics, np.zeros(3, dtype=np.int64))

    return build
