"""Links observed over links predicted by degree: what it is, that it is right for every kind of hold-out, its words."""

import json

import numpy as np
import pytest
from scipy import stats

from blockmix.errors import InputError
from blockmix.evaluate import calibration_by_degree
from blockmix.evaluate.degree_classes import degree_groups


def population(rng, pairs=200_000, factor=1.0, spread=1.5):
    """Draw pairs of hubs (degree 50) and others (degree 5); the odds of links between two hubs are `factor` times p."""
    degrees = np.where(rng.random((pairs, 2)) < 0.3, 50, 5)
    p = np.exp(rng.normal(-5.0, spread, pairs))
    p = p / (1.0 + p)
    odds = p / (1.0 - p) * np.where((degrees == 50).all(axis=1), factor, 1.0)
    return p, rng.random(pairs) < odds / (1.0 + odds), degrees


def balanced(rng, p, links, degrees, count):
    """Hold out as many non-links as links."""
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(kind), count, replace=False) for kind in (links, ~links)]
    )
    return p[chosen], links[chosen], degrees[chosen]


def test_pairs_held_out_in_proportion_give_links_over_the_sum_of_predictions():
    rng = np.random.default_rng(1)
    p, links, degrees = population(rng, 5000)
    table = calibration_by_degree(p, links, degrees, links.mean())
    for i, ends in enumerate([(5, 5), (5, 50), (50, 50)]):
        chosen = (np.sort(degrees, axis=1) == ends).all(axis=1)
        ones, size, total = links[chosen].sum(), chosen.sum(), p[chosen].sum()
        assert (table.n_links[i], table.n_pairs[i]) == (ones, size)
        assert table.expected[i] == pytest.approx(total, rel=1e-4)
        assert table.ratio[i] == pytest.approx(ones / total, rel=1e-4)
        exact = stats.binomtest(int(ones), int(size)).proportion_ci(0.99, method="exact")
        assert table.lower[i] == pytest.approx(exact.low * size / total, rel=1e-4)
        assert table.upper[i] == pytest.approx(exact.high * size / total, rel=1e-4)


def test_a_balanced_hold_out_finds_the_ratio_of_the_network():
    rng = np.random.default_rng(2)
    # Many probabilities near one, where links cannot be three times as many: held-out links have most of them.
    p, links, degrees = population(rng, 500_000, factor=3.0, spread=2.5)
    hubs = (degrees == 50).all(axis=1)
    whole = links[hubs].sum() / p[hubs].sum()
    table = calibration_by_degree(*balanced(rng, p, links, degrees, 8000), links.mean())
    assert table.names == ["few, few", "few, many", "many, many"]
    # Three intervals of 99%: a false alarm for three seeds in a hundred.
    assert table.lower[2] < whole < table.upper[2]
    assert table.off.tolist() == [False, False, True]
    assert table.ratio[2] == pytest.approx(whole, rel=0.1)


def test_right_predictions_are_covered_at_the_confidence_for_balanced_hold_outs():
    # 100 hold-outs of three classes, 300 intervals of 90% or more: a false alarm for one seed in 1000.
    rng = np.random.default_rng(3)
    p, links, degrees = population(rng, 300_000)
    held = []
    for _ in range(100):
        links = rng.random(len(p)) < p
        held += calibration_by_degree(
            *balanced(rng, p, links, degrees, 400), links.mean(), confidence=0.9
        ).covered.tolist()
    assert stats.binom.isf(0.999, 300, 0.9) <= sum(held) <= 299


def test_groups_hold_a_third_of_the_ends_of_links_each():
    degrees = np.concatenate([np.zeros(9), np.ones(600), np.full(60, 10), np.full(6, 100)]).astype(np.int64)
    assert degree_groups(degrees).tolist() == [0, 1, 10, 100]
    # One degree for all: one group beside nodes without links.
    assert degree_groups(np.full(30, 4)).tolist() == [0, 1]
    assert degree_groups(np.zeros(3, dtype=np.int64)).tolist() == [0]


def test_the_groups_are_chosen_by_all_nodes():
    everyone = np.concatenate([np.ones(600), np.full(60, 10), np.full(6, 100)]).astype(np.int64)
    table = calibration_by_degree(
        [0.5, 0.2, 0.1], [1, 0, 0], [[0, 0], [0, 100], [1, 10]], 0.1, all_degrees=everyone
    )
    assert table.names == ["no, no", "no, many", "few, medium"]
    assert table.group_ranges == {"no": "no", "few": "1 to 9", "medium": "10 to 99", "many": "100 or more"}


def test_the_verdict_names_the_class_that_is_off_most_and_is_empty_where_none_is():
    rng = np.random.default_rng(4)
    wrong = calibration_by_degree(*_with_density(*population(rng, factor=3.0)))
    assert wrong.verdict.startswith("Links between two nodes with 50 or more training links are 2.")
    assert wrong.verdict.endswith("times). 1 of 3 classes of pairs by degree are off.")
    right = calibration_by_degree(*_with_density(*population(rng)))
    assert (right.verdict, right.worst()) == ("", None)


def test_nodes_without_training_links_have_a_sentence_of_their_own():
    rng = np.random.default_rng(6)
    p, links, degrees = population(rng, factor=3.0)
    degrees[degrees == 5] = 0
    p[(degrees == 0).any(axis=1)] /= 9.0
    table = calibration_by_degree(p, links, degrees, float(links.mean()))
    first, second, *_ = table.verdict.split(". ")
    assert first.startswith("Links between two nodes with 1 or more training links are 2.")
    assert second.startswith("Links between two nodes with no training links are") or "one with" in second
    assert table.worst(~table.linked) != table.worst(table.linked)


def test_an_error_within_a_quarter_is_not_called_off():
    rng = np.random.default_rng(5)
    table = calibration_by_degree(*_with_density(*population(rng, 2_000_000, factor=1.2)))
    assert not table.covered[2]
    assert not table.off.any()


def test_rows_are_ready_for_json_and_the_table_prints_itself():
    table = calibration_by_degree([0.5, 0.2], [1, 0], [[3, 3], [0, 0]], 0.1)
    first, second = json.loads(json.dumps(table.rows(), allow_nan=False))
    assert (first["class"], first["links"], second["class"], second["links"]) == (
        "no, no",
        0,
        "some, some",
        1,
    )
    assert "observed/predicted" in repr(table)


@pytest.mark.parametrize(
    "degrees",
    [[[1, 2]], [[1, 2], [-1, 3]], [[1.5, 2], [1, 3]], [1, 2]],
    ids=["short", "negative", "float", "flat"],
)
def test_degrees_that_are_none_are_refused(degrees):
    with pytest.raises(InputError, match="two numbers of links"):
        calibration_by_degree([0.5, 0.2], [1, 0], degrees, 0.1)


def _with_density(p, links, degrees):
    return p, links, degrees, float(links.mean())
