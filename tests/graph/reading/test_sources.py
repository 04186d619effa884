"""Compressed files, pipes, open files and downloads give the same text, and none can ask for more than it should."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import http.server
import io
import lzma
import socketserver
import sys
import threading
import time
import zipfile

import pytest

from blockmix.errors import GraphFormatError, InputError
from blockmix.evaluate import read_cover_file
from blockmix.graph.reading import compression, fetch
from blockmix.graph.reading.compression import NETWORK
from blockmix.graph.reading.read import read_graph
from blockmix.graph.reading.source import Source

LINES = b"1 2\n2 3\n1 3\n"


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, LINES)
    return file.getvalue()


PACKED = {
    ".gz": gzip.compress(LINES),
    ".bz2": bz2.compress(LINES),
    ".xz": lzma.compress(LINES),
    ".zip": zipped("edges.txt"),
}


@pytest.mark.parametrize("ending", PACKED)
def test_compressed_files_are_known_by_their_content(tmp_path, ending):
    path = tmp_path / "edges"
    path.write_bytes(PACKED[ending])
    assert read_graph(path).n_edges == 3
    for cut in (len(PACKED[ending]) - 3, 12):
        path.write_bytes(PACKED[ending][:cut])
        with pytest.raises(GraphFormatError, match=rf"the \{ending} file is (cut short|damaged)"):
            read_graph(path)


def test_zstd_files_are_read_with_the_extra(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "edges.txt.zst"
    packed = zstandard.compress(LINES) + zstandard.compress(b"3 4\n")
    path.write_bytes(packed)
    assert read_graph(path).n_edges == 4
    path.write_bytes(packed[:8] + b"\xff" * 9)
    with pytest.raises(GraphFormatError, match="zst file is"):
        read_graph(path)


def test_without_the_extra_a_zstd_file_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "edges.zst"
    path.write_bytes(compression.MAGIC[".zst"] + bytes(20))
    with pytest.raises(InputError, match=r"blockmix\[zstd\]"):
        read_graph(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_several_streams_in_one_file_are_one_text(tmp_path, pack):
    path = tmp_path / "edges"
    path.write_bytes(pack(LINES) + pack(b"3 4\n"))
    assert read_graph(path).n_edges == 4


def test_a_plain_file_with_the_name_of_a_compressed_one_is_said(tmp_path):
    path = tmp_path / "edges.txt.gz"
    path.write_bytes(LINES)
    assert "ends in .gz, but the file is not compressed" in str(read_graph(path).summary)


def test_archives_of_other_things_are_refused(tmp_path):
    path = tmp_path / "archive.zip"
    for names, problem in [
        (("a.txt", "b.txt"), "has 2 .'a.txt', 'b.txt'"),
        (("[Content_Types].xml", "x"), "Excel"),
        (("row.npy", "col.npy"), "NumPy archive"),
        ((), "must hold one file"),
    ]:
        path.write_bytes(zipped(*names) if names else zipped("x/")[:0] + zipped("a/", "b/"))
        with pytest.raises(GraphFormatError, match=problem):
            read_graph(path)
    path.write_bytes(gzip.compress(gzip.compress(LINES)))
    with pytest.raises(GraphFormatError, match="compressed twice"):
        read_graph(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(Source.__init__, "__defaults__", (False, NETWORK._replace(free=1 << 20)))
    path = tmp_path / "bomb"
    path.write_bytes(pack(b"1 1\n" * 2_000_000))
    with pytest.raises(GraphFormatError, match="unpacks to more than 250 times its size"):
        read_graph(path)
    path.write_bytes(pack(b"1 2\n" * 100_000))
    assert read_graph(path).n_edges == 1


def test_a_list_beside_the_network_may_unpack_to_less(tmp_path):
    """Labels, rows and fields in Python take some ten times the bytes of the text."""
    bomb = gzip.compress((b"a" * 1000 + b"\n") * 70_000, 1, mtime=0)
    (tmp_path / "bomb.gz").write_bytes(bomb)
    network = read_graph(io.BytesIO(b"ann bob\n"))
    for use in (
        lambda path: read_graph(io.BytesIO(b"ann bob\n"), nodes=path),
        lambda path: read_cover_file(path, network.labels),
    ):
        with pytest.raises(GraphFormatError, match="unpacks to more than 50 times its size"):
            use(tmp_path / "bomb.gz")


def test_an_xz_file_cannot_ask_for_a_huge_window(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MOST_WINDOW", 1 << 20)
    path = tmp_path / "edges.xz"
    path.write_bytes(lzma.compress(LINES, preset=6))
    with pytest.raises(GraphFormatError, match="asks for more than 1 MiB of memory"):
        read_graph(path)


def test_open_files_are_read_from_where_they_are_and_left_open(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_bytes(LINES)
    for mode in ("r", "rb"):
        with path.open(mode) as file:
            assert read_graph(file).n_edges == 3
            assert not file.closed
    assert read_graph(io.BytesIO(PACKED[".bz2"])).n_edges == 3
    skipped = io.StringIO("not a link\nann bob\n")
    skipped.readline()
    assert list(read_graph(skipped).labels) == ["ann", "bob"]
    assert read_graph(io.BytesIO(LINES)).summary.source == "file object"
    with path.open("a") as file, pytest.raises(InputError):
        read_graph(file)


def test_standard_input_is_called_so(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(LINES)

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert str(read_graph("-").summary).startswith("standard input: 3 nodes")


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with a network, with redirects, with too much, and with hostile words."""

    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.path == "/net.txt":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(LINES)
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "500")
            self.end_headers()
            self.wfile.write(LINES)
        elif self.path == "/here":
            self.send_response(302)
            self.send_header("Location", "/net.txt")
            self.end_headers()
        elif self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "http://example.org/net.txt")
            self.end_headers()
        elif self.path == "/file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif self.path == "/promise":
            self.send_response(200)
            self.send_header("Content-Length", str(10**15))
            self.end_headers()
        else:
            self.send_response(404, "no \x1b[31mred\x1b[0m file")
            self.end_headers()


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_address_is_downloaded(site):
    assert read_graph(f"{site}/net.txt").n_edges == 3
    assert read_graph(f"{site}/here").n_edges == 3


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/elsewhere", "only https addresses are read, not 'http'"),
        ("/file", "only https addresses|Redirection to url 'file:///etc/passwd' is not al"),
        ("/promise", "at most"),
        ("/cut", "cut short: 12 of 500"),
        ("/gone", r"answered 404 'no \\x1b\[31mred\\x1b\[0m file'"),
    ],
)
def test_what_a_server_may_not_do(site, path, problem):
    with pytest.raises(InputError, match=problem) as caught:
        read_graph(site + path)
    assert "\x1b" not in str(caught.value)


