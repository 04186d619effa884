"""A saved posterior comes back bit for bit, and a folder that is not one is refused in words."""

import dataclasses
import json
import pickle
import shutil

import numpy as np
import pytest

from blockmix import InputError, Posterior, load

TABLE = ["offsets", "community", "mean", "sd", "sizes", "strength_mean", "strength_sd", "numbers"]


@pytest.fixture
def folder(two_triangles, tmp_path):
    two_triangles.save(tmp_path / "deep" / "run")
    return tmp_path / "deep" / "run"


@pytest.fixture
def change(folder, reseal):
    """Return a function that writes a manifest that differs in these values, with the right checksum."""

    def write(**values):
        manifest = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps(manifest | values))
        reseal(folder)

    return write


def assert_same(found, expected):
    for name in TABLE:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    assert (found.background_mean, found.background_sd) == (expected.background_mean, expected.background_sd)
    assert found.provenance == expected.provenance
    assert found.graph.fingerprint == expected.graph.fingerprint
    assert set(found.trace) == set(expected.trace)
    for name, values in expected.trace.items():
        np.testing.assert_array_equal(found.trace[name], values)
    assert [len(chain) for chain in found.draws] == [len(chain) for chain in expected.draws]
    for mine, other in zip(sum(found.draws, ()), sum(expected.draws, ()), strict=True):
        for field in dataclasses.fields(mine):
            np.testing.assert_array_equal(getattr(mine, field.name), getattr(other, field.name))


def test_everything_comes_back_bit_for_bit(folder, two_triangles):
    found = load(folder)
    assert_same(found, two_triangles)
    for field in ("pairs", "links", "probability"):
        np.testing.assert_array_equal(getattr(found.held_out, field), getattr(two_triangles.held_out, field))
    assert (found.held_out.density, found.held_out.kind, found.held_out.fraction) == (7 / 15, "balanced", 0.3)
    pairs = [("ann", "bob"), ("cem", "fay")]
    np.testing.assert_array_equal(found.link_probability(pairs), two_triangles.link_probability(pairs))
    assert found.communities() == two_triangles.communities()
    assert found.perplexity == two_triangles.perplexity


def test_load_is_also_a_method_and_takes_text(folder, two_triangles):
    assert_same(Posterior.load(str(folder)), two_triangles)


def test_several_chains_and_no_held_out_pairs_come_back(posterior_of, tmp_path):
    rng = np.random.default_rng(1)
    histories = [rng.dirichlet(np.ones(3), size=(n, 6)) for n in (4, 7)]
    post = posterior_of(histories)
    post.save(tmp_path)
    found = load(tmp_path)
    assert_same(found, post)
    assert found.held_out is None
    assert [len(values) for values in found.strength_draws] == [4, 7]


def test_a_chain_without_samples_comes_back(posterior_of, tmp_path):
    post = dataclasses.replace(posterior_of([np.ones((2, 6, 1))]), draws=((),))
    post.save(tmp_path)
    assert load(tmp_path).draws == ((),)


def test_saving_again_replaces_what_was_there_even_what_is_open(folder, two_triangles, posterior_of):
    opened = load(folder)
    opened.save(folder)
    assert_same(load(folder), two_triangles)
    other = posterior_of([np.ones((2, 6, 1))])
    other.save(folder)
    assert_same(load(folder), other)
    assert sorted(path.name for path in folder.iterdir()) == ["graph", "posterior", "run.json"]


def test_settings_given_as_numpy_numbers_can_be_saved(two_triangles, tmp_path):
    provenance = two_triangles.provenance | {"communities": np.int64(3), "alpha": np.float32(0.5)}
    dataclasses.replace(two_triangles, provenance=provenance).save(tmp_path)
    assert load(tmp_path).provenance["communities"] == 3


def test_a_result_cannot_be_saved_where_a_file_is(two_triangles, tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(InputError, match="run: the result cannot be saved"):
        two_triangles.save(tmp_path / "run")
    assert (tmp_path / "run").read_text() == "mine"


def test_a_save_that_breaks_off_leaves_no_mixture(folder, posterior_of, monkeypatch):
    """The manifest is gone before the first array is replaced: the folder is then no result at all."""
    import os

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        posterior_of([np.ones((2, 6, 1))]).save(folder)
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"there is no run\.json"):
        load(folder)


