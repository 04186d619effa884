"""By how much the closed form for non-links moves results, estimated from posterior samples.

On networks of more than 2,048 nodes the default sums non-links in closed form (S5), and the chain has nearly, not
exactly, the law of the posterior. Each posterior sample says how far the closed form is from the exact sum there:

- l_a, the exact log T of a node less that in closed form (G4). Weighing samples by e^(l_a) would mend the law, so
  to first order its squared memberships s_a move by Cov(s_a, l_a).
- D_k, the derivative of the log likelihood of non-links with respect to a strength, exact less closed form (S6), and
  H_k, by how much more curved it is. A strength of variance V_k moves by V_k D_k/(1 + V_k H_k), Newton's step with the
  exact curvature: near one the exact sum is much steeper, and V_k D_k alone said five times what was found.

Both are given in posterior standard deviations. What a moved strength does to memberships in turn, and memberships to
strengths, is left out. It holds for chains of any engine: nothing but samples is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.graph.split import hidden_rows
from blockmix.posterior.closed_form.kernels import Space, Table, compare_nodes, work_space
from blockmix.samplers.scir.constants import MOST_EXACT
from blockmix.samplers.scir.options import ScirOptions
from blockmix.tables.layout import Network
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.posterior import Posterior

# Samples looked at, of all chains together; nodes; communities, and members of each in a sample. Fixed draws.
MOST_SAMPLES, MOST_NODES, MOST_COMMUNITIES, MOST_MEMBERS, SEED = 24, 200, 60, 12, 29
# A community of fewer expected members is mostly prior. Fewer samples of a chain say nothing of what varies together.
LEAST_SIZE, FEWEST_SAMPLES = 2.0, 4
# Newton's step divides by the exact curvature over that of the closed form, but by no less than this.
LEAST_CURVATURE = 0.25
# Shifts of more posterior standard deviations than this are worth a warning.
MUCH = 0.25
ADVICE = "Fit with exact=True to avoid it, which takes longer."

Floats = NDArray[np.float64]


class ClosedForm(NamedTuple):
    """Root mean squares, in posterior standard deviations, of the shifts of memberships and of strengths."""

    memberships: float
    strengths: float

    @property
    def much(self) -> bool:
        """Whether one of them is worth a warning."""
        return max(self.memberships, self.strengths) > MUCH

    @property
    def headline(self) -> str:
        """Say by how much results may be off."""
        return (
            f"Non-links are in closed form, which by its estimate moves memberships by {self.memberships:.2f} and "
            f"strengths by {self.strengths:.2f} posterior standard deviations."
        )

    def __str__(self) -> str:
        """Say that, and what to do about it."""
        return f"{self.headline} {ADVICE}"


def uses_closed_form(post: Posterior) -> bool:
    """Return whether the chains had non-links in closed form."""
    facts = post.provenance
    if facts.get("sampler") != "scir" or post.popularity_mean is not None or post.blocks_mean is not None:
        return False
    known = ScirOptions.__dataclass_fields__
    options = ScirOptions(
        **{name: value for name, value in (facts.get("options") or {}).items() if name in known}
    )
    if options.local_move != "indicators":
        return options.non_links == 0
    return not options.exact if options.exact is not None else post.graph.n_nodes > MOST_EXACT


def estimate(post: Posterior) -> ClosedForm | None:
    """Estimate the shifts; None where non-links were not in closed form, or samples are too few."""
    if not uses_closed_form(post):
        return None
    most = MOST_SAMPLES // max(len(post.draws), 1)
    chosen = [(_spread(chain, most), chain) for chain in post.draws if len(chain) >= FEWEST_SAMPLES]
    if not chosen:
        return None
    run = _Run.of(post)
    found = [_of_chain(chain, draws, run) for chain, draws in chosen]
    strengths = np.concatenate([shifts for _, shifts in found])
    return ClosedForm(
        math.sqrt(max(float(np.mean([square for square, _ in found])), 0.0)),
        float(np.sqrt(np.mean(strengths**2))) if len(strengths) else 0.0,
    )


class _Run(NamedTuple):
    """What all chains have in common: nodes looked at, pairs observed, what a non-link counts, work space."""

    nodes: NDArray[np.int64]
    network: Network
    weight: float
    space: Space
    rng: np.random.Generator

    @classmethod
    def of(cls, post: Posterior) -> _Run:
        rng, graph = np.random.default_rng(SEED), post.graph
        linked = np.flatnonzero(post.training_degrees > 0)
        nodes = np.sort(rng.choice(linked, min(MOST_NODES, len(linked)), replace=False)).astype(np.int64)
        # Held-out links are among the links of the network: no non-links in either case.
        pairs = np.empty((0, 2), dtype=np.int64) if post.held_out is None else post.held_out.pairs
        graph.check_links()
        network = Network(graph.offsets, graph.neighbors, *hidden_rows(pairs, graph))
        return cls(nodes, network, _weight_of_non_links(post), work_space(graph.n_nodes), rng)

    def compare(self, table: Table, nodes: NDArray[np.int64], target: NDArray[np.int64]) -> Floats:
        """Compare the sums of some nodes in a sample, as `compare_nodes` does."""
        found = np.zeros((len(nodes), 3))
        compare_nodes(nodes, target, table, self.network, self.space, found)
        return self.weight * found


def _of_chain(
    chain: list[PosteriorSample], draws: Sequence[PosteriorSample], run: _Run
) -> tuple[float, Floats]:
    """Return the mean square of the shifts of memberships in a chain, and the shift of each of its strengths."""
    squared, gaps = np.zeros((2, len(chain), len(run.nodes)))
    values = np.stack([sample.strengths[:-1] for sample in draws]).astype(np.float64)
    communities = _communities(Table.of(chain[0]), run.rng)
    slopes = np.zeros((len(chain), len(communities), 2))
    for i, sample in enumerate(chain):
        table = Table.of(sample)
        entries = np.repeat(np.arange(len(sample.counts)), sample.counts)
        squared[i] = np.bincount(entries, table.weight**2, len(sample.counts))[run.nodes]
        gaps[i] = run.compare(table, run.nodes, np.full(len(run.nodes), -1))[:, 0]
        free = 1.0 - float(sample.strengths[-1])
        slopes[i] = np.array([_slopes(int(k), table, run) for k in communities]) / (free, free * free)
    (slope, curve), spread = slopes.mean(axis=0).T, values.std(axis=0)[communities]
    # Links alone are curved as well: the exact curvature is never less than a part of that of the closed form.
    return _shift_squared(squared, gaps), slope * spread / np.maximum(
        1.0 + spread**2 * curve, LEAST_CURVATURE
    )


def _communities(table: Table, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw communities that have members."""
    sizes = np.add.reduceat(np.append(table.share, 0.0), table.begin[:-1]) * (np.diff(table.begin) > 0)
    large = np.flatnonzero(sizes >= LEAST_SIZE)
    return np.sort(rng.choice(large, min(MOST_COMMUNITIES, len(large)), replace=False))


