"""From a network to a posterior: reproducible, bounded, on any network, with errors that help."""

import dataclasses
import math

import numpy as np
import pytest

from blockmix import Graph, HeldOut, InputError, fit, hold_out, load, planted
from blockmix.evaluate import auc
from blockmix.inference.fit import choose_held_out
from blockmix.numerics.workers import WORTH_A_THREAD, Workers
from blockmix.samplers.starts.choose import choose_communities
from blockmix.tables.packed import LEAST_WEIGHT


def assert_same_bits(one, other):
    for name in ("offsets", "community", "mean", "sd", "sizes", "strength_mean", "strength_sd"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert (one.background_mean, one.background_sd) == (other.background_mean, other.background_sd)
    if one.held_out is not None:
        np.testing.assert_array_equal(one.held_out.probability, other.held_out.probability)
    for mine, theirs in zip(sum(one.draws, ()), sum(other.draws, ()), strict=True):
        np.testing.assert_array_equal(mine.weights, theirs.weights)
        np.testing.assert_array_equal(mine.strengths, theirs.strengths)


def assert_sound(post, least=0.9):
    """Whatever the network: rows are memberships, strengths are probabilities, predictions too.

    At least `least` of every node's membership is in the table; the rest is spread over tiny means.
    """
    assert (post.mean > 0).all()
    assert (post.mean <= 1 + 1e-6).all()
    assert np.isfinite(post.sd).all()
    sums = np.add.reduceat(post.mean, post.offsets[:-1])
    assert (np.diff(post.offsets) >= 1).all()
    assert (sums > least).all()
    assert (sums < 1 + 1e-4).all()
    assert ((post.strength_mean > 0) & (post.strength_mean < 1)).all()
    assert 0 < post.background_mean < 1
    pairs = np.array([(0, 1), (0, post.graph.n_nodes - 1)])
    probability = post.node_link_probability(pairs)
    assert ((probability > 0) & (probability < 1)).all()


def test_the_number_of_threads_does_not_change_a_bit(medium, monkeypatch):
    assert medium.n_nodes // 5 >= 3 * WORTH_A_THREAD
    taken_part = set()
    share = Workers.share

    def watched(self, count, task):
        def noted(worker, begin, end):
            taken_part.add((self.threads, worker))
            task(worker, begin, end)

        share(self, count, noted)

    monkeypatch.setattr(Workers, "share", watched)
    posts = {threads: fit(medium, 10, seed=11, sweeps=25, chains=1, threads=threads) for threads in (1, 2, 3)}
    assert {(2, 1), (3, 1), (3, 2)} <= taken_part
    assert_same_bits(posts[1], posts[2])
    assert_same_bits(posts[1], posts[3])
    assert posts[3].provenance["threads"] == 3


def test_the_same_seed_gives_the_same_bits_and_another_does_not(small):
    first, again = (fit(small, 4, seed=7, sweeps=20, threads=1) for _ in range(2))
    other = fit(small, 4, seed=8, sweeps=20, threads=1)
    assert_same_bits(first, again)
    assert not np.array_equal(first.strength_mean, other.strength_mean)
    assert not np.array_equal(first.held_out.pairs, other.held_out.pairs)


def test_large_seeds_and_numpy_seeds_are_seeds(small):
    large = fit(small, 4, seed=2**64 - 1, sweeps=5, threads=1)
    assert large.provenance["seed"] == 2**64 - 1
    assert_same_bits(
        fit(small, 4, seed=np.int64(3), sweeps=5, threads=1), fit(small, 4, seed=3, sweeps=5, threads=1)
    )


def test_a_held_out_pair_never_enters_training(small):
    """Two networks that differ in the held-out pairs alone give the same chain, to the bit."""
    data = hold_out(small, 0.1, seed=4)
    other = np.array([[a, b] for a, b in data.pairs[~data.links]])
    edges = np.concatenate([data.training.edges(), other])
    flipped = Graph.from_edges(edges, nodes=range(small.n_nodes))
    assert not np.array_equal(flipped.edges(), small.edges())
    mirrored = dataclasses.replace(data, links=~data.links)
    one = fit(small, 4, seed=2, sweeps=20, threads=1, held_out=data, chains=1)
    two = fit(flipped, 4, seed=2, sweeps=20, threads=1, held_out=mirrored, chains=1)
    assert_same_bits(one, two)
    assert one.scores.auc == pytest.approx(1 - two.scores.auc)


def test_a_held_out_link_is_not_taken_for_a_non_link():
    """Half of the links of two cliques are held out: all pairs seen inside are links, strengths near 1.

    Were the held-out links non-links in training, half of the pairs inside would be, and strengths near 1/2.
    """
    cliques = Graph.from_edges([(a + c, b + c) for c in (0, 14) for a in range(14) for b in range(a)])
    data = hold_out(cliques, 0.5, seed=1)
    post = fit(cliques, 2, seed=1, sweeps=300, threads=1, held_out=data)
    assert (post.strength_mean > 0.85).all()
    assert post.held_out.probability[data.links].mean() > 0.8


def test_sweeps_and_warm_up_are_kept_to(small):
    post = fit(small, 4, sweeps=30, warm_up=12, chains=1, threads=1)
    assert (post.provenance["sweeps"], post.provenance["warm_up"], post.provenance["samples"]) == (30, 12, 18)
    assert post.provenance["node_updates"] == 30 * 300
    assert post.trace["sweep"].tolist() == [1, 2, 3, 10, 20, 30]
    assert post.trace["warm_up"].tolist() == [True, True, True, True, False, False]
    assert len(post.draws[0]) == 18


def test_one_sweep_is_enough_for_a_posterior(small):
    post = fit(small, 4, sweeps=1, chains=1, threads=1)
    assert post.provenance["samples"] == 1
    assert_sound(post)


def test_without_warm_up_every_sweep_is_a_sample(small):
    post = fit(small, 4, sweeps=7, warm_up=0, chains=1, threads=1)
    assert (post.provenance["warm_up"], post.provenance["samples"]) == (0, 7)


def test_a_time_limit_is_roughly_kept_to(small):
    post = fit(small, 4, time_limit=0.5, threads=1)
    # the sweep under way at the limit is finished: milliseconds here, and a busy machine may add some
    assert 0.5 <= post.provenance["seconds"] < 3.0
    assert post.provenance["samples"] > 1


def test_a_run_without_limits_ends_by_itself_after_samples_were_taken(small):
    post = fit(small, 6, seed=1, threads=1, chains=2)
    assert post.provenance["warm_up"] >= 60
    assert post.provenance["samples"] >= 60
    assert post.provenance["stopped_by"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_planted_network_is_predicted_about_as_well_as_by_the_truth(small_planted, seed):
    """0.05 of AUC is two standard errors of the 120 held-out links; chance is 0.3 below the truth."""
    data = hold_out(small_planted.graph, 0.05, seed=1)
    pi = small_planted.memberships.toarray()
    shared = np.sum(pi[data.pairs[:, 0]] * pi[data.pairs[:, 1]], axis=1)
    truth = auc(shared, data.links)
    post = fit(small_planted.graph, 6, seed=seed, threads=1, held_out=data)
    assert truth > 0.8
    assert post.scores.auc > truth - 0.05


@pytest.mark.parametrize("chains", [1, 2])
def test_the_averaged_prediction_is_that_of_the_draws(small, chains):
    """While there are few samples all are among the draws, so both are plain averages of the same states.

    A seed for which both chains count alike: weights that differ are cross-fitted in the scores.
    """
    post = fit(small, 6, seed=4, sweeps=40, threads=1, chains=chains)
    assert sum(len(draws) for draws in post.draws) == post.provenance["samples"] == 24 * chains
    assert len(set(post.chain_weights)) == 1
    found = post.node_link_probability(post.held_out.pairs)
    np.testing.assert_allclose(found, post.held_out.probability, atol=LEAST_WEIGHT)


def test_nothing_is_held_out_when_asked(small):
    post = fit(small, 4, sweeps=10, held_out=0, threads=1)
    assert post.held_out is None
    assert math.isnan(post.perplexity)
    assert np.isnan(post.trace["perplexity"]).all()


def test_a_share_or_a_kind_asked_for_is_held_out(small):
    post = fit(small, 4, sweeps=5, held_out=0.2, threads=1)
    assert post.held_out.links.sum() == round(0.2 * small.n_edges)
    assert len(post.held_out.links) == 2 * post.held_out.links.sum()
    assert (post.held_out.kind, post.held_out.fraction) == ("balanced", 0.2)
    other = fit(small, 4, sweeps=5, held_out=0.01, held_out_kind="proportional", threads=1)
    assert len(other.held_out.links) == pytest.approx(0.01 * small.n_pairs, rel=0.02)


def test_a_split_of_ones_own_is_used(small):
    data = hold_out(small, 0.07, seed=99)
    post = fit(small, 4, sweeps=5, held_out=data, threads=1)
    np.testing.assert_array_equal(post.held_out.pairs, data.pairs)
    assert post.graph is small
    with pytest.raises(InputError, match="split from another network"):
        fit(Graph.from_edges([(0, 1)]), 2, sweeps=5, held_out=data)


def test_small_networks_and_cliques_keep_all_their_links_by_default():
    for graph in (path(30), clique(12), clique(12).without_edges([(0, 1)])):
        data = choose_held_out(graph, None)
        assert isinstance(data, HeldOut)
        assert data.n_pairs == 0
    assert choose_held_out(path(60), None).n_links == 3


def test_chains_are_pooled_and_the_first_is_that_of_a_single_run(small):
    alone = fit(small, 4, seed=3, sweeps=20, chains=1, threads=1)
    both = fit(small, 4, seed=3, sweeps=20, threads=1, chains=2)
    assert both.provenance["samples"] == 2 * alone.provenance["samples"]
    assert both.numbers.shape == (2, 4)
    assert [len(chain) for chain in both.draws] == [12, 12]
    for mine, other in zip(alone.draws[0], both.draws[0], strict=True):
        np.testing.assert_array_equal(mine.weights, other.weights)
        np.testing.assert_array_equal(mine.strengths, other.strengths)
    assert not np.array_equal(both.draws[0][-1].strengths, both.draws[1][-1].strengths)
    assert set(both.trace["chain"]) == {0, 1}
    pooled = np.concatenate([draws.astype(float) for draws in both.strength_draws])
    np.testing.assert_allclose(both.strength_mean, pooled.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(both.strength_sd, pooled.std(axis=0), atol=1e-5)
    assert_sound(both)


def test_the_callback_is_called_after_every_evaluation(small):
    reports = []
    post = fit(small, 4, sweeps=20, chains=1, threads=1, callback=reports.append)
    assert [report.sweep for report in reports] == post.trace["sweep"].tolist() == [1, 2, 3, 10, 20]
    assert [report.warm_up for report in reports] == [True, True, True, False, False]
    assert reports[-1].share == 1.0
    assert reports[-1].scores.perplexity == pytest.approx(post.perplexity)
    assert reports[1].seconds_left is None, "a run of milliseconds has no pace yet"


def test_a_fixed_background_stays_where_it_is(small):
    post = fit(small, 4, sweeps=10, background=0.01, threads=1)
    assert post.background_mean == pytest.approx(0.01, rel=1e-12)
    assert post.background_sd == pytest.approx(0.0, abs=1e-9)
    assert post.provenance["model"]["background"] == 0.01


def test_a_fit_can_be_saved_whatever_kind_of_numbers_it_was_given(small, tmp_path):
    post = fit(
        small,
        np.int64(4),
        seed=np.uint32(1),
        sweeps=np.int32(6),
        eta=[1, 2],
        alpha=np.float32(0.5),
        threads=1,
    )
    post.save(tmp_path)
    again = load(tmp_path)
    assert_same_bits(post, again)
    assert again.provenance == post.provenance


def clique(n):
    return Graph.from_edges([(a, b) for a in range(n) for b in range(a)])


def path(n):
    return Graph.from_edges([(a, a + 1) for a in range(n)])


NETWORKS = {
    "two nodes": (Graph.from_edges([("a", "b")]), 2),
    "one community": (path(60), 1),
    "more communities than nodes": (path(6), 40),
    "a clique": (clique(12), 3),
    "a clique but for one link": (clique(12).without_edges([(0, 1)]), 3),
    "isolated nodes": (Graph.from_edges([(0, 1), (1, 2), (0, 2)], nodes=range(50)), 3),
    "a star": (Graph.from_edges([(0, leaf) for leaf in range(1, 501)]), 5),
    "two cliques": (
        Graph.from_edges([(a + c, b + c) for c in (0, 9) for a in range(9) for b in range(a)]),
        2,
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_any_network_has_a_posterior(name):
    graph, communities = NETWORKS[name]
    post = fit(graph, communities, seed=1, sweeps=60, threads=1)
    # Nothing says which of 40 communities seven nodes are in, and a node's table has room for 24.
    assert_sound(post, least=0.5 if communities == 40 else 0.9)
    assert post.n_communities == communities
    assert len(repr(post)) > 20


def test_two_cliques_are_two_communities():
    post = fit(NETWORKS["two cliques"][0], 2, seed=1, sweeps=200, threads=1, held_out=0)
    assert sorted(sorted(members) for members in post.communities(0.5).values()) == [
        list(range(9)),
        list(range(9, 18)),
    ]
    inside, across = post.link_probability([(0, 5), (0, 14)])
    assert inside > 0.8
    assert across < 0.2


def test_a_network_without_links_is_refused():
    with pytest.raises(InputError, match="no links: there is nothing to learn from"):
        fit(Graph.from_edges([], nodes=range(5)), 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"communities": 0}, "communities must be a whole number of at least 1, not 0"),
        ({"communities": 2.5}, "communities must be a whole number"),
        ({"communities": None}, "communities must be a whole number"),
        ({"chains": 0}, "chains must be a whole number of at least 1, not 0"),
        ({"chains": True}, "chains must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
        ({"seed": 2**64}, r"seed must be below 2\*\*64"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"sampler": "sciir"}, r"no sampler 'sciir'; did you mean 'scir'\?"),
        ({"sampler": "zzz"}, "no sampler 'zzz'"),
        ({"device": "gpu"}, "device must be"),
        ({"sweeps": 0}, "sweeps must be"),
        ({"time_limit": -1}, "time_limit must be"),
        ({"warm_up": 20, "sweeps": 10}, "no sample would be taken"),
        ({"held_out": 1.5}, "held_out must be a share of the links.*not 1.5"),
        ({"held_out": 0.1, "held_out_kind": "half"}, "kind='half'"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"eta": (1.0, 0.0)}, "eta must be two positive numbers"),
        ({"eta": 3}, "eta must be two positive numbers"),
        ({"background": 2.0}, "background must lie strictly between 0 and 1"),
        ({"slotss": 3}, r"unknown option slotss \(did you mean slots\?\); options of scir: slots"),
    ],
    ids=str,
)
def test_a_mistake_is_named_before_any_work_is_done(small, wrong, message):
    with pytest.raises(InputError, match=message):
        fit(small, **({"communities": 4, "sweeps": 5, "held_out": 0, "threads": 1} | wrong))


def test_a_real_network_is_found_and_explained(shared_data):
    """The karate club, from the folder of real networks: its two leaders are not in one community."""
    from blockmix import read_graph

    edges = next(path for path in sorted((shared_data / "karate").iterdir()) if "edge" in path.name)
    graph = read_graph(edges)
    post = fit(graph, 2, seed=1, sweeps=300, threads=1, held_out=0)
    assert_sound(post)
    assert graph.n_nodes == 34
    assert len(post.communities(0.3)) == 2


def test_chains_side_by_side_give_the_same_bits_on_any_number_of_threads(small):
    posts = [fit(small, 4, seed=5, sweeps=20, chains=3, threads=threads) for threads in (1, 2, 4)]
    for post in posts[1:]:
        assert_same_bits(posts[0], post)


def test_small_networks_get_several_chains_unless_asked_otherwise(small):
    assert fit(small, 4, sweeps=3, threads=1).provenance["chains"] == 8
    assert fit(small, 4, sweeps=3, threads=1, chains=1).provenance["chains"] == 1


@pytest.mark.parametrize(("nodes", "communities"), [(2000, 20), (5000, 100)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_auto_finds_the_planted_number_of_communities_within_a_fifth(nodes, communities, seed):
    chosen = choose_communities(planted(nodes, communities, seed=seed).graph, seed)
    assert abs(chosen - communities) <= 0.2 * communities


def test_the_provenance_records_how_the_number_of_communities_was_chosen(small):
    post = fit(small, "auto", sweeps=3, threads=1)
    assert post.n_communities >= 2
    assert "likelihood" in post.provenance["communities_chosen_by"]
    assert fit(small, 4, sweeps=3, threads=1).provenance["communities_chosen_by"] == "user"


@pytest.mark.parametrize("sampler", [None, "sgmc", "sgmc-m", "svi", "cgs", "lmc"])
def test_neither_auto_nor_the_start_sees_a_held_out_link(sampler):
    """Two networks that differ in held-out links only: the same number of communities and the same chains."""
    cliques = [(a + c, b + c) for c in range(0, 40, 8) for a in range(8) for b in range(a)]
    training = Graph.from_edges([*cliques, *((c, (c + 8) % 40) for c in range(0, 40, 8))])
    joined = [(a, b) for a in range(40) for b in range(a) if a // 16 == b // 16 and a // 8 != b // 8]
    split = hold_out(training, 0.1, seed=1)
    fulls = [training, Graph.from_edges([*training.edges().tolist(), *joined])]
    assert choose_communities(fulls[1], 3) != choose_communities(split.training, 3), "it would not be noticed"
    posts = [
        fit(full, sampler=sampler, held_out=split, seed=3, sweeps=6, warm_up=3, chains=1, threads=1)
        for full in fulls
    ]
    assert posts[0].n_communities == posts[1].n_communities == choose_communities(split.training, 3)
    np.testing.assert_array_equal(posts[0].mean, posts[1].mean)
    np.testing.assert_array_equal(posts[0].strength_mean, posts[1].strength_mean)
