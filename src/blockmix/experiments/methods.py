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


# As in the paper all start at random, with alpha = 1/K, 10 neighbours and 10 others. The printed update has the paper's
# steps, (1024 + t)^-0.5; the corrected one has blockmix's own, because it hardly moves at those of the paper
# (docs/lab-notes.md). svi is that of blockmix, whose indicators of a pair are kept together.
_PAPER = {"start": "random"}

SGMC = Method("sgmc", "sgmc", dict(_PAPER), "#0072B2", "o")
SGMC_PRINTED = Method("sgmc as printed", "sgmc", {**_PAPER, "preconditioned": False}, "#56B4E9", "s")
SGMC_M = Method("sgmc-m", "sgmc-m", dict(_PAPER), "#009E73", "^")
SVI = Method("svi", "svi", dict(_PAPER), "#CC79A7", "v")
CGS = Method("cgs", "cgs", {}, "#E69F00", "D")
LMC = Method("lmc", "lmc", {}, "#D55E00", "P")
SCIR = Method("scir", "scir", {}, "#000000", "*")

METHODS = {method.name: method for method in (SGMC, SGMC_PRINTED, SGMC_M, SVI, CGS, LMC, SCIR)}

# The networks of the paper by the names of the data folder. The paper's US-AIR has 1.1k nodes; the file in
# the authors' code has 712, and is used here.
NETWORKS = {
    "Synthetic": "synthetic-75",
    "US-AIR": "us-air-712",
    "NETSCIENCE": "netscience",
    "RELATIVITY": "ca-GrQc",
    "HEP-PH": "ca-HepPh",
}
