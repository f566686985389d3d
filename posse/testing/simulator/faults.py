"""What goes wrong in a simulated run: plain data, drawn from a seed.

A fault begins after its number of frames, so that it can hit any moment of a run, and some seconds
`later`, as few frames come while another fault lasts. It `lasts` some seconds. `ends` are
ranks: a process, several, or the two ends of a link.
"""

import random
import sqlite3
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from posse.engines.simulated.cluster import WAIT, SimulatedCluster
from posse.engines.simulated.machine import BROKEN, FULL
from posse.errors import InputError
from posse.gates import databases, files
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.security import keys

FaultKind = Literal[
    "delay",
    "jitter",
    "bandwidth",
    "lose",
    "duplicate",
    "reorder",
    "queue full",
    "wrong answers",
    "reset",
    "cut",
    "drop",
    "drop one way",
    "partition",
    "move",
    "kill",
    "restart elsewhere",
    "power off",
    "second coordinator",
    "coordinator replaced",
    "stop",
    "stand still",
    "disk full",
    "disk error",
    "slow disk",
    "clock",
    "slow arms",
    "slow peer",
    "out of patience",
    "journal lost",
    "journal torn",
    "journal older",
    "journal flipped",
]

KINDS: tuple[str, ...] = get_args(FaultKind)

KeyFault = Literal["unlisted key", "no key", "key of another", "revoked key"]
"""What goes wrong only where there are keys: who comes with which, and one that is revoked."""

StartedFault = Literal["starter killed"]
"""What goes wrong only where the coordinator's process starts its agents itself."""

LockFault = Literal["no locks"]
"""What a file system of a network may lack. It is drawn apart: most such never had any."""

HostileFault = Literal["garbled"]
"""What only a broken or hostile peer does. It is not drawn, and the run need only end, said or not:
what is garbled may still be valid."""

TrialSetting = Literal["knob", "forwarded"]
"""No fault: a constant of the code has another value (`posse.testing.simulator.knobs`), or agents
accept no connections, for all of the run."""

STRANGERS = frozenset({"unlisted key", "no key", "key of another"})
"""Who comes as the agent that is named, with other keys than its own."""

SLOWS = frozenset(
    {"delay", "jitter", "bandwidth", "duplicate", "reorder"}
    | {"slow disk", "clock", "slow arms", "slow peer"}
)
"""What makes a run no worse than slow."""

LINKS = frozenset(
    {"delay", "jitter", "bandwidth", "lose", "duplicate", "reorder", "queue full"}
    | {"wrong answers", "reset", "cut", "drop", "drop one way"}
)
"""What happens to a link."""

BETWEEN_MACHINES = LINKS | {"partition", "move", "restart elsewhere", "out of patience"}
"""What does not happen on one machine."""

OF_OTHERS = frozenset(
    {"second coordinator", "coordinator replaced"}
    | {"journal lost", "journal torn", "journal older", "journal flipped"}
)
"""What does not happen to agents that the coordinator's process starts, and starts again."""

OF_A_MACHINE = frozenset({"stand still", "power off", "clock"})
"""What happens to a machine, and so to all that is on it."""

DISKS = frozenset({"disk full", "disk error", "no locks"})
"""What of a disk may end a process."""

KILLS = frozenset({"kill", "restart elsewhere", "power off", "out of patience"})

DAMAGES = frozenset(
    {"journal lost", "journal torn", "journal older", "journal flipped", "coordinator replaced"}
)
"""What costs an agent its part, or all the run: it must be said."""

_SHARED = 0.15
"""How many seeds have several agents in a process."""
_KEYED = 0.25
"""How many seeds have keys."""
_LOCKLESS = 0.06
"""How many seeds have a disk without locks."""
_HERE, _STARTED = 0.15, 0.15
"""How many seeds have all on one machine: agents that join by a file, or are started."""

PERMANENT = (
    *("cut", "drop", "drop one way", "partition", "wrong answers", "queue full"),
    *("kill", "power off", "stop", "disk full", "disk error"),
)
"""What half of the seeds have for ever, once: the rest of the run has to do without."""

FOR_EVER = 1e6
"""Seconds that such a fault lasts: longer than anything waits."""

_AT_ONCE = frozenset({"reset", "move", "starter killed"})
"""What does not last."""

