"""Engine `memory` where nobody asks for frames: a system's steps over arrays, if it offers them.

Rewards, regret and the end of a run are here, the same for all systems: rewards come from the same
objects as those of machines, in the same order, and the coordinator's host makes the record from
what each agent would report.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
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
from posse.hosts.sources import Chance, Sources
from posse.measure.account import Account
from posse.measure.regret import Point, add_point
from posse.measure.traffic import Meter
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.control import LinkCount
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message, kind_name
from posse.protocol.wire import HEADER, encode, measure_payloads
from posse.results.record import RunRecord
from posse.seeds import MOST_RUNS
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
    began, sources = monotonic(), of_this_machine(lambda: 0)
    networks = [plan.network(number) for number in numbers]
    with own_code.aside():
        try:
            rows = _Rows(plan, numbers, sources)
            variant = "corrected" if plan.system.one_form else plan.spec.variant
            steps = make(ManyRuns(plan.spec, plan.parameters, numbers, networks, variant))
            rows.carry_out(steps)
            curves = {name: regret.curves() for name, regret in rows.regret.items()}
            hosts = [
                _end(plan, numbers, place, networks[place], sources, observe, rows, curves, steps)
                for place in range(len(numbers))
            ]
        except Declined:
            return None
        except PosseError:
            raise
        except (Exception, SystemExit) as error:
            raise RunFailed.from_reason(defect.report("the step", error, make)) from error
    records, taken = [], (monotonic() - began) / len(numbers)
    for host in hosts:
        assert host.record is not None
        host.record.elapsed_seconds = taken
        records.append(host.record)
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

    def __init__(self, plan: Plan, numbers: Sequence[int], sources: Sources) -> None:
        spec = plan.spec
        self._count = spec.arms.arm_count()
        arms: list[Arms] = []
        costs: dict[str, list[list[float]]] = {}
        for number in numbers:
            of_run = replace(sources, common={})
            for rank in range(spec.agents.count):
                chance = Chance(of_run, False, spec.seed, number, rank)
                arms.append(chance.arms(spec.arms, spec.agents.count, spec.base))
                against = plan.system.shape.regret_against
                for name, regret in chance.regret(spec.arms, spec.agents.count, against).items():
                    costs.setdefault(name, []).append(regret.costs(self._count))
        if any(len(rows) < len(arms) for rows in costs.values()):
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
        self.regret = {name: _Regrets(np.array(rows)) for name, rows in costs.items()}

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


def _end(
    plan: Plan,
    numbers: Sequence[int],
    place: int,
    network: Network,
    sources: Sources,
    observe: Observer,
    rows: _Rows,
    curves: dict[str, FloatArray],
    steps: Steps,
) -> CoordinatorHost:
    """Let the coordinator's host make the record of a run from what its agents would report."""
    agents = plan.spec.agents.count
    host = CoordinatorHost(plan, network, numbers[place], sources, observe)
    host.begin()
    host.outbox.clear()  # nobody hears `Begin`, but it is counted
    own = range(place * agents, (place + 1) * agents)
    answers = steps.answers()
    last = [control.Finished(int(answers[row])) for row in own]

    def say(rank: int, message: Message, number: int, now: int = steps.slots) -> None:
        frame = encode(message, host.serial, rank, number, float(now), 0)
        host.receive(rank, frame)

    # who observes the run hears how far it came: at first, and at the end
    for number, now in enumerate(sorted({SAY_EVERY, max(SAY_EVERY, steps.slots)})):
        if now <= steps.slots:
            say(0, control.SlotReached(), number, now)
    for rank, word in enumerate(last):
        say(rank, word, 2)
    for rank, row in enumerate(own):
        account = Account(plan.spec.arms.arm_count(), {})
        for release in steps.releases(row):
            account.disclosed(release)
        for note in steps.notes(row):
            line = plan.system.results.line(note, float(steps.slots))
            account.log.setdefault(note.table, []).append(line)
        report = control.Report(
            pulls=rows.pulls[row].astype("<i8").tobytes(),
            activations=steps.slots,
            slots=steps.slots,
            regret={name: float(regret.totals[row]) for name, regret in rows.regret.items()},
            curve={name: curve[row].tobytes() for name, curve in curves.items()},
            rewards=rows.rewards(row).astype("<f8").tobytes(),
            links=_links(rank, last[rank], steps.slots, steps.sent(row)),
            delays={},
            refused={},
            releases=account.releases,
            log=account.log,
            seconds={},
            resources=control.ResourceUse(0.0, 0, 0),
        )
        for number, part in enumerate(control.in_parts(report), 3):
            say(rank, part, number)
    return host


def _links(rank: int, last: control.Finished, slots: int, sent: Iterable[Sent]) -> list[LinkCount]:
    """What an agent sent, as its meter would count it."""
    reached = slots // SAY_EVERY
    said = [Sent(control.Finished, (COORDINATOR,), 1, measure_payloads([last])), *sent]
    if reached:
        size = reached * measure_payloads([control.SlotReached()])
        said.append(Sent(control.SlotReached, (COORDINATOR,), reached, size))
    meter = Meter()
    meter.add(
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
    )
    return meter.links()
