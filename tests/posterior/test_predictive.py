"""Networks drawn from the posterior: their law, what the checks find wrong, and what they do not."""

import json
from dataclasses import replace

import networkx
import numpy as np
import pytest
from scipy import stats

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.split import hold_out
from blockmix.model.reference import pair_likelihood, popularity_likelihood, popularity_rate
from blockmix.posterior.posterior import HeldOutPairs
from blockmix.posterior.predictive import checks, statistics
from blockmix.posterior.predictive.replicate import Replicator, observed_ego, sample_memberships
from blockmix.tables.packed import WEIGHT_SCALE
from blockmix.tables.samples import PosteriorSample

NODES, COMMUNITIES = 8, 3


def sample_of(memberships, strengths, popularity=None, rest=None):
    """Pack memberships (nodes x communities) as a chain would."""
    used = memberships > 0
    weights = np.maximum(np.rint(memberships[used] * WEIGHT_SCALE), 1).astype(np.uint16)
    return PosteriorSample(
        1, used.sum(axis=1).astype(np.uint8), np.nonzero(used)[1].astype(np.uint16), weights,
        np.asarray(strengths, dtype=np.float32), rest, popularity,
    )  # fmt: skip


@pytest.fixture(scope="module")
def memberships():
    found = np.random.default_rng(1).dirichlet([0.5] * COMMUNITIES, NODES)
    found[found < 0.02] = 0.0
    return found / found.sum(axis=1, keepdims=True)


@pytest.fixture(params=["assortative", "popularity"])
def law(request, memberships):
    """A posterior sample, and the probability of every pair by the reference; one strength is below the background."""
    strengths = np.array([0.9, 0.05, 0.5, 0.2])
    p = np.zeros((NODES, NODES))
    r = np.random.default_rng(2).gamma(1.0, 1.0, NODES).astype(np.float32)
    for a in range(NODES):
        for b in range(NODES):
            if request.param == "assortative":
                p[a, b] = pair_likelihood(1, memberships[a], memberships[b], strengths[:-1], strengths[-1])
            else:
                rate = popularity_rate(
                    float(r[a]), float(r[b]), memberships[a], memberships[b], strengths[:-1], strengths[-1]
                )
                p[a, b] = popularity_likelihood(1, rate)
    popularity = None if request.param == "assortative" else r
    return sample_of(memberships, strengths, popularity), p


@pytest.mark.parametrize("chosen", [[1, 4, 6], range(NODES)], ids=["some", "all"])
def test_links_of_chosen_nodes_are_drawn_with_the_probabilities_of_the_model(law, chosen):
    # 21 or 28 pairs, each within 4 standard errors: a false alarm for one seed in 500.
    sample, p = law
    chosen = np.array(chosen)
    replicator, rng, draws = Replicator(sample, chosen), np.random.default_rng(3), 3000
    seen = np.zeros((NODES, NODES))
    for _ in range(draws):
        ego = replicator.draw(rng)
        np.add.at(seen, (ego.owner, ego.other), 1)
    assert seen.max() <= draws
    assert not seen[np.setdiff1d(np.arange(NODES), chosen)].any()
    # Between two chosen nodes a link is one link, seen from both.
    np.testing.assert_array_equal(seen[np.ix_(chosen, chosen)], seen[np.ix_(chosen, chosen)].T)
    error = np.sqrt(p * (1 - p) / draws)
    off = np.abs(seen[chosen] / draws - p[chosen]) / np.maximum(error[chosen], 1e-9)
    off[np.arange(len(chosen)), chosen] = 0.0
    assert off.max() < 4.0
    assert not np.diag(seen).any()


def test_samples_with_a_rest_share_it_among_the_communities_that_are_not_listed():
    listed = np.array([[0.7, 0.0, 0.0], [0.0, 0.5, 0.4]])
    sample = sample_of(
        listed, [0.5, 0.5, 0.5, 0.1], rest=np.array([0.3, 0.1] * np.array(WEIGHT_SCALE), np.uint16)
    )
    expected = [[0.7, 0.15, 0.15], [0.1, 0.5, 0.4]]
    np.testing.assert_allclose(sample_memberships(sample, 3).toarray(), expected, atol=1e-4)


def test_links_of_chosen_nodes_are_those_of_the_network():
    graph = bm.Graph.from_networkx(networkx.karate_club_graph())
    chosen = np.array([0, 5, 33])
    ego = observed_ego(graph.offsets, graph.neighbors, chosen)
    assert np.bincount(ego.owner, minlength=34)[chosen].tolist() == graph.degrees[chosen].tolist()
    assert graph.has_edges(np.column_stack(ego)).all()


