"""Networks drawn from the model follow its law, reach the wanted degree, and say when they cannot."""

import itertools
import json

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix

from blockmix.errors import InputError
from blockmix.generators import draw
from blockmix.generators.draw import dirichlet_memberships, draw_links, expected_links, pairs_inside
from blockmix.generators.simulate import simulate

# Every statistical test below has at most this chance of failing on correct code (and the seeds are fixed).
FALSE_ALARM = 1e-4


def link_probabilities(memberships, strengths, background):
    """(M1) for every pair, dense, from the formula."""
    pi = np.asarray(memberships.todense(), dtype=float)
    return background + (pi * (np.asarray(strengths) - background)) @ pi.T


def test_every_pattern_of_links_on_three_nodes_has_the_probability_of_the_model():
    # Strengths close to 1, moderate, and below the background: all three branches of the proposal rate.
    memberships = csr_matrix(np.array([[0.7, 0.2, 0.1], [0.5, 0.0, 0.5], [0.3, 0.6, 0.1]], dtype=np.float32))
    strengths, background = np.array([0.97, 0.4, 0.02]), 0.1
    p = link_probabilities(memberships, strengths, background)
    pairs = [(0, 1), (0, 2), (1, 2)]
    runs = 4000
    seen = dict.fromkeys(itertools.product((False, True), repeat=3), 0)
    for seed in range(runs):
        links = {
            tuple(e) for e in draw_links(memberships, strengths, background, seed=seed, threads=1).tolist()
        }
        seen[tuple(pair in links for pair in pairs)] += 1
    expected = [
        runs * np.prod([p[pair] if on else 1 - p[pair] for pair, on in zip(pairs, pattern, strict=True)])
        for pattern in seen
    ]
    assert stats.chisquare(list(seen.values()), expected).pvalue > FALSE_ALARM


def test_pairs_inside_communities_are_linked_exactly_as_often_as_the_model_says():
    # 50,000 copies of four nodes, each copy with its own two communities; no background, so copies are apart.
    copies = 50_000
    one = np.array([[0.9, 0.1], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8]], dtype=np.float32)
    columns = (np.tile(np.arange(2), 4)[None, :] + 2 * np.arange(copies)[:, None]).ravel()
    memberships = csr_matrix(
        (np.tile(one.ravel(), copies), columns, np.arange(0, 8 * copies + 1, 2)),
        shape=(4 * copies, 2 * copies),
    )
    strengths = np.array([0.95, 0.3])
    edges = np.unique(draw_links(memberships, np.tile(strengths, copies), 0.0, seed=3), axis=0)
    assert (edges[:, 0] // 4 == edges[:, 1] // 4).all()
    p = link_probabilities(csr_matrix(one), strengths, 0.0)
    pairs = list(itertools.combinations(range(4), 2))
    for a, b in pairs:
        count = int(((edges[:, 0] % 4 == a) & (edges[:, 1] % 4 == b)).sum())
        assert stats.binomtest(count, copies, p[a, b]).pvalue > FALSE_ALARM / len(pairs)


def test_background_pairs_are_uniform():
    nodes, background = 40, 0.3
    alone = csr_matrix(
        (np.ones(nodes, np.float32), np.arange(nodes), np.arange(nodes + 1)), shape=(nodes, nodes)
    )
    counts = np.zeros((nodes, nodes))
    for seed in range(400):
        edges = np.unique(draw_links(alone, np.full(nodes, 0.9), background, seed=seed, threads=1), axis=0)
        counts[edges[:, 0], edges[:, 1]] += 1
    upper = counts[np.triu_indices(nodes, 1)]
    spread = (((upper - 400 * background) ** 2) / (400 * background * (1 - background))).sum()
    assert FALSE_ALARM / 2 < stats.chi2.sf(spread, len(upper)) < 1 - FALSE_ALARM / 2
    assert not counts[np.tril_indices(nodes)].any()


@pytest.mark.parametrize(("communities", "alpha"), [(2, 0.7), (5, 0.2), (6, 2.0)])
def test_memberships_are_dirichlet(communities, alpha):
    pi = dirichlet_memberships(4000, communities, alpha, cut=0.0, seed=5).toarray()
    assert np.allclose(pi.sum(axis=1), 1.0, atol=1e-6)
    for k in range(communities):
        test = stats.kstest(pi[:, k], stats.beta(alpha, (communities - 1) * alpha).cdf)
        assert test.pvalue > FALSE_ALARM / communities
    # The product of two components has mean alpha / (K (K alpha + 1)).
    product = pi[:, 0] * pi[:, 1]
    error = (product.mean() - alpha / (communities * (communities * alpha + 1))) / (
        product.std() / np.sqrt(len(product))
    )
    assert abs(error) < stats.norm.isf(FALSE_ALARM / 2)


def test_many_communities_cost_no_more_memory_than_the_memberships_that_matter():
    pi = dirichlet_memberships(2000, 100_000, 1e-5, cut=1e-4, seed=1)
    assert pi.nnz < 2000 * 20
    assert np.allclose(pi.sum(axis=1), 1.0, atol=1e-6)
    assert pi.has_sorted_indices
    assert pi.dtype == np.float32


def test_the_expected_degree_is_exactly_the_one_asked_for():
    made = simulate(3000, 20, degree=12, seed=2)
    links = expected_links(pairs_inside(made.memberships), made.strengths, made.background, 3000)
    assert links == pytest.approx(3000 * 12 / 2, rel=1e-9)
    # The number of links is a sum of Bernoulli variates: its variance is below its mean (5 sigma: 6e-7).
    assert abs(made.graph.n_edges - links) < 5 * np.sqrt(links)
    assert ((made.strengths > 0) & (made.strengths < 1)).all()


def test_without_a_degree_the_strengths_come_from_the_prior():
    made = simulate(50, 2000, degree=None, eta=(2.0, 3.0), background=0.01, seed=4)
    assert stats.kstest(made.strengths, stats.beta(2.0, 3.0).cdf).pvalue > FALSE_ALARM


def test_the_same_seed_gives_the_same_network_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(draw, "_NODES_PER_BLOCK", 300)
    monkeypatch.setattr(draw, "_CANDIDATES_PER_BLOCK", 700)
    networks = [simulate(1000, 8, degree=8, seed=9, threads=threads) for threads in (1, 2, 5)]
    assert len({made.graph.fingerprint for made in networks}) == 1
    assert (networks[0].memberships != networks[2].memberships).nnz == 0
    assert simulate(1000, 8, degree=8, seed=10).graph.fingerprint != networks[0].graph.fingerprint


def test_covers_hold_the_nodes_above_the_threshold():
    made = simulate(300, 6, degree=8, seed=1)
    dense = made.memberships.toarray()
    for k, cover in enumerate(made.communities(0.25)):
        assert cover.tolist() == np.flatnonzero(dense[:, k] >= np.float32(0.25)).tolist()


@pytest.mark.parametrize("compress", [False, True])
def test_a_saved_network_reads_back_with_its_truth(tmp_path, compress):
    from blockmix.graph.reading.read import read_graph

    made = simulate(400, 5, degree=2.5, seed=3)
    assert (made.graph.degrees == 0).any()
    folder = made.save(tmp_path / "net", compress=compress)
    alone = [int(line) for line in (folder / "isolated_nodes.txt").read_text().split()]
    again = read_graph(folder / ("edges.txt.gz" if compress else "edges.txt"), nodes=alone)
    assert again.fingerprint == made.graph.fingerprint
    covers = [
        [int(v) for v in line.split("\t")] for line in (folder / "communities.txt").read_text().splitlines()
    ]
    assert covers == [cover.tolist() for cover in made.communities() if len(cover)]
    table = np.loadtxt(folder / "memberships.tsv", skiprows=1)
    rebuilt = csr_matrix((table[:, 2], (table[:, 0].astype(int), table[:, 1].astype(int))), shape=(400, 5))
    assert abs(rebuilt - made.memberships).max() < 1e-6
    facts = json.loads((folder / "parameters.json").read_text())
    assert facts["seed"] == 3
    assert facts["strengths"] == made.strengths.tolist()


def test_saving_does_not_overwrite_unless_asked(tmp_path):
    made = simulate(20, 2, degree=3, seed=1)
    made.save(tmp_path)
    with pytest.raises(InputError, match=r"already holds edges\.txt"):
        made.save(tmp_path)
    made.save(tmp_path, compress=True, overwrite=True)
    assert not (tmp_path / "edges.txt").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="this is a file"):
        made.save(tmp_path / "file")


