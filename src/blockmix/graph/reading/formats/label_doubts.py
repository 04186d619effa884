"""What labels may not have meant: words for no value or for sums, one name in two spellings, several names in one.

All of them are labels like any other, and only the user knows; each function returns remarks for the summary.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import readable
from blockmix.graph.labels import Labels

# What programs write into a cell without a value, and below a column of numbers.
NO_VALUE = (
    "nan", "NaN", "NAN", "null", "NULL", "None", "NA", "N/A", "#N/A", "<NA>", "undefined", "\\N", "-", "(blank)",
    "(null)", "(Leer)",
)  # fmt: skip
SUMS = ("Total", "total", "TOTAL", "Grand Total", "Sum", "Gesamt", "Gesamtergebnis", "Summe")
ODD_WORDS = (*NO_VALUE, *SUMS)
# Labels are compared in networks of up to so many nodes: a tenth of a second.
MOST_COMPARED = 50_000
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# As Excel shows whole numbers of twelve digits and more; their last digits are lost.
_SHORTENED = re.compile(r"\d([.,]\d+)?E\+\d{2}")
# Longer labels are no spellings of a number.
_LONGEST_NUMBER = 40
# Other labels than whole numbers are remarked where they are so few, and so many times fewer than these, which are so
# many.
_FEW, _TIMES, _FEWEST_NUMBERS = 5, 3, 10
_MARKS = (";", "|", ",")


def odd_words(offsets: NDArray[np.int64], text: NDArray[np.uint8]) -> list[tuple[str, int]]:
    """Return the labels among these that stand for no value or for a sum, and which of them they are."""
    lengths = np.diff(offsets)
    found = []
    for word in ODD_WORDS:
        same = np.flatnonzero(lengths == len(word))
        for letter, byte in enumerate(word.encode()):
            same = same[text[offsets[same] + letter] == byte]
        found += [(word, int(node)) for node in same]
    return found


def odd_word(word: str, degree: int) -> str:
    """Return the remark about a node whose label stands for no value or for a sum."""
    links = "1 link" if degree == 1 else f"{degree:,} links"
    if word in SUMS:
        return f"a node is called {word!r} ({links}): if it is a line of sums, remove it"
    return f"a node is called {word!r} ({links}): if these cells have no value, remove their lines"


def about_labels(labels: Labels) -> list[str]:
    """Return remarks on text labels: alike ones, lists of names, decimals, and words among whole numbers."""
    notes = words_among_numbers(labels)
    if len(labels) <= MOST_COMPARED:
        listed = list(map(str, labels))
        notes += [
            note
            for look in (alike, _several_names, _shortened, _decimals, _with_comments)
            for note in look(listed)
        ]
    return notes


def words_among_numbers(labels: Labels) -> list[str]:
    """Name the labels that are no whole numbers where nearly all are: a heading, a footer or a damaged cell.

    >>> words_among_numbers(Labels.from_text([*map(str, range(1, 20)), "Sources"]))
    ["all labels but 'Sources' are whole numbers: if it names no node, remove its lines"]
    """
    offsets, text = labels.text_offsets, labels.text
    if offsets is None or text is None:
        return []
    others = np.concatenate(([0], np.cumsum((text < ord("0")) | (text > ord("9")))))
    words = np.flatnonzero(others[offsets[1:]] > others[offsets[:-1]])
    numbers = len(labels) - len(words)
    if numbers < _FEWEST_NUMBERS or not 0 < len(words) <= min(_FEW, numbers // _TIMES):
        return []
    shown = ", ".join(readable(str(labels[int(node)])) for node in words)
    one = len(words) == 1
    return [
        f"all labels but {shown} are whole numbers: if {'it names no node' if one else 'they name no nodes'}, remove "
        f"{'its' if one else 'their'} lines"
    ]


def alike(labels: list[str]) -> list[str]:
    """Name labels that differ only in capital letters, in blanks, in how characters or in how numbers are written."""
    first: dict[str, str] = {}
    pairs = []
    for label in labels:
        other = first.setdefault(_as_read(label), label)
        if other != label:
            pairs.append((other, label))
    if not pairs:
        return []
    count = "one label looks" if len(pairs) == 1 else f"{len(pairs):,} labels look"
    # Codes of characters that are not ASCII show what differs where the characters look the same.
    one, other = (readable(label.encode("unicode_escape").decode()) for label in pairs[0])
    return [
        f"{count} like another one, as {one} and {other}: if they are one node, write them in the same way"
    ]


def _as_read(label: str) -> str:
    """Return what a reader sees in a label: without case, blanks at its ends, and what is not shown.

    >>> _as_read(" Ann  Lee") == _as_read("ann lee\\u200b"), _as_read("e\\u0301") == _as_read("\\u00e9")
    (True, True)
    >>> _as_read("007") == _as_read("7.0")
    True
    """
    if not label.isascii():
        label = unicodedata.normalize("NFKC", label)
        label = "".join(c for c in label if unicodedata.category(c) != "Cf")
    label = label.strip()
    if len(label) <= _LONGEST_NUMBER and re.fullmatch(r"[+-]?\d+(\.0*)?", label, re.ASCII):
        return str(int(label.split(".")[0]))
    return " ".join(label.casefold().split())


def _several_names(labels: list[str]) -> list[str]:
    """Name labels that look like lists, such as "bob; cem", where their parts are labels or in several of them."""
    known = set(labels)
    for mark in _MARKS:
        lists = [
            label for label in labels if mark in label and all(part.strip() for part in label.split(mark))
        ]
        if not lists:
            continue
        parts = [{part.strip() for part in label.split(mark)} for label in lists]
        often = Counter(part for names in parts for part in names) if mark != "," else Counter()
        found = [
            label for label, names in zip(lists, parts, strict=True)
            if names & known or any(often[name] > 1 for name in names)
        ]  # fmt: skip
        if found:
            count = "1 label looks" if len(found) == 1 else f"{len(found):,} labels look"
            return [
                f"{count} like several names, such as {readable(found[0])}: if they are several nodes, write one link "
                "a line"
            ]
    return []


def _shortened(labels: list[str]) -> list[str]:
    found = [label for label in labels if len(label) < _LONGEST_NUMBER and _SHORTENED.fullmatch(label)]
    if not found:
        return []
    return [
        f"labels such as {readable(found[0])} are long numbers without their last digits, as Excel writes them: "
        "several nodes may have become one; export the column as text"
    ]


def _decimals(labels: list[str]) -> list[str]:
    """Say that most labels are numbers with decimals, which coordinates and measurements are, and names are not."""
    found = [label for label in labels if len(label) <= _LONGEST_NUMBER and _is_fraction(label)]
    if 2 * len(found) < len(labels) or len(found) < 2:
        return []
    return [
        f"labels such as {readable(found[0])} are numbers with decimals: if these columns hold no labels, name the two "
        "that do (columns)"
    ]


def _with_comments(labels: list[str]) -> list[str]:
    """Name a label with a # behind a blank: a comment, which ends no line of a table with commas."""
    found = next((label for label in labels if " #" in label.strip()), None)
    if found is None:
        return []
    return [f"a label has a # in it, {readable(found)}: comments stand on lines of their own"]


def _is_fraction(label: str) -> bool:
    if not label.isascii() or not _DECIMAL.fullmatch(label):
        return False
    return "." in label and label.split(".")[1].strip("0") != "" and _SHORTENED.fullmatch(label) is None
