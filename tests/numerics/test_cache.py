"""A damaged compile cache is noticed, named and written anew, and a full disk does not end a run."""

import hashlib
import importlib
import os
import pickle
import pkgutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest

import blockmix
from blockmix.numerics.cache import CheckedFile

PROGRAM = """
    import sys, warnings
    from numba.core.caching import IndexDataCacheFile
    if "full" in sys.argv:
        def full(*_): raise OSError(28, "No space left on device")
        IndexDataCacheFile._save_index = full

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        from blockmix.numerics.special import stirling_remainder as function
        value = function(3.0)
    print(value, sum(function.stats.cache_hits.values()), *{str(warning.message) for warning in seen}, sep="|")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that computes with a kernel in a new process: value, cache hits, warnings."""
    folder = tmp_path_factory.mktemp("cache")

    def compute(*words):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM), *words],
            capture_output=True, text=True, timeout=120, check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        value, hits, *warned = done.stdout.strip().split("|")
        return float(value), int(hits), warned

    compute.folder = folder
    return compute


def files(run, ending: str) -> list[Path]:
    return sorted(run.folder.rglob(f"*{ending}"))


def test_a_whole_cache_is_used(run):
    value = run()[0]
    assert run() == (value, 1, [])
    assert files(run, ".nbi")
    assert files(run, ".nbc")


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["bit", "cut", "empty", "end"])
def test_a_damaged_file_is_named_and_its_kernel_is_compiled_again(run, ending, damage):
    value = run()[0]
    (path,) = files(run, ending)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "bit": whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :],
            "cut": whole[:middle],
            "empty": b"",
            "end": whole[:-1] + bytes([whole[-1] ^ 1]),
        }[damage]
    )
    found, hits, warned = run()
    assert (found, hits) == (value, 0)
    assert warned == [f"{path}: this file of the compile cache is damaged; its kernel is compiled again"]
    assert run() == (value, 1, [])


@pytest.mark.parametrize(
    "gone", [b"cblockmix.tables.minibatch\nNoSuchType\n", b"cblockmix.no_such_module\nType\n"]
)
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_a_file_that_names_a_type_of_another_version_is_written_anew(run, ending, gone):
    """After an update the files of the version before are still there."""
    value = run()[0]
    (path,) = files(run, ending)
    content = gone + b"."
    if ending == ".nbi":
        content = pickle.dumps(numba.__version__) + content
    path.write_bytes(content + hashlib.sha256(content).digest())
    assert run() == (value, 0, [])
    assert run() == (value, 1, [])


def test_where_the_cache_cannot_be_written_the_run_goes_on(run):
    for path in files(run, ".nb?"):
        path.unlink()
    value, hits, warned = run("full")
    assert hits == 0
    assert len(warned) == 1
    assert "cannot be kept (No space left on device); it will be compiled again next time" in warned[0]
    assert run()[0] == value


def test_types_that_have_another_name_by_now_are_compiled_again(tmp_path):
    """As after an upgrade: what was compiled for the earlier version stays beside the new files."""
    module = tmp_path / "renamed.py"
    source = (
        "from typing import NamedTuple\nimport numpy as np\nfrom blockmix.numerics.compile import kernel\n"
        "class {0}(NamedTuple):\n    size: float\n"
        "@kernel\ndef double(it):\n    return 2.0 * it.size\n"
        "print(double({0}(4.0)), sum(double.stats.cache_hits.values()))\n"
    )
    for name, hits in (("Old", 0), ("Old", 1), ("Renamed", 0), ("Renamed", 1)):
        module.write_text(source.format(name))
        os.utime(module, (len(name), len(name)))
        done = subprocess.run(
            [sys.executable, "-c", "import renamed"], capture_output=True, text=True, timeout=120, check=False,
            cwd=tmp_path, env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )  # fmt: skip
        assert done.stdout.split() == ["8.0", str(hits)], done.stderr[-2000:]


def test_every_kernel_that_is_cached_is_compared_with_its_checksum():
    """numba's own cache file loads whatever is there."""
    unchecked = []
    for found in pkgutil.walk_packages(blockmix.__path__, "blockmix."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            cache = getattr(value, "_cache", None)
            if hasattr(cache, "_cache_file") and not isinstance(cache._cache_file, CheckedFile):
                unchecked.append(f"{module.__name__}.{name}")
    assert not unchecked
