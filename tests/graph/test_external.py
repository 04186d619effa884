"""A converted network is the one that reading and saving gives, file by file, whole or not at all."""

import bz2
import errno
import gzip
import json
import lzma
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from blockmix.cli.app import app
from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.accept import as_graph
from blockmix.graph.external import convert as converting
from blockmix.graph.external import sorting, spill
from blockmix.graph.external.convert import convert, memory_of
from blockmix.graph.external.sorting import Sorter
from blockmix.graph.external.spill import Budget, Spill
from blockmix.graph.graph import Graph
from blockmix.graph.reading import source
from blockmix.graph.reading.read import read_graph

# Parts of a few dozen numbers: everything is cut into many runs and streams.
TINY = Budget(sorting=400, tables=600, window=320, buffers=64)
LEAST = 4


@pytest.fixture(params=["as it is", "tiny"])
def limits(request, monkeypatch):
    if request.param == "tiny":
        make_tiny(monkeypatch)


def make_tiny(monkeypatch):
    monkeypatch.setattr(converting.Budget, "of", lambda memory: TINY)
    monkeypatch.setattr(sorting.Sorter.__init__, "__defaults__", (LEAST,))
    monkeypatch.setattr(source, "BLOCK_BYTES", 64)


def same(path, tmp_path, **options):
    """Convert and read a file; return the network where all files agree."""
    read_graph(path, **options).save(tmp_path / "saved")
    convert(path, tmp_path / "made", **options)
    saved, made = ({f.name: f.read_bytes() for f in (tmp_path / n).iterdir()} for n in ("saved", "made"))
    assert json.loads(made["manifest.json"]) == json.loads(saved["manifest.json"])
    assert made == saved
    assert not [f.name for f in tmp_path.iterdir() if f.name.startswith(".partial")]
    return Graph.load(tmp_path / "made")


MESSY = [
    "1 2\n2 3\n1 3\n",
    "  1   2  \n\n2 \t 3\n1 3",
    "\ufeff1 2\r\n2 3\r\n1 3\r\n",
    "# Nodes: 3 Edges: 3\n1 2 # inline\n% c\n2 3\n1 3\n",
    '"1","2"\n"2","3"\n"1","3"\n',
    "1 2 0.5\n2 3 0.25 17\n",
    "source,target,weight\n1,2,5\n2,3,5\n1,3,5\n",
    "3\n1 2\n2 3\n1 3\n",
    "3 3\n1 2\n2 3\n1 3\n",
    "0 1\n1 2\n2 0\n",
    "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n7 7 4\n2 1\n3 2\n3 1\n6 6\n",
    "1 2\n2 1\n1 2\n3 3\n4 4\n4 1\n3 3\n",
    "5 5\n",
    f"-5 {2**63 - 1}\n{-(2**63)} -5\n0 0\n",
    "10 2000000000000\n2000000000000 7\n10 7\n-3 7\n",
    "zoë\tann lee\nann lee\t北京\n",
    '"Smith, John","the ""boss"""\n"the ""boss""",plain name\n',
    "1 2\nann 2\n2 ann\nann ann\n",
    "007 8\n9 8\n",
    "ann bob\n1 2\n",
    "source,target\nann,bob\nbob,cem\n",
    "sender to\nann nan\nann bob\nbob cem\nNULL cem\n",
    "ann|bob|2\ncem|bob|1\n",
    "é1 \x0c1\n2 3\n",
    "a a\nb b\n",
    "Ann bob\nann cem\nbob CEM\n",
    "from;id;to\nx;1;y\ny;2;z\n",
]


@pytest.mark.parametrize("text", MESSY)
@pytest.mark.usefixtures("limits")
def test_a_messy_file_is_converted_to_what_reading_it_gives(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_text(text, "utf-8")
    same(path, tmp_path)


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
@pytest.mark.usefixtures("limits")
def test_a_compressed_file_is_converted(tmp_path, pack):
    path = tmp_path / "edges.packed"
    path.write_bytes(pack.compress("".join(f"n{i * i % 97} n{i % 31}\n" for i in range(400)).encode()))
    assert same(path, tmp_path).n_nodes == 97 - 97 // 2 + 31 - len(
        {i * i % 97 for i in range(97)} & set(range(31))
    )


