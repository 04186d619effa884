"""A result of the popularity model: popularities in tables, files and exports, predictions, diagnostics."""

import json

import numpy as np
import pytest

import blockmix as bm
from blockmix.errors import InputError
from blockmix.model.reference import popularity_likelihood, popularity_rate
from blockmix.posterior.quantities import KINDS
from blockmix.posterior.views import gamma_interval
from blockmix.tables.packed import WEIGHT_SCALE


@pytest.fixture(scope="module")
def made():
    return bm.planted(150, 3, degree=12, degrees="powerlaw", overlap=(1, 1), seed=2)


@pytest.fixture(scope="module")
def post(made):
    graph = bm.Graph.from_edges(made.graph.edges(), nodes=range(154))
    return bm.fit(graph, 3, model="popularity", seed=1, sweeps=150, chains=2, threads=1)


def test_popularities_follow_the_truth(made, post):
    table = post.popularity()
    found = table.mean[:150]
    assert np.corrcoef(np.log(found), np.log(made.popularity))[0, 1] > 0.7
    assert 0.8 < post.popularity_mean.mean() < 1.25
    inside = (table.lower[:150] <= made.popularity) & (made.popularity <= table.upper[:150])
    # 90% intervals of values from another law than the prior, which scale with the strengths: most hold the truth.
    assert inside.mean() > 0.7
    assert len(table) == 154
    first = next(iter(table))
    assert first.node == post.graph.labels[0]
    assert first.lower < first.mean < first.upper


def test_predicted_probabilities_are_those_of_the_model(post):
    """(DC11) from the samples kept, by the plain form of the equation."""
    pairs = np.array([(0, 1), (5, 80), (20, 149)])
    expected = np.zeros(3)
    samples = [sample for chain in post.draws for sample in chain]
    for sample in samples:
        offsets = np.append(0, np.cumsum(sample.counts.astype(int)))
        pi = np.zeros((154, 3))
        pi[np.repeat(np.arange(154), sample.counts), sample.communities] = sample.weights / WEIGHT_SCALE
        pi /= pi.sum(axis=1, keepdims=True)
        assert offsets[-1] == len(sample.weights)
        for i, (a, b) in enumerate(pairs):
            r, rates = sample.popularity.astype(float), sample.strengths.astype(float)
            rate = popularity_rate(r[a], r[b], pi[a], pi[b], rates[:-1], rates[-1])
            expected[i] += popularity_likelihood(1, rate) / len(samples)
    np.testing.assert_allclose(post.node_link_probability(pairs), expected, rtol=1e-5)


def test_isolated_nodes_are_predicted_alike_and_less_likely_than_others(post):
    alone = np.flatnonzero(post.unlinked)
    assert len(alone) >= 4
    hub = int(np.argmax(post.graph.degrees))
    p = post.node_link_probability(np.array([(hub, a) for a in alone]))
    np.testing.assert_allclose(p, p[0], rtol=1e-12)
    others = np.flatnonzero(~post.unlinked)
    others = others[others != hub]
    q = post.node_link_probability(np.column_stack([np.full(len(others), hub), others]))
    assert 0 < p[0] < np.median(q)
    both = post.node_link_probability(np.array([(alone[0], alone[1])]))
    assert 0 < both[0] < p[0]


def test_strengths_are_probabilities(post):
    table = post.strengths()
    assert ((table.mean > 0) & (table.mean < 1)).all()
    draws = np.concatenate(post.strength_draws)
    np.testing.assert_allclose(draws.mean(axis=0), table.mean, rtol=0.05)


def test_saving_and_loading_keeps_everything(post, tmp_path):
    post.save(tmp_path)
    again = bm.load(tmp_path)
    np.testing.assert_array_equal(again.popularity_mean, post.popularity_mean)
    np.testing.assert_array_equal(again.popularity_sd, post.popularity_sd)
    pairs = np.array([(0, 1), (3, 152), (152, 153)])
    np.testing.assert_array_equal(again.node_link_probability(pairs), post.node_link_probability(pairs))
    assert again.scores == post.scores
    (tmp_path / "posterior" / "popularity_mean.npy").unlink()
    with pytest.raises(InputError, match="damaged"):
        bm.load(tmp_path)


def test_samples_without_popularities_do_not_fit_the_table(post, tmp_path, reseal):
    post.save(tmp_path)
    manifest = json.loads((tmp_path / "run.json").read_text())
    manifest["popularity"] = False
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    reseal(tmp_path)
    with pytest.raises(InputError, match="damaged"):
        bm.load(tmp_path)


def test_diagnostics_follow_popularities(post):
    found = post.diagnostics()
    assert set(found.kind) == set(KINDS)
    assert "popularity" not in set(
        bm.fit(post.graph, 2, model="assortative", sweeps=30, chains=1).diagnostics().kind
    )


def test_exports_have_popularities(post, tmp_path):
    networkx = pytest.importorskip("networkx")
    network = post.to_networkx()
    assert network.nodes[0]["popularity"] == pytest.approx(float(post.popularity_mean[0]))
    post.write_graphml(tmp_path / "network.graphml")
    read = networkx.read_graphml(tmp_path / "network.graphml")
    assert read.nodes["n0"]["popularity"] == pytest.approx(float(post.popularity_mean[0]), rel=1e-5)


def test_the_command_line_writes_popularities(tmp_path, made):
    from typer.testing import CliRunner

    from blockmix.cli.app import app

    made.save(tmp_path / "made")
    words = [
        "fit",
        str(tmp_path / "made" / "edges.txt"),
        "-k",
        "3",
        "--model",
        "popularity",
        "--sweeps",
        "20",
        "-o",
    ]
    done = CliRunner().invoke(app, [*words, str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.output
    assert '"auc_matched"' in done.output
    lines = (tmp_path / "run" / "popularity.tsv").read_text().splitlines()
    assert lines[0] == "node\tmean\tsd"
    assert len(lines) == 151


def test_other_models_have_no_popularities():
    graph = bm.planted(40, 3, degree=8, seed=1).graph
    post = bm.fit(graph, 2, model="assortative", sweeps=20, chains=1)
    with pytest.raises(InputError, match='model="popularity"'):
        post.popularity()


def test_a_gamma_interval_has_the_level_asked_for():
    rng = np.random.default_rng(1)
    values = rng.gamma(3.0, 0.5, 200_000)
    lower, upper = gamma_interval(np.array([values.mean()]), np.array([values.std()]), 0.8)
    assert ((values > lower) & (values < upper)).mean() == pytest.approx(0.8, abs=0.01)
