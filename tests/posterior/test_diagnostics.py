"""R-hat, effective sample sizes and a verdict in words, of quantities that mean the same in every chain."""

import dataclasses
import sys

import numpy as np
import pytest

from blockmix import Graph, InputError, fit, planted
from blockmix.posterior.diagnostics import DiagnosticsTable

pytest.importorskip("arviz_stats")


@pytest.fixture(scope="module")
def post():
    """Two cliques on which two chains with different starts agree."""
    cliques = Graph.from_edges([(a + c, b + c) for c in (0, 12) for a in range(12) for b in range(a)])
    return fit(cliques, 2, seed=1, chains=2, sweeps=400, threads=1, held_out=0.1)


def table(rhat, ess, chains=4, draws=100):
    n = len(rhat)
    plain, kinds = np.ones(n), (["scalar", "strength", "membership"] * n)[:n]
    sizes = np.array(ess, dtype=float)
    return DiagnosticsTable(
        ["q"] * n, kinds, plain, plain, plain, np.array(rhat, float), sizes, sizes, chains, draws
    )


def test_scalars_strengths_and_memberships_are_followed(post):
    found = post.diagnostics()
    assert found.quantity[:2] == ["background", "held-out log loss"]
    assert "links inside communities" in found.quantity
    assert {"strength of 0", "strength of 1"} <= set(found.quantity)
    assert sum(kind == "membership" for kind in found.kind) == 24
    assert (found.chains, found.draws) == (2, len(post.draws[0]))
    assert set(found.columns()) >= {"quantity", "mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail"}


def test_the_statistics_are_those_of_the_samples_matched_between_chains(post):
    """The strength of community 0 has the mean of the table of strengths, in either chain."""
    found = post.diagnostics()
    row = found.quantity.index("strength of 0")
    draws = np.stack([chain[:, 0] for chain in post.strength_draws]).astype(float)
    assert found.mean[row] == pytest.approx(draws.mean(), rel=1e-6)
    assert found.mcse[row] == pytest.approx(found.sd[row] / np.sqrt(found.ess_bulk[row]), rel=0.3)
    node = found.quantity.index("0 in " + str(post.community[0]))
    assert found.mean[node] == pytest.approx(post.mean[0], abs=2e-3)


def test_chains_that_are_numbered_differently_still_agree(post):
    """Give the communities of the second chain other numbers: after matching nothing has changed."""
    swapped = []
    for draw in post.draws[1]:
        swapped.append(
            dataclasses.replace(draw, communities=1 - draw.communities, strengths=draw.strengths[[1, 0, 2]])
        )
    numbers = np.stack([post.numbers[0], post.numbers[1][::-1]])
    other = dataclasses.replace(post, draws=(post.draws[0], tuple(swapped)), numbers=numbers)
    np.testing.assert_allclose(other.diagnostics().rhat, post.diagnostics().rhat)
    # without the matching they would disagree
    wrong = dataclasses.replace(other, numbers=post.numbers).diagnostics()
    assert not wrong.converged
    assert "do not agree" in wrong.verdict


def test_chains_that_do_not_move_from_different_values_disagree_without_bound(post):
    still = [tuple(dataclasses.replace(chain[0], sweep=draw.sweep) for draw in chain) for chain in post.draws]
    found = dataclasses.replace(post, draws=tuple(still)).diagnostics()
    assert np.isinf(found.rhat[found.quantity.index("background")])
    assert "without bound" in found.verdict


def test_samples_at_sweeps_that_not_all_chains_have_are_left_out(post):
    fewer = dataclasses.replace(post, draws=(post.draws[0], post.draws[1][::2]))
    assert fewer.diagnostics().draws == len(post.draws[1][::2])


@pytest.mark.parametrize(
    ("made", "expected", "converged"),
    [
        (
            table([1.0] * 30, [500] * 30),
            "The 4 chains agree: R-hat is at most 1.00. Effective samples: 500",
            True,
        ),
        (table([1.0] * 29 + [1.4], [500] * 30), "at most 1.05 for all but 3% of what is followed", True),
        (
            table([1.3] * 30, [500] * 30),
            "R-hat is above 1.05 for 100% of what is followed, 1.30 at worst",
            False,
        ),
        (table([1.0, 1.0, 1.5], [500] * 3), "most of all for memberships", False),
        (table([1.0] * 30, [20] * 30), "Few effective samples: below 100 for 100%", False),
        (table([np.nan] * 3, [500] * 3, chains=1), "One chain: whether another would find the same", False),
        (table([1.0] * 3, [5] * 3, draws=4), "Too few draws (4 a chain)", False),
        (table([np.nan, 1.0], [np.nan, 500]), "The 4 chains agree", True),
    ],
)
def test_the_verdict_is_in_plain_words(made, expected, converged):
    assert expected in made.verdict
    assert made.converged is converged


def test_a_run_without_samples_has_a_verdict_that_it_was_too_short():
    early = fit(planted(60, 3, degree=8, seed=4).graph, 3, sweeps=3, chains=2, threads=1, held_out=0)
    assert "Too few draws" in early.diagnostics().verdict


def test_without_the_library_the_remedy_is_named(post, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats.base", None)
    with pytest.raises(InputError, match=r'pip install "blockmix\[arviz\]"'):
        post.diagnostics()


def test_the_held_out_log_loss_is_that_of_the_link_probabilities():
    """Sample by sample, and with pairs of isolated nodes among the held-out ones."""
    made = planted(60, 3, degree=8, seed=4).graph
    graph = Graph.from_edges(made.edges(), nodes=range(90))
    post = fit(graph, 3, sweeps=30, chains=1, threads=1, seed=2, held_out=0.2, held_out_kind="proportional")
    pairs, links = post.held_out.pairs, post.held_out.links
    assert (post.unlinked[pairs].sum(axis=1) == 2).any()
    losses = []
    for sample in post.draws[0]:
        one = dataclasses.replace(post, draws=((sample,),)).node_link_probability(pairs)
        losses.append(-np.log(np.where(links, one, 1.0 - one)).mean())
    found = post.diagnostics()
    row = found.quantity.index("held-out log loss")
    assert found.mean[row] == pytest.approx(np.mean(losses), rel=1e-12)
