"""Every answer agrees with what is counted by hand, or with all pairs visited."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaincinv, gammaincinv

import blockmix as bm
from blockmix.errors import InputError
from blockmix.graph.attributes import NodeTable
from blockmix.posterior.answers import of_links
from blockmix.posterior.answers.attributes import attribute_cells
from blockmix.posterior.answers.of_communities import induced

TOPICS = ("Bees", "Rain-fall", "Öl", "Jazz", "Salt")


@pytest.fixture(scope="module")
def planted():
    """A fit of a network with five known communities; an attribute that goes with them and one that does not."""
    made = bm.planted(150, 5, degree=14, overlap=(1, 2), seed=3)
    home = np.zeros(150, dtype=np.int64)
    for k, members in enumerate(made.covers):
        home[np.asarray(members)] = k
    rng = np.random.default_rng(2)
    nodes = {
        "id": list(made.graph.labels), "club": [f"c{k}" for k in home], "coin": rng.integers(0, 2, 150).astype(str),
        "age": (20 + 10 * (home == 2) + rng.normal(size=150)).tolist(),
        # Each node has a text of its own; three in four name their topic, and all have a word in common.
        "title": [f"{TOPICS[k] if i % 4 else 'Of'} and N{i}: no. {i % 3}" for i, k in enumerate(home)],
    }  # fmt: skip
    return bm.fit(made.graph, 5, seed=1, sweeps=300, chains=2, nodes=nodes)


def dense(post):
    found = np.zeros((post.graph.n_nodes, post.n_communities))
    found[np.repeat(np.arange(len(found)), np.diff(post.offsets)), post.community] = post.mean
    return found


def non_links(post):
    pairs = np.column_stack(np.triu_indices(post.graph.n_nodes, 1))
    return pairs[~post.graph.has_edges(pairs)]


def test_the_memberships_of_one_node(two_triangles):
    answer = two_triangles.node("cem")
    assert answer["community"].tolist() == [0, 1] or answer["community"].tolist() == [1, 0]
    assert answer["share"].tolist() == pytest.approx([0.8, 0.2], abs=1e-3)
    assert (answer["lower"] <= answer["share"]).all()
    with pytest.raises(InputError, match="no node is labelled 'zoe'"):
        two_triangles.node("zoe")


def test_the_members_of_a_community_are_its_column(planted):
    shares = dense(planted)
    answer = planted.members(2)
    expected = np.sort(shares[shares[:, 2] > 0, 2])[::-1]
    assert answer["share"].tolist() == pytest.approx(expected.tolist())
    assert len(planted.members(2, top=3)) == 3
    assert [row.node for row in planted.members(2, top=3)] == answer["node"][:3]
    with pytest.raises(InputError, match="numbered 0 to 4"):
        planted.members(5)
    with pytest.raises(InputError, match="top"):
        planted.members(0, top=0)


def test_bridges_are_those_of_the_report(planted):
    from blockmix.report.communities import Findings

    expected = [planted.graph.labels[int(node)] for node in Findings(planted).bridges]
    assert planted.bridges(top=1000)["node"] == expected
    assert len(expected) > 5


def test_similar_nodes_by_comparison_with_all(planted):
    roots = np.sqrt(dense(planted))
    likeness = roots @ roots[3]
    likeness[3] = -1
    answer = planted.similar_nodes(3, top=5)
    assert answer["likeness"].tolist() == pytest.approx(np.sort(likeness)[::-1][:5].tolist())
    assert 3 not in answer["node"]


def test_nodes_in_none_are_the_rest_of_the_cover(planted, posterior_of):
    listed = set().union(*planted.communities(0.6).values())
    assert set(planted.nodes_in_none(threshold=0.6)["node"]) == set(planted.graph.labels) - listed
    graph = bm.Graph.from_edges([("a", "b"), ("b", "c")], nodes=["lone"])
    spread = np.tile([[1.0, 0, 0], [1.0, 0, 0], [1.0, 0, 0], [0.34, 0.33, 0.33]], (2, 1, 1))
    assert "lone" in posterior_of([spread], graph=graph).nodes_in_none(threshold=0.5)["node"]


def test_the_interval_of_a_link_probability_is_that_of_the_samples(planted):
    pairs = [(0, 1), (5, 9), (3, 100)]
    answer = planted.link_intervals(pairs, level=0.8)
    assert answer["probability"].tolist() == planted.link_probability(pairs).tolist()
    values = []
    for chain in planted.draws:
        for sample in chain:
            out = np.zeros(3)
            planted.predictor.add_sample(sample, np.array(pairs), out)
            values.append(out)
    assert answer["lower"] == pytest.approx(np.quantile(values, 0.1, axis=0))
    assert answer["upper"] == pytest.approx(np.quantile(values, 0.9, axis=0))
    assert len(planted.link_intervals((0, 1))) == 1
    with pytest.raises(InputError, match="two to a pair"):
        planted.link_intervals([(1, 2, 3)])


def test_sharing_a_community_is_counted_over_samples(two_triangles):
    # dot has 0.3 and 0.7; cem has 0.2, 0.3 and 0.1 of the second community in the three samples.
    found = two_triangles.share_probability([("cem", "eve"), ("ann", "fay"), ("cem", "dot")], threshold=0.2)
    assert found.tolist() == pytest.approx([2 / 3, 0.0, 1.0])


def test_the_community_of_a_link_by_hand(two_triangles):
    answer = two_triangles.link_communities([("ann", "bob"), ("ann", "fay")])
    inside = []
    outside = []
    for strength, background in [(0.8, 0.02), (0.7, 0.04), (0.9, 0.03)]:
        made, between = 0.95 * strength, 0.05 * background
        inside.append(made / (made + between))
        outside.append(between / (made + between))
    assert answer["probability"][0] == pytest.approx(np.mean(inside), abs=1e-3)
    assert answer["between"][0] == pytest.approx(np.mean(outside), abs=1e-3)
    # ann and fay share nothing: their link can only be one of the background.
    assert answer["community"][1] == -1
    assert answer["between"][1] == pytest.approx(1.0)


@pytest.mark.parametrize("where", ["node", "network"])
def test_missing_links_are_those_that_all_pairs_give(planted, where):
    pairs = non_links(planted)
    if where == "node":
        pairs = pairs[(pairs == 3).any(axis=1)]
    probability = planted.node_link_probability(pairs)
    answer = planted.missing_links(3, top=10) if where == "node" else planted.missing_links(top=10)
    assert answer["probability"] == pytest.approx(np.sort(probability)[::-1][:10])


def test_missing_links_of_one_community_are_between_its_members(planted):
    answer = planted.missing_links(community=1, top=8)
    members = set(planted.members(1)["node"])
    assert set(answer["node_a"]) | set(answer["node_b"]) <= members
    assert len(answer) == 8


def test_missing_links_do_not_visit_all_pairs(planted, monkeypatch):
    monkeypatch.setattr(of_links, "MOST_SCORED", 50)
    scored = []
    original = of_links.mean_probability

    def counted(post, pairs):
        scored.append(len(pairs))
        return original(post, pairs)

    monkeypatch.setattr(of_links, "mean_probability", counted)
    assert len(planted.missing_links(top=1)) == 1
    assert max(scored) <= 50


def test_missing_links_of_the_general_model_are_between_groups(posterior_of):
    # Two groups that link to each other only; one pair between them has no link.
    pairs = [(a, b) for a in range(6) for b in range(6, 12) if (a, b) != (0, 6)]
    graph = bm.Graph.from_edges(pairs)
    shares = np.zeros((2, 12, 2))
    shares[:, :6, 0] = shares[:, 6:, 1] = 1.0
    blocks = np.array([[0.05, 0.9], [0.9, 0.05]])
    made = posterior_of([shares], graph=graph)
    draws = tuple(
        tuple(replace(s, strengths=blocks.astype(np.float32)) for s in chain) for chain in made.draws
    )
    post = replace(made, blocks_mean=blocks, blocks_sd=np.zeros((2, 2)), draws=draws)
    answer = post.missing_links(top=3)
    assert (answer["node_a"][0], answer["node_b"][0]) == (0, 6)
    assert answer["probability"][0] == pytest.approx(0.9, abs=1e-3)
    assert answer["probability"][1] == pytest.approx(0.05, abs=1e-3)
    # A new node whose links are all to one group is in the other.
    placed = post.transform(range(6, 12))
    assert (placed["community"][0], placed["share"][0] > 0.9) == (0, True)


def test_surprising_links_are_the_least_likely_of_all(planted):
    probability = planted.node_link_probability(planted.graph.edges().astype(np.int64))
    assert planted.surprising_links(top=5)["probability"] == pytest.approx(np.sort(probability)[:5])


def test_overlap_by_hand(planted):
    covers = planted.covers()
    answer = planted.overlap()
    for row in answer:
        one, other = set(covers[row.first].tolist()), set(covers[row.second].tolist())
        assert row.shared == len(one & other) > 0
        assert row.jaccard == pytest.approx(len(one & other) / len(one | other))
        assert row.nested == pytest.approx(len(one & other) / min(len(one), len(other)))
        assert 0 < row.merge < 1


def test_halves_of_one_group_are_told_to_merge(posterior_of):
    # Beside a second group, without which the density alone would explain all.
    pairs = [(a + c, b + c) for c in (0, 20) for a in range(20) for b in range(a)]
    halves = np.zeros((2, 40, 3))
    halves[:, :20, :2], halves[:, 20:, 2] = 0.5, 1.0
    strengths = np.full((2, 4), 0.9)
    strengths[:, 3] = 0.01
    post = posterior_of([halves], [strengths], graph=bm.Graph.from_edges(pairs))
    assert post.overlap()["merge"].tolist() == pytest.approx([1.0])


def test_quality_by_hand(planted):
    edges = planted.graph.edges()
    answer = planted.quality()
    assert answer["community"].tolist() == list(planted.covers())
    for row in answer:
        inside = np.isin(edges, planted.covers()[row.community])
        links, cut = int(inside.all(axis=1).sum()), int((inside.sum(axis=1) == 1).sum())
        volume, ends = 2 * links + cut, 2 * len(edges)
        assert row.links == links
        assert row.density == pytest.approx(2 * links / (row.members * (row.members - 1)))
        assert row.conductance == pytest.approx(cut / min(volume, ends - volume))
        assert row.modularity == pytest.approx(2 * links / ends - (volume / ends) ** 2)


def test_roles_find_the_hub_of_a_star_and_the_connector(posterior_of):
    star = [("hub", f"leaf{i}") for i in range(20)] + [("leaf0", "far"), ("far", "away")]
    graph = bm.Graph.from_edges(star)
    shares = np.zeros((2, graph.n_nodes, 2))
    for node, label in enumerate(graph.labels):
        shares[:, node, 1 if label in ("far", "away") else 0] = 1.0
    answer = posterior_of([shares], graph=graph).roles(0)
    assert answer["node"][0] == "hub"
    assert answer["role"][0] == "provincial hub"
    leaf = answer["node"].index("leaf0")
    # One of its two links is in each community.
    assert answer["participation"][leaf] == pytest.approx(0.5, abs=0.01)
    assert answer["links_inside"][0] == pytest.approx(20, abs=0.1)


def test_names_by_members_and_by_an_attribute(planted):
    names = planted.names(top=2)
    assert names[0] == ", ".join(str(node) for node in planted.communities()[0][:2])
    clubs = planted.names(by="club", top=1)
    assert sorted(clubs.values()) == ["c0", "c1", "c2", "c3", "c4"]
    with pytest.raises(InputError, match="no attribute 'x'"):
        planted.names(by="x")


def test_communities_are_named_by_the_words_of_texts_that_nodes_do_not_share(planted):
    words = planted.names(by="title", top=1)
    clubs = planted.names(by="club", top=1)
    assert words == {k: TOPICS[int(club[1:])].lower() for k, club in clubs.items()}
    # Words that all nodes have, or only one, say nothing about a community.
    every = {word for text in planted.names(by="title", top=50).values() for word in text.split(", ")}
    assert every <= {topic.lower() for topic in TOPICS} | {"of"}


def test_the_subgraph_of_a_community(planted):
    found = planted.subgraph(1)
    members = planted.covers()[1]
    assert sorted(found.labels) == sorted(planted.graph.labels[int(node)] for node in members)
    assert found.n_edges == int(np.isin(planted.graph.edges(), members).all(axis=1).sum())
    node = found.labels[0]
    assert found.attributes["club"][0] == planted.graph.attributes["club"][planted.graph.labels.index(node)]
    with pytest.raises(InputError, match="no member at the threshold 1"):
        planted.subgraph(1, threshold=1.0)
    named = induced(bm.Graph.from_edges([("b", "a"), ("a", "c")]), np.array([0, 1]))
    assert list(named.labels) == ["b", "a"]


def test_a_result_compared_with_itself_and_with_its_communities_renumbered(planted, posterior_of):
    same = planted.compare(planted)
    assert same.communities["likeness"] == pytest.approx(1.0)
    assert len(same.moved) == 0
    assert same.scores.onmi == pytest.approx(1.0)
    graph = bm.Graph.from_edges(
        [(a + c, b + c) for c in (0, 6) for a in range(6) for b in range(a)] + [(0, 6)]
    )
    shares = np.zeros((2, 12, 2))
    shares[:, :6, 0] = shares[:, 6:, 1] = 1.0
    changed = shares[:, :, ::-1].copy()
    changed[:, 3] = [1.0, 0.0]
    found = posterior_of([shares], graph=graph).compare(posterior_of([changed], graph=graph))
    assert found.moved["node"] == [3]
    assert found.moved["change"][0] == pytest.approx(1.0, abs=0.01)
    assert sorted(found.communities["likeness"].tolist()) == pytest.approx([5 / 6, 6 / 7], abs=0.01)


def test_results_of_other_networks_are_compared_on_common_nodes(planted, two_triangles):
    with pytest.raises(InputError, match="no node in common"):
        planted.compare(two_triangles)


def test_a_node_placed_by_its_links_lands_where_the_fit_had_it(planted):
    shares = dense(planted)
    nodes = [node for node in range(150) if shares[node].max() > 0.9][:20]
    links = {f"new{a}": [planted.graph.labels[int(b)] for b in planted.graph.neighbors_of(a)] for a in nodes}
    answer = planted.transform(links)
    for node in nodes:
        rows = [row for row in answer if row.node == f"new{node}"]
        # The fit held some of the links out, which the new node has.
        assert rows[0].community == int(shares[node].argmax())
        assert rows[0].share > 0.7
    again = planted.transform(links)
    assert again["share"] == answer["share"]
    both = [planted.members(0, top=3)["node"], planted.members(1, top=3)["node"]]
    mixed = planted.transform(both[0] + both[1])
    assert {row.community for row in mixed if row.share > 0.25} == {0, 1}
    with pytest.raises(InputError, match="no link to a node"):
        planted.transform({"x": []})
    with pytest.raises(InputError, match="list of labels"):
        planted.transform({"x": "ann"})


@pytest.mark.parametrize("neighbours", [["half"], ["half", "b1"], ["half", "a1", "a2", "b1", "b2"]])
def test_a_new_node_has_the_posterior_of_its_links_and_non_links(posterior_of, neighbours):
    names = [f"a{i}" for i in range(30)] + [f"b{i}" for i in range(9)] + ["half"]
    graph = bm.Graph.from_edges([(name, "half") for name in names[:-1]])
    shares = np.zeros((2, 40, 2))
    for node, label in enumerate(graph.labels):
        shares[:, node] = [0.5, 0.5] if label == "half" else [1, 0] if label[0] == "a" else [0, 1]
    strengths = np.tile([0.3, 0.3, 0.02], (2, 1))
    post = posterior_of([shares], [strengths], graph=graph)
    answer = {row.community: row for row in post.transform(neighbours)}
    # All by quadrature: memberships at the quantiles of the prior, Beta(0.15, 0.15), weighted by the likelihood.
    first = betaincinv(0.15, 0.15, (np.arange(200_000) + 0.5) / 200_000)
    row = {label: shares[0, node] for node, label in enumerate(graph.labels)}
    log = np.zeros(len(first))
    for label in names:
        p = 0.02 + (first * row[label][0] + (1 - first) * row[label][1]) * 0.28
        log += np.log(p) if label in neighbours else np.log1p(-p)
    weight = np.exp(log - log.max())
    mean = (weight * first).sum() / weight.sum()
    sd = np.sqrt((weight * (first - mean) ** 2).sum() / weight.sum())
    # 4,000 draws, of which several hundred count as independent.
    assert answer[0].share == pytest.approx(mean, abs=0.03)
    assert answer[0].sd == pytest.approx(sd, abs=0.03)


def placing_result(posterior_of, **changes):
    """A result of 40 nodes in two groups and one between them, with two posterior samples that are the same."""
    graph = bm.Graph.from_edges([(f"{group}{i}", "half") for group in "ab" for i in range(20)])
    shares = np.zeros((2, 41, 2))
    for node, label in enumerate(graph.labels):
        shares[:, node] = [0.5, 0.5] if label == "half" else [1, 0] if label[0] == "a" else [0, 1]
    return replace(posterior_of([shares], [np.tile([0.5, 0.3, 0.05], (2, 1))], graph=graph), **changes)


def moments(weight, first):
    mean = (weight * first).sum() / weight.sum()
    return mean, np.sqrt((weight * (first - mean) ** 2).sum() / weight.sum())


PLACED = [["half"], ["half", "b1"], ["a1", "a2", "b1", "b2"]]


@pytest.mark.parametrize("neighbours", PLACED)
def test_a_new_node_in_the_general_model_has_its_posterior(posterior_of, neighbours):
    """(M9) by quadrature: links between the groups are as likely as links within one of them."""
    blocks = np.array([[0.05, 0.4], [0.4, 0.2]])
    post = placing_result(posterior_of, blocks_mean=blocks, blocks_sd=np.zeros((2, 2)))
    first = betaincinv(0.15, 0.15, (np.arange(100_000) + 0.5) / 100_000)
    log = np.zeros(len(first))
    for label, row in zip(post.graph.labels, dense(post), strict=True):
        p = first * (blocks @ row)[0] + (1 - first) * (blocks @ row)[1]
        log += np.log(p) if label in neighbours else np.log1p(-p)
    mean, sd = moments(np.exp(log - log.max()), first)
    shares = dict(zip(*(post.transform(neighbours)[name] for name in ("community", "share")), strict=True))
    spread = dict(zip(*(post.transform(neighbours)[name] for name in ("community", "sd")), strict=True))
    assert shares.get(0, 0.0) == pytest.approx(mean, abs=0.03)
    assert spread.get(0, 0.0) == pytest.approx(sd, abs=0.03)


@pytest.mark.parametrize("neighbours", PLACED)
def test_a_new_node_in_the_popularity_model_has_its_posterior(posterior_of, neighbours):
    """(DC1), (DC2) by quadrature over the memberships and the popularity, at the quantiles of their priors."""
    popularity = np.float32(np.linspace(0.4, 1.6, 41))
    trace = {"warm_up": np.array([True, False, False]), "spread": np.array([9.0, 0.8, 0.8])}
    post = placing_result(posterior_of, popularity_mean=popularity, popularity_sd=popularity, trace=trace)
    rho = 0.8**-2
    grid = (np.arange(1500) + 0.5) / 1500
    first, r = np.meshgrid(betaincinv(0.15, 0.15, grid), gammaincinv(rho, grid) / rho)
    w, eps = -np.log1p(-np.array([0.5, 0.3])), -np.log1p(-0.05)
    log = np.zeros(first.shape)
    for label, row, r_b in zip(post.graph.labels, dense(post), popularity, strict=True):
        rate = r * r_b * (eps + first * w[0] * row[0] + (1 - first) * w[1] * row[1])
        log += np.log(-np.expm1(-rate)) if label in neighbours else -rate
    weight = np.exp(log - log.max())
    answer = {row.community: row for row in post.transform(neighbours)}
    mean, sd = moments(weight, first)
    assert (answer[0].share, answer[0].sd) == pytest.approx((mean, sd), abs=0.03)
    mean, sd = moments(weight, r)
    assert (answer[0].popularity, answer[0].popularity_sd) == pytest.approx((mean, sd), rel=0.06)


def test_a_new_node_with_one_link_may_be_elsewhere(posterior_of):
    """Communities that no neighbour is in have their part of the prior: shares need not add up to one."""
    shares = np.zeros((2, 40, 20))
    for node in range(40):
        shares[:, node, node % 20] = 1.0
    graph = bm.Graph.from_edges([(a, (a + 1) % 40) for a in range(40)])
    strengths = np.tile(np.append(np.full(20, 0.04), 0.02), (2, 1))
    post = posterior_of([shares], [strengths], graph=graph)
    answer = post.transform([3])
    # The link has the probability 0.02 + 0.02 pi; pi ~ Beta(0.015, 0.285), as K alpha = 0.3; non-links hardly tell.
    first, second = 0.015 / 0.3, 0.015 * 1.015 / (0.3 * 1.3)
    assert answer["community"] == [3]
    assert answer["share"][0] == pytest.approx((first + second) / (1 + first), abs=0.03)


def test_an_attribute_that_goes_with_communities_is_found_and_a_coin_is_not(planted):
    club = planted.attribute_test("club")
    assert club["p"][0] == pytest.approx(0.001)
    assert "club goes with the communities" in club.note
    best = {row.value: row.community for row in club if row.z > 0 and row.p < 0.05}
    assert len(set(best.values())) == 5
    coin = planted.attribute_test("coin", categorical=True, seed=1)
    assert coin["p"].min() > 0.05
    assert "is not seen to go" in coin.note
    age = planted.attribute_test("age")
    assert age["value"] == ["(mean)"] * 5
    assert age["p"][0] < 0.01
    with pytest.raises(InputError, match="permutations"):
        planted.attribute_test("club", permutations=0)


def test_the_moments_under_permutation_are_right(planted):
    cells = attribute_cells(planted, planted.graph.attributes["age"])
    shares = cells.shares.toarray()
    rng = np.random.default_rng(5)
    drawn = np.array([shares.T @ rng.permutation(cells.numbers) for _ in range(4000)])
    # 4,000 permutations: the standard error of a standard deviation is 1.1%; 5% is more than four of them.
    assert drawn.std(axis=0) == pytest.approx(cells.scale[:, 0], rel=0.05)
    assert drawn.mean(axis=0) == pytest.approx(
        cells.expected[:, 0], abs=5 * cells.scale.max() / np.sqrt(4000)
    )


def test_the_test_keeps_its_level(planted):
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(60):
        table = NodeTable.of({"x": rng.integers(0, 3, 150).astype(str)})
        post = replace(planted, graph=replace(planted.graph, attributes=table))
        rejected += post.attribute_test("x", categorical=True, permutations=99)["p"].min() <= 0.05
    # Binomial(60, 0.05): ten or more have a probability of 0.0008.
    assert rejected < 10


def test_a_network_without_attributes_says_how_to_give_them(two_triangles):
    with pytest.raises(InputError, match="--nodes FILE"):
        two_triangles.attribute_test("club")


def test_an_answer_is_a_table(planted):
    answer = planted.members(0, top=25)
    assert "... 25 rows in all" in repr(answer)
    assert list(answer.rows()[0]) == ["node", "share", "sd", "lower", "upper", "links"]
    assert isinstance(answer.rows()[0]["share"], float)
    assert len(pytest.importorskip("pandas").DataFrame(answer.columns())) == len(answer.to_pandas()) == 25


def test_the_partition_that_fits_start_from():
    cliques = [(a + c, b + c) for c in (0, 8, 16) for a in range(8) for b in range(a)]
    parts = bm.partition(bm.Graph.from_edges([*cliques, (0, 8)], nodes=[99]))
    assert [sorted(part) for part in parts] == [list(range(c, c + 8)) for c in (0, 8, 16)] + [[99]]
    assert [len(part) for part in bm.partition(cliques, 2)] in ([16, 8], [8, 16])
    assert len(bm.partition(cliques, min_size=9)) == 0
    with pytest.raises(InputError, match="whole number"):
        bm.partition(cliques, 0)
    with pytest.raises(InputError, match="no links"):
        bm.partition(bm.Graph.from_edges([], nodes=[1]))


def test_a_single_community_overlaps_with_none():
    graph = bm.Graph.from_edges([(a, b) for a in range(8) for b in range(a)])
    post = bm.fit(graph, 1, sweeps=20, chains=1, seed=1, held_out=0, progress=False)
    assert len(post.overlap()) == 0
