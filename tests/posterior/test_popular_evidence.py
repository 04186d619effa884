"""Evidence with popularities: equal to its definition, against degrees alone, and none where hubs are all there is."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import binom

import blockmix as bm
from blockmix.evaluate import best_match_f1
from blockmix.evaluate.null_models import degree_shape
from blockmix.posterior.evidence.compute import DESCRIPTION, PREDICTION, evidence_of
from blockmix.posterior.evidence.parts import CHANCE, Memberships, charges
from blockmix.posterior.evidence.popularity import (
    Rates,
    Seen,
    at_mode,
    degrees_alone,
    log_likelihood,
    popular_evidence,
)
from blockmix.posterior.structure import disassortative, general_model_advice


def hub_network(nodes, degree, seed):
    """A network of popularities with a heavy tail, and nothing else."""
    rng = np.random.default_rng(seed)
    r = rng.pareto(1.5, nodes) + 1.0
    r /= r.mean()
    pairs = np.column_stack(np.triu_indices(nodes, 1))
    rate = r[pairs[:, 0]] * r[pairs[:, 1]] * degree / nodes
    return bm.Graph.from_edges(pairs[rng.random(len(pairs)) < -np.expm1(-rate)], nodes=range(nodes))


@pytest.fixture
def case():
    """A network of 14 nodes with two held-out pairs, one of them a link, and rates that were fitted to nothing."""
    graph, rng = hub_network(14, 5, 2), np.random.default_rng(1)
    pi = rng.dirichlet([0.3] * 3, 14).astype(np.float32)
    pi[pi < 0.01] = 0.0
    keep = pi > 0
    offsets = np.concatenate([[0], np.cumsum(keep.sum(axis=1))]).astype(np.int64)
    table = Memberships(offsets, np.nonzero(keep)[1].astype(np.int32), pi[keep])
    rates = Rates(rng.gamma(2.0, 0.5, 14), np.array([3.0, 1.0, 0.4]), 0.05)
    non_link = next(p for p in itertools.combinations(range(14), 2) if not graph.has_edges(np.array([p]))[0])
    hidden = np.array([graph.edges()[3], non_link], dtype=np.int64)
    return table, pi.astype(np.float64), rates, graph.without_edges(hidden[:1]), hidden


def observed(training, hidden):
    """Every pair that is not held out, and whether it is a link."""
    pairs = np.column_stack(np.triu_indices(training.n_nodes, 1))
    pairs = pairs[~(pairs[:, None, :] == np.sort(hidden, axis=1)[None]).all(axis=2).any(axis=1)]
    return pairs, training.has_edges(pairs)


def pair_rates(pi, rates, pairs):
    """What every community, and last the background, adds to the rates of pairs."""
    a, b = pairs.T
    both = (rates.popularity[a] * rates.popularity[b])[:, None]
    return both * np.column_stack([pi[a] * pi[b] * rates.communities, np.full(len(pairs), rates.background)])


def test_the_evidence_is_that_of_the_definition_pair_by_pair(case):
    table, pi, rates, training, hidden = case
    pairs, links = observed(training, hidden)
    parts = pair_rates(pi, rates, pairs)
    rate = parts.sum(axis=1)
    expected = np.full(3, -np.log(14 / CHANCE))
    for k in range(3):
        without = rate - parts[:, k]
        expected[k] += np.log(np.expm1(rate[links]) / np.expm1(without[links])).sum() - parts[:, k].sum()
    for a in range(14):
        share = pi[a][pi[a] > 0] / pi[a].sum()
        several = np.exp(-(share * np.log(share)).sum())
        cost = np.log(binom(3, several)) + 0.5 * (several - 1) * np.log(training.degrees[a] + 1)
        expected -= pi[a] * cost
    found, _ = popular_evidence(table, rates, training, hidden)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    _, total = log_likelihood(table, rates, Seen(training.edges().astype(np.int64), hidden))
    assert total == pytest.approx(np.log(-np.expm1(-rate[links])).sum() - rate[~links].sum(), abs=1e-6)


def log_posterior(log_values, training, hidden, shape):
    """(M20) Log likelihood of c r_a r_b, with the Gamma prior of r as a law of log r; its mode is that of EM."""
    scale, r = np.exp(log_values[-1]), np.exp(log_values[:-1])
    pairs, links = observed(training, hidden)
    rate = scale * r[pairs[:, 0]] * r[pairs[:, 1]]
    return np.log(-np.expm1(-rate[links])).sum() - rate[~links].sum() + (shape * (np.log(r) - r)).sum()


def test_degrees_alone_are_at_the_mode_of_their_posterior(case):
    _, _, _, training, hidden = case
    shape = degree_shape(training.degrees)
    assert np.isfinite(shape)
    begin = np.append(np.zeros(14), np.log(0.3))
    best = minimize(lambda x: -log_posterior(x, training, hidden, shape), begin, method="BFGS")
    pairs, links = observed(training, hidden)
    r, scale = np.exp(best.x[:-1]), np.exp(best.x[-1])
    rate = scale * r[pairs[:, 0]] * r[pairs[:, 1]]
    expected = np.log(-np.expm1(-rate[links])).sum() - rate[~links].sum()
    assert degrees_alone(training, Seen(training.edges().astype(np.int64), hidden)) == pytest.approx(
        expected, abs=0.05
    )


def test_steps_towards_the_mode_raise_the_posterior_density_with_communities_too(case):
    """EM never lowers it; a node's exposure or units that were wrong would."""
    table, _, rates, training, hidden = case
    seen, shape = Seen(training.edges().astype(np.int64), hidden), degree_shape(training.degrees)

    def density(values):
        r = values.popularity
        return log_likelihood(table, values, seen)[1] + (shape * (np.log(r) - r)).sum()

    path = [density(at_mode(table, rates, training, seen, steps)) for steps in (0, 1, 2, 5, 20, 200)]
    assert (np.diff(path) > -1e-9).all()
    last = at_mode(table, rates, training, seen, 3000)
    for factor in (0.99, 1.01):
        for node in range(14):
            moved = last.popularity.copy()
            moved[node] *= factor
            assert density(last._replace(popularity=moved)) < density(last)
        for k in np.flatnonzero(last.communities > 0.01):
            moved = last.communities.copy()
            moved[k] *= factor
            assert density(last._replace(communities=moved)) < density(last)


