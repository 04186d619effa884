"""What the closed form for non-links moves, estimated from posterior samples."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy.special import roots_jacobi

import blockmix as bm
from blockmix.posterior.closed_form import estimate as module
from blockmix.posterior.closed_form.estimate import (
    ClosedForm,
    _of_chain,
    _Run,
    _shift_squared,
    estimate,
    uses_closed_form,
)
from blockmix.posterior.closed_form.kernels import Table, compare_nodes
from blockmix.report.verdict import remarks


@pytest.fixture(scope="module")
def post():
    """A run in closed form, with pairs held out."""
    return bm.fit(
        dense_graph(),
        4,
        model="assortative",
        exact=False,
        sweeps=120,
        chains=2,
        seed=1,
        held_out=0.1,
        progress=False,
        threads=1,
    )


def dense_graph():
    """Four communities with strengths of .9, and nodes between them."""
    rng = np.random.default_rng(2)
    pi = rng.dirichlet(np.full(4, 0.15), 120)
    a, b = np.triu_indices(120, 1)
    linked = rng.random(len(a)) < 0.01 + 0.89 * (pi[a] * pi[b]).sum(axis=1)
    return bm.Graph.from_edges(np.stack([a[linked], b[linked]], axis=1), nodes=range(120))


def two_points(means):
    """(S5) Gauss's rules for Beta(1, theta) laws with these means, by SciPy."""
    rules = [roots_jacobi(2, max(1.0 / mean - 2.0, -1.0 + 1e-12), 0.0) for mean in means]
    return np.array([(1.0 + x) / 2.0 for x, _ in rules]), np.array([w / w.sum() for _, w in rules])


def memberships(table, nodes, communities):
    pi = np.zeros((nodes, communities))
    pi[np.repeat(np.arange(nodes), np.diff(table.offsets)), table.community] = table.weight
    return pi


def non_links_of(post):
    """Which pairs of nodes are observed not to be linked."""
    observed = np.ones((120, 120), dtype=bool)
    for pairs in (post.graph.edges(), post.held_out.pairs):
        observed[pairs[:, 0], pairs[:, 1]] = observed[pairs[:, 1], pairs[:, 0]] = False
    np.fill_diagonal(observed, False)
    return observed


def by_enumeration(a, table, observed):
    """Log T of node a, exact less closed form (G4), the same of the exposures (S5) of all its communities.

    The last are the derivatives of these in the slope of the community.
    """
    pi = memberships(table, 120, 4)
    others, slope = pi[observed[a]], table.slope * pi[a]
    v, used = others @ slope, np.flatnonzero(pi[a])
    rest, squares = others.sum(axis=0)[used], (others**2).sum(axis=0)[used]
    points, weights = two_points(squares / rest)
    closed = (rest[:, None] * weights * np.log1p(-slope[used][:, None] * points) / points).sum()
    exposures = (others / (1.0 - v)[:, None]).sum(axis=0)
    exposures[used] -= rest * (weights / (1.0 - slope[used][:, None] * points)).sum(axis=1)
    curves = pi[a] * ((others / (1.0 - v)[:, None]) ** 2).sum(axis=0)
    factors = 1.0 - slope[used][:, None] * points
    curves[used] -= pi[a][used] * rest * (weights * points / factors**2).sum(axis=1)
    return np.log1p(-v).sum() - closed, np.where(pi[a] > 0.0, exposures, 0.0), curves


def test_sums_over_non_links_are_those_of_all_pairs(post):
    """Exact log T and its closed form (G4), and the same of the exposures (S5), by enumeration."""
    table, run, observed = Table.of(post.draws[0][-1]), _Run.of(post), non_links_of(post)
    nodes, target = np.arange(120), memberships(table, 120, 4).argmax(axis=1)
    found = np.zeros((120, 3))
    compare_nodes(nodes, target, table, run.network, run.space, found)
    assert (run.space.state == 0).all()
    for a in range(0, 120, 7):
        logs, exposures, curves = by_enumeration(a, table, observed)
        assert found[a] == pytest.approx([logs, exposures[target[a]], curves[target[a]]], rel=1e-8, abs=1e-8)


