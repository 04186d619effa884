"""`FitRequest`: everything that a fit is asked for, checked once.

`fit`, `resume`, the command line and the scikit-learn estimator each make one; a request that exists is a valid one.
The command line makes it before it reads a large file. What cannot be known without the network (communities left to
"auto", the default number of chains) is filled in later by `for_network`.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from blockmix.engines.choose import check_device, choose_device, make_engine
from blockmix.errors import InputError
from blockmix.graph.graph import Graph
from blockmix.graph.split import HOLD_OUT_KINDS, HeldOut, check_share
from blockmix.inference.choices.default_model import AUTO_MODELS, default_model
from blockmix.inference.choices.limit import most_sweeps
from blockmix.inference.plan import MOST_WARM_UP, Plan, whole_number
from blockmix.model import Model
from blockmix.model.hyper import WEIGHT_LAWS
from blockmix.numerics.philox import stream_key
from blockmix.numerics.workers import Workers
from blockmix.samplers import check_sampler, default_sampler, sampler_class, sampler_options
from blockmix.samplers.contract import ChainKey, Sampler

if TYPE_CHECKING:
    from blockmix.inference.run_folder.folder import RunFolder

# The most sweeps of a run without limits whose score alone is of interest.
IMPATIENT_SWEEPS = 3 * MOST_WARM_UP
# Networks of up to so many links get so many chains by default; larger ones get one.
DEFAULT_CHAINS = ((10_000, 8), (50_000, 4), (150_000, 2))
# Seconds between checkpoints.
DEFAULT_EVERY = 60.0
# Numbers of communities are 32 bits wide; more chains or threads than these are a slip of the pen.
MOST = {"communities": 2**31 - 1, "chains": 10**6, "threads": 4096}
# What people write, from networkx, scikit-learn, PyMC, graph-tool and others, and the argument that is meant.
RIGHT_NAMES = {
    "communities": (
        "k",
        "K",
        "n_communities",
        "num_communities",
        "n_clusters",
        "n_components",
        "clusters",
        "B",
    ),
    "seed": ("random_state", "random_seed", "rng", "rng_seed"),
    "sweeps": ("iterations", "n_iter", "max_iter", "niter", "n_sweeps", "draws", "epochs", "steps"),
    "warm_up": ("burn_in", "burnin", "burn", "warmup", "tune"),
    "chains": ("n_chains", "num_chains", "n_init", "runs", "trials"),
    "threads": ("n_jobs", "n_threads", "num_threads", "workers", "cores", "cpus"),
    "time_limit": ("timeout", "max_time", "time", "time_limit_s"),
    "held_out": ("holdout", "hold_out", "heldout", "test_size", "validation"),
    "background": ("delta", "epsilon"),
    "progress": ("verbose", "progressbar", "progress_bar", "quiet"),
    "sampler": ("method", "algorithm", "engine"),
    "init": ("initial", "start_from", "init_partition"),
    "checkpoint": ("output", "folder", "checkpoint_dir", "out"),
    "weights": ("weight", "edge_weight", "edge_weights", "weight_column"),
    "directed": ("is_directed",),
    "nodes": ("node_table", "node_attributes", "attributes"),
}
_MEANT = {wrong: right for right, others in RIGHT_NAMES.items() for wrong in others}


@dataclass(frozen=True)
class FitRequest:
    """What a fit is asked for; the fields are the arguments of `fit`, which explains them.

    `model` is "" for the default: "auto", or the one model that has the sampler, the device and the settings given
    (`choices.default_model`), or what the network needs (`choices.sides`), with `model_open` and the options as they
    were given then. `sampler` is "" for the default of the model. `options` are the settings of the sampler by name;
    the construction replaces them by its options object, but for model="auto", whose model is not known yet. `chosen`
    is True if blockmix chose the number of communities, and `model_chosen` and `device_chosen` say why it chose the
    model or the device, if it did. Without limits and without `patient` chains that do not agree are not waited for:
    where only the score is of interest.
    """

    communities: int | Literal["auto"] = "auto"
    model: str = ""
    sampler: str = ""
    options: Any = field(default_factory=dict)
    seed: int = 0
    chains: int | None = None
    sweeps: int | None = None
    time_limit: float | None = None
    warm_up: int | None = None
    init: Any = None
    held_out: float | HeldOut | None = None
    held_out_kind: str | None = None
    alpha: float | None = None
    eta: tuple[float, float] = (1.0, 1.0)
    background: float | None = None
    weight_law: str | None = None
    threads: int | None = None
    device: str = "cpu"
    checkpoint: str | os.PathLike[str] | RunFolder | None = None
    checkpoint_every: float | None = None
    force: bool = False
    chosen: bool = False
    model_chosen: str = ""
    law_chosen: str = ""
    device_chosen: str = ""
    patient: bool = True
    model_open: bool = False
    given_options: Any = None

    def __post_init__(self) -> None:
        def keep(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        self._check_types()
        if not self.model:
            model, reason = default_model(self.sampler, self.options, self.device)
            keep("model", model)
            keep("model_chosen", reason)
            keep("model_open", True)
            keep("given_options", dict(self.options))
        self._check_weight_law()
        if not self.auto:
            keep("communities", whole_number("communities", self.communities, 1, MOST["communities"]))
        keep("eta", _floats(self.eta))
        kind = self.prior.kind
        keep("sampler", check_sampler(self.sampler or default_sampler(kind), kind))
        if self.auto_model and self.sampler != "scir":
            raise InputError(
                f"model='auto' (--model auto) chooses between models of the sampler 'scir', not of {self.sampler!r}: "
                "name a model, or leave out the sampler"
            )
        keep("options", self._checked_options())
        keep("seed", _seed(self.seed))
        for name in ("chains", "threads"):
            if getattr(self, name) is not None:
                keep(name, whole_number(name, getattr(self, name), 1, MOST[name]))
        check_device(self.device, self.sampler, self.model, self.options)
        self.plan()
        self._check_hold_out()
        self._check_checkpoint()

    @property
    def auto(self) -> bool:
        """Whether the number of communities is still to be chosen."""
        return isinstance(self.communities, str) and self.communities == "auto"

    @property
    def auto_model(self) -> bool:
        """Whether the link model is still to be chosen."""
        return self.model == "auto"

    @property
    def prior(self) -> Model:
        """The model; with one community while their number is still to be chosen, and the first of the models.

        With form="paper" of a sampler alpha, if not given, is the paper's 1/K, for isolated nodes as well.
        """
        k, kind = 1 if self.auto else int(self.communities), AUTO_MODELS[0] if self.auto_model else self.model
        alpha = self.alpha
        if alpha is None and getattr(self.options, "form", "") == "paper":
            alpha = 1.0 / k
        law = self.weight_law if kind == "popularity" else None
        return Model(k, alpha, self.eta, self.background, kind, weights=law)

    def with_model(self, model: str, reason: str = "") -> FitRequest:
        """Return the request for one of the link models, with the reason why it was chosen."""
        return replace(self, model=model, model_chosen=reason, model_open=False, given_options=None)

    def with_needed_model(self, model: str, reason: str) -> FitRequest:
        """Return the request for the model that the network needs, where the user left it open or to blockmix."""
        options = self.given_options if self.model_open else self.options
        return replace(
            self, options=options, given_options=None, model=model, model_chosen=reason, model_open=False
        )

    def on_cpu(self, reason: str) -> FitRequest:
        """Return the request for the CPU, with the reason why it was chosen."""
        return replace(self, device="cpu", device_chosen=reason)

    def on_device(self, graph: Graph) -> FitRequest:
        """Return the request with a device, where that is left to blockmix."""
        if self.device != "auto":
            return self
        device, reason = choose_device(self.sampler, self.model, self.options, graph.n_nodes, graph.n_edges)
        return replace(self, device=device, device_chosen=reason)

    @property
    def every(self) -> float:
        """Seconds between checkpoints; 0 for none."""
        return DEFAULT_EVERY if self.checkpoint_every is None else float(self.checkpoint_every)

    def plan(self, graph: Graph | None = None, watched: bool = True) -> Plan:
        """Return a new plan with the limits of this request; `watched` is True if there will be scores.

        Without limits the work that a sweep of the network has decides how many there are at most.
        """
        plan = Plan(self.sweeps, self.time_limit, self.warm_up, watched)
        if graph is not None:
            most = most_sweeps(graph.n_nodes, graph.n_edges, self.chains or 1)
            plan.most = most if self.patient else min(most, IMPATIENT_SWEEPS)
        return plan

    def chain_key(self, number: int) -> ChainKey:
        """Return the key of a chain's random numbers, a function of the seed and its number, and this number."""
        low, high = stream_key(np.uint64(self.seed), number)
        return int(low), int(high), number

    def make_sampler(self, data: HeldOut, workers: Workers) -> Sampler:
        """Make the sampler of this request for some data, on the engine of its device where it has a choice."""
        arguments = data, self.prior, self.options, workers
        if self.sampler == "scir":
            arguments += (make_engine(self.device, workers),)  # type: ignore[assignment]
        made: Sampler = sampler_class(self.sampler, self.model)(*arguments)
        return made

    def for_network(self, graph: Graph, communities: int | None = None) -> FitRequest:
        """Return the request with what depends on the network: the default chains, and the communities chosen."""
        chains = self.chains
        if chains is None:
            chains = default_chains(graph.n_edges) if self.sampler == "scir" else 1
        return replace(self, chains=chains, communities=communities or self.communities)

    def manifest(self) -> dict[str, Any]:
        """Return what decides the result, apart from network and plan, as plain values."""
        model = asdict(self.prior)
        # A request has none: that of a fit follows from the number of nodes.
        del model["background_prior"]
        if self.weight_law is None:
            del model["weights"]
        chosen = {"law_chosen": self.law_chosen} if self.law_chosen else {}
        return chosen | {
            "model": model, "sampler": self.sampler, "options": asdict(self.options),
            "seed": self.seed, "chains": self.chains, "chosen": self.chosen, "model_chosen": self.model_chosen,
            "device": self.device, "device_chosen": self.device_chosen,
        }  # fmt: skip

    @classmethod
    def from_manifest(cls, values: Mapping[str, Any], **others: Any) -> FitRequest:
        """Return the request that `manifest` was made from, with other fields as given here."""
        model = dict(values["model"])
        # Other fields of a request than the prior's do not come from a folder.
        unknown = model.keys() - {entry.name for entry in fields(Model)}
        if unknown:
            raise ValueError(f"{min(unknown)!r:.80} is no setting of the model")
        # What a user may leave open has been chosen when a run begins.
        for name in ("communities", "kind"):
            if model[name] == "auto":
                raise ValueError(f"{name} of the model is 'auto'")
        # Runs of earlier versions had no weights.
        model["weight_law"] = model.pop("weights", None)
        options = sampler_options(values["sampler"], values["options"], model["kind"])
        fixed = {name: values[name] for name in ("sampler", "seed", "chains", "chosen", "device")}
        fixed |= {name: str(values.get(name, "")) for name in ("model_chosen", "device_chosen", "law_chosen")}
        return cls(model=model.pop("kind"), options=options, **model, **(fixed | others))

    def _checked_options(self) -> Any:
        """Return the options object of the sampler; a setting without effect is an error."""
        if not isinstance(self.options, Mapping):
            return self.options
        if self.auto_model:
            # Settings that one of the models does not have would have no effect if that one is chosen.
            for model in AUTO_MODELS:
                replace(self, model=model)
            return dict(self.options)
        options = sampler_options(self.sampler, dict(self.options), self.model, RIGHT_NAMES)
        unused = options.unused() if hasattr(options, "unused") else {}
        if self.init is not None:
            unused["start"] = "the chains start from init; leave one of them out"
            if self.sampler != "scir":
                raise InputError(
                    f"init is a start for the sampler 'scir', not for {self.sampler!r}; leave one of them out"
                )
        for name in self.options.keys() & unused.keys():
            raise InputError(f"{name}={self.options[name]!r} has no effect: {unused[name]}")
        return options

    def _check_types(self) -> None:
        """Refuse values that no check of a number or a name would see."""
        if not isinstance(self.force, bool):
            raise InputError(f"force must be True or False, not {self.force!r:.80}")
        if not isinstance(self.sampler, str):
            raise InputError(f"sampler must be the name of a sampler, not {self.sampler!r:.80}")
        place = self.checkpoint
        if (
            place is not None
            and not isinstance(place, str | os.PathLike)
            and not hasattr(place, "checkpoints")
        ):
            raise InputError(f"checkpoint must be the path of a folder, not {place!r:.80}")
        if isinstance(place, str) and not place:
            raise InputError("checkpoint must be the path of a folder, not an empty text")
        if isinstance(place, str | os.PathLike) and "\0" in os.fspath(place):
            raise InputError(f"checkpoint must be the path of a folder: {place!r:.80} has a NUL character")

    def _check_hold_out(self) -> None:
        kind, share = self.held_out_kind, self.held_out
        if kind not in (None, *HOLD_OUT_KINDS):
            raise InputError(
                f"held_out_kind={kind!r:.60} (--held-out-kind): use {' or '.join(map(repr, HOLD_OUT_KINDS))}"
            )
        if isinstance(share, HeldOut):
            if kind is not None:
                raise InputError(
                    f"held_out_kind={kind!r} has no effect: held_out is a split that was made already; "
                    "give the kind to hold_out, or leave it out"
                )
            return
        number = isinstance(share, numbers.Real) and not isinstance(share, bool)
        if share is not None and not (number and 0 <= share < 1):
            raise InputError(
                "held_out must be a share of the links from 0 to below 1, such as 0.05, or a split that hold_out made, "
                f"not {share!r:.80}"
            )
        if share is not None and share != 0:
            check_share(share, kind or "balanced")
        elif kind is not None:
            check_share(0.5, kind)
            if share is not None:
                raise InputError(
                    f"held_out_kind={kind!r} (--held-out-kind) has no effect: nothing is held out; "
                    "give held_out a share above 0, or leave the kind out"
                )

    def _check_weight_law(self) -> None:
        law = self.weight_law
        if law is None:
            return
        if law not in WEIGHT_LAWS:
            raise InputError(
                f"weight_law (--weight-law) must be one of {', '.join(WEIGHT_LAWS)}, not {law!r:.60}"
            )
        if self.model not in ("popularity", "auto"):
            raise InputError(
                f"weight_law={law!r} (--weight-law) has no effect: the model {self.model!r} sees only whether there is "
                'a link; take model="popularity" (--model popularity), or leave the law out'
            )

    def _check_checkpoint(self) -> None:
        every = self.checkpoint_every
        if every is None:
            return
        if isinstance(every, bool) or not isinstance(every, float | int) or not 0 <= every < float("inf"):
            raise InputError(
                f"checkpoint_every must be a number of seconds, or 0 for no checkpoints, not {every!r}"
            )
        if self.checkpoint is None:
            raise InputError(
                f"checkpoint_every={every:g} (--checkpoint-every) has no effect: there is no folder for checkpoints; "
                "name one with checkpoint (-o), or leave it out"
            )


