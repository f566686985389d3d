"""Engine `memory` where nobody asks for frames: a system's steps over arrays, if it offers them.

Rewards, regret and the end of a run are here, the same for all systems: rewards come from the same
objects as those of machines, in the same order, and the coordinator's host makes the record from
what each agent would report.
"""

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np

from posse import defect, own_code
from posse.arms import Arms
from posse.arms.bernoulli import BernoulliArms
from posse.arms.buffer import READ_AHEAD
from posse.arms.gaussian import GaussianArms
from posse.clocks.immediate import SAY_EVERY
from posse.coordinator.setups import Observer, silent
from posse.engines.crowd import CountedCrowd, host_of
from posse.engines.groups import CountedGroups
from posse.engines.tally import Tally
from posse.engines.turns import CountedTurns
from posse.errors import PosseError, RunFailed
from posse.measure.account import entered
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import COORDINATOR
from posse.results.record import RunRecord
from posse.seeds import MOST_RUNS, Purpose, generator, generators
from posse.system.network import Network
from posse.system.steps import Declined, GroupStep, ManyRuns, Queues, RunStep, Steps, TurnStep

FEWEST_ROWS = 4
"""With fewer rows machines are as fast: NumPy takes as long for one row as for some dozens."""

_MOST_ROWS, _MOST_QUEUES = 2_048, 1 << 15
"""Agents, and arms of agents, that move together: more are no faster, and take memory."""


