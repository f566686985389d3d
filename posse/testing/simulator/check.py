"""What must hold of every simulated run, and trials of it: seeds, faults, shrinking."""

import functools
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import msgspec

from posse import api
from posse.arms import LiveArms
from posse.engines import memory
from posse.engines.simulated.cluster import FIRST_STRANGER, SimulatedCluster, TraceEvent
from posse.engines.simulated.network import is_ipc
from posse.engines.simulated.schedule import START
from posse.engines.simulated.visitors import replayed
from posse.measure.numbers import counted
from posse.plan import Plan, decode_plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.report.picture import Arrow, Band, Mark, picture
from posse.results.record import RunRecord
from posse.spec.runfile import EngineSpec, RunSpec
from posse.testing.simulator import undisturbed
from posse.testing.simulator.faults import (
    DAMAGES,
    DISKS,
    FOR_EVER,
    KILLS,
    KINDS,
    LINKS,
    SLOWS,
    STRANGERS,
    HostileFault,
    InjectedFault,
    JoinMode,
    KeyFault,
    Nemesis,
    StartedFault,
    draw,
    draw_for_ever,
    draw_mode,
    draw_of_keys,
    draw_of_locks,
    draw_per_process,
    on_one_machine,
    one_by_one,
    possible,
    started,
    touched,
)
from posse.testing.simulator.field import SYSTEMS as FIELD_SYSTEMS
from posse.testing.simulator.field import breaches, field_plan, write_logs
from posse.testing.simulator.knobs import draw_forwarded, draw_knobs, split, turned
from posse.testing.simulator.said import untrue
from posse.testing.small import SMALL
from posse.wire.sockets import LINK_DEADLINE

AFTER_FAULTS = 20.0
"""Seconds, of virtual time, within which a run that survives its faults ends after the last one."""

AT_MOST = 1_500.0
"""Seconds within which every process ends, whatever happened: all the times in docs/lost.md."""

MOST_EVENTS = 200_000
"""More than that is no run of the small sizes that are tried."""

_NEARLY = 5.0
"""Seconds before a deadline from which on an agent may be late for it."""

_MOST_WAITING, _ASKED = 50, 2.5
"""Messages that a socket without a connection keeps in the small runs that are tried: sessions keep
what is sent, and ask nobody meanwhile. Of a second in which an end cannot know that the other is
gone there are as many more: how often a session asks, with the oldest frame."""

_MOST_AGENTS = 8
_NAMED_PERSONS = 0.2
"""How many seeds of the field name persons."""
_TWICE = 0.15
"""How many seeds have two runs, one after the other by the same processes."""
_SHORT_DEADLINE = 20.0
_SHOWN = 40
"""Messages in a picture."""

_NAMED = re.compile(r"\bagents? ((?:\d+(?:, | and )?)+)|\blinks? (\d+)–(\d+)")
_REVOKED = re.compile(r"the key of agent (\d+) was revoked")
_READ_WITHIN = 5.0
"""Seconds, of virtual time, within which a coordinator that runs reads the allowlist again."""
_OF_JOINING = {"Refused", "Whose", "Unknown", "subscription"}
"""What anybody may be told: nothing of the run."""
_OPTIONAL = ("elapsed_seconds", "resources", "delay", "restarts", "refused")


class Violation(msgspec.Struct, frozen=True):
    """An invariant, by its name, and how it was broken."""

    invariant: str
    how: str


class SimulatedTrial(msgspec.Struct, frozen=True):
    """One seed: its faults, what was violated, and all that happened."""

    system: str
    seed: int
    durable: bool
    faults: list[InjectedFault]
    violations: list[Violation]
    events: list[TraceEvent]
    seconds: float

    @property
    def command(self) -> str:
        """The options of `posse simulate` that replay this trial."""
        return f"--seed {self.seed} --faults '{msgspec.json.encode(self.faults).decode()}'"


def result_of(record: RunRecord) -> dict[str, Any]:
    """What must be equal in an undisturbed and in a disturbed run: all that no clock measured."""
    document = record.document()
    for name in _OPTIONAL:
        document.pop(name, None)
    traffic = document["communication"]
    del traffic["control"], traffic["socket_bytes"]
    traffic.pop("forwarded", None)
    return document


