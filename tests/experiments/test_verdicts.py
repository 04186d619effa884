"""Truth tables: every verdict on either side of its boundary, on the boundary, and with figures missing.

Limits are written out as numbers, so that a changed constant is noticed. Lines marked "documented" have the figures of
docs/experiments/claims.md that come from curves; test_committed.py judges the others again.
"""

import inspect
from importlib import import_module

import pytest

from blockmix.experiments import FIGURES, figure, figure1, figure2, figure3, figure4, figure5, figure6
from blockmix.experiments.trial import Outcome, Trial

NAN, INF = float("nan"), float("inf")
YES, NO, OPEN = True, False, None


def ran(converged):
    """An outcome that had converged, rows and all (1), or not (0), or of a table that does not say."""
    known = {} if converged is None else {"converged": converged, "rows_settled": converged}
    return Outcome(Trial("figure1", "p", "n", 2, "m", "scir", 1, 1.0), {}, known)


# function: rows of its arguments, then the verdict
TABLES = {
    figure.decide: [(True, 1.0, YES), (False, 1.0, NO), (True, 1.0, NAN, OPEN), (False, NAN, OPEN), (True, INF, YES)],
    figure.all_of: [
        ([True, True], YES), ([True, False], NO), ([True, None], OPEN), ([False, None], NO), ([None, False], NO),
        ([], OPEN),
    ],
    figure.best_or_near: [
        ({1: 2.0, 2: 2.5}, 1, YES),
        ({1: 2.0, 2: 2.0}, 2, YES),
        # hardly lower: up to 1%
        ({1: 2.0, 2: 2.02}, 2, OPEN), ({1: 2.0, 2: 2.0201}, 2, NO),
        ({1: 2.0, 2: NAN}, 1, OPEN), ({1: NAN, 2: 2.0}, 1, OPEN), ({}, 1, OPEN),
    ],
    figure1.in_comparable_time: [
        # three times as long, where cgs takes 0.1 s or more
        (1.5, 0.5, YES), (1.51, 0.5, NO), (0.3, 0.1, YES), (0.301, 0.1, NO), (0.3, 0.001, YES), (0.31, 0.001, NO),
        (INF, 0.2, NO), (INF, INF, NO), (1.0, INF, YES), (NAN, 1.0, OPEN), (1.0, NAN, OPEN),
        (0.024, 0.014, YES), (INF, 0.014, NO),  # documented
    ],
    figure1.much_slower: [
        (3.01, 1.0, 5.0, YES), (3.0, 1.0, 5.0, NO), (3.01, 5.0, 1.0, YES), (INF, 1.0, INF, YES), (INF, INF, INF, NO),
        (NAN, 1.0, 1.0, OPEN), (9.0, 1.0, NAN, OPEN),
        (0.011, 0.014, 0.024, NO), (0.011, 0.014, INF, NO),  # documented
    ],
    figure1.faster: [
        (0.99, 1.0, 2.0, YES), (1.0, 1.0, 2.0, NO), (1.5, 2.0, 1.0, NO), (INF, INF, INF, NO), (1.0, INF, INF, YES),
        (NAN, 1.0, 2.0, OPEN), (0.5, NAN, 2.0, OPEN),
        (INF, 11.0, 3.9, NO),  # documented
    ],
    figure1.negligible_error: [
        # 3% above the better one of two
        (2.05, 2.0, 3.0, YES), (2.06, 2.0, 3.0, NO), (2.07, 2.0, 3.0, NO), (2.05, 3.0, 2.0, YES), (1.0, 2.0, 2.0, YES),
        (NAN, 2.0, 2.0, OPEN), (2.0, 2.0, NAN, OPEN),
    ],
    figure2.grows_slightly: [
        ([1.0, 2.5], YES), ([1.0, 2.51], NO), ([NAN, 1.0], OPEN), ([NAN, 3.0], NO), ([], OPEN),
    ],
    figure2.grows_linearly: [
        ([33.0, 10.0], YES), ([33.0, 9.99], NO), ([NAN, 33.0], OPEN), ([NAN, 3.0], NO), ([], OPEN),
    ],
    figure2.gap_widens: [
        ([2.0, 3.0], [1.9, 2.9], YES), ([2.0, 3.0], [1.9, 3.0], NO), ([2.0, 3.0], [2.1, 2.0], NO),
        ([NAN, 3.0], [1.0, 2.0], OPEN), ([2.0, 3.0], [1.0, NAN], OPEN), ([], [], OPEN),
    ],
    figure2.nearly_constant: [
        ([10.0, 20.0], [25.0, 20.0], YES), ([10.0, 20.0], [25.1, 20.0], NO), ([10.0, 10.0], [10.0, 26.0], NO),
        ([NAN], [1.0], OPEN), ([1.0], [NAN], OPEN), ([], [], OPEN),
    ],
    figure3.little_lost: [
        ([1.0, 2.3], [1.0, 2.0], YES), ([1.0, 2.32], [1.0, 2.0], NO), ([0.5], [1.0], YES),
        ([NAN, 1.0], [1.0, 1.0], OPEN), ([1.0], [NAN], OPEN), ([NAN, 2.0], [1.0, 1.0], NO), ([], [], OPEN),
    ],
    figure3.much_faster: [
        ([0.99, 1.0], [2.0, 4.0], YES), ([1.0, 1.0], [2.0, 4.0], NO), ([0.1, 3.0], [2.0, 4.0], NO),
        ([INF], [INF], NO), ([1.0], [INF], YES), ([NAN], [4.0], OPEN), ([1.0], [NAN], OPEN), ([], [], OPEN),
        ([0.039, 0.14, 1.7, 0.78, 1.1], [0.025, 0.051, 0.21, 0.24, 0.43], NO),  # documented
    ],
    figure3.as_good: [
        ([2.1, 1.0], [2.0, 1.0], YES), ([2.11, 1.0], [2.0, 1.0], NO), ([1.0], [2.0], YES),
        ([NAN], [2.0], OPEN), ([2.0], [NAN], OPEN), ([], [], OPEN),
    ],
    figure3.in_order: [
        ([1.0, 2.0], [1.0, 2.1], YES), ([1.0, 2.0], [1.0, 1.9], NO), ([1.0], [2.0], [3.0], YES),
        ([1.0], [3.0], [2.0], NO), ([2.0], [1.0], [3.0], NO), ([1.0], [1.0], [1.0], YES),
        ([NAN], [1.0], OPEN), ([1.0], [NAN], OPEN), ([1.0], [2.0], [NAN], OPEN), ([2.0], [1.0], [NAN], NO),
    ],
    figure3.best_inside: [
        ([2.0, 1.0, 2.0], YES), ([1.0, 2.0, 3.0], NO), ([3.0, 2.0, 1.0], NO),
        # as low at an end as inside
        ([1.0, 1.0, 2.0], NO), ([2.0, 1.0, 1.0], NO), ([1.0, 2.0, 1.0], NO), ([1.0], NO), ([2.0, NAN, 2.0], OPEN),
    ],
    figure3.stable: [
        ([2.0, 2.0], [2.0, 2.29], YES), ([2.0, 2.0], [2.0, 2.3], NO), ([2.3, 2.0], [2.0, 2.0], NO),
        ([2.29], [2.0], YES), ([NAN], [1.0], OPEN), ([1.0], [NAN], OPEN), ([NAN, 2.0], [1.0, 1.0], NO), ([], [], OPEN),
    ],
    figure4.ahead: [
        ([1.0, 2.0], [1.0, 2.1], YES), ([1.0, 2.0], [1.0, 1.9], NO), ([1.0], [2.0], [3.0], YES),
        # not in order among themselves, but both above
        ([1.0], [3.0], [2.0], YES), ([1.0], [2.0], [0.9], NO), ([NAN], [1.0], OPEN), ([1.0], [2.0], [NAN], OPEN),
        ([5.98, 32.80, 12.94, 23.77], [3.73, 17.39, 9.19, 19.60], [3.10, 13.20, 9.98, 4.08], NO),  # documented
        ([3.73, 17.39, 9.19, 19.60], [3.10, 13.20, 9.98, 4.08], NO),  # documented
        ([3.23, 9.34, 7.52, 8.80], [3.10, 13.20, 9.98, 4.08], NO),  # documented
    ],
    figure4.ends_below: [
        ([2.02, 1.0], [2.0, 1.0], YES), ([2.03, 1.0], [2.0, 1.0], NO), ([NAN], [1.0], OPEN), ([1.0], [NAN], OPEN),
        ([], [], OPEN),
    ],
    figure4.much_lower: [
        ([1.79, 1.0], [2.0, 2.0], YES), ([1.8, 1.0], [2.0, 2.0], NO), ([1.0, 1.9], [2.0, 2.0], NO),
        ([NAN], [1.0], OPEN), ([1.0], [NAN], OPEN), ([], [], OPEN),
    ],
    figure4.far_larger: [
        ([2.01, 9.0], [1.0, 1.0], YES), ([2.0, 9.0], [1.0, 1.0], NO), ([9.0, 1.0], [1.0, 1.0], NO),
        ([NAN], [1.0], OPEN), ([9.0], [NAN], OPEN), ([], [], OPEN),
    ],
    figure5.falls: [
        ([0.6, 0.5], [0.59, 0.1], YES), ([0.6, 0.5], [0.6, 0.1], NO), ([0.6, 0.5], [0.1, 0.6], NO),
        ([NAN], [0.1], OPEN), ([0.6], [NAN], OPEN), ([], [], OPEN),
    ],
    figure5.tenth_to_fifth: [
        ([0.1, 0.2], YES), ([0.1, 0.201], NO), ([0.099, 0.15], NO), ([NAN, 0.1], OPEN), ([NAN, 0.3], NO), ([], OPEN),
        ([0.018, 0.164], NO),  # documented
    ],
    figure.if_converged: [
        (True, [ran(1.0), ran(1.0)], YES), (False, [ran(1.0)], NO), (True, [ran(1.0), ran(0.0)], OPEN),
        (False, [ran(0.0)], OPEN), (None, [ran(1.0)], OPEN), (True, [ran(None)], YES), (True, [], YES),
    ],
    figure.if_rows_settled: [
        (True, [ran(1.0), ran(1.0)], YES), (False, [ran(1.0)], NO), (True, [ran(1.0), ran(0.0)], OPEN),
        (False, [ran(0.0)], OPEN), (True, [ran(None)], YES),
    ],
    figure5.high_thresholds_best: [
        ({0.5: 3.0, 0.7: 2.0, 0.9: 2.0, 1.0: 1.0}, YES), ({0.5: 3.0, 0.7: 2.0, 0.9: 2.01, 1.0: 1.0}, NO),
        ({0.5: 2.0, 0.7: 3.0, 0.9: 1.0, 1.0: 2.01}, NO), ({0.5: 2.0, 0.7: NAN, 0.9: 1.0, 1.0: 1.0}, OPEN),
        ({0.5: 2.0, 0.7: 2.0, 0.9: NAN, 1.0: 1.0}, OPEN),
    ],
    figure5.trades_accuracy_for_time: [
        ({0.5: 1.0, 1.0: 2.0}, {0.5: 4.0, 1.0: 3.0}, YES), ({0.5: 2.0, 1.0: 2.0}, {0.5: 4.0, 1.0: 3.0}, NO),
        ({0.5: 1.0, 1.0: 2.0}, {0.5: 3.0, 1.0: 3.0}, NO), ({0.5: 3.0, 1.0: 2.0}, {0.5: 2.0, 1.0: 3.0}, NO),
        ({0.5: NAN, 1.0: 2.0}, {0.5: 4.0, 1.0: 3.0}, OPEN), ({0.5: 1.0, 1.0: NAN}, {0.5: 4.0, 1.0: 3.0}, OPEN),
        ({0.5: 1.0, 1.0: 2.0}, {0.5: NAN, 1.0: 3.0}, OPEN), ({0.5: 1.0, 1.0: 2.0}, {0.5: 4.0, 1.0: NAN}, OPEN),
    ],
    figure5.about_half: [
        ([0.1, 0.6], YES), ([0.1, 0.601], NO), ([NAN, 0.1], OPEN), ([NAN, 0.7], NO), ([], OPEN),
    ],
    figure6.performs_well: [
        ({2: 2.0, 5: 2.1}, [5], YES), ({2: 2.0, 5: 2.11}, [5], NO), ({2: 2.0, 5: 2.11}, [2], YES),
        ({2: 2.0, 5: 2.11}, [2, 5], NO), ({2: NAN, 5: 2.0}, [5], OPEN), ({2: 2.0, 5: NAN}, [2], OPEN),
        ({2: 2.0}, [], OPEN),
    ],
    figure6.within_bound: [
        ([25.0, 625.0], YES), ([25.0, 625.1], NO), ([NAN, 1.0], OPEN), ([NAN, 900.0], NO), ([], OPEN),
    ],
}  # fmt: skip
ROWS = [(function, row[:-1], row[-1]) for function, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    ROWS,
    ids=[f"{f.__module__.rpartition('.')[2]}.{f.__name__}{a}" for f, a, _ in ROWS],
)
def test_a_verdict_is_what_its_table_says(function, arguments, expected):
    assert function(*arguments) is expected


