"""The fuzzer of folders finds nothing, and would notice a check that is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz

FUZZ = Path(__file__).with_name("fuzz.py")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="pipes and links are made with POSIX calls"),
]


def fuzz_in_a_process(*words: object) -> subprocess.CompletedProcess:
    """Run the fuzzer in a process of its own: a crash must not take the tests with it."""
    command = [sys.executable, FUZZ, "--seed", 7, *words]
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=600, check=False
    )


def fuzzed(cases: int, kind: str) -> None:
    done = fuzz_in_a_process("--cases", cases, "--kind", kind)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    ("check", "files"),
    [
        ("check_posterior", "^posterior/"),
        ("check_summary", "summary"),
        ("check_words", "state_words"),
        ("check_start", "start/manifest"),
    ],
)
def test_the_fuzzer_finds_out_that_a_check_is_missing(check, files):
    """Within fifty cases that change what the check is for; docs/lab-notes.md has the other checks."""
    done = fuzz_in_a_process("--cases", 50, "--without", check, "--only", files, "--first", "--seconds", 10)
    # A kernel that is led astray may end the process before anything is printed.
    assert done.returncode < 0 or (done.returncode == 1 and "case 7-" in done.stdout), (
        done.stdout + done.stderr[-500:]
    )


def test_two_hundred_changed_folders_end_with_a_result_or_an_error():
    fuzzed(200, "scir")


def test_changed_folders_of_all_samplers_and_models_end_with_a_result_or_an_error():
    fuzzed(16 * len(fuzz.KINDS), "all")
