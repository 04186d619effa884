"""Files of every format, damaged at random: a network or one error, and never anything else."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import warnings
import zipfile

import pytest

from blockmix.errors import InputError
from blockmix.evaluate import read_cover_file
from blockmix.graph.labels import Labels
from blockmix.graph.reading.nodes import read_nodes
from blockmix.graph.reading.read import read_graph

CASES = 250
LINES = b"1 2\n2 3\n1 3\n"
BYTES = b'\0\t\n\r ,;|"{}[]<>#%*019ae\xff\x0c'


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("edges.txt", LINES)
    return file.getvalue()


WHOLE = {
    "gml": b'graph [ node [ id 1 label "a" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] ]\n',
    "pajek": b'*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2\n',
    "graphml": b'<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph '
    b'edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>',
    "json": b'{"nodes": [{"id": "a", "x": 1}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}',
    "matrix": b",a,b,c\na,0,1,0\nb,1,0,1\nc,0,1,0\n",
    "metis": b"3 2\n2\n1 3\n2\n",
    "array": b"%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n",
    "table": b"\tsource\ttarget\tw\n0\t5\t6\t1\n1\t6\t7\t2\n",
    "nodes": b"id,club\n1,x\n2,y\n",
    "gz": gzip.compress(LINES, mtime=0),
    "bz2": bz2.compress(LINES),
    "xz": lzma.compress(LINES),
    "zip": zipped(),
}
OPTIONS = ({}, {}, {"columns": (1, 3)}, {"weights": 3}, {"header": True}, {"sep": ";"}, {"format": "edges"},
           {"format": "matrix"}, {"format": "metis"}, {"format": "json"})  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Change, remove, repeat or insert a few bytes."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        place, what = rng.randrange(len(found) + 1), rng.random()
        if what < 0.4:
            found[place : place + 1] = bytes([rng.choice(BYTES)])
        elif what < 0.6:
            del found[place : place + rng.randint(1, 9)]
        elif what < 0.8:
            found[place:place] = found[rng.randrange(len(found) + 1) :][: rng.randint(1, 30)]
        else:
            found[place:place] = bytes(rng.choice(b'\n\t,;|" 7') for _ in range(rng.randint(1, 4)))
        found = found or bytearray(b"1")
    return bytes(found)


@pytest.mark.parametrize("kind", WHOLE)
def test_a_damaged_file_gives_a_network_or_one_error(kind):
    if kind in ("gml", "pajek", "graphml"):
        pytest.importorskip("networkx")
    rng, refusals = random.Random(kind), []
    with warnings.catch_warnings():
        # zipfile warns of names that are there twice.
        warnings.simplefilter("ignore")
        for _ in range(CASES):
            data, options = damaged(WHOLE[kind], rng), rng.choice(OPTIONS)
            for read in (
                lambda file, options=options: read_graph(file, threads=1, **options),
                read_nodes,
                lambda file: read_cover_file(file, Labels.range(5)),
            ):
                try:
                    read(io.BytesIO(data))
                except InputError as error:
                    refusals.append(str(error))
    assert refusals
    assert not [message for message in refusals if "\n" in message]
