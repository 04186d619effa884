"""How text that is no list of links begins: notations of other programs, each with what it is called and what to do.

Read as two labels a line they would give a wrong network, most of them without an error.
"""

from __future__ import annotations

import re

_EDGES = "Write the links as an edge list."
_PAIRS = "Write one link a line, two labels separated by a tab, or give the pairs themselves to blockmix."
_LINES = "Write one link a line, two labels separated by a tab."
_CSV = "Export the links as CSV."
_TABLE = "Save or export it as CSV."
_RESULT = "Name the file with the links."

# A text, whatever is above it, that begins like this is refused: (what it begins with, what it is, what to do).
REFUSED_TEXT = tuple(
    (re.compile(begin, re.IGNORECASE), what, remedy)
    for begin, what, remedy in (
        # Web pages and XML.
        (rb"<(!doctype\s+html|html|head|body|table)\b", "an HTML page",
         "The download may have been an error page: open the address in a browser and save the file itself."),
        (rb"<stata_dta>", "a data file of Stata", _CSV),
        (rb"<(\?xml|!doctype|[a-z][\w:.-]*\s+[\w:.-]+\s*=)", "XML, but neither GraphML nor GEXF", _EDGES),
        (rb"<[^>\s]+>\s+<[^>\s]+>\s+[<\"_]", "RDF, a subject, a predicate and an object a line",
         "Write the links as an edge list: subject and object, separated by a tab."),
        (rb"@prefix\s+[\w-]*:\s*<|@base\s*<|prefix\s+[\w-]*:\s*<", "RDF (Turtle)",
         "Write the links as an edge list: subject and object, separated by a tab."),
        # Formats of programs that draw or keep networks.
        (rb"(strict\s+)?(di)?graph(\s+(\w+|\"[^\"]*\"))?\s*\{", "DOT (Graphviz)",
         "Convert it, for instance with networkx.nx_pydot.read_dot, and give the graph to blockmix."),
        (rb"(graph|flowchart)\s+(td|tb|bt|rl|lr)\b[ \t;]*\r?\n[^\n]*-[-.]", "a drawing of Mermaid", _EDGES),
        (rb"nodedef\s*>", "GDF of GUESS", "Open it in Gephi and export GraphML, or write an edge list."),
        (rb"dl\b(\s+(n|nr|nc|nm)\b|[^\n]*\b(n|nr|nc|nm|format)\s*=)", "UCINET DL", _EDGES),
        (rb"\*(node|tie) (data|properties)\b", "UCINET VNA", _EDGES),
        (rb"\*(edges|arcs|edgeslist|arcslist|matrix|partition|vector)\b", "Pajek without its section *Vertices",
         "Put the section *Vertices in front, or keep the lines of links alone."),
        (rb"leda\.graph\b", "LEDA", _EDGES),
        (rb"\(tlp\b", "TLP of Tulip", "Export it as GML or GEXF from Tulip, or write an edge list."),
        (rb">>(graph6|sparse6|digraph6)<<", "graph6 or sparse6",
         "Read it with networkx.read_graph6 or read_sparse6 and give the graph to blockmix."),
        (rb"(c\s[^\n]*\n)*p\s+(edge|edges|col|sp|max)\s+\d", "DIMACS",
         "Keep the lines of links alone, without their first letter."),
        (rb"\([^\n]*\)[^\n()]*;[ \t]*\r?\n?$", "a tree in Newick format", _EDGES),
        # Tables that are drawn, or printed by a program.
        (rb"\|[^\n]*\|[ \t]*\r?\n[ \t]*\|[ \t]*:?--[-\s:|]*\n", "a Markdown table", "Save it as CSV."),
        (rb"\{\|", "a table of a wiki", _TABLE),
        (rb"(\+[-=]+)+\+[ \t]*\r?\n|[^\n]*\n(?=[^\n]*--)[-+|= \t]+\r?\n|=+([ \t]+=+)+[ \t]*\r?\n",
         "a table that is drawn with lines, as the clients of databases print it", _TABLE),
        (rb"[ \t]*\([ \t]*\d+[ \t]*,[ \t]*\d+[ \t]*\)[ \t]+[-+.\d]", "a sparse matrix as MATLAB or SciPy prints it",
         "Write it as Matrix Market, or give the matrix itself to blockmix."),
        (rb"[^\n]*\n[ \t]*<\w+>([ \t]+<\w+>)+[ \t]*\r?\n", "a table as R prints it",
         "Write the links from R with write.csv(..., row.names = FALSE)."),
        # Source text of programs.
        (rb"\[?\s*\([^()\n,]+,[^()\n]+\)\s*([,\]\n]|$)", "Python text, pairs in brackets", _PAIRS),
        (rb"\{\s*'", "Python text, a dictionary", _LINES),
        (rb"((const|let|var)\s+)?[a-z_][\w.]*[ \t]*(=|<-|:=)[ \t]*([\[({]|[a-z_][\w.]*\()",
         "a line of a program that gives a variable its value", _PAIRS),
        (rb"(structure|list|data\.frame|c)\([^\n]*\b(list|c)\(", "R text (dput)",
         "Write the links from R with write.csv(..., row.names = FALSE)."),
        (rb"(insert\s+into|create\s+table|drop\s+table|copy\s[^\n]+\sfrom\s+stdin)\b", "statements of SQL", _CSV),
        (rb"[a-z_]\w*\([^()\n,]+,[^()\n]+\)[ \t]*[.;,]?[ \t]*(\r?\n|$)", "facts, a word before two labels in brackets",
         _LINES),
        (rb"(---[ \t]*\r?\n)?([^\s:,]+:[ \t]*\r?\n)?[ \t]*-[ \t]+(\[|[\w\"']+:([ \t]|\r?\n))", "YAML", _LINES),
        (rb"[^\s:,]+:[ \t]*\r?\n[ \t]*-[ \t]", "YAML", _LINES),
        (rb"@\w+\s*\{", "BibTeX", _EDGES),
        (rb"\((lp|dp|tp)?\d+\n", "a Python pickle",
         "It is not opened: a pickle can run any program. Write an edge list."),
        (rb"version https://git-lfs", "a pointer of Git LFS, in place of the file itself",
         "Fetch the file with: git lfs pull."),
        (rb"(//|;|--|/\*|!)\s", "a list whose comments begin with other marks than # and %",
         "Begin comments with #, or remove them."),
    )
)  # fmt: skip
# What Infomap writes above its results.
_INFOMAP = re.compile(rb"#[ \t]*(path flow name|node_id module)\b")
# Two lines of networkx.write_multiline_adjlist: a node with the number of its neighbours, and one of them.
_ADJLIST = re.compile(rb"[^\s#]\S*[ \t]+\d+[ \t]*\r?\n[^\s#]\S*[ \t]+\{")


