"""Sources that record each answer in a journal and replay it after a restart."""

import functools
import secrets
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms, ArmsContext, ArmsSpec
from posse.arms.csv import Csv
from posse.arms.live import Live, LiveArms
from posse.arms.persons import Admit
from posse.arms.python import Python, PythonArms
from posse.durable.journal import Journal
from posse.gates.files import require_files
from posse.hosts.sources import Sources
from posse.hosts.spending import NOT_KEPT, LedgerHeads, RowsByArm, Spending, SpendingRequest
from posse.protocol.arrays import BoolArray, FloatArray, IntArray
from posse.protocol.noise import Noise


def record_sources(journal: Journal, sources: Sources, *, field: bool) -> Sources:
    """These sources, as a process with a journal hands them to its host.

    In the lab only clocks and the user's own arms are recorded: all else follows from the seed. In
    the field noise and seeds are, too, and never drawn again. A log is read again from its start.
    """

    def arms(spec: ArmsSpec, context: ArmsContext) -> Arms:
        if isinstance(spec, PythonArms):
            return RecordedArms(journal, spec, context)
        if isinstance(spec, LiveArms):
            return RecordedLive(journal, spec, context)
        return sources.arms(spec, context)

    def spending(spec: ArmsSpec, base: str, rank: int) -> Spending:
        real = sources.spending(spec, base, rank)
        return real if real is NOT_KEPT else RecordedSpending(journal, real)

    clocks = replace(
        sources,
        clock=journal.asked(sources.clock, int),
        stamp=journal.asked(sources.stamp, int),
        arms=arms,
        spending=spending,
        signer=functools.cache(sources.signer),
        noted=journal.add,
        stepped=journal.stepped,
        arrived=journal.asked(lambda when: when, int),
    )
    if not field:
        return clocks
    seeds = journal.asked(
        lambda bits: sources.randbits(bits).to_bytes(-(-bits // 8), "little"), bytes
    )
    return replace(
        clocks,
        randbits=lambda bits: int.from_bytes(seeds(bits), "little"),
        noise=lambda: RecordedNoise(journal, sources.noise()),
    )


class RecordedNoise(Noise):
    """Records each noisy value; after a restart it gives recorded values instead of new ones."""

    def __init__(self, journal: Journal, noise: Noise) -> None:
        self._journal = journal
        self._noise = noise

    def noisy(self, values: FloatArray, sensitivity: float, scale: float) -> FloatArray:
        return self._journal.asked(self._noise.noisy, np.ndarray)(values, sensitivity, scale)

    def laplace(self, scale: float, size: int) -> FloatArray:
        return self._journal.asked(self._noise.laplace, np.ndarray)(scale, size)

    def discrete_gaussian(self, values: IntArray, deviation: float) -> IntArray:
        return self._journal.asked(self._noise.discrete_gaussian, np.ndarray)(values, deviation)

    def polya(self, values: IntArray, scale: float, shares: int) -> IntArray:
        return self._journal.asked(self._noise.polya, np.ndarray)(values, scale, shares)

    def bernoulli(self, probability: float, size: int) -> list[bool]:
        return self._journal.asked(self._noise.bernoulli, list)(probability, size)


_DATA = [part.name for part in fields(ArmsContext) if part.name not in ("instance", "once")]
"""What of an `ArmsContext` is data; the rest makes what agents of a run share."""


class RecordedArms(Arms):
    """The user's own arms; a restart does not ask them again for rewards that they gave.

    Made anew they are told how many rewards of each arm they gave: `given`, shape (arms,); with
    persons some may have been left out. `admit` is the ledger of persons, which outlives them.
    """

    def __init__(
        self,
        journal: Journal,
        spec: PythonArms,
        context: ArmsContext,
        given: NDArray[np.int64] | None = None,
        admit: Admit | None = None,
    ) -> None:
        self._made_of = journal, spec, context
        self._given = np.zeros(spec.count, dtype=np.int64) if given is None else given
        self._arms = spec.build(context)
        self._before = self._given
        self._anew = True
        self._admit: Admit | None = None
        if admit is not None:
            self.admit_by(admit)
        self.simulated = self._arms.simulated
        self._draw = journal.asked(lambda *order: self._asked().draw(*order), np.ndarray)
        self._totals = journal.asked(lambda *order: self._asked().totals(*order), np.ndarray)
        self._open = journal.asked(lambda slot: self._asked().open(slot), np.ndarray)
        self._gave = journal.asked(lambda: self._before + self._arms.given, np.ndarray)

    def __getstate__(self) -> tuple[Any, ...]:
        journal, spec, context = self._made_of
        data = {name: getattr(context, name) for name in _DATA}
        data["base"] = Path(context.base)
        return journal, spec, data, self._given, self._admit

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        journal, spec, data, *rest = state
        require_files(data["base"])
        data["base"] = str(data["base"])
        context = ArmsContext(instance=np.random.default_rng, **data)  # arms of one's own need none
        self.__init__(journal, spec, context, *rest)  # type: ignore[misc]

    def admit_by(self, admit: Admit) -> None:
        """See `posse.arms.persons.NamesPersons`."""
        self._admit = admit
        self._arms.admit_by(admit)

    def open(self, slot: int) -> BoolArray:
        """Which arms are open in this slot of the agent, shape (K,)."""
        return self._open(slot)

    def _asked(self) -> Python:
        if self._anew and self._given.any():
            self._arms.skip(self._given)
            self._before = self._given
        self._anew = False
        return self._arms

    def draw(self, arm: int, count: int) -> FloatArray:
        rewards = self._draw(arm, count)
        self._count((arm,), count)
        return rewards

    def totals(self, arms: tuple[int, ...], times: int) -> FloatArray:
        sums = self._totals(arms, times)
        self._count(arms, times)
        return sums

    def _count(self, arms: tuple[int, ...], times: int) -> None:
        if self._arms.persons is not None:
            self._given = self._gave()
        else:
            self._given[list(arms)] += times


class RecordedLive(Live):
    """Live arms of a process with a journal; a restart goes on with the rewards told meanwhile."""

    def __init__(
        self,
        journal: Journal,
        spec: LiveArms,
        context: ArmsContext,
        token: bytes = b"",
        given: NDArray[np.int64] | None = None,
        admit: Admit | None = None,
    ) -> None:
        self._made_of = journal, spec, context
        self._token = token or journal.asked(lambda: secrets.token_bytes(16), bytes)()
        journal.commit()  # before rewards of this run are told
        super().__init__(spec, context, self._token)
        if given is not None:
            self.given = given
        self._admit: Admit | None = None
        if admit is not None:
            self.admit_by(admit)
        self._read = journal.asked(super().read, np.ndarray)

    def __getstate__(self) -> tuple[Any, ...]:
        journal, spec, context = self._made_of
        data = {name: getattr(context, name) for name in _DATA}
        data["base"] = Path(context.base)
        return journal, spec, data, self._token, self.given, self._admit

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        journal, spec, data, *rest = state
        require_files(data["base"])
        data["base"] = str(data["base"])
        context = ArmsContext(instance=np.random.default_rng, **data)
        self.__init__(journal, spec, context, *rest)  # type: ignore[misc]

    def admit_by(self, admit: Admit) -> None:
        """See `Live.admit_by`."""
        self._admit = admit
        super().admit_by(admit)

    def read(self, arm: int, first: int, count: int) -> FloatArray:
        return self._read(arm, first, count)


class RecordedSpending(Spending):
    """The ledger of an agent that may be started again within a run: it still is one run."""

    def __init__(self, journal: Journal, spending: Spending) -> None:
        self._journal = journal
        self._spending = spending

    def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
        """See `Spending`; a run that goes on keeps the rows that it had."""
        begun = False

        def begin() -> tuple[int, RowsByArm]:
            nonlocal begun
            begun = True
            return self._spending.begin(task, arms)

        run, rows = self._journal.asked(begin, list)()
        if begun:
            # the ledger has this run already: after a kill it must go on, and no other may begin
            self._journal.commit()
        else:
            self._spending.go_on(run, rows)
            if rows is not None and isinstance(arms, Csv):
                arms.keep(rows)
            self._spending.count_persons(task, arms)
        return run, rows

    def uses(self, pulls: NDArray[np.int64]) -> None:
        """See `Spending`; the ledger already has the uses that a replay repeats."""
        if not self._journal.repeats:
            self._spending.uses(pulls)

    def tell(self, salt: bytes, *, really: bool) -> LedgerHeads | None:
        """See `Spending`; a replay tells what was told, wherever the ledger is by now."""
        told: Any = self._journal.asked(lambda: self._spending.tell(salt, really=really))()
        return told and (str(told[0]), int(told[1]), bytes(told[2]))

    def end(self, spent: float | None) -> str:
        return self._journal.asked(self._spending.end, str)(spent)

    def leave(self) -> None:
        self._spending.leave()
