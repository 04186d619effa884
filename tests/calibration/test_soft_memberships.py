"""Where nodes are in many communities chains are slow, and the law of the default is shown without long chains.

K alpha = 5 and strengths around .9: on networks of 250 nodes chains remember their state for hundreds of sweeps, so
that means of chains cannot be compared (`test_collapsed_gibbs.py` leaves it out). Geweke's joint test does not need
them to forget: an error of a single sweep moves parameters and networks together. `benchmarks/stationary.py` makes the
same comparison from the other side, on hundreds of networks.
"""

import sys
from pathlib import Path

import pytest

from blockmix.model import Model

sys.path.insert(0, str(Path(__file__).parent))
import harness

FALSE_ALARM = 1e-3
SOFT = Model(5, alpha=1.0, eta=(15.0, 2.0))


@pytest.mark.slow
def test_alternating_with_networks_keeps_the_prior_where_memberships_are_soft():
    """Twelve nodes, K alpha = 5; links that are 10% more likely are told apart."""
    setup = harness.Setup("scir", 12, SOFT)
    assert harness.failures(harness.geweke_table(setup, 8000, seed=1), FALSE_ALARM) == []
    wrong = harness.failures(harness.geweke_table(setup, 4000, seed=1, factor=1.1), FALSE_ALARM)
    assert "probability of all pairs" in wrong
