"""The verdicts of several runs in one table."""

import pytest

from blockmix.errors import InputError
from blockmix.experiments.figure import Claim
from blockmix.experiments.run import _claims_table, side_by_side


def write(folder, figure, *claims):
    folder.mkdir(exist_ok=True)
    rows = [Claim(claim, "words | of it", "1.0 | 2.0", verdict) for claim, verdict in claims]
    (folder / f"{figure}.md").write_text(_claims_table("Title", rows), "utf-8")


def test_claims_keep_their_order_and_what_a_run_has_not_is_said(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, "figure2", ("b", "holds"), ("a | c", "undecided"))
    write(other, "figure2", ("b", "does not hold"), ("d", "holds"))
    write(other, "figure1", ("z", "holds; as printed, undecided"))
    lines = side_by_side({"random": one, "partition": other}).splitlines()
    assert lines == [
        "| figure | claim | random | partition |",
        "|---|---|---|---|",
        "| 1 | z | not run | holds; as printed, undecided |",
        "| 2 | b | holds | does not hold |",
        "| 2 | a \\| c | undecided | not run |",
        "| 2 | d | not run | holds |",
    ]


def test_folders_without_claims_are_an_error(tmp_path):
    with pytest.raises(InputError, match="no claims in"):
        side_by_side({"random": tmp_path})
