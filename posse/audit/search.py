"""A search for what no list of faults names: drawn data sets, losses and lies, every frame read.

Each try is drawn from a number. It carries out one run twice with the same noisy numbers
(`posse.audit.replay`), by the hosts of the lab or of the field, perhaps with an agent that is lost
on the way. What differs is drawn too: all rewards, of any values in [0, 1]; one reward; the record
of one pull with its features; the rewards of one person. Then

- every byte of every frame that the adversary sees must be the same, posse's own messages too, but
  for fields that are declared to follow rewards (`Message.follows`);
- what differs costs no more than is claimed of it, by the noise that was asked for, and in all runs
  over a log no more than its ledger allows;
- what leaves an agent of the field follows from rewards that its ledger knows of;
- a message whose proof was forged (`Message.proof`) is refused.

What is found is a proof, by two runs that anybody can repeat from the number.
"""

import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from time import monotonic

import msgspec
import numpy as np

from posse.audit.canaries import cost_of
from posse.audit.owned import Owned
from posse.audit.replay import (
    ApartError,
    CoupledRun,
    Coupler,
    Features,
    Rewards,
    TimeUpError,
)
from posse.engines.start.pool import on_all_cores
from posse.engines.start.room import cores
from posse.errors import PosseError
from posse.gates import files
from posse.gates.decode import unpacked
from posse.measure.numbers import number as in_words
from posse.plan import Plan, decode_plan
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.machine import COORDINATOR, peer_name
from posse.protocol.message import Plane, kind_name
from posse.protocol.privacy import AdversaryView, OneRecord
from posse.protocol.wire import HEADER, read_header
from posse.system.record import LabOnly

BUDGET = 20.0
"""Seconds of search, on each core, unless asked for otherwise."""

_FIRST = 1 << 23
"""The number of the first run."""

_FEW = 100
"""Tries below which a search says that it was short: each is made whole, however long it takes."""

_CLOSE = 1 + 1e-6
_PARTS = 3
"""Parts of [0, 1] of which each gives a value that one reward becomes."""

_SHM = Path("/dev/shm")
"""Where files are in memory, on Linux: a ledger is written before each message."""


class SearchOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a search tried, by what was drawn, and found; `dearest`: the largest share of a claim.

    `violations` has sentences, of which each refutes the claim.
    """

    tries: int
    runs: int
    seconds: float
    tried: dict[str, int]
    dearest: float
    violations: list[str]

    @property
    def says(self) -> str:
        """What was tried, in a sentence."""
        counts = ", ".join(f"{name} {n:,}" for name, n in sorted(self.tried.items()))
        return (
            f"{self.tries:,} drawn data sets in {self.runs:,} runs and {in_words(self.seconds)} s: "
            f"{counts}; the dearest costs {self.dearest:.4g} of what is claimed of it"
            + f"; fewer than {_FEW} show little, so give it more seconds (--search)"
            * (self.tries < _FEW)
        )


class SearchTask(msgspec.Struct, frozen=True, kw_only=True):
    """A search by one process: every `stride`th try from `first` on, for this many seconds."""

    document: bytes
    sees: AdversaryView
    watched: int
    claimed: float
    delta: float
    first: int
    stride: int
    seconds: float


def search(
    plan: Plan,
    sees: AdversaryView,
    claimed: float,
    delta: float,
    seconds: float = BUDGET,
    watched: int = 1,
    jobs: int | None = None,
) -> SearchOutcome:
    """SearchOutcome on this many cores; what is found first ends a process's search."""
    count = jobs or cores()
    tasks = [
        SearchTask(
            document=msgspec.msgpack.encode(plan.spec),
            sees=sees,
            watched=watched,
            claimed=claimed,
            delta=delta,
            first=first,
            stride=count,
            seconds=seconds,
        )
        for first in range(count)
    ]
    parts: list[SearchOutcome] = []
    for _, found in on_all_cores(carry_out, tasks, count):
        if isinstance(found, PosseError):
            raise found
        parts.append(found)
    tried = sum((Counter(part.tried) for part in parts), Counter[str]())
    return SearchOutcome(
        tries=sum(part.tries for part in parts),
        runs=sum(part.runs for part in parts),
        seconds=max(part.seconds for part in parts),
        tried=dict(tried),
        dearest=max(part.dearest for part in parts),
        violations=list(dict.fromkeys(v for part in parts for v in part.violations))[:4],
    )


