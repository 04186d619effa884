"""R-hat, effective sample sizes and a verdict in words, of quantities that mean the same in every chain."""

import dataclasses
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from blockmix import Graph, fit, planted
from blockmix.posterior.diagnostics import DiagnosticsTable
from blockmix.posterior.quantities import KINDS, MATCHED, _sorted, sampled_pairs

INVARIANT = [kind for kind in KINDS if kind not in MATCHED]


@pytest.fixture(scope="module")
def post():
    """Two cliques on which two chains with different starts agree."""
    cliques = Graph.from_edges([(a + c, b + c) for c in (0, 12) for a in range(12) for b in range(a)])
    return fit(cliques, 2, seed=1, chains=2, sweeps=1000, threads=1, held_out=0.1)


def table(rhat, ess, kinds=("co-membership",), chains=4, draws=100, held_out=True):
    n = len(rhat)
    plain, sizes = np.ones(n), np.array(ess, dtype=float)
    return DiagnosticsTable(
        ["q"] * n, (list(kinds) * n)[:n], plain, plain, plain, np.array(rhat, float), sizes, sizes, chains, draws,
        held_out,
    )  # fmt: skip


def rows(found, *kinds):
    return [i for i, kind in enumerate(found.kind) if kind in kinds]


def test_quantities_with_and_without_numbers_of_communities_are_followed(post):
    found = post.diagnostics()
    assert set(found.kind) == set(KINDS) - {"popularity"}
    assert set(found.quantity) >= {
        "log likelihood", "background", "held-out log loss", "log loss of sampled pairs",
    }  # fmt: skip
    assert {"strength of 0", "strength of 1"} <= set(found.quantity)
    counts = Counter(found.kind)
    assert counts["matched membership"] == 24
    assert counts["sorted size"] == counts["sorted strength"] == 2
    assert counts["sampled pair"] == counts["co-membership"] == len(sampled_pairs(post.graph)) > 40
    assert counts["held-out pair"] == min(60, len(post.held_out.links))
    assert (found.chains, found.draws) == (2, len(post.draws[0]))
    assert set(found.columns()) >= {"quantity", "kind", "mean", "sd", "mcse", "rhat", "ess_bulk", "ess_tail"}
    assert not set(found.columns()) & {"chains", "draws", "held_out"}


def test_invariant_quantities_are_those_of_dense_memberships(post):
    """Link probability and co-membership of every followed pair, sizes and strengths, from the plain equations."""
    found = post.diagnostics()
    nodes = np.arange(post.graph.n_nodes)
    links = post.graph.has_edges(sampled_pairs(post.graph))
    hidden = set(map(tuple, post.held_out.pairs.tolist()))
    expected = {}
    for chain in post.draws:
        for sample in chain:
            pi = sample.memberships(nodes, np.arange(2))
            beta, delta = sample.strengths[:-1].astype(float), float(sample.strengths[-1])
            together = pi @ pi.T
            link = (pi * beta) @ pi.T + delta * (1.0 - together)
            for a, b in sampled_pairs(post.graph):
                names = f"{post.graph.labels[a]} - {post.graph.labels[b]}"
                expected.setdefault(("sampled pair", f"link {names}"), []).append(link[a, b])
                expected.setdefault(("co-membership", f"co-membership {names}"), []).append(together[a, b])
            right = np.abs(1.0 - links - link[tuple(sampled_pairs(post.graph).T)])
            expected.setdefault(("scalar", "log loss of sampled pairs"), []).append(-np.log(right).mean())
            pairs = np.array(
                [pair for pair in np.argwhere(np.triu(np.ones((24, 24)), 1)) if tuple(pair) not in hidden]
            )
            linked = post.graph.has_edges(pairs)
            likely = np.log(np.abs(1.0 - linked - link[tuple(pairs.T)])).sum()
            expected.setdefault(("scalar", "log likelihood"), []).append(likely)
            for i, value in enumerate(np.sort(pi.sum(axis=0))[::-1]):
                expected.setdefault(("sorted size", f"size {i + 1}, sorted"), []).append(value)
            for i, value in enumerate(np.sort(beta)[::-1]):
                expected.setdefault(("sorted strength", f"strength {i + 1}, sorted"), []).append(value)
    places = {key: i for i, key in enumerate(zip(found.kind, found.quantity, strict=True))}
    # Two of the scalars are compared here.
    others = rows(found, "sampled pair", "co-membership", "sorted size", "sorted strength")
    assert len(expected) == 2 + len(others)
    for key, values in expected.items():
        assert found.mean[places[key]] == pytest.approx(np.mean(values), rel=1e-6), key
        assert found.sd[places[key]] == pytest.approx(np.std(values), rel=1e-4, abs=1e-9), key


