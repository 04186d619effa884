"""Coverage of credible intervals on networks drawn from the default prior, with its standard errors.

    python benchmarks/coverage.py --networks 300
    python benchmarks/coverage.py --model popularity --networks 300 --json coverage.json
    python benchmarks/coverage.py --nodes 60 --communities 3 sampler=cgs held_out=0 sweeps=5000

Parameters and a network are drawn from the prior that a user gets who gives nothing but the number of communities;
`blockmix.fit` is run on all pairs, with its defaults or with the arguments NAME=VALUE. For each quantity and each
level the share of central intervals that hold the truth is printed. It must be the level, whatever the networks are.

The first rows come from the posterior samples kept, and do not depend on how communities are numbered: squared
memberships (of every node), overlaps (of disjoint pairs of nodes), strengths in increasing order, background, link
probabilities (of disjoint pairs), popularities. Of values equal to the truth, such as overlaps of nearly zero, a
random number counts as below it, so that an exact posterior covers exactly at the level. The last rows, "table", are
the intervals of `Posterior.memberships` and `Posterior.strengths`, of communities that were matched to the true ones by
the memberships they share: promised by no theorem, as the former are Beta distributions with the moments of the
posterior, and the matching is by the truth. Beside the latter, quantiles of samples, stand Beta distributions too, with
the difference on the same networks. Errors are standard errors over networks. Ctrl-C ends the run with the networks
that there are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import blockmix as bm
from blockmix.model import Model
from blockmix.posterior.merge import match_labels
from blockmix.posterior.views import beta_interval

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "calibration"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import harness
from calibration import value_of

LEVELS = (0.5, 0.8, 0.9, 0.95)
# Memberships and communities of the tables are chosen by the posterior alone, so that the choice changes no coverage.
LEAST_MEAN, LEAST_MEMBERS = 0.05, 5.0
Floats = NDArray[np.float64]


def quantities(found: harness.Parameters) -> dict[str, Floats]:
    """Compute what does not depend on how communities are numbered; each an array of one or more values."""
    memberships, strengths, background, popularity, *_ = found
    first, second = memberships[:-1:2], memberships[1::2]
    low, high = harness.RESOLUTION, 1.0 - harness.RESOLUTION
    if popularity is None:
        links = background + (first * second) @ (strengths - background)
    else:
        r = popularity[: 2 * len(first)]
        links = -np.expm1(-(background + (first * second) @ strengths) * r[::2] * r[1::2])
    values = {
        "squared memberships": np.clip((memberships**2).sum(axis=1), low, high),
        "overlaps": np.clip((first * second).sum(axis=1), low, high),
        "strengths": np.sort(strengths),
        "background": np.array([background]),
        "link probabilities": links,
    }
    return values if popularity is None else values | {"popularities": popularity}


def places(truth: Floats, samples: Floats, rng: np.random.Generator) -> Floats:
    """Return where each truth lies among its samples (samples x values), as a share; uniform if they are exact."""
    below, ties = (samples < truth).sum(axis=0), (samples == truth).sum(axis=0)
    rank = below + rng.integers(0, ties + 1)
    return np.asarray((rank + rng.random(len(truth))) / (len(samples) + 1))


def inside(place: Floats, level: float) -> float:
    """Return the share of central intervals that hold the truth."""
    return float(((place >= (1 - level) / 2) & (place < (1 + level) / 2)).mean())


def of_tables(post: bm.Posterior, truth: harness.Parameters) -> dict[tuple[str, float], float]:
    """Return the coverage of the intervals of the tables, communities matched to the true ones."""
    mean = sp.csr_matrix((post.mean, post.community, post.offsets), shape=truth.memberships.shape)
    number = match_labels(sp.csr_matrix(truth.memberships), mean)
    strengths = truth.strengths if truth.popularity is None else -np.expm1(-truth.strengths)
    used, found = post.sizes >= LEAST_MEMBERS, {}
    for level in LEVELS:
        table = post.memberships(threshold=LEAST_MEAN, level=level)
        values = truth.memberships[np.array(table.node), number[table.community]]
        found["table: memberships", level] = float(((table.lower <= values) & (values <= table.upper)).mean())
        if not used.any():
            continue
        samples = post.strengths(level=level)
        shares = [
            float(((low <= strengths[number]) & (strengths[number] <= high))[used].mean())
            for low, high in (
                (samples.lower, samples.upper),
                beta_interval(post.strength_mean, post.strength_sd, level),
            )
        ]
        found["table: strengths", level] = shares[0]
        found["table: strengths, by Beta laws", level] = shares[1]
        found["table: Beta laws less samples", level] = shares[1] - shares[0]
    return found


def one_network(
    setup: harness.Setup, rng: np.random.Generator, number: int, arguments: dict[str, Any]
) -> tuple[dict[tuple[str, float], float], bool]:
    """Draw parameters and a network, fit it; return the shares covered at each level, and whether the chains agree."""
    linked = np.zeros(1, dtype=bool)
    while not linked.any():
        truth = harness.draw_parameters(setup, rng)
        linked = harness.simulate(truth, rng)
    model = setup.model
    post = bm.fit(
        harness.graph_of(linked, setup.nodes), model.communities, model=model.kind, seed=number, progress=False,
        **arguments,
    )  # fmt: skip
    if post.provenance["interrupted"]:
        raise KeyboardInterrupt
    samples = [quantities(harness.unpack(draw, model.communities)) for chain in post.draws for draw in chain]
    found = of_tables(post, truth)
    for name, value in quantities(truth).items():
        place = places(value, np.stack([sample[name] for sample in samples]), rng)
        found |= {(name, level): inside(place, level) for level in LEVELS}
    return found, not post.diagnostics().disagree


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("arguments", nargs="*", type=value_of, metavar="NAME=VALUE")
    parser.add_argument("--model", choices=("assortative", "popularity"), default="assortative")
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--communities", type=int, default=3)
    parser.add_argument("--networks", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    model = Model(args.communities, kind=args.model)
    setup, rng = harness.Setup("scir", args.nodes, model), np.random.default_rng(args.seed)
    shares: dict[bool, dict[tuple[str, float], list[float]]] = {
        agree: defaultdict(list) for agree in (True, False)
    }
    began, agreed = time.perf_counter(), 0
    for number in range(args.networks):
        try:
            found, agree = one_network(setup, rng, number, dict(args.arguments))
        except KeyboardInterrupt:
            args.networks = number
            break
        agreed += agree
        for key, share in found.items():
            shares[agree][key].append(share)
        print(f"\r{number + 1} networks", end="", file=sys.stderr, flush=True)
    print(
        f"\r{args.model}, {args.networks} networks of {args.nodes} nodes, {args.communities} communities, "
        f"{dict(args.arguments) or 'default arguments'}: {time.perf_counter() - began:.0f} s"
    )
    every = {key: shares[True][key] + shares[False][key] for key in shares[True] | shares[False]}
    tables = {
        "all networks": table_of(every),
        f"{agreed} networks in which the chains agree": table_of(shares[True]),
        f"{args.networks - agreed} networks in which they do not": table_of(shares[False]),
    }
    for title, table in tables.items():
        print(f"{title + ', covered in %':50}" + "".join(f"{level:>12.0%}" for level in LEVELS))
        for name, row in table.items():
            cells = (f"{100 * mean:6.1f} ± {100 * error:3.1f}" for mean, error in row.values())
            print(f"  {name:48}" + "".join(cells))
    if args.json:
        facts = {key: str(value) for key, value in vars(args).items()}
        args.json.write_text(json.dumps({"arguments": facts, "coverage": tables}, indent=1) + "\n", "utf-8")


def table_of(shares: dict[tuple[str, float], list[float]]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return mean and standard error over networks by quantity and level; those of the tables come last."""
    table: dict[str, dict[str, tuple[float, float]]] = {}
    for name in sorted(dict.fromkeys(key[0] for key in shares), key=lambda name: name.startswith("table")):
        values = {level: np.array(shares[name, level]) for level in LEVELS}
        if len(values[LEVELS[0]]) > 1:
            table[name] = {
                f"{level:g}": (float(v.mean()), float(v.std(ddof=1) / np.sqrt(len(v))))
                for level, v in values.items()
            }
    return table


if __name__ == "__main__":
    main()
