"""Runs whose noisy numbers are given again on other rewards: the field's code, in memory.

A first run draws its noise by the field's class, and each noisy number is kept. A second run gets
the numbers of the first, whatever its rewards are.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms, ArmsContext, ArmsSpec, base
from posse.arms.live import rehearsed
from posse.arms.python import Python
from posse.audit.law import Draw
from posse.audit.neighbours import TooLong
from posse.audit.view import PLACE, Adversary, EnoughSeen, digest_of
from posse.coordinator.host import CoordinatorHost
from posse.durable.ledger import Ledger
from posse.engines import memory
from posse.errors import ArmsError, PosseError, RunFailed
from posse.gates import files
from posse.hosts.effects import HostEffect
from posse.hosts.sources import SECRET_BITS, FeaturesOf, Sources
from posse.hosts.spending import (
    NOT_KEPT,
    LedgerHeads,
    RowsByArm,
    Spending,
    SpendingRequest,
    keep_none,
)
from posse.plan import Plan
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.control import HEAD_BYTES
from posse.protocol.machine import peer_name
from posse.protocol.masking import PublicKey
from posse.protocol.message import Plane, kind_name
from posse.protocol.noise import Noise
from posse.protocol.privacy import AdversaryView, Release
from posse.protocol.signing import Signer, public_of
from posse.protocol.wire import HEADER, read_header
from posse.wire.sources import SignerOf, of_this_machine
from posse.wire.world import World

_EVERYTHING = 1 << 20
"""Messages and frames of a run that are compared."""

_FAR = 5.0
"""How far raw rewards lie beyond `arms.clip`, in widths of it."""

_FURTHER, _FEW_PULLS, _MOST_PULLS = 4, 1_000, 1 << 24
"""A run on other rewards is cut where an agent pulls this many times more than in any run on the
run file's own, and these few; and any run at this many pulls. Equal arms are never told apart."""

_KEY = msgspec.msgpack.encode(kind_name(PublicKey))
"""What the content of a frame with a key for masks begins with."""

_UNBOUNDED = 1e6
"""What is added to a reward that has no bound."""

_DECIDE = "raw rewards decide: with the same noisy numbers {} differs"
_MISSING = -np.inf
"""Stands for a number that was not seen."""

Rewards = Callable[[int, int, FloatArray, IntArray], FloatArray]
"""What rewards become: those of an agent, of an arm, as drawn, at their places; all in [0, 1]."""


Forge = Callable[[int, int, bytes], bytes]
"""What arrives of a frame, by its source and target."""

Features = Callable[[int, int, FloatArray], FloatArray]
"""What features become: those that an agent sees in a slot, shape (arms, features)."""


def as_seen(rank: int, slot: int, features: FloatArray) -> FloatArray:
    """The run file's own."""
    return features


def _seen_as(become: Features, rank: int, contexts: FeaturesOf) -> FeaturesOf:
    return lambda slot: become(rank, slot, contexts(slot))


def in_field(plan: Plan) -> Plan:
    """The plan with the hosts of the field, whatever its arms are."""
    spec = msgspec.structs.replace(plan.spec, mode="field")
    return replace(plan, spec=spec, clock="wall")


