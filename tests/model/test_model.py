"""A model is checked when it is made, and an error says which value is wrong and what to give instead."""

import json

import numpy as np
import pytest

from blockmix import InputError, Model
from blockmix.model.hyper import DEFAULT_CONCENTRATION, UNLINKED_CONCENTRATION


def test_memberships_are_sparser_the_more_communities_there_are():
    assert Model(communities=20).concentration == pytest.approx(DEFAULT_CONCENTRATION / 20)
    assert Model(communities=20, alpha=0.3).concentration == 0.3
    np.testing.assert_allclose(
        Model(communities=20).concentrations(np.array([0, 1, 9])), [0.15, 0.015, 0.015]
    )
    np.testing.assert_allclose(Model(communities=20, alpha=0.3).concentrations(np.array([0, 1])), 0.3)


@pytest.mark.parametrize("communities", [0, -3, 2.5, True])
def test_the_number_of_communities_is_a_whole_number_of_at_least_one(communities):
    with pytest.raises(InputError, match=f"communities must be a whole number.*{communities!r}"):
        Model(communities)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_alpha_is_positive(alpha):
    with pytest.raises(InputError, match=r"alpha must be a positive number.*leave it out"):
        Model(4, alpha=alpha)


@pytest.mark.parametrize("eta", [(1.0,), (1.0, 0.0), (-1.0, 1.0), (1.0, float("nan")), (1.0, 1.0, 1.0)])
def test_eta_is_two_positive_numbers(eta):
    with pytest.raises(InputError, match="eta must be two positive numbers"):
        Model(4, eta=eta)


@pytest.mark.parametrize("background", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_the_background_is_a_probability_strictly_inside(background):
    with pytest.raises(InputError, match=r"background must lie strictly between 0 and 1.*leave it out"):
        Model(4, background=background)


def test_a_model_is_frozen_and_can_be_written_to_a_manifest():
    model = Model(4, eta=(2.0, 3.0), background=0.01)
    with pytest.raises(AttributeError):
        model.communities = 5
    written = json.loads(json.dumps(model.to_dict()))
    assert written == {
        "communities": 4,
        "alpha": DEFAULT_CONCENTRATION / 4,
        "alpha_unlinked": UNLINKED_CONCENTRATION / 4,
        "eta": [2.0, 3.0],
        "background": 0.01,
        "kind": "assortative",
        "background_prior": None,
    }
    assert model.to_dict(learned=True)["alpha"] is None


def test_before_a_network_is_seen_the_background_explains_a_link_a_node():
    link, non_link = Model(4).prior_of_background(50)
    assert 49 * link / (link + non_link) == pytest.approx(1.0, rel=0.05)
    assert Model(4, background_prior=(2.0, 3.0)).prior_of_background(50) == (2.0, 3.0)
