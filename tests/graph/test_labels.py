"""Labels are the user's own, end to end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockmix.errors import InputError
from blockmix.graph.labels import Labels, canonical_integer
from blockmix.graph.reading.intern import Interner

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=6), max_size=30)


@pytest.mark.parametrize(
    ("values", "kind"),
    [([0, 1, 2], "range"), ([5, 3], "integer"), (["a", "b"], "text"), ([], "text"), ([2**63, 1], "text")],
)
def test_the_kind_follows_the_values(values, kind):
    labels = Labels.of(values)
    assert labels.kind == kind
    assert len(labels) == len(values)
    assert [str(label) for label in labels] == [str(value) for value in values]


@given(TEXTS.map(lambda texts: list(dict.fromkeys(texts))))
def test_text_labels_come_back(values):
    labels = Labels.from_text(values)
    assert list(labels) == values
    assert [labels[i] for i in range(len(values))] == values
    assert labels.indices(values).tolist() == list(range(len(values)))


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4))
def test_interning_numbers_texts_by_first_appearance(batches):
    table = Interner()
    numbers: dict[str, int] = {}
    for batch in batches:
        expected = [numbers.setdefault(text, len(numbers)) for text in batch]
        assert table.add_texts(batch).tolist() == expected
    assert list(table.labels()) == list(numbers)


def test_interning_grows_past_its_first_size():
    texts = [f"node number {i}" for i in range(5000)]
    table = Interner()
    assert table.add_texts(texts + texts[::-1]).tolist() == [*range(5000), *range(4999, -1, -1)]
    assert list(table.labels()) == texts


def test_integer_labels_are_found_as_numbers_or_text():
    labels = Labels.of([30, -1, 20])
    assert labels.index(20) == 2
    assert labels.index("-1") == 1
    assert labels.indices(np.array([30, 20])).tolist() == [0, 2]
    assert labels.indices(["30", 20, np.int8(-1), 30.0]).tolist() == [0, 2, 1, 0]
    assert Labels.range(3).index("2") == 2


@pytest.mark.parametrize("label", [7, "7", "030", "ann", 30.5, float("nan"), 2**64, None, -1])
def test_a_label_that_is_not_there_is_named(label):
    for labels in (Labels.of([30, 20]), Labels.range(3), Labels.of(["x", "y"]), Labels.range(0)):
        with pytest.raises(InputError, match="no node is labelled"):
            labels.index(label)


@pytest.mark.parametrize("values", [[1, 5, 1], ["a", "b", "a"], np.array([4, 4])])
def test_two_nodes_cannot_share_a_label(values):
    with pytest.raises(InputError, match="given to two nodes"):
        Labels.of(values)


def test_labels_do_not_follow_the_array_they_came_from():
    values = np.array([9, 4])
    labels = Labels.of(values)
    values[0] = 1
    assert list(labels) == [9, 4]


def test_positions_behave_like_those_of_a_sequence():
    labels = Labels.of(["a", "b"])
    assert labels[-1] == "b"
    with pytest.raises(IndexError):
        labels[2]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("0", 0), ("-7", -7), (str(2**63 - 1), 2**63 - 1), (str(-(2**63)), -(2**63)), (str(2**63), None)),
        *((text, None) for text in ("-0", "01", "+1", "1 ", "", "１")),
    ],
)
def test_only_the_canonical_spelling_is_an_integer(text, value):
    assert canonical_integer(text) == value