def by_comments(head: bytes, begin: int, suffix: str) -> tuple[str, str] | None:
    r"""Return what a text looks like by its comments, and what to do; its data begin at byte `begin`.

    >>> by_comments(b"# ann\nbob 1.5\n# bob\ncem 2\n", 6, ".txt")[0]
    'LGL, a node in a comment and its neighbours below'
    """
    if suffix == ".lgl" or _is_lgl(head):
        return (
            "LGL, a node in a comment and its neighbours below",
            "Read it with igraph (Graph.Read_Lgl) and give the graph to blockmix.",
        )
    if any(_INFOMAP.match(line) for line in head[:begin].split(b"\n")):
        return "the communities that Infomap found", "Name the file with the links."
    if _ADJLIST.match(head[begin:]):
        return (
            "a multi-line adjacency list of networkx",
            "Read it with networkx.read_multiline_adjlist and give the graph to blockmix.",
        )
    return None


def _is_lgl(head: bytes) -> bool:
    """Return whether comments of one word name nodes, and every other line has one label and perhaps a weight."""
    comments: set[bytes] = set()
    labels: set[bytes] = set()
    for line in head.splitlines():
        words = line.split()
        if line.startswith(b"#") and len(words) + (len(words[0]) > 1) == 2:
            comments.add(words[-1].removeprefix(b"#"))
        elif words and (line.startswith(b"#") or len(words) > 2 or not comments):
            return False
        elif words:
            labels.add(words[0])
    return len(comments) > 1 and bool(comments & labels)
