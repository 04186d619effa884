"""Node data in the page: what comes out is what went in, and never too much."""

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from blockmix.posterior.covers.complete import sure_members
from blockmix.report.communities import Findings
from blockmix.report.markup import visible
from blockmix.report.pictures import pack


def opened(packed):
    """The sections of all blocks, read as the page's script reads them."""
    found = {}
    for block in packed.blocks.values():
        body, at = zlib.decompress(base64.b64decode(block.text)), 0
        for name, kind, length in block.sections:
            part = body[at : at + length]
            found[name] = json.loads(part) if kind == "json" else joined_planes(part, int(kind[1:]) // 8)
            at += length + -length % 4
        assert at == len(body)
    if "label_step" in found:
        found["label"] = [str(value) for value in np.cumsum(found["label_step"])]
    found["table"] = found["table"].reshape(4, -1)
    return found


def joined_planes(part, width):
    planes = np.frombuffer(part, np.uint8).reshape(width, -1).astype(np.int64)
    return (planes * 256 ** np.arange(width)[:, None]).sum(axis=0)


def links_of(sections):
    first = np.repeat(np.arange(len(sections["later"])), sections["later"])
    return np.column_stack([first, first + sections["step"]])


def test_labels_memberships_and_links_come_back(small):
    found = Findings(small)
    sections = opened(pack.pack_nodes(found))
    assert sections["label"] == [visible(str(label)) for label in small.graph.labels]
    assert np.array_equal(sections["degree"], small.graph.degrees)
    assert np.array_equal(sections["count"], np.diff(small.offsets))
    assert np.array_equal(sections["community"], small.community)
    mean, lower, upper, _ = sections["table"][:, sections["code"]] / pack.STEPS
    for sent, values in ((mean, small.mean), (lower, found.bounds[0]), (upper, found.bounds[1])):
        assert np.abs(sent - values).max() <= 0.5001 / pack.STEPS
    assert np.array_equal(links_of(sections), small.graph.edges())


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.37, 0.5, 0.61])
def test_mean_and_median_tell_who_is_a_member_at_any_threshold(small, threshold):
    # Unsure second shares: their mean reaches 0.37, what is more likely than not does not.
    small = replace(small, sd=np.where(small.mean < 0.5, 0.3, small.sd).astype(np.float32))
    sections = opened(pack.pack_nodes(Findings(small)))
    mean, _, _, median = sections["table"][:, sections["code"]] / pack.STEPS
    node = np.repeat(np.arange(len(sections["count"])), sections["count"])
    first = np.diff(node, prepend=-1) > 0
    member = np.where(first, mean, np.minimum(mean, median)) >= threshold
    nodes, community, _ = sure_members(small, threshold)
    assert set(zip(node[member], sections["community"][member], strict=True)) == set(
        zip(nodes, community, strict=True)
    )


def test_of_very_many_memberships_means_are_rounded_to_hundredths(small, monkeypatch):
    monkeypatch.setattr(pack, "MANY", 10)
    sections = opened(pack.pack_nodes(Findings(small)))
    mean = sections["table"][0, sections["code"]] / pack.STEPS
    assert np.allclose(mean, np.rint(small.mean * 100) / 100, atol=1e-9)
    assert sections["table"].shape[1] <= 3


def test_numbers_as_labels_are_sent_as_steps(make_posterior):
    post = make_posterior(60, 3)
    packed = pack.pack_nodes(Findings(post))
    assert [name for name, _, _ in packed.blocks["names"].sections] == ["label_step"]
    assert opened(packed)["label"] == [str(label) for label in post.graph.labels]


def test_of_too_many_nodes_the_best_linked_are_kept(small, monkeypatch):
    monkeypatch.setattr(pack, "MOST_NODES", 50)
    packed = pack.pack_nodes(Findings(small))
    sections = opened(packed)
    kept = sections["node"]
    assert packed.nodes == len(kept) == len(sections["label"]) == 50
    assert small.graph.degrees[kept].min() >= np.sort(small.graph.degrees)[-50]
    assert small.graph.has_edges(kept[links_of(sections)].astype(np.int64)).all()
    assert sections["label"][7] == str(small.graph.labels[int(kept[7])])


def test_of_too_many_links_a_sample_is_kept(small, monkeypatch):
    monkeypatch.setattr(pack, "MOST_LINKS", 100)
    packed = pack.pack_nodes(Findings(small))
    links = links_of(opened(packed))
    assert packed.links == len(np.unique(links, axis=0)) == 100
    assert small.graph.has_edges(links).all()


@pytest.mark.parametrize("most", [1_200, 1_800, 2_600, 3_500])
def test_a_file_keeps_to_its_bytes_labels_of_few_links_go_first(small, monkeypatch, most):
    monkeypatch.setattr(pack, "MOST_BYTES", most)
    monkeypatch.setattr(pack, "_FEW_LINKS", 5)
    packed = pack.pack_nodes(Findings(small))
    # A block of one label and one of no link are what is left when there is no room.
    assert sum(len(block.text) for block in packed.blocks.values()) <= max(most, 1_500)
    sections = opened(packed)
    assert len(sections["count"]) == 120
    if packed.named < 120:
        left = np.setdiff1d(np.arange(120), sections["named"])
        assert small.graph.degrees[left].max() <= small.graph.degrees[sections["named"]].min()
        assert sections["label"][0] == visible(str(small.graph.labels[int(sections["named"][0])]))
    links = links_of(sections)
    assert len(links) == packed.links
    assert small.graph.has_edges(links).all()


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.uint32])
def test_arrays_are_sent_little_endian(dtype):
    values = np.arange(5).astype(dtype)
    sent = np.frombuffer(base64.b64decode(pack.encode(values)), dtype=np.dtype(dtype).newbyteorder("<"))
    assert np.array_equal(sent, values)
