"""The methods compared, with the settings of the paper, and how they are drawn."""

from __future__ import annotations

from typing import Any, NamedTuple


class Method(NamedTuple):
    """A sampler with its options, under the name that legends show."""

    name: str
    sampler: str
    options: dict[str, Any]
    colour: str
    marker: str


# Every method has alpha = 1/K, 10 neighbours and 10 others where it samples them, and the start of the whole run
# (`start_of`). Non-links are not weighted after a balanced hold-out: `cgs` and `lmc` cannot, and all must have one
# likelihood. The printed methods have form="paper" and with it the paper's steps, (1024 + t)^-0.5; the corrected ones
# have blockmix's own, because they hardly move at those of the paper (docs/lab-notes.md).
_UNWEIGHTED = {"weighted": False}

SGMC = Method("sgmc", "sgmc", {}, "#0072B2", "o")
SGMC_PRINTED = Method("sgmc as printed", "sgmc", {"form": "paper"}, "#56B4E9", "s")
SGMC_M = Method("sgmc-m", "sgmc-m", {}, "#009E73", "^")
SGMC_M_PRINTED = Method("sgmc-m as printed", "sgmc-m", {"form": "paper"}, "#8FD694", "<")
SVI = Method("svi", "svi", dict(_UNWEIGHTED), "#CC79A7", "v")
SVI_PRINTED = Method("svi as published", "svi", {"form": "paper"}, "#7B3294", ">")
CGS = Method("cgs", "cgs", {}, "#E69F00", "D")
LMC = Method("lmc", "lmc", {}, "#D55E00", "P")
LMC_PRINTED = Method("lmc as printed", "lmc", {"form": "paper"}, "#8C510A", "X")
SCIR = Method("scir", "scir", dict(_UNWEIGHTED), "#000000", "*")

# Where all methods begin: memberships drawn at random, as in the paper, or the partition that blockmix finds.
STARTS = ("random", "partition")


def start_of(sampler: str, start: str) -> str:
    """Return the setting of a sampler that stands for this start: at random all draw memberships as sgmc does.

    >>> start_of("sgmc", "random"), start_of("cgs", "random"), start_of("cgs", "partition")
    ('random', 'flat', 'partition')
    """
    return "flat" if start == "random" and sampler != "sgmc" else start


METHODS = {
    method.name: method
    for method in (
        SGMC, SGMC_PRINTED, SGMC_M, SGMC_M_PRINTED, SVI, SVI_PRINTED, CGS, LMC, LMC_PRINTED, SCIR,
    )
}  # fmt: skip
# Claims are judged twice: with the methods in blockmix's form, and with those that the paper describes.
CORRECTED = {method.sampler: method.name for method in (SGMC, SGMC_M, SVI, LMC)}
PRINTED = {method.sampler: method.name for method in (SGMC_PRINTED, SGMC_M_PRINTED, SVI_PRINTED, LMC_PRINTED)}
FORMS = (CORRECTED, PRINTED)

# The networks of the paper by the names of the data folder. The paper's US-AIR has 1.1k nodes; the file in
# the authors' code has 712, and is used here.
NETWORKS = {
    "Synthetic": "synthetic-75",
    "US-AIR": "us-air-712",
    "NETSCIENCE": "netscience",
    "RELATIVITY": "ca-GrQc",
    "HEP-PH": "ca-HepPh",
}
