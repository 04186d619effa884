"""Planted directed and bipartite networks: what they hold is what was asked for."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.evaluate import read_covers


@pytest.mark.parametrize("degrees", ["equal", "gamma"])
@pytest.mark.parametrize("kind", ["directed", "bipartite"])
def test_degrees_communities_and_mixing_are_those_asked_for(kind, degrees):
    """Tolerances are about four standard errors, of some 6,000 links and of 1,200 communities and popularities."""
    made = bm.planted(600, 5, degree=10, overlap=(1, 1), mixing=0.3, degrees=degrees, seed=4, **{kind: True})
    first = made.graph.sides.first
    assert made.graph.sides.kind == kind
    assert made.graph.n_edges / 600 == pytest.approx(10, rel=0.07)
    community = made.memberships.toarray().argmax(axis=1)
    ends = made.graph.edges()
    inside = (community[ends[:, 0]] == community[ends[:, 1]]).mean()
    # Of the background a fifth is inside by chance.
    assert inside == pytest.approx(0.7 + 0.3 / 5, abs=0.06)
    assert (ends[:, 0] < first).all()
    assert (ends[:, 1] >= first).all()
    for k, part in enumerate(made.covers):
        np.testing.assert_array_equal(np.flatnonzero(community == k), part)
    if kind == "directed":
        assert (community[:first] == community[first:]).mean() == pytest.approx(0.5 + 0.5 / 5, abs=0.08)


def test_a_planted_network_is_written_and_read_again(tmp_path):
    for kind in ("directed", "bipartite"):
        made = bm.planted(60, 3, degree=6, seed=2, **{kind: True})
        made.save(tmp_path / kind)
        read = bm.read_graph(tmp_path / kind / "edges.txt", nodes=None, **{kind: True})
        assert read.n_edges == made.graph.n_edges
        pairs = [
            {(str(graph.labels[int(a)]), str(graph.labels[int(b)])) for a, b in graph.edges()}
            for graph in (read, made.graph)
        ]
        assert pairs[0] == pairs[1]
        covers = read_covers(tmp_path / kind / "communities.txt", made.graph.labels)
        assert sorted(map(len, covers)) == sorted(map(len, made.covers))


def test_the_same_seed_gives_the_same_network_and_another_size_of_the_second_kind_is_possible():
    options = {"degree": 5, "bipartite": True, "second_nodes": 20, "seed": 3}
    made, again = (bm.planted(100, 3, **options) for _ in range(2))
    assert made.graph.fingerprint == again.graph.fingerprint
    assert made.graph.n_nodes - made.graph.sides.first == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directed": True, "degree": 60}, "up to 59 links"),
        ({"bipartite": True, "degree": 30, "second_nodes": 20}, "up to 20 links"),
        ({"second_nodes": 20}, "second kind"),
        ({"directed": True, "sizes": "powerlaw"}, "no effect"),
    ],
)
def test_what_no_network_can_have_is_an_error(options, message):
    with pytest.raises(InputError, match=message):
        bm.planted(60, 3, **options)