def random_pairs(nodes, count):
    rng = np.random.default_rng(3)
    return rng.integers(0, nodes, (count, 2)).tolist()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (str, "range"), (lambda i: i * 7_000_000_007 - 10**12, "integer"), (lambda i: i * 3 + 5, "integer"),
        ("n{}x".format, "text"),
    ],
    ids=["range", "scattered", "gaps", "text"],
)  # fmt: skip
def test_many_runs_are_merged_in_several_passes(tmp_path, monkeypatch, name, kind):
    """Labels of every kind in random order, with repeats; hundreds of runs, of which a few are merged at once."""
    make_tiny(monkeypatch)
    passes = []
    ended = Sorter.__exit__
    monkeypatch.setattr(
        Sorter,
        "__exit__",
        lambda self, *error: (passes.append((self.runs, self.passes)), ended(self, *error)),
    )
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{name(a)} {name(b)}\n" for a, b in [(0, 299), *random_pairs(300, 3000)]))
    graph = same(path, tmp_path)
    assert graph.labels.kind == kind
    assert max(passes)[0] > 100
    assert max(passes)[1] > 2


@settings(max_examples=40, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(*[st.one_of(st.integers(0, 20), st.integers(-(2**63), 2**63 - 1), st.text("abé ", min_size=1))] * 2),
        min_size=1, max_size=60,
    ),
)  # fmt: skip
def test_any_list_is_converted_to_what_reading_it_gives(pairs, tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("any")
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n" + "".join(f'"{a}","{b}"\n' for a, b in pairs), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        make_tiny(patch)
        same(path, tmp_path)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,b,w\n1,2,5\n2,3,0.5\n2,1,5\n", {"weights": "w"}),
        ("1 2\n2 3\n", {"nodes": [1, 2, 3, 9]}),
        ("0 1 0\n1 0 1\n0 1 0\n", {}),
        ("x;1;y\ny;2;z\n", {"columns": (1, 3), "header": False}),
        ("x;1;y\ny;2;z\n", {"columns": (1, 3), "sep": ";"}),
    ],
)
def test_options_of_reading_are_those_of_converting(tmp_path, text, options):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    same(path, tmp_path, **options)


def test_what_is_read_whole_is_said(tmp_path):
    path, said = tmp_path / "edges.txt", []
    path.write_text("1 2 3\n2 3 1\n")
    convert(path, tmp_path / "made", weights=3, report=said.append)
    assert "not bounded" in said[0]
    said.clear()
    convert(path, tmp_path / "made", report=said.append)
    assert not [line for line in said if "bounded" in line]


