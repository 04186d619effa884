"""Every number on the screen is in the JSON of the same run, under one name and with the value that is shown."""

import json
import re

import pytest
from typer.testing import CliRunner

from blockmix.cli import summary
from blockmix.cli.app import app

N = r"(-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"


def whole(value):
    return f"{value:,.0f}"


def digits(form):
    return lambda value: format(value, form)


def seconds(value):
    return summary_duration(max(value, 1.0))


def summary_duration(value):
    from blockmix.posterior.structure import duration

    return duration(value).split()[0]


PER_CENT, SHARE = (lambda value: f"{value:.0%}"[:-1]), summary._share
# A sentence of the screen, and for each of its numbers the name in the JSON and how it is written.
SENTENCES = (
    (rf"predicted {N}% better", ("gain_share", PER_CENT)),
    (rf"\(log loss {N} against {N}", ("log_loss", digits(".4g")), ("null_log_loss", digits(".4g"))),
    (
        rf"{N} communit\w+ in {N} nodes and {N} links; {N} nodes? in no clear",
        ("communities_found", whole), ("nodes", whole), ("edges", whole), ("nodes_in_no_community", whole),
    ),
    (
        rf"No clear communities in {N} nodes and {N} links; {N} nodes? in no clear",
        ("nodes", whole), ("edges", whole), ("nodes_in_no_community", whole),
    ),
    (rf"makes at least {N}% of its links", ("threshold", PER_CENT)),
    (rf"with its {N}% interval", ("level", PER_CENT)),
    (rf"\.\.\. and {N} with less evidence", ("more_communities", whole)),
    (rf"{N} nodes? bridges? communities", ("bridge_nodes", whole)),
    (rf"\.\.\. and {N} more", ("more_bridge_nodes", whole)),
    (rf"Predictions of {N} links? and {N} non-links?", ("held_out_links", whole), ("held_out_non_links", whole)),
    (rf"AUC {N}: a link is ranked above a non-link {N}%", ("auc", digits(".3f")), ("auc", PER_CENT)),
    (rf"{N}% where the non-link's nodes", ("auc_matched", PER_CENT)),
    (rf"log loss {N} per pair", ("log_loss", digits(".4g"))),
    (
        rf"density alone it is {N}, by the degrees alone {N}",
        ("density_log_loss", digits(".4g")), ("degree_log_loss", digits(".4g")),
    ),
    (
        rf"average precision {N}, perplexity {N}:",
        ("average_precision", digits(".3f")), ("perplexity", digits(".3f")),
    ),
    (rf"R-hat is at most 1\.05 for all but {N} of the {N} quantities", ("quantities_above_r_hat_limit", whole),
     ("quantities", whole)),
    (rf"R-hat is at most {N} for all {N} quantities", ("r_hat", digits(".2f")), ("quantities", whole)),
    (
        rf"R-hat is above {N} for {N} of the {N} quantities followed, {N} at worst",
        ("r_hat_limit", digits("g")), ("quantities_above_r_hat_limit", whole), ("quantities", whole),
        ("r_hat", digits(".2f")),
    ),
    (
        rf"R-hat is above {N} for {N} of {N} strengths and memberships",
        ("r_hat_limit", digits("g")), ("matched_above_r_hat_limit", whole), ("matched_quantities", whole),
    ),
    (
        rf"Few effective samples: below {N} for {N} of the {N}, {N} at worst",
        ("effective_samples_limit", digits("g")), ("quantities_below_effective_samples_limit", whole),
        ("quantities", whole), ("effective_samples", whole),
    ),
    (
        rf"Effective samples: {N} or more for all but {N}, {N} at worst",
        ("effective_samples_limit", digits("g")), ("quantities_below_effective_samples_limit", whole),
        ("effective_samples", whole),
    ),
    (rf"Effective samples: {N} or more", ("effective_samples", whole)),
    (rf"The {N} chains", ("chains", whole)),
    (rf"Missing: R-hat above {N} for {N}%", ("r_hat_limit", digits("g")), ("share_above_r_hat_limit", PER_CENT)),
    (rf", {N} effective samples", ("effective_samples", whole)),
    (rf"Missing: {N} effective samples", ("effective_samples", whole)),
    (
        rf"takes at least {N} sweeps in all, {N} \w+ more",
        ("sweeps_needed", whole), ("more_seconds_needed", seconds),
    ),
    (
        rf"{N} sweeps \({N} of them warm-up\) of {N} chains in {N} s, seed {N}",
        ("sweeps", whole), ("warm_up", whole), ("chains", whole), ("seconds", digits(".1f")), ("seed", whole),
    ),
    (rf"it had {N} sweeps to make", ("sweeps", whole)),
    # A number of the sentence itself.
    (r"\(chance: 50%\)",),
)  # fmt: skip