def _plainest(spec: RunSpec) -> bytes:
    """A specification whose undisturbed run is that of `spec`, encoded: the same of many."""
    deadline = max(spec.engine.deadline, EngineSpec().deadline)
    plain = {"durable": False, "restarts": 0, "agents_per_process": 1}
    engine = msgspec.structs.replace(spec.engine, deadline=deadline, **plain)
    return msgspec.msgpack.encode(msgspec.structs.replace(spec, engine=engine))


@functools.lru_cache(maxsize=64)
def _undisturbed(encoded: bytes, number: int, single: tuple[int, ...] = ()) -> dict[str, Any]:
    """What a run ends with; the agents `single` draw other rewards, as they draw them singly."""
    if not single:
        return result_of(memory.run(decode_plan(encoded), number))
    cluster = _cluster(decode_plan(encoded), 0)
    try:
        for rank in single:
            cluster.set(rank, "one_by_one", 1.0)
        cluster.run(cluster.schedule.now + AT_MOST)
    finally:
        cluster.close()
    return result_of(cluster.records[number])


@functools.lru_cache(maxsize=64)
def course(
    encoded: bytes, mode: JoinMode
) -> tuple[int, tuple[tuple[int, int], ...], tuple[Violation, ...]]:
    """The undisturbed run: how many frames come, over which links, and what is wrong even so."""
    plan = decode_plan(encoded)
    cluster = _cluster(plan, 0, mode=mode)
    try:
        cluster.run(cluster.schedule.now + AT_MOST)
    finally:
        cluster.close()
    came = [event for event in cluster.events if event.what == "came"]
    links = {(min(e.source, e.target), max(e.source, e.target)) for e in came}
    timed = isinstance(plan.spec.arms, LiveArms) or plan.spec.network is not None
    wrong = () if timed else tuple(Violation(*each) for each in undisturbed.amiss(cluster))
    return len(came), tuple(sorted(links)), wrong


def _cluster(
    plan: Plan, seed: int, *, keyed: bool = False, mode: JoinMode = "apart"
) -> SimulatedCluster:
    here, starts = mode == "here", mode == "started"
    cluster = SimulatedCluster(plan, seed, api.serve, keyed=keyed, ipc=here, starts=starts)
    if plan.field:
        write_logs(cluster)
    return cluster


@functools.cache
def own_plan(seed: int) -> Plan:
    """The run of one of posse's own systems whose turn it is.

    Of four rounds one has no journals, two have, and one is of those that can be in the field. In
    every other four the deadline is shorter than what faults may last. Some have two runs, in the
    lab, or name persons, in the field.
    """
    names = [name for name, run in SMALL.items() if run["agents"]["count"] <= _MOST_AGENTS]
    turn = seed // len(names)
    engine: dict[str, Any] = {"kind": "processes"}
    if turn // 4 % 2:
        engine["deadline"] = _SHORT_DEADLINE
    if turn % 4 == 3:
        persons = random.Random(f"persons {seed}").random() < _NAMED_PERSONS
        return field_plan(FIELD_SYSTEMS[seed % len(FIELD_SYSTEMS)], engine, persons=persons)
    name = names[seed % len(names)]
    repeat = 1 + (random.Random(f"runs {seed}").random() < _TWICE)
    engine["durable"] = turn % 4 != 0
    return prepare({"system": name, **SMALL[name], "engine": engine, "repeat": repeat})


