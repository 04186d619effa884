"""Answers, pooling, agreement and files of a result of the popularity model."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import blockmix as bm
from blockmix.cli.record import record
from blockmix.graph.split import hold_out
from blockmix.inference.result import _popularity
from blockmix.inference.run_folder.results import write_results
from blockmix.posterior.agreement import Agreement
from blockmix.tables.summary import RunningPopularity


@pytest.fixture(scope="module")
def post():
    graph = bm.planted(90, 3, degree=12, degrees="powerlaw", overlap=(1, 1), seed=2).graph
    return bm.fit(graph, 3, model="popularity", seed=1, sweeps=80, chains=2, threads=1)


def other_pairs(graph):
    pairs = np.column_stack(np.triu_indices(graph.n_nodes, 1))
    return pairs[~graph.has_edges(pairs)]


def test_missing_links_are_the_most_likely_of_all_pairs_without_one(post):
    """Popularities decide: candidates compared without them would miss most of these."""
    pairs = other_pairs(post.graph)
    probability = post.node_link_probability(pairs)
    best = np.sort(probability)[::-1][:10]
    np.testing.assert_allclose(post.missing_links(top=10)["probability"], best, rtol=1e-9)
    own = probability[(pairs == 4).any(axis=1)]
    found = post.missing_links(post.graph.labels[4], top=5)
    np.testing.assert_allclose(found["probability"], np.sort(own)[::-1][:5], rtol=1e-9)


def test_surprising_links_are_the_least_likely(post):
    probability = post.node_link_probability(post.graph.edges().astype(np.int64))
    found = post.surprising_links(top=5)["probability"]
    np.testing.assert_allclose(found, np.sort(probability)[:5], rtol=1e-9)


def test_the_community_of_a_link_follows_the_rates(post):
    """(DC1) w_k pi_ak pi_bk in community k, and eps between communities, whatever the two nodes share."""
    expected = 0.0
    samples = [(s, numbers) for chain, numbers in zip(post.draws, post.numbers, strict=True) for s in chain]
    for sample, numbers in samples:
        pi = sample.memberships(np.array([0, 1]), numbers)
        rates = np.empty(3)
        rates[numbers] = sample.strengths[:-1]
        made = rates * pi[0] * pi[1]
        expected += sample.strengths[-1] / (sample.strengths[-1] + made.sum()) / len(samples)
    labels = post.graph.labels
    found = post.link_communities([(labels[0], labels[1])])
    assert post.chain_weights.tolist() == [0.5, 0.5]
    assert found["between"][0] == pytest.approx(expected, rel=1e-4)


def test_the_record_has_the_model_and_the_matched_auc(post):
    found = record(post, 0.1)
    assert (found["model"], found["model_chosen_by"]) == ("popularity", "user")
    assert found["auc_matched"] == post.scores.auc_matched
    assert 0.0 < found["auc_matched"] < 1.0


def test_popularities_are_pooled_with_the_weights_of_the_chains():
    def chain(mean, deviation, samples):
        values = RunningPopularity(np.float32([mean]), np.float32([deviation]))
        return SimpleNamespace(popularity=values, samples=samples)

    found = _popularity([chain(1.0, 8.0, 2), chain(3.0, 0.0, 5)], np.array([0.75, 0.25]))
    assert found["popularity_mean"][0] == pytest.approx(1.5)
    # Mean square 0.75 (1 + 4) + 0.25 * 9, less 1.5 squared.
    assert found["popularity_sd"][0] == pytest.approx(np.sqrt(6.0 - 2.25))


def test_a_node_placed_by_its_links_has_the_popularity_of_the_fit(post):
    """A node of middling degree given as a new one: the one that is there, without a link to it, hardly counts."""
    nodes = np.argsort(-post.graph.degrees)[[15, 30, 45, 60]]
    links = {int(a): post.graph.labels.take(post.graph.neighbors_of(a)) for a in nodes}
    answer = post.transform(links)
    for a in nodes.tolist():
        rows = [row for row in answer if row.node == a]
        assert rows[0].community == post.node(post.graph.labels[a])["community"][0]
        assert rows[0].popularity == pytest.approx(post.popularity_mean[a], rel=0.25)


def test_agreement_predicts_as_the_result_does(post):
    """While a run goes on its chains are compared by the probabilities of this model."""
    split = hold_out(post.graph, 0.05, seed=1)
    watched = Agreement(post.graph, split, 3)
    sample, pairs = post.draws[0][0], other_pairs(post.graph)[:50]
    found, expected = np.zeros(50), np.zeros(50)
    watched.predictor.add_sample(sample, pairs, found)
    post.predictor.add_sample(sample, pairs, expected)
    np.testing.assert_allclose(found, expected)
    chains = [SimpleNamespace(draws=lambda c=c: list(c)) for c in post.draws]
    assert "popularity" in set(watched.check(chains).kind)


def test_the_file_of_popularities_is_part_of_the_result_and_goes_with_it(post, tmp_path):
    assert write_results(post, tmp_path, 0.1) == []
    assert "popularity.tsv" in json.loads((tmp_path / "run.json").read_text())["texts"]
    other = bm.fit(post.graph, 2, model="assortative", sweeps=20, chains=1, threads=1)
    assert write_results(other, tmp_path, 0.1) == []
    assert not (tmp_path / "popularity.tsv").exists()
    assert "popularity.tsv" not in json.loads((tmp_path / "run.json").read_text())["texts"]
