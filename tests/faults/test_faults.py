"""A disk that fails and a process that is killed at any operation on a file lose nothing that was kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INJECT = Path(__file__).with_name("inject.py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds the names of open files in /proc"),
]


@pytest.mark.parametrize("how", ["--fail", "--kill"])
def test_every_operation_on_a_file_may_fail_or_be_the_last(how):
    done = subprocess.run(
        [sys.executable, INJECT, how],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["new run", "extended run"]
    if how == "--fail":
        # All kinds of operations were met: a way to write that the script does not know of would not be counted.
        for kind in ("write", "sync", "rename", "replace"):
            assert all(f"'{kind}':" in line for line in lines), lines