def as_drawn(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """The run file's own."""
    return rewards


def opposite(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """Each as far away as can be."""
    return (rewards <= 0.5).astype(float)


def zeros(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """None."""
    return np.zeros(len(places))


def ones(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """All of them 1."""
    return np.ones(len(places))


def first_arm(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """An arm that is much the best, so that one arm's rewards are used as often as can be."""
    return np.full(len(places), float(arm == 0))


def other_arms(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    """The reverse of `first_arm`, for every other agent."""
    return np.full(len(places), float((arm == 0) == rank % 2))


class _Still(World):
    """This machine, but that no time passes: no claim covers how long the arms of a run take."""

    monotonic_ns = staticmethod(lambda: 0)
    wall = staticmethod(lambda: 0.0)


def _signer(agents: int, name: bytes) -> Signer:
    """One key for all agents: what they sign is compared, not whether it is refused."""
    secret = bytes(32)
    return Signer(secret, dict.fromkeys(range(agents), public_of(secret)), name)


class TimeUpError(PosseError):
    """Ends runs when the time given to them is over."""


class ApartError(PosseError):
    """A coupled run differs from the run before although all noisy numbers are the same."""


@dataclass
class CoupledNoise(Noise):
    """Noise of `inner`, with each draw kept; or the numbers of `before`, given again.

    `bare`: whether noise was asked for by itself, which the field refuses.
    """

    inner: Noise
    rank: int
    before: Sequence[Draw] | None
    draws: list[Draw] = field(default_factory=list)
    bare: bool = False

    def _ask(self, asked: Draw) -> Any:
        number = len(self.draws)
        if self.before is None:
            given = np.array(redraw(self.inner, asked, asked.values).given)
        else:
            was = self.before[number] if number < len(self.before) else None
            if was is None or was.law != asked.law:
                raise ApartError(_DECIDE.format(f"what agent {self.rank} asks of its noise"))
            given = was.given
            if given.shape != np.shape(asked.values):
                raise ApartError(_DECIDE.format(f"how many numbers agent {self.rank} releases"))
        self.draws.append(replace(asked, values=np.array(asked.values, float), given=given))
        return given.copy()

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        given: FloatArray = self._ask(Draw("laplace", values, sensitivity, scale))
        return given

    def laplace(self, scale: float, size: int) -> FloatArray:
        self.bare = True
        return self.noisy(np.zeros(size), scale, scale)

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        given: IntArray = self._ask(Draw("gaussian", values, 0.0, deviation))
        return given

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        given: IntArray = self._ask(Draw("polya", values, 0.0, scale, shares=shares))
        return given

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        coins = self._ask(Draw("coins", np.full(size, probability), 0.0, 1.0))
        return [bool(coin) for coin in coins]


def redraw(noise: Noise, draw: Draw, values: Any) -> Draw:
    """The same draw for other values, made anew."""
    if draw.kind == "laplace":
        given: Any = noise.noisy(values, draw.sensitivity, draw.scale)
    elif draw.kind == "gaussian":
        given = noise.discrete_gaussian(values, draw.scale)
    elif draw.kind == "polya":
        given = noise.polya(values, draw.scale, draw.shares)
    else:
        given = np.array(noise.bernoulli(float(values[0]), len(values)) if len(values) else [])
    return replace(draw, values=values, given=given)


@dataclass
class _CanaryArms(Arms):
    """The run file's arms with other rewards, put in before the field's clip."""

    inner: Arms
    rank: int
    unit: bool
    clip: tuple[float, float]
    become: Rewards
    most: int
    require_time: Callable[[], None]
    used: dict[int, int] = field(default_factory=dict)
    pulls: list[tuple[int, int]] = field(default_factory=list)
    simulated = False

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        self._within(len(arms) * times)
        return super().totals(arms, times)

    def _within(self, count: int) -> None:
        if sum(self.used.values()) + count > self.most:
            raise TooLong(f"agent {self.rank} pulls more than {self.most:,} times")

    def draw(self, arm: int, count: int) -> FloatArray:
        self._within(count)
        self.require_time()
        drawn = self.inner.draw(arm, count).astype(float)
        first = self.used.get(arm, 0)
        self.used[arm] = first + len(drawn)
        self.pulls.append((arm, count))
        rewards = self.become(self.rank, arm, drawn, np.arange(first, first + len(drawn)))
        if not self.unit:
            return rewards if self.become is as_drawn else drawn + _UNBOUNDED * rewards
        low, high = self.clip
        beyond = _FAR * ((rewards == 1).astype(float) - (rewards == 0))
        return base.rescale(low + (rewards + beyond) * (high - low), self.clip)

    def open(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        return base.which_open(self.inner, slot)

    def remaining(self, arm: int) -> int | None:
        return self.inner.remaining(arm)


@dataclass
class _Entered(Spending):
    """The ledger of an agent of the field, which knows how many rewards were used.

    `kept` is one on disk, if agents have keys.
    """

    kept: Spending = NOT_KEPT
    rewards: int = 0

    def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
        return self.kept.begin(task, arms)

    def uses(self, pulls: NDArray[np.int64]) -> None:
        self.rewards = int(pulls.sum())
        self.kept.uses(pulls)

    def tell(self, salt: bytes, *, really: bool) -> LedgerHeads | None:
        return self.kept.tell(salt, really=really)

    def end(self, spent: float | None) -> str:
        return self.kept.end(spent)

    def leave(self) -> None:
        self.kept.leave()

    def require(self, arms: _CanaryArms) -> None:
        """`ApartError` unless it knows of all rewards that these arms gave."""
        if self.rewards < (used := sum(arms.used.values())):
            raise ApartError(
                f"agent {arms.rank} tells what follows from {used} rewards, and its ledger knows "
                f"of {self.rewards}"
            )


@dataclass
class CoupledRun:
    """One run: what the adversary saw, all draws by agent, who used which rewards, the ledgers.

    Of a run that was cut (`cut`), what was seen before, without counts and ledgers. `secrets`: how
    many were asked of the operating system; `keys`: how many keys for masks agents told.
    """

    number: int
    numbers: dict[str, float]
    noise: list[CoupledNoise]
    used: dict[int, dict[int, int]]
    ledgers: list[list[Release]]
    cut: bool = False
    secrets: int = 0
    keys: int = 0

    @property
    def draws(self) -> list[Draw]:
        """All draws, of one agent after another."""
        return [draw for source in self.noise for draw in source.draws]

    @property
    def size(self) -> int:
        """How many numbers were noised."""
        return sum(len(draw.given) for draw in self.draws)

    @property
    def values(self) -> FloatArray:
        """All values that were noised, one after another."""
        return np.concatenate([draw.values for draw in self.draws] or [np.zeros(0)])


@dataclass
class Coupler:
    """Carries out runs of a plan, seen by an adversary; view "agent" sees `watched` agents.

    `runs` counts them, `cut` those that were cut; `pulls`: the most of an agent on the run file's
    own rewards. `field`: hosts are those of the field. `lost`: an agent lost after this many
    frames. `own_arms`: rewards are the run file's own, untouched; `named` makes the object of an
    agent's own arms, by its rank, which names persons. `forge`: what
    arrives of a frame; a run may stand still then, or after a loss. `further`: a run on other
    rewards is cut where an agent pulls this many times more. `frames`: those of the last run.
    `keyed`: agents sign, and tell where their ledgers are, which are made in the folder `ledgers`
    unless they stand beside logs. `until`: when runs end by `TimeUpError`, by the steady clock.
    """

    plan: Plan
    sees: AdversaryView
    watched: int = 1
    runs: int = 0
    cut: int = 0
    pulls: int = 0
    field: bool = False
    lost: tuple[int, int] | None = None
    own_arms: bool = False
    named: Callable[[int], Any] | None = None
    forge: Forge | None = None
    further: int = _FURTHER
    frames: int = 0
    keyed: bool = False
    ledgers: Path | None = None
    until: float = math.inf

    def first(
        self, number: int, rewards: Rewards = as_drawn, features: Features = as_seen
    ) -> CoupledRun:
        """Run `number`, with new noise."""
        return self._carry_out(number, None, rewards, features)

    def again(self, run: CoupledRun, rewards: Rewards, features: Features = as_seen) -> CoupledRun:
        """The same run with the same noisy numbers and other rewards; `ApartError` if it shows.

        Of runs that were cut what both show is compared; numbers that one did not come to noise
        count as not moved.
        """
        other = self._carry_out(run.number, run, rewards, features)
        ours, theirs = run.numbers, other.numbers
        for source, before in zip(other.noise, run.noise, strict=False):
            source.draws += before.draws[len(source.draws) :]
        cut = run.cut or other.cut
        names = ours.keys() & theirs.keys() if cut else {**ours, **theirs}
        # whatever differs moves what comes later to other places
        for name in sorted(names, key=lambda name: name.startswith(PLACE)):
            if not np.array_equal(
                ours.get(name, _MISSING), theirs.get(name, _MISSING), equal_nan=True
            ):
                raise ApartError(
                    f"{name} follows raw rewards: it differs where all noisy numbers are the same"
                )
        return other

    def require_time(self) -> None:
        """`TimeUpError` when its time is over."""
        if monotonic() > self.until:
            raise TimeUpError

    def _carry_out(
        self, number: int, before: CoupledRun | None, rewards: Rewards, features: Features
    ) -> CoupledRun:
        self.require_time()
        if self.ledgers is not None:
            files.remove_folder(self.ledgers)
            files.make_folder(self.ledgers)
        return _Within(self, number, before, rewards, features).run()

    def meddle(
        self, host: CoordinatorHost, source: int, target: int, frame: bytes
    ) -> tuple[bytes, Sequence[HostEffect]]:
        """Lose an agent and forge frames, as is asked for, where the run can go on."""
        self.frames += 1
        going = host.outlives_agents and host.attendance.verdict is None
        effects: Sequence[HostEffect] = ()
        if self.lost is not None and self.frames == self.lost[1] and going:
            effects = host.lose(self.lost[0])
        return frame if self.forge is None else self.forge(source, target, frame), effects

    @property
    def cut_says(self) -> str:
        """How many runs were cut, as the end of a sentence; "" if none was."""
        if not self.cut:
            return ""
        return (
            f"; {self.cut:,} of {self.runs:,} runs were cut, as an agent pulled {self.further} "
            "times as often as on the run file's own rewards: nothing later was looked at"
        )


@dataclass
class _Within:
    """One run of a coupler: what it is handed for the world, and what is seen of it."""

    coupler: Coupler
    number: int
    before: CoupledRun | None
    rewards: Rewards
    features: Features
    noise: list[CoupledNoise] = field(default_factory=list)
    arms: dict[int, _CanaryArms] = field(default_factory=dict)
    entered: dict[int, _Entered] = field(default_factory=dict)
    secrets: int = 0
    keys: int = 0

    def __post_init__(self) -> None:
        coupler = self.coupler
        self.chance = Random(self.number)
        self.plan = in_field(coupler.plan) if coupler.field else coupler.plan
        self.adversary = Adversary(
            self.plan, coupler.sees, 0, coupler.watched, most=_EVERYTHING, exact=True
        )
        sign: SignerOf = _signer if coupler.keyed else lambda agents, name: None
        self.here = of_this_machine(lambda: 0, signer=sign, world=_Still())

    def run(self) -> CoupledRun:
        """Carry it out."""
        coupler = self.coupler
        ledgers: list[list[Release]] = []
        cut, coupler.frames = False, 0
        try:
            ledgers = memory.run(
                self.plan,
                self.number,
                tap=self.hear,
                sources=self.sources(),
                meddle=coupler.meddle,
            ).ledgers
        except (EnoughSeen, TooLong):
            cut = True
        except (RunFailed, ArmsError):
            if coupler.lost is None and coupler.forge is None and not coupler.own_arms:
                raise
            cut = True
        coupler.runs += 1
        coupler.cut += cut
        used = {rank: own.used for rank, own in self.arms.items()}
        if self.rewards is as_drawn:
            coupler.pulls = max([coupler.pulls, *(sum(own.values()) for own in used.values())])
        pulls = {rank: own.pulls for rank, own in self.arms.items()}
        numbers = self.adversary.numbers if cut else self.adversary.collect(pulls)
        for rank, ledger in self.entered.items() if coupler.keyed and not cut else ():
            # what it tells before the next run is of all that this one entered
            if (told := ledger.tell(bytes(HEAD_BYTES), really=True)) is not None:
                numbers[f"what {peer_name(rank)}'s ledger tells later"] = digest_of(told[2])
        asked = self.secrets, self.keys
        return CoupledRun(self.number, numbers, self.noise, used, ledgers, cut, *asked)

    def sources(self) -> Sources:
        """Time, chance and rewards, which repeat."""
        coupler = self.coupler
        sources = replace(
            self.here,
            noise=self.draws,
            real_noise=not coupler.field,
            randbits=self.randbits,
            features=partial(_seen_as, self.features),
            entering=keep_none,
            spending=self.spend,
        )
        if coupler.own_arms and coupler.named is None:
            return sources
        return replace(sources, arms=self.build)

    def randbits(self, bits: int) -> int:
        """Random bits for the field's keys and choices, which repeat."""
        self.secrets += bits >= SECRET_BITS
        return self.chance.getrandbits(bits)

    def draws(self) -> Noise:
        """The noise of the next agent."""
        rank, kept = len(self.noise), None
        if self.before is not None:
            kept = self.before.noise[rank].draws if rank < len(self.before.noise) else []
        self.noise.append(CoupledNoise(self.here.noise(), rank, kept))
        return self.noise[-1]

    def build(self, spec: ArmsSpec, context: ArmsContext) -> Arms:
        """An agent's arms."""
        coupler, most = self.coupler, _MOST_PULLS
        if coupler.named is not None:
            target, none = coupler.named(context.rank), np.zeros(spec.arm_count(), dtype=np.int64)
            return Python(target, "arms", None, context.owner, none, context.persons)
        if coupler.pulls and self.rewards is not as_drawn:
            most = min(most, coupler.further * coupler.pulls + _FEW_PULLS)
        clip = getattr(spec, "clip", None) or (0.0, 1.0)
        own = _CanaryArms(
            rehearsed(spec, context),
            context.rank,
            spec.unit_interval,
            clip,
            self.rewards,
            most,
            coupler.require_time,
        )
        return self.arms.setdefault(context.rank, own)

    def spend(self, spec: ArmsSpec, folder: str, rank: int) -> Spending:
        """An agent's ledger."""
        coupler = self.coupler
        if rank not in self.entered:
            kept = NOT_KEPT
            if coupler.own_arms:
                kept = self.here.spending(spec, folder, rank)
            elif coupler.ledgers is not None:
                kept = Ledger(coupler.ledgers / f"{rank}.ledger", None, self.here.wall)
            self.entered[rank] = _Entered(kept)
        return self.entered[rank]

    def hear(self, source: int | None, target: int | None, frame: bytes) -> None:
        """Take a frame that was sent."""
        self.coupler.require_time()
        self.keys += frame.startswith(_KEY, HEADER.size + 1)
        known, own = self.entered.get(-1 if source is None else source), self.arms.get(source or 0)
        if known is not None and own is not None and read_header(frame).plane != Plane.CONTROL:
            known.require(own)
        self.adversary(source, target, frame)
