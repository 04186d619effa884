"""The number of communities that is taken where the user gives none."""

import blockmix as bm
from blockmix.samplers.starts.choose import choose_communities


def test_pairs_and_single_nodes_are_no_communities():
    """Four cliques are four communities, whatever is left over beside them."""
    cliques = [(c + a, c + b) for c in range(0, 32, 8) for a in range(8) for b in range(a)]
    joined = [(7, 8), (15, 16), (23, 24)]
    pairs = [(40 + 2 * i, 41 + 2 * i) for i in range(6)]
    graph = bm.Graph.from_edges([*cliques, *joined, *pairs], nodes=range(60))
    assert choose_communities(graph, 1) == 4


def test_the_whole_network_as_one_part_is_no_candidate():
    """Where communities overlap it has a high likelihood: counted as one, ten communities would be the least, two."""
    graph = bm.planted(300, 10, degree=6, overlap=(1, 2), seed=2).graph
    assert choose_communities(graph, 1) >= 5