_MEANWHILE = 0.5
"""How many, of those after the first, begin while the one before lasts, and where it is."""

_MOST = 4
_MANY = 0.2
"""How often it is all processes, or all but one, that are killed or stopped."""
_BOOTS = 6.0
"""Seconds that a machine is away at least: longer than its peers need to notice."""
_LONGEST = 100.0
"""Seconds that all faults last at most, together: less than a run waits for an absent agent."""
_SHORTEST = 1e-4
"""What the shortest lasts, as a share of the longest; all magnitudes between are as frequent."""
_ENDING = 1.0
"""Seconds within which a process that a broken disk ends has ended."""
_SUPERVISED = 1.0
"""Seconds between a supervisor's looks at a process that may have ended."""
_LONG = 0.25
"""How many, instead, last for any share of that."""
_AMOUNTS: dict[str, tuple[float, float]] = {
    "delay": (0.001, 0.5),
    "jitter": (0.001, 0.2),
    "bandwidth": (1e4, 1e6),
    "lose": (0.01, 0.4),
    "duplicate": (0.01, 0.5),
    "reorder": (0.01, 0.5),
    "slow disk": (0.001, 0.2),
    "clock": (0.1, 14.0),
    "slow arms": (0.1, 2.0),
    "slow peer": (0.001, 0.2),
    "out of patience": (0.5, 10.0),
}
"""Seconds, bytes per second, or shares, from and to."""


class InjectedFault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """See the module's text. `amount` is in seconds, bytes per second, or a share of frames.

    `knob`: which constant, for all of the run, is `amount`.
    """

    what: FaultKind | KeyFault | StartedFault | LockFault | HostileFault | TrialSetting
    after: int
    ends: tuple[int, ...]
    lasts: float = 0.0
    amount: float = 0.0
    later: float = 0.0
    knob: str = ""

    def __str__(self) -> str:
        if self.knob:
            return f"{self.knob} = {self.amount:g}"
        amount = f" by {self.amount:g}" if self.amount else ""
        ends = ", ".join("coordinator" if end == COORDINATOR else str(end) for end in self.ends)
        after = f"{self.after} frames" + f" and {self.later:.3g} s" * bool(self.later)
        return f"{self.what}{amount} at {ends} after {after} for {self.lasts:.3g} s"


def draw(
    seed: int,
    agents: int,
    frames: int,
    links: Sequence[tuple[int, int]],
    kinds: Sequence[str] = KINDS,
) -> list[InjectedFault]:
    """The faults of a seed, for a run whose undisturbed course has this many frames."""
    chance = random.Random(f"faults {seed}")
    drawn: list[InjectedFault] = []
    number = chance.randint(1, _MOST)
    for _ in range(number):
        what = chance.choice(list(kinds))
        everybody = [COORDINATOR, *range(agents)]
        before = drawn[-1] if drawn and chance.random() < _MEANWHILE else None
        near = before.ends if before is not None else everybody
        ends: tuple[int, ...]
        if what in LINKS:
            ends = chance.choice([ends for ends in links if {*ends} & {*near}] or list(links))
            if chance.random() < 0.5:
                ends = ends[::-1]
        elif what == "stand still":
            ends = tuple(everybody)
        elif what == "partition" or (
            what in {"kill", "power off", "stop"} and chance.random() < _MANY
        ):
            most = agents + (what != "partition")
            some = chance.randint(1 if what == "partition" else agents, most)
            ends = tuple(sorted(chance.sample(everybody, some)))
        elif what.endswith("coordinator") or what in {"coordinator replaced", "starter killed"}:
            ends = (COORDINATOR,)
        else:  # the coordinator is told by its address, which so does not change
            agent = what in ("move", "restart elsewhere", "out of patience")
            ends = (chance.choice([e for e in near if e >= 0 or not agent] or everybody[1:]),)
        low, high = _AMOUNTS.get(what, (0.0, 0.0))
        amount = round(low * (high / low) ** chance.random(), 4) if low else 0.0
        if what == "clock" and chance.random() < 0.5:
            amount = -amount
        lasts = 0.0 if what in _AT_ONCE else _lasts(chance, _LONGEST / number)
        if what == "stand still":  # only longer than a deadline it is more than a delay
            lasts = round(_LONGEST / number * chance.uniform(0.25, 1.0), 3)
        drawn.append(
            InjectedFault(
                what=what,  # type: ignore[arg-type]
                after=chance.randrange(frames + 1) if before is None else before.after,
                ends=ends,
                lasts=max(lasts, _BOOTS) if what == "power off" else lasts,
                amount=amount,
                later=0.0 if before is None else _within(chance, before),
            )
        )
    return sorted(drawn, key=lambda fault: fault.after)