def together(plan: Plan, numbers: Sequence[int], parts: int = 1) -> Iterator[Sequence[int]]:
    """The numbers of runs that move together, for as many processes in `parts` or more.

    Each run is by itself if steps are not used.
    """
    size = 1
    if _may_step(plan):
        rows = min(_MOST_ROWS, _MOST_QUEUES // plan.spec.arms.arm_count())
        most = min(rows // plan.spec.agents.count, MOST_RUNS)
        size = max(1, min(most, -(-len(numbers) // parts)))
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]


def run(plan: Plan, numbers: Sequence[int], observe: Observer = silent) -> list[RunRecord] | None:
    """The records of these runs, moved together; None if machines must make them."""
    make = plan.system.steps
    if make is None or not _may_step(plan) or len(numbers) * plan.spec.agents.count < FEWEST_ROWS:
        return None
    began = monotonic()
    networks = [plan.network(number) for number in numbers]
    with own_code.aside():
        try:
            variant = "corrected" if plan.system.one_form else plan.spec.variant
            steps = make(ManyRuns(plan.spec, plan.parameters, numbers, networks, variant))
            if isinstance(steps, TurnStep) is (plan.clock == "slots"):
                return None
            if isinstance(steps, GroupStep) is not plan.system.shares_arms:
                return None
            if isinstance(steps, GroupStep):
                groups = CountedGroups(plan, networks, numbers, observe)
                steps.carry_out(groups)
                records = list(groups.records())
            elif isinstance(steps, Steps):
                records = list(_Rows(plan, numbers).carry_out(steps, networks, observe))
            else:
                records = []
                for number, network in zip(numbers, networks, strict=True):
                    step: Any = make(
                        ManyRuns(plan.spec, plan.parameters, [number], [network], variant)
                    )
                    records.append(_alone(plan, network, number, observe, step))
        except Declined:
            return None
        except PosseError:
            raise
        except (Exception, SystemExit) as error:
            raise RunFailed.from_reason(defect.report("the step", error, make)) from error
    for record in records:
        record.elapsed_seconds = (monotonic() - began) / len(numbers)
    return records


def _may_step(plan: Plan) -> bool:
    """Whether nothing but the numbers of frames is asked for, and rewards can be drawn ahead."""
    spec = plan.spec
    return (
        plan.system.steps is not None
        and not (spec.engine.plain or spec.engine.sign or plan.field or spec.network)
        and plan.clock != "wall"
        and isinstance(spec.arms, BernoulliArms | GaussianArms)
    )


class _Rows:
    """What each agent of each run pulls, gets and loses; a row each, as in `ManyRuns`."""

    def __init__(self, plan: Plan, numbers: Sequence[int]) -> None:
        spec = plan.spec
        self._count = spec.arms.arm_count()
        arms, costs = [], []
        for number in numbers:
            made, of_run = rewards_of(plan, number)
            arms += made
            costs.append(of_run)
        if any(of_run.keys() != costs[0].keys() for of_run in costs):
            raise Declined  # the means of some runs differ between agents, and those of others not
        self._rewards = Queues(
            len(arms) * self._count,
            lambda queue, n: arms[queue // self._count].draw(queue % self._count, n),
            READ_AHEAD,
            "u1" if getattr(arms[0], "binary", False) else "f8",
        )
        self._plan, self._numbers = plan, numbers
        self._tally = Tally(
            {name: np.concatenate([of_run[name] for of_run in costs]) for name in costs[0]}
        )

    def carry_out(
        self, steps: Steps, networks: Sequence[Network], observe: Observer
    ) -> Iterator[RunRecord]:
        """Move all rows through all slots; the record of each run."""
        for t in range(1, steps.slots + 1):
            arms = steps.choose(t)
            pulled = self._tally.first + arms
            rewards = self._rewards.take(pulled)
            self._tally.pulled(pulled, rewards)
            steps.learn(t, arms, rewards)
        answers = [int(arm) for arm in steps.answers()]
        for place, network in enumerate(networks):
            host = host_of(self._plan, network, self._numbers[place], observe)
            for slot in sorted({min(SAY_EVERY, steps.slots), steps.slots}):
                host.reached(float(slot))  # who observes the run hears how far it is
            agents = self._plan.spec.agents.count
            own = range(place * agents, (place + 1) * agents)
            reports = (self._report(rank, row, answers[row], steps) for rank, row in enumerate(own))
            for rank, row in enumerate(own):
                host.finished(rank, answers[row])
            yield host.conclude(reports)

    def _report(self, rank: int, row: int, answer: int, steps: Steps) -> control.Report:
        log: dict[str, list[list[float]]] = {}
        for note in steps.notes(row):
            line = self._plan.system.results.line(note, float(steps.slots))
            log.setdefault(note.table, []).append(line)
        sent, releases = steps.sent(row), entered(steps.releases(row))
        return self._tally.report(rank, row, answer, sent, releases, log)


def _alone(
    plan: Plan, network: Network, number: int, observe: Observer, step: Steps | RunStep | TurnStep
) -> RunRecord:
    """The record of a run that moves by itself."""
    run = plan, network, number, observe, *rewards_of(plan, number)
    if isinstance(step, RunStep):
        crowd = CountedCrowd(*run)
        return crowd.finish(step.carry_out(crowd))
    assert isinstance(step, TurnStep)
    turns = CountedTurns(*run)
    step.carry_out(turns)
    return turns.record()


def rewards_of(plan: Plan, number: int) -> tuple[list[Arms], dict[str, FloatArray]]:
    """The arms of each agent of a run, and what a pull of each costs, by reference of the regret.

    Costs have shape (agents, K), as `Chance.regret` has them for one agent.
    """
    spec, agents = plan.spec, plan.spec.agents.count
    assert isinstance(spec.arms, BernoulliArms | GaussianArms)
    means = spec.arms.table(agents, generator(spec.seed, number, COORDINATOR, Purpose.INSTANCE))
    streams = generators(spec.seed, number, agents, Purpose.REWARDS)
    own, average = (m.max(axis=-1, keepdims=True) - m for m in (means, means.mean(axis=0)))
    costs = {"regret": np.broadcast_to(average, own.shape)}
    if plan.system.shape.regret_against == "own":
        costs = {"regret": own}
    elif (means != means[0]).any():
        costs["regret_local"] = own
    return [spec.arms.with_means(*of_agent) for of_agent in zip(means, streams, strict=True)], costs