def _slopes(k: int, table: Table, run: _Run) -> Floats:
    """Estimate D_k, times 1 - delta, and H_k, times its square, from some members of k.

    Pairs are seen from both ends, each counts half.
    """
    members = np.arange(table.begin[k], table.begin[k + 1])
    if not len(members):
        return np.zeros(2)
    entries = run.rng.choice(members, min(MOST_MEMBERS, len(members)), replace=False)
    nodes = table.place[entries].astype(np.int64)
    found = run.compare(table, nodes, np.full(len(nodes), k))[:, 1:]
    return np.asarray(0.5 * len(members) * (table.share[entries] @ found) / len(entries) * (-1.0, 1.0))


def _shift_squared(squared: Floats, gaps: Floats) -> float:
    """Return the mean over nodes of the square of Cov(s_a, l_a)/sd(s_a).

    The covariances of the two halves of the chain are multiplied, so that noise, which they do not share, adds nothing.
    """
    spread, half = squared.std(axis=0), len(squared) // 2
    varies = spread > 1e-6
    if not varies.any():
        return 0.0
    halves = [_covariance(squared[part], gaps[part])[varies] for part in (slice(half), slice(half, None))]
    return float(np.mean(halves[0] * halves[1] / spread[varies] ** 2))


def _covariance(x: Floats, y: Floats) -> Floats:
    """Return the covariance of each column of x with that of y."""
    return np.asarray(((x - x.mean(axis=0)) * (y - y.mean(axis=0))).sum(axis=0) / max(len(x) - 1, 1))


def _spread(chain: Sequence[PosteriorSample], most: int) -> list[PosteriorSample]:
    """Return so many samples of a chain, evenly spread."""
    places = np.unique(np.linspace(0, len(chain) - 1, min(max(most, FEWEST_SAMPLES), len(chain))).astype(int))
    return [chain[i] for i in places]


def _weight_of_non_links(post: Posterior) -> float:
    """Return what a non-link counted beside a link: less than one after a balanced hold-out."""
    held_out, options = post.held_out, post.provenance.get("options") or {}
    if held_out is None or held_out.kind != "balanced" or not options.get("weighted", True):
        return 1.0
    links, non_links = post.graph.n_edges, post.graph.n_pairs - post.graph.n_edges
    hidden = int(np.count_nonzero(held_out.links))
    links_left, non_links_left = links - hidden, non_links - (len(held_out.links) - hidden)
    return links_left / links * non_links / non_links_left if non_links_left > 0 else 1.0