def take(screen, values, sentence, *fields):
    """Remove a sentence from the screen wherever it stands, after comparing its numbers with the record."""

    def compare(found):
        for shown, (name, written) in zip(found.groups(), fields, strict=True):
            assert shown == written(values[name]), (found.group(), name, values[name])
        return ""

    return re.sub(sentence, compare, screen)


def take_rows(screen, values):
    """Remove the rows of communities and of nodes between them."""
    for row in values["community_table"][: summary.MOST_COMMUNITIES]:
        strength = " ".join(
            [SHARE(row["strength"]), f"({SHARE(row['strength_lower'])} to {SHARE(row['strength_upper'])})"]
        )
        more = f" and {row['more_members']:,} more" if row["more_members"] else ""
        line = " +".join(
            map(re.escape, [str(row["community"]), whole(row["members"]), strength, whole(row["evidence"])])
        )
        screen, found = re.subn(rf" *{line} +[^\n]*?{re.escape(more)} *\n", "\n", screen)
        assert found == 1, (line, more)
    for bridge in values["bridges"]:
        for entry in bridge["memberships"]:
            text = f"{entry['community']}: {entry['mean']:.0%} ± {entry['sd']:.0%}"
            assert text in screen
            screen = screen.replace(text, "", 1)
    return screen


def take_chains(screen, values):
    """Remove the sentences about chains that do not count the same."""
    out = values["chains_left_out"]
    if out:
        numbers = ", ".join(map(str, out))
        screen, found = re.subn(rf"Chains? {numbers} predicts? held-out pairs worse", "", screen)
        assert found == 1
    for chain, weight in enumerate(values["chain_weights"]):
        screen = re.sub(rf"(?<=[:,]) {chain} {PER_CENT(weight)}%(?=[,.])", "", screen)
    return re.sub(
        rf"background \({N}\)", lambda f: "" if f[1] == f"{values['background']:.2g}" else f[0], screen
    )


def letters(number):
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Sixteen cliques of ten in a ring, of which chains find the same; and a network without structure."""
    import numpy as np

    folder, rng = tmp_path_factory.mktemp("numbers"), np.random.default_rng(3)
    ring = [(a + c, b + c) for c in range(0, 160, 10) for a in range(10) for b in range(a)]
    ring += [(c + i, (c + 10 + i) % 160) for c in range(0, 160, 10) for i in range(4)]
    noise = [(a, b) for a in range(70) for b in range(a) if rng.random() < 0.1]
    for name, pairs in (("ring", ring), ("noise", noise)):
        lines = "".join(f"{letters(a)} {letters(b)}\n" for a, b in pairs)
        (folder / name).write_text(lines)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("ring", "-k", 18, "--sweeps", 240),
        ("ring", "-k", 18, "--sweeps", 40),
        ("noise", "-k", 3, "--sweeps", 120),
    ],
    ids=["many communities", "short run", "no structure"],
)
def test_every_number_on_the_screen_is_in_the_json_under_one_name(networks, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    records = []
    real = summary.print_summary
    monkeypatch.setattr(summary, "print_summary", lambda values: (records.append(values), real(values)))
    name, *options = words
    done = CliRunner().invoke(app, ["fit", str(networks / name), *map(str, options), "--seed", "2", "-q"])
    assert done.exit_code == 0, done.output
    # The record goes through JSON, as --json prints it.
    values = json.loads(json.dumps(records[0], default=float))
    screen = take_rows(done.stdout, values)
    screen = re.sub(r"[ \n]+", " ", screen[: screen.index("Nothing was written")])
    screen = take_chains(screen, values)
    # Why this model was chosen is one text, the same in both.
    assert f"The {values['model']} model was chosen: {values['model_chosen_by']} " in screen
    screen = screen.replace(values["model_chosen_by"], "")
    for sentence, *fields in SENTENCES:
        screen = take(screen, values, sentence, *fields)
    assert not re.search(r"\d", screen), screen
