"""The model of what a sweep costs on many machines agrees with what was measured, and with its page."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model():
    spec = importlib.util.spec_from_file_location("cluster_model", ROOT / "benchmarks" / "cluster_model.py")
    found = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    yield found
    del sys.modules[spec.name]


def test_the_measured_points_are_within_five_percent(model):
    assert len(model.MEASURED) == 4
    for _, seconds, predicted, sent, megabytes, read, rows in model.compared():
        assert predicted == pytest.approx(seconds, rel=0.05)
        assert megabytes == pytest.approx(sent, rel=0.02)
        assert rows == pytest.approx(read, rel=0.02)


@pytest.mark.parametrize("ranks", [1, 2, 5, 20])
def test_rows_read_are_those_of_a_random_network(model, ranks):
    """Counted in a network whose links all lead anywhere, within 3%: the standard error is far less."""
    nodes, links, rng = 4000, 20_000, np.random.default_rng(1)
    ends = rng.integers(0, nodes, (links, 2))
    owner = np.arange(nodes) * ranks // nodes
    read = {(owner[a], b) for one in (ends, ends[:, ::-1]) for a, b in one.tolist() if owner[a] != owner[b]}
    network = model.Network(nodes, links, 10, 1.0)
    assert ranks * model.ghosts(network, ranks) == pytest.approx(len(read), rel=0.03)


def test_costs_add_up_and_one_machine_sends_nothing(model):
    network = model.Network(1e8, 1e9, 1e5, 0.2)
    alone, many = (model.cost(network, ranks, model.Machine(threads=16)) for ranks in (1, 50))
    assert (alone.exchange, alone.sums, alone.calls, alone.sent) == (0, 0, 0, 0)
    assert many.seconds == many.compute + many.exchange + many.sums + many.calls
    assert many.compute < alone.compute / 45
    slow = model.cost(network, 50, model.Machine(threads=16, bandwidth=1e8))
    assert slow.exchange - many.exchange == pytest.approx(many.ghosts / 50 * 34.6 * (1 / 1e8 - 1 / 12.5e9))


@pytest.mark.parametrize(
    ("network", "machines", "changes", "memory", "first"),
    [
        ((1e9, 1.5e10, 1e7, 0.3), 2, {}, 1e11, "memory of every rank"),
        ((1e9, 1.5e10, 1e7, 0.3), 100, {}, 1e11, "memory of rank 0"),
        ((1e6, 1.5e7, 1e4, 0.3), 16, {}, 1e11, "nothing yet"),
        ((1e6, 1.5e7, 1e4, 0.3), 16, {"bandwidth": 1e7}, 1e11, "exchange of rows"),
        ((1e6, 1.5e7, 1e8, 0.0), 16, {"link": 1e-6}, 1e11, "sums"),
        ((1e6, 1.5e7, 1e2, 0.3), 1000, {"call": 0.0}, 1e11, "time of the start"),
        ((1e6, 1.5e7, 1e2, 0.3), 60, {"call": 1e-3}, 1e11, "number of messages"),
    ],
)
def test_what_breaks_first_is_named(model, network, machines, changes, memory, first):
    found = model.breaks_first(model.Network(*network), machines, model.Machine(**changes), memory)
    assert found == first


def test_the_tables_of_the_page_are_those_of_the_script(model):
    page = (ROOT / "docs" / "howto" / "cluster.md").read_text("utf-8")
    for line in (*model.measured_table(), *model.predicted_table()):
        assert line in page
