"""Networks drawn from the model itself, with the truth they were drawn from."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError
from blockmix.generators.draw import (
    STREAM_STRENGTHS,
    dirichlet_memberships,
    draw_links,
    expected_links,
    pairs_inside,
    stream,
)
from blockmix.generators.popular import (
    Degrees,
    WeightLaw,
    check_degrees,
    check_weights,
    draw_popular_links,
    draw_popularity,
    draw_sizes,
    rates_for_degree,
    with_popularity,
)
from blockmix.graph.graph import Graph
from blockmix.graph.sides.sides import plain_ends

BACKGROUND_SHARE = 0.1
_SMALLEST_STRENGTH, _LARGEST_STRENGTH = 1e-12, 1.0 - 1e-9
_LINES_PER_WRITE = 1 << 16


@dataclass(frozen=True, eq=False)
class Simulated:
    """A network drawn from the model, and the truth behind it.

    `memberships` is a scipy CSR matrix, nodes by communities, rows summing to 1; `strengths` are the link
    probabilities inside the communities and `background` is the one between different communities.
    `parameters` holds the arguments of the call, so that the same call gives the same network. `popularity` is that
    of every node where nodes differ (DC1); strengths are then those between nodes of popularity one.
    """

    graph: Graph
    memberships: Any
    strengths: NDArray[np.float64]
    background: float
    parameters: dict[str, Any]
    popularity: NDArray[np.float64] | None = field(default=None, kw_only=True)

    def communities(self, threshold: float = 0.1) -> list[NDArray[np.int64]]:
        """Return for every community the nodes with a membership of at least `threshold` (may be empty)."""
        columns = self.memberships.tocsc()
        strong = columns.data >= threshold
        pieces = np.split(np.arange(len(strong)), columns.indptr[1:-1])
        return [np.sort(columns.indices[piece[strong[piece]]]).astype(np.int64) for piece in pieces]

    @property
    def true_covers(self) -> list[NDArray[np.int64]]:
        """The covers that `save` writes as the truth."""
        return self.communities()

    def save(self, folder: str | Path, *, compress: bool = False, overwrite: bool = False) -> Path:
        """Write the network and its truth into a folder and return the folder.

        `edges.txt` (`.gz` with `compress`) holds one link per line, with its weight if it has one,
        `isolated_nodes.txt` the nodes without a link if there are any, `communities.txt` one community per line (node
        labels separated by tabs), `memberships.tsv` node, community and weight, `popularity.tsv` node and popularity
        where nodes differ, `parameters.json` the call and the parameters drawn. Links of a directed network are those
        from the first to the second node of a line; in the other files its nodes have their role behind them.
        """
        folder = Path(folder)
        _claim(folder, overwrite)
        suffix = ".gz" if compress else ""
        edges, sides = self.graph.edges(), self.graph.sides
        nodes = self.graph.n_nodes // 2 if self.graph.directed else self.graph.n_nodes
        title = f"# nodes {nodes} links {self.graph.n_edges}"
        listed = edges if sides is None else np.column_stack([*map(np.array, plain_ends(self.graph, edges))])
        lines = (f"{a} {b}" for a, b in _rows(listed))
        if self.graph.weights is not None:
            values = self.graph.weights_of(edges).tolist()
            lines = (f"{line} {value:.17g}" for line, value in zip(lines, values, strict=True))
        _write(folder / f"edges.txt{suffix}", lines, title)
        alone = np.flatnonzero(self.graph.degrees == 0)
        if sides is not None:
            alone = np.intersect1d(alone, alone - sides.first)
        names = self.graph.labels
        if len(alone):
            _write(folder / "isolated_nodes.txt", (str(node) for node in alone))
        covers = (cover for cover in self.true_covers if len(cover))
        _write(folder / "communities.txt", ("\t".join(map(str, names.take(cover))) for cover in covers))
        _write(folder / "memberships.tsv", self._membership_lines(), "node\tcommunity\tweight")
        if self.popularity is not None:
            lines = (f"{a}\t{r:.7g}" for a, r in zip(names, self.popularity.tolist(), strict=True))
            _write(folder / "popularity.tsv", lines, "node\tpopularity")
        facts = {**self.parameters, "background": self.background, "strengths": self.strengths.tolist()}
        (folder / "parameters.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        return folder

    def _membership_lines(self) -> Iterator[str]:
        matrix = self.memberships
        owner = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        for first in range(0, len(owner), _LINES_PER_WRITE):
            part = slice(first, first + _LINES_PER_WRITE)
            lists = (
                self.graph.labels.take(owner[part]),
                matrix.indices[part].tolist(),
                matrix.data[part].tolist(),
            )
            yield from (f"{a}\t{k}\t{w:.7g}" for a, k, w in zip(*lists, strict=True))


def simulate(
    nodes: int,
    communities: int,
    *,
    degree: float | None,
    alpha: float | None = None,
    eta: tuple[float, float] = (5.0, 5.0),
    background: float | None = None,
    cut: float = 1e-4,
    degrees: Degrees = "equal",
    rho: float = 1.0,
    weights: WeightLaw | None = None,
    unit_shape: float = 1.0,
    seed: int = 0,
    threads: int | None = None,
) -> Simulated:
    """Draw a network from the assortative mixed-membership blockmodel, with or without popularities.

    Memberships are Dirichlet(alpha), strengths Beta(eta[0], eta[1]), and every pair is linked independently
    with the probability (M1), or with popularities (DC1). Time and memory are proportional to nodes plus links.

    Args:
        nodes: number of nodes.
        communities: number of communities K.
        degree: expected average degree. The Beta draws b_k then become 1 - (1 - b_k)^s with the one exponent
            s that makes the expected number of links exactly nodes * degree / 2, given the memberships (the
            order of the strengths is kept, and Beta(1, c) stays Beta(1, c / s)). `None` leaves the draws as
            they are: a draw from the prior, as simulation-based calibration needs it.
        alpha: concentration of the memberships; 1 / communities when not given.
        eta: parameters of the Beta law of the strengths.
        background: probability of a link between nodes acting in different communities; a tenth of the
            density when not given.
        cut: memberships are left out once less than this share of a node is left (0 keeps them all).
        degrees: "equal": all nodes have the same popularity. "gamma": popularities from the prior (DC2) of the
            popularity model, Gamma(rho, rho), and rates Gamma(eta[0], eta[1]); "powerlaw": their density falls as
            r^-2.5 over a range of 200. With popularities `degree` is met to about a percent, by one factor of all
            rates.
        rho: the shape of "gamma": the smaller, the more unequal nodes are.
        weights: with popularities, links get weights: "counts" are Poisson (DC12); "amounts" are as many units, each
            of a Gamma size with mean one (DC13).
        unit_shape: the shape of that Gamma law: the smaller, the more amounts differ.
        seed: the same seed and arguments give the same network, whatever the number of threads.
        threads: number of threads; all cores when not given.

    Example:
        >>> made = simulate(500, 5, degree=10, seed=1)
        >>> made.graph.n_nodes, made.memberships.shape, 2200 < made.graph.n_edges < 2800
        (500, (500, 5), True)
    """
    nodes, communities, seed = check_sizes(nodes, communities, degree, seed)
    alpha = 1.0 / communities if alpha is None else float(alpha)
    _check_prior(alpha, eta, cut)
    check_degrees(degrees, rho)
    check_weights(weights, unit_shape, degrees)
    delta = _background(nodes, degree, background)
    memberships = dirichlet_memberships(nodes, communities, alpha, cut=cut, seed=seed, threads=threads)
    parameters = {
        "generator": "simulate",
        "nodes": nodes,
        "communities": communities,
        "degree": degree,
        "alpha": alpha,
        "eta": list(eta),
        "cut": cut,
        "seed": seed,
    }
    popularity = draw_popularity(nodes, degrees, rho, seed)
    if popularity is not None:
        parameters |= {"degrees": degrees} | ({"rho": rho} if degrees == "gamma" else {})
        if weights is not None:
            parameters |= {"weights": weights} | ({"unit_shape": unit_shape} if weights == "amounts" else {})
        rates = stream(seed, STREAM_STRENGTHS).gamma(eta[0], 1.0 / eta[1], size=communities)
        rates = np.append(rates, -np.log1p(-delta))
        return popular_network(memberships, rates, popularity, degree, parameters, threads=threads)
    strengths = stream(seed, STREAM_STRENGTHS).beta(*eta, size=communities)
    strengths = np.clip(strengths, _SMALLEST_STRENGTH, _LARGEST_STRENGTH)
    if degree is not None:
        strengths = strengths_for_degree(strengths, pairs_inside(memberships), delta, nodes, degree)
    edges = draw_links(memberships, strengths, delta, seed=seed, threads=threads)
    return Simulated(graph_of(edges, nodes), memberships, strengths, delta, parameters)


def popular_network(
    memberships: Any,
    rates: NDArray[np.float64],
    popularity: NDArray[np.float64],
    degree: float | None,
    parameters: dict[str, Any],
    threads: int | None = None,
) -> Simulated:
    """Draw the links of a network with popularities (DC1); `rates` ends with that of the background.

    With a degree all rates are multiplied by one factor, which keeps the background's share of the rates, and nearly
    that of the links: hubs of one community are often joined by several points of the process, and by one link.
    """
    nodes, seed, theta = len(popularity), parameters["seed"], with_popularity(memberships, popularity)
    if degree is not None:
        rates = rates_for_degree(theta, rates, nodes, degree, seed)
    edges = draw_popular_links(theta, rates, seed=seed, threads=threads)
    strengths = -np.expm1(-rates)
    sizes = None
    if "weights" in parameters:
        sizes = draw_sizes(len(edges), parameters["weights"], parameters.get("unit_shape", 1.0), seed)
    return Simulated(
        graph_of(edges, nodes, sizes),
        memberships,
        strengths[:-1],
        float(strengths[-1]),
        parameters,
        popularity=popularity,
    )


def graph_of(edges: NDArray[np.int64], nodes: int, weights: NDArray[np.float64] | None = None) -> Graph:
    """Make the network with nodes 0..nodes-1 and these links, repeated ones counted once, their weights added up."""
    return Graph.from_edges(edges, nodes=np.arange(nodes), weights=weights)


def strengths_for_degree(
    drawn: NDArray[np.float64], inside: NDArray[np.float64], background: float, nodes: int, degree: float
) -> NDArray[np.float64]:
    """Compute strengths 1 - (1 - b_k)^s with the s that gives the wanted expected average degree."""
    wanted = nodes * degree / 2.0

    def at(log_exponent: float) -> NDArray[np.float64]:
        powered = -np.expm1(np.exp(log_exponent) * np.log1p(-drawn))
        return np.asarray(np.minimum(powered, _LARGEST_STRENGTH))

    low, high = -60.0, 60.0
    least, most = (expected_links(inside, at(end), background, nodes) for end in (low, high))
    if wanted <= least or wanted > most:
        raise unreachable_degree(degree, 2.0 * least / nodes, 2.0 * most / nodes)
    for _ in range(100):
        middle = (low + high) / 2.0
        if expected_links(inside, at(middle), background, nodes) < wanted:
            low = middle
        else:
            high = middle
    return at(high)


def unreachable_degree(degree: float, least: float, most: float) -> InputError:
    """Return the error for an average degree that no strengths between 0 and 1 can give."""
    if degree <= least:
        return InputError(
            f"an average degree of {degree:g} is out of reach: the background alone gives {least:.4g}; "
            f"use a smaller background or a larger degree"
        )
    return InputError(
        f"an average degree of {degree:g} is out of reach: with every strength at 1 these communities give "
        f"{most:.4g}; use fewer communities, more nodes, a larger background or a smaller degree"
    )


def check_sizes(nodes: int, communities: int, degree: float | None, seed: int) -> tuple[int, int, int]:
    """Refuse numbers no network can have; return the whole numbers as plain integers."""
    for name, value, least in (("nodes", nodes, 2), ("communities", communities, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or int(value) != value or value < least:
            raise InputError(f"{name}={value!r}: give a whole number of at least {least}")
    if communities > np.iinfo(np.int32).max:
        raise InputError(f"communities={communities}: at most {np.iinfo(np.int32).max:,} can be numbered")
    if degree is not None and not 0 < degree <= nodes - 1:
        raise InputError(
            f"degree={degree!r}: the average degree of {nodes} nodes lies above 0 and up to {nodes - 1}"
        )
    return int(nodes), int(communities), int(seed)


def _check_prior(alpha: float, eta: tuple[float, float], cut: float) -> None:
    if not (np.isfinite(alpha) and alpha > 0):
        raise InputError(f"alpha={alpha!r}: the concentration of the memberships is a positive number")
    if len(eta) != 2 or not all(np.isfinite(e) and e > 0 for e in eta):
        raise InputError(f"eta={eta!r}: give two positive numbers, the parameters of Beta(eta[0], eta[1])")
    if not 0 <= cut < 1:
        raise InputError(f"cut={cut!r}: give a share of a node's memberships, at least 0 and below 1")


def _background(nodes: int, degree: float | None, background: float | None) -> float:
    if background is None:
        if degree is None:
            raise InputError("give background=: without a degree there is nothing to derive it from")
        return BACKGROUND_SHARE * degree / (nodes - 1)
    if not 0 <= background < 1:
        raise InputError(f"background={background!r}: a link probability of at least 0 and below 1")
    return float(background)


def _claim(folder: Path, overwrite: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: this is a file; name a folder to write the network into")
    taken = [name for name in ("edges.txt", "edges.txt.gz", "parameters.json") if (folder / name).exists()]
    if taken and not overwrite:
        raise InputError(f"{folder}: already holds {taken[0]}; name another folder or ask to overwrite")
    folder.mkdir(parents=True, exist_ok=True)
    # What an earlier network left behind must not be read as part of this one.
    for name in ("edges.txt", "edges.txt.gz", "isolated_nodes.txt", "popularity.tsv"):
        (folder / name).unlink(missing_ok=True)


def _rows(edges: NDArray[Any]) -> Iterator[list[int]]:
    for first in range(0, len(edges), _LINES_PER_WRITE):
        yield from edges[first : first + _LINES_PER_WRITE].tolist()


def _write(path: Path, lines: Iterator[str], title: str | None = None) -> None:
    with _open(path) as out:
        if title is not None:
            out.write(title + "\n")
        batch: list[str] = []
        for line in lines:
            batch.append(line)
            if len(batch) == _LINES_PER_WRITE:
                out.write("\n".join(batch) + "\n")
                batch.clear()
        if batch:
            out.write("\n".join(batch) + "\n")


@contextmanager
def _open(path: Path) -> Iterator[IO[str]]:
    if path.suffix != ".gz":
        with path.open("w", encoding="utf-8", newline="\n") as out:
            yield out
        return
    # No time stamp and no name inside: the same network gives the same bytes.
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as out,
    ):
        yield out