def carry_out(task: SearchTask, most: int = 1 << 40) -> SearchOutcome:
    """Carry out a task, at most this many tries."""
    plan = decode_plan(task.document)
    begun = monotonic()
    until = begun + task.seconds
    with (
        files.temporary("posse-audit-", _SHM if _SHM.is_dir() else None) as folder,
        suppress(TimeUpError),
    ):
        hunt = Hunt(plan, task.sees, task.claimed, task.delta, Path(folder), task.watched, until)
        for seed in range(task.first, task.first + most * task.stride, task.stride):
            if hunt.violations:
                break
            hunt.try_one(seed)
    return hunt.outcome(monotonic() - begun)


@dataclass
class Hunt:
    """Tries of one plan against a claim of (claimed, delta), one after another.

    A try ends by `TimeUpError` when it is `until`, by the steady clock. In `folder` are the logs
    and ledgers of one run after another, under the same names.
    """

    plan: Plan
    sees: AdversaryView
    claimed: float
    delta: float
    folder: Path
    watched: int = 1
    until: float = math.inf
    tries: int = 0
    runs: int = 0
    dearest: float = 0.0
    tried: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    most_pulls: int = 0
    frames: int = 0
    asks: bool = False

    def outcome(self, seconds: float) -> SearchOutcome:
        """What was tried and found so far."""
        return SearchOutcome(
            tries=self.tries,
            runs=self.runs,
            seconds=seconds,
            tried=dict(self.tried),
            dearest=self.dearest,
            violations=list(dict.fromkeys(self.violations)),
        )

    def try_one(self, seed: int) -> None:
        """Carry out the try of this number."""
        drawn = _Drawn(self, Random(seed), seed)
        if not self.tries:  # how long a run is on the run file's own rewards
            own = Coupler(self.plan, self.sees, self.watched, until=self.until)
            self.asks = bool(own.first(_FIRST - 1).draws)
            self.most_pulls, self.frames = own.pulls, own.frames
        self.tries += 1
        try:
            drawn.go()
        except ApartError as error:
            self.violations.append(f"{error} ({drawn.says})")


