"""Whether there is structure, which chains count and which model to take, in words."""

from dataclasses import replace

import numpy as np
import pytest

import blockmix as bm
from blockmix import InputError, load
from blockmix.posterior.merge import merge_chains
from blockmix.posterior.posterior import HeldOutPairs, Posterior
from blockmix.posterior.predictive.words import calibration_text
from blockmix.posterior.structure import (
    disassortative,
    first_line,
    general_model_advice,
    pool_text,
    structure_text,
)
from blockmix.report.verdict import remarks


@pytest.fixture
def two_chains(posterior_of):
    """Two chains of one network: in the first the two triangles are communities, in the second all are in one."""
    apart = np.tile(np.repeat(np.eye(2), 3, axis=0), (4, 1, 1))
    together = np.tile(np.array([[1.0, 0.0]] * 6), (4, 1, 1))
    return posterior_of([apart, together])


def weighted(post, weights, worse=(), stacked=True):
    pool = {
        "weights": weights,
        "log_loss": [0.1] * len(weights),
        "worse_than_density": list(worse),
        "stacked": stacked,
    }
    return replace(post, provenance=post.provenance | {"pool": pool})


def scored(post, links, probability, density=0.4):
    """Give a posterior these predictions of the pairs of its nodes, in turn."""
    pairs = np.resize(np.column_stack(np.triu_indices(6, 1)), (len(links), 2)).astype(np.int64)
    held_out = HeldOutPairs(pairs, np.asarray(links), np.asarray(probability), density, "balanced", 0.1)
    return replace(post, held_out=held_out)


def test_predictions_count_by_the_weights_of_the_chains(two_chains):
    pairs = np.array([[0, 1], [0, 5]])
    one, other = (weighted(two_chains, w).node_link_probability(pairs) for w in ([1.0, 0.0], [0.0, 1.0]))
    assert one[1] < other[1], "the ends of the second pair are in one community in the second chain only"
    mixed = weighted(two_chains, [0.25, 0.75]).node_link_probability(pairs)
    assert mixed == pytest.approx(0.25 * one + 0.75 * other)


def test_without_weights_chains_count_the_same(two_chains):
    assert two_chains.chain_weights.tolist() == [0.5, 0.5]


def test_memberships_count_by_the_weights_of_the_chains(chain_of):
    first, second = np.zeros((4, 3, 2)), np.zeros((4, 3, 2))
    first[:, :, 0] = 1.0
    second[:, :, 0], second[:, :, 1] = 0.6, 0.4
    merged = merge_chains([chain_of(first), chain_of(second)], 2, np.array([0.25, 0.75]))
    assert merged.mean[:2] == pytest.approx([0.7, 0.3])
    alone = merge_chains([chain_of(first), chain_of(second)], 2, np.array([0.0, 1.0]))
    assert alone.mean[:2] == pytest.approx([0.6, 0.4])


def test_a_chain_that_does_not_count_is_not_what_others_are_matched_to(chain_of):
    """All is one community in the first chain, which counts nothing: matched to it, the others would not agree."""
    together = np.tile(np.array([[1.0, 0.0]] * 6), (4, 1, 1))
    apart = np.tile(np.repeat(np.eye(2), 3, axis=0), (4, 1, 1))
    chains = [chain_of(together), chain_of(apart), chain_of(apart[:, :, ::-1])]
    merged = merge_chains(chains, 2, np.array([0.0, 0.5, 0.5]))
    assert merged.mean == pytest.approx(np.ones(6))


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        ([0.91, 0.92, 0.9, 0.93, 0.1, 0.12, 0.11, 0.1], "better than by the density alone (log loss 0.1"),
        (
            [0.4] * 8,
            "no better than by the density alone (log loss 0.673 against 0.673, within two standard errors)",
        ),
        ([0.1, 0.12, 0.11, 0.1, 0.91, 0.92, 0.9, 0.93], "worse than by the density alone"),
    ],
)
def test_the_sentence_follows_the_comparison_with_the_null_model(two_chains, probability, said):
    post = scored(two_chains, ([True] * 4 + [False] * 4) * 3, probability * 3)
    assert said in structure_text(post)
    serious = [r for r in remarks(post) if r.serious and "Held-out pairs are predicted" in r.headline]
    assert bool(serious) == ("no better" in said or "worse" in said)


def test_too_few_held_out_pairs_do_not_show_that_predictions_are_right(two_chains):
    few = scored(two_chains, [True] * 4 + [False] * 4, [0.3] * 8)
    assert (
        calibration_text(few)
        == "Not known: 4 links and 4 non-links were held out, too few to check predictions."
    )
    enough = scored(two_chains, [True] * 10 + [False] * 10, [0.3] * 20)
    assert "Not known" not in calibration_text(enough)


