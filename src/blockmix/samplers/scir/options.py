"""The settings of `scir`, checked where they come in."""

from __future__ import annotations

from dataclasses import dataclass

from blockmix.errors import InputError
from blockmix.samplers.checks import check_choice, check_count, check_positive
from blockmix.samplers.scir.constants import MOST_DENSE

MOST_SLOTS = 255


@dataclass(frozen=True)
class ScirOptions:
    """What can be set on `scir`; the defaults hold on every network tried (docs/lab-notes.md).

    Arguments:
        slots: communities a node can be in at once, L.
        moves: "indicators", "cir", or "auto": "cir" where `non_links` or `form="dense"` needs it,
            otherwise "indicators".
        batches: batches a sweep; nodes of one batch read the same state. By default 5, and one node after the other
            on networks of up to 2,048 nodes.
        exact: of "indicators" alone: whether non-links are summed member by member instead of in closed form. By
            default on networks of up to 2,048 nodes; on larger ones it is slow.
        smallest: a phi below this is dropped and may be born again; in units of links.
        cut: a neighbour's community is looked at where its weight is above this.
        start: "partition", "random", two communities a node, or "flat", the random start of `sgmc`: its `slots` largest
            communities.
        neighbors, non_links: of "cir" alone: neighbours read at most, and non-links sampled for the unbiased
            correction (0: closed form).
        step: the step h once samples count, of "cir" and of the strengths with either move.
        form: of "cir" alone: "sparse" rows of `slots` communities, "dense" rows of all of them with nothing
            cut off, or "auto": dense where that is faster. The law is the same.
        weighted: whether non-links are weighted after a balanced hold-out, which takes a larger share of the links.
    """

    slots: int = 16
    moves: str = "auto"
    batches: int | None = None
    exact: bool | None = None
    smallest: float = 0.005
    cut: float = 0.0
    start: str = "partition"
    neighbors: int = 16
    non_links: int = 0
    step: float = 0.5
    form: str = "auto"
    weighted: bool = True

    def __post_init__(self) -> None:
        for name, least, most in (
            ("slots", 1, MOST_SLOTS), ("batches", 1, 10**6), ("neighbors", 1, 10**9), ("non_links", 0, 10**9)
        ):  # fmt: skip
            if name != "batches" or self.batches is not None:
                check_count(name, getattr(self, name), least, most)
        for name in ("smallest", "step"):
            check_positive(name, getattr(self, name))
        if not isinstance(self.cut, float | int) or not 0 <= self.cut < 1:
            raise InputError(f"cut must lie between 0 and 1, not {self.cut!r}")
        for name, known in (
            ("moves", ("auto", "indicators", "cir")),
            ("start", ("partition", "random", "flat")),
            ("form", ("auto", "sparse", "dense")),
        ):
            check_choice(name, getattr(self, name), known)
        if not isinstance(self.weighted, bool):
            raise InputError(f"weighted must be True or False, not {self.weighted!r}")
        if self.exact is not None and not isinstance(self.exact, bool):
            raise InputError(f"exact must be true or false, not {self.exact!r}")
        if self.exact and self.local_move != "indicators":
            raise InputError(
                'exact belongs to moves="indicators": leave it out, or non_links, form and moves'
            )
        if self.non_links and self.moves == "indicators":
            raise InputError('non_links belongs to moves="cir": leave out moves, or non_links')
        if self.form == "dense" and self.moves == "indicators":
            raise InputError('form="dense" belongs to moves="cir": leave out moves, or form')

    @property
    def local_move(self) -> str:
        """The local move in use."""
        if self.moves == "auto":
            return "cir" if self.non_links or self.form == "dense" else "indicators"
        return self.moves

    def is_dense(self, communities: int) -> bool:
        """Return whether rows hold all communities."""
        if self.form == "auto":
            return self.local_move == "cir" and communities <= MOST_DENSE
        return self.form == "dense"

    def unused(self) -> dict[str, str]:
        """Return the settings that have no effect beside the others, each with the remedy."""
        if self.local_move == "indicators":
            return {"neighbors": 'it belongs to moves="cir"; add that, or leave it out'}
        if self.form == "dense":
            return dict.fromkeys(
                ("slots", "smallest"), 'form="dense" keeps all of a row; leave one of them out'
            )
        return {}
