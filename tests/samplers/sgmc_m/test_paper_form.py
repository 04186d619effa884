"""`form="paper"` of `sgmc-m`: candidates of all neighbours, the one-shot update, one noise, either drift."""

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.generators.planted import planted
from blockmix.graph.split import hold_out
from blockmix.model import Model
from blockmix.model.reference import Globals
from blockmix.numerics.purposes import DRAW_BULK, DRAW_MEMBERSHIPS
from blockmix.numerics.workers import Workers
from blockmix.samplers.langevin.dynamics import two_normals
from blockmix.samplers.langevin.options import CORRECTED, PAPER
from blockmix.samplers.minibatch import iteration_key
from blockmix.samplers.sgmc.sampler import Sgmc, SgmcOptions
from blockmix.samplers.sgmc_m import reference as ref
from blockmix.samplers.sgmc_m.nodes import update_node
from blockmix.samplers.sgmc_m.options import SPLIT_CORRECTED, SPLIT_PAPER, SgmcMOptions
from blockmix.samplers.sgmc_m.sampler import SgmcM
from blockmix.samplers.sgmc_m.split import split_row
from blockmix.samplers.sgmc_m.table import new_buffer, new_fresh
from blockmix.tables.minibatch import sample_neighbors, sample_partners

KEY, NODES, COMMUNITIES, ALPHA = (3, 4), 40, 12, 1.0 / 12
# Rows are kept in single precision.
SINGLE = 5e-6
FORMS = {
    "paper": {"form": "paper"},
    "paper, preconditioned": {"form": "paper", "preconditioned": True},
    "paper, all of the bulk": {"form": "paper", "bulk_batch": 0},
    "paper, exact bulk": {"form": "paper", "bulk_update": "exact", "bulk_batch": 0},
    "paper, noise of a sum": {"form": "paper", "bulk_noise": "sum"},
    "means": {"bulk_update": "means", "bulk_batch": 2},
    "one noise": {"bulk_noise": "one"},
    "candidates of all neighbours": {"candidates": "all"},
    "printed update": {"preconditioned": False},
    "printed active sets": {"form": "paper", "active": "printed"},
}


@pytest.fixture(scope="module")
def data():
    return hold_out(planted(NODES, 4, degree=7, seed=2).graph, 0.1, seed=3)


def make(data, workers, **options):
    return SgmcM(data, Model(COMMUNITIES, alpha=ALPHA), SgmcMOptions(**options), workers)


def split_of(table, a):
    block = slice(table.start[a], table.start[a] + table.count[a])
    phi = table.phi[block].astype(np.float64)
    return ref.Split(table.community[block].astype(np.int64), phi, float(table.bulk[a]), COMMUNITIES)


def partners(a, sampler, key):
    """Return the sampled neighbours and others, each with its weight."""
    network, how, found = sampler.batches.network, sampler.how, []
    out = np.zeros(NODES, dtype=np.int64)
    count, weight = sample_neighbors(a, how.neighbors, network, key, out)
    found += [(int(b), 1, weight) for b in out[:count]]
    count, weight = sample_partners(a, how.non_neighbors, how.strata.printed, network, key, out)
    return found + [(int(b), 0, weight) for b in out[:count]]


def active_in(nodes, table):
    """Return the communities that are active in one of these nodes."""
    return {int(k) for b in nodes for k in split_of(table, b).listed[: table.active[b]]}


def widened(a, table, near):
    """Return row a with every community that is active in these neighbours listed, at the bulk's value (A2)."""
    row = split_of(table, a)
    active = [split_of(table, b).listed[: table.active[b]] for b in near]
    new = ref.candidate_set(row.listed, active)
    listed = np.append(row.listed, new)
    return ref.Split(listed, np.append(row.phi, np.full(len(new), row.bulk)), row.bulk, COMMUNITIES)


