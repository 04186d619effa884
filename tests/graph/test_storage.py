"""A saved network comes back the same, maps into memory, and a damaged folder is refused in words."""

from __future__ import annotations

import json

import numpy as np
import pytest

from blockmix.errors import InputError
from blockmix.graph.graph import Graph

NETWORKS = {
    "range": Graph.from_edges([(0, 1), (1, 2)]),
    "integer": Graph.from_edges([(5, -3), (5, 9)], nodes=[40]),
    "text": Graph.from_edges([("zoë", "ann"), ("ann", "北京")]),
    "no links": Graph.from_edges([], nodes=[0, 1]),
    "nothing": Graph.from_edges([]),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("mmap", [True, False])
def test_a_network_comes_back_the_same(tmp_path, name, mmap):
    graph = NETWORKS[name]
    graph.save(tmp_path / "deep" / "net")
    again = Graph.load(tmp_path / "deep" / "net", mmap=mmap, verify=True)
    assert again.fingerprint == graph.fingerprint
    assert list(again.labels) == list(graph.labels)
    assert again.summary == graph.summary
    assert again.neighbors.dtype == graph.neighbors.dtype
    assert not again.neighbors.flags.writeable
    assert type(again.neighbors) is np.ndarray


def test_loading_maps_instead_of_reading(tmp_path):
    NETWORKS["text"].save(tmp_path / "net")
    graph = Graph.load(tmp_path / "net")
    base = graph.neighbors
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_saving_again_replaces_a_network_and_nothing_else(tmp_path):
    NETWORKS["text"].save(tmp_path / "net")
    NETWORKS["range"].save(tmp_path / "net")
    assert Graph.load(tmp_path / "net").labels.kind == "range"
    assert sorted(p.name for p in (tmp_path / "net").iterdir()) == [
        "manifest.json",
        "neighbors.npy",
        "offsets.npy",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["net"]
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "draft.txt").write_text("years of work")
    for taken in ("thesis", "thesis/draft.txt"):
        with pytest.raises(InputError, match="not a saved network"):
            NETWORKS["range"].save(tmp_path / taken)
    assert (tmp_path / "thesis" / "draft.txt").read_text() == "years of work"
    with pytest.raises(InputError, match="cannot be saved"):
        NETWORKS["range"].save(tmp_path / "thesis" / "draft.txt" / "net")


@pytest.fixture
def saved(tmp_path):
    NETWORKS["text"].save(tmp_path / "net")
    return tmp_path / "net"


@pytest.fixture
def change(saved, reseal):
    """Return a function that changes entries of the manifest, and its checksum with them."""

    def write(**entries):
        manifest = json.loads((saved / "manifest.json").read_text())
        (saved / "manifest.json").write_text(json.dumps({**manifest, **entries}))
        reseal(saved)

    return write


def refused(folder, said, **options):
    with pytest.raises(InputError, match=said) as caught:
        Graph.load(folder, **options)
    assert str(folder) in str(caught.value)


def test_foreign_folders_are_refused(tmp_path):
    refused(tmp_path / "absent", "not a saved network")
    refused(tmp_path, "not a saved network")
    (tmp_path / "file").write_text("1 2\n")
    refused(tmp_path / "file", "read_graph")
    (tmp_path / "manifest.json").write_text('{"format": "something else"}')
    refused(tmp_path, "not a saved network")
    (tmp_path / "manifest.json").write_text("[1, 2]")
    refused(tmp_path, "not a saved network")
    (tmp_path / "manifest.json").write_bytes(b"{\xff")
    refused(tmp_path, "manifest.json cannot be read")


def test_an_unknown_version_names_who_wrote_it(saved, change):
    change(version=99, written_by="blockmix 9.9")
    refused(saved, "version 99.*blockmix 9.9")


@pytest.mark.parametrize("entry", [{"nodes": 7}, {"links": 0}, {"links": "x"}, {"nodes": None}])
def test_sizes_that_do_not_fit_are_refused(saved, change, entry):
    change(**entry)
    refused(saved, "as long as the manifest says")


def test_odd_manifests_are_refused(saved, change):
    change(labels="emoji")
    refused(saved, "kind of labels")
    change(labels=[])
    refused(saved, "kind of labels")
    change(labels="text", summary={"colour": 1})
    refused(saved, "summary")
    change(summary=7)
    refused(saved, "summary")


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", ["offsets", "neighbors", "label_text", "label_offsets"])
def test_missing_cut_and_foreign_arrays_are_refused(saved, name, mmap):
    file = saved / f"{name}.npy"
    whole = file.read_bytes()
    for data in (whole[:-3], whole[:20], b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x05\x00{1:2}"):
        file.write_bytes(data)
        refused(saved, f"{name}.npy", mmap=mmap)
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    refused(saved, f"{name}.npy", mmap=mmap)
    np.save(file, np.zeros((2, 2)))
    refused(saved, f"{name}.npy", mmap=mmap)
    file.unlink()
    refused(saved, f"{name}.npy", mmap=mmap)


def test_offsets_that_do_not_rise_and_rows_out_of_order_are_refused(saved, reseal):
    """Also where the checksums were made to agree."""
    good = np.load(saved / "offsets.npy")
    np.save(saved / "offsets.npy", np.array([0, 3, 1, 4]))
    reseal(saved)
    refused(saved, "does not fit")
    np.save(saved / "offsets.npy", good)
    np.save(saved / "neighbors.npy", np.load(saved / "neighbors.npy")[::-1].copy())
    reseal(saved)
    graph = Graph.load(saved)
    looked_up = (lambda: graph.has_edges([(0, 1)]), lambda: graph.without_edges([(0, 1)]))
    for use in (graph.edges, *looked_up, lambda: graph.weights_of([(0, 1)]), graph.check_links):
        with pytest.raises(InputError, match="rows must be in order"):
            use()


@pytest.mark.parametrize("mmap", [True, False])
def test_one_changed_bit_of_any_file_is_noticed(saved, mmap):
    for path in saved.iterdir():
        whole = path.read_bytes()
        for at in range(0, len(whole), 17):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            refused(saved, path.name if path.suffix == ".npy" else "manifest|network|version", mmap=mmap)
        path.write_bytes(whole)
    Graph.load(saved, mmap=mmap)


def test_checksums_can_be_left_out(saved):
    text = np.load(saved / "label_text.npy")
    text[0] ^= 1
    np.save(saved / "label_text.npy", text)
    refused(saved, "label_text.npy: it does not match its checksum")
    assert Graph.load(saved, verify=False).labels[0] == "{oë"


def test_a_file_without_a_checksum_is_refused(saved, change):
    files = json.loads((saved / "manifest.json").read_text())["files"]
    change(files={name: entry for name, entry in files.items() if name != "offsets"})
    refused(saved, "offsets.npy has no checksum in the manifest")
    change(files=files, fingerprint=7)
    refused(saved, "the manifest has no fingerprint")
    change(files={"offsets": 3}, fingerprint="")
    refused(saved, "the manifest has no checksums of its files")


def make_old(folder):
    """Make the folder what blockmix 0.1.0 wrote: no checksums, version 1."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["checksum"], manifest["files"]
    (folder / "manifest.json").write_text(json.dumps(manifest | {"version": 1}))


def test_networks_of_the_first_version_are_read_and_compared_with_their_fingerprint(saved):
    make_old(saved)
    assert Graph.load(saved).fingerprint == NETWORKS["text"].fingerprint
    text = np.load(saved / "label_text.npy")
    text[0] ^= 1
    np.save(saved / "label_text.npy", text)
    refused(saved, "the content does not match its fingerprint")
    NETWORKS["range"].save(saved)
    assert Graph.load(saved).labels.kind == "range"


def test_a_network_whose_manifest_is_damaged_is_replaced_and_a_folder_with_anything_else_is_not(tmp_path):
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    graph.save(tmp_path / "net")
    (tmp_path / "net" / "manifest.json").write_text("{")
    graph.save(tmp_path / "net")
    assert Graph.load(tmp_path / "net").n_edges == 2
    (tmp_path / "net" / "manifest.json").write_text("{")
    (tmp_path / "net" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="not a saved network"):
        graph.save(tmp_path / "net")