def test_every_verdict_has_a_table_with_all_three_answers():
    modules = [figure, *(import_module(f"blockmix.experiments.{name}") for name in FIGURES)]
    verdicts = {
        function
        for module in modules
        for function in vars(module).values()
        if inspect.isfunction(function)
        and function.__annotations__.get("return") == "bool | None"
        and not function.__name__.startswith("_")
    }
    assert verdicts == TABLES.keys()
    for function, rows in TABLES.items():
        assert {row[-1] for row in rows} == {True, False, None}, function


@pytest.mark.parametrize(
    ("corrected", "printed", "holds", "counts"),
    [
        ([YES, YES], [YES, NO], "holds; as printed, does not hold", "2, 0, 0; as printed 1, 1, 0"),
        # one setting against it decides, whatever others had not come to
        (
            [NO, OPEN, OPEN],
            [OPEN, YES],
            "does not hold; as printed, undecided",
            "0, 1, 2; as printed 1, 0, 1",
        ),
        ([OPEN], [OPEN], "undecided", "0, 0, 1; as printed 0, 0, 1"),
    ],
)
def test_a_claim_holds_if_it_holds_in_every_setting_and_says_in_how_many(corrected, printed, holds, counts):
    made = figure.judged("claim", "paper", "measured", iter(corrected), iter(printed))
    assert made == ("claim", "paper", f"measured; settings for it, against it, undecided: {counts}", holds)


@pytest.mark.parametrize(
    ("corrected", "printed", "text"),
    [
        (YES, YES, "holds"),
        (NO, NO, "does not hold"),
        (OPEN, OPEN, "undecided"),
        (NO, YES, "does not hold; as printed, holds"),
        (OPEN, NO, "undecided; as printed, does not hold"),
    ],
)
def test_a_verdict_names_the_printed_form_where_it_differs(corrected, printed, text):
    assert figure.in_both_forms(corrected, printed) == text
