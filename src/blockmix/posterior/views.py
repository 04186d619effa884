"""Views of a result for the user: tables of equal columns that print themselves, and credible intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import printable
from blockmix.graph.labels import Label
from blockmix.notebook import table_html

_SHOWN_ROWS = 10


class Membership(NamedTuple):
    """One row of a `MembershipTable`."""

    node: Label
    community: int
    mean: float
    sd: float
    lower: float
    upper: float


class Strength(NamedTuple):
    """One row of a `StrengthTable`."""

    community: int
    size: float
    mean: float
    sd: float
    lower: float
    upper: float


class Concentration(NamedTuple):
    """Posterior mean and standard deviation of K alpha.

    Far below one nodes are in one community each; from about one on, most are in several.
    """

    mean: float
    sd: float


class CommunityCount(NamedTuple):
    """How many communities are in use: mean over posterior samples, central interval, and the share of each number.

    A community is in use in a sample if at least three nodes with links have their largest membership there, and it is
    stronger than the background.
    """

    mean: float
    lower: int
    upper: int
    shares: dict[int, float]


class Popularity(NamedTuple):
    """One row of a `PopularityTable`."""

    node: Label
    mean: float
    sd: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class _Table:
    def columns(self) -> dict[str, Any]:
        """Return the columns by name, ready for a data frame: `pandas.DataFrame(table.columns())`."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __len__(self) -> int:
        return len(self.community)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        columns = self.columns()
        lines = ["  ".join(f"{name:>10}" for name in columns)]
        for i in range(min(len(self), _SHOWN_ROWS)):
            lines.append("  ".join(f"{_cell(column[i]):>10}" for column in columns.values()))
        if len(self) > _SHOWN_ROWS:
            lines.append(f"... {len(self)} rows in all")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return table_html(self.columns())


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float | np.floating) else printable(str(value))


@dataclass(frozen=True, eq=False, repr=False)
class MembershipTable(_Table):
    """Node by node, largest first: the share of its links a node makes in a community, with its uncertainty.

    `lower` and `upper` bound the credible interval asked for.
    """

    node: list[Label]
    community: NDArray[np.int32]
    mean: NDArray[np.float32]
    sd: NDArray[np.float32]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def __iter__(self) -> Iterator[Membership]:
        for i in range(len(self)):
            yield Membership(
                self.node[i], int(self.community[i]), float(self.mean[i]), float(self.sd[i]),
                float(self.lower[i]), float(self.upper[i]),
            )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class StrengthTable(_Table):
    """Community by community: expected size in nodes, and how likely two of its members are to link."""

    community: NDArray[np.int64]
    size: NDArray[np.float64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def __iter__(self) -> Iterator[Strength]:
        for i in range(len(self)):
            yield Strength(
                int(self.community[i]), float(self.size[i]), float(self.mean[i]), float(self.sd[i]),
                float(self.lower[i]), float(self.upper[i]),
            )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class PopularityTable(_Table):
    """Node by node: how many links a node makes relative to others of its communities, one on average."""

    node: list[Label]
    mean: NDArray[np.float32]
    sd: NDArray[np.float32]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.node)

    def __iter__(self) -> Iterator[Popularity]:
        for i in range(len(self)):
            yield Popularity(
                self.node[i], float(self.mean[i]), float(self.sd[i]), float(self.lower[i]), float(self.upper[i])
            )  # fmt: skip


def gamma_interval(
    mean: NDArray[Any], sd: NDArray[Any], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the central credible interval of the Gamma law with this mean and standard deviation.

    >>> lower, upper = gamma_interval(np.array([1.0]), np.array([0.5]), 0.9)
    >>> lower.round(2).tolist(), upper.round(2).tolist()
    ([0.34], [1.94])
    """
    from scipy.special import gammaincinv

    m = np.maximum(np.asarray(mean, dtype=np.float64), 1e-30)
    shape = m**2 / np.maximum(np.asarray(sd, dtype=np.float64) ** 2, 1e-12 * m**2)
    lower, upper = (gammaincinv(shape, p) * m / shape for p in ((1.0 - level) / 2.0, (1.0 + level) / 2.0))
    return lower, upper


def beta_interval(
    mean: NDArray[Any], sd: NDArray[Any], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the credible interval of the Beta law with this mean and standard deviation.

    A membership or strength lies in [0, 1]; the Beta law with its first two moments approximates its posterior,
    because samples are not kept of every sweep. The interval is central where the density falls off to
    both sides. Where the density is largest at an end, as that of memberships that may be zero, the interval starts
    there: a central one would leave out the likeliest values of all, and the truth with them.

    >>> lower, upper = beta_interval(np.array([0.5, 0.1]), np.array([0.1, 0.2]), 0.9)
    >>> lower.round(2).tolist(), upper.round(2).tolist()
    ([0.34, 0.0], [0.66, 0.38])
    """
    from scipy.special import betaincinv

    a, b = beta_shapes(mean, sd)
    below, above = interval_ends(a, b, level)
    return betaincinv(a, b, below), betaincinv(a, b, above)


def interval_ends(
    a: NDArray[np.float64], b: NDArray[np.float64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what probability lies below either end of an interval, by the parameters of the Beta law."""
    # Of a density that is large at both ends the heavier end counts.
    from_zero = (a < 1.0) & (a <= b)
    to_one = (b < 1.0) & ~from_zero
    below = np.where(from_zero, 0.0, np.where(to_one, 1.0 - level, (1.0 - level) / 2.0))
    # not below + level: that rounds to more than 1
    above = np.where(from_zero, level, np.where(to_one, 1.0, (1.0 + level) / 2.0))
    return below, above


def beta_above(mean: NDArray[Any], sd: NDArray[Any], least: float) -> NDArray[np.float64]:
    """Compute the probability of at least this much under the Beta law with this mean and standard deviation.

    >>> beta_above(np.array([0.5, 0.12, 0.12]), np.array([0.1, 0.03, 0.2]), 0.1).round(2).tolist()
    [1.0, 0.73, 0.3]
    """
    from scipy.special import betainc

    a, b = beta_shapes(mean, sd)
    return np.asarray(1.0 - betainc(a, b, least), dtype=np.float64)


def beta_median(mean: NDArray[Any], sd: NDArray[Any]) -> NDArray[np.float64]:
    """Compute the median of the Beta law with this mean and standard deviation.

    >>> beta_median(np.array([0.5, 0.12]), np.array([0.1, 0.2])).round(3).tolist()
    [0.5, 0.018]
    """
    from scipy.special import betaincinv

    return np.asarray(betaincinv(*beta_shapes(mean, sd), 0.5), dtype=np.float64)


def beta_shapes(mean: NDArray[Any], sd: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the two parameters of the Beta law with this mean and standard deviation."""
    m = np.clip(np.asarray(mean, dtype=np.float64), 1e-9, 1 - 1e-9)
    variance = np.clip(np.asarray(sd, dtype=np.float64) ** 2, 1e-12, m * (1 - m) * (1 - 1e-6))
    size = m * (1 - m) / variance - 1.0
    return m * size, (1 - m) * size