def test_clustering_is_the_share_of_pairs_of_neighbours_that_are_linked():
    graph = bm.Graph.from_networkx(networkx.karate_club_graph())
    exact = []
    for a in range(34):
        around = graph.neighbors[graph.offsets[a] : graph.offsets[a + 1]]
        pairs = np.array([(b, c) for b in around for c in around if b < c], dtype=np.int64).reshape(-1, 2)
        if len(pairs):
            exact.append(graph.has_edges(pairs).mean())
    chosen = statistics.choose_nodes(graph, np.random.default_rng(1))
    ego = observed_ego(graph.offsets, graph.neighbors, chosen.nodes)
    found = statistics.statistics(ego, chosen, graph.has_edges, np.random.default_rng(2))
    assert found[:4] == pytest.approx([graph.degrees.mean(), graph.degrees.std(), 17, 0])
    # 10,000 pairs: more than four standard errors.
    assert found[4] == pytest.approx(np.mean(exact), abs=0.02)


def true_posterior(posterior_of, seed):
    """A network of 60 nodes with the posterior that knows its parameters, a fifth of the pairs held out."""
    rng = np.random.default_rng(seed)
    pi = rng.dirichlet([0.2] * 3, 60)
    pi[pi < 0.01] = 0.0
    pi /= pi.sum(axis=1, keepdims=True)
    strengths, upper = np.array([0.4, 0.3, 0.6, 0.03]), np.triu_indices(60, 1)
    p = (strengths[-1] + (pi * (strengths[:-1] - strengths[-1])) @ pi.T)[upper]
    pairs = np.column_stack(upper)
    graph = bm.Graph.from_edges(pairs[rng.random(len(p)) < p], nodes=range(60))
    split = hold_out(graph, 0.2, kind="proportional", seed=seed)

    def probability(wanted):
        table = np.zeros((60, 60))
        table[upper] = p
        return table[wanted.min(axis=1), wanted.max(axis=1)]

    held_out = HeldOutPairs(
        split.pairs, split.links, probability(split.pairs), split.density, "proportional", 0.2, split.matched,
        probability(split.matched),
    )  # fmt: skip
    return posterior_of([np.stack([pi, pi])], [np.stack([strengths] * 2)], graph, held_out)


def test_a_network_of_the_model_is_outside_an_interval_as_often_as_stated(posterior_of):
    # 40 networks, intervals of 90% (19 draws): per statistic a false alarm for one seed in 10,000, with the network and
    # the draws from the same parameters. All of them are tested: also the ranking at equal degrees.
    off = {}
    for seed in range(40):
        table = true_posterior(posterior_of, seed).predictive_checks(replicates=19, seed=seed)
        for row in table.rows():
            off.setdefault(row["statistic"], []).append(row["off"])
    assert set(off) >= {"average degree", "spread of degrees", "largest degree", "clustering"}
    assert len(off["ranking at equal degrees"]) == 40
    assert table.level == pytest.approx(0.9)
    for name, values in off.items():
        assert sum(values) <= stats.binom.isf(1e-4, len(values), 0.1), name


def test_held_out_links_are_links_of_neither_the_network_nor_the_draws(posterior_of):
    """Half of the links and as many non-links held out: all pairs together have fewer links than the model has seen."""
    post = true_posterior(posterior_of, 3)
    split = hold_out(post.graph, 0.5, seed=1)
    held_out = HeldOutPairs(
        split.pairs, split.links, np.full(split.n_pairs, 0.1), split.density, "balanced", 0.5
    )
    table = replace(post, held_out=held_out).predictive_checks(replicates=39)
    at = list(table.statistic).index("average degree")
    assert table.observed[at] == pytest.approx(split.training.degrees.mean())
    # All pairs but the held-out ones, with the probabilities that the network was drawn with.
    other = np.column_stack(np.triu_indices(60, 1))
    hidden = {tuple(pair) for pair in split.pairs.tolist()}
    observed = np.array([pair for pair in other.tolist() if tuple(pair) not in hidden])
    expected = 2.0 * post.node_link_probability(observed).sum() / 60
    assert table.mean[at] == pytest.approx(expected, rel=0.05)


def test_a_few_nodes_of_a_large_network_give_the_same_statistics(posterior_of, monkeypatch):
    post = true_posterior(posterior_of, 3)
    whole = post.predictive_checks()
    monkeypatch.setattr(statistics, "NODES", 30)
    monkeypatch.setattr(statistics, "HUBS", 10)
    some = post.predictive_checks()
    assert some.statistic == whole.statistic
    for name in ("average degree", "largest degree", "clustering"):
        i = whole.statistic.index(name)
        # The mean over half of the nodes, not drawn by the statistic: within two tenths of the mean over all.
        assert some.mean[i] == pytest.approx(whole.mean[i], rel=0.2)
    # Pairs of neighbours that were not drawn are drawn by their probability: none is linked where none can be.
    strengths = np.tile(np.array([1e-6, 1e-6, 1e-6, 0.2]), (2, 1)).astype(np.float32)
    apart = replace(
        post, draws=(tuple(replace(s, strengths=v) for s, v in zip(post.draws[0], strengths, strict=True)),)
    )
    table = apart.predictive_checks()
    assert table.mean[table.statistic.index("clustering")] < 0.25