@pytest.mark.parametrize(
    "data",
    [
        b"1 2\n3\n", b"a b\n\nc\n", b"1 2\n3 \x00\n", b"1 2\n1 9223372036854775808\n", b"a,b\na,\n", b"",
        b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2\n1 3\n",
        b"%%MatrixMarket matrix coordinate real general\n99999999 99999999 1\n1 2\n", b"# only\n",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_the_same_error_and_leaves_nothing(tmp_path, data):
    path, place = tmp_path / "edges", tmp_path / "place"
    path.write_bytes(data)
    place.mkdir()
    with pytest.raises(GraphFormatError) as wanted:
        read_graph(path)
    with pytest.raises(GraphFormatError) as found:
        convert(path, place / "made")
    assert str(found.value) == str(wanted.value)
    assert not list(place.iterdir())


@pytest.mark.parametrize("writes", range(0, 40, 3))
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_and_ctrl_c_leave_what_was_there(tmp_path, monkeypatch, writes, error):
    """The error comes with one of the writes to temporary files; an earlier network in the folder stays."""
    make_tiny(monkeypatch)
    path, place = tmp_path / "edges", tmp_path / "place"
    path.write_text("".join(f"{a} n{b}\n" for a, b in random_pairs(60, 300)))
    Graph.from_edges([(1, 2)]).save(place / "made")
    left, write = [writes], spill.Spill._write

    def failing(self, *arguments):
        left[0] -= 1
        if left[0] < 0:
            raise error
        write(self, *arguments)

    monkeypatch.setattr(spill.Spill, "_write", failing)
    kind, said = (
        (InputError, "No space left.*32 bytes a link")
        if isinstance(error, OSError)
        else (KeyboardInterrupt, None)
    )
    with pytest.raises(kind, match=said):
        convert(path, place / "made")
    assert [entry.name for entry in place.iterdir()] == ["made"]
    assert Graph.load(place / "made").n_edges == 1


def test_a_real_limit_of_the_size_of_files_is_one_message(tmp_path):
    """The system refuses to write a file of more than 64 KiB, as a full disk does."""
    path, place = tmp_path / "edges", tmp_path / "place"
    path.write_text("".join(f"{a} {b}\n" for a, b in random_pairs(5000, 20000)))
    place.mkdir()
    program = (
        "import resource, sys; from blockmix.graph.external.convert import convert\n"
        "from blockmix.errors import InputError\n"
        "from blockmix.graph.reading.read import read_graph; read_graph(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try: convert(sys.argv[1], sys.argv[2], threads=1)\n"
        "except InputError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path, place / "made"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "cannot be saved (File too large)" in done.stdout, done.stderr
    assert not list(place.iterdir())


def test_a_folder_that_is_no_network_is_not_replaced(tmp_path):
    path = tmp_path / "edges"
    path.write_text("1 2\n")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not a saved network"):
        convert(path, tmp_path / "made")
    assert (tmp_path / "made" / "thesis.txt").exists()


@pytest.mark.parametrize("memory", [0, 1 << 20, True, 1.5e9, "4G"])
def test_too_little_memory_is_an_error(memory):
    with pytest.raises(InputError, match="at least 67,108,864"):
        memory_of(memory)


def test_the_streams_of_a_file_come_back_in_pieces_of_any_size(tmp_path):
    rng = np.random.default_rng(1)
    parts = [rng.integers(0, 9, size) for size in rng.integers(0, 50, 60)]
    with Spill(tmp_path, buffers=300, streams=3) as found:
        for i, part in enumerate(parts):
            found.append(i % 3, part)
        for name in range(3):
            reader, taken = found.reader(name, np.int64), []
            while reader.left:
                taken.append(reader.take(int(rng.integers(1, 40))))
            np.testing.assert_array_equal(np.concatenate(taken), np.concatenate(parts[name::3]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [0, 1, 5, 49, 50, 51, 2000])
def test_sorted_words_are_those_of_numpy(tmp_path, size):
    words = np.random.default_rng(size).integers(0, 1000, size, dtype=np.uint64) << np.uint64(50)
    with Sorter(tmp_path, 400, 2) as sorter:
        sorter.add(words)
        np.testing.assert_array_equal(np.concatenate([words[:0], *sorter.merged()]), np.unique(words))


GROWTH = """
import sys
from pathlib import Path
from blockmix.graph.external.convert import LEAST_MEMORY, convert
from blockmix.graph.reading.read import read_graph

folder = Path(sys.argv[1])
tell = {"convert": lambda path: convert(path, folder / "made", memory=LEAST_MEMORY, threads=1),
        "read": lambda path: read_graph(path, threads=1)}[sys.argv[2]]

# Not getrusage: its peak is at least that of the process that started this one.
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

tell(folder / "small")
before = peak()
tell(folder / "large")
print((peak() - before) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units elsewhere")
@pytest.mark.parametrize("name", ["{}", "n{}", "{}000000007"])
def test_memory_grows_by_no_more_than_was_allowed(tmp_path, name):
    """Five million links; reading the same file takes more, or the limit would show nothing."""
    rows = "".join(f"{name.format(a)} {name.format(b)}\n" for a, b in random_pairs(100_000, 250_000))
    (tmp_path / "small").write_text(rows[: rows.index("\n", 1000) + 1])
    (tmp_path / "large").write_text(20 * rows)
    grown = {}
    for what in ("convert", "read"):
        done = subprocess.run(
            [sys.executable, "-c", GROWTH, tmp_path, what],
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        grown[what] = int(done.stdout)
    assert grown["convert"] <= 64 < grown["read"]


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_writes_a_folder_that_other_commands_take(tmp_path):
    path, made = tmp_path / "edges.txt", tmp_path / "made"
    path.write_text("".join(f"{a} {b}\n" for a, b in random_pairs(40, 200)))
    done = command("convert", path, made, "--memory", "64M", "--json", "-q")
    assert json.loads(done.stdout)["links"] == read_graph(path).n_edges
    mapped, text = (json.loads(command("partition", place, "--json", "-q").stdout) for place in (made, path))
    assert mapped == text
    assert as_graph(made).fingerprint == read_graph(path).fingerprint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("edges", "made", "--memory", "4Q"), "--memory 4Q: give a whole number"),
        (("edges", "made", "--memory", "1M"), "at least 67,108,864"),
        (("edges", "there"), "exists; choose another name, or give --overwrite"),
        (("edges", "there", "--overwrite"), "not a saved network"),
        (("none", "made"), "no such file"),
        (("made", "more"), "this is a folder"),
    ],
)
def test_wrong_use_of_the_command_is_one_message(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges").write_text("1 2\n")
    for name in ("there", "made") if words[0] == "made" else ("there",):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").touch()
    done = command("convert", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
    assert len(done.stderr.strip().splitlines()) <= 2


def test_a_saved_network_takes_no_options_of_files(tmp_path):
    Graph.from_edges([(1, 2)]).save(tmp_path / "made")
    assert "--sep goes with a file" in command("fit", tmp_path / "made", "--sep", "tab").stderr
    with pytest.raises(InputError, match="has those it was saved with"):
        as_graph(tmp_path / "made", weights=True)
    assert as_graph(tmp_path / "made", nodes=[1, 2, 9]).n_nodes == 3
