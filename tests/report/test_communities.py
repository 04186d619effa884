"""What the report shows of communities, compared with the definitions written out."""

import numpy as np

from blockmix.posterior.views import beta_interval
from blockmix.report.communities import Findings, fast_interval


def dense(post):
    shares = np.zeros((post.graph.n_nodes, post.n_communities))
    nodes = np.repeat(np.arange(post.graph.n_nodes), np.diff(post.offsets))
    shares[nodes, post.community] = post.mean
    return shares


def test_bridges_are_surely_in_two_communities_the_largest_second_share_first(small):
    shares = {}
    for row in small.memberships():
        if row.mean >= 0.1 and row.mean - 1.645 * row.sd >= 0.02:
            shares.setdefault(row.node, []).append(row.mean)
    expected = sorted((node for node in shares if len(shares[node]) > 1), key=lambda node: -shares[node][1])
    found = [small.graph.labels[int(a)] for a in Findings(small).bridges]
    assert found == expected
    assert set(Findings(small).bridges) == {a for a in range(120) if a % 8 == 3}


def test_links_between_communities_are_expected_counts(small):
    shares, linked = dense(small), small.graph.to_scipy().toarray()
    expected = shares.T @ linked @ shares
    pairs, weight = Findings(small).community_links(6)
    assert len(pairs) == 15
    assert np.allclose(weight, expected[pairs[:, 0], pairs[:, 1]])


def test_only_the_communities_asked_for_are_counted(small):
    pairs, _ = Findings(small).community_links(3)
    assert pairs.max() == 2


def test_the_most_certain_members_have_the_highest_lower_bounds(small):
    found = Findings(small)
    lower = dict(zip(zip(found.node, small.community, strict=True), found.bounds[0], strict=True))
    for k, nodes in found.certain_members().items():
        members = sorted(found.covers[k], key=lambda a: (-lower[a, k], a))
        assert nodes.tolist() == members[:6]


def test_shared_bridges_count_nodes_that_are_surely_in_both(small):
    found = Findings(small)
    shared = found.shared_bridges()
    sure = dense(small) >= 0.1
    both = sure.T.astype(int) @ sure
    for k, others in shared.items():
        assert dict(others) == {other: both[k, other] for other in range(6) if other != k and both[k, other]}


def test_intervals_of_very_many_entries_are_those_of_rounded_moments():
    rng = np.random.default_rng(0)
    mean = rng.uniform(0.02, 0.98, 60_000).astype(np.float32)
    sd = (rng.uniform(0.02, 0.45, 60_000) * np.sqrt(mean * (1 - mean))).astype(np.float32)
    for fast, rounded, exact in zip(
        fast_interval(mean, sd, 0.9),
        beta_interval(mean[:2_000].round(3), sd[:2_000].round(3), 0.9),
        beta_interval(mean[:2_000], sd[:2_000], 0.9),
        strict=True,
    ):
        assert np.allclose(fast[:2_000], rounded, atol=1e-5)
        # Where the interval jumps to one that starts at 0, rounding may fall on the other side of the jump.
        assert np.quantile(np.abs(fast[:2_000] - exact), 0.99) < 0.005