@pytest.fixture(scope="module")
def unequal():
    return bm.planted(300, 3, degree=12, degrees="powerlaw", overlap=(1, 1), seed=2)


def test_degrees_that_the_model_does_not_fit_are_found_and_the_popularity_model_comes_nearer(unequal):
    options = {"seed": 1, "sweeps": 120, "chains": 2, "threads": 1, "held_out": 0.1, "progress": False}
    plain = bm.fit(unequal.graph, 3, model="assortative", **options).predictive_checks()
    assert {"spread of degrees", "largest degree"} <= {plain.statistic[i] for i in np.flatnonzero(plain.off)}
    assert 'model="popularity" comes nearer to degrees' in plain.verdict
    popular = bm.fit(unequal.graph, 3, model="popularity", **options).predictive_checks()
    assert "spread of degrees" not in {popular.statistic[i] for i in np.flatnonzero(popular.off)}
    # The largest of power-law degrees is predicted too small with popularities too (107 to 111 for 123 to 129, with
    # seeds 1 to 4 of the fit; outside of its interval with 2): their Gamma law has no such tail. Its error is 0.16 to
    # 0.19 of that without them.
    at = list(popular.statistic).index("largest degree")
    far, near = (abs(table.observed[at] - table.mean[at]) for table in (plain, popular))
    assert near < 0.5 * far
    assert "popularity" not in popular.verdict


@pytest.mark.parametrize(
    ("draws", "lower", "upper", "level"), [(199, 0, 198, 0.99), (19, 0, 18, 0.9), (399, 1, 397, 0.99)]
)
def test_the_interval_leaves_out_as_many_draws_as_its_level_says(draws, lower, upper, level):
    drawn = np.random.default_rng(1).permutation(draws).astype(float)[:, None]
    table = checks._table(["x"], np.array([draws]), drawn, "assortative")
    assert (table.lower[0], table.upper[0], bool(table.off[0])) == (lower, upper, True)
    assert table.level == pytest.approx(level)
    assert table.p[0] == pytest.approx(2 / (draws + 1))


def test_the_same_seed_gives_the_same_table(posterior_of):
    post = true_posterior(posterior_of, 5)
    first, second = (
        post.predictive_checks(replicates=25, seed=4),
        post.predictive_checks(replicates=25, seed=4),
    )
    for name, column in first.columns().items():
        np.testing.assert_array_equal(column, second.columns()[name])
    assert not np.array_equal(first.mean, post.predictive_checks(replicates=25, seed=5).mean)
    assert json.loads(json.dumps(first.rows(), allow_nan=False))[0]["statistic"] == "average degree"


def test_chains_that_do_not_count_are_not_drawn_from(posterior_of):
    post = true_posterior(posterior_of, 6)
    wrong = tuple(replace(s, strengths=np.full(4, 0.95, np.float32)) for s in post.draws[0])
    pooled = replace(
        post,
        draws=(post.draws[0], wrong),
        numbers=np.tile(post.numbers, (2, 1)),
        provenance=post.provenance | {"pool": {"weights": [1.0, 0.0]}},
    )
    assert pooled.predictive_checks(replicates=19).mean[0] < 20


def test_nodes_without_links_are_compared_only_where_there_are_some(posterior_of):
    post = true_posterior(posterior_of, 7)
    assert "nodes without links" not in post.predictive_checks(replicates=19).statistic
    alone = bm.Graph.from_edges(post.graph.edges()[post.graph.edges()[:, 0] > 0], nodes=range(60))
    assert (
        "nodes without links"
        in replace(post, graph=alone, held_out=None).predictive_checks(replicates=19).statistic
    )


def test_what_cannot_be_checked_is_an_error(posterior_of):
    post = true_posterior(posterior_of, 8)
    with pytest.raises(InputError, match="at least 19"):
        post.predictive_checks(replicates=5)
    with pytest.raises(InputError, match="general model"):
        replace(post, blocks_mean=np.eye(3)).predictive_checks()
    none = replace(post, draws=((),))
    assert not checks.can_check(none)
    with pytest.raises(InputError, match="no samples"):
        none.predictive_checks()
