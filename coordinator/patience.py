"""How long the coordinator waits, and what extends the wait. The time is passed in."""

import math
from collections.abc import Iterable

from posse.spec.runfile import EngineSpec

_ANSWER = 10.0
"""Seconds that an agent has to answer the roll, or half the deadline if that is less: two round
trips of the slowest links, and time for what the agent may be busy with."""

_CALL_AGAIN = 1.0
"""Seconds between two calls of the roll to those who have not answered: a call may be lost."""


class Outages(dict[frozenset[int], set[int]]):
    """Links between agents that are down, each with the agents at its ends that say so.

    A link is `agreed` to be down once both say it: one agent's word explains no silence.
    """

    @property
    def agreed(self) -> bool:
        """Whether there is a link that both its ends say is down."""
        return any(ends == by for ends, by in self.items())

    def lost(self, by: int, about: int) -> bool:
        """Agent `by` lost its connection to neighbour `about`; returns whether that is news."""
        ends = frozenset((by, about))
        is_new = ends not in self
        self.setdefault(ends, set()).add(by)
        return is_new

    def back(self, by: int, about: int) -> bool:
        """Agent `by` has a connection to `about` again; returns whether that heals the link."""
        ends = frozenset((by, about))
        if ends not in self:
            return False
        self[ends].discard(by)
        if self[ends]:
            return False
        del self[ends]
        return True

    def unsay(self, rank: int) -> None:
        """Withdraw what an agent said: it was restarted and does not know what it said before."""
        for ends in [ends for ends in self if rank in ends]:
            self.back(rank, sum(ends) - rank)

    def forget(self, rank: int) -> None:
        """Drop the links of an agent that is gone."""
        for ends in [ends for ends in self if rank in ends]:
            del self[ends]

    def beside(self, ranks: list[int]) -> list[frozenset[int]]:
        """The links that are down, except those of the agents `ranks`."""
        return [ends for ends in self if ends.isdisjoint(ranks)]


def link(ends: Iterable[int]) -> str:
    """The name of a link in a sentence."""
    return "link {}–{}".format(*sorted(ends))


