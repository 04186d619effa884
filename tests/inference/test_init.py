"""Chains can start from communities that another method found."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import blockmix as bm
from blockmix.errors import InputError
from blockmix.samplers.starts.given import given_memberships, given_strengths


@pytest.fixture(scope="module")
def made():
    return bm.planted(400, 8, degree=14, seed=3)


def overlap(post, made):
    from blockmix.evaluate import onmi

    return onmi(list(post.covers().values()), made.covers, made.graph.n_nodes)


def fitted(made, init, communities="auto", **options):
    settings = {"seed": 1, "sweeps": 4, "warm_up": 1, "chains": 1, "held_out": 0} | options
    return bm.fit(made.graph, communities, init=init, **settings)


def forms(made):
    cover = [group.tolist() for group in made.covers]
    weights = np.zeros((400, 8))
    for k, group in enumerate(made.covers):
        weights[group, k] = 2.0
    return {
        "list": cover,
        "mapping": dict(enumerate(cover)),
        "cdlib": SimpleNamespace(communities=cover),
        "array": weights,
        "sparse": sp.csr_matrix(weights),
    }


@pytest.mark.parametrize("form", ["list", "mapping", "cdlib", "array", "sparse"])
def test_every_form_of_the_same_start_gives_the_same_run(made, form):
    expected, found = fitted(made, forms(made)["list"]), fitted(made, forms(made)[form])
    np.testing.assert_array_equal(found.mean, expected.mean)
    assert found.n_communities == 8


def test_a_short_run_from_the_truth_stays_near_it_and_one_from_nonsense_does_not(made):
    rng = np.random.default_rng(1)
    nonsense = [rng.choice(400, 90, replace=False).tolist() for _ in range(8)]
    assert overlap(fitted(made, forms(made)["list"]), made) > overlap(fitted(made, nonsense), made) + 0.2


def test_a_run_can_start_where_another_one_ended(made):
    first = fitted(made, None, 8)
    again, listed = fitted(made, first), fitted(made, first.communities(clear=False))
    np.testing.assert_array_equal(again.mean, listed.mean)


def test_more_communities_than_given_may_be_allowed_but_not_fewer(made):
    assert fitted(made, forms(made)["list"], 12).n_communities == 12
    with pytest.raises(InputError, match="init has 8 communities and only 3 are allowed"):
        fitted(made, forms(made)["list"], 3)


def test_the_start_of_a_posterior_is_the_posterior_of_another_run(made):
    first = fitted(made, forms(made)["list"], sweeps=40)
    again = fitted(made, first.communities())
    assert overlap(again, made) > 0.5


def test_what_is_no_cover_is_refused(made):
    for init, message in (
        ("abc", "must be a cover"),
        (["abc"], "not a collection of node labels"),
        ([], "no communities"),
        (np.ones((3, 2)), "a row for each of 400 nodes"),
        (-np.ones((400, 2)), "negative"),
        ([[0, 100_000]], "100000"),
    ):
        with pytest.raises(InputError, match=message):
            fitted(made, init)
    with pytest.raises(InputError, match="not for 'svi'"):
        fitted(made, forms(made)["list"], sampler="svi")


def test_strengths_start_at_the_density_of_the_given_communities():
    graph = bm.Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)])
    weights = given_memberships(graph, [[0, 1, 2], [3]])
    value = given_strengths(graph, weights, bm.Model(3))
    # three links among three pairs and one of three pairs between, each with one link and one non-link added
    np.testing.assert_allclose(value, [4 / 5, 1 / 2, 1 / 2, 2 / 5])