def test_the_samples_needed_follow_from_effective_samples_and_r_hat():
    """50 effective samples take twice as many; R-hat^2 - 1 falls as the samples grow. The slowest kind counts."""
    assert table([1.0] * 20, [50.0] * 20).times_needed == pytest.approx(2.0)
    rhat = np.sqrt(1.0 + 3.0 * (1.05**2 - 1.0))
    assert table([rhat] * 20, [200.0] * 20).times_needed == pytest.approx(3.0)
    assert table([1.0] * 20, [200.0] * 20).times_needed == 1.0
    two = ("co-membership", "sorted size")
    assert table([1.0, rhat] * 20, [200.0] * 40, two).times_needed == pytest.approx(3.0)


def test_a_few_quantities_may_miss_the_limits_but_no_scalar():
    one_of_twenty = [25.0] + [200.0] * 19
    assert table([1.0] * 20, one_of_twenty).times_needed == 1.0
    assert table([1.0] * 20, [25.0, 25.0] + [200.0] * 18).times_needed == pytest.approx(4.0)
    assert table([1.0] * 20, one_of_twenty, ["scalar"] * 20).times_needed == pytest.approx(4.0)


def test_the_strength_of_a_community_without_members_is_not_followed(post):
    """It is drawn from its prior: here a third community, the strongest of all, that nobody is in."""
    more = [
        [dataclasses.replace(s, strengths=np.insert(s.strengths, 2, np.float32(0.999))) for s in chain]
        for chain in post.draws
    ]
    two, three = (list(_sorted(SimpleNamespace(n_communities=n), s)) for n, s in ((2, post.draws), (3, more)))
    assert [q.name for q in three] == [q.name for q in two]
    np.testing.assert_array_equal([q.values for q in three], [q.values for q in two])


@pytest.mark.parametrize("rhat", [1.0, 1.06, 1.2])
@pytest.mark.parametrize("ess", [20.0, 99.0, 101.0])
def test_more_samples_are_needed_exactly_where_chains_have_not_converged(rhat, ess):
    found = table([rhat] * 20, [ess] * 20)
    assert (found.times_needed > 1.0) is not found.converged


def test_no_number_of_samples_is_enough_for_chains_that_do_not_move():
    assert table([np.inf] * 20, [1.0] * 20).times_needed == np.inf
    assert np.isnan(table([np.nan] * 20, [50.0] * 20, chains=1).times_needed)


def test_sampled_pairs_are_links_and_pairs_with_a_common_neighbour():
    graph = planted(300, 5, degree=8, seed=3).graph
    pairs = sampled_pairs(graph)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert 60 <= len(pairs) <= 80
    np.testing.assert_array_equal(pairs, sampled_pairs(graph))
    near = (graph.to_scipy() @ graph.to_scipy()).toarray() > 0
    linked = graph.to_scipy().toarray() > 0
    assert (linked | near)[pairs[:, 0], pairs[:, 1]].all()
    assert linked[pairs[:, 0], pairs[:, 1]].sum() >= 30
    assert (~linked & near)[pairs[:, 0], pairs[:, 1]].sum() >= 20


def test_a_network_without_links_has_no_sampled_pairs():
    assert sampled_pairs(Graph.from_edges([], nodes=["a", "b"])).shape == (0, 2)


def test_the_statistics_are_those_of_the_samples_matched_between_chains(post):
    """The strength of community 0 has the mean of the table of strengths, in either chain."""
    found = post.diagnostics()
    row = found.quantity.index("strength of 0")
    draws = np.stack([chain[:, 0] for chain in post.strength_draws]).astype(float)
    assert found.mean[row] == pytest.approx(draws.mean(), rel=1e-6)
    assert found.mcse[row] == pytest.approx(found.sd[row] / np.sqrt(found.ess_bulk[row]), rel=0.3)
    node = found.quantity.index("0 in " + str(post.community[0]))
    assert found.mean[node] == pytest.approx(post.mean[0], abs=2e-3)


def test_the_verdict_does_not_depend_on_how_communities_are_numbered(post):
    """Give the communities of the second chain other numbers: only what is matched can change."""
    swapped = []
    for draw in post.draws[1]:
        swapped.append(
            dataclasses.replace(draw, communities=1 - draw.communities, strengths=draw.strengths[[1, 0, 2]])
        )
    numbers = np.stack([post.numbers[0], post.numbers[1][::-1]])
    other = dataclasses.replace(post, draws=(post.draws[0], tuple(swapped)), numbers=numbers)
    found = post.diagnostics()
    np.testing.assert_allclose(other.diagnostics().rhat, found.rhat)
    # A wrong matching, as if the swap had not been noticed.
    wrong = dataclasses.replace(other, numbers=post.numbers).diagnostics()
    same, matched = rows(wrong, *INVARIANT), rows(wrong, *MATCHED)
    np.testing.assert_allclose(wrong.rhat[same], found.rhat[same])
    assert wrong.converged is found.converged is True
    assert (wrong.rhat[matched] > 1.05).mean() > 0.5
    assert "Single communities are less certain" in wrong.verdict
    assert "Single communities" not in found.verdict


