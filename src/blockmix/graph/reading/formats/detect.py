"""Which format a file has, by what it contains; its name decides only where two formats can look alike.

A file of a format that blockmix does not read is refused with what it looks like: read as links it would give a small
and wrong network.
"""

from __future__ import annotations

import re

from blockmix.errors import GraphFormatError, InputError
from blockmix.graph.reading.formats.matrix import looks_like_matrix
from blockmix.graph.reading.formats.metis import looks_like_metis
from blockmix.graph.reading.formats.not_links import lookalike
from blockmix.graph.reading.formats.notations import REFUSED_TEXT, by_comments
from blockmix.graph.reading.preamble import first_data_line
from blockmix.graph.reading.source import BYTE_ORDER_MARK, Source

FORMATS = (
    "edges", "matrix", "matrix-market", "graphml", "gexf", "gml", "pajek", "json", "parquet", "metis",
)  # fmt: skip
HEAD_BYTES = 1 << 16

_BINARY = {
    b"PAR1": "parquet",
}
_UTF_16 = (
    "UTF-16 text",
    "Convert it to UTF-8, for instance: iconv -f UTF-16 -t UTF-8; in Excel, save as CSV UTF-8.",
)
_PICKLE = ("a Python pickle", "It is not opened: a pickle can run any program. Write an edge list.")
_R_DATA = ("an R data file", "Write the links from R with write.csv(..., row.names = FALSE).")
_REFUSED_BINARY = {
    b"\xff\xfe\x00\x00": ("UTF-32 text", "Convert it to UTF-8, for instance: iconv -f UTF-32 -t UTF-8."),
    b"\x00\x00\xfe\xff": ("UTF-32 text", "Convert it to UTF-8, for instance: iconv -f UTF-32 -t UTF-8."),
    b"\x89HDF": (
        "an HDF5 file",
        "Load it with the library that wrote it and give blockmix the pairs or the matrix.",
    ),
    b"\x93NUMPY": ("a NumPy array file", "Load it with numpy.load and give the array of pairs to blockmix."),
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"SQLite format 3": ("an SQLite database", "Export the table of links as CSV."),
    b"%PDF": ("a PDF document", "Name a file with links."),
    b"\x80\x02": _PICKLE,
    b"\x80\x03": _PICKLE,
    b"\x80\x04\x95": _PICKLE,
    b"\x80\x05\x95": _PICKLE,
    b"MATLAB 5.0 MAT-file": (
        "a MATLAB file",
        "Load it with scipy.io.loadmat and give blockmix the matrix or pairs.",
    ),
    b"$FL2@(#)": ("a data file of SPSS", "Export the links as CSV."),
    b"RDX2\n": _R_DATA,
    b"RDX3\n": _R_DATA,
    b"\x89PNG": ("a picture", "Name a file with links."),
    b"\xff\xd8\xff": ("a picture", "Name a file with links."),
    b"GIF8": ("a picture", "Name a file with links."),
    b"\xd0\xcf\x11\xe0": (
        "an Excel workbook or another Office document",
        "Save the sheet as CSV and read that.",
    ),
    b"7z\xbc\xaf": ("a 7z archive", "Unpack it and name the file with the links."),
    b"Rar!": ("a RAR archive", "Unpack it and name the file with the links."),
    b"\xe2\x9b\xbe gt": ("a graph-tool file", 'Write it as GraphML: g.save("network.graphml").'),
    b"ARROW1": ("an Arrow file", "Write it as Parquet or CSV."),
    b"FEA1\x00": ("a Feather file", "Write it as Parquet or CSV."),
    b"\x1f\x8b": ("compressed twice", "Unpack it once."),
    b"PK\x03\x04": ("a zip archive inside another file", "Unpack it once."),
}
_TEXT = (
    (re.compile(rb"\*(vertices|network)\b", re.IGNORECASE), "pajek"),
    (re.compile(rb"(creator\b[^\n]*\s+)?(version\b[^\n]*\s+)?(di)?graph\s*\[", re.IGNORECASE), "gml"),
    (re.compile(rb"[\[{]\s*([\"\[{\]}]|-?\d)"), "json"),
)
_TGF = ("TGF, nodes above links", "Keep the lines below the # alone; the others can be nodes (--nodes).")
# The first line of a file of KONECT says which kind of network it is.
_KONECT_BIPARTITE = re.compile(rb"%\s*bip\b")
_BIPARTITE = (
    "a bipartite network of KONECT, in which the nodes of both sides have the same numbers",
    "Say that it has two kinds of nodes: bipartite=True (--bipartite).",
)
# The mark of a tar archive, and where it is.
_TAR, _TAR_AT = b"ustar", 257
_XML = re.compile(rb"<(?:[\w.-]+:)?(graphml|gexf)\b", re.IGNORECASE)


