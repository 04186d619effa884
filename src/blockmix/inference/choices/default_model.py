"""The link model of a request that names none: chosen by a short run, unless what is given decides.

Popularities are not in every sampler, nor on a GPU, and some settings belong to one model. A user who names a sampler,
a device or a setting has thereby chosen, and is told so; a user who names nothing gets the model that
`link_model.choose_model` finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockmix.errors import InputError
from blockmix.samplers import SAMPLERS, default_sampler, sampler_options

# The link models that model="auto" chooses between; the first where there is too little to choose by.
AUTO_MODELS = ("assortative", "popularity")


def default_model(sampler: str, options: Mapping[str, Any], device: str) -> tuple[str, str]:
    """Return what stands for a model that is not named, and why: "auto", or the one model that has what is given.

    >>> default_model("", {}, "cpu"), default_model("cgs", {}, "cpu")
    (('auto', ''), ('assortative', "the sampler 'cgs' has no popularities"))
    """
    assortative, popularity = AUTO_MODELS
    if sampler and sampler not in SAMPLERS[popularity]:
        return assortative, f"the sampler {sampler!r} has no popularities"
    if _refused(popularity, options) and not _refused(assortative, options):
        return assortative, f"{_names(options)} is not a setting of the model with popularities"
    if device == "cuda":
        return assortative, "the GPU has no popularities"
    return "auto", ""


def _names(options: Mapping[str, Any]) -> str:
    """Return the setting, with its value, that the model with popularities does not have."""
    alone = [
        f"{name}={value!r}" for name, value in options.items() if _refused(AUTO_MODELS[1], {name: value})
    ]
    return ", ".join(alone or [f"{name}={value!r}" for name, value in options.items()])


def _refused(model: str, options: Mapping[str, Any]) -> bool:
    """Return whether the default sampler of a model does not have these settings, or not with these values."""
    try:
        sampler_options(default_sampler(model), dict(options), model)
    except InputError:
        return True
    return False
