"""The loop asks once a sweep what comes next, and follows rank 0, whatever its own clock or plan."""

import numpy as np
import pytest

from blockmix import Graph
from blockmix.engines.contract import Flags, Solo
from blockmix.graph.split import no_hold_out
from blockmix.inference.interrupt import Terminated
from blockmix.inference.loop import Run
from blockmix.inference.plan import Plan
from blockmix.inference.position import Position
from blockmix.inference.progress import Silent
from blockmix.samplers.contract import Info


class Chain:
    """A chain that notes what it is asked to do."""

    def __init__(self):
        self.advanced, self.recorded = [], 0

    def advance(self, warm_up, samples):
        self.advanced.append((warm_up, samples))

    def record_last(self):
        self.recorded += 1

    def info(self):
        return Info(0.1, 7)

    def forecast(self):
        return np.zeros(0)


class Checkpoints:
    """Notes the sweeps at which a checkpoint is written."""

    resumable = True

    def __init__(self):
        self.saved = []

    def due(self):
        return True

    def save(self, chains, at, plan):
        self.saved.append((at.sweep, at.over))

    def update(self, report):
        pass


class Decided(Solo):
    """Another rank's decisions, by sweep; what this process proposes is only noted."""

    def __init__(self, decisions):
        self.decisions, self.proposed = decisions, []

    def decide(self, flags):
        self.proposed.append(flags)
        assert len(self.proposed) <= max(self.decisions), "the loop went on after the flag to stop"
        return self.decisions.get(len(self.proposed), Flags())


def run(comm, plan):
    chain, checkpoints = Chain(), Checkpoints()
    data = no_hold_out(Graph.from_edges([(0, 1)]))
    loop = Run([chain], data, plan, Silent(), checkpointer=checkpoints, comm=comm)
    return chain, checkpoints, lambda: loop.execute(Position(), 0.0)


def test_warm_up_checkpoints_evaluation_and_the_end_are_decided_elsewhere():
    """The plan here would sample from the first sweep and stop after the second; `due` would write every sweep."""
    decisions = {4: Flags(begin_sampling=True), 5: Flags(checkpoint=True), 7: Flags(stop=True, evaluate=True)}
    comm = Decided(decisions)
    chain, checkpoints, execute = run(comm, Plan(sweeps=2, warm_up=1))
    result = execute()
    assert chain.advanced == [(True, 1), (True, 2), (True, 3), (True, 4), (False, 1), (False, 2), (False, 3)]
    assert checkpoints.saved == [(5, False), (7, True)]
    assert result.position.trace()["sweep"].tolist() == [1, 2, 3, 7]
    assert (result.position.over, result.position.closed, result.interrupted) == (True, True, False)
    assert len(comm.proposed) == 7
    assert chain.recorded == 0


def test_what_this_process_would_do_is_proposed():
    comm = Decided({12: Flags(stop=True)})
    run(comm, Plan(sweeps=12, warm_up=3))[2]()
    assert [sweep for sweep, flags in enumerate(comm.proposed, 1) if flags.stop] == [12]
    # No answer begins the sampling, so it is proposed again.
    assert [sweep for sweep, flags in enumerate(comm.proposed, 1) if flags.begin_sampling] == list(
        range(3, 13)
    )
    assert [sweep for sweep, flags in enumerate(comm.proposed, 1) if flags.evaluate] == [12]
    assert all(flags.checkpoint for flags in comm.proposed)


def test_an_evaluation_that_is_due_anyway_is_not_asked_for_again():
    comm = Decided({10: Flags(stop=True)})
    run(comm, Plan(sweeps=10))[2]()
    assert not any(flags.evaluate for flags in comm.proposed)


@pytest.mark.parametrize("terminated", [False, True])
def test_an_interruption_of_another_rank_ends_this_one(terminated):
    flags = Flags(interrupted=True, evaluate=True, terminated=terminated)
    chain, checkpoints, execute = run(Decided({5: flags}), Plan(sweeps=100))
    if terminated:
        with pytest.raises(Terminated):
            execute()
    else:
        assert execute().interrupted
        # Still in warm-up: the last state is the only sample there is.
        assert chain.recorded == 1
    assert checkpoints.saved == [(5, False)]
