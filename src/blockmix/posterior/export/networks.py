"""The network with its memberships, for networkx, cdlib, and as GraphML for Gephi, Cytoscape, yEd or igraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from blockmix.errors import optional
from blockmix.files import write_pieces
from blockmix.graph.convert import to_networkx as to_networkx_graph
from blockmix.graph.graph import Graph
from blockmix.graph.query import upper_weights
from blockmix.graph.sides.tables import ROLE

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Characters that XML cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KEYS = (
    ("label", "string"), ("community", "int"), ("membership", "double"), ("sd", "double"), ("memberships", "string")
)  # fmt: skip


def to_networkx(post: Posterior) -> Any:
    """Make a networkx graph, see `Posterior.to_networkx`."""
    optional("networkx", "to_networkx", 'pip install "blockmix[networkx]"')
    if post.graph.directed:
        return _directed(post)
    return _with_memberships(post, post.graph.to_networkx())


def _directed(post: Posterior) -> Any:
    """Make a networkx.DiGraph whose nodes have the attributes of both roles, with out_ and in_ in front."""
    sides, network = post.graph.sides, post.graph.to_networkx()
    assert sides is not None
    places = _with_memberships(post, to_networkx_graph(post.graph.without_sides()))
    names, roles = sides.plain(post.graph.labels), sides.roles(np.arange(post.graph.n_nodes))
    for name, role, (_, known) in zip(names, roles, places.nodes(data=True), strict=True):
        network.nodes[name].update({f"{role}_{key}": value for key, value in known.items() if key != ROLE})
    return network


def _with_memberships(post: Posterior, network: Any) -> Any:
    attributes = {} if post.graph.attributes is None else dict(post.graph.attributes)
    for a, label in enumerate(network.nodes):
        known = {name: attribute[a] for name, attribute in attributes.items()}
        network.nodes[label].update({name: value for name, value in known.items() if value is not None})
        held = slice(int(post.offsets[a]), int(post.offsets[a + 1]))
        memberships = {int(k): float(m) for k, m in zip(post.community[held], post.mean[held], strict=True)}
        network.nodes[label].update(
            community=next(iter(memberships), -1),
            membership=next(iter(memberships.values()), 0.0),
            memberships=memberships,
            memberships_sd={
                int(k): float(s) for k, s in zip(post.community[held], post.sd[held], strict=True)
            },
        )
        if post.popularity_mean is not None:
            network.nodes[label]["popularity"] = float(post.popularity_mean[a])
    return network


def to_cdlib(post: Posterior, *, threshold: float = 0.1) -> Any:
    """Make a cdlib clustering, see `Posterior.to_cdlib`."""
    cdlib = optional("cdlib", "to_cdlib", "pip install cdlib")
    settings = {
        "threshold": threshold,
        "sampler": post.provenance.get("sampler"),
        "seed": post.provenance.get("seed"),
    }
    network = _with_memberships(post, to_networkx_graph(post.graph.without_sides()))
    return cdlib.NodeClustering(
        list(post.communities(threshold, complete=True).values()), graph=network, method_name="blockmix",
        method_parameters=settings, overlap=True,
    )  # fmt: skip


def write_graphml(post: Posterior, path: str | Path) -> None:
    """Write GraphML, see `Posterior.write_graphml`."""
    write_pieces(Path(path), _graphml(post))


def _graphml(post: Posterior) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    popular = post.popularity_mean
    for name, kind in _KEYS if popular is None else (*_KEYS, ("popularity", "double")):
        yield f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n'
    attributes = [] if post.graph.attributes is None else list(post.graph.attributes.items())
    for place, (name, attribute) in enumerate(attributes):
        kind = "double" if attribute.kind == "number" else "string"
        title = quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", name))
        yield f'<key id="a{place}" for="node" attr.name={title} attr.type="{kind}"/>\n'
    if post.graph.weights is not None:
        yield '<key id="weight" for="edge" attr.name="weight" attr.type="double"/>\n'
    yield '<graph edgedefault="undirected">\n'
    labels = post.graph.labels
    for a in range(post.graph.n_nodes):
        held = slice(int(post.offsets[a]), int(post.offsets[a + 1]))
        known = "".join(_attribute(place, attribute[a]) for place, (_, attribute) in enumerate(attributes))
        if popular is not None:
            known += f'<data key="popularity">{popular[a]:.6g}</data>'
        yield _node(a, str(labels[a]), post.community[held], post.mean[held], post.sd[held], known)
    yield from _edges(post.graph)
    yield "</graph>\n</graphml>\n"


def _edges(graph: Graph) -> Iterator[str]:
    ends = graph.edges().tolist()
    if graph.weights is None:
        yield from (f'<edge source="n{a}" target="n{b}"/>\n' for a, b in ends)
        return
    values = upper_weights(graph.offsets, graph.neighbors, graph.weights).tolist()
    for (a, b), value in zip(ends, values, strict=True):
        yield f'<edge source="n{a}" target="n{b}"><data key="weight">{value!r}</data></edge>\n'


def _attribute(place: int, value: float | str | None) -> str:
    if value is None:
        return ""
    text = f"{value:.10g}" if isinstance(value, float) else _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value)
    return f'<data key="a{place}">{escape(text)}</data>'


def _node(a: int, label: str, community: Any, mean: Any, sd: Any, known: str) -> str:
    """Return the text of one node: its label, its largest membership, and all of them as `community:mean` pairs."""
    text = escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", label))
    first = (
        f'<data key="community">{community[0]}</data><data key="membership">{mean[0]:.6f}</data>'
        if len(mean)
        else ""
    )
    first += f'<data key="sd">{sd[0]:.6f}</data>' if len(mean) else ""
    pairs = " ".join(f"{k}:{m:.4f}" for k, m in zip(np.asarray(community), np.asarray(mean), strict=True))
    return (
        f'<node id={quoteattr(f"n{a}")}><data key="label">{text}</data>{first}'
        f'<data key="memberships">{pairs}</data>{known}</node>\n'
    )
