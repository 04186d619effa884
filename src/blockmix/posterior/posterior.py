"""The result of a fit: overlapping memberships with uncertainty, predictions, scores, provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.evaluate import Scores, score
from blockmix.graph.graph import Graph
from blockmix.graph.labels import Label
from blockmix.posterior.answers.methods import Answers
from blockmix.posterior.covers.complete import complete_cover, sure_members
from blockmix.posterior.evidence.compute import Evidence, evidence_of
from blockmix.posterior.evidence.parts import Memberships
from blockmix.posterior.export.methods import Exports
from blockmix.posterior.predictive.pairs import Predictions
from blockmix.posterior.sample_intervals import ENOUGH_SAMPLES, effective_number, sample_interval
from blockmix.posterior.views import (
    Concentration,
    MembershipTable,
    PopularityTable,
    StrengthTable,
    beta_interval,
    gamma_interval,
)
from blockmix.tables.samples import PosteriorSample

if TYPE_CHECKING:
    from blockmix.posterior.diagnostics import DiagnosticsTable
    from blockmix.posterior.predictive.checks import PredictiveChecks
    from blockmix.report.write import InlineReport


@dataclass(frozen=True, eq=False)
class WeightPredictions:
    """The weights of held-out pairs, 0 of non-links, the density predicted for each, and the weight expected.

    The density is a probability where weights are counts, and of a non-link that of no link.
    """

    weight: NDArray[np.float64]
    density: NDArray[np.float64]
    expected: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOutPairs:
    """The pairs that were held out, whether they are links, and the probability predicted for each.

    `matched` are non-links of the training network, with ends drawn in proportion to their number of links.
    """

    pairs: NDArray[np.int64]
    links: NDArray[np.bool_]
    probability: NDArray[np.float64]
    density: float
    kind: str
    fraction: float
    matched: NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    matched_probability: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    weights: WeightPredictions | None = None

    @cached_property
    def scores(self) -> Scores:
        """Perplexity, log loss, AUC (against uniform and matched non-links) and average precision."""
        return score(self.probability, self.links, self.density, self.matched_probability)


@dataclass(frozen=True, eq=False)
class Posterior(Answers, Predictions, Exports):
    """The posterior, summarised. Communities are numbered by their `evidence`, 0 has the most.

    `offsets`, `community`, `mean`, `sd` are the memberships in compressed rows, largest first; `draws` are
    posterior samples of each chain, kept for predictions; `trace` has scores and scalars over the run. In the general
    model `blocks_mean` and `blocks_sd` are the K x K strengths; the strengths are then their diagonal. In the
    popularity model `popularity_mean` and `popularity_sd` are those of every node; a strength is then that between two
    nodes of popularity one. Where evidence is not defined, communities are numbered by expected size.
    """

    graph: Graph
    offsets: NDArray[np.int64]
    community: NDArray[np.int32]
    mean: NDArray[np.float32]
    sd: NDArray[np.float32]
    sizes: NDArray[np.float64]
    strength_mean: NDArray[np.float64]
    strength_sd: NDArray[np.float64]
    background_mean: float
    background_sd: float
    numbers: NDArray[np.int64]
    draws: tuple[tuple[PosteriorSample, ...], ...]
    trace: dict[str, NDArray[Any]]
    held_out: HeldOutPairs | None
    provenance: dict[str, Any]
    blocks_mean: NDArray[np.float64] | None = None
    blocks_sd: NDArray[np.float64] | None = None
    popularity_mean: NDArray[np.float32] | None = None
    popularity_sd: NDArray[np.float32] | None = None

    @property
    def n_communities(self) -> int:
        """Number of communities K the model was given; not all of them need be in use."""
        return len(self.sizes)

    def memberships(self, *, threshold: float = 0.0, level: float = 0.9) -> MembershipTable:
        """Return every membership whose mean is at least `threshold`, with its credible interval.

        Memberships below 0.01 are not kept. `level` is the probability inside (lower, upper).
        """
        _check_share("threshold", threshold)
        _check_level(level)
        nodes = np.repeat(np.arange(self.graph.n_nodes), np.diff(self.offsets))
        keep = self.mean >= threshold
        mean, sd = self.mean[keep], self.sd[keep]
        lower, upper = beta_interval(mean, sd, level)
        labels = self.graph.labels
        return MembershipTable(labels.take(nodes[keep]), self.community[keep], mean, sd, lower, upper)

    def communities(
        self, threshold: float = 0.1, *, min_size: int = 2, clear: bool = True, complete: bool = False
    ) -> dict[int, list[Label]]:
        """Return overlapping communities in your own labels: number -> members, strongest member first.

        A node belongs to every community in which its membership is more likely than not at least `threshold`, and
        to the one it is in most if its mean membership there reaches `threshold`. Communities with fewer than
        `min_size` members are left out, and those whose `evidence` is not above zero: a network without communities
        has such ones too. `clear=False` returns them as well. `unclear_nodes` has the nodes that are in none.

        With `complete` every node that has a link is in a community, and every community is connected, as other
        programs expect (`to_cdlib`): communities need no evidence, and parts that no link joins are communities of
        their own, numbered from `n_communities` on. The threshold is then a share of a node's links: a second
        membership has more than one link, and of all such covers the one is returned that agrees best with the
        posterior samples, by expected F1 (M19). In the general model members need not be linked: there it changes
        nothing.
        """
        labels = self.graph.labels
        covers = self.covers(threshold, min_size=min_size, clear=clear, complete=complete)
        return {k: labels.take(nodes) for k, nodes in covers.items()}

    def covers(
        self, threshold: float = 0.1, *, min_size: int = 2, clear: bool = True, complete: bool = False
    ) -> dict[int, NDArray[np.int64]]:
        """Return the same as `communities` with node numbers instead of labels."""
        _check_share("threshold", threshold)
        chosen = complete_cover if complete and self.blocks_mean is None else sure_members
        nodes, community, mean = chosen(self, threshold)
        if clear and not complete:
            keep = self.clear[community]
            nodes, community, mean = nodes[keep], community[keep], mean[keep]
        order = np.lexsort((nodes, -mean, community))
        numbers, begins = np.unique(community[order], return_index=True)
        members = np.split(nodes[order], begins[1:]) if len(numbers) else []
        return {int(k): m for k, m in zip(numbers, members, strict=True) if len(m) >= min_size}

    def unclear_nodes(self, threshold: float = 0.1) -> list[Label]:
        """Return the nodes that `communities` lists nowhere: those in no clear community."""
        return self.graph.labels.take(self.unclear(threshold))

    def unclear(self, threshold: float = 0.1) -> NDArray[np.int64]:
        """Return the same as `unclear_nodes` with node numbers instead of labels."""
        listed = np.zeros(self.graph.n_nodes, dtype=bool)
        for members in self.covers(threshold).values():
            listed[members] = True
        return np.flatnonzero(~listed)

    @property
    def concentration(self) -> Concentration | None:
        """K alpha over the sampling sweeps of the trace, all chains together; None where it was not learned."""
        values = self.trace.get("concentration")
        if values is None or bool(np.all(self.trace["warm_up"])):
            return None
        sampled = np.asarray(values, dtype=np.float64)[~np.asarray(self.trace["warm_up"], dtype=bool)]
        return Concentration(float(sampled.mean()), float(sampled.std()))

    @property
    def evidence(self) -> NDArray[np.float64]:
        """What each community adds to the log likelihood of the network, less what its memberships cost to describe.

        In nats (M14). NaN in the general model, where a community need not be linked within, where weights of links
        were fitted, and in networks of two sides: (M14) is the likelihood of neither.
        """
        return self._evidence.communities

    @property
    def total_evidence(self) -> float:
        """What the communities with evidence add together to what is known without them, less what they cost.

        Over the density alone (M14), with popularities over these alone (M20). Where that is not above zero and the
        held-out pairs give odds of 1,000 or more for the communities, the logarithm of these odds over 1,000 (M21).
        """
        return self._evidence.together

    @property
    def evidence_by(self) -> str:
        """What memberships must pay for: "description" (M14), (M20), or "prediction" of held-out pairs (M21)."""
        return self._evidence.by

    @cached_property
    def _evidence(self) -> Evidence:
        table = Memberships(self.offsets, self.community, self.mean)
        training, pairs = self.graph, np.empty((0, 2), dtype=np.int64)
        if self.held_out is not None:
            pairs = self.held_out.pairs
            training = self.graph.without_edges(pairs[self.held_out.links])
        strengths = np.append(self.strength_mean, self.background_mean)
        if self.blocks_mean is not None:
            strengths = self.blocks_mean
        return evidence_of(table, strengths, self.popularity_mean, training, pairs, lambda: self.null)

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Which communities have evidence above zero, where all together have too; all where it is not defined."""
        return np.asarray(np.isnan(self.evidence) | ((self.evidence > 0.0) & (self.total_evidence > 0.0)))

    @property
    def chain_weights(self) -> NDArray[np.float64]:
        """How much each chain counts in all means and predictions; they sum to one (`blockmix.posterior.pooling`)."""
        weights = (self.provenance.get("pool") or {}).get("weights")
        chains = len(self.draws)
        return (
            np.full(chains, 1.0 / max(chains, 1))
            if weights is None
            else np.asarray(weights, dtype=np.float64)
        )

    def strengths(self, *, level: float = 0.9) -> StrengthTable:
        """Return expected size and strength of every community, with its credible interval.

        Where 100 posterior samples or more are kept an interval is that of the samples, and else that of the Beta law
        with mean and sd.
        """
        _check_level(level)
        lower, upper = self._strength_interval(level)
        numbers = np.arange(self.n_communities)
        return StrengthTable(numbers, self.sizes, self.strength_mean, self.strength_sd, lower, upper)

    def _strength_interval(self, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of the credible intervals of all strengths."""
        draws, weights = self.strength_draws, self.draw_weights
        moments = self.strength_mean, self.strength_sd
        # An approximation is its last state: the samples kept are of earlier ones too, and its law is a Beta law.
        sampled = self.provenance.get("samples", len(weights)) >= len(weights)
        if not sampled or effective_number(weights) < ENOUGH_SAMPLES:
            return beta_interval(*moments, level)
        counted = weights > 0.0
        return sample_interval(np.concatenate(draws)[counted], weights[counted], *moments, level)

    def popularity(self, *, level: float = 0.9) -> PopularityTable:
        """Return the popularity of every node, with its credible interval: links relative to those of its communities.

        Its prior has mean one. Twice the popularity is about twice the links, other things being equal.
        """
        _check_level(level)
        if self.popularity_mean is None or self.popularity_sd is None:
            raise InputError('only the popularity model has popularities: fit with model="popularity"')
        lower, upper = gamma_interval(self.popularity_mean, self.popularity_sd, level)
        return PopularityTable(
            list(self.graph.labels), self.popularity_mean, self.popularity_sd, lower, upper
        )

    @property
    def strength_draws(self) -> list[NDArray[np.float32]]:
        """For every chain the strengths of the samples kept: an array of samples x communities."""
        found = []
        for chain, numbers in zip(self.draws, self.numbers, strict=True):
            values = np.empty((len(chain), self.n_communities), dtype=np.float32)
            for i, sample in enumerate(chain):
                general = sample.strengths.ndim == 2
                values[i, numbers] = np.diag(sample.strengths) if general else sample.probabilities[:-1]
            found.append(values)
        return found

    @property
    def draw_weights(self) -> NDArray[np.float64]:
        """How much each sample kept counts, one chain after the other; those of a chain share its weight."""
        shares = zip(self.draws, self.chain_weights, strict=True)
        return np.concatenate(
            [np.empty(0), *(np.full(len(chain), weight / max(len(chain), 1)) for chain, weight in shares)]
        )

    def diagnostics(self) -> DiagnosticsTable:
        """Check whether chains agree: R-hat, effective sample size and Monte Carlo error, with a `verdict` in words.

        The verdict rests on quantities that do not depend on how communities are numbered: log likelihood (of networks
        of more than 6,000 pairs of nodes an estimate from a fixed sample of them), background, held-out log loss, link
        probabilities of held-out and sampled pairs, co-memberships, sorted sizes and strengths. Strengths and
        memberships of communities matched between chains are in the table beside them.
        """
        return self._diagnostics

    def predictive_checks(self, *, replicates: int = 199, seed: int = 0) -> PredictiveChecks:
        """Compare the network with networks drawn from the posterior: degrees, clustering, ranking at equal degrees.

        `replicates` networks are drawn, of large ones the links of some nodes alone (M17). `verdict` says in words
        what of the network the model does not explain.
        """
        from blockmix.posterior.predictive.checks import predictive_checks

        return predictive_checks(self, replicates, seed)

    @cached_property
    def _diagnostics(self) -> DiagnosticsTable:
        from blockmix.posterior.diagnostics import diagnostics

        return diagnostics(self)

    @overload
    def report(self, path: None = None, **options: Any) -> InlineReport: ...

    @overload
    def report(self, path: str | Path, **options: Any) -> Path: ...

    def report(self, path: str | Path | None = None, **options: Any) -> Path | InlineReport:
        """Write one HTML file: network, communities, diagnostics; without a path, show it in the notebook.

        Options are `title`, `threshold`, `level`, `seed` of the layout, and in a notebook `height` in pixels.
        """
        if path is None:
            from blockmix.report.write import inline_report

            return inline_report(self, **options)
        from blockmix.report.write import write_report

        return write_report(self, path, **options)

    def save(self, path: str | Path) -> None:
        """Write everything to a folder, in arrays that can be memory-mapped and a manifest."""
        from blockmix.posterior.storage import save_posterior

        save_posterior(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Posterior:
        """Read a folder that `save` wrote."""
        from blockmix.posterior.storage import load_posterior

        return load_posterior(Path(path))

    def __repr__(self) -> str:
        from blockmix.posterior.structure import in_words

        return f"<{in_words(self)}>"

    def _repr_html_(self) -> str:
        from blockmix.posterior.structure import posterior_html

        return posterior_html(self)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level must lie strictly between 0 and 1, not {level!r}")


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"{name} must lie between 0 and 1, not {value!r}")