def test_a_folder_that_is_no_result_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match=r"not a blockmix result: there is no run\.json"):
            load(path)
    (tmp_path / "file").write_text("a b\n")
    with pytest.raises(InputError, match="not a blockmix result"):
        load(tmp_path / "file")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '"text"', "{}", '{"format": "something else"}', "[" * 100_000]
)
def test_a_foreign_or_broken_manifest_is_refused(folder, text):
    (folder / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json"):
        load(folder)


def test_a_manifest_that_is_not_text_is_refused(folder):
    (folder / "run.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"run\.json cannot be read"):
        load(folder)


def test_an_unknown_version_names_the_blockmix_that_reads_it(folder, change):
    change(version=99, written_by="blockmix 7.0")
    with pytest.raises(InputError, match=r"version 99.*reads version 2.*blockmix 7\.0"):
        load(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"chains": "two"},
        {"chains": 5},
        {"held_out": {"density": 0.1}},
        {"held_out": 3},
        {"trace": ["nothing"]},
        {"provenance": None},
        {"background_mean": None},
    ],
    ids=str,
)
def test_a_manifest_that_does_not_fit_its_arrays_is_refused(folder, change, values):
    change(**values)
    with pytest.raises(InputError, match="damaged"):
        load(folder)


@pytest.mark.parametrize("name", ["mean", "offsets", "draws0_weights", "held_out_pairs", "trace_sweep"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise"])
def test_a_damaged_array_is_refused(folder, name, damage):
    path = folder / "posterior" / f"{name}.npy"
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes({"empty": b"", "cut": content[:-3], "noise": b"\x93nonsense"}[damage])
    with pytest.raises(InputError, match="damaged"):
        load(folder)


@pytest.mark.parametrize(
    "name", [*TABLE, "draws0_counts", "draws0_strengths", "draws0_communities", "held_out_links"]
)
def test_an_array_of_another_size_is_refused(folder, name, reseal):
    path = folder / "posterior" / f"{name}.npy"
    array = np.load(path)
    np.save(path, array[..., :-1])
    reseal(folder)
    with pytest.raises(InputError, match="damaged"):
        load(folder)


def test_samples_that_do_not_add_up_are_never_read_out_of_bounds(folder, reseal):
    path = folder / "posterior" / "draws0_counts.npy"
    np.save(path, np.load(path) + np.uint8(40))
    reseal(folder)
    with pytest.raises(InputError, match="damaged"):
        load(folder).link_probability([("ann", "bob")])


def test_the_network_of_another_result_is_refused(folder, posterior_of, tmp_path):
    from blockmix import Graph

    other = Graph.from_edges([(a, a + 1) for a in range(5)])
    shutil.rmtree(folder / "graph")
    other.save(folder / "graph")
    with pytest.raises(InputError, match="not the network of this result"):
        load(folder)


def test_nothing_is_ever_unpickled(folder, tmp_path, reseal):
    """An array that carries a pickle is refused, and the code in it never runs."""
    marker = tmp_path / "ran"

    class Trap:
        def __reduce__(self):
            return (marker.write_text, ("gotcha",))

    trap = np.array([Trap()], dtype=object)
    np.save(folder / "posterior" / "mean.npy", trap, allow_pickle=True)
    reseal(folder)
    with pytest.raises(InputError, match="damaged"):
        load(folder)
    (folder / "posterior" / "mean.npy").write_bytes(pickle.dumps(trap))
    reseal(folder)
    with pytest.raises(InputError, match="damaged"):
        load(folder)
    assert not marker.exists()


def test_nothing_is_ever_pickled(folder):
    for path in folder.rglob("*.npy"):
        assert np.load(path, allow_pickle=False).dtype != object


def test_one_changed_bit_of_any_file_is_noticed(folder):
    rng = np.random.default_rng(1)
    for path in (path for path in folder.rglob("*") if path.is_file()):
        whole = path.read_bytes()
        for at in rng.integers(len(whole), size=12):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(InputError):
                load(folder)
        path.write_bytes(whole)
    load(folder)


def test_files_that_are_gone_are_noticed_and_files_that_were_added_are_not_read(folder, two_triangles):
    (folder / "posterior" / "other.npy").write_bytes(b"noise")
    assert_same(load(folder), two_triangles)
    for path in list((folder / "posterior").glob("[a-n]*.npy")):
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(InputError, match=f"{path.name} cannot be read"):
            load(folder)
        path.write_bytes(whole)


def test_results_of_the_first_version_are_read(folder, two_triangles):
    manifest = json.loads((folder / "run.json").read_text())
    for name in ("checksum", "files", "texts"):
        del manifest[name]
    (folder / "run.json").write_text(json.dumps(manifest | {"version": 1}))
    assert_same(load(folder), two_triangles)


def test_a_folder_of_other_things_is_not_replaced(two_triangles, tmp_path):
    """Named like the folders of a result, and somebody's work."""
    for name in ("posterior", "graph"):
        folder = tmp_path / name
        (folder / name).mkdir(parents=True)
        (folder / name / "thesis.txt").write_text("years of work")
        with pytest.raises(InputError, match="another"):
            two_triangles.save(folder)
        assert (folder / name / "thesis.txt").read_text() == "years of work"