def test_chains_that_do_not_move_from_different_values_disagree_without_bound(post):
    still = [tuple(dataclasses.replace(chain[0], sweep=draw.sweep) for draw in chain) for chain in post.draws]
    # An odd number of draws, whose mean of equal values is rounded.
    found = dataclasses.replace(post, draws=tuple(chain[:111] for chain in still)).diagnostics()
    moved = found.sd > 0.0
    assert moved.sum() > 80
    assert np.isinf(found.rhat[moved]).all()
    assert (found.ess_bulk[moved] == 1.0).all()
    assert "without bound" in found.verdict
    assert not found.converged


def test_samples_at_sweeps_that_not_all_chains_have_are_left_out(post):
    fewer = dataclasses.replace(post, draws=(post.draws[0], post.draws[1][::2]))
    assert fewer.diagnostics().draws == len(post.draws[1][::2])


@pytest.mark.parametrize(
    ("made", "expected", "converged"),
    [
        (
            table([1.0] * 30, [500] * 30),
            "The 4 chains agree: R-hat is at most 1.00 for all 30 quantities followed. Effective samples: 500 or more.",
            True,
        ),
        (
            table([1.0] * 29 + [1.4], [500] * 30),
            "R-hat is at most 1.05 for all but 1 of the 30 quantities",
            True,
        ),
        (
            table([1.3] * 30, [500] * 30),
            "do not agree: R-hat is above 1.05 for 30 of the 30 quantities followed, 1.30 at worst",
            False,
        ),
        # Four sizes among a hundred co-memberships: a small kind counts as much as a large one.
        (
            table([1.0] * 100 + [1.5] * 4, [500] * 104, ["co-membership"] * 100 + ["sorted size"] * 4),
            "above 1.05 for 4 of the 104 quantities followed, 1.50 at worst, most of all for sizes",
            False,
        ),
        (table([1.0, 1.9], [500, 5], ["scalar", "matched strength"]), "The 4 chains agree", True),
        (table([1.9, 1.0], [500, 500], ["scalar", "matched strength"]), "most of all for scalars", False),
        (
            table([1.0] * 30, [20] * 30),
            "Few effective samples: below 100 for 30 of the 30, 20 at worst; means are rough too",
            False,
        ),
        (
            table([1.0] * 30, [500] * 29 + [20]),
            "Effective samples: 100 or more for all but 1, 20 at worst.",
            True,
        ),
        (
            table([1.0] * 30, [500] * 29 + [20], [*["sampled pair"] * 29, "scalar"]),
            "Few effective samples",
            False,
        ),
        (table([np.nan] * 3, [500] * 3, chains=1), "One chain: whether another would find the same", False),
        (table([1.0] * 3, [5] * 3, draws=4), "Too few draws (4 a chain)", False),
        (table([], [], draws=100), "Too few draws", False),
        (table([np.nan, 1.0], [np.nan, 500]), "The 4 chains agree", True),
        (table([np.nan, np.nan], [np.nan, np.nan]), "Nothing that is followed ever changed", False),
        (table([1.0], [500], ["matched strength"]), "Nothing that is followed ever changed", False),
        (
            table([1.0] * 3, [500] * 3, held_out=False),
            "Nothing was held out: predictions were not checked.",
            True,
        ),
        (
            dataclasses.replace(table([np.nan, 1.0], [np.nan, 500]), mean=np.array([np.nan, 1.0])),
            "1 of the 2 quantities followed are not finite",
            False,
        ),
    ],
)
def test_the_verdict_is_in_plain_words(made, expected, converged):
    assert expected in made.verdict
    assert made.converged is converged


@pytest.mark.parametrize(
    ("above", "followed", "expected"),
    [(1, 220, "R-hat above 1.05 for 1 of 220"), (3, 220, "R-hat above 1.05 for 1%"), (0, 220, "")],
)
def test_what_is_missing_is_never_nothing(above, followed, expected):
    rhat = [1.5] * above + [1.0] * (followed - above)
    kinds = ["scalar"] * above + ["co-membership"] * (followed - above)
    assert table(rhat, [500] * followed, kinds).missing == expected


def test_a_run_without_samples_has_a_verdict_that_it_was_too_short():
    early = fit(planted(60, 3, degree=8, seed=4).graph, 3, sweeps=3, chains=2, threads=1, held_out=0)
    assert "Too few draws" in early.diagnostics().verdict


def test_the_table_is_computed_once(post):
    assert post.diagnostics() is post.diagnostics()


def test_the_general_model_is_followed_too():
    general = fit(
        planted(60, 3, degree=8, seed=4).graph, 3, model="mmsb", sweeps=40, chains=2, threads=1, seed=2
    )
    found = general.diagnostics()
    assert set(found.kind) == set(KINDS) - {"popularity"}
    assert "background" not in found.quantity
    pairs, nodes = sampled_pairs(general.graph), np.arange(60)
    dense = [sample.memberships(nodes, np.arange(3)) for chain in general.draws for sample in chain]
    expected = np.mean([(pi[pairs[:, 0]] * pi[pairs[:, 1]]).sum(axis=1) for pi in dense], axis=0)
    np.testing.assert_allclose(found.mean[rows(found, "co-membership")], expected, rtol=1e-6)


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