def test_shifts_are_those_of_all_pairs(post, monkeypatch):
    """A strength moves by Newton's step, a node by its covariance with log T."""
    monkeypatch.setattr(module, "MOST_MEMBERS", 120)
    run, observed, draws = _Run.of(post), non_links_of(post), post.draws[0][-6:]
    # What a non-link counts after a balanced hold-out: the share of links left over that of non-links.
    hidden, links = int(post.held_out.links.sum()), post.graph.n_edges
    non_links = 120 * 119 // 2 - links
    weight = (1 - hidden / links) / (1 - (len(post.held_out.links) - hidden) / non_links)
    slopes, curves, gaps, squared = (np.zeros((6, size)) for size in (4, 4, 120, 120))
    for i, draw in enumerate(draws):
        table = Table.of(draw)
        pi = memberships(table, 120, 4)
        squared[i] = (pi**2).sum(axis=1)
        for a in range(120):
            gaps[i, a], exposures, more = by_enumeration(a, table, observed)
            # A pair is seen from both ends.
            slopes[i] -= 0.5 * weight * pi[a] * exposures / (1.0 - draw.strengths[-1])
            curves[i] += 0.5 * weight * pi[a] * more / (1.0 - draw.strengths[-1]) ** 2
    values = np.array([draw.strengths[:-1] for draw in draws], dtype=np.float64)
    shift, shifts = _of_chain(draws, draws, run)
    spread, ratio = values.std(axis=0), 1.0 + values.var(axis=0) * curves.mean(axis=0)
    assert (ratio > module.LEAST_CURVATURE).all()
    assert shifts == pytest.approx(slopes.mean(axis=0) * spread / ratio, rel=1e-5)
    at = run.nodes
    assert shift == pytest.approx(_shift_squared(squared[:, at], weight * gaps[:, at]), rel=1e-6)


def test_a_shift_is_found_through_noise_that_the_halves_do_not_share():
    """Nodes whose law moves by .3 standard deviations, and others that do not move."""
    rng = np.random.default_rng(1)
    squared, noise = rng.normal(size=(2, 40, 4000))
    assert np.sqrt(_shift_squared(squared, 0.3 * squared + noise)) == pytest.approx(0.3, abs=0.03)
    assert abs(_shift_squared(squared, noise)) < 0.01


def test_the_estimate_is_in_the_diagnostics_and_in_words(post):
    table = post.diagnostics()
    assert table.closed_form == estimate(post)
    assert 0.0 <= table.closed_form.memberships < 1.0
    assert 0.0 < table.closed_form.strengths < 3.0
    assert str(table.closed_form) in table.verdict
    assert table.figures()["closed_form_moves_strengths"] == table.closed_form.strengths
    assert "closed_form" not in table.columns()


@pytest.mark.parametrize(("strengths", "warned"), [(0.3, True), (0.2, False)])
def test_the_report_warns_of_large_shifts(post, strengths, warned):
    table = replace(post.diagnostics(), closed_form=ClosedForm(0.01, strengths))
    with mock.patch.object(type(post), "diagnostics", return_value=table):
        assert any("closed form" in remark.headline for remark in remarks(post)) is warned


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, False), ({"exact": False}, True), ({"moves": "cir"}, True), ({"model": "popularity"}, False),
     ({"moves": "cir", "non_links": 3}, False), ({"sampler": "cgs"}, False)],
)  # fmt: skip
def test_it_is_there_only_for_runs_in_closed_form(options, expected):
    graph = bm.planted(40, 3, degree=6, seed=1).graph
    found = bm.fit(
        graph, 3, sweeps=24, chains=1, held_out=0, progress=False, **({"model": "assortative"} | options)
    )
    assert uses_closed_form(found) is expected
    assert (estimate(found) is None) is not expected