def test_compressed_files_are_the_same_bytes_every_time(tmp_path):
    made = simulate(50, 2, degree=3, seed=1)
    files = [made.save(tmp_path / name, compress=True) / "edges.txt.gz" for name in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 90, "communities": 50}, "out of reach: with every strength at 1"),
        ({"background": 0.5}, "the background alone gives"),
        ({"degree": 0}, "degree=0"),
        ({"degree": 100}, "degree=100"),
        ({"degree": float("nan")}, "degree=nan"),
        ({"degree": None}, "give background="),
        ({"nodes": 1}, "nodes=1"),
        ({"nodes": 10.5}, "nodes=10.5"),
        ({"communities": 0}, "communities=0"),
        ({"seed": -1}, "seed=-1"),
        ({"alpha": 0.0}, "alpha=0"),
        ({"eta": (1.0, 0.0)}, "eta="),
        ({"background": 1.0}, "background=1"),
        ({"cut": 1.0}, "cut=1"),
        ({"nodes": 10_000_000, "communities": 1000, "alpha": 1.0}, "use a smaller alpha"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(options, message):
    with pytest.raises(InputError, match=message):
        simulate(**{"nodes": 100, "communities": 4, "degree": 10.0, "seed": 1, **options})


@pytest.mark.parametrize(("nodes", "communities"), [(2, 1), (2, 5), (3, 1), (63, 1)])
def test_the_smallest_networks_can_be_drawn(nodes, communities):
    made = simulate(nodes, communities, degree=None, background=0.0, seed=1)
    assert made.graph.n_nodes == nodes
    assert len(made.communities()) == communities


def test_a_complete_network_is_reached_when_every_strength_is_one():
    ones = csr_matrix(np.ones((6, 1), dtype=np.float32))
    assert len(np.unique(draw_links(ones, np.array([1.0]), 0.0, seed=1), axis=0)) == 15


@pytest.mark.slow
def test_a_million_nodes_are_drawn_without_a_dense_table():
    made = simulate(1_000_000, 10_000, degree=20, seed=1)
    assert abs(made.graph.n_edges - 10_000_000) < 5 * np.sqrt(10_000_000)
