"""A judge of anybody's system: what posse's own must hold, each as a check with its finding.

    for finding in judge("greedy:SYSTEM"):
        print(finding)

It runs the system in this process and across processes, under drawn faults, with messages that fit
their types and mean nothing, and audits what it claims. It can refute, and proves nothing.
"""

import dataclasses
import math
import os
import random
import shlex
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from posse import api
from posse.audit.whole import Audit
from posse.defect import describe
from posse.engines import memory
from posse.errors import PosseError, RunFailed, SpecError
from posse.gates.decode import Packed, Undecodable
from posse.plan import Plan, Source, changed, prepare
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import Received
from posse.protocol.message import Message
from posse.results.record import RunRecord
from posse.security import noise
from posse.system import find_system
from posse.system.record import System
from posse.testing.simulator.check import result_of
from posse.testing.simulator.many import simulate

SEEDS, MESSAGES = 100, 60
"""Drawn faults, and messages that mean nothing, that a system is tried with."""

_RUNS = 200
"""Runs on each of two data sets, if they are enough to refute the claim."""

_FILL: dict[str, Any] = {"horizon": 100, "epsilon": 1.0, "v": 1.2, "gamma": 1}
"""Parameters that a system may require, in a run that the judge makes itself."""

_MOST = {"agents.count": 100, "parameters.horizon": 25_600}
"""Up to here such a run is enlarged, until its system takes it and it spends what it claims."""


class JudgeFinding(NamedTuple):
    """What one check found: `held` is None if it does not apply, and `how` says why, or what broke.

    `command` repeats the check.
    """

    check: str
    held: bool | None
    how: str
    command: str

    @property
    def word(self) -> str:
        """What became of it."""
        return {True: "held", False: "BROKEN", None: "not applicable"}[self.held]

    def __str__(self) -> str:
        again = f"\n    {self.command}" if self.held is False else ""
        return f"{self.check:<38} {self.word}{': ' * bool(self.how)}{self.how}{again}"


def summary(findings: Collection[JudgeFinding]) -> str:
    """How many checks broke, of how many that applied."""
    broken, untried = (sum(each.held is held for each in findings) for held in (False, None))
    return f"{broken} of {len(findings) - untried} broken, {untried} not applicable"


def small_run(name: str) -> dict[str, Any]:
    """A small run of the system of this name, as plain data; `SpecError` if it needs a run file."""
    run: dict[str, Any] = {
        "system": name,
        "seed": 1,
        "agents": {"count": 6},
        "arms": {"kind": "bernoulli", "means": [0.8, 0.5, 0.3]},
        "engine": {"kind": "memory"},
    }
    system = find_system(name, [os.getcwd()])
    fields = msgspec.structs.fields(system.parameters)
    required = [field.name for field in fields if field.required]
    if unknown := [field for field in required if field not in _FILL]:
        raise SpecError("parameters", f"needs {', '.join(unknown)}: judge a run file that has them")
    run["parameters"] = {field: _FILL[field] for field in required}
    if system.wiring is not None:
        run["topology"] = {"kind": "ring"}
    if system.shares_arms:
        run["agents"]["count"] = 2
    while (more := _lacks(run)) and more[1] <= _MOST[more[0]]:
        table, key = more[0].split(".")
        run[table][key] = more[1]
    return run


def _lacks(run: dict[str, Any]) -> tuple[str, int] | None:
    """What this run has too little of, and more of it; None if it is long and large enough."""
    most = _MOST["parameters.horizon"]
    horizon = "parameters.horizon", 4 * run["parameters"].get("horizon", most)
    try:
        plan = prepare(run)
    except SpecError as error:
        more = {"agents.count": ("agents.count", 4 * run["agents"]["count"]), horizon[0]: horizon}
        return more.get(error.path)
    return horizon if _tells_nothing(plan) else None


def _tells_nothing(plan: Plan) -> bool:
    """Whether a run ends before it sends what it may send, or spends what it claims."""
    with suppress(RunFailed):  # a check says why
        record = memory.run(plan, 0)
        speaks = plan.system.agent.hears or plan.system.server_hears
        silent = bool(speaks) and not _sent(record)
        return silent or (bool(plan.reward_claim.epsilon) and not _spent(record))
    return False


def _sent(record: RunRecord) -> int:
    """The messages of a run that were not the lab's own."""
    planes = record.communication.data, record.communication.world
    return sum(plane.messages or 0 for plane in planes)  # None in the field alone


def _spent(record: RunRecord) -> float:
    """What its most exposed reward cost, at the claim's δ."""
    return max((record.privacy and record.privacy.spent_per_agent) or [], default=0.0)


CHECKS: dict[str, Callable[["Judge"], Iterator[str]]] = {}
"""Each check by its name: it yields how it was broken, or raises `NotTried`."""


