"""Coupled runs: the field's code on other rewards, with the same noisy numbers.

A first run draws its noise by the field's class, and each noisy number is kept. A second run, whose
rewards differ, gets the numbers of the first (the coupling that proves a noisy release private:
Barthe, Gaboardi, Hsu and Pierce 2016; "randomness alignment", Zhang and Kifer, POPL 2017). Where
all that is told follows from noisy numbers, an adversary sees the same in both, whatever the
rewards are: so every reward of a run is changed at once. What one reward costs then is
Σ |moved| / scale over the numbers that it moves, exactly, by the noise that the field's code asked
for. Whether it also got noise of that law, anew each time, is judged by all draws together.

Nothing here is learned or guessed, so a few runs find what counting needs thousands for. It covers
systems that take all their noise from `AgentContext.noise`; a run that never asks for any is left
to counting.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from posse.agent.noise import Noise
from posse.arms import Arms, ArmsContext, ArmsSpec, base
from posse.audit.law import Draw, faults_of_law
from posse.audit.view import Adversary, EnoughSeen
from posse.durable.journal import Journal
from posse.durable.recording import RecordedNoise
from posse.engines import memory
from posse.engines.sources import of_this_machine
from posse.errors import PosseError
from posse.hosts.spending import keep_none
from posse.plan import Plan
from posse.protocol.accounting import Losses, polya_loss
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.machine import peer_name
from posse.protocol.privacy import AdversaryView, Release

_PAIRS = 3
"""Runs whose rewards are all changed, in each of three ways."""

_DRAWS, _MOST_RUNS = 600, 20
"""Runs go on until so many numbers were noised, or there were so many runs."""

_CLOSE = 1 + 1e-9
_EVERYTHING = 1 << 20
"""Messages and frames of a run that are compared."""

_FAR = 5.0
"""How far raw rewards lie beyond `arms.clip`, in widths of it."""

_MISSING = -np.inf
"""Stands for a number that was not seen."""

_UNBOUNDED = 1e6
"""What is added to a reward that has no bound."""

Change = Callable[[FloatArray], FloatArray]
Watch = Callable[[], Adversary]

Canary = tuple[int, int, int]
"""A reward by rank, arm and place."""


class Coupling(msgspec.Struct, frozen=True, kw_only=True):
    """What coupled runs found: `violations` are sentences, each of which refutes the claim.

    `draws` numbers were noised by class `noise`; of `canaries` rewards the one that cost most cost
    `cost`.
    """

    noise: str
    draws: int
    canaries: int
    cost: float
    violations: list[str]

    @property
    def says(self) -> str:
        """What was carried out, in a sentence."""
        return (
            f"{self.draws:,} numbers noised by {self.noise}; of {self.canaries} rewards changed "
            f"one by one the dearest costs ε = {self.cost:.4g}"
        )


class _Apart(PosseError):
    """A coupled run asks for other noise than the run before: its way follows raw rewards."""


@dataclass
class _CoupledNoise(Noise):
    """Noise of `inner`, with each draw kept; or the numbers of `before`, given again."""

    inner: Noise
    rank: int
    before: Sequence[Draw] | None
    draws: list[Draw] = field(default_factory=list)
    bare: bool = False
    """Whether noise was asked for by itself, which the field refuses."""

    def _ask(
        self,
        kind: str,
        values: Any,
        sensitivity: float,
        scale: float,
        draw: Callable[[], Any],
        shares: int = 1,
    ) -> Any:
        number = len(self.draws)
        if self.before is None:
            given = np.array(draw())
        else:
            was = self.before[number] if number < len(self.before) else None
            if was is None or (was.kind, was.scale, was.shares) != (kind, scale, shares):
                raise _Apart(f"what agent {self.rank} asks of its noise differs")
            given = was.given
            if given.shape != np.shape(values):
                raise _Apart(f"how many numbers agent {self.rank} releases differs")
        self.draws.append(Draw(kind, np.array(values, float), sensitivity, scale, given, shares))
        return given.copy()

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        given: FloatArray = self._ask(
            "laplace",
            values,
            sensitivity,
            scale,
            lambda: self.inner.noisy(values, sensitivity, scale),
        )
        return given

    def laplace(self, scale: float, size: int) -> FloatArray:
        self.bare = True
        return self.noisy(np.zeros(size), scale, scale)

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        given: IntArray = self._ask(
            "gaussian",
            values,
            0.0,
            deviation,
            lambda: self.inner.discrete_gaussian(values, deviation),
        )
        return given

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        given: IntArray = self._ask(
            "polya",
            values,
            0.0,
            scale,
            lambda: self.inner.polya(values, scale, shares),
            shares,
        )
        return given

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        coins = self._ask(
            "coins",
            np.full(size, probability),
            0.0,
            1.0,
            lambda: self.inner.bernoulli(probability, size),
        )
        return [bool(coin) for coin in coins]


def _opposite(rewards: FloatArray) -> FloatArray:
    return (rewards <= 0.5).astype(float)


_CHANGES: tuple[Change, ...] = (_opposite, np.zeros_like, np.ones_like)
"""What all rewards of a run become in its pairs."""


@dataclass
class _CanaryArms(Arms):
    """The run file's arms with some rewards changed before they are clipped, as the field clips.

    `changed` are (arm, place) of those that become their opposite; or what all become of.
    """

    inner: Arms
    unit: bool
    clip: tuple[float, float]
    changed: frozenset[tuple[int, int]] | Change
    used: dict[int, int] = field(default_factory=dict)
    pulls: list[tuple[int, int]] = field(default_factory=list)
    simulated = False

    def draw(self, arm: int, count: int) -> FloatArray:
        rewards = self.inner.draw(arm, count).astype(float)
        first = self.used.get(arm, 0)
        self.used[arm] = first + len(rewards)
        self.pulls.append((arm, count))
        if isinstance(self.changed, frozenset):
            places = range(first, self.used[arm])
            flip = np.array([(arm, place) in self.changed for place in places], dtype=bool)
            others = _opposite(rewards)
        else:
            flip, others = np.ones(len(rewards), dtype=bool), self.changed(rewards)
        if not self.unit:
            return rewards + _UNBOUNDED * flip
        rewards = np.where(flip, others, rewards)
        low, high = self.clip
        beyond = _FAR * ((rewards == 1).astype(float) - (rewards == 0))
        return base.rescale(low + (rewards + beyond) * (high - low), self.clip)

    def remaining(self, arm: int) -> int | None:
        return self.inner.remaining(arm)


@dataclass
class _Seen:
    """One run: what the adversary saw, all draws by agent, who used which rewards, the ledgers."""

    numbers: dict[str, float]
    noise: list[_CoupledNoise]
    arms: dict[int, _CanaryArms]
    ledgers: list[list[Release]]

    @property
    def draws(self) -> list[Draw]:
        return [draw for source in self.noise for draw in source.draws]


def _carry_out(
    plan: Plan,
    watch: Watch,
    number: int,
    before: _Seen | None = None,
    changed: frozenset[Canary] | Change = frozenset(),
) -> _Seen:
    """Carry out run `number`, with the noisy numbers of `before`."""
    adversary = watch()
    noise: list[_CoupledNoise] = []
    arms: dict[int, _CanaryArms] = {}
    here = of_this_machine(lambda: 0)

    def draws() -> Noise:
        rank = len(noise)
        kept = None
        if before is not None:
            kept = before.noise[rank].draws if rank < len(before.noise) else []
        noise.append(_CoupledNoise(here.noise(), rank, kept))
        return noise[-1]

    def rewards(spec: ArmsSpec, context: ArmsContext) -> Arms:
        mine: frozenset[tuple[int, int]] | Change
        if isinstance(changed, frozenset):
            mine = frozenset(c[1:] for c in changed if c[0] == context.rank)
        else:
            mine = changed
        clip = getattr(spec, "clip", None) or (0.0, 1.0)
        inner = spec.build(context)
        return arms.setdefault(context.rank, _CanaryArms(inner, spec.unit_interval, clip, mine))

    sources = replace(here, noise=draws, arms=rewards, real_noise=True, entering=keep_none)
    ledgers: list[list[Release]] = []
    with suppress(EnoughSeen):
        ledgers = memory.run(plan, number, tap=adversary, sources=sources).ledgers
    pulls = {rank: one.pulls for rank, one in arms.items()}
    return _Seen(adversary.collect(pulls), noise, arms, ledgers)


def coupled(
    plan: Plan, sees: AdversaryView, claimed: float, delta: float, watched: int = 1
) -> Coupling | None:
    """Carry out coupled runs against a claim of (claimed, delta); None if they tell nothing.

    `watched`: how many agents view "agent" sees.
    """
    watch = partial(Adversary, plan, sees, 0, watched, most=_EVERYTHING)
    runs = [_carry_out(plan, watch, number) for number in range(_PAIRS)]
    if any(source.bare for run in runs for source in run.noise):
        return None
    if claimed and not any(run.draws for run in runs):
        return None
    found = [
        _difference(plan, watch, number, run, change)
        for number, run in enumerate(runs)
        for change in _CHANGES
    ]
    # what is found is a proof, so the rest need not be done
    canaries = [] if any(found) else _canaries(runs[0])
    most = 0.0
    for canary in canaries:
        cost, said = _cost(plan, watch, runs[0], canary, delta)
        most = max(most, cost)
        found.append(said)
        if cost > claimed * _CLOSE:
            found.append(
                f"by the noise that is asked for, {_reward(canary)} costs ε = {cost:.4g}, and "
                f"{claimed:.4g} is claimed"
            )
            break
    found += [said for run in runs for said in _books(run)]
    while not any(found) and _size(runs[0]) > 0 and len(runs) < _MOST_RUNS:
        if sum(map(_size, runs)) >= _DRAWS:
            break
        runs.append(_carry_out(plan, watch, len(runs)))
    found += faults_of_law([[s.draws for s in run.noise] for run in runs])
    kinds = {type(source.inner) for source in runs[0].noise}
    if not any(found) and any(run.draws for run in runs):
        found += [_again(kind()) for kind in kinds]
    return Coupling(
        noise=", ".join(sorted(kind.__name__ for kind in kinds)),
        draws=sum(map(_size, runs)),
        canaries=len(canaries),
        cost=most,
        violations=list(dict.fromkeys(filter(None, found))),
    )


def _size(run: _Seen) -> int:
    return sum(len(draw.given) for draw in run.draws)


def _difference(plan: Plan, watch: Watch, number: int, run: _Seen, change: Change) -> str:
    """A sentence if what is seen differs where all rewards are others and the noise is the same."""
    try:
        other = _carry_out(plan, watch, number, run, change)
    except _Apart as error:
        return f"raw rewards decide: with the same noisy numbers {error}"
    one, two = run.numbers, other.numbers
    for name in {**one, **two}:
        if not np.array_equal(one.get(name, _MISSING), two.get(name, _MISSING), equal_nan=True):
            return f"{name} follows raw rewards: it differs where all noisy numbers are the same"
    return ""


def _canaries(run: _Seen) -> list[Canary]:
    """Rewards to change one by one: the first, second, middle and last of arms of two agents."""
    found: list[Canary] = []
    for rank in sorted(run.arms)[:2]:
        used = run.arms[rank].used
        for arm in sorted(used)[:2]:
            last = used[arm] - 1
            found += [
                (rank, arm, place) for place in sorted({0, 1, last // 2, last}) if place <= last
            ]
    return found


def _reward(canary: Canary) -> str:
    rank, arm, place = canary
    return f"{peer_name(rank)}'s reward number {place + 1} of arm {arm}"


def _cost(plan: Plan, watch: Watch, run: _Seen, canary: Canary, delta: float) -> tuple[float, str]:
    """What one reward costs by the scales of the noise asked for, and a sentence on a fault."""
    try:
        other = _carry_out(plan, watch, 0, run, frozenset([canary]))
    except _Apart:
        return 0.0, ""  # `_difference` says so
    laplace, gaussian, said = [], 0.0, ""
    for one, two in zip(run.draws, other.draws, strict=False):
        moved = float(np.abs(one.values - two.values).sum())
        if not moved:
            continue
        if one.kind == "gaussian":
            gaussian += moved**2 / one.scale**2 / max(1, plan.claim.honest)
        elif one.kind == "polya":
            sums = max(1, plan.claim.honest) / one.shares
            laplace.append((polya_loss(one.scale, min(1.0, sums), moved), 1))
        elif one.kind == "laplace":
            laplace.append((moved / one.scale, 1))
            if moved > one.sensitivity * (1 + 1e-6):
                said = (
                    f"{_reward(canary)} moves what is released by {moved:.4g}, and the noise is "
                    f"sized for {one.sensitivity:.4g}"
                )
    cost = Losses(laplace=tuple(laplace), gaussian=gaussian).epsilon(delta)
    return cost, said


def _books(run: _Seen) -> list[str]:
    """A sentence for each agent whose ledger lacks a release that its noise was asked for."""
    found = []
    for source, ledger in zip(run.noise, run.ledgers, strict=False):
        asked = [(draw.scale, draw.sensitivity) for draw in source.draws if draw.kind == "laplace"]
        for scale, sensitivity in dict.fromkeys(asked):
            entered = [r for r in ledger if np.isclose(r.scale, scale, rtol=1e-6, atol=0)]
            single = all(np.isclose(r.sensitivity, sensitivity, atol=0) for r in entered)
            times = sum(r.times for r in entered)
            if not entered or (single and times < asked.count((scale, sensitivity))):
                found.append(
                    f"agent {source.rank}'s ledger lacks a release: noise of scale {scale:.4g} was "
                    f"asked for {asked.count((scale, sensitivity))} times, entered {times}"
                )
                break
    return found


def _again(noise: Noise) -> str:
    """A sentence if a process that is started again draws noise anew that it drew before."""

    def drawn(journal: Journal) -> list[float]:
        recorded = RecordedNoise(journal, noise)
        return [float(recorded.noisy(np.zeros(1), 1.0, 1.0)[0]) for _ in range(3)]

    with tempfile.TemporaryDirectory(prefix="posse-audit-") as folder:
        journal = Journal(Path(folder) / "journal", "audit", synchronous=False)
        journal.begin("audit")
        before = drawn(journal)
        journal.commit()
        journal.close()
        journal = Journal(Path(folder) / "journal", "audit", synchronous=False)
        with journal.replay() as inputs:
            after = drawn(journal)
            list(inputs)
        journal.remove()
    if before == after:
        return ""
    return "an agent that is started again releases what it released before with new noise"
