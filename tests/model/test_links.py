"""The scalar functions of the link models give the reference likelihood."""

import numpy as np
import pytest

from blockmix.model import links
from blockmix.model.reference import general_pair_likelihood, pair_likelihood

ROUNDING = 1e-14


@pytest.fixture
def memberships():
    return np.random.default_rng(2).dirichlet(np.full(5, 0.5), size=2)


def test_terms_of_the_communities_add_up_to_the_pair_likelihood(memberships):
    (pi_a, pi_b), beta, delta = memberships, np.linspace(0.1, 0.9, 5), 0.2
    terms = [
        links.shared_term(links.excess(b, delta), x, y) for b, x, y in zip(beta, pi_a, pi_b, strict=True)
    ]
    link = links.link_probability(delta, sum(terms))
    for y in (0, 1):
        expected = pair_likelihood(y, pi_a, pi_b, beta, delta)
        assert links.outcome_probability(y, link) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("general", [False, True])
def test_slopes_of_one_end_times_the_other_are_the_pair_likelihood(general, kind, memberships):
    pi_a, pi_b = memberships
    strengths = np.random.default_rng(3).uniform(size=(5, 5) if general else 6).astype(kind)
    slopes = np.zeros(5)
    for k in range(5):
        links.add_slopes(k, pi_a[k], strengths, slopes)
    found = links.link_probability(links.base_probability(strengths), slopes @ pi_b)
    wide = strengths.astype(np.float64)
    if general:
        expected = general_pair_likelihood(1, pi_a, pi_b, wide)
    else:
        expected = pair_likelihood(1, pi_a, pi_b, wide[:-1], float(wide[-1]))
    assert found == pytest.approx(expected, abs=ROUNDING)
