"""The questions as methods of `Posterior`: what each asks, in words; the work is in the other modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.labels import Label
from blockmix.posterior.answers.table import Answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from blockmix.evaluate.weights import WeightScores
    from blockmix.graph.graph import Graph
    from blockmix.posterior.answers.compare import Comparison
    from blockmix.posterior.posterior import Posterior
    from blockmix.posterior.views import CommunityCount

Pairs = Iterable[Sequence[Label]]


class Answers:
    """Questions about a result. The examples of all methods ask this one, of two cliques that share node 7.

    >>> import blockmix as bm
    >>> links = [(a + c, b + c) for c in (0, 7) for a in range(8) for b in range(a) if (a + c, b) != (1, 0)]
    >>> graph = bm.as_graph(links, nodes={"id": range(15), "team": ["red"] * 8 + ["blue"] * 7})
    >>> post = bm.fit(graph, communities=2, seed=1, sweeps=300, held_out=0)
    >>> len(post.node(7)), len(post.members(0, top=3)), [row.node for row in post.bridges()]
    (2, 3, [7])
    """

    @property
    def _post(self) -> Posterior:
        return cast("Posterior", self)

    def node(self, label: Label, *, level: float = 0.9) -> Answer:
        """Return the memberships of one node: community, share, sd and interval, largest first.

        >>> post.node(7)["share"].round(1).tolist()
        [0.5, 0.5]
        """
        from blockmix.posterior.answers.of_nodes import node_memberships

        return node_memberships(self._post, label, level)

    def community_count(self, *, level: float = 0.9) -> CommunityCount | None:
        """Return how many communities are in use, over the posterior samples of all chains; None without samples.

        With `communities="auto"` this is how sure the number is: the chains have starts of their own, and spare
        communities may stay empty. There cannot be more than the model was given.

        >>> post.community_count().mean
        2.0
        """
        from blockmix.posterior.answers.of_communities import community_count

        return community_count(self._post, level)

    def members(self, community: int, *, top: int | None = None, level: float = 0.9) -> Answer:
        """Return the members of a community with their shares, strongest first; `top` limits how many.

        >>> red = post.node(2)["community"][0]
        >>> sorted(row.node for row in post.members(red, top=8))
        [0, 1, 2, 3, 4, 5, 6, 7]
        """
        from blockmix.posterior.answers.of_communities import members

        return members(self._post, community, top, level)

    @property
    def weight_law(self) -> str | None:
        """The law of the weights of links, "counts" or "amounts"; None where links have none."""
        from blockmix.posterior.predictive.weights import weight_law

        return weight_law(self._post)

    def expected_weight(self, pairs: Pairs | NDArray[Any]) -> NDArray[np.float64]:
        """Return the expected weight of each pair of labels, zero for no link, averaged as in `link_probability`."""
        from blockmix.posterior.predictive.weights import expected_weight

        return expected_weight(self._post, pairs)

    def node_expected_weight(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same as `expected_weight` for node numbers, an array of shape (n, 2)."""
        from blockmix.posterior.predictive.weights import node_expected_weight

        return node_expected_weight(self._post, pairs)

    @cached_property
    def weight_scores(self) -> WeightScores | None:
        """How well the weights of held-out links are predicted (M18); None without weights or held-out links."""
        from blockmix.posterior.predictive.weights import weight_scores

        return weight_scores(self._post)

    def bridges(self, *, top: int = 20) -> Answer:
        """Return the nodes that surely belong to two communities or more, those with the largest second share first.

        Both shares are at least 0.1, and their lower bounds (5%) above 0.02: a node whose community is merely unknown
        is not among them.

        >>> [row.node for row in post.bridges()]
        [7]
        """
        from blockmix.posterior.answers.of_nodes import bridges

        return bridges(self._post, top)

    def similar_nodes(self, label: Label, *, top: int = 10) -> Answer:
        """Return the nodes most like this one: sum_k sqrt(pi_ak pi_bk) of mean memberships, 1 for the same ones.

        >>> [row.node < 7 for row in post.similar_nodes(0, top=3)]
        [True, True, True]
        """
        from blockmix.posterior.answers.of_nodes import similar_nodes

        return similar_nodes(self._post, label, top)

    def nodes_in_none(self, *, threshold: float = 0.1) -> Answer:
        """Return the nodes that `communities(threshold)` lists in no community, with the nearest one.

        >>> len(post.nodes_in_none())
        0
        """
        from blockmix.posterior.answers.of_nodes import nodes_in_none

        return nodes_in_none(self._post, threshold)

    def link_intervals(self, pairs: Pairs, *, level: float = 0.9) -> Answer:
        """Return the link probability of pairs of labels with its credible interval, from the samples kept.

        The interval is about the probability, given the model: not about whether there is a link.

        >>> [row.lower < row.probability < row.upper for row in post.link_intervals([(0, 1), (0, 14)])]
        [True, True]
        """
        from blockmix.posterior.answers.of_pairs import link_intervals

        return link_intervals(self._post, pairs, level)

    def share_probability(self, pairs: Pairs, *, threshold: float = 0.1) -> NDArray[np.float64]:
        """Return the probability that two nodes share a community, for pairs of labels.

        That is the share of posterior samples in which there is a community of which both make at least `threshold`.

        >>> post.share_probability([(2, 3), (0, 14)]).round(0).tolist()
        [1.0, 0.0]
        """
        from blockmix.posterior.answers.of_pairs import share_probability

        return share_probability(self._post, pairs, threshold)

    def link_communities(self, pairs: Pairs) -> Answer:
        """Return the community in which a link between two nodes is made, most likely, and with what probability.

        `between` is the probability that it is a link of the background, between two communities.

        >>> post.link_communities([(2, 3)])["community"] == post.node(2)["community"][0]
        array([ True])
        """
        from blockmix.posterior.answers.of_pairs import link_communities

        return link_communities(self._post, pairs)

    def missing_links(
        self, label: Label | None = None, *, community: int | None = None, top: int = 20
    ) -> Answer:
        """Return the most likely pairs without a link: of one node, of one community, or of the whole network.

        For one node all others are compared. For the network, pairs among the strongest members of each community are,
        four million of them at most; not all pairs are visited.

        >>> [(row.node_a, row.node_b) for row in post.missing_links(top=1)]
        [(0, 1)]
        >>> [row.node_b for row in post.missing_links(0, top=1)]
        [1]
        """
        from blockmix.posterior.answers.of_links import missing_links

        return missing_links(self._post, label, community, top)

    def surprising_links(self, *, top: int = 20) -> Answer:
        """Return the links of the network that are the least likely, given everything else.

        >>> len(post.surprising_links(top=3))
        3
        """
        from blockmix.posterior.answers.of_links import surprising_links

        return surprising_links(self._post, top)

    def overlap(self, *, threshold: float = 0.1) -> Answer:
        """Return the pairs of communities that share members: how many, how nested, and how near to one.

        `nested` is the share of the smaller one that is in the larger; `merge` compares links between the two with
        links within, by memberships: at 1 they are as dense between as within, and one community would do.

        >>> [(row.shared, row.nested) for row in post.overlap()]
        [(1, 0.125)]
        """
        from blockmix.posterior.answers.of_communities import overlap

        return overlap(self._post, threshold)

    def roles(self, community: int, *, top: int | None = None, threshold: float = 0.1) -> Answer:
        """Return hubs and roles in a community: links inside, their z-score, participation, and the role in words.

        >>> [(row.node, row.role) for row in post.roles(0, top=1)]
        [(7, 'connector hub')]
        """
        from blockmix.posterior.answers.roles import roles

        return roles(self._post, community, top, threshold)

    def quality(self, *, threshold: float = 0.1) -> Answer:
        """Return members, links, density, conductance and modularity of every community of `communities(threshold)`.

        >>> sorted(zip(post.quality()["members"].tolist(), post.quality()["density"].round(2).tolist()))
        [(8, 0.96), (8, 1.0)]
        """
        from blockmix.posterior.answers.of_communities import quality

        return quality(self._post, threshold)

    def names(self, *, by: str | None = None, top: int = 3) -> dict[int, str]:
        """Return a name for every community: its strongest members, or the values of an attribute that mark it out.

        Of an attribute with a text for nearly every node, such as titles, these are the words that members have more
        often than others.

        >>> sorted(post.names(by="team").values())
        ['blue', 'red']
        """
        from blockmix.posterior.answers.naming import names

        return names(self._post, by, top)

    def subgraph(self, community: int, *, threshold: float = 0.1) -> Graph:
        """Return the network of the members of a community and the links between them.

        >>> post.subgraph(post.node(9)["community"][0])
        Graph(8 nodes, 28 links, labels 7 .. 14)
        """
        from blockmix.posterior.answers.of_communities import subgraph

        return subgraph(self._post, community, threshold)

    def compare(self, other: Posterior, *, threshold: float = 0.1) -> Comparison:
        """Compare with another result on the nodes that both have: matched communities, and nodes that moved.

        >>> other = bm.fit(post.graph, communities=2, seed=2, sweeps=300, held_out=0)
        >>> post.compare(other).communities["likeness"].round(1).tolist(), len(post.compare(other).moved)
        ([1.0, 1.0], 0)
        """
        from blockmix.posterior.answers.compare import compare

        return compare(self._post, other, threshold)

    def transform(self, links: Mapping[Any, Iterable[Label]] | Iterable[Label], *, seed: int = 0) -> Answer:
        """Return the memberships of new nodes from their links to known ones, without a new fit.

        `links` maps each new node to the labels that it is linked to; a list of labels is one new node. Everything else
        stays at its posterior mean. The popularity model adds the popularity of the new node. Shares in communities
        that no neighbour is in are left out: with few links the others add up to less than one.

        >>> bool(post.transform([0, 2, 3, 4])["community"][0] == post.node(2)["community"][0])
        True
        >>> sorted(set(post.transform({"ann": [0, 2, 13, 14], "bob": [9]})["node"]))
        ['ann', 'bob']
        """
        from blockmix.posterior.answers.placing.place import transform

        return transform(self._post, links, seed)

    def plot(self, *, threshold: float = 0.1, seed: int = 0) -> Figure:
        """Plot the network, every node a pie chart of its communities; the same as `plot_network`.

        >>> post.plot()
        <Figure size 900x570 with 1 Axes>
        """
        return self.plot_network(threshold=threshold, seed=seed)

    def plot_network(self, *, threshold: float = 0.1, seed: int = 0) -> Figure:
        """Plot the network with matplotlib; beyond 5,000 nodes its communities. Save it with `.savefig("x.pdf")`.

        >>> post.plot_network()
        <Figure size 900x570 with 1 Axes>
        """
        from blockmix.report.pictures.plots import plot_network

        return plot_network(self._post, threshold=threshold, seed=seed)

    def plot_memberships(self, nodes: Iterable[Label] | None = None, *, level: float = 0.9) -> Figure:
        """Plot the memberships of some nodes as bars with intervals; by default of bridges, else of hubs.

        >>> post.plot_memberships([0, 7])
        <Figure size 700x... with 1 Axes>
        """
        from blockmix.report.pictures.plots import plot_memberships

        return plot_memberships(self._post, nodes, level=level)

    def plot_blocks(self, *, threshold: float = 0.1) -> Figure:
        """Plot how dense links are within communities and between each two.

        >>> post.plot_blocks()
        <Figure size 600x520 with 2 Axes>
        """
        from blockmix.report.pictures.blocks import plot_blocks

        return plot_blocks(self._post, threshold=threshold)

    def attribute_test(
        self, name: str, *, categorical: bool = False, permutations: int | None = None, seed: int = 0
    ) -> Answer:
        """Test whether communities go with an attribute of the nodes, by permuting its values.

        A row compares, for a community and a value, the share of its members that have the value (or their mean, of a
        number) with that of all nodes; `p` is adjusted for all rows together. `categorical` takes numbers as codes of
        categories. `permutations` is 999, or fewer on large networks.

        >>> bool(post.attribute_test("team")["p"].max() < 0.01)
        True
        """
        from blockmix.posterior.answers.attributes import attribute_test

        return attribute_test(self._post, name, categorical, permutations, seed)