def draw_for_ever(
    seed: int,
    agents: int,
    frames: int,
    links: Sequence[tuple[int, int]],
    kinds: Sequence[str],
) -> list[InjectedFault]:
    """The fault of a seed that never ends; none in half of them."""
    can = [kind for kind in kinds if kind in PERMANENT]
    if not can or random.Random(f"for ever {seed}").random() < 0.5:
        return []
    first, *_ = draw(~seed, agents, frames, links, can)
    return [msgspec.structs.replace(first, lasts=FOR_EVER, later=0.0)]


def draw_of_locks(seed: int, agents: int, frames: int) -> list[InjectedFault]:
    """A process whose disk has no locks, of few seeds: from its beginning, or for some time."""
    chance = random.Random(f"locks {seed}")
    if chance.random() >= _LOCKLESS:
        return []
    always = chance.random() < 0.5
    return [
        InjectedFault(
            what="no locks",
            after=0 if always else chance.randrange(frames + 1),
            ends=(chance.randrange(COORDINATOR, agents),),
            lasts=FOR_EVER if always else _lasts(chance, _LONGEST / 4),
        )
    ]


def draw_per_process(seed: int, agents: int) -> int:
    """How many agents share a process, in a run of this many."""
    chance = random.Random(f"processes {seed}")
    return chance.randint(2, agents) if agents > 1 and chance.random() < _SHARED else 1


JoinMode = Literal["apart", "here", "started"]
"""Agents on machines of their own, on their coordinator's, or started by its process."""


def draw_mode(seed: int) -> JoinMode:
    """Where the agents of a seed are."""
    place = random.Random(f"transport {seed}").random()
    return "here" if place < _HERE else "started" if place < _HERE + _STARTED else "apart"


def possible(mode: JoinMode, kinds: Sequence[str]) -> list[str]:
    """Which of these faults can happen there."""
    spared = BETWEEN_MACHINES if mode != "apart" else frozenset()
    spared |= OF_OTHERS if mode == "started" else {*get_args(StartedFault)}
    return [kind for kind in kinds if kind not in spared]


def started(plan: Plan, seed: int) -> Plan:
    """The same runs, whose agents the coordinator's process starts itself."""
    chance = random.Random(f"started {seed}")
    engine = msgspec.structs.replace(
        plan.spec.engine,
        restarts=chance.choice((0, 1, 3)),
        transport=chance.choice(("ipc", "ipc", "tcp")),
        agents_per_process=draw_per_process(seed, plan.spec.agents.count),
    )
    return prepare(msgspec.structs.replace(plan.spec, engine=engine))


def on_one_machine(faults: Sequence[InjectedFault], agents: int) -> list[InjectedFault]:
    """The same faults where all are on one machine."""
    everybody = (COORDINATOR, *range(agents))
    return [
        msgspec.structs.replace(fault, ends=everybody) if fault.what in OF_A_MACHINE else fault
        for fault in faults
    ]


def draw_of_keys(seed: int, agents: int, frames: int) -> list[InjectedFault] | None:
    """The faults of a seed that have to do with keys; None if nobody has any."""
    chance = random.Random(f"keys {seed}")
    if chance.random() >= _KEYED:
        return None
    return [
        InjectedFault(
            what=chance.choice(get_args(KeyFault)),
            after=chance.randrange(frames + 1),
            ends=(chance.randrange(agents),),
            lasts=_lasts(chance, _LONGEST / 4),
        )
        for _ in range(chance.randint(0, 2))
    ]


def _lasts(chance: random.Random, longest: float) -> float:
    long = chance.random() < _LONG
    return float(round(longest * (chance.random() if long else _SHORTEST ** chance.random()), 3))


def _within(chance: random.Random, before: InjectedFault) -> float:
    """When, after the beginning of the fault before, another begins that meets it."""
    return round(before.later + before.lasts * chance.random() ** 2, 4)


