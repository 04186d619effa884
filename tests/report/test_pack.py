"""Node data in the page: what comes out is what went in, and never too much."""

import base64
import json
import zlib

import numpy as np
import pytest

from blockmix.report.communities import Findings
from blockmix.report.markup import visible
from blockmix.report.pictures import pack

TYPES = {"u16": "<u2", "u32": "<u4"}


def opened(block):
    """The sections of a block, read as the page's script reads them."""
    body = zlib.decompress(base64.b64decode(block.text))
    found, at = {}, 0
    for name, kind, length in block.sections:
        part = body[at : at + length]
        found[name] = json.loads(part) if kind == "json" else np.frombuffer(part, dtype=TYPES[kind])
        at += length + -length % 4
    assert at == len(body)
    return found


def links_of(sections):
    first = np.repeat(np.arange(len(sections["later"])), sections["later"])
    return np.column_stack([first, first + sections["step"]])


def test_labels_memberships_and_links_come_back(small):
    found = Findings(small)
    sections = opened(pack.pack_nodes(found))
    assert sections["labels"] == [visible(str(label)) for label in small.graph.labels]
    assert np.array_equal(sections["degree"], small.graph.degrees)
    assert np.array_equal(sections["count"], np.diff(small.offsets))
    assert np.array_equal(sections["community"], small.community)
    for name, values in (("mean", small.mean), ("lower", found.bounds[0]), ("upper", found.bounds[1])):
        assert np.abs(sections[name] / pack.STEPS - values).max() <= 0.5001 / pack.STEPS
    assert np.array_equal(links_of(sections), small.graph.edges())


def test_of_too_many_nodes_the_best_linked_are_kept(small, monkeypatch):
    monkeypatch.setattr(pack, "MOST_NODES", 50)
    block = pack.pack_nodes(Findings(small))
    sections = opened(block)
    kept = sections["node"]
    assert block.nodes == len(kept) == len(sections["labels"]) == 50
    assert small.graph.degrees[kept].min() >= np.sort(small.graph.degrees)[-50]
    assert small.graph.has_edges(kept[links_of(sections)].astype(np.int64)).all()
    assert sections["labels"][7] == str(small.graph.labels[int(kept[7])])


def test_of_too_many_links_a_sample_is_kept(small, monkeypatch):
    monkeypatch.setattr(pack, "MOST_LINKS", 100)
    block = pack.pack_nodes(Findings(small))
    links = links_of(opened(block))
    assert block.links == len(np.unique(links, axis=0)) == 100
    assert small.graph.has_edges(links).all()


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.uint32])
def test_arrays_are_sent_little_endian(dtype):
    values = np.arange(5).astype(dtype)
    sent = np.frombuffer(base64.b64decode(pack.encode(values)), dtype=np.dtype(dtype).newbyteorder("<"))
    assert np.array_equal(sent, values)
