"""The command line: exit statuses, one message an error, JSON, nothing computed lost."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import blockmix as bm
from blockmix.cli.app import app
from blockmix.errors import InputError
from blockmix.evaluate import read_covers

FIT_FIELDS = {
    "nodes", "edges", "communities", "sampler", "seed", "sweeps", "node_updates", "seconds", "perplexity",
    "log_loss", "auc", "average_precision", "peak_memory_bytes",
}  # fmt: skip
FILES = {"memberships.tsv", "communities.txt", "no_community.txt", "held_out.tsv", "run.json"}
RING = [(a, b) for c in (0, 8, 16) for a in range(c, c + 8) for b in range(c, a)]


def blockmix(*words: object, input: str | bytes | None = None):
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(w) for w in words], input=input)


def program(*words: object, **options):
    """Start the program as a user does."""
    command = [sys.executable, "-m", "blockmix.cli", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def signalled(number, *words):
    """Start the program, send it a signal once it sweeps; output, errors and exit status."""
    run = program(*words)
    for line in run.stderr:
        if b"updates/s" in line:
            break
    run.send_signal(number)
    return *run.communicate(timeout=60), run.returncode


def last_json(text: str):
    return json.loads(text.splitlines()[-1], parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@pytest.fixture(scope="module")
def edges(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "edges.txt"
    path.write_text("".join(f"{a} {b}\n" for a, b in RING))
    return path


@pytest.fixture(scope="module")
def result(edges) -> Path:
    folder = edges.parent / "run"
    done = blockmix("fit", edges, "-k", 3, "-o", folder, "--sweeps", 200, "--seed", 2, "--quiet")
    assert done.exit_code == 0, done.output
    return folder


class TestFit:
    def test_json_is_the_last_line_and_has_the_documented_fields(self, edges):
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "--json", "--seed", 5)
        assert done.exit_code == 0, done.output
        record = last_json(done.stdout)
        assert record.keys() >= FIT_FIELDS
        assert (record["nodes"], record["edges"], record["communities"]) == (24, 84, 3)
        assert (record["seed"], record["sweeps"], record["node_updates"]) == (5, 20, 8 * 480)
        assert 0 <= record["auc"] <= 1

    def test_scores_are_null_when_nothing_is_held_out(self, edges):
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "--json", "--held-out", 0)
        record = last_json(done.stdout)
        assert [record[name] for name in ("perplexity", "log_loss", "auc", "average_precision")] == [None] * 4

    def test_writes_tables_and_a_loadable_posterior(self, result):
        assert {path.name for path in result.iterdir()} >= FILES
        post = bm.load(result)
        with open(result / "memberships.tsv", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        assert list(rows[0]) == ["node", "community", "mean", "sd"]
        assert [int(row["community"]) for row in rows] == post.community.tolist()
        np.testing.assert_allclose([float(row["mean"]) for row in rows], post.mean, atol=1e-6)
        with open(result / "held_out.tsv", newline="") as file:
            pairs = list(csv.DictReader(file, delimiter="\t"))
        assert list(pairs[0]) == ["node_a", "node_b", "link", "probability"]
        assert [row["link"] == "1" for row in pairs] == post.held_out.links.tolist()
        covers = read_covers(result / "communities.txt", post.graph.labels)
        assert [sorted(c) for c in covers] == [sorted(c) for c in post.covers().values()]

    def test_quiet_prints_nothing_when_there_are_files(self, edges, tmp_path):
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-q", "-o", tmp_path / "run")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")

    def test_progress_goes_to_standard_error(self, edges):
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20)
        assert "sweep 20" in done.stderr
        assert "updates/s" not in done.stdout
        assert "communities" in done.stdout

    def test_same_seed_same_files_whatever_the_threads(self, edges, tmp_path):
        for name, threads in (("one", 1), ("two", 2)):
            blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-q", "-o", tmp_path / name, "--threads", threads)
        for file in FILES - {"run.json"}:
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()

    def test_isolated_nodes_come_from_a_file(self, edges, tmp_path):
        (tmp_path / "nodes").write_text("0\n99\n")
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "--json", "--nodes", tmp_path / "nodes")
        assert last_json(done.stdout)["nodes"] == 25

    def test_known_networks_go_by_name(self, edges, tmp_path, monkeypatch):
        monkeypatch.setenv("BLOCKMIX_DATA", str(tmp_path))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (tmp_path / "karate").mkdir()
        (tmp_path / "karate" / "edges.txt").write_bytes(edges.read_bytes())
        done = blockmix("fit", "dataset:karate", "-k", 2)
        assert done.exit_code == 2
        assert "this is not karate" in done.stderr

    def test_messy_files_are_read_and_labels_come_back_whole(self, tmp_path):
        names = ["Zoë Q.", "[bold red]x[/]", "tab\there", "李 雷", "O'Neil, J.", "#7", '"quoted"', "\x1b[2J"]
        quoted = ['"' + n.replace('"', '""') + '"' if re.search(r'[\t"#]', n) else n for n in names]
        lines = ["# a comment", "% another", ""]
        lines += [f"{a}\t{b}\t0.5" for a in quoted for b in quoted]  # both directions and self-loops
        lines += [f"{quoted[0]}\tloner\t1.0"]
        (tmp_path / "messy.tsv").write_bytes("\r\n".join(lines).encode())
        done = blockmix("fit", tmp_path / "messy.tsv", "-k", 2, "--sweeps", 50, "-o", tmp_path / "run")
        assert done.exit_code == 0, done.output
        assert "9 nodes, 29 links" in done.stderr
        assert "[bold red]x[/]" in done.stdout
        assert "\x1b[2J" not in done.stdout
        with open(tmp_path / "run" / "memberships.tsv", newline="", encoding="utf-8") as file:
            found = {row["node"] for row in csv.DictReader(file, delimiter="\t")}
        assert found == {*names, "loner"}
        (tmp_path / "pairs").write_bytes(f"# to predict\r\n{quoted[2]}\t{quoted[6]}\r\n".encode())
        answer = blockmix("predict", tmp_path / "run", tmp_path / "pairs", "--json")
        assert last_json(answer.stdout)["predictions"][0].keys() == {"node_a", "node_b", "probability"}
        assert last_json(answer.stdout)["predictions"][0]["node_b"] == '"quoted"'


class TestOutputFolder:
    def test_an_earlier_result_is_replaced_only_when_asked(self, edges, result, tmp_path, monkeypatch):
        before = (result / "run.json").read_bytes()
        monkeypatch.setattr(
            "blockmix.inference.fit.fit_request", lambda *a, **k: pytest.fail("it was fitted first")
        )
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", result)
        assert done.exit_code == 2
        assert "--overwrite" in done.stderr
        assert (result / "run.json").read_bytes() == before

    def test_overwrite_replaces_it_whole(self, edges, tmp_path):
        folder = tmp_path / "run"
        blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-q", "-o", folder)
        done = blockmix(
            "fit", edges, "-k", 2, "--sweeps", 20, "-q", "-o", folder, "--overwrite", "--held-out", 0
        )
        assert done.exit_code == 0, done.output
        assert bm.load(folder).n_communities == 2
        assert (folder / "held_out.tsv").read_text() == "node_a\tnode_b\tlink\tprobability\n"

    @pytest.mark.parametrize("options", [[], ["--overwrite"]])
    def test_a_folder_of_other_things_is_never_touched(self, edges, tmp_path, options):
        (tmp_path / "thesis.tex").write_text("irreplaceable")
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", tmp_path, *options)
        assert done.exit_code == 2
        assert "not touched" in done.stderr
        assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]

    def test_a_place_that_cannot_be_written_is_refused_before_fitting(self, edges, tmp_path, monkeypatch):
        monkeypatch.setattr(
            "blockmix.inference.fit.fit_request", lambda *a, **k: pytest.fail("it was fitted first")
        )
        (tmp_path / "file").write_text("")
        for place in (tmp_path / "file", tmp_path / "file" / "below"):
            done = blockmix("fit", edges, "-k", 3, "-o", place)
            assert done.exit_code == 2
            assert str(place) in done.stderr

    def test_a_folder_made_for_nothing_is_removed(self, tmp_path):
        assert blockmix("fit", tmp_path / "none.txt", "-k", 3, "-o", tmp_path / "run").exit_code == 2
        assert not (tmp_path / "run").exists()

    def test_what_can_be_written_is_kept_when_a_file_fails(self, edges, tmp_path, monkeypatch):
        def full(post, path):
            raise InputError(f"{path}: cannot be written (No space left on device)")

        monkeypatch.setattr("blockmix.posterior.export.files.write_memberships", full)
        folder = tmp_path / "run"
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", folder, "--json")
        assert done.exit_code == 1
        assert "memberships.tsv: cannot be written" in done.stderr
        assert last_json(done.stdout)["nodes"] == 24
        assert (folder / "communities.txt").exists()
        assert bm.load(folder).graph.n_nodes == 24

    def test_tables_are_kept_when_the_posterior_cannot_be_saved(self, edges, tmp_path, monkeypatch):
        def full(post, path, texts):
            raise InputError(f"{path}: the result cannot be saved (No space left on device)")

        monkeypatch.setattr("blockmix.inference.run_folder.results.save_posterior", full)
        done = blockmix("fit", edges, "-k", 3, "--sweeps", 20, "-o", tmp_path / "run")
        assert done.exit_code == 1
        assert (tmp_path / "run" / "memberships.tsv").exists()


class TestPredict:
    def test_answers_in_the_order_asked(self, result):
        asked = [(0, 1), (9, 0), (16, 17)]
        done = blockmix("predict", result, "-", input="".join(f"{a},{b}\n" for a, b in asked))
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert rows[0] == ["node_a", "node_b", "probability"]
        assert [(int(a), int(b)) for a, b, _ in rows[1:]] == asked
        expected = bm.load(result).link_probability(asked)
        np.testing.assert_allclose([float(p) for _, _, p in rows[1:]], expected, rtol=1e-5)

    def test_reads_its_own_tables_and_gzip_and_writes_a_file(self, result, tmp_path):
        packed = tmp_path / "held_out.tsv.gz"
        packed.write_bytes(gzip.compress((result / "held_out.tsv").read_bytes()))
        done = blockmix("predict", result, packed, "-o", tmp_path / "answers.tsv")
        assert (done.exit_code, done.stdout) == (0, "")
        lines = (tmp_path / "answers.tsv").read_text().splitlines()
        assert len(lines) == len((result / "held_out.tsv").read_text().splitlines())

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0 1\n# so\n2 nobody\n", "line 3: no node of the network has this label (found: 'nobody')"),
            ("0 1\n2\n", "line 2: a pair needs two labels"),
            ("0 1\n5 5\n", "line 2: a node has no link to itself"),
            (b"0 1\n\xff 2\n", "line 2: not UTF-8 text"),
        ],
    )
    def test_a_bad_pair_is_named_by_its_line(self, result, tmp_path, text, message):
        path = tmp_path / "pairs.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = blockmix("predict", result, path)
        assert done.exit_code == 2
        assert f"error: {path}, {message}" in done.stderr

    def test_no_pairs_give_an_empty_table(self, result):
        assert blockmix("predict", result, "-", input="").stdout == "node_a\tnode_b\tprobability\n"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
    def test_a_full_disk_is_one_message(self, result):
        done = blockmix("predict", result, "-", "-o", "/dev/full", input="0 1\n")
        assert done.exit_code == 2
        assert "/dev/full: cannot be written (No space left on device)" in done.stderr


class TestEvaluate:
    def test_compares_with_known_communities(self, result, tmp_path):
        truth = tmp_path / "truth.txt.gz"
        groups = ["\t".join(str(a) for a in range(c, c + 8)) for c in (0, 8, 16)]
        truth.write_bytes(gzip.compress("\n".join(groups).encode()))
        record = last_json(
            blockmix("evaluate", result, "--truth", truth, "--json", "--threshold", 0.5).stdout
        )
        assert record.keys() >= {"onmi", "omega", "f1", "n_found", "n_truth", "auc", "perplexity"}
        assert record["f1"] > 0.9
        shown = blockmix("evaluate", result, "--truth", truth)
        assert "ONMI" in shown.stdout

    def test_a_partial_truth_is_compared_on_its_own_nodes(self, result, tmp_path):
        (tmp_path / "truth.txt").write_text("0 1 2 3\n")
        words = ("evaluate", result, "--truth", tmp_path / "truth.txt", "--json")
        assert last_json(blockmix(*words).stdout)["n_nodes"] == 4
        assert last_json(blockmix(*words, "--all-nodes").stdout)["n_nodes"] == 24

    def test_a_partial_truth_may_list_any_nodes(self, result, tmp_path):
        """Its nodes are numbered anew for the comparison: those with large numbers must not be out of range."""
        (tmp_path / "truth.txt").write_text("16 17 18 19 20 21 22 23\n")
        words = ("evaluate", result, "--truth", tmp_path / "truth.txt", "--json", "--threshold", 0.5)
        record = last_json(blockmix(*words).stdout)
        assert (record["n_nodes"], record["f1"]) == (8, 1.0)

    def test_a_run_without_communities_is_refused_with_what_to_do(self, tmp_path):
        rng = np.random.default_rng(1)
        pairs = [(a, b) for a in range(60) for b in range(a) if rng.random() < 0.1]
        (tmp_path / "edges").write_text("".join(f"{a} {b}\n" for a, b in pairs))
        (tmp_path / "truth").write_text("0 1 2\n")
        run = tmp_path / "run"
        assert blockmix("fit", tmp_path / "edges", "-k", 3, "--sweeps", 60, "-q", "-o", run).exit_code == 0
        assert (run / "communities.txt").read_text() == ""
        assert len((run / "no_community.txt").read_text().split()) == 60
        done = blockmix("evaluate", run, "--truth", tmp_path / "truth")
        assert done.exit_code == 2
        assert "no clear communities" in done.stderr
        assert blockmix("evaluate", run, "--truth", tmp_path / "truth", "--complete").exit_code == 0

    def test_labels_that_are_not_in_the_network_are_named(self, result, tmp_path):
        (tmp_path / "truth.txt").write_text("0 1 2 777\n")
        done = blockmix("evaluate", result, "--truth", tmp_path / "truth.txt")
        assert done.exit_code == 0
        assert "'777'" in done.stderr


class TestNetworks:
    @pytest.mark.parametrize("kind", ["planted", "model"])
    def test_simulated_networks_can_be_fitted_and_evaluated(self, tmp_path, kind):
        made = tmp_path / "made"
        words = ("--nodes", 60, "--communities", 3, "--degree", 8, "--seed", 1, "--kind", kind, "-o", made)
        record = last_json(blockmix("simulate", *words, "--json").stdout)
        assert record["nodes"] == 60
        assert blockmix("simulate", *words).exit_code == 2
        blockmix("fit", made / "edges.txt", "-k", 3, "--sweeps", 20, "-q", "-o", made / "run")
        done = blockmix("evaluate", made / "run", "--truth", made / "communities.txt", "--complete")
        assert done.exit_code == 0, done.output

    def test_networks_with_hubs_and_benchmarks_are_made(self, tmp_path):
        hubs = ("-n", 200, "-k", 4, "--degree", 8, "--degrees", "powerlaw", "-o", tmp_path / "hubs")
        assert last_json(blockmix("simulate", *hubs, "--json").stdout)["degrees"] == "powerlaw"
        assert (tmp_path / "hubs" / "popularity.tsv").exists()
        words = ("-n", 300, "--kind", "abcd", "--memberships", 1.5, "--outliers", 9, "-o", tmp_path / "abcd")
        record = last_json(blockmix("simulate", *words, "--json").stdout)
        assert (record["memberships"], record["outliers"], record["noise"]) == (1.5, 9, 0.1)
        assert len((tmp_path / "abcd" / "communities.txt").read_text().splitlines()) == record["communities"]
        done = blockmix("simulate", "-n", 300, "-o", tmp_path / "other")
        assert done.exit_code == 2
        assert "-k" in done.stderr
        assert blockmix("simulate", *words, "-k", 3).exit_code == 2

    def test_the_number_of_communities_is_chosen_for_either_link_model(self, tmp_path):
        made = tmp_path / "made"
        blockmix("simulate", "-n", 120, "-k", 3, "--degree", 10, "--degrees", "powerlaw", "-o", made)
        words = (
            "select-k",
            made / "edges.txt",
            "-g",
            "1,3",
            "--splits",
            1,
            "--time-limit",
            0.3,
            "-q",
            "--json",
        )
        losses = [
            last_json(blockmix(*words, "--model", model).stdout)["candidates"][0]["log_loss"]
            for model in ("assortative", "popularity")
        ]
        # One community for all: only popularities can tell its nodes apart.
        assert losses[1] < losses[0]

    def test_an_option_of_the_other_kind_is_refused(self, tmp_path):
        words = ("-n", 60, "-k", 3, "-o", tmp_path / "made", "--kind", "model", "--mixing", 0.3)
        done = blockmix("simulate", *words)
        assert done.exit_code == 2
        assert "--mixing" in done.stderr

    def test_datasets_are_listed_and_described(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.delenv("BLOCKMIX_DATA", raising=False)
        assert "netscience" in blockmix("datasets").stdout
        assert "1,589 nodes" in blockmix("datasets", "netscience").stdout
        done = blockmix("datasets", "netsience")
        assert done.exit_code == 2
        assert "did you mean netscience?" in done.stderr
        listed = last_json(blockmix("datasets", "--json").stdout)["datasets"]
        assert {"name", "nodes", "edges", "citation", "path"} <= listed[0].keys()


class TestErrors:
    @pytest.mark.parametrize(
        "words",
        [
            ("fit", "nowhere.txt", "-k", 3),
            ("fit", "EDGES", "-k", 0),
            ("fit", "EDGES", "-k", 3, "--sampler", "sicr"),
            ("fit", "EDGES", "-k", 3, "--sweeps", 0),
            ("fit", "EDGES", "-k", 3, "--time-limit", "nan"),
            ("fit", "EDGES", "-k", 3, "--alpha", -1),
            ("fit", "EDGES", "-k", 3, "--seed", -1),
            ("fit", "EDGES", "-k", 3, "--seed", 2**64),
            ("fit", "EDGES", "-k", 3, "--held-out", "nan"),
            ("fit", "EDGES", "-k", 3, "--held-out", 1.5),
            ("fit", "EDGES", "-k", 3, "--threads", 0),
            ("fit", "EDGES", "-k", 3, "--chains", 0),
            ("fit", "EDGES", "-k", 3, "--device", "abacus"),
            ("fit", "EDGES", "-k", "many"),
            ("fit", "dataset:atlantis", "-k", 3),
            ("predict", "nowhere", "EDGES"),
            ("evaluate", "nowhere", "--truth", "EDGES"),
            ("simulate", "-n", 10, "-k", 0, "-o", "made"),
            ("datasets", "--fetch"),
            ("dance",),
        ],
    )
    def test_what_a_user_can_cause_is_a_message_and_status_2(self, edges, words, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        done = blockmix(*[edges if word == "EDGES" else word for word in words])
        assert done.exit_code == 2, done.output
        assert "rror" in done.stderr
        assert "Traceback" not in done.output
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("fit", "nowhere", "--checkpoint-every", 60), "--checkpoint-every) has no effect: there is no folder"),
            (("fit", "nowhere", "--overwrite"), "--overwrite has no effect without -o: name a folder"),
            (("demo", "--overwrite"), "--overwrite has no effect without -o: name a folder"),
            (("fit", "nowhere", "--held-out", 0, "--held-out-kind", "balanced"), "--held-out-kind) has no effect"),
            (("fit", "nowhere", "--set", "neighbors=16"), "neighbors=16 has no effect: it belongs to moves"),
            (("fit", "nowhere", "--sampler", "svi", "--set", "tolerance=0.1"), "tolerance=0.1 has no effect"),
            (("fit", "nowhere", "--threads", 0), "threads must be a whole number of at least 1, not 0"),
            (("fit", "nowhere", "--threads", -2), "threads must be a whole number of at least 1, not -2"),
            (("select-k", "nowhere", "--threads", 0), "threads must be a whole number of at least 1, not 0"),
            (("fit", "nowhere", "--chains", 0), "chains must be a whole number of at least 1, not 0"),
            (("fit", "nowhere", "--sweeps", 5, "--warm-up", 5), "no sample would be taken"),
            (("fit", "nowhere", "--held-out", "nan"), "held_out must be a share of the links"),
            (("watch", "nowhere", "--once", "--every", 2), "--every 2 has no effect with --once"),
            (("export", "nowhere", "net.graphml", "--threshold", 0.1), "--threshold 0.1 has no effect on .graphml"),
        ],
        ids=str,
    )  # fmt: skip
    def test_an_option_that_is_wrong_or_has_no_effect_is_named_before_a_file_is_read(self, words, message):
        done = blockmix(*words)
        assert done.exit_code == 2, done.output
        assert message in done.stderr
        assert "nowhere" not in done.stderr

    def test_a_defect_asks_for_the_traceback(self, edges, monkeypatch):
        def broken(*_, **__):
            raise RuntimeError("left is right")

        monkeypatch.setattr("blockmix.inference.fit.fit_request", broken)
        done = blockmix("fit", edges, "-k", 3)
        assert done.exit_code == 1
        assert "left is right" in done.stderr
        assert "--debug" in done.stderr
        assert "Traceback" not in done.stderr
        assert "Traceback" in blockmix("--debug", "fit", edges, "-k", 3).stderr

    def test_interrupted_before_anything_was_found(self, edges, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr("blockmix.graph.reading.read.read_graph", interrupted)
        done = blockmix("fit", edges, "-k", 3)
        assert done.exit_code == 130
        assert done.stderr.strip() == "interrupted: nothing was kept"


class TestProgram:
    """What only a process of its own can show."""

    def test_help_and_version_load_nothing_heavy(self):
        code = "import sys, blockmix.cli.app; print(sorted({'numpy', 'numba', 'scipy'} & set(sys.modules)))"
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
        assert blockmix("--version").stdout == f"blockmix {bm.__version__}\n"
        assert "Exit status" in blockmix("--help").stdout

    def test_a_wrong_file_is_one_line_and_status_2(self, tmp_path):
        (tmp_path / "bad.txt").write_text("1 2\n3\n")
        run = program("fit", tmp_path / "bad.txt", "-k", 3)
        out, err = run.communicate(timeout=60)
        assert (run.returncode, out) == (2, b"")
        assert err.startswith(b"error: ")
        assert err.count(b"\n") == 1
        assert b"bad.txt, line 2" in err

    @pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
    def test_ctrl_c_keeps_the_result(self, edges, tmp_path):
        folder = tmp_path / "run"
        out, err, status = signalled(
            signal.SIGINT, "fit", edges, "-k", 3, "-o", folder, "--time-limit", 120, "--json"
        )
        assert status == 0, err
        assert b"interrupted after" in err
        assert b"blockmix resume" in err
        assert b"Traceback" not in err
        assert last_json(out.decode())["interrupted"] is True
        assert {path.name for path in folder.iterdir()} >= FILES
        assert bm.load(folder).link_probability([(0, 1)]).shape == (1,)

    @pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
    def test_sigterm_leaves_a_checkpoint_and_status_143(self, edges, tmp_path):
        folder = tmp_path / "run"
        out, err, status = signalled(signal.SIGTERM, "fit", edges, "-k", 3, "-o", folder, "--time-limit", 120)
        assert (status, out) == (143, b"")
        assert (
            err.splitlines()[-1]
            == f"terminated; the run is kept up to its last checkpoint: go on with blockmix resume {folder}".encode()
        )
        assert {path.name for path in folder.iterdir()} == {"checkpoint", "status.json"}
        sweeps = json.loads((folder / "status.json").read_text())["checkpoint_sweep"] + 50
        done = blockmix("resume", folder, "--sweeps", sweeps, "--json")
        assert done.exit_code == 0, done.output
        assert last_json(done.stdout)["resumed"] == 1

    @pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
    def test_without_a_folder_sigterm_keeps_the_result_like_ctrl_c(self, edges):
        out, err, status = signalled(signal.SIGTERM, "fit", edges, "-k", 3, "--time-limit", 120, "--json")
        assert status == 0, err
        assert last_json(out.decode())["interrupted"] is True

    @pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
    def test_a_closed_pipe_ends_in_silence(self, result, tmp_path):
        (tmp_path / "pairs").write_text("0 1\n" * 100_000)
        run = program("predict", result, tmp_path / "pairs")
        run.stdout.close()
        err = run.stderr.read()
        run.wait(timeout=60)
        assert err == b""
        run.stderr.close()


def test_a_setting_is_read_as_the_type_of_its_value_and_the_list_shows_both_forms():
    """Settings that are left out take the value of the form; --set must know their type all the same."""
    from blockmix.cli.settings import parse_settings

    given = [
        "form=paper",
        "start=random",
        "preconditioned=true",
        "strength_share=0.25",
        "bulk_batch=3",
        "step=0.1",
    ]
    assert parse_settings("sgmc-m", "assortative", given) == {
        "form": "paper", "start": "random", "preconditioned": True, "strength_share": 0.25, "bulk_batch": 3,
        "step": 0.1,
    }  # fmt: skip
    assert parse_settings("lmc", "assortative", ["refresh=0", "damping=0"]) == {"refresh": 0, "damping": 0.0}
    shown = CliRunner().invoke(app, ["samplers"]).output
    assert "scales = exact  (form=paper: printed)" in shown
    assert "form = auto\n" in shown
