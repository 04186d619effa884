"""Short fits leave the same bits as when golden.json was written: a move of code that changes a result is noticed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import cases
import renew

GOLDEN = json.loads(renew.FILE.read_text("utf-8"))
# On another processor or with other libraries sums are rounded differently in their last bits. The chains are short,
# so that a draw is next to never decided by that, and sums of absolute values and of squares agree to:
OTHER_ROUNDING = 1e-4


def compare(found, golden):
    """Every bit where numbers are rounded as they were then; elsewhere sizes and sums."""
    assert found.digests.keys() == golden["digests"].keys()
    if renew.environment() == GOLDEN["environment"]:
        changed = [name for name, digest in found.digests.items() if digest != golden["digests"][name]]
        assert not changed, f"not the bits of golden.json: {changed}"
    for name, numbers in found.numbers.items():
        np.testing.assert_allclose(
            numbers, golden["numbers"][name], rtol=OTHER_ROUNDING, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("name", cases.FITS)
def test_a_short_fit_leaves_the_same_bits_as_ever(name, tmp_path):
    compare(cases.fit_findings(name, tmp_path), GOLDEN["cases"][name])


def test_the_command_line_writes_the_same_files_as_ever(tmp_path):
    compare(cases.command_line_findings(tmp_path), GOLDEN["cases"]["command line"])