@dataclass
class _Drawn:
    """One try: what is drawn for it, and what is done."""

    hunt: Hunt
    chance: Random
    seed: int
    words: list[str] = field(default_factory=list)

    @property
    def says(self) -> str:
        """What was drawn, for a sentence."""
        return f"number {self.seed}: {', '.join(self.words)}"

    def _note(self, word: str) -> None:
        self.words.append(word)
        self.hunt.tried[word] += 1

    def go(self) -> None:
        """Draw how it is carried out, and on what; then compare."""
        hunt, chance, plan = self.hunt, self.chance, self.hunt.plan
        system = plan.system
        if (kinds := _with_proof(plan)) and chance.random() < 0.15:
            self._forge(kinds)
            return
        in_the_field = not isinstance(system.field, LabOnly) and chance.random() < 0.4
        persons = not isinstance(system.field, LabOnly) and not system.shares_arms
        if persons and chance.random() < 0.2:
            self._owned()
            return
        coupler = Coupler(plan, hunt.sees, hunt.watched, field=in_the_field, further=2)
        coupler.pulls, coupler.until = hunt.most_pulls, hunt.until
        self._note("the field's hosts" if in_the_field else "the lab's hosts")
        if in_the_field and persons and not plan.spec.privacy.person and chance.random() < 0.5:
            self._note("keys and ledgers")
            coupler.keyed, coupler.ledgers = True, hunt.folder / "ledgers"
        if system.loss.effect and chance.random() < 0.35:
            coupler.plan = _going_on(plan)
            rank = chance.randrange(plan.spec.agents.count)
            coupler.lost = rank, chance.randint(1, max(1, hunt.frames))
            self._note("an agent lost")
        base = self._base()
        run = coupler.first(_FIRST + self.seed, base)
        asks = hunt.asks and not (run.cut or coupler.lost)
        if in_the_field and asks and not any(source.draws for source in run.noise):
            hunt.violations.append(
                f"agents of the field ask their source of noise for nothing ({self.says})"
            )
        if in_the_field and run.secrets < run.keys:
            hunt.violations.append(
                f"agents of the field ask for no keys of their masks ({self.says})"
            )
        change = chance.random()
        if change < 0.4 or not run.used:
            self._note("all rewards others")
            coupler.again(run, self._base(), self._other_features())
        elif change < 0.6 and isinstance(plan.reward_claim.change, OneRecord):
            self._one_record(coupler, run)
        elif change < 0.8:
            self._rewards(coupler, run, base, 1)
        else:
            self._rewards(coupler, run, base, chance.choice((2, 3, 5, 10)))
        hunt.runs += coupler.runs
        if coupler.cut:
            self._note("cut")

    # --- what is drawn ---------------------------------------------------------------------------

    def _base(self) -> Rewards:
        """Rewards of a whole run."""
        chance = self.chance
        name = chance.choice(("levels", "best", "best", "equal", "spread", "ends", "first"))
        self._note(f"rewards {name}")
        salt = chance.getrandbits(60)
        if name == "spread":
            return partial(_spread, salt)
        if name == "first":
            m = chance.randint(0, max(1, self.hunt.most_pulls or 20))
            return partial(_first, m, chance.random())
        if name == "equal":
            value = chance.choice((0.0, 1.0, 0.5, chance.random()))
            return partial(_level, {}, value)
        arms = range(self.hunt.plan.spec.arms.arm_count())
        best, low = chance.choice(arms), chance.random()
        levels = {
            (rank, arm): float(chance.randrange(2)) if name == "ends" else chance.random()
            for rank in range(-1, self.hunt.plan.spec.agents.count)
            for arm in arms
        }
        if name == "best":  # so that the run ends: one arm, of all agents, is far above
            levels = {at: 1 - low / 9 if at[1] == best else v * low / 3 for at, v in levels.items()}
        return partial(_level, levels, 0.0)

    def _value(self) -> float:
        return self.chance.choice((0.0, 1.0, self.chance.random(), self.chance.random()))

    def _other_features(self) -> Features:
        """Features of all slots; the run file's own where arms have none."""
        return partial(_drawn_features, self.chance.getrandbits(60), None, None)

    # --- what is done ----------------------------------------------------------------------------

    def _rewards(self, coupler: Coupler, run: CoupledRun, base: Rewards, count: int) -> None:
        """Change this many rewards of one agent, as of one person, and see what that costs."""
        chance, claim = self.chance, self.hunt.plan.reward_claim
        rank = chance.choice(sorted(run.used))
        places = [(arm, p) for arm, n in run.used[rank].items() for p in range(min(n, 5_000))]
        if not places:
            return
        chosen = chance.sample(places, min(count, len(places)))
        if chance.random() < 0.5:  # rewards of early rounds are the fewest in a sum
            chosen = [(arm, int(place**0.5)) for arm, place in chosen]
        if count == 1:
            self._one_reward(coupler, run, base, rank, chosen[0])
            return
        changed = {at: self._value() for at in chosen}
        self._note("rewards of a person")
        one = coupler.again(run, base)
        other = coupler.again(run, partial(_changed, base, rank, changed))
        if claim.epsilon is None or claim.epsilon != self.hunt.claimed:
            return  # of a person something is claimed where it is of a reward
        claimed = claim.of_person(len(changed)).epsilon
        where = ", ".join(f"number {p + 1} of arm {k}" for k, p in changed)
        self._judge(one, other, f"{peer_name(rank)}'s reward {where}", claimed)

    def _one_reward(
        self, coupler: Coupler, run: CoupledRun, base: Rewards, rank: int, at: tuple[int, int]
    ) -> None:
        """Give one reward several values, and see what it costs that one becomes another.

        One value of each part of [0, 1] and both ends: a fault of few values is seldom met by a
        value alone, and more seldom beside one that is far enough from it.
        """
        self._note("one reward")
        inner = [(part + self.chance.random()) / _PARTS for part in range(_PARTS)]
        runs = [
            coupler.again(run, partial(_changed, base, rank, {at: value}))
            for value in (0.0, 1.0, *inner)
        ]
        what = f"{peer_name(rank)}'s reward number {at[1] + 1} of arm {at[0]}"
        for one, other in combinations([run, *runs], 2):
            if not self.hunt.violations:
                self._judge(one, other, what, self.hunt.claimed)

    def _one_record(self, coupler: Coupler, run: CoupledRun) -> None:
        """Change what an agent saw before one pull, and the reward after it."""
        chance = self.chance
        rank = chance.choice(sorted(run.used))
        pulls = sum(run.used[rank].values())
        if not pulls:
            return
        slot, salt = chance.randrange(pulls), chance.getrandbits(60)
        self._note("a record with its features")
        one, other = (
            coupler.again(
                run,
                _ByTurn(salt, rank, slot, self._value()),
                partial(_drawn_features, salt + which, rank, slot),
            )
            for which in (0, 1)
        )
        self._judge(one, other, f"{peer_name(rank)}'s pull {slot + 1}", self.hunt.claimed)

    def _judge(
        self,
        one: CoupledRun,
        other: CoupledRun,
        what: str,
        claimed: float,
        delta: float | None = None,
    ) -> None:
        hunt = self.hunt
        at = hunt.delta if delta is None else delta
        cost = cost_of(hunt.plan.claim.honest, one, other, at)
        hunt.dearest = max(hunt.dearest, cost.epsilon / claimed if claimed else 0.0)
        if cost.epsilon > claimed * _CLOSE:
            hunt.violations.append(
                f"{what} costs {cost.epsilon:.4g} by the noise that is asked for, and ε = "
                f"{claimed:.4g} is claimed ({self.says})"
            )

    def _owned(self) -> None:
        """Rewards that have owners, and the field's own ledgers."""
        hunt, claim = self.hunt, self.hunt.plan.reward_claim
        if claim.epsilon is None:
            return
        owned = Owned(
            hunt.plan, hunt.sees, hunt.folder / "logs", hunt.most_pulls, hunt.until, self.chance
        )
        try:
            made = owned.carry_out(_FIRST + self.seed)
        finally:
            for word in owned.words:
                self._note(word)
            hunt.runs += owned.runs
        if made is not None:
            one, other, count = made
            claimed = claim.of_person(owned.most).epsilon * owned.times
            self._judge(one, other, owned.what, claimed, hunt.delta * count)

    def _forge(self, kinds: dict[str, int]) -> None:
        """Forge the proof in all messages of a kind to one agent, which must refuse them."""
        hunt, plan = self.hunt, self.hunt.plan
        kind = self.chance.choice(sorted(kinds))
        victim = self.chance.randrange(plan.spec.agents.count)
        self._note(f"`{kind}` forged")
        believed = _Believed(kind, kinds[kind], victim)
        number = _FIRST + self.seed
        coupler = Coupler(plan, hunt.sees, forge=believed, until=hunt.until)
        coupler.first(number, self._base())
        hunt.runs += 1
        if believed.answered:
            hunt.violations.append(
                f"{peer_name(victim)} answers a `{kind}` whose proof is forged by "
                f"`{believed.answered}` ({self.says})"
            )