def attempt(
    plan: Plan,
    seed: int,
    faults: Sequence[InjectedFault] | None = None,
    kinds: Sequence[str] = KINDS,
) -> SimulatedTrial:
    """Try one seed of a plan; `faults` instead of those that the seed draws.

    The seed draws whether there are keys; faults that need them are drawn with all `kinds` only. It
    also draws whether all are on one machine, if the faults that are given can happen there, and
    which of the code's constants have another value.
    """
    settings, faults = split(faults)
    mode = draw_mode(seed)
    own = get_args(StartedFault) if kinds == KINDS else ()
    asked = [*kinds, *own] if faults is None else [fault.what for fault in faults]
    can = possible(mode, asked)
    live = isinstance(plan.spec.arms, LiveArms)
    alone = mode == "started" and (plan.field or live or plan.spec.network is not None)
    if not can or (faults is not None and can != asked) or alone:
        mode, can = "apart", possible("apart", asked)
    if mode == "started":
        plan = started(plan, seed)
    encoded, agents = _plainest(plan.spec), plan.spec.agents.count
    frames, links, even_so = course(encoded, mode)
    of_keys = None if mode == "started" else draw_of_keys(seed, agents, frames)
    if faults is None:
        settings = _draw_settings(plan, seed, mode, keyed=of_keys is not None) * (kinds == KINDS)
        apart = [*(of_keys or ()), *draw_of_locks(seed, agents, frames)]
        faults = draw(seed, agents, frames, links, can)
        faults += draw_for_ever(seed, agents, frames, links, can) + apart * (kinds == KINDS)
    if mode != "apart":
        faults = on_one_machine(faults, agents)
    need_keys = any(
        fault.what in (*get_args(KeyFault), "forwarded") for fault in [*faults, *settings]
    )
    cluster = _cluster(plan, seed, keyed=need_keys or of_keys is not None, mode=mode)
    cluster.forwarded = frozenset(r for s in settings if s.what == "forwarded" for r in s.ends)
    cluster.per_process = draw_per_process(seed, agents)
    base = cluster.schedule.random.choice((1e-4, 1e-3, 2e-2))
    cluster.network.base.delay = base
    cluster.network.base.jitter = base / 2
    try:
        nemesis = Nemesis(cluster, faults)
        slow = any(fault.what in ("slow arms", "bandwidth", "slow peer") for fault in faults)
        slow |= live  # orders wait for rewards that never come
        soon = AT_MOST if slow or not survives(faults, cluster) else AFTER_FAULTS
        soon += 20 * base * frames

        def late() -> bool:
            # a coordinator that came late waits for agents to join, and the others for it; all wait
            # for an agent that left before it was let in
            passed = cluster.schedule.now - nemesis.quiet_at
            if passed <= min(soon, AT_MOST):
                return False
            within = soon if cluster.is_up(COORDINATOR) and not cluster.came_late else AT_MOST
            return passed > within and (passed > AT_MOST or not _turned_away(cluster, faults))

        with turned(settings):
            cluster.run(math.inf, lambda: late() or len(cluster.events) > MOST_EVENTS)
        expected = {
            n: _expected(plan, encoded, n, cluster, faults) for n in range(plan.spec.repeat)
        }
        violations = [*even_so, *_violations(cluster, faults, expected)]
        if cluster.went_back and all(fault.what == "journal older" for fault in faults):
            violations += _unnamed(cluster, cluster.went_back)
    finally:
        cluster.close()
    seconds, all_faults = cluster.schedule.now - START, [*faults, *settings]
    return SimulatedTrial(
        plan.spec.system, seed, cluster.durable, all_faults, violations, cluster.events, seconds
    )


def _draw_settings(plan: Plan, seed: int, mode: JoinMode, *, keyed: bool) -> list[InjectedFault]:
    """What is otherwise for all of the run: constants of the code, agents without an inbox."""
    meets = keyed and mode == "apart" and plan.system.wiring is not None
    return draw_knobs(seed) + (draw_forwarded(seed, plan.spec.agents.count) if meets else [])


def _expected(
    plan: Plan,
    encoded: bytes,
    number: int,
    cluster: SimulatedCluster,
    faults: Sequence[InjectedFault],
) -> dict[str, Any] | None:
    """What a run must end with; None where others' timing, or real rewards, have a say in it."""
    if not isinstance(plan.spec.arms, LiveArms):
        return None if plan.field else _undisturbed(encoded, number, one_by_one(faults))
    if plan.clock == "wall" or number not in cluster.records:
        return None
    document = result_of(replayed(plan, cluster.doors, cluster.folder))
    del document["privacy"]
    return document