class NotTried(Exception):
    """A check that does not apply; its text says why."""


def _check(name: str) -> Callable[[Callable[["Judge"], Iterator[str]]], Any]:
    def named(check: Callable[["Judge"], Iterator[str]]) -> Any:
        CHECKS[name] = check
        return check

    return named


@dataclasses.dataclass
class Judge:
    """What is judged: a plan of one run in the lab, and the words that name it in commands."""

    plan: Plan
    words: str
    seeds: int = SEEDS
    messages: int = MESSAGES
    jobs: int | None = 1

    def findings(self, only: str = "") -> Iterator[JudgeFinding]:
        """Each check with what it found; `only` those whose names have this text."""
        for name, check in CHECKS.items():
            if only in name:
                command = f"posse judge {self.words} --only {shlex.quote(name)}"
                yield self._finding(name, check, command)

    def _finding(
        self, name: str, check: Callable[["Judge"], Iterator[str]], command: str
    ) -> JudgeFinding:
        try:
            how = next(iter(check(self)), None)
        except NotTried as error:
            return JudgeFinding(name, None, str(error), command)
        except PosseError as error:
            return JudgeFinding(name, False, str(error).split("\n")[0], command)
        how, _, better = (how or "").partition("\n")
        return JudgeFinding(name, not how, how, better or command)

    def undisturbed(self) -> dict[str, Any]:
        """What the run ends with, of which no clock has a part."""
        return result_of(memory.run(self.plan, 0))


def judge(
    source: Source,
    *,
    seeds: int = SEEDS,
    messages: int = MESSAGES,
    jobs: int | None = 1,
    only: str = "",
    words: str = "",
) -> Iterator[JudgeFinding]:
    """Judge a system: `module:SYSTEM`, of which a small run is made, or a run file's.

    `seeds` faults are drawn, and `messages` that mean nothing; `only` checks with this in their
    names. `words` name the source in commands. `SpecError` if it is for real rewards.
    """
    named = isinstance(source, str) and not source.endswith(".toml")
    run = small_run(str(source)) if named else source
    plan = changed(run, {"repeat": 1, "engine.kind": "memory"})
    if plan.field:
        raise SpecError("mode", "is 'field'; a judge uses rewards of its own: set mode = 'lab'")
    yield from Judge(plan, words or str(source), seeds, messages, jobs).findings(only)


def _differ(one: dict[str, Any], other: dict[str, Any]) -> str:
    """The first keys whose values differ."""
    keys = [key for key in one if one[key] != other.get(key)]
    return ", ".join(keys[:4])


@_check("repeats by its seed")
def _repeats(judged: Judge) -> Iterator[str]:
    first = judged.undisturbed()
    for again in range(3):
        if keys := _differ(first, judged.undisturbed()):
            yield f"run {again + 2} of one seed differs from the first in {keys}"


@_check("both engines give one run")
def _engines(judged: Judge) -> Iterator[str]:
    expected = judged.undisturbed()
    plan = changed(judged.plan, {"engine.kind": "processes"})
    for again in range(2):
        with api.make_process_engine(plan) as engine:
            record: RunRecord = engine.run(plan, 0)
        if keys := _differ(expected, result_of(record)):
            yield f"across processes, in try {again + 1}, it differs in {keys}"


@_check("kills, cuts and losses change nothing")
def _faults(judged: Judge) -> Iterator[str]:
    for trial in simulate(judged.plan, seeds=range(judged.seeds), jobs=judged.jobs):
        if trial.violations:
            broken = trial.violations[0]
            faults = "; ".join(map(str, trial.faults))
            run = "" if ".toml" not in judged.words else f" {judged.words}"
            again = f"posse simulate{run} {trial.command}"
            where = f"\n{again}" if run else ""
            yield f"seed {trial.seed}, {broken.invariant}: {broken.how} ({faults}){where}"


class _Probed:
    """A machine that is handed a bad message before the honest one number `at`."""

    def __init__(self, machine: Any, at: int, draws: random.Random, log: list[str]) -> None:
        self._machine, self._at, self._draws, self._log = machine, at, draws, log

    def __getattr__(self, name: str) -> Any:
        if name in ("awaited", "keep"):  # so that every message comes by `handle`
            raise AttributeError(name)
        return getattr(self._machine, name)

    def handle(self, event: Any, now: float) -> Any:
        """As the machine does."""
        if isinstance(event, Received):
            self._at -= 1
            if self._at == -1 and (bad := spoilt(event.message, self._draws)) is not None:
                return self._try(Received(event.sender, bad), event, now)
        return self._machine.handle(event, now)

    def _try(self, bad: Received, honest: Received, now: float) -> Any:
        """Hand over the bad message, and the honest one if it was refused."""
        try:
            effects = self._machine.handle(bad, now)
        except RemoteProtocolError:
            self._log.append("refused")
            return self._machine.handle(honest, now)
        except Exception as error:
            raise RunFailed(
                f"{bad.message!r:.120} of a peer raises {describe(error)}, not RemoteProtocolError"
            ) from error
        self._log.append(f"taken: {bad.message!r:.120}")
        return effects


