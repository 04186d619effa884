"""Known networks are found by name, downloaded once, checked, and never taken in damaged."""

import functools
import gzip
import hashlib
import http.server
import json
import os
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.files import PARTIAL
from blockmix.graph.datasets import registry
from blockmix.graph.datasets.load import cache_folder, dataset_path, list_datasets, load_dataset, load_truth
from blockmix.graph.datasets.registry import REGISTRY, Dataset, Source

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
LINES = b"# a triangle with a tail, a repeat and a self-loop\n10 20\n20 10\n20 30\n10 30\n30 47\n9 9\n"
GML = b"""graph [ directed 0
  node [ id 3 label "a [ id 9" ] node [ id 1 label "b" ] node [ id 8 ]
  edge [ source 3 target 1 value 2 ]
]"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; a file called cut.txt promises more bytes than it sends."""

    def log_message(self, *args):
        pass

    def do_GET(self):
        if not self.path.endswith("cut.txt"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(LINES) + 100))
        self.end_headers()
        self.wfile.write(LINES)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A web server on this machine, and an empty cache."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "net.txt").write_bytes(LINES)
    (folder / "cut.txt").write_bytes(LINES)
    (folder / "net.txt.gz").write_bytes(gzip.compress(LINES))
    (folder / "half.txt.gz").write_bytes(gzip.compress(LINES * 50)[:-12])
    (folder / "net.gml").write_bytes(GML)
    (folder / "truth.txt").write_text("10\t20\t30\n30\t47\n20\t10\t30\n")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.delenv("BLOCKMIX_DATA", raising=False)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def add(monkeypatch):
    """Put a network called `tail` into the table, with these sources."""

    def put(*sources, nodes=5, edges=4, **more):
        entry = Dataset("tail", "a test", nodes, edges, "nobody", sources, **more)
        monkeypatch.setitem(registry.REGISTRY, "tail", entry)

    return put


def checksum(data):
    return hashlib.sha256(data).hexdigest()


def leftovers():
    return [path for path in cache_folder().rglob("*") if path.is_file()] if cache_folder().exists() else []


def test_a_download_is_checked_kept_and_used_again(site, add, monkeypatch, capsys):
    add(Source(f"{site}/net.txt", checksum(LINES), len(LINES)))
    graph = load_dataset("tail")
    assert list(graph.labels) == [9, 10, 20, 30, 47]
    assert "SHA-256" in capsys.readouterr().err
    assert dataset_path("tail") == cache_folder() / "tail" / "edges.txt"
    add(Source("http://127.0.0.1:9/gone"))
    assert load_dataset("tail").fingerprint == graph.fingerprint
    assert load_dataset("tail", download=False).fingerprint == graph.fingerprint


def test_without_a_checksum_the_counts_are_checked_and_the_output_says_so(site, add, capsys):
    add(Source(f"{site}/net.txt.gz"))
    assert load_dataset("tail").n_edges == 4
    assert "no checksum is recorded" in capsys.readouterr().err
    assert [path.name for path in leftovers()] == ["edges.txt.gz"]


def test_a_download_with_other_counts_is_refused(site, add):
    add(Source(f"{site}/net.txt.gz"), edges=5)
    with pytest.raises(InputError, match="not tail: it has 5 nodes and 4 links, not 5 and 5"):
        load_dataset("tail")
    assert not leftovers()


@pytest.mark.parametrize(
    ("file", "sha256", "message"),
    [
        ("net.txt", "0" * 64, "damaged or was changed: its SHA-256"),
        ("cut.txt", None, "cut short"),
        ("half.txt.gz", None, "cut short|damaged"),
        ("missing.txt", None, "answered 404"),
    ],
)
def test_a_bad_download_is_named_and_removed(site, add, file, sha256, message):
    add(Source(f"{site}/{file}", sha256))
    with pytest.raises(InputError, match=message) as caught:
        load_dataset("tail")
    assert f"{site}/{file}" in str(caught.value)
    assert not leftovers()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no locks of folders")
def test_what_a_killed_download_left_is_removed_by_the_next(site, add):
    left = cache_folder() / "tail" / f"{PARTIAL}{'0' * 32}"
    left.mkdir(parents=True)
    (left / "edges.txt.gz").write_bytes(b"half")
    add(Source(f"{site}/net.txt"))
    load_dataset("tail")
    assert [path.name for path in left.parent.iterdir()] == ["edges.txt"]


def test_the_next_address_is_tried_when_one_fails(site, add):
    add(Source(f"{site}/missing.txt"), Source(f"{site}/cut.txt"), Source(f"{site}/net.txt"))
    assert load_dataset("tail").n_nodes == 5


def test_without_a_connection_both_other_ways_are_named(site, add):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    add(Source(f"http://127.0.0.1:{port}/net.txt"))
    with pytest.raises(InputError, match="no connection") as caught:
        load_dataset("tail")
    assert "BLOCKMIX_DATA" in str(caught.value)
    assert str(cache_folder() / "tail" / "edges.txt.gz") in str(caught.value)


