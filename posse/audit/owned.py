"""Runs over rewards that have owners: what all of them cost one owner, by the field's own ledgers.

Each agent has a log with more rows of each owner than may be used, or arms of its own that name
owners as they give rewards; or each row of a log is one owner's. One run uses them, or two one
after the other. All is done twice, with other rewards of one owner and the same noisy numbers.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.audit.replay import ApartError, CoupledRun, Coupler, TimeUpError, in_field
from posse.errors import PosseError
from posse.gates import files
from posse.plan import Plan
from posse.protocol.arrays import FloatArray, IntArray
from posse.protocol.machine import peer_name
from posse.protocol.privacy import AdversaryView
from posse.spec.privacy import PrivacySpec

_MOST_ROWS = 4_000
"""Rows of an arm in a drawn log, in which each owner has about three times what may be used."""

_OFTEN = 0.2
"""How often own arms name the owner whose rewards are changed."""

_MORE = 1.2
"""The budget of a row that may be used again, in what one run costs."""

_NEXT = 1 << 22
"""By how much the number of the second run is larger."""


@dataclass
class Owned:
    """Draws such runs of a plan, with files in `folder`; `pulls`: the most of an agent in a run.

    `words` says what was drawn.
    """

    plan: Plan
    sees: AdversaryView
    folder: Path
    pulls: int
    until: float
    chance: Random
    words: list[str] = field(default_factory=list)
    runs: int = 0
    what: str = ""
    most: int = 1
    """How many rewards of an owner may be used in all."""
    times: float = 1.0
    """How often as much as of one run may be spent on them."""

    def carry_out(self, number: int) -> tuple[CoupledRun, CoupledRun, int] | None:
        """Two series of runs, each as one run, and how many runs; None if none came to its end."""
        chance = self.chance
        count = self.plan.spec.agents.count
        self._rank, best = chance.randrange(count), chance.randrange(3)
        arms = range(self.plan.spec.arms.arm_count())
        self._levels = [0.9 if k == best else chance.random() / 3 for k in arms]
        kind = chance.choice(("log of persons", "log", "own arms"))
        self.words.append(f"a {kind}".replace("a own", "own"))
        series = 2 if kind == "log" else chance.choice((1, 1, 2))
        self.words += ["two runs"] * (series == 2)
        coupler = Coupler(self._plan(kind), self.sees, field=True, own_arms=True, until=self.until)
        if chance.random() < 0.5:
            self.words.append("keys and ledgers")
            coupler.keyed = True
        salt = chance.getrandbits(32)
        made: list[list[CoupledRun]] = [[], []]
        for value, runs in zip((0.0, 1.0), made, strict=True):
            files.make_folder(self.folder)
            if kind == "own arms":
                owned = [
                    _OwnArms(Random(salt + n), self._whose(n), self._levels, value, 2 * self.pulls)
                    for n in range(count)
                ]
                coupler.named = owned.__getitem__
            else:
                self._write_logs(value)
            for k in range(series):
                before = made[0][k] if value and k < len(made[0]) else None
                try:
                    runs.append(
                        coupler.first(number + k * _NEXT)
                        if before is None
                        else coupler.again(before, _untouched)
                    )
                except (ApartError, TimeUpError):
                    raise
                except PosseError:  # its rewards are used up
                    break
            files.remove_folder(self.folder)
        self.runs += coupler.runs
        if not all(made):
            return None
        one, other = (_joined(runs[: min(map(len, made))]) for runs in made)
        return one, other, min(map(len, made))

    def _plan(self, kind: str) -> Plan:
        """The plan over such rewards."""
        plan, chance = self.plan, self.chance
        count = plan.spec.arms.arm_count()
        privacy = PrivacySpec(budget=1_000, delta=0.999)
        if kind == "log":
            self.what = f"a row of {peer_name(self._rank)}'s log"
            if chance.random() < 0.5:
                self.words.append("rows used again")
                self.times = _MORE
                most = _MORE * (plan.reward_claim.epsilon or 0.0)
                privacy = PrivacySpec(budget=most, delta=0.999, reuse="budget")
        else:
            self.most = chance.choice((1, 1, 2, 3))
            self.what = (
                f"a person at {peer_name(self._rank)}, of whom {self.most} rewards may be used,"
            )
            privacy = PrivacySpec(
                budget=1_000, delta=0.999, person="who", rewards_per_person=self.most
            )
        if kind == "own arms":
            arms: Any = PythonArms(target="drawn:arms", count=count)
        else:
            arms = CsvArms(path="{rank}/log.csv", count=count)
            self._draw_owners(kind)
        base = str(self.folder)
        spec = msgspec.structs.replace(plan.spec, arms=arms, base=base, privacy=privacy)
        return replace(in_field(plan), spec=msgspec.structs.replace(spec, mode="field"))

    def _whose(self, rank: int) -> str:
        """Who gives rewards to an agent's own arms again and again; one changes."""
        return "changed" if rank == self._rank else f"{rank}"

    def _draw_owners(self, kind: str) -> None:
        """By agent and arm, whose each row is."""
        chance, arms = self.chance, self.plan.spec.arms.arm_count()
        count = min(4 * self.pulls // arms + 20, _MOST_ROWS)
        if kind == "log":
            persons = count * arms
            rows = [[k * count + place for place in range(count)] for k in range(arms)]
            self._owners = [rows for _ in range(self.plan.spec.agents.count)]
            self._person = chance.randrange(arms) * count + int(count ** chance.random()) // 4
            return
        persons = max(2, count * arms // (3 * self.most))
        self._owners = [
            [chance.choices(range(persons), k=count) for _ in range(arms)]
            for _ in range(self.plan.spec.agents.count)
        ]
        self._person = _soonest(list(zip(*self._owners[self._rank], strict=True)), self.most + 1)

    def _write_logs(self, value: float) -> None:
        for rank, by_arm in enumerate(self._owners):
            rows = ["arm,reward,who"]
            for persons in zip(*by_arm, strict=True):
                for arm, person in enumerate(persons):
                    changed = rank == self._rank and person == self._person
                    reward = value if changed else self._levels[arm]
                    rows.append(f"{arm},{reward!r},person {person}")
            files.make_folder(self.folder / f"{rank}", new=True)
            text = "\n".join([*rows, ""])
            files.write(self.folder / f"{rank}" / "log.csv", text, lasting=False)


@dataclass
class _OwnArms:
    """Rewards of `levels`, many of one person, whose are `value` if that is "changed"."""

    chance: Random
    often: str
    levels: list[float]
    value: float
    most: int
    given: int = 0

    def pull(self, arm: int, count: int) -> tuple[list[float], list[str]]:
        """Rewards, and whose they are; `RuntimeError` after as many as a run needs."""
        if self.given + count > self.most:
            raise RuntimeError("these are all")
        rewards, names = [], []
        for _ in range(count):
            self.given += 1
            often = self.chance.random() < _OFTEN
            names.append(self.often if often else f"{self.often}, {self.given}")
            rewards.append(self.value if names[-1] == "changed" else self.levels[arm])
        return rewards, names


def _joined(runs: list[CoupledRun]) -> CoupledRun:
    """All that runs drew, as one run's."""
    noise = [source for run in runs for source in run.noise]
    return replace(runs[0], noise=noise, cut=any(run.cut for run in runs))


def _soonest(rows: list[tuple[int, ...]], times: int) -> int:
    """The first person to be in a log this often."""
    seen = Counter[int]()
    for row in rows:
        for person in row:
            seen[person] += 1
            if seen[person] == times:
                return person
    return rows[0][0]


def _untouched(rank: int, arm: int, rewards: FloatArray, places: IntArray) -> FloatArray:
    return rewards
