"""Runs whose noisy numbers are given again on other rewards: the field's code, in memory.

A first run draws its noise by the field's class, and each noisy number is kept. A second run gets
the numbers of the first, whatever its rewards are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms, ArmsContext, ArmsSpec, base
from posse.arms.live import rehearsed
from posse.audit.law import Draw
from posse.audit.neighbours import TooLong
from posse.audit.view import Adversary, EnoughSeen
from posse.coordinator.host import CoordinatorHost
from posse.engines import memory
from posse.errors import PosseError, RunFailed
from posse.hosts.effects import HostEffect
from posse.hosts.sources import FeaturesOf
from posse.hosts.spending import Spending, keep_none
from posse.plan import Plan
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.message import Plane
from posse.protocol.noise import Noise
from posse.protocol.privacy import AdversaryView, Release
from posse.protocol.wire import read_header
from posse.wire.sources import of_this_machine

_EVERYTHING = 1 << 20
"""Messages and frames of a run that are compared."""

_FAR = 5.0
"""How far raw rewards lie beyond `arms.clip`, in widths of it."""

_FURTHER, _FEW_PULLS, _MOST_PULLS = 4, 1_000, 1 << 24
"""A run on other rewards is cut where an agent pulls this many times more than in any run on the
run file's own, and these few; and any run at this many pulls. Equal arms are never told apart."""

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


class _Entered(Spending):
    """The ledger of an agent of the field, which knows how many rewards were used."""

    rewards = 0

    def uses(self, pulls: NDArray[np.int64]) -> None:
        self.rewards = int(pulls.sum())

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

    Of a run that was cut (`cut`), what was seen before, without counts and ledgers.
    """

    number: int
    numbers: dict[str, float]
    noise: list[CoupledNoise]
    used: dict[int, dict[int, int]]
    ledgers: list[list[Release]]
    cut: bool = False

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
    frames. `own_arms`: rewards are the run file's own, untouched. `forge`: what
    arrives of a frame; a run may stand still then, or after a loss. `further`: a run on other
    rewards is cut where an agent pulls this many times more. `frames`: those of the last run.
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
    forge: Forge | None = None
    further: int = _FURTHER
    frames: int = 0

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
        for name in ours.keys() & theirs.keys() if cut else {**ours, **theirs}:
            if not np.array_equal(
                ours.get(name, _MISSING), theirs.get(name, _MISSING), equal_nan=True
            ):
                raise ApartError(
                    f"{name} follows raw rewards: it differs where all noisy numbers are the same"
                )
        return other

    def _carry_out(
        self, number: int, before: CoupledRun | None, rewards: Rewards, features: Features
    ) -> CoupledRun:
        plan = in_field(self.plan) if self.field else self.plan
        adversary = Adversary(plan, self.sees, 0, self.watched, most=_EVERYTHING, exact=True)
        noise: list[CoupledNoise] = []
        arms: dict[int, _CanaryArms] = {}
        # no claim covers how long the arms of a run on the wall clock take
        here = replace(of_this_machine(lambda: 0), clock=lambda: 0)
        most = _MOST_PULLS
        if self.pulls and rewards is not as_drawn:
            most = min(most, self.further * self.pulls + _FEW_PULLS)

        def draws() -> Noise:
            rank = len(noise)
            kept = None
            if before is not None:
                kept = before.noise[rank].draws if rank < len(before.noise) else []
            noise.append(CoupledNoise(here.noise(), rank, kept))
            return noise[-1]

        def build(spec: ArmsSpec, context: ArmsContext) -> Arms:
            clip = getattr(spec, "clip", None) or (0.0, 1.0)
            inner = rehearsed(spec, context)
            own = _CanaryArms(inner, context.rank, spec.unit_interval, clip, rewards, most)
            return arms.setdefault(context.rank, own)

        chance = Random(number)  # of the field's keys and choices, so that they repeat
        sources = replace(
            here,
            noise=draws,
            real_noise=not self.field,
            randbits=chance.getrandbits,
            features=partial(_seen_as, features),
        )
        entered: dict[int, _Entered] = {}

        def spend(spec: ArmsSpec, folder: str, rank: int) -> Spending:
            return entered.setdefault(rank, _Entered())

        def hear(source: int | None, target: int | None, frame: bytes) -> None:
            known = entered.get(-1 if source is None else source)
            if known is not None and read_header(frame).plane != Plane.CONTROL:
                known.require(arms[source or 0])
            adversary(source, target, frame)

        if not self.own_arms:
            sources = replace(sources, arms=build, entering=keep_none, spending=spend)
        ledgers: list[list[Release]] = []
        cut, self.frames = False, 0
        try:
            ledgers = memory.run(
                plan,
                number,
                tap=hear,
                sources=sources,
                meddle=self._meddle,
            ).ledgers
        except (EnoughSeen, TooLong):
            cut = True
        except RunFailed:
            if self.lost is None and self.forge is None:
                raise
            cut = True
        self.runs += 1
        self.cut += cut
        used = {rank: own.used for rank, own in arms.items()}
        if rewards is as_drawn:
            self.pulls = max([self.pulls, *(sum(own.values()) for own in used.values())])
        pulls = {rank: own.pulls for rank, own in arms.items()}
        numbers = adversary.numbers if cut else adversary.collect(pulls)
        return CoupledRun(number, numbers, noise, used, ledgers, cut)

    def _meddle(
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
