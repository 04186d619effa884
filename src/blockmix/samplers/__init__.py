"""The samplers, one folder each, all behind `contract.Sampler`; here is the list of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

from blockmix.errors import InputError


class Entry(NamedTuple):
    """The class of a sampler as "module:name", and what it is in one line. Modules are imported on first use."""

    place: str
    title: str


SAMPLERS: dict[str, dict[str, Entry]] = {
    "assortative": {
        "scir": Entry(
            "scir.sampler:Scir", "sparse memberships, link indicators, any number of communities; the default"
        ),
        "sgmc": Entry(
            "sgmc.sampler:Sgmc", "stochastic gradient Langevin dynamics on stratified mini-batches"
        ),
        "sgmc-m": Entry("sgmc_m.sampler:SgmcM", "the same with active, candidate and bulk communities"),
        "svi": Entry("svi.sampler:Svi", "stochastic variational inference"),
        "cgs": Entry("cgs.sampler:Cgs", "collapsed Gibbs sampling over all pairs: exact, for small networks"),
        "lmc": Entry(
            "lmc.sampler:Lmc", "Langevin dynamics with a Metropolis-Hastings test: exact, for small networks"
        ),
    },
    "popularity": {
        "scir": Entry(
            "scir.popularity.sampler:PopularityScir", "the same moves with a popularity for every node; exact"
        )
    },
    "mmsb": {
        "sgmc": Entry("sgmc.general:BlockSgmc", "stochastic gradient Langevin dynamics, K x K strengths")
    },
}


def default_sampler(kind: str) -> str:
    """Return the sampler of a model where the user names none: the first in the list."""
    return next(iter(SAMPLERS[kind]))


def check_sampler(name: str, kind: str = "assortative") -> str:
    """Return the name of a sampler, or raise an error with the nearest right one."""
    known = SAMPLERS[kind]
    if name in known:
        return name
    names = ", ".join(known)
    if name in SAMPLERS["assortative"]:
        raise InputError(f"the model {kind!r} has no sampler {name!r}; its samplers: {names}")
    near = get_close_matches(str(name).lower(), known, n=1, cutoff=0.3)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise InputError(f"there is no sampler {name!r}{hint} Samplers: {names}.")


def sampler_class(name: str, kind: str = "assortative") -> Any:
    """Return the class of a sampler; its settings are `sampler_class(name).Options`."""
    module, attribute = SAMPLERS[kind][check_sampler(name, kind)].place.split(":")
    return getattr(import_module(f"blockmix.samplers.{module}"), attribute)


def sampler_options(
    name: str, options: dict[str, Any], kind: str = "assortative", others: Iterable[str] = ()
) -> Any:
    """Return the settings of a sampler from what the user gave, or raise an error that names the unknown ones.

    `others` are names that the user may have meant beside the settings.
    """
    settings = sampler_class(name, kind).Options
    known = settings.__dataclass_fields__
    unknown = sorted(set(options) - set(known))
    if unknown:
        near = get_close_matches(unknown[0], [*others, *known], 1, 0.75)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise InputError(f"unknown option {', '.join(unknown)}{meant}; options of {name}: {', '.join(known)}")
    return settings(**options)
