"""The moves of the scale and of rho, which the reference has from the kernels: against their densities by quadrature.

Means of 40 batches, |z| < 5 for two moments of each, at fixed seeds: a false-alarm rate of 1e-4 for the file. Every
case is told apart from a density that is off by one prior count.
"""

import numpy as np
import pytest
from scipy.special import gammaln

from blockmix.samplers.scir.popularity.rates import update_scale, update_spread
from blockmix.tables.layout import Key

SWEEPS, BATCHES = 20_000, 40


def key_of(sweep):
    return Key(np.uint32(3), np.uint32(4), np.uint32(sweep))


def is_law(found, grid, log_density):
    """Whether mean and second moment of a chain are those of a density on an even grid."""
    law = np.exp(log_density - log_density.max())
    law /= law.sum()
    centre = law @ grid
    z = []
    for power in (1, 2):
        means = ((np.array(found) - centre) ** power).reshape(BATCHES, -1).mean(axis=1)
        exact = law @ (grid - centre) ** power
        z.append((means.mean() - exact) / (means.std(ddof=1) / np.sqrt(BATCHES)))
    return bool((np.abs(z) < 5).all())


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("nodes", [3.0, 12.0])
def test_the_scale_of_popularities_has_its_law_given_all_that_it_leaves(nodes, power):
    """(DC10), (DC15) u = log of the scale since the start, where popularities sum to R and rates are w."""
    rho, total, rates = 0.7, 4.0, np.array([0.5, 1.5, 0.2])
    prior = np.array([[1.0, 1.0], [2.0, 3.0], [1.0, 5.0]])
    u, found = 0.0, []
    for sweep in range(SWEEPS):
        now = rates * np.exp(-power * u)
        u += update_scale(nodes, rho, total * np.exp(u), power, prior, now, key_of(sweep), 0)
        found.append(u)
    grid = np.linspace(-6.0, 6.0, 24_001)

    def density(shapes):
        linear = (nodes * rho - power * shapes) * grid
        return linear - rho * total * np.exp(grid) - np.exp(-power * grid) * (prior[:, 1] @ rates)

    assert is_law(found, grid, density(4.0))
    assert not is_law(found, grid, density(5.0))


@pytest.mark.parametrize(("rho", "nodes"), [(0.3, 6), (4.0, 30)])
def test_rho_has_its_law_given_the_popularities(rho, nodes):
    """(DC10) p(rho) = (1 + rho)^-2 and Gamma(rho, rho) popularities, by the logarithm of rho."""
    r = np.random.default_rng(2).gamma(rho, 1.0 / rho, nodes)
    logs, total = np.log(r).sum(), r.sum()
    value, found = 1.0, []
    for sweep in range(SWEEPS):
        value = update_spread(value, float(nodes), logs, total, key_of(sweep), 0)
        found.append(np.log(value))
    grid = np.linspace(-5.0, 10.0, 30_001)
    x = np.exp(grid)

    def density(power):
        popularities = nodes * (x * grid - gammaln(x)) + (x - 1.0) * logs - x * total
        return grid - power * np.log1p(x) + popularities

    assert is_law(found, grid, density(2.0))
    assert not is_law(found, grid, density(3.0))
