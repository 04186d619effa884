"""The posterior samples as an ArviZ DataTree, labels matched between chains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blockmix.errors import InputError, optional

if TYPE_CHECKING:
    from blockmix.graph.labels import Label
    from blockmix.posterior.posterior import Posterior


def to_arviz(post: Posterior, *, nodes: Sequence[Label] = ()) -> Any:
    """Convert to ArviZ, see `Posterior.to_arviz`."""
    arviz = optional("arviz_base", "to_arviz", 'pip install "blockmix[arviz]"')
    kept = min((len(chain) for chain in post.draws), default=0)
    if not kept:
        raise InputError("this run kept no samples: it was stopped during warm-up; fit for longer")
    chains = [chain[len(chain) - kept :] for chain in post.draws]
    strength = np.stack([draws[-kept:] for draws in post.strength_draws])
    variables: dict[str, NDArray[Any]] = {"strength": strength}
    coords: dict[str, Any] = {"community": np.arange(post.n_communities)}
    dims = {"strength": ["community"]}
    if post.blocks_mean is None:
        variables["background"] = np.array(
            [[sample.probabilities[-1] for sample in chain] for chain in chains]
        )
    if len(nodes):
        numbers = post.graph.labels.indices(list(nodes))
        variables["membership"] = np.stack(
            [
                np.stack([sample.memberships(numbers, number) for sample in chain])
                for chain, number in zip(chains, post.numbers, strict=True)
            ]
        )
        coords["node"], dims["membership"] = [str(label) for label in nodes], ["node", "community"]
        if post.popularity_mean is not None:
            variables["popularity"] = np.array([[s.popularity[numbers] for s in chain] for chain in chains])  # type: ignore[index]
            dims["popularity"] = ["node"]
    tree = arviz.from_dict({"posterior": variables}, coords=coords, dims=dims)
    tree["posterior"].attrs.update(inference_library="blockmix", run=json.dumps(post.provenance, default=str))
    return tree