def test_a_download_has_bounds_of_size_and_speed(site, monkeypatch):
    with pytest.raises(InputError, match="more than the 5 bytes"):
        fetch.fetch(f"{site}/net.txt", io.BytesIO(), most_bytes=5)
    monkeypatch.setattr(fetch, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(fetch, "SLOWEST", 1e12)
    with pytest.raises(InputError, match="too slow"):
        fetch.fetch(f"{site}/net.txt", io.BytesIO())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 99,
        b"X-1: a\r\n" * 40,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + b"a" * 99,
    ],
    ids=["a header", "headers", "the length of a piece"],
)
def test_a_server_that_sends_byte_by_byte_is_not_waited_for(answer, monkeypatch):
    """No byte of content arrives, and no single wait is long."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetch, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(fetch, "_LOOKED_AT", 0.05)
    over = threading.Event()

    class Drip(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                for byte in answer:
                    self.request.sendall(bytes([byte]))
                    if over.wait(0.2):
                        return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    began = time.monotonic()
    with pytest.raises(InputError, match="too slow: 0 bytes"):
        fetch.fetch(f"http://127.0.0.1:{server.server_address[1]}/", io.BytesIO())
    assert time.monotonic() - began < 10
    over.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "address", ["http://example.org/x", "ftp://example.org/x", "s3://a/b", "file:///etc/hosts"]
)
def test_only_https_is_read(address):
    with pytest.raises(InputError, match="only https"):
        read_graph(address)


def test_a_full_disk_is_not_a_lost_connection(site):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        fetch.fetch(f"{site}/net.txt", Full())
