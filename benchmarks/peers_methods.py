"""The methods that benchmarks/peers.py compares: each takes a training network and returns communities.

A method is a function of a `blockmix.Graph` that returns (covers, link probability or None): covers are arrays of
node numbers; the second is a function of pairs, for methods that predict links themselves. All of them are used
with their authors' defaults, or where there are none with the values named here. Nobody is told the number of
communities, except where a method cannot do without and the table says so.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 1  # for every method: most of them know no other number
Covers = list[np.ndarray]
Predict = Callable[[np.ndarray], np.ndarray]
Result = tuple[Covers, Predict | None]
# The Python that distributions install graph-tool for, and the script that it runs.
SYSTEM_PYTHON = "/usr/bin/python3"
GRAPH_TOOL = Path(__file__).with_name("peers_graph_tool.py")


def blockmix(seconds: float, model: str = "assortative") -> Callable[[Any, int], Result]:
    def run(data: Any, seed: int) -> Result:
        import blockmix as bm

        post = bm.fit(
            data.training, seed=seed, held_out=data, time_limit=seconds, threads=THREADS, progress=False,
            model=model,  # type: ignore[arg-type]
        )  # fmt: skip
        return list(post.covers(complete=True).values()), post.node_link_probability

    return run


def of_networkx(name: str, **options: Any) -> Callable[[Any, int], Result]:
    """An algorithm of cdlib on a networkx graph of node numbers."""

    def run(data: Any, seed: int) -> Result:
        import random

        import networkx as nx
        from cdlib import algorithms

        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - what these programs draw from
        graph = nx.Graph()
        graph.add_nodes_from(range(data.training.n_nodes))
        graph.add_edges_from(data.training.edges().tolist())
        found = getattr(algorithms, name)(graph, **options)
        return [np.array(sorted(int(a) for a in group)) for group in found.communities if len(group)], None

    return run


def networkit_local(name: str, *options: Any) -> Callable[[Any, int], Result]:
    """A local method of networkit, from every node that no community has reached yet."""

    def run(data: Any, seed: int) -> Result:
        import networkit as nk

        nk.setSeed(seed, False)
        graph = nk.Graph(data.training.n_nodes)
        for a, b in data.training.edges().tolist():
            graph.addEdge(a, b)
        method = getattr(nk.scd, name)(graph, *options)
        reached = np.zeros(data.training.n_nodes, dtype=bool)
        covers = []
        for a in np.argsort(-data.training.degrees, kind="stable").tolist():
            if reached[a] or not data.training.degrees[a]:
                continue
            group = np.array(sorted(method.expandOneCommunity(a)))
            reached[a] = True
            if len(group):
                reached[group] = True
                covers.append(group)
        return covers, None

    return run


def networkit_plm(data: Any, seed: int) -> Result:
    import networkit as nk

    nk.setSeed(seed, False)
    graph = nk.Graph(data.training.n_nodes)
    for a, b in data.training.edges().tolist():
        graph.addEdge(a, b)
    return _parts(nk.community.detectCommunities(graph, nk.community.PLM(graph, True)).getVector()), None


def leiden(objective: str) -> Callable[[Any, int], Result]:
    def run(data: Any, seed: int) -> Result:
        import random

        import igraph

        random.seed(seed)
        graph = igraph.Graph(n=data.training.n_nodes, edges=data.training.edges().tolist())
        resolution = 1.0 if objective == "modularity" else 3.0 * graph.density()
        found = graph.community_leiden(objective, resolution=resolution, n_iterations=-1)
        return _parts(found.membership), None

    return run


def infomap(data: Any, seed: int) -> Result:
    from infomap import Infomap

    search = Infomap(silent=True, two_level=True, seed=seed + 1)
    search.add_nodes(range(data.training.n_nodes))
    search.add_links(data.training.edges().tolist())
    search.run()
    parts = np.full(data.training.n_nodes, -1)
    for node in search.nodes:
        parts[node.node_id] = node.module_id
    return _parts(parts), None


def scikit_network(name: str) -> Callable[[Any, int], Result]:
    def run(data: Any, seed: int) -> Result:
        from scipy.sparse import csr_matrix
        from sknetwork import clustering

        adjacency = csr_matrix(data.training.to_scipy())
        make = getattr(clustering, name)
        method = make() if name == "PropagationClustering" else make(random_state=seed)
        return _parts(method.fit_predict(adjacency)), None

    return run


@functools.cache
def _system_graph_tool() -> str:
    """Return the version of graph-tool of the system's Python, or raise an error that says where it was looked for."""
    question = "import graph_tool; print(graph_tool.__version__.split()[0])"
    try:
        asked = subprocess.run(
            [SYSTEM_PYTHON, "-c", question], capture_output=True, text=True, env={}, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        raise ModuleNotFoundError(f"No module named 'graph_tool' for {SYSTEM_PYTHON}") from None
    return asked.stdout.strip()


def graph_tool(data: Any, seed: int) -> Result:
    """Run the degree-corrected blockmodel of graph-tool in the system's Python; its pairs are those of the split."""
    _system_graph_tool()
    with tempfile.TemporaryDirectory() as folder:
        given, found = str(Path(folder, "in.npz")), str(Path(folder, "out.npz"))
        np.savez(given, nodes=data.training.n_nodes, links=data.training.edges(), pairs=data.scored_pairs)
        # Without the variables of this process: a PYTHONPATH would lead the system's Python to packages of this one.
        command = [SYSTEM_PYTHON, str(GRAPH_TOOL), given, found, str(seed)]
        own = {"OMP_NUM_THREADS": str(THREADS)}
        done = subprocess.run(command, capture_output=True, text=True, env=own, check=False)
        if done.returncode:
            raise RuntimeError(
                (done.stderr.strip().splitlines() or ["graph-tool ended without a message"])[-1]
            )
        with np.load(found, allow_pickle=False) as answer:
            groups, probability = answer["groups"], answer["probability"]

    def predict(pairs: np.ndarray) -> np.ndarray:
        if pairs is not data.scored_pairs and not np.array_equal(pairs, data.scored_pairs):
            raise ValueError("graph-tool predicted the pairs of the split, and no others")
        return np.asarray(probability)

    return _parts(groups), predict


def _parts(labels: Any) -> Covers:
    labels = np.asarray(labels)
    order = np.argsort(labels, kind="stable")
    _, first = np.unique(labels[order], return_index=True)
    return [np.sort(part) for part in np.split(order, first[1:])]


# name: (function, whether communities may overlap)
METHODS: dict[str, tuple[Callable[[Any, int], Result], bool]] = {
    "blockmix 60 s": (blockmix(60.0), True),
    "blockmix 10 s": (blockmix(10.0), True),
    "blockmix popularity 60 s": (blockmix(60.0, "popularity"), True),
    "blockmix popularity 10 s": (blockmix(10.0, "popularity"), True),
    "blockmix auto 10 s": (blockmix(10.0, "auto"), True),
    "graph-tool": (graph_tool, False),
    "SLPA (cdlib)": (of_networkx("slpa"), True),
    "DEMON (cdlib)": (of_networkx("demon", epsilon=0.25), True),
    "ANGEL (cdlib)": (of_networkx("angel", threshold=0.25), True),
    "Core Expansion (cdlib)": (of_networkx("core_expansion"), True),
    "LPANNI (cdlib)": (of_networkx("lpanni"), True),
    "k-clique (cdlib)": (of_networkx("kclique", k=4), True),
    "Ego-splitting (cdlib)": (of_networkx("egonet_splitter"), True),
    "BigClam (cdlib)": (of_networkx("big_clam"), True),
    "LFM (networkit)": (networkit_local("LFMLocal", 1.0), True),
    "GCE (networkit)": (networkit_local("GCE", "M"), True),
    "Local tightness (networkit)": (networkit_local("LocalTightnessExpansion"), True),
    "PLM (networkit)": (networkit_plm, False),
    "Leiden modularity (igraph)": (leiden("modularity"), False),
    "Leiden CPM (igraph)": (leiden("CPM"), False),
    "Infomap": (infomap, False),
    "Louvain (scikit-network)": (scikit_network("Louvain"), False),
    "Label propagation (scikit-network)": (scikit_network("PropagationClustering"), False),
}