class Patience:
    """The coordinator's current wait, in seconds of the loop's clock.

    A wait ends when nothing has moved for `deadline` seconds, or for `joining` seconds while agents
    join. In a run the coordinator waits `absence` seconds for an agent without a connection, summed
    over all its absences. Absent agents and links that are down explain a silence, which may then
    last longer. `heard` is when something last moved; `outages` are the links that are down.
    """

    def __init__(self, engine: EngineSpec) -> None:
        self.deadline, self.joining = engine.deadline, engine.joining
        self.absence = engine.absence
        self.heard = math.inf
        self.outages = Outages()
        self._absent: dict[int, float] = {}
        """In a run: by agent without a connection, when the coordinator stops waiting for it."""
        self._left: dict[int, float] = {}
        """By agent, when its last absence began."""
        self._used: dict[int, float] = {}
        """In a run: by agent, the seconds of its earlier absences."""
        self._away_since = 0.0
        self._parted = math.inf
        """When a link between agents, down now, was first down; infinite if none is."""
        self._explained = 0.0
        """Seconds of this silence that links explained which are up again."""
        self.within = self.deadline
        """Seconds that the silence of this wait may last."""
        self._called = -math.inf
        """When the roll was first called in this silence."""
        self._call_at = -math.inf
        self._best = (0, 0)
        """In this wait: the most agents that were ready, and that were here."""

    def begin(self, now: float, here: int, *, joining: bool = False, anew: bool = True) -> None:
        """Begin a wait, for agents to join if `joining`; `here` is how many are here.

        If not `anew`, what moved last moved in the wait before, and only what that had not yet is
        progress.
        """
        if not anew:
            self.within = self.joining if joining else self.deadline
            return
        self.heard = now
        self._called = -math.inf
        self.within = self.joining if joining else self.deadline
        self._parted = now if self.outages.agreed else math.inf
        self._explained = 0.0
        self._best = (0, here)

    def rejoin(self) -> None:
        """Before a run an agent lost its connection: wait as long as for agents that join."""
        self.within = max(self.within, self.joining)

    def carry(self, now: float, away: list[int]) -> None:
        """A run begins while the agents `away` have no connection."""
        self._absent = dict.fromkeys(away, now + self.absence)
        self._left = dict.fromkeys(away, now)
        self._used = {}
        self._away_since = now

    def release(self) -> None:
        """The run is over."""
        self._absent = {}

    # --- what happens ----------------------------------------------------------------------------

    def moved(self, now: float) -> None:
        """The run made progress."""
        self.heard = now
        self._explained = 0.0
        if self._parted != math.inf:
            self._parted = now if self.outages.agreed else math.inf

    def counted(self, now: float, ready: int, here: int = 0) -> None:
        """Extend the wait if more agents are ready, or here, than ever before in it."""
        best = self._best
        if ready > best[0] or here > best[1]:
            self.heard = now
            self._best = max(ready, best[0]), max(here, best[1])

    def left(self, rank: int, now: float) -> None:
        """An agent lost its connection during a run."""
        if not self._absent:
            self._away_since = now
        self._left[rank] = now
        self._absent[rank] = now + self.absence - self._used.get(rank, 0.0)

    def away_for(self, now: float) -> float:
        """Seconds for which at least one agent has been away, without a gap."""
        return now - self._away_since

    def returned(self, rank: int, now: float) -> bool:
        """An agent has a connection again; returns whether it was known to have none."""
        if self._absent.pop(rank, None) is None:
            return False
        self._used[rank] = self._used.get(rank, 0.0) + now - self._left[rank]
        if not self._absent:
            self.heard += now - self._away_since  # the absences explain the silence
        return True

    def forget(self, rank: int, now: float) -> None:
        """Stop waiting for an agent."""
        self._absent.pop(rank, None)
        self.outages.forget(rank)
        self.mended(now)

    def wait_on(self, now: float) -> list[int]:
        """Wait as long again for the agents that are overdue; returns them."""
        late = self.overdue(now)
        self._absent.update(dict.fromkeys(late, now + self.absence))
        return late

    def parted(self, now: float) -> None:
        """A link between agents went down, as one of its ends says."""
        if self.outages.agreed:
            self._parted = min(self._parted, now)

    def mended(self, now: float) -> None:
        """Links between agents are up again, or no longer matter.

        Once none is agreed to be down, the time for which one was explains the silence, and what
        was kept has a moment to be sent: all together at most `absence` seconds in one silence.
        """
        if self.outages.agreed or self._parted == math.inf:
            return
        counted_anew = max(self.heard + now - self._parted, now + self._moment - self.within)
        most = self.heard + max(0.0, self.absence - self._explained)
        heard = max(self.heard, min(now, counted_anew, most))
        self._explained += heard - self.heard
        self.heard, self._parted = heard, math.inf

    def give_moment(self, now: float) -> None:
        """The run goes on in another way: let the agents hear of it before it is too late."""
        self.heard = max(self.heard, now + self._moment - self.within)

    def stood_still(self, now: float, seconds: float) -> None:
        """The coordinator itself did nothing for this many seconds until now: they do not count.

        Where it stood still, others may have too, and need a moment to connect again.
        """
        moment = min(seconds, self._moment)
        self.heard = max(self.heard + seconds, now + moment - self.within)
        self._parted += seconds
        self._away_since += seconds
        for times in (self._absent, self._left):
            times.update({rank: moment + seconds for rank, moment in times.items()})

    # --- time ------------------------------------------------------------------------------------

    @property
    def end(self) -> float:
        """When a silence has lasted too long."""
        end = self.heard + self.within
        if self._parted == math.inf:
            return end
        return max(end, self._parted + self.absence - self._explained)

    @property
    def timer(self) -> float:
        """When the next absent agent is overdue; if none is absent, when the silence is."""
        return min(self._absent.values(), default=self.end)

    @property
    def roll_at(self) -> float:
        """When to call the roll: before a silence ends the run, and then every second."""
        if self._called >= self.heard:
            return self._call_at
        return self.end - self._moment

    @property
    def _moment(self) -> float:
        return min(self.deadline / 2, _ANSWER)

    def call_roll(self, now: float) -> None:
        """Note that the agents that are waited for are now asked whether they are there."""
        if self._called < self.heard:
            self._called = now
        self._call_at = now + _CALL_AGAIN

    def answered(self, moment: float) -> bool:
        """Whether an agent that was last heard at this time has answered the roll."""
        return moment >= self._called

    @property
    def somebody_is_away(self) -> bool:
        """Whether the coordinator waits for agents that have no connection."""
        return bool(self._absent)

    def overdue(self, now: float) -> list[int]:
        """The agents that have been away for too long."""
        return [rank for rank, until in self._absent.items() if now >= until]
