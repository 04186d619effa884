"""The law of weights that are small whole numbers: counts or amounts, whichever predicts links better.

Both laws predict links, and a wrong one predicts them worse: counts of which some are much larger than the rate of
their pair, as those of synapses are, pull memberships to them. So links of the training network are set aside once
more, in inner splits, and both laws make a short run of one chain on the rest; the held-out pairs that the user is
shown decide nothing. The lower log loss (M5) wins, with many more non-links than links, because a few non-links with
a large probability decide their mean.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blockmix.evaluate import log_loss
from blockmix.graph.split import HeldOut, hidden_rows, hold_out
from blockmix.inference.request import FitRequest
from blockmix.model.hyper import WEIGHT_LAWS
from blockmix.numerics.workers import Workers
from blockmix.samplers.live import HostChain

# Sweeps of a short run before and after its samples count.
WARM_UP, SAMPLES = 20, 20
# Share of the training links that an inner split sets aside, at most so many of them.
INNER_SHARE, MOST_INNER = 0.05, 10_000
# Inner splits are drawn until they have so many links together, but not more of them than that.
ENOUGH_LINKS, MOST_SPLITS = 400, 6
# Further non-links that losses are computed on, drawn uniformly from the training network.
MORE_NON_LINKS = 10_000
# Training networks with fewer links are not split once more: counts are taken.
FEWEST_LINKS = 60


def choose_law(request: FitRequest, data: HeldOut, workers: Workers) -> FitRequest:
    """Return the request with the law of the weights, and why it was chosen."""
    graph = data.training
    count = min(round(INNER_SHARE * graph.n_edges), MOST_INNER)
    if graph.n_edges < FEWEST_LINKS or graph.n_pairs - graph.n_edges - data.n_pairs < 2 * count:
        return replace(request, weight_law=WEIGHT_LAWS[0], law_chosen="too few links to compare laws")
    splits = min(MOST_SPLITS, -(-ENOUGH_LINKS // count))
    losses = {}
    for law in WEIGHT_LAWS:
        asked = replace(request, weight_law=law)
        losses[law] = float(np.mean([_loss(asked, data, i, workers) for i in range(splits)]))
    found = ", ".join(f"{law} {loss:.3f}" for law, loss in losses.items())
    reason = f"log loss of links set aside from training, over the density: {found}"
    return replace(request, weight_law=min(losses, key=lambda law: losses[law]), law_chosen=reason)


def inner_split(data: HeldOut, seed: int) -> HeldOut:
    """Set links of the training network aside, and non-links; the outer held-out pairs stay hidden as well."""
    graph = data.training
    inner = hold_out(graph, min(INNER_SHARE, MOST_INNER / graph.n_edges), seed=seed)
    # A held-out link of the outer split is no non-link of the training network.
    kept = ~np.isin(inner.pairs @ [graph.n_nodes, 1], data.pairs @ [graph.n_nodes, 1])
    pairs, links = inner.pairs[kept], inner.links[kept]
    hidden = hidden_rows(np.concatenate((pairs, data.pairs)), graph)
    return replace(
        inner, pairs=pairs, links=links, hidden_offsets=hidden[0], hidden_neighbors=hidden[1],
        matched=inner.matched[:0], weights=None,
    )  # fmt: skip


def more_non_links(data: HeldOut, inner: HeldOut, seed: int) -> NDArray[np.int64]:
    """Draw pairs that are neither links of the training network nor held out, a < b; one may come twice."""
    graph = data.training
    pairs = np.sort(np.random.default_rng([seed, 2]).integers(0, graph.n_nodes, (MORE_NON_LINKS, 2)), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    hidden = np.concatenate((data.pairs, inner.pairs))
    known = np.isin(pairs @ [graph.n_nodes, 1], hidden @ [graph.n_nodes, 1])
    return np.asarray(pairs[~known & ~graph.has_edges(pairs)], dtype=np.int64)


def _loss(request: FitRequest, data: HeldOut, number: int, workers: Workers) -> float:
    """Return the log loss of a short run on one inner split, over the density."""
    # Far from the seeds of users' own splits, which start at the seed of the run.
    seed = request.seed + 1_000_003 * (number + 1)
    inner = inner_split(data, seed)
    more = more_non_links(data, inner, seed)
    pairs, none = np.concatenate((inner.pairs, more)), np.zeros(len(more), dtype=bool)
    chain = HostChain.start(request.make_sampler(inner, workers), request.chain_key(number), pairs)
    for sweep in range(WARM_UP):
        chain.advance(True, sweep + 1)
    for sample in range(SAMPLES):
        chain.advance(False, sample + 1)
    links = np.append(inner.links, none)
    return log_loss(np.clip(chain.forecast(), 0.0, 1.0), links, inner.density) / inner.density