@pytest.mark.parametrize(("links", "said"), [(9, "9 links and 10 non-links"), (1, "1 link and 10 non-links")])
def test_too_few_held_out_pairs_are_no_verdict(two_chains, links, said):
    """The same predictions, wrong for every pair, are "worse" with one link more."""
    post = scored(two_chains, [True] * links + [False] * 10, [0.1] * links + [0.9] * 10)
    assert structure_text(post).startswith(f"Too few pairs were held out to compare with chance: {said}")
    (remark,) = [r for r in remarks(post) if r.headline == structure_text(post)]
    assert not remark.serious
    enough = scored(two_chains, [True] * 10 + [False] * 10, [0.1] * 10 + [0.9] * 10)
    assert "worse than by the density alone" in structure_text(enough)


def test_without_held_out_pairs_nothing_is_claimed(two_chains):
    assert two_chains.null is None
    assert first_line(two_chains) == "Convergence unknown. Not compared with chance: nothing was held out."


def test_weights_are_named_where_chains_do_not_count_the_same(two_chains):
    assert pool_text(two_chains) == ""
    assert pool_text(weighted(two_chains, [0.5, 0.5], stacked=False)) == ""
    assert pool_text(weighted(two_chains, [1.0, 0.0], [1], stacked=False)) == (
        "Chain 1 predicts held-out pairs worse than the density alone, and does not count."
    )
    assert "0 70%, 1 30%" in pool_text(weighted(two_chains, [0.7, 0.3]))
    assert pool_text(weighted(two_chains, [0.5, 0.5], [0, 1], stacked=False)).startswith("All chains predict")


def with_backgrounds(post, *values):
    """The same posterior with a mean background of 0.9, and these backgrounds in the samples of each chain."""

    def changed(sample, value):
        return replace(sample, strengths=np.append(sample.strengths[:-1], value).astype(np.float32))

    draws = tuple(tuple(map(changed, chain, values)) for chain in post.draws)
    return replace(post, background_mean=0.9, draws=draws)


def test_the_general_model_is_suggested_where_most_communities_are_weaker_than_the_background(two_chains):
    assert general_model_advice(two_chains) == ""
    turned = with_backgrounds(two_chains, 0.99, 0.99, 0.99, 0.01)
    assert disassortative(turned)
    assert 'model="mmsb"' in general_model_advice(turned)
    assert any("is above the strengths" in remark.headline and remark.serious for remark in remarks(turned))


def test_a_background_that_is_above_the_strengths_in_half_of_the_samples_suggests_nothing(two_chains):
    """As on a network of one link, where both are mostly prior."""
    assert not disassortative(with_backgrounds(two_chains, 0.99, 0.99, 0.01, 0.01))


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ([(a, 12 + b) for a in range(12) for b in range(12)], True),
        ([(a, b) for a in range(24) for b in range(a) if (a * b + a + b) % 2], False),
        ([(0, b) for b in range(1, 24)], False),
    ],
    ids=["bipartite", "triangles", "star"],
)
def test_the_general_model_is_suggested_where_neighbours_are_linked_less_than_others(network, expected):
    """Of a network in which no communities were found; the links of a star are too few for this."""
    post = bm.fit(bm.Graph.from_edges(network), 2, sweeps=60, chains=2, seed=1, held_out=0, progress=False)
    assert len(post.covers()) <= 1
    assert disassortative(post) >= expected
    assert ("Neighbours" in general_model_advice(post)) is expected


def test_weights_survive_saving(two_chains, tmp_path):
    post = weighted(two_chains, [0.25, 0.75])
    facts = post.provenance | {"graph_fingerprint": post.graph.fingerprint}
    replace(post, provenance=facts).save(tmp_path)
    assert load(tmp_path).chain_weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize(
    "pool",
    [
        {"weights": [1.0]},
        {"weights": [0.5, 0.6]},
        {"weights": [1.5, -0.5]},
        {"weights": "all"},
        [],
        {"stacked": 1},
        {"log_loss": [0.1]},
        {"log_loss": ["a", "b"]},
        {"worse_than_density": [2]},
        {"worse_than_density": None},
    ],
)
def test_weights_that_are_none_are_refused(two_chains, tmp_path, pool):
    post = weighted(two_chains, [0.5, 0.5])
    facts = post.provenance | {"graph_fingerprint": post.graph.fingerprint}
    facts["pool"] = facts["pool"] | pool if isinstance(pool, dict) else pool
    replace(post, provenance=facts).save(tmp_path)
    with pytest.raises(InputError, match="this result is damaged"):
        Posterior.load(tmp_path)
