"""The link model of `model="auto"`: the one that predicts links set aside from training better.

Links of the training network are set aside once more, in an inner split, so that the held-out score that the user is
shown decides nothing. Both models make a short run on the rest, each of one chain, and the lower log loss (M5) of the
inner pairs wins. On small networks an inner split has few links: several are drawn, and their losses averaged. The
non-links of the loss are many more than those of the split, because a few with a large probability decide their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate import log_loss
from blockmix.graph.split import HeldOut, hidden_rows, hold_out
from blockmix.inference.request import AUTO_MODELS, FitRequest
from blockmix.numerics.workers import Workers
from blockmix.samplers.live import HostChain

# Sweeps of a short run before and after its samples count. Both models together cost 80 sweeps of one chain; fits have
# some hundreds, and on small networks of eight chains.
WARM_UP, SAMPLES = 20, 20
# Share of the training links that an inner split sets aside, at most so many of them.
INNER_SHARE, MOST_INNER = 0.05, 10_000
# Inner splits are drawn until they have so many links together, but not more of them than that.
ENOUGH_LINKS, MOST_SPLITS = 400, 6
# Further non-links that losses are computed on, drawn uniformly from the training network.
MORE_NON_LINKS = 10_000
# Training networks with fewer links are not split once more: the model of the paper is taken.
FEWEST_LINKS = 60


@dataclass(frozen=True)
class ModelChoice:
    """The model chosen, and the log loss of each over the density of the network; none where nothing was compared."""

    model: str
    losses: dict[str, float]

    def __str__(self) -> str:
        """Say which model was chosen and why."""
        if not self.losses:
            return "too few links to compare models: the model of the paper"
        found = ", ".join(f"{name} {loss:.3f}" for name, loss in self.losses.items())
        return f"log loss of links set aside from training, over the density: {found}"


def choose_model(request: FitRequest, data: HeldOut, workers: Workers) -> ModelChoice:
    """Choose between the link models by short runs on inner splits of the training network."""
    graph = data.training
    count = min(round(INNER_SHARE * graph.n_edges), MOST_INNER)
    if graph.n_edges < FEWEST_LINKS or graph.n_pairs - graph.n_edges - data.n_pairs < 2 * count:
        return ModelChoice(AUTO_MODELS[0], {})
    splits = min(MOST_SPLITS, -(-ENOUGH_LINKS // count))
    losses = {
        model: float(np.mean([_loss(request.with_model(model), data, i, workers) for i in range(splits)]))
        for model in AUTO_MODELS
    }
    return ModelChoice(min(losses, key=lambda model: losses[model]), losses)


def more_non_links(data: HeldOut, inner: HeldOut, seed: int) -> NDArray[np.int64]:
    """Draw pairs that are neither links of the training network nor held out, a < b; one may come twice."""
    graph = data.training
    pairs = np.sort(np.random.default_rng([seed, 2]).integers(0, graph.n_nodes, (MORE_NON_LINKS, 2)), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    hidden = np.concatenate((data.pairs, inner.pairs))
    known = np.isin(pairs @ [graph.n_nodes, 1], hidden @ [graph.n_nodes, 1])
    return np.asarray(pairs[~known & ~graph.has_edges(pairs)], dtype=np.int64)


def inner_split(data: HeldOut, seed: int) -> HeldOut:
    """Set links of the training network aside, and non-links; the outer held-out pairs stay hidden as well."""
    graph = data.training
    share = min(INNER_SHARE, MOST_INNER / graph.n_edges)
    inner = hold_out(graph, share, seed=seed)
    # A held-out link of the outer split is no non-link of the training network.
    kept = ~np.isin(inner.pairs @ [graph.n_nodes, 1], data.pairs @ [graph.n_nodes, 1])
    pairs, links = inner.pairs[kept], inner.links[kept]
    hidden = hidden_rows(np.concatenate((pairs, data.pairs)), graph)
    return replace(
        inner, pairs=pairs, links=links, hidden_offsets=hidden[0], hidden_neighbors=hidden[1],
        matched=inner.matched[:0], weights=None if inner.weights is None else inner.weights[kept],
    )  # fmt: skip


def _loss(request: FitRequest, data: HeldOut, number: int, workers: Workers) -> float:
    """Return the log loss of a short run on one inner split, over the density."""
    # Far from the seeds of users' own splits, which start at the seed of the run.
    seed = request.seed + 1_000_003 * (number + 1)
    inner = inner_split(data, seed)
    more = more_non_links(data, inner, seed)
    pairs, links = (
        np.concatenate((inner.pairs, more)),
        np.append(inner.links, np.zeros(len(more), dtype=bool)),
    )
    chain = HostChain.start(request.make_sampler(inner, workers), request.chain_key(number), pairs)
    for sweep in range(WARM_UP):
        chain.advance(True, sweep + 1)
    for sample in range(SAMPLES):
        chain.advance(False, sample + 1)
    return log_loss(np.clip(chain.forecast(), 0.0, 1.0), links, inner.density) / inner.density