def test_communities_together_are_those_with_evidence_and_the_background_takes_the_links_of_the_others():
    clique, none = np.array(list(itertools.combinations(range(8), 2))), np.empty((0, 2), dtype=np.int64)
    others = hub_network(60, 4, 3).edges() + 8
    graph = bm.Graph.from_edges(np.concatenate([clique, others, [[0, 9], [3, 20]]]), nodes=range(68))
    community = np.repeat([0, 1], [8, 60]).astype(np.int32)
    table = Memberships(np.arange(69), community, np.ones(68, dtype=np.float32))
    rates = Rates(np.ones(68), np.array([3.0, 0.01]), 0.06)
    evidence, together = popular_evidence(table, rates, graph, none)
    assert evidence[0] > 0 > evidence[1]
    seen = Seen(graph.edges().astype(np.int64), none)
    # Of 68 * 67/2 pairs 60 * 59/2 are in the second community, which has no evidence; a member costs log 2.
    left = 0.06 + 0.01 * (60 * 59) / (68 * 67)
    kept = at_mode(table, Rates(np.ones(68), np.array([3.0, 0.0]), left), graph, seen, 1)
    expected = log_likelihood(table, kept, seen)[1] - degrees_alone(graph, seen) - 8 * np.log(2.0)
    assert together == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "k", "seed"), [(400, 8, 1), (400, 8, 2), (1000, 20, 3)])