def default_chains(links: int) -> int:
    """Return the number of chains on a network of so many links.

    >>> default_chains(5_000), default_chains(20_000), default_chains(100_000), default_chains(10**6)
    (8, 4, 2, 1)
    """
    return next((chains for most, chains in DEFAULT_CHAINS if links <= most), 1)


def refuse_misnamed(options: Mapping[str, Any]) -> None:
    """Raise an `InputError` that suggests the right name of an argument of `fit`.

    >>> refuse_misnamed({"random_state": 1})
    Traceback (most recent call last):
    ...
    blockmix.errors.InputError: fit has no argument 'random_state'; did you mean seed=1?
    """
    for name, value in options.items():
        if name in _MEANT:
            shown = f"{value!r:.40}"
            raise InputError(f"fit has no argument {name!r}; did you mean {_MEANT[name]}={shown}?")


def _seed(value: Any) -> int:
    """Return a seed that the random numbers have bits for."""
    seed = whole_number("seed", value, 0)
    if seed >= 2**64:
        raise InputError(f"seed must be below 2**64, not {seed}")
    return seed


def _floats(eta: Any) -> tuple[float, float]:
    """Return the prior as floats: kernels are compiled anew for integers, which takes seconds."""
    try:
        link, non_link = (float(value) for value in eta)
    except (TypeError, ValueError):
        raise InputError(f"eta must be two positive numbers, not {eta!r}") from None
    return link, non_link