class Nemesis:
    """Lets faults happen to a cluster, and ends each after its time.

    `quiet_at` is when the last one ended, None while any is to come or lasts.

    Above 300 lines: a short method for each kind of fault.
    """

    def __init__(self, cluster: SimulatedCluster, faults: Sequence[InjectedFault]) -> None:
        self._cluster = cluster
        self._left = sorted(faults, key=lambda fault: -fault.after)
        for rank in one_by_one(faults):
            cluster.set(rank, "one_by_one", 1.0)
        self._lasting = 0
        self._held: dict[Hashable, list[list[Any]]] = {}
        """What faults that last have set, by what it is of, the newest last."""
        self._came = 0
        self._ended_at = cluster.schedule.now
        cluster.watching.append(self._watch)
        self._begin_due()

    @property
    def quiet_at(self) -> float:
        """When the last fault so far ended; infinite while one lasts."""
        return float("inf") if self._lasting else self._ended_at

    def _watch(self, event: object) -> None:
        if getattr(event, "what", "") == "came":
            self._came += 1
            self._begin_due()

    def _begin_due(self) -> None:
        while self._left and self._left[-1].after <= self._came:
            fault = self._left.pop()
            self._lasting += 1
            self._cluster.coming += 1
            self._cluster.schedule.call_later(fault.later, partial(self._begin, fault))

    def _begin(self, fault: InjectedFault) -> None:
        cluster = self._cluster
        cluster.remark(fault.what, fault.ends)
        undo = getattr(self, "_" + fault.what.replace(" ", "_"))(fault)

        def end() -> None:
            self._lasting -= 1
            self._ended_at = cluster.schedule.now
            cluster.remark(f"end of {fault.what}", fault.ends)
            undo()
            cluster.coming -= 1

        if fault.lasts >= FOR_EVER:
            self._lasting -= 1
            self._ended_at = cluster.schedule.now
            cluster.coming -= 1
        else:
            cluster.schedule.call_later(fault.lasts, end)

    def _hold(
        self, what: Hashable, value: Any, put: Callable[[Any], object], rest: Any
    ) -> Callable[[], None]:
        """Put a value in place; what undoes that puts back what other faults still hold."""
        held = self._held.setdefault(what, [])
        held.append([value])
        mine = held[-1]
        put(value)

        def undo() -> None:
            held[:] = [other for other in held if other is not mine]
            put(held[-1][0] if held else rest)

        return undo

    # --- links -----------------------------------------------------------------------------------

    def _both(self, fault: InjectedFault, name: str, value: Any = None) -> Callable[[], None]:
        (a, b), network = fault.ends, self._cluster.network
        amount = fault.amount if value is None else value
        undo = [
            self._hold(
                (name, ends),
                amount,
                partial(setattr, network.path(*ends), name),
                getattr(network.base, name),
            )
            for ends in ((a, b), (b, a))
        ]
        return lambda: _all(undo)

    def _delay(self, fault: InjectedFault) -> Callable[[], None]:
        return self._both(fault, "delay")

    def _jitter(self, fault: InjectedFault) -> Callable[[], None]:
        return self._both(fault, "jitter")

    def _bandwidth(self, fault: InjectedFault) -> Callable[[], None]:
        return self._both(fault, "bandwidth")

    def _lose(self, fault: InjectedFault) -> Callable[[], None]:
        return self._both(fault, "lost")

    def _duplicate(self, fault: InjectedFault) -> Callable[[], None]:
        return self._both(fault, "twice")

    def _reorder(self, fault: InjectedFault) -> Callable[[], None]:
        return self._both(fault, "overtaken")

    def _garbled(self, fault: InjectedFault) -> Callable[[], None]:
        path = self._cluster.network.path(*fault.ends)
        return self._hold(
            ("garbled", fault.ends), fault.amount, partial(setattr, path, "garbled"), 0.0
        )

    def _queue_full(self, fault: InjectedFault) -> Callable[[], None]:
        path = self._cluster.network.path(*fault.ends)
        return self._hold(("full", fault.ends), True, partial(setattr, path, "full"), False)

    def _wrong_answers(self, fault: InjectedFault) -> Callable[[], None]:
        """The connections are lost, and who connects again finds another program."""
        reset = self._cut(fault)
        foreign = self._both(fault, "foreign", True)
        reset()
        return foreign

    def _reset(self, fault: InjectedFault) -> Callable[[], None]:
        return self._cut(fault)

    def _cut(self, fault: InjectedFault) -> Callable[[], None]:
        network, ends = self._cluster.network, tuple(sorted(fault.ends))

        def put(cut: bool) -> None:
            (network.cut if cut else network.join)(*ends)

        return self._hold(("cut", ends), True, put, False)

    def _drop(self, fault: InjectedFault) -> Callable[[], None]:
        return self._drop_all([fault.ends, fault.ends[::-1]])

    def _drop_one_way(self, fault: InjectedFault) -> Callable[[], None]:
        return self._drop_all([fault.ends])

    def _drop_all(self, ways: Sequence[tuple[int, ...]]) -> Callable[[], None]:
        network = self._cluster.network

        def put(source: int, target: int, dropped: bool) -> None:
            (network.drop if dropped else network.deliver_again)(source, target)

        undo = [self._hold(("drop", (a, b)), True, partial(put, a, b), False) for a, b in ways]
        return lambda: _all(undo)

    def _partition(self, fault: InjectedFault) -> Callable[[], None]:
        here = set(fault.ends)
        there = [rank for rank in self._cluster.ranks if rank not in here]
        return self._drop_all([way for a in fault.ends for b in there for way in ((a, b), (b, a))])

    # --- processes -------------------------------------------------------------------------------

    def _kill(self, fault: InjectedFault) -> Callable[[], None]:
        return self._kill_all(fault, silently=False)

    def _power_off(self, fault: InjectedFault) -> Callable[[], None]:
        return self._kill_all(fault, silently=True)

    def _kill_all(self, fault: InjectedFault, *, silently: bool) -> Callable[[], None]:
        killed = [rank for rank in self._cluster.mates(fault.ends) if self._cluster.is_up(rank)]
        for rank in killed:
            self._cluster.kill(rank, silently=silently)

        def undo() -> None:
            for rank in killed:
                self._cluster.start(rank)

        return undo

    def _starter_killed(self, fault: InjectedFault) -> Callable[[], None]:
        if self._cluster.starter is not None:
            self._cluster.starter.killed = True
        return lambda: None

    def _move(self, fault: InjectedFault) -> Callable[[], None]:
        (rank,) = fault.ends
        self._cluster.network.move(rank)
        return lambda: None

    def _restart_elsewhere(self, fault: InjectedFault) -> Callable[[], None]:
        start = self._kill_all(fault, silently=False)
        for rank in self._cluster.mates(fault.ends):
            self._cluster.network.move(rank)
        return start

    def _second_coordinator(self, fault: InjectedFault) -> Callable[[], None]:
        """The same command again, and one with another folder, beside a coordinator that is up."""
        if not self._cluster.is_up(COORDINATOR):
            return lambda: None
        stop = self._cluster.start_rivals(same=True, other=True)

        def undo() -> None:
            stop()
            self._start_if_failed(COORDINATOR)  # it was killed, and its place taken

        return undo

    def _coordinator_replaced(self, fault: InjectedFault) -> Callable[[], None]:
        """It is killed, and one that knows nothing has its address until it is started again."""
        start = self._kill_all(fault, silently=False)
        stop = self._cluster.start_rivals(other=True)

        def undo() -> None:
            stop()
            start()

        return undo

    def _stop(self, fault: InjectedFault) -> Callable[[], None]:
        cluster = self._cluster

        def put(rank: int, stops: bool) -> None:
            (cluster.stop if stops else cluster.go_on)(rank)

        stopped = cluster.mates(fault.ends)
        undo = [self._hold(("stop", rank), True, partial(put, rank), False) for rank in stopped]
        return lambda: _all(undo)

    _stand_still = _stop

    def _setting(self, fault: InjectedFault, name: str) -> Callable[[], None]:
        undo = [
            self._hold((name, rank), fault.amount, partial(self._cluster.set, rank, name), 0.0)
            for rank in fault.ends
        ]
        return lambda: _all(undo)

    def _clock(self, fault: InjectedFault) -> Callable[[], None]:
        return self._setting(fault, "wall_ahead")

    def _slow_arms(self, fault: InjectedFault) -> Callable[[], None]:
        return self._setting(fault, "slow_arms")

    def _slow_peer(self, fault: InjectedFault) -> Callable[[], None]:
        return self._setting(fault, "slow_reads")

    def _out_of_patience(self, fault: InjectedFault) -> Callable[[], None]:
        """It does not reach its coordinator, gives up, and is started again, as by a supervisor."""
        cluster, (rank,) = self._cluster, fault.ends
        reach = self._drop_all([(rank, COORDINATOR), (COORDINATOR, rank)])
        wait = partial(cluster.waits.__setitem__, rank)
        patience, lasts = self._hold(("waits", rank), fault.amount, wait, WAIT), True
        if cluster.is_up(rank):
            self._start_anew(rank)

        def again() -> None:
            if lasts:
                self._start_if_failed(rank)
                cluster.schedule.call_later(_SUPERVISED, again)

        def undo() -> None:
            nonlocal lasts
            lasts = False
            reach()
            patience()
            if cluster.is_up(rank):
                self._start_anew(rank)
            else:
                self._start_if_failed(rank)

        again()
        return undo

    # --- keys ------------------------------------------------------------------------------------

    def _unlisted_key(self, fault: InjectedFault) -> Callable[[], None]:
        return self._intruder(fault, keys.make_ephemeral_keys(1, self._randbytes)[1][0])

    def _no_key(self, fault: InjectedFault) -> Callable[[], None]:
        return self._intruder(fault, None)

    def _key_of_another(self, fault: InjectedFault) -> Callable[[], None]:
        other = (fault.ends[0] + 1) % self._cluster.plan.spec.agents.count
        return self._intruder(fault, keys.for_agent(self._key_folder, other).own)

    def _intruder(self, fault: InjectedFault, shown: keys.KeyPair | None) -> Callable[[], None]:
        cluster, (rank,) = self._cluster, fault.ends
        known = keys.for_agent(self._key_folder, rank)
        as_rank = None if shown is None else keys.AgentKeys(rank, shown, known.coordinator)
        stranger = cluster.intrude(rank, as_rank)
        again = cluster.schedule.now + fault.lasts / 2  # as by a supervisor, if it ended
        cluster.schedule.call_at(again, lambda: cluster.start(stranger))
        return lambda: cluster.kill(stranger)

    def _revoked_key(self, fault: InjectedFault) -> Callable[[], None]:
        """When it is listed again, the agent is started again, but not the coordinator."""
        (rank,) = fault.ends
        folder = self._key_folder / "coordinator"
        public = keys.for_agent(self._key_folder, rank).own.public_keys
        with suppress(InputError):  # it was revoked before
            keys.revoke(folder, rank)

        def undo() -> None:
            keys.allow(folder, str(rank), public)
            self._start_if_failed(rank)

        return undo

    @property
    def _key_folder(self) -> Path:
        assert self._cluster.keys is not None
        return self._cluster.keys

    def _randbytes(self, number: int) -> bytes:
        return self._cluster.schedule.random.randbytes(number)

    # --- disks -----------------------------------------------------------------------------------

    def _disks(self, fault: InjectedFault, name: str, value: Any, rest: Any) -> Callable[[], None]:
        """Trouble with disks; who ended because of it is started again when it is over."""
        cluster, schedule = self._cluster, self._cluster.schedule
        of_disk = cluster.mates(fault.ends)
        ends = [
            self._hold((name, rank), value, partial(setattr, cluster.disks[rank], name), rest)
            for rank in of_disk
        ]

        def undo() -> None:
            _all(ends)
            for rank in of_disk:
                self._start_if_failed(rank)
                # it may be ending
                schedule.call_later(_ENDING, partial(self._start_if_failed, rank))

        return undo

    def _start_if_failed(self, rank: int) -> None:
        """Start an agent that ended with an error; its process, and all in it, again with it."""
        codes = [ended.code for ended in self._cluster.ended if ended.rank == rank]
        if codes and codes[-1] and not self._cluster.is_up(rank):
            self._start_anew(rank)

    def _start_anew(self, rank: int, before: Callable[[], None] = lambda: None) -> None:
        """Kill a process, do something `before` it is started again, and start it."""
        mates = self._cluster.mates([rank])
        up = [mate for mate in mates if self._cluster.is_up(mate)]
        for mate in up:
            self._cluster.kill(mate)
        before()
        for mate in sorted({*up, rank}):
            self._cluster.start(mate)

    def _disk_full(self, fault: InjectedFault) -> Callable[[], None]:
        return self._disks(fault, "trouble", FULL, "")

    def _disk_error(self, fault: InjectedFault) -> Callable[[], None]:
        return self._disks(fault, "trouble", BROKEN, "")

    def _slow_disk(self, fault: InjectedFault) -> Callable[[], None]:
        return self._disks(fault, "slow", fault.amount, 0.0)

    def _no_locks(self, fault: InjectedFault) -> Callable[[], None]:
        return self._disks(fault, "locks", False, True)

    def _damaged(self, fault: InjectedFault, damage: Callable[[Path], None]) -> Callable[[], None]:
        """The process is killed, and its journal damaged before it is started again."""
        start = self._kill_all(fault, silently=False)
        for rank in fault.ends:
            path = self._cluster.journal(rank)
            if path.exists() and path.stat().st_size:
                damage(path)
        return start

    def _journal_lost(self, fault: InjectedFault) -> Callable[[], None]:
        return self._damaged(fault, files.remove)

    def _journal_torn(self, fault: InjectedFault) -> Callable[[], None]:
        def tear(path: Path) -> None:
            data = files.read(path)
            left = self._cluster.schedule.random.randrange(len(data))
            files.write(path, data[:left], private=True, lasting=False)

        return self._damaged(fault, tear)

    def _journal_flipped(self, fault: InjectedFault) -> Callable[[], None]:
        def flip(path: Path) -> None:
            data = bytearray(files.read(path))
            place = self._cluster.schedule.random.randrange(len(data))
            data[place] ^= 1 << self._cluster.schedule.random.randrange(8)
            files.write(path, bytes(data), private=True, lasting=False)

        return self._damaged(fault, flip)

    def _go_back(self, rank: int, path: Path, copy: Path) -> None:
        """Put an older journal in the place of a process's own."""
        if _is_older(copy, path):
            self._cluster.went_back.append(rank)
        _copy(copy, path)

    def _journal_older(self, fault: InjectedFault) -> Callable[[], None]:
        """A copy is made now; when the fault ends the process is killed, and has the copy."""
        copies: list[tuple[int, Path, Path]] = []
        for rank in fault.ends:
            path = self._cluster.journal(rank)
            if path.exists():
                copy = path.with_suffix(f".copy-{fault.after}")
                _copy(path, copy)
                copies.append((rank, path, copy))

        def undo() -> None:
            for rank, path, copy in copies:
                if self._cluster.is_up(rank) and path.exists():
                    self._start_anew(rank, partial(self._go_back, rank, path, copy))

        return undo