def check_format(name: object) -> str | None:
    """Return the format that the user names, or raise an error with the ones that there are."""
    if name is None or name in FORMATS:
        return None if name is None else str(name)
    raise InputError(f"format={name!r:.60}: formats are {', '.join(FORMATS)}; leave it out to find out")


def detect(
    source: Source, columns_given: bool = False, separator: int | None = None, bipartite: bool = False
) -> str:
    """Return the format of an open file, or raise a `GraphFormatError` that says what it looks like.

    With `columns_given` the user says which columns have the labels, and a table may look as it likes. The `separator`
    of its columns is found where it is not given. A network that the user calls `bipartite` may say so itself.
    """
    head = source.head(HEAD_BYTES)
    for start, found in _BINARY.items():
        if head.startswith(start):
            return found
    for start, (what, remedy) in _REFUSED_BINARY.items():
        if head.startswith(start):
            raise _refusal(source, what, remedy, 1, head[:6])
    if len(head) >= 4 and (not any(head[1:40:2]) or not any(head[0:40:2])):
        raise _refusal(source, *_UTF_16, 1, head[:6])
    if head[_TAR_AT:].startswith(_TAR):
        raise _refusal(source, "a tar archive", "Unpack it and name the file with the links.", 1, head[:20])
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text[:14].lower() == b"%%matrixmarket":
        return "matrix-market"
    if text[:1] == b"<":
        named = _XML.search(head)
        if named:
            return named[1].decode().lower()
    begin, line, comments = first_data_line(head)
    rest = head[begin:]
    for pattern, found in _TEXT:
        if pattern.match(rest):
            return found
    for pattern, what, remedy in REFUSED_TEXT:
        if pattern.match(rest):
            raise _refusal(source, what, remedy, head.count(b"\n", 0, begin) + 1, line.strip())
    if not columns_given and source.suffix == ".tgf":
        raise _refusal(source, *_TGF, head.count(b"\n", 0, begin) + 1, line.strip())
    by_them = None if columns_given else by_comments(head, begin, source.suffix)
    if by_them is not None:
        raise _refusal(source, *by_them, head.count(b"\n", 0, begin) + 1, line.strip())
    if not bipartite and comments and _KONECT_BIPARTITE.match(comments[0]):
        raise _refusal(source, *_BIPARTITE, 1, comments[0])
    whole = len(head) < HEAD_BYTES
    if looks_like_metis(head, whole, source.suffix):
        return "metis"
    if looks_like_matrix(source, head):
        return "matrix"
    other = None if columns_given else lookalike(head, source.name, separator, bipartite)
    if other is not None:
        raise _refusal(source, *other, head.count(b"\n", 0, begin) + 1, line.strip())
    return "edges"


def _refusal(source: Source, what: str, remedy: str, line: int, text: bytes) -> GraphFormatError:
    return GraphFormatError(
        f"this is no plain edge list but looks like {what}",
        path=source.name,
        line=line,
        column=1,
        text=text,
        remedy=remedy,
    )