@dataclass
class _Believed:
    """Forges the proof of messages to `victim`; `answered`: what it then said."""

    kind: str
    field: int
    victim: int
    forged: bool = False
    answered: str = ""

    def __call__(self, source: int, target: int, frame: bytes) -> bytes:
        """What arrives of a frame."""
        kind, *values = unpacked(frame[HEADER.size :])
        if source == self.victim and self.forged and read_header(frame).plane != Plane.CONTROL:
            self.answered = self.answered or kind
        if kind != self.kind or target != self.victim:
            return frame
        self.forged = True
        values[self.field] = bytes(byte ^ 0x55 for byte in values[self.field])
        return frame[: HEADER.size] + msgspec.msgpack.encode([kind, *values])


def _with_proof(plan: Plan) -> dict[str, int]:
    """The kinds of messages to agents that have a proof, and which field it is."""
    return {
        kind_name(kind): kind.__struct_fields__.index(kind.proof)
        for kind in plan.system.agent.hears
        if kind.proof
    }


def _going_on(plan: Plan) -> Plan:
    """The plan, which goes on without an agent."""
    engine = msgspec.structs.replace(plan.spec.engine, on_missing="continue")
    return replace(plan, spec=msgspec.structs.replace(plan.spec, engine=engine))


def _arms(plan: Plan) -> int:
    return plan.spec.arms.arm_count()


