"""Settings are checked where they come in, with messages that say what would be right."""

import pytest

from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import check_sampler
from blockmix.samplers.data import non_link_weight
from blockmix.samplers.scir.constants import MOST_DENSE
from blockmix.samplers.scir.options import ScirOptions
from blockmix.samplers.scir.sampler import Scir


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"slots": 0}, "slots must be a whole number from 1 to 255, not 0"),
        ({"slots": 256}, "slots must be a whole number"),
        ({"slots": 2.5}, "not 2.5"),
        ({"slots": True}, "not True"),
        ({"batches": 0}, "batches must be a whole number from 1"),
        ({"neighbors": 0}, "neighbors must be a whole number from 1"),
        ({"non_links": -1}, "non_links must be a whole number from 0"),
        ({"smallest": 0.0}, "smallest must be a positive number, not 0.0"),
        ({"smallest": float("nan")}, "smallest must be a positive number"),
        ({"step": float("inf")}, "step must be a positive number"),
        ({"step": "1"}, "step must be a positive number"),
        ({"cut": 1.0}, "cut must lie between 0 and 1"),
        ({"cut": -0.1}, "cut must lie between 0 and 1"),
        ({"moves": "gibbs"}, "moves must be one of auto, indicators, cir, not 'gibbs'"),
        ({"start": "ones"}, "start must be one of partition, random"),
        ({"form": "full"}, "form must be one of auto, sparse, dense, not 'full'"),
        ({"weighted": 1}, "weighted must be True or False, not 1"),
        ({"moves": "indicators", "non_links": 5}, 'non_links belongs to moves="cir"'),
        ({"moves": "indicators", "form": "dense"}, 'form="dense" belongs to moves="cir"'),
    ],
)
def test_a_wrong_setting_is_named_with_its_value(setting, message):
    with pytest.raises(InputError) as caught:
        ScirOptions(**setting)
    assert message in str(caught.value)


def test_non_links_are_weighted_after_a_balanced_hold_out_unless_asked_not_to():
    data = hold_out(planted(80, 3, degree=8, seed=1).graph, 0.2, seed=1)
    with Workers(1) as workers:
        weights = [
            Scir(data, Model(3), ScirOptions(weighted=weighted), workers).problem.non_link_weight
            for weighted in (True, False)
        ]
    assert weights == [non_link_weight(data), 1.0]
    assert weights[0] < 0.9


def test_the_move_follows_from_what_is_asked_for():
    assert ScirOptions().local_move == "indicators"
    assert ScirOptions(non_links=3).local_move == "cir"
    assert ScirOptions(form="dense").local_move == "cir"
    assert ScirOptions(form="sparse").local_move == "indicators"
    assert ScirOptions(moves="cir").local_move == "cir"


def test_the_form_is_dense_where_that_is_faster_or_asked_for():
    assert not ScirOptions().is_dense(2)
    assert ScirOptions(moves="cir").is_dense(MOST_DENSE)
    assert not ScirOptions(moves="cir").is_dense(MOST_DENSE + 1)
    assert ScirOptions(form="dense").is_dense(500)
    assert not ScirOptions(moves="cir", form="sparse").is_dense(2)


def test_a_misspelt_sampler_is_answered_with_the_nearest():
    assert check_sampler("scir") == "scir"
    with pytest.raises(InputError, match="did you mean 'scir'"):
        check_sampler("scri")
    with pytest.raises(InputError, match="there is no sampler 'xyz'"):
        check_sampler("xyz")
