"""Files appear whole or not at all, and manifests of other formats are told apart."""

import errno
import os

import pytest

from blockmix.errors import InputError
from blockmix.files import (
    Damaged,
    Foreign,
    checksum,
    manifest_head,
    manifest_text,
    read_manifest,
    replace_text,
    write_pieces,
)


def broken():
    yield "new"
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_that_cannot_be_finished_leaves_the_earlier_one(tmp_path):
    path = tmp_path / "table.tsv"
    path.write_text("old")
    with pytest.raises(OSError, match="No space"):
        replace_text(path, broken())
    with pytest.raises(InputError, match=r"table\.tsv: cannot be written \(No space left on device\)"):
        write_pieces(path, broken())
    assert [p.name for p in tmp_path.iterdir()] == ["table.tsv"]
    assert path.read_text() == "old"
    replace_text(path, ["new\n", "é\n"])
    assert path.read_bytes() == "new\né\n".encode()


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_a_link_is_written_through(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    replace_text(tmp_path / "link", ["new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_manifests_name_their_format_and_version(tmp_path):
    path = tmp_path / "manifest.json"
    path.write_text(manifest_text(manifest_head("blockmix thing", 2) | {"size": 3}))
    assert read_manifest(path, "blockmix thing", 2)["size"] == 3
    with pytest.raises(Foreign, match="this is not the manifest of a blockmix graph"):
        read_manifest(path, "blockmix graph", 2)
    with pytest.raises(
        InputError, match="version 2 of the format, and this blockmix reads version 1; use the"
    ):
        read_manifest(path, "blockmix thing", 1)
    path.write_text("{")
    with pytest.raises(Damaged, match=r"manifest\.json cannot be read"):
        read_manifest(path, "blockmix thing", 2)
    with pytest.raises(FileNotFoundError):
        read_manifest(tmp_path / "none", "blockmix thing", 2)


def test_a_checksum_is_of_the_content_and_not_of_its_order():
    assert checksum({"a": 1, "b": [2]}) == checksum({"b": [2], "a": 1}) != checksum({"a": 1, "b": [3]})
