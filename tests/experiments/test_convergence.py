"""Truth tables of the rule for converged runs: on either side of each limit, and with scores missing."""

import math

import pytest

from blockmix.experiments.convergence import has_moved, is_level, is_settled, with_convergence
from blockmix.experiments.trial import Outcome, Trial, null_perplexity

NAN, INF = float("nan"), float("inf")
TIMES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize(
    ("scores", "settled"),
    [
        ([9.0, 8.0, 5.0, 3.0, 3.05, 3.0], True),
        # 2% of the last score, above and below it
        ([9.0, 8.0, 5.0, 3.059, 3.0, 3.0], True), ([9.0, 8.0, 5.0, 3.061, 3.0, 3.0], False),
        ([9.0, 8.0, 5.0, 2.941, 3.0, 3.0], True), ([9.0, 8.0, 5.0, 2.939, 3.0, 3.0], False),
        # only the last third counts: 4 s and later
        ([9.0, 8.0, 9.0, 3.0, 3.0, 3.0], True),
        ([9.0, 8.0, 5.0, 3.2, 3.1, 3.0], False),
        ([9.0, 5.0, 3.0, NAN, 3.0, 3.0], False), ([9.0, 5.0, 3.0, 3.0, 3.0, INF], False),
        ([NAN, NAN, NAN, 3.0, 3.0, 3.0], True),
    ],
)  # fmt: skip
def test_a_run_has_settled_if_its_last_third_is_level(scores, settled):
    assert is_settled(TIMES, scores) is settled


@pytest.mark.parametrize(
    ("lengths", "level"),
    [
        # the sixth that ends at 5 s has the value at 4 s, the last one those at 5 and 6 s
        ([9.0, 8.0, 7.0, 1.0, 1.0, 1.0], True), ([9.0, 8.0, 7.0, 1.019, 0.9, 1.1], True),
        ([9.0, 8.0, 7.0, 1.021, 0.9, 1.1], False), ([9.0, 8.0, 7.0, 0.981, 1.1, 0.9], True),
        ([9.0, 8.0, 7.0, 0.979, 1.1, 0.9], False), ([1.0, 1.0, 1.0, 1.0, 0.9, 0.8], False),
        ([1.0, 1.0, 1.0, NAN, 1.0, 1.0], False), ([1.0, 1.0, 1.0, 1.0, 1.0, NAN], False),
    ],
)  # fmt: skip
def test_rows_are_level_if_the_means_of_the_last_two_sixths_agree(lengths, level):
    assert is_level(TIMES, lengths) is level


def test_rows_seen_in_one_of_the_last_two_sixths_alone_are_not_level():
    assert not is_level([1.0, 2.0, 6.0], [1.0, 1.0, 1.0])
    assert not is_level([1.0, 4.5, 4.9], [1.0, 1.0, 1.0])


def test_a_run_with_a_single_late_score_has_not_settled():
    assert not is_settled([1.0], [3.0])
    assert not is_settled([1.0, 2.0, 6.0], [9.0, 3.0, 3.0])


@pytest.mark.parametrize(
    ("last", "null", "best", "moved"),
    [
        # half way, in logarithms, from 8 to 2 is 4
        (3.99, 8.0, 2.0, True), (4.0, 8.0, 2.0, False), (4.01, 8.0, 2.0, False), (2.0, 8.0, 2.0, True),
        # the curve never moved, whatever others do
        (8.0, 8.0, 2.0, False), (18.0, 8.0, 2.0, False),
        # the best run has found communities below 90% of a prediction without, and not at it
        (7.1, 8.0, 7.1, True), (7.2, 8.0, 7.2, False), (8.0, 8.0, 8.0, False),
        # lmc as printed on US-AIR, settled at an AUC of 0.77 where others have 0.93
        (4.82, 7.5, 2.96, False),
        (NAN, 8.0, 2.0, False), (INF, 8.0, 2.0, False), (NAN, 8.0, INF, False),
    ],
)  # fmt: skip
def test_a_run_has_moved_if_it_is_nearer_to_the_best_than_to_knowing_nothing(last, null, best, moved):
    assert has_moved(last, null, best) is moved


def outcome(method, last, seed=1, network="n", k=4):
    """A run that has settled at this score, where a prediction without communities has 8."""
    trial = Trial("figure1", "p", network, k, method, "scir", seed, 6.0)
    trace = {"seconds": TIMES, "perplexity": [9.0, 8.5, last, last, last, last]}
    return Outcome(trial, trace, {"perplexity": last, "null_perplexity": 8.0})


def converged(outcomes):
    return [found.figures["converged"] for found in with_convergence(outcomes)]


def test_runs_are_compared_with_the_best_of_their_own_split_network_and_communities():
    stuck, good = outcome("a", 5.0), outcome("b", 2.0)
    assert converged([stuck, good]) == [0.0, 1.0]
    assert converged([stuck]) == [1.0], "nothing better is known"
    for other in ({"seed": 2}, {"network": "m"}, {"k": 5}):
        assert converged([stuck, outcome("b", 2.0, **other)]) == [1.0, 1.0]
    assert converged([stuck, outcome("b", NAN)]) == [1.0, 0.0]
    assert converged([outcome("b", NAN)]) == [0.0]


def test_a_run_that_still_moves_has_not_converged_though_it_is_the_best():
    falling = outcome("a", 2.0)
    falling.trace["perplexity"][-1] = 1.9
    assert converged([falling]) == [0.0]


def test_the_prediction_without_communities_is_that_of_the_density():
    assert null_perplexity(0.01, 0.5) == pytest.approx(math.sqrt(1 / 0.01 / 0.99))
    assert null_perplexity(0.2, 1.0) == pytest.approx(5.0)


def test_rows_have_settled_where_the_memory_is_level_at_the_end():
    """Of methods that have a memory ratio, by the same rule as the perplexity."""
    level, falling = [0.9, 0.5, 0.4, 0.3, 0.3, 0.3], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    trial = Trial("figure2", "p", "n", 2, "m", "sgmc-m", 1, 6.0)
    figures = {"perplexity": 3.0, "null_perplexity": 9.0}
    made = [
        Outcome(trial, {"seconds": TIMES, "perplexity": [3.0] * 6, **more}, dict(figures))
        for more in ({"memory_ratio": level}, {"memory_ratio": falling}, {})
    ]
    assert [o.figures.get("rows_settled") for o in with_convergence(made)] == [1.0, 0.0, None]