# --- rewards and features, by what was drawn -----------------------------------------------------


def _level(
    levels: dict[tuple[int, int], float],
    value: float,
    rank: int,
    arm: int,
    rewards: FloatArray,
    places: IntArray,
) -> FloatArray:
    return np.full(len(places), levels.get((rank, arm), value))


def _spread(salt: int, rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """Any values, the same whenever these places are asked for."""
    mixed = (places.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(salt ^ (rank + 2) << 40 ^ arm << 20)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    spread: FloatArray = (mixed >> np.uint64(11)).astype(float) / 2.0**53
    return spread


def _first(
    m: int, value: float, rank: int, arm: int, rewards: FloatArray, places: IntArray
) -> FloatArray:
    return np.where(places < m, value, 0.0)


def _changed(
    base: Rewards,
    owner: int,
    changed: dict[tuple[int, int], float],
    rank: int,
    arm: int,
    rewards: FloatArray,
    places: IntArray,
) -> FloatArray:
    kept = base(rank, arm, rewards, places).copy()
    for (k, place), value in changed.items():
        if (owner, k) == (rank, arm):
            kept[places == place] = value
    return kept


@dataclass
class _ByTurn:
    """Rewards by the number of an agent's pull, whatever its arm; one of `whose` is another."""

    salt: int
    owner: int = COORDINATOR - 1
    turn: int = 0
    value: float = 0.0
    turns: Counter[int] = field(default_factory=Counter)

    def __call__(self, rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
        turns = self.turns[rank] + np.arange(len(places))
        self.turns[rank] += len(places)
        given = _spread(self.salt, rank, 0, rewards, turns)
        if rank == self.owner:
            given[turns == self.turn] = self.value
        return given


def _drawn_features(
    salt: int, owner: int | None, at: int | None, rank: int, slot: int, features: FloatArray
) -> FloatArray:
    """Directions, of equal entries often; of one agent and slot alone, if these are given."""
    if (owner is not None and rank != owner) or (at is not None and slot != at):
        return features
    draws = np.random.default_rng([salt & 0xFFFF_FFFF, salt >> 32, rank + 1, slot])
    rows = draws.standard_normal(features.shape)
    if draws.random() < 0.6:
        rows = np.sign(rows)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    drawn: FloatArray = rows / np.maximum(lengths, 1e-12)
    return drawn