def survives(faults: Sequence[InjectedFault], cluster: SimulatedCluster) -> bool:
    """Whether a run must end as if these faults had not been."""
    if any(fault.lasts >= FOR_EVER for fault in faults):
        return False
    if any(fault.what in get_args(HostileFault) for fault in faults):
        return False
    deadline = cluster.plan.spec.engine.deadline
    of_system = getattr(cluster.plan.parameters, "deadline", math.inf)  # it has one of its own
    if cluster.starts or is_ipc(cluster.address):  # who is stopped is not away, but late
        within = min(deadline, of_system) - _NEARLY
        if sum(fault.lasts for fault in faults if fault.what == "stop") > within:
            return False
    if cluster.starts:
        return _starts_again(faults, cluster)
    return not any(
        fault.what in DAMAGES | {"revoked key"}
        or (fault.what == "queue full" and fault.lasts >= min(deadline / 4, of_system - _NEARLY))
        or (fault.what == "power off" and cluster.durable and not cluster.plan.field)
        # in the field it keeps a capture and its orders: what crosses the wire unseen is no run
        or (fault.what in DISKS and cluster.plan.field and COORDINATOR in fault.ends)
        or (fault.what in KILLS and not cluster.durable and set(fault.ends) != {COORDINATOR})
        for fault in faults
    )


def _starts_again(faults: Sequence[InjectedFault], cluster: SimulatedCluster) -> bool:
    """Whether a coordinator that starts its agents itself starts again all that ended."""
    engine, kills = cluster.plan.spec.engine, Counter[int]()
    for fault in faults:
        if fault.what in DISKS and cluster.durable:
            return False
        if fault.what == "starter killed":
            return False
        if fault.what in KILLS and COORDINATOR not in fault.ends:  # else all begins anew
            together = cluster.mates(fault.ends), cluster.mates(fault.ends, at_first=True)
            kills.update({*together[0], *together[1]})
    return all(number <= engine.restarts for number in kills.values())


def _violations(
    cluster: SimulatedCluster,
    faults: Sequence[InjectedFault],
    expected: dict[int, dict[str, Any] | None],
) -> Iterator[Violation]:
    for text in cluster.defects:
        yield Violation("no exception", text)
    if len(cluster.events) > MOST_EVENTS:
        yield Violation("bounded traffic", f"{MOST_EVENTS} events in {cluster.schedule.now:g} s")
    elif up := [rank for rank in cluster.up_at_end if rank not in _stand_still(cluster, faults)]:
        yield Violation("ends in time", f"processes {up} were still up after the last fault")
        return
    if any(fault.what in get_args(HostileFault) for fault in faults):
        return
    waited = cluster.network.most_waited
    grows = Violation("no growing memory", f"{waited} messages waited for one connection")
    yield from [grows] * (waited > _MOST_WAITING + _ASKED * _unaware(cluster, faults))
    second = Violation("one run a run", "a second coordinator was not refused")
    yield from [second] * cluster.not_refused
    yield from _differences(cluster, faults, expected)
    if cluster.plan.field:
        yield from (Violation(*breach) for breach in breaches(cluster))
    for rank, door in cluster.doors.items():
        for how in door.wrong:
            yield Violation("a told reward is used once", f"agent {rank}: {how}")
    yield from _blames(cluster, faults)
    yield from _unsaid(cluster, faults)
    yield from _unblamed(cluster, faults)
    if COORDINATOR not in _at_fault(cluster, faults):
        yield from (Violation("what is said of times is true", how) for how in untrue(cluster))
    if cluster.keys is not None:
        yield from _admissions(cluster, faults)


