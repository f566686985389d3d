"""Engine `memory` where nobody asks for frames: a system's steps over arrays, if it offers them.

Rewards, regret and the end of a run are here, the same for all systems: rewards come from the same
objects as those of machines, in the same order, and the coordinator's host makes the record from
what each agent would report.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from time import monotonic

import numpy as np

from posse import defect, own_code
from posse.arms import Arms
from posse.arms.bernoulli import BernoulliArms
from posse.arms.buffer import READ_AHEAD
from posse.arms.gaussian import GaussianArms
from posse.clocks.immediate import SAY_EVERY
from posse.coordinator.host import CoordinatorHost
from posse.coordinator.setups import Observer, silent
from posse.errors import PosseError, RunFailed
from posse.measure.account import entered
from posse.measure.regret import Point, add_point
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.control import LinkCount
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import kind_name
from posse.protocol.wire import HEADER, measure_payloads
from posse.results.record import RunRecord
from posse.seeds import MOST_RUNS, Purpose, generator, generators
from posse.system.network import Network
from posse.system.steps import Declined, ManyRuns, Queues, Sent, Steps
from posse.wire.sources import of_this_machine

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
            rows = _Rows(plan, numbers)
            variant = "corrected" if plan.system.one_form else plan.spec.variant
            steps = make(ManyRuns(plan.spec, plan.parameters, numbers, networks, variant))
            rows.carry_out(steps)
            curves = {name: regret.curves() for name, regret in rows.regret.items()}
            records = [
                _record(plan, numbers, place, networks[place], observe, rows, curves, steps)
                for place in range(len(numbers))
            ]
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
        and plan.clock == "slots"
        and plan.system.server is None
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
        self._first = np.arange(len(arms)) * self._count
        self._pulls = np.zeros(len(arms) * self._count, dtype=np.int64)
        self._earned = np.zeros(len(self._pulls))
        self.regret = {
            name: _Regrets(np.concatenate([of_run[name] for of_run in costs])) for name in costs[0]
        }

    @property
    def pulls(self) -> IntArray:
        """How often each row pulled each arm, shape (rows, K)."""
        return self._pulls.reshape(-1, self._count)

    def rewards(self, row: int) -> FloatArray:
        """How many rewards of each arm a row was given, and their sum, shape (K, 2)."""
        return np.stack((self.pulls[row], self._earned.reshape(-1, self._count)[row]), axis=1)

    def carry_out(self, steps: Steps) -> None:
        """Move all rows through all slots."""
        for t in range(1, steps.slots + 1):
            arms = steps.choose(t)
            pulled = self._first + arms
            self._pulls[pulled] += 1
            for regret in self.regret.values():
                regret.pulled(pulled, t)
            rewards = self._rewards.take(pulled)
            self._earned[pulled] += rewards
            steps.learn(t, arms, rewards)


class _Regrets:
    """`Regret` of all rows, which pull at the same times: what a pull costs, shape (rows, K)."""

    def __init__(self, costs: FloatArray) -> None:
        self._costs = costs.ravel()
        self.totals = np.zeros(len(costs))
        self._points: list[Point[FloatArray]] = [(0.0, 0.0, self.totals)]
        self._step = 0.0

    def pulled(self, queues: IntArray, t: int) -> None:
        """Each row pulled the arm of its queue in slot t."""
        self.totals = self.totals + self._costs.take(queues)
        self._step = add_point(self._points, (float(t), float(t), self.totals), self._step)

    def curves(self) -> FloatArray:
        """The curve of each row, shape (rows, points, 3)."""
        curves = np.empty((len(self.totals), len(self._points), 3))
        curves[..., :2] = [point[:2] for point in self._points]
        curves[..., 2] = np.array([point[2] for point in self._points]).T
        return curves


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
    return [spec.arms.of(*of_agent) for of_agent in zip(means, streams, strict=True)], costs


def _record(
    plan: Plan,
    numbers: Sequence[int],
    place: int,
    network: Network,
    observe: Observer,
    rows: _Rows,
    curves: dict[str, FloatArray],
    steps: Steps,
) -> RunRecord:
    """Let the coordinator's host make the record of a run from what its agents would report."""
    agents, slots = plan.spec.agents.count, steps.slots
    sources = replace(of_this_machine(lambda: 0), common={}, carried=False)
    host = CoordinatorHost(plan, network, numbers[place], sources, observe)
    host.begin()
    for slot in sorted({min(SAY_EVERY, slots), slots}):  # who observes the run hears how far it is
        host.reached(float(slot))
    answers = steps.answers()[place * agents : (place + 1) * agents]

    def reports() -> Iterator[control.Report]:
        for rank, row in enumerate(range(place * agents, (place + 1) * agents)):
            log: dict[str, list[list[float]]] = {}
            for note in steps.notes(row):
                line = plan.system.results.line(note, float(slots))
                log.setdefault(note.table, []).append(line)
            yield control.Report(
                pulls=rows.pulls[row].astype("<i8").tobytes(),
                activations=slots,
                slots=slots,
                regret={name: float(regret.totals[row]) for name, regret in rows.regret.items()},
                curve={name: curve[row].tobytes() for name, curve in curves.items()},
                rewards=rows.rewards(row).astype("<f8").tobytes(),
                links=_links(rank, int(answers[rank]), slots, steps.sent(row)),
                delays={},
                refused={},
                releases=entered(steps.releases(row)),
                log=log,
                seconds={},
                resources=_NO_USE,
            )

    host.conclude([int(arm) for arm in answers], reports())
    assert host.record is not None
    return host.record


def _links(rank: int, answer: int, slots: int, sent: Iterable[Sent]) -> list[LinkCount]:
    """What an agent sent, as its meter would count it."""
    reached = slots // SAY_EVERY
    said = [Sent(control.Finished, (COORDINATOR,), 1, _size_of_last(answer)), *sent]
    if reached:
        said.append(Sent(control.SlotReached, (COORDINATOR,), reached, reached * _SIGN))
    return [
        LinkCount(
            rank,
            target,
            int(one.kind.plane),
            kind_name(one.kind),
            one.messages,
            one.payload_bytes,
            one.payload_bytes + one.messages * HEADER.size,
        )
        for one in said
        for target in one.targets
    ]


_NO_USE = control.ResourceUse(0.0, 0, 0)
_SIGN = measure_payloads([control.SlotReached()])


@lru_cache(maxsize=1 << 10)
def _size_of_last(answer: int) -> int:
    return measure_payloads([control.Finished(answer)])