def spoilt(message: Message, draws: random.Random) -> Message | None:
    """A message of the same kind in which one field is another that fits its type, if one does."""
    kind = type(message)
    for _ in range(8):
        name = draws.choice(kind.__struct_fields__ or ("",))
        if not name:
            return None
        value = getattr(message, name)
        bad = msgspec.structs.replace(message, **{name: _other(value, draws)})
        try:
            decoded: Message = Packed[Message](kind).read(msgspec.msgpack.encode(bad))
        except (Undecodable, TypeError, OverflowError):
            continue
        if decoded != message:
            return decoded
    return None


def _other(value: Any, draws: random.Random) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return draws.choice((-1, 0, value + 1, value - 1, value + 10, 99_999, 1 << 40))
        case float():
            return draws.choice((math.nan, math.inf, -1e300, value + 1))
        case str() | bytes():
            return draws.choice((value[:0], value[:-1], value * 2))
        case list() | tuple():
            kept = list(value)
            many = [*kept, *kept, *kept[:1]]
            one = [*kept[:-1], _other(kept[-1], draws)] if kept else []
            return type(value)(draws.choice(([], kept[:-1], many, one)))
    return value


@_check("a bad message changes nothing")
def _refusals(judged: Judge) -> Iterator[str]:
    expected, plan = judged.undisturbed(), judged.plan
    if not plan.system.agent.hears and not plan.system.server_hears:
        raise NotTried("its agents exchange no messages")
    for number in range(judged.messages):
        draws, log = random.Random(number), list[str]()
        probed = dataclasses.replace(plan, system=_probed(plan.system, draws, log))
        try:
            record = memory.run(probed, 0)
        except RunFailed as error:
            why = str(error).split("\n")[0]
            if not log or "has a defect" in why:  # one that was taken may make others wait for ever
                yield f"message {number}, {''.join(log)}: {why}"
        else:
            if log == ["refused"] and (keys := _differ(expected, result_of(record))):
                yield f"message {number} was refused, and yet the run differs in {keys}"


def _probed(system: System, draws: random.Random, log: list[str]) -> System:
    """The system with one machine that is handed a bad message."""
    at = int(draws.expovariate(0.2))
    serves = system.server is not None and (not system.agent.hears or draws.random() < 0.5)
    role: Any = system.server if serves else system.agent
    rank = draws.randrange(2)

    def make(context: Any) -> Any:
        machine = role.make(context)
        chosen = serves or context.rank == rank
        return _Probed(machine, at, draws, log) if chosen else machine

    part = {"server" if serves else "agent": dataclasses.replace(role, make=make)}
    shape = dataclasses.replace(system.shape, **part)
    return dataclasses.replace(system, shape=shape)


@_check("steps over arrays make the records of machines")
def _steps(judged: Judge) -> Iterator[str]:
    plan = judged.plan
    if plan.system.steps is None:
        raise NotTried("it offers none")
    machines = memory.run(plan, 0, tap=lambda *frame: None)  # who hears frames needs machines
    if keys := _differ(judged.undisturbed(), result_of(machines)):
        yield f"they differ in {keys}"


@_check("no agent spends more than is claimed")
def _spends(judged: Judge) -> Iterator[str]:
    claim = judged.plan.reward_claim
    if claim.epsilon is None:
        raise NotTried("it claims no ε")
    record = memory.run(judged.plan, 0)
    spent = _spent(record)
    if claim.epsilon and not spent:
        if not _sent(record):
            raise NotTried("nothing was sent or spent in this run; judge a longer one, in a file")
        yield f"it claims ε = {claim.epsilon:.4g}, and its agents disclose no release"
    if spent > claim.epsilon * (1 + 1e-9):
        yield f"an agent spent ε = {spent:.4g}, and {claim.epsilon:.4g} is claimed"


@_check("an audit does not refute its claim")
def _audited(judged: Judge) -> Iterator[str]:
    claim = judged.plan.reward_claim
    if claim.mechanism == "none" or (claim.epsilon is None and claim.guess is None):
        raise NotTried("it claims nothing that an audit tests")
    names = noise.names() if noise.is_here() else ""
    audit = Audit(plan=judged.plan, runs=_RUNS, jobs=judged.jobs, noise=names)
    if names and audit.hopeless:  # counting takes minutes; coupled runs may refute any claim
        audit = dataclasses.replace(audit, runs=0)
    document = audit.document()
    if document.word == "refuted":
        yield f"refuted: {document.says}"