def _all(acts: Sequence[Callable[[], None]]) -> None:
    for act in acts:
        act()


def one_by_one(faults: Sequence[InjectedFault]) -> tuple[int, ...]:
    """The processes whose arms are asked for one reward at a time, as they become slow."""
    slow = (fault.ends for fault in faults if fault.what == "slow arms")
    return tuple(sorted({rank for ends in slow for rank in ends}))


def _copy(path: Path, copy: Path) -> None:
    files.write(copy, files.read(path), private=True, lasting=False)


def _is_older(copy: Path, path: Path) -> bool:
    """Whether a copy of a journal begins as the journal does, and lacks rows of it."""
    begins, rows = zip(*map(_extent, (copy, path)), strict=True)
    return bool(begins[0]) and begins[0] == begins[1] and rows[0] < rows[1]


def _extent(path: Path) -> tuple[bytes, int]:
    """The beginning of a journal, and how many rows follow."""
    rows = "SELECT (SELECT value FROM about WHERE name = 'beginning'), count(*) FROM batches"
    with closing(databases.connect(path, 5.0, make=False)) as database, suppress(sqlite3.Error):
        begins, number = database.execute(rows).fetchone()
        return begins or b"", number
    return b"", 0


def touched(faults: Sequence[InjectedFault]) -> Iterator[int]:
    """The processes that any of these faults touches."""
    for fault in faults:
        if fault.what not in STRANGERS:
            yield from fault.ends
