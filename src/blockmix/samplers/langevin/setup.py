"""What the settings of `sgmc` and `sgmc-m` mean for a network: its mini-batches, and how an update is made."""

from __future__ import annotations

from blockmix.graph.graph import Graph
from blockmix.graph.split import HeldOut
from blockmix.model import Model
from blockmix.samplers.data import node_concentrations
from blockmix.samplers.langevin.dynamics import Dynamics
from blockmix.samplers.langevin.options import LangevinOptions
from blockmix.samplers.minibatch import MiniBatches
from blockmix.tables.minibatch import Strata


def batches_of(data: HeldOut, options: LangevinOptions) -> MiniBatches:
    """Return the mini-batches that the settings ask for, (L1), (L11), (L12)."""
    return MiniBatches(
        data, options.batch_non_links, options.non_links_of == "network", options.scales == "printed"
    )


def dynamics_of(options: LangevinOptions, model: Model, graph: Graph, strata: Strata) -> Dynamics:
    """Return the settings of an update as kernels read them."""
    return Dynamics(
        options.neighbors, options.non_neighbors, strata, node_concentrations(model, graph),
        bool(options.preconditioned), options.expand, max(1, round(options.share * model.communities)),
        model.background is None and not options.fixed_background,
    )  # fmt: skip