def expected_step(row, met, sample, g, options, eps, key, a):
    """Return the new phi of all listed communities, in the order of the row, and the new total of the bulk."""
    if options.bulk_update == "means":
        listed, value = ref.printed_drifts(row, met, sample, g)
    else:
        listed, value = ref.listed_drift(row, met, g), ref.bulk_drift(row, met, g) / row.bulk_size
    if not options.preconditioned:
        listed = ref.without_metric(row.phi, listed, g.alpha)
        value = float(ref.without_metric(row.bulk, value, g.alpha))
    noise = np.array([two_normals(DRAW_MEMBERSHIPS, a, int(k) // 2, key)[int(k) % 2] for k in row.listed])
    phi = ref.langevin_step(row.phi, listed, eps, noise)
    one = two_normals(DRAW_BULK, a, 0, key)[0]
    size = row.bulk_size
    if options.bulk_noise == "one":
        return phi, size * float(ref.langevin_step(row.bulk, value, eps, one))
    return phi, float(ref.langevin_step(row.bulk_total, size * value, eps, one))


@pytest.mark.parametrize("form", FORMS)
def test_a_node_moves_as_the_reference_says(form, data):
    """(A2), (A12), (A13), (L6) On the rows of a chain at work, every node, the bulk included."""
    settings = {"start": "random", "totals": "prior", "threshold": 0.6, "neighbors": 2, **FORMS[form]}
    with Workers(1) as workers:
        sampler = make(data, workers, **settings)
        state = sampler.init(KEY)
        for _ in range(2):
            sampler.step(state, KEY, True)
        options, frame, scratch = sampler.options, sampler._frame(state, KEY), sampler.scratch[0]
        g = Globals(state.strengths.value[:-1], float(state.strengths.value[-1]), ALPHA)
        eps, key, in_bulk, more = 0.01, iteration_key(KEY, state.iteration), 0, 0
        for a in range(NODES):
            drawn = partners(a, sampler, key)
            sampled = [b for b, y, _ in drawn if y]
            everyone = data.training.neighbors[data.training.offsets[a] : data.training.offsets[a + 1]]
            near = everyone if options.candidates == "all" else sampled
            row = widened(a, state.table, near)
            more += active_in(near, state.table) != active_in(sampled, state.table)
            count, total = update_node(a, eps, frame, scratch)
            members = scratch.community[:count].astype(np.int64)
            found = dict(zip(members.tolist(), scratch.phi[:count].tolist(), strict=True))
            assert set(members[scratch.near[:count]].tolist()) == active_in(near, state.table)
            scratch.place[:] = -1
            assert set(found) == set(row.listed.tolist())
            if row.bulk_size == 0:
                continue
            in_bulk += 1
            sample = np.flatnonzero(row.in_bulk())
            if 0 < options.bulk_batch < row.bulk_size:
                sample = scratch.sample[: options.bulk_batch].astype(np.int64)
                assert row.in_bulk()[sample].all()
            met = [ref.Met(split_of(state.table, b), y, c) for b, y, c in drawn]
            phi, bulk = expected_step(row, met, sample, g, options, eps, key, a)
            np.testing.assert_allclose([found[k] for k in row.listed.tolist()], phi, rtol=SINGLE, atol=SINGLE)
            assert total == pytest.approx(bulk, rel=1e-5, abs=1e-9)
        assert in_bulk > NODES // 2
        assert (more > 0) == (options.candidates == "all")


@pytest.mark.parametrize(
    ("promotion", "reference"),
    [("printed", ref.printed_promotion_count), ("equal", ref.promotion_count), ("split", None)],
)
def test_promotion_by_its_setting_is_that_of_the_reference(promotion, reference, data):
    """(A8) How many communities leave the bulk, and with what: from the setting to the new row, on rows of a chain."""
    with Workers(1) as workers:
        sampler = make(data, workers, start="random", threshold=0.8, neighbors=2, promotion=promotion)
        state = sampler.init(KEY)
        for _ in range(2):
            sampler.step(state, KEY, True)
        frame, scratch, counts = sampler._frame(state, KEY), sampler.scratch[0], []
        for a in range(NODES):
            count, _ = update_node(a, 0.05, frame, scratch)
            members, phi = scratch.community[:count].tolist(), scratch.phi[:count].copy()
            fresh, buffer, size = new_fresh(1), new_buffer(COMMUNITIES), COMMUNITIES - count
            # A bulk that holds three eighths of the row, whatever it held: some of it has to leave it.
            total = 0.6 * phi.sum() if size else 0.0
            value = total / max(size, 1)
            missing = 0.8 * (phi.sum() + total) - phi[phi >= value].sum()
            split_row(0, a, count, total, frame, fresh, buffer, scratch)
            row = slice(0, fresh.count[0])
            new = ~np.isin(buffer.community[row], members)
            if size == 0 or missing <= 0.0:
                assert not new.any()
                continue
            counts.append(int(new.sum()))
            at_the_value = np.isclose(buffer.phi[row][new], value, rtol=1e-5)
            if reference is None:
                assert not at_the_value.any() or size == 1
            else:
                assert counts[-1] == reference(missing, value, size)
                assert at_the_value.all()
        assert len(counts) > 5
        assert len(set(counts)) > 1


def test_means_are_not_the_exact_sums():
    """(A12) The product of two means is not the mean of the products: Z and the bulk's drift differ."""
    rng = np.random.default_rng(1)
    g = Globals(rng.uniform(0.1, 0.9, 6), 0.05, 0.2)
    row = ref.Split(np.array([0, 3]), np.array([0.5, 0.2]), 0.1, 6)
    met = [ref.Met(ref.Split(np.array([1, 3]), np.array([0.9, 0.4]), 0.05, 6), 1, 2.0)]
    everything = np.flatnonzero(row.in_bulk())
    listed, value = ref.printed_drifts(row, met, everything, g)
    assert abs(listed - ref.listed_drift(row, met, g)).max() > 1e-3
    assert abs(row.bulk_size * value - ref.bulk_drift(row, met, g)) > 1e-3


def test_the_flat_start_is_that_of_sgmc(data):
    """The same memberships, up to the mean over the bulk, and the same strengths; at threshold 1 the same numbers."""
    with Workers(1) as workers:
        plain = Sgmc(data, Model(COMMUNITIES, alpha=ALPHA), SgmcOptions(form="paper"), workers)
        want = plain.init(KEY)
        for threshold, active in ((1.0, "reached"), (0.8, "reached"), (0.8, "printed")):
            sampler = make(data, workers, form="paper", threshold=threshold, active=active)
            state = sampler.init(KEY)
            np.testing.assert_array_equal(state.strengths.value, want.strengths.value)
            np.testing.assert_array_equal(state.strengths.theta, want.strengths.theta)
            for a in range(NODES):
                row, phi = split_of(state.table, a), want.dense.phi[a].astype(np.float64)
                np.testing.assert_allclose(row.phi, phi[row.listed], rtol=SINGLE)
                assert row.written_out().sum() == pytest.approx(phi.sum(), rel=SINGLE)
                if threshold < 1.0:
                    assert set(row.listed) == set(
                        ref.active_set(phi / phi.sum(), threshold, active == "printed")
                    )


def test_at_threshold_one_the_paper_form_is_that_of_sgmc(data):
    """Nothing is in the bulk: the printed update, number by number."""
    with Workers(1) as workers:
        plain = Sgmc(data, Model(COMMUNITIES, alpha=ALPHA), SgmcOptions(form="paper"), workers)
        split = make(data, workers, form="paper", threshold=1.0)
        state, other = plain.init(KEY), split.init(KEY)
        for _ in range(3):
            plain.step(state, KEY, True)
            split.step(other, KEY, True)
        for a in range(NODES):
            np.testing.assert_allclose(
                split_of(other.table, a).written_out(), state.dense.phi[a], rtol=1e-4, atol=1e-6
            )
        np.testing.assert_allclose(other.strengths.value, state.strengths.value, rtol=1e-4)


def test_the_paper_form_is_all_printed_choices_and_each_can_be_taken_back():
    paper, plain = SgmcMOptions(form="paper"), SgmcMOptions()
    # Written out, so that a changed constant is noticed.
    assert SPLIT_PAPER == {
        "candidates": "all", "promotion": "printed", "bulk_update": "means", "bulk_noise": "one", "bulk_batch": 10,
        "start": "flat",
    }  # fmt: skip
    assert {name: getattr(paper, name) for name in PAPER | SPLIT_PAPER} == PAPER | SPLIT_PAPER
    assert {name: getattr(plain, name) for name in CORRECTED | SPLIT_CORRECTED} == CORRECTED | SPLIT_CORRECTED
    assert paper.steps(50) == (1024.0**-0.5, 1024.0**-0.5)
    for name, value in (CORRECTED | SPLIT_CORRECTED).items():
        if name == "totals":
            value = "prior"
        assert getattr(SgmcMOptions(form="paper", **{name: value}), name) == value


def test_a_fit_records_what_the_form_stood_for_and_keeps_its_memory():
    graph = planted(120, 12, degree=7, seed=1).graph
    post = bm.fit(graph, 12, sampler="sgmc-m", form="paper", sweeps=12, chains=1, seed=1)
    assert {name: post.provenance["options"][name] for name in SPLIT_PAPER} == SPLIT_PAPER
    assert post.provenance["model"]["alpha"] == 1 / 12
    assert 0.0 < post.trace["memory_ratio"].min() <= post.trace["memory_ratio"].max() <= 1.0 + 1 / 12
    assert np.isfinite(post.held_out.probability).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "printed"}, "form must be one of corrected, paper"),
        ({"candidates": "some"}, "candidates must be one of sampled, all"),
        ({"active": "below"}, "active must be one of reached, printed"),
        ({"promotion": "random"}, "promotion must be one of split, equal, printed"),
        ({"bulk_update": "mean"}, "bulk_update must be one of exact, means"),
        ({"bulk_noise": 1}, "bulk_noise must be one of sum, one"),
        ({"start": "dense"}, "start must be one of partition, random, flat"),
    ],
)
def test_settings_out_of_range_are_named(options, message):
    with pytest.raises(InputError, match=message):
        SgmcMOptions(**options)