def _unaware(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> float:
    """Seconds in which a process may not hear that another one is gone, and so asks or answers it.

    It stands still, waits for room in a queue, or is on one machine with it: links there are not
    watched, and where nobody saw the death it is told after the deadline.
    """
    still = sum(fault.lasts for fault in faults if fault.what in {"stop", "stand still"})
    still += LINK_DEADLINE * any(fault.what == "queue full" for fault in faults)
    together = cluster.starts or is_ipc(cluster.address)
    return still + together * cluster.plan.spec.engine.deadline


def _at_fault(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> set[int]:
    """The processes that faults touch, with all that shared one with such, at first or at last."""
    ends = [*touched(faults)]
    return {*cluster.mates(ends), *cluster.mates(ends, at_first=True)}


def _stand_still(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> set[int]:
    """The processes that are stopped for ever, and so never end.

    Agents on their coordinator's machine hear of its death, and of nothing else: they wait for one
    that is stopped.
    """
    stopped = [f.ends for f in faults if f.what == "stop" and f.lasts >= FOR_EVER]
    still = {rank for ends in stopped for rank in cluster.mates(ends)}
    together = cluster.starts or is_ipc(cluster.address)
    return still | ({*cluster.ranks} if together and COORDINATOR in still else set())


def _unblamed(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> Iterator[Violation]:
    """What never ends is named in time by a coordinator that it spares, if it costs the run."""
    lasting = [fault for fault in faults if fault.lasts >= FOR_EVER]
    at_fault = _at_fault(cluster, faults)
    begun = _begun(cluster)
    if not lasting or COORDINATOR in at_fault or not begun:
        return
    engine = cluster.plan.spec.engine
    within = engine.absence + engine.deadline + AFTER_FAULTS
    within += engine.joining * (begun < len(cluster.numbers))
    passing = [fault for fault in faults if fault.lasts < FOR_EVER]
    within += sum(fault.lasts for fault in passing)
    # who lost its journal stays away: meanwhile only that counts, and then all the rest anew
    within += 2 * engine.absence * sum(fault.what in DAMAGES for fault in passing)
    (since, *_) = [e.when for e in cluster.events if e.what == lasting[0].what] or [math.inf]
    for event in cluster.events:
        if event.what == "ends" and event.source == COORDINATOR and (" " in event.detail):
            late = event.when - since
            if late > within or not {*_named_in(event.detail)} & at_fault:
                yield Violation("what never ends is named", f"{late:.0f} s later: {event.detail}")


def _differences(
    cluster: SimulatedCluster,
    faults: Sequence[InjectedFault],
    expected: dict[int, dict[str, Any] | None],
) -> Iterator[Violation]:
    """In what runs differ from those without faults, where they must not or nobody says why."""
    errors = [ended for ended in cluster.ended if ended.why and ended.rank < FIRST_STRANGER]
    why = "; ".join(f"{ended.rank}: {ended.why.splitlines()[0]}" for ended in errors)
    must = survives(faults, cluster) and not _turned_away(cluster, faults)
    slow = all(fault.what in SLOWS | STRANGERS for fault in faults)
    for_ever = [*touched([fault for fault in faults if fault.lasts >= FOR_EVER])]
    healthy = {*cluster.ranks} - {*cluster.mates(for_ever), *cluster.mates(for_ever, at_first=True)}
    if cluster.starts and COORDINATOR in for_ever:
        healthy.clear()  # whom it started ends with it
    # by one that ended by itself, and has the record
    replaced = any(event.what == "a second ends" and not event.detail for event in cluster.events)
    begun = _begun(cluster)
    for number, record in expected.items():
        if number not in cluster.records:
            if must:
                name = "a healthy run is never ended" if slow else "same record"
                yield Violation(name, f"run {number} did not end: {why}")
            elif healthy and not any(ended.code for ended in cluster.ended) and not replaced:
                yield Violation("a loss is said", f"run {number} has no record and no error")
            elif _spares(cluster, faults) and number < begun:
                yield Violation("the others go on", f"run {number} did not end: {why}")
        elif different := _difference(cluster.records[number], record):
            missing = cluster.records[number].dismissed or {}
            if must:
                yield Violation("same record", f"run {number} {different}; missing: {missing}")
            elif not missing and cluster.records[number].answered:
                yield Violation("a loss is said", f"run {number} {different}")


def _turned_away(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> set[int]:
    """Agents that left, and said why, as another program answered before they were ever let in."""
    answered = {rank for f in faults if f.what == "wrong answers" for rank in f.ends}
    left = {ended.rank for ended in cluster.ended if ended.code} & answered
    if not left:
        return left
    logs = [event for event in cluster.events if event.what == "logs" and event.source in left]
    joined = {event.source for event in logs if event.detail.startswith("joined ")}
    return {event.source for event in logs if "the handshake with" in event.detail} - joined


def _spares(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> bool:
    """Whether the faults leave coordinator and some agents alone, so that these have a result.

    A run does not begin without an agent whose key was revoked, a link that stays down ends it, and
    so does the broken disk of an agent that the coordinator's process started. A user's own
    machines need not outlive anybody.
    """
    if cluster.plan.on_missing == "end" and not cluster.plan.system.shares_arms:
        return False
    ends = DISKS if cluster.starts else {"revoked key"}
    if any(fault.what in ends for fault in faults):
        return False
    if any(fault.lasts >= FOR_EVER and fault.what in LINKS | {"partition"} for fault in faults):
        return False  # both ends are well, so that nobody is left out
    at_fault = _at_fault(cluster, faults)
    return COORDINATOR not in at_fault and len(at_fault) < cluster.plan.spec.agents.count


def _begun(cluster: SimulatedCluster) -> int:
    """How many runs began; one does not without an agent that is lost before."""
    begins = defaultdict[int, set[str]](set)
    for event in cluster.events:
        if event.source == COORDINATOR and event.what == "sent":
            name, *rest = event.detail.split(" ")
            if name == "Begin":  # sent again it has its number again
                begins[event.target].add(rest[0])
    return max(map(len, begins.values()), default=0)


def _admissions(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> Iterator[Violation]:
    """Whom keys let in: all that are listed, and nobody else."""
    revoked = {rank for fault in faults if fault.what == "revoked key" for rank in fault.ends}
    expelled: set[int] = set()
    due: dict[int, float] = {}
    for event in cluster.events:
        if event.what == "revoked key":
            due[event.source] = event.when + _READ_WITHIN
        elif event.what == "end of revoked key":  # it is listed again, and the list is read anew
            due.pop(event.source, None)
            expelled.discard(event.source)
        elif event.what in ("starts", "goes on") and event.source == COORDINATOR:
            expelled.clear()  # it reads the list again
            due = dict.fromkeys(due, event.when + _READ_WITHIN)
        elif event.what == "logs" and (gone := _REVOKED.match(event.detail)):
            expelled.add(int(gone[1]))
        elif event.what == "refused" and event.source in {*cluster.ranks} - revoked:
            yield Violation("who is listed is let in", str(event))
        elif event.what == "sent" and event.detail not in _OF_JOINING:
            stranger = event.target >= FIRST_STRANGER
            late = event.when > due.get(event.target, math.inf)
            if stranger or (event.source == COORDINATOR and (event.target in expelled or late)):
                yield Violation("who is not listed is told nothing", str(event))


def _unnamed(cluster: SimulatedCluster, went_back: Sequence[int]) -> Iterator[Violation]:
    """What an older journal cost is said to be its doing."""
    lost = any(ended.why for ended in cluster.ended) or any(
        record.dismissed for record in cluster.records.values()
    )
    if lost and not any("journal" in event.detail for event in cluster.events):
        yield Violation("a loss is said", f"nothing names the journals of {went_back}")


def _difference(record: RunRecord, undisturbed: dict[str, Any] | None) -> str:
    """In what a run differs from the undisturbed one; in the field, what of all answers lacks."""
    if undisturbed is None:
        whole = record.answered and not record.dismissed
        return "" if whole else "has not the answers of all"
    result = result_of(record)
    if "privacy" not in undisturbed:  # which says what kind of arms these are
        del result["privacy"]
    names = [name for name in undisturbed if result.get(name) != undisturbed[name]]
    return f"differs in {', '.join(names)}" if result != undisturbed else ""


def _blames(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> Iterator[Violation]:
    """Whoever a final error names is at fault."""
    at_fault = _at_fault(cluster, faults)
    if COORDINATOR in at_fault:
        return  # what the coordinator's own trouble looks like from there
    for ended in cluster.ended:
        if ended.rank == COORDINATOR and ended.why:
            named = set(_named_in(ended.why.splitlines()[0]))
            if named and not named & at_fault:
                yield Violation("whoever is blamed is at fault", ended.why.splitlines()[0])


def _unsaid(cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> Iterator[Violation]:
    """A record names whoever said nothing to its end, and nobody who is well."""
    at_fault = _at_fault(cluster, faults)
    at_end = ("Report ", "Stopped ")
    reported = {
        e.source for e in cluster.events if e.what == "came" and e.detail.startswith(at_end)
    }
    for number, record in cluster.records.items():
        if silent := {*cluster.ranks} - reported - record.without - {COORDINATOR}:
            yield Violation("a loss is said", f"run {number} does not name {sorted(silent)}")
        if COORDINATOR not in at_fault and (well := {*record.dismissed} - at_fault):
            yield Violation("who is well is not left out", f"run {number}: {sorted(well)}")
        for how in undisturbed.sums(record):
            yield Violation("a record adds up", how)


def _named_in(text: str) -> Iterator[int]:
    for ranks, one, other in _NAMED.findall(text):
        for rank in re.findall(r"\d+", ranks) if ranks else (one, other):
            yield int(rank)


def shrunk(trial: SimulatedTrial, plan: Plan) -> SimulatedTrial:
    """The same violation with as few faults as possible (delta debugging, one at a time)."""
    names = {violation.invariant for violation in trial.violations}

    def fails(faults: Sequence[InjectedFault]) -> SimulatedTrial | None:
        again = attempt(plan, trial.seed, faults)
        return again if names & {v.invariant for v in again.violations} else None

    best, progress = trial, True
    while progress:
        progress = False
        for place in range(len(best.faults)):
            fewer = best.faults[:place] + best.faults[place + 1 :]
            if (again := fails(fewer)) is not None:
                best, progress = again, True
                break
    return best


def space_time(trial: SimulatedTrial, most: int = _SHOWN) -> str:
    """The messages around the last fault as a space-time picture (SVG), with all faults there.

    Its title says how many of the messages, and of the faults, are not in it.
    """
    events = [e for e in trial.events if e.what not in ("lost", "logs")]
    begun = [place for place, event in enumerate(events) if event.what in KINDS]
    sent = [place for place, event in enumerate(events) if event.what == "sent"]
    before = sum(place < begun[-1] for place in sent) if begun else len(sent)
    first = max(0, min(before - most // 4, len(sent) - most))
    start = sent[first] if sent else 0
    end = sent[first + most] if first + most < len(sent) else len(events)
    shown = events[start:end]
    under_way: dict[tuple[int, int, str], list[int]] = {}
    lasting: dict[tuple[str, int], list[int]] = {}
    arrows, marks, bands = [], [], []
    for row, event in enumerate(shown):
        link, what = (event.source, event.target, event.detail), event.what.removeprefix("end of ")
        if event.what == "sent":
            under_way.setdefault(link, []).append(row)
        elif event.what == "came":
            if under_way.get(link):
                sent_in = under_way[link].pop(0)
                arrows.append(Arrow(event.source, event.target, sent_in, row, event.detail))
        else:
            ends = sorted({event.source, event.target})
            bad = what in (*KINDS, "killed", "reset", "silence")
            marks += [Mark(end, row, f"{event.what} {event.detail}", bad) for end in ends]
            for process in ends if what in KINDS else ():
                if event.what == what:
                    lasting.setdefault((what, process), []).append(row)
                else:
                    since = lasting.get((what, process)) or [0]
                    bands.append(Band(process, since.pop(), row, what))
    bands += [
        Band(process, row, len(shown) - 1, what)
        for (what, process), rows in lasting.items()
        for row in rows
    ]
    for event in events[end:]:  # what comes below the picture is not lost
        link = event.source, event.target, event.detail
        if event.what == "came" and under_way.get(link):
            arrows.append(Arrow(*link[:2], under_way[link].pop(0), len(shown), event.detail))
    for (source, target, name), rows in under_way.items():
        arrows += [Arrow(source, target, row, None, name) for row in rows]
    broken = "; ".join(v.invariant for v in trial.violations) or "nothing was violated"
    here, faults = sum(start <= place < end for place in begun), counted(len(trial.faults), "fault")
    title = (
        f"{trial.system}, seed {trial.seed}: {broken}; shows {here} of {faults} and "
        f"{min(most, len(sent))} of {counted(len(sent), 'message')}"
    )
    times = [f"{event.when - START:.6f}" for event in shown]
    return picture(title, times, arrows, marks, bands)