def test_hubs_alone_are_no_communities(nodes, k, seed):
    """The assortative model lists a core of hubs as a community, with an evidence of hundreds of nats."""
    graph = hub_network(nodes, 8, seed)
    post = bm.fit(graph, k, model="popularity", seed=1, sweeps=80, chains=1, progress=False)
    assert post.communities() == {}
    assert post.clear.sum() == 0
    other = bm.fit(graph, k, model="assortative", seed=1, sweeps=80, chains=1, progress=False)
    assert len(other.communities()) == 1


def test_communities_of_nodes_with_unequal_degrees_are_listed_in_the_order_of_their_evidence():
    graph = bm.planted(200, 4, degree=12, degrees="powerlaw", overlap=(1, 1), seed=2).graph
    post = bm.fit(graph, 4, model="popularity", seed=1, sweeps=80, chains=2, progress=False)
    assert len(post.communities()) == 4
    assert post.total_evidence > 100
    assert (np.diff(post.evidence) <= 0).all()


def test_a_bipartite_network_is_said_to_need_the_general_model():
    graph = bm.Graph.from_edges([(a, 30 + b) for a in range(30) for b in range(30)])
    post = bm.fit(graph, 4, model="popularity", seed=1, sweeps=60, chains=2, progress=False)
    assert post.communities() == {}
    assert disassortative(post)
    assert "general model" in general_model_advice(post)


@pytest.fixture(scope="module", params=["powerlaw", "equal"])
def soft(request):
    """A network whose nodes are in one to three of six communities, and a fit with the model that auto takes."""
    made = bm.planted(600, 6, degree=14, degrees=request.param, overlap=(1, 3), seed=1)
    model = "popularity" if request.param == "powerlaw" else "assortative"
    return made, bm.fit(made.graph, 6, model=model, seed=1, sweeps=120, chains=2, progress=False)


def test_communities_that_do_not_pay_for_their_description_are_listed_where_held_out_pairs_speak_for_them(
    soft,
):
    made, post = soft
    assert post.evidence_by == PREDICTION
    assert post.null.log_odds > np.log(1000.0)
    assert post.total_evidence == pytest.approx(post.null.log_odds - np.log(1000.0))
    found = list(post.covers().values())
    assert len(found) >= 4
    assert best_match_f1(found, made.covers) > 0.6
    assert (np.diff(post.evidence) <= 1e-6).all()


def test_by_prediction_a_community_is_charged_a_nat_for_each_free_share(soft):
    _, post = soft
    table = Memberships(post.offsets, post.community, post.mean)
    training = post.graph.without_edges(post.held_out.pairs[post.held_out.links])
    strengths = np.append(post.strength_mean, post.background_mean)
    common = table, strengths, post.popularity_mean, training, post.held_out.pairs
    described = evidence_of(*common, lambda: None)
    assert described.by == DESCRIPTION
    assert described.together < 0
    rows = [post.mean[i:j].astype(float) for i, j in itertools.pairwise(post.offsets)]
    free = np.array([np.exp(-(r / r.sum() * np.log(r / r.sum())).sum()) - 1.0 for r in rows])
    owner = np.repeat(np.arange(600), np.diff(post.offsets))
    least = np.bincount(post.community, post.mean * free[owner], 6)
    difference = post.evidence + least - described.communities
    np.testing.assert_allclose(difference, charges(table, training, 6), rtol=1e-4)


def test_without_held_out_pairs_only_the_description_counts(soft):
    made, _ = soft
    post = bm.fit(made.graph, 6, seed=1, sweeps=40, chains=1, held_out=0, progress=False)
    assert post.evidence_by == DESCRIPTION


@pytest.mark.parametrize("kind", ["weights", "sides"])
def test_weights_and_two_sides_have_a_likelihood_of_their_own_and_no_evidence(kind):
    graph = bm.simulate(60, 2, degree=8, degrees="gamma", weights="counts", seed=1).graph
    if kind == "sides":
        graph = bm.Graph.from_edges(graph.edges(), directed=True)
    post = bm.fit(graph, 2, model="popularity", seed=1, sweeps=20, chains=1, progress=False)
    assert np.isnan(post.evidence).all()
    assert np.isnan(post.total_evidence)
    assert post.clear.all()
