"""How many communities: the held-out score over a grid of K, with its uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.graph.accept import as_graph
from blockmix.graph.graph import Graph
from blockmix.graph.split import hold_out
from blockmix.inference.fit import DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS, fit_request
from blockmix.inference.plan import whole_number
from blockmix.inference.progress import Callback
from blockmix.inference.request import FitRequest, refuse_misnamed
from blockmix.inference.run_folder.folder import open_folder
from blockmix.posterior.posterior import Posterior
from blockmix.samplers.starts.choose import choose_communities

# The default grid: around the number of parts of the best hard partition.
AROUND = (0.25, 0.5, 1.0, 2.0, 4.0)
# Arguments of `fit` that are fields of a request; all others are settings of the sampler.
_FIELDS = {field.name for field in fields(FitRequest)} - {
    "options",
    "chosen",
    "model_chosen",
    "law_chosen",
    "device_chosen",
    "patient",
}


class Candidate(NamedTuple):
    """One row of a `Selection`: a number of communities and its scores, means over the splits."""

    communities: int
    log_loss: float
    lower: float
    upper: float
    perplexity: float
    auc: float


@dataclass(frozen=True, eq=False)
class Selection:
    """Held-out scores by number of communities (rows) and split (columns). All K see the same splits.

    `best` has the lowest mean log loss; `simplest` is the smallest K that is not worse than that by more than a
    standard error of the difference, which is the one to take unless there is a reason for more.
    """

    communities: NDArray[np.int64]
    log_loss: NDArray[np.float64]
    perplexity: NDArray[np.float64]
    auc: NDArray[np.float64]

    @property
    def best(self) -> int:
        """The number of communities with the lowest mean log loss."""
        return int(self.communities[self._best])

    @property
    def simplest(self) -> int:
        """The smallest number of communities within one standard error of the best."""
        excess = self.log_loss - self.log_loss[self._best]
        near = excess.mean(axis=1) <= self._error(excess)
        return int(self.communities[near].min())

    @property
    def _best(self) -> int:
        return int(np.argmin(self.log_loss.mean(axis=1)))

    @staticmethod
    def _error(values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard error of the mean over splits; zero where there is only one."""
        splits = values.shape[1]
        if splits < 2:
            return np.zeros(len(values))
        return np.asarray(values.std(axis=1, ddof=1) / np.sqrt(splits))

    def interval(self, level: float = 0.9) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a Student interval of the mean log loss over splits: how far another choice of pairs could move it."""
        from scipy.stats import t

        mean, splits = self.log_loss.mean(axis=1), self.log_loss.shape[1]
        half = self._error(self.log_loss) * (t.isf((1.0 - level) / 2.0, splits - 1) if splits > 1 else 0.0)
        return mean - half, mean + half

    def __iter__(self) -> Iterator[Candidate]:
        lower, upper = self.interval()
        for i, k in enumerate(self.communities):
            yield Candidate(
                int(k), float(self.log_loss[i].mean()), float(lower[i]), float(upper[i]),
                float(self.perplexity[i].mean()), float(self.auc[i].mean()),
            )  # fmt: skip

    def __len__(self) -> int:
        return len(self.communities)

    def __repr__(self) -> str:
        lines = ["  communities  log loss (90%)                      perplexity     AUC"]
        for row in self:
            mark = "*" if row.communities == self.simplest else " "
            lines.append(
                f"{mark} {row.communities:>11,}  {row.log_loss:.6f} ({row.lower:.6f} to {row.upper:.6f})"
                f"  {row.perplexity:10.3f}  {row.auc:.4f}"
            )
        return "\n".join(lines)


def select_communities(
    graph: Any,
    grid: Iterable[int] | None = None,
    *,
    splits: int = 3,
    seed: int = 0,
    held_out: float | None = None,
    nodes: Any = None,
    weights: Any = None,
    directed: bool = False,
    bipartite: bool = False,
    on_fit: Callable[[int, int], Any] | None = None,
    **options: Any,
) -> Selection:
    """Fit every K of a grid to the same few splits of the network, and score the predictions of held-out pairs.

    Arguments:
        graph: the network, in any form that `as_graph` takes.
        grid: numbers of communities; by default a quarter to four times the number of parts of the best hard
            partition of the links that no split holds out.
        splits: how many random splits; with two or more the scores have intervals.
        seed: of the splits and fits.
        held_out: share of the links held out in each split.
        nodes: labels of nodes that may have no link, or a table of them, as for `fit`.
        weights, directed, bipartite: what links and nodes are, as for `fit`.
        on_fit: called with (fits done, fits in all) before each fit.
        options: what else `fit` takes, for instance time_limit or sampler. Without limits a fit ends when its score
            has settled and the chains agree, or after 3,000 sweeps.

    >>> import blockmix as bm
    >>> cliques = [(a + c, b + c) for c in range(0, 60, 12) for a in range(12) for b in range(a)]
    >>> select_communities(bm.Graph.from_edges(cliques), [1, 5], splits=2, sweeps=60, chains=1).best
    5
    """
    splits = whole_number("splits", splits, 1)
    refuse_misnamed(options)
    graph = as_graph(graph, nodes=nodes, weights=weights, directed=directed, bipartite=bipartite)
    share = (
        min(DEFAULT_HELD_OUT, MOST_HELD_OUT_LINKS / max(graph.n_edges, 1)) if held_out is None else held_out
    )
    if grid is None:
        grid = _default_grid(_never_held_out(graph, share, splits, seed), seed)
    numbers = _checked_grid(grid)
    found = np.empty((3, len(numbers), splits))
    for split in range(splits):
        data = hold_out(graph, share, seed=seed + split)
        for i, k in enumerate(numbers):
            if on_fit is not None:
                on_fit(split * len(numbers) + i, splits * len(numbers))
            scores = fit_for_score(graph, k, seed=seed + split, held_out=data, **options).scores
            if scores is None:
                raise InputError(
                    "nothing could be held out of this network: it is too small to choose K by score"
                )
            found[:, i, split] = scores.log_loss, scores.perplexity, scores.auc
    return Selection(np.array(numbers), *found)


def fit_for_score(
    graph: Graph,
    communities: int,
    *,
    progress: bool | None = None,
    callback: Callback | None = None,
    **options: Any,
) -> Posterior:
    """Fit as `fit` does; but a run without limits does not wait longer for its chains than its score has use for."""
    asked = {name: options.pop(name) for name in _FIELDS & options.keys()}
    asked |= {name: asked.get(name) or "" for name in ("sampler", "model")}
    request = FitRequest(communities=communities, options=options, patient=False, **asked)
    with open_folder(request.checkpoint) as folder:
        return fit_request(request, graph, folder, progress, callback)


def _never_held_out(graph: Graph, share: float, splits: int, seed: int) -> Graph:
    """Return the network of the links that every split trains on: a grid chosen on it has seen no held-out link."""
    links = []
    for split in range(splits):
        data = hold_out(graph, share, seed=seed + split)
        links.append(data.pairs[data.links])
    left = graph.without_edges(np.unique(np.concatenate(links), axis=0))
    if left.n_edges == 0:
        raise InputError(
            f"each link is held out by one of the {splits} splits: there is none to choose a grid on; name the numbers "
            "of communities (grid), or use fewer splits or a smaller held_out"
        )
    return left


def _default_grid(graph: Graph, seed: int) -> list[int]:
    """Return numbers around that of the best hard partition."""
    parts = choose_communities(graph, seed)
    return [max(1, round(parts * factor)) for factor in AROUND]


def _checked_grid(grid: Iterable[int]) -> list[int]:
    """Return the numbers to try, each once and in order."""
    numbers = sorted({whole_number("communities", k, 1) for k in grid})
    if not numbers:
        raise InputError("the grid is empty: name at least one number of communities")
    return numbers
