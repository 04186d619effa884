"""What a run is, apart from the network: everything that decides its result, as plain values and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.numerics.workers import Workers
from blockmix.samplers import sampler_class, sampler_options
from blockmix.samplers.contract import Sampler

# On networks of at most so many links each of several chains runs on a thread of its own.
SIDE_BY_SIDE = 150_000


@dataclass(frozen=True)
class Task:
    """Model, sampler with its options, seed and chains; `chosen` if blockmix chose the number of communities."""

    model: Model
    sampler: str
    options: Any
    seed: int
    chains: int
    chosen: bool
    device: str = "cpu"

    def with_communities(self, communities: int) -> Task:
        """The same task with another number of communities."""
        return replace(self, model=replace(self.model, communities=communities))

    def samplers(self, data: HeldOut, workers: Workers) -> list[Sampler]:
        """One sampler for each chain on a small network, where chains side by side waste no time on waiting for
        each other; on a large one a single sampler that gives all threads to one chain after the other."""
        make = sampler_class(self.sampler, self.model.kind)
        if self.chains > 1 and data.training.n_edges <= SIDE_BY_SIDE:
            return [make(data, self.model, self.options, Workers(1)) for _ in range(self.chains)]
        return [make(data, self.model, self.options, workers)] * self.chains

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a manifest."""
        return {
            "model": asdict(self.model), "sampler": self.sampler, "options": asdict(self.options),
            "seed": self.seed, "chains": self.chains, "chosen": self.chosen, "device": self.device,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Task:
        """The task that `to_dict` was made from."""
        model = Model(**values["model"] | {"eta": tuple(values["model"]["eta"])})
        options = sampler_options(values["sampler"], values["options"], model.kind)
        return cls(
            model,
            values["sampler"],
            options,
            values["seed"],
            values["chains"],
            values["chosen"],
            values["device"],
        )