def test_a_network_that_is_not_here_is_not_downloaded_when_that_is_forbidden(site, add):
    add(Source(f"{site}/net.txt"))
    with pytest.raises(InputError, match=r"not on this machine.*BLOCKMIX_DATA"):
        load_dataset("tail", download=False)
    with pytest.raises(InputError, match="not on this machine"):
        dataset_path("tail")


def test_a_network_without_an_address_says_why(site, add):
    add(note="It was made by hand.")
    with pytest.raises(InputError, match=r"made by hand.*BLOCKMIX_DATA"):
        load_dataset("tail")


def test_a_gml_file_keeps_its_isolated_nodes(site, add):
    add(Source(f"{site}/net.gml", checksum(GML), format="gml"), nodes=3, edges=1)
    assert list(load_dataset("tail").labels) == [1, 3, 8]
    assert load_dataset("tail").n_nodes == 3
    assert sorted(path.name for path in leftovers()) == ["edges.txt", "isolated_nodes.txt"]


def test_the_truth_is_downloaded_and_repeats_are_dropped(site, add):
    truth = Source(f"{site}/truth.txt", format="communities")
    add(truth=("all",), truth_sources=(("all", truth),))
    assert [cover.tolist() for cover in load_truth("tail")] == [[10, 20, 30], [30, 47]]
    assert [path.name for path in leftovers()] == ["communities_all.txt"]
    with pytest.raises(InputError, match="which='top'"):
        load_truth("tail", "top")


def test_the_data_folder_comes_before_the_cache(site, add, tmp_path, monkeypatch):
    add(Source(f"{site}/net.txt"))
    home = tmp_path / "data" / "tail"
    home.mkdir(parents=True)
    (home / "edges.txt").write_text("1 2\n2 3\n3 1\n3 4\n")
    (home / "isolated_nodes.txt").write_text("7\n")
    monkeypatch.setenv("BLOCKMIX_DATA", str(tmp_path / "data"))
    assert list(load_dataset("tail").labels) == [1, 2, 3, 4, 7]
    monkeypatch.setenv("BLOCKMIX_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="not a folder"):
        load_dataset("tail")


def test_a_damaged_copy_put_in_place_by_hand_is_named(site, add, tmp_path):
    add(Source(f"{site}/net.txt"))
    home = cache_folder() / "tail"
    home.mkdir(parents=True)
    (home / "edges.txt").write_text("1 2\n")
    with pytest.raises(InputError, match=r"edges\.txt: this is not tail"):
        load_dataset("tail")


def test_a_truth_file_with_a_bad_line_is_named(site, add):
    home = cache_folder() / "tail"
    home.mkdir(parents=True)
    add(truth=("",))
    (home / "communities.txt").write_text("1\t2\nann\tbob\n")
    with pytest.raises(InputError, match=r"communities\.txt, line 2"):
        load_truth("tail")


@pytest.mark.parametrize(
    ("wrong", "right"), [("ca-grcq", "ca-GrQc"), ("comdblp", "com-DBLP"), ("zachary-karate", "karate")]
)
def test_an_unknown_name_gets_the_nearest_right_one(wrong, right):
    with pytest.raises(InputError, match=f"did you mean {right}"):
        load_dataset(wrong)


def test_a_name_like_no_other_gets_the_list():
    with pytest.raises(InputError, match=r"known: .*karate"):
        load_dataset("0000")


def test_the_table_is_consistent():
    names = [name.lower() for entry in list_datasets() for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    for entry in list_datasets():
        assert entry.description
        assert entry.citation
        assert {which for which, _ in entry.truth_sources} <= set(entry.truth)
        for source in (*entry.sources, *(source for _, source in entry.truth_sources)):
            assert source.address.startswith("https://")
            assert source.sha256 is None or len(source.sha256) == 64


@pytest.mark.skipif(not SHARED.is_dir(), reason="the development networks are not beside this checkout")
class TestDevelopmentNetworks:
    """Reads the normalised networks that developers keep beside the checkout."""

    names = sorted(path.parent.name for path in SHARED.glob("*/meta.json"))

    def test_every_one_of_them_is_in_the_table(self):
        assert set(self.names) <= set(REGISTRY)

    @pytest.mark.parametrize("name", names)
    def test_counts_and_covers_agree_with_the_table(self, name, monkeypatch):
        monkeypatch.setenv("BLOCKMIX_DATA", str(SHARED))
        meta = json.loads((SHARED / name / "meta.json").read_text())
        entry = registry.find(name)
        assert (entry.nodes, entry.edges) == (meta["nodes"], meta["edges"])
        graph = load_dataset(name, download=False)
        assert int((graph.degrees == 0).sum()) == meta["isolated"]
        known = {source["sha256_of_source_file"] for source in meta["sources"]}
        assert {source.sha256 for source in entry.sources} - {None} <= known
        for which in entry.truth:
            covers = load_truth(name, which, download=False)
            facts = meta["communities"]["communities" + (f"_{which}" if which else "")]
            assert len(covers) == facts["distinct"]
            members = np.unique(np.concatenate(covers))
            assert len(members) == facts["covered_nodes"]
            assert len(graph.labels.indices(members)) == len(members)
