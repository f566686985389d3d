"""How long the coordinator waits, and what makes it wait longer; without a clock of its own."""

import math

_ANSWER = 10.0
"""Seconds that an agent has to answer the roll, and half the deadline if that is less: two round
trips of the slowest links, and what it may be doing."""

Ends = tuple[int, int]


class Outages:
    """Links between agents: one is down as long as an agent at one of its ends says so."""

    def __init__(self) -> None:
        self._said: dict[Ends, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._said)

    def lost(self, by: int, about: int) -> bool:
        """An agent lost the connection to a neighbour; whether that is news."""
        ends = _ends(by, about)
        news = ends not in self._said
        self._said.setdefault(ends, set()).add(by)
        return news

    def back(self, by: int, about: int) -> bool:
        """It has one again; whether the link is whole now, and was not."""
        ends = _ends(by, about)
        if ends not in self._said:
            return False
        self._said[ends].discard(by)
        if self._said[ends]:
            return False
        del self._said[ends]
        return True

    def unsay(self, rank: int) -> None:
        """An agent was started again, and does not know what it said of its links."""
        for ends in [ends for ends in self._said if rank in ends]:
            self.back(rank, sum(ends) - rank)

    def forget(self, rank: int) -> None:
        """An agent is gone, and its links with it."""
        self._said = {ends: said for ends, said in self._said.items() if rank not in ends}

    def clear(self) -> None:
        """All links begin anew."""
        self._said.clear()

    def beside(self, ranks: list[int]) -> list[Ends]:
        """The links that are down, but for those of these agents."""
        return [ends for ends in self._said if not set(ends) & set(ranks)]


def _ends(one: int, other: int) -> Ends:
    return min(one, other), max(one, other)


def link(ends: Ends) -> str:
    """A link for a sentence."""
    return "link {}–{}".format(*sorted(ends))


class Patience:
    """One wait after the other, in seconds of the loop's clock.

    `deadline`: seconds after which a wait ends in which nothing moved, and `joining`, where that is
    for agents to join; `absence`: seconds that an agent without a connection is waited for in a
    run, all its absences together. Who is away, and links that are down, explain a silence: then it
    may last longer. `heard` is when something last moved; `outages` has the links between agents
    that are down.
    """

    def __init__(self, deadline: float, absence: float, joining: float) -> None:
        self.deadline = deadline
        self.joining = joining
        self.absence = absence
        self.heard = math.inf
        self.outages = Outages()
        self._absent: dict[int, float] = {}
        """In a run: when who has no connection is waited for no longer."""
        self._left: dict[int, float] = {}
        """Who has no connection, since when."""
        self._used: dict[int, float] = {}
        """In a run: the seconds that an agent was away before, and came back."""
        self._away_since = 0.0
        self._parted = math.inf
        """Since when, in this silence, some link between agents is or was down."""
        self.within = deadline
        """Seconds that the silence of this wait may last."""
        self._called = -math.inf
        """When the roll was last called."""
        self._best = (0, 0)
        """In this wait: how many were ready, and here, at most."""

    def begin(self, now: float, here: int, *, joining: bool = False) -> None:
        """A wait begins, for agents to join or for something else; so many are here."""
        self.heard = now
        self._called = -math.inf
        self.within = self.joining if joining else self.deadline
        self._parted = now if self.outages else math.inf
        self._best = (0, here)

    def rejoin(self) -> None:
        """Before a run an agent lost its connection: it has the time for joining to come back."""
        self.within = max(self.within, self.joining)

    def carry(self, now: float, away: list[int]) -> None:
        """A run begins, and these agents have no connection."""
        self._absent = dict.fromkeys(away, now + self.absence)
        self._left = dict.fromkeys(away, now)
        self._used = {}
        self._away_since = now

    def release(self) -> None:
        """The run is over."""
        self._absent = {}

    # --- what happens ----------------------------------------------------------------------------

    def moved(self, now: float) -> None:
        """The run was brought on."""
        self.heard = now
        if self._parted != math.inf:
            self._parted = now if self.outages else math.inf

    def counted(self, now: float, ready: int, here: int) -> None:
        """The wait goes on if more are ready, or here, than ever were in it."""
        best = self._best
        if ready > best[0] or here > best[1]:
            self.heard = now
            self._best = max(ready, best[0]), max(here, best[1])

    def left(self, rank: int, now: float) -> None:
        """In a run an agent lost its connection."""
        if not self._absent:
            self._away_since = now
        self._left[rank] = now
        self._absent[rank] = now + self.absence - self._used.get(rank, 0.0)

    def away_for(self, now: float) -> float:
        """Seconds since when, without a gap, somebody was away."""
        return now - self._away_since

    def returned(self, rank: int, now: float) -> bool:
        """An agent has a connection again; whether it was known to have none."""
        if self._absent.pop(rank, None) is None:
            return False
        self._used[rank] = self._used.get(rank, 0.0) + now - self._left[rank]
        if not self._absent:
            self.heard += now - self._away_since  # who was away explains the silence
        return True

    def forget(self, rank: int) -> None:
        """An agent is not waited for any more."""
        self._absent.pop(rank, None)
        self.outages.forget(rank)
        if not self.outages:
            self._parted = math.inf

    def wait_on(self, now: float) -> list[int]:
        """Who was away for too long, and is waited for as long again."""
        late = self.overdue(now)
        self._absent.update(dict.fromkeys(late, now + self.absence))
        return late

    def parted(self, now: float) -> None:
        """A link between agents is down."""
        self._parted = min(self._parted, now)

    # --- time ------------------------------------------------------------------------------------

    @property
    def end(self) -> float:
        """When a silence has lasted too long."""
        end = self.heard + self.within
        return end if self._parted == math.inf else max(end, self._parted + self.absence)

    @property
    def timer(self) -> float:
        """When somebody is away for too long, else when the silence is."""
        return min(self._absent.values(), default=self.end)

    @property
    def roll_at(self) -> float:
        """When the roll is to be called: once in a silence, before it ends the run."""
        if self._called >= self.heard:
            return math.inf
        return self.end - min(self.deadline / 2, _ANSWER)

    def call_roll(self, now: float) -> None:
        """Those who are waited for are asked whether they are there."""
        self._called = now

    def answered(self, at: float) -> bool:
        """Whether who was last heard then has answered the roll."""
        return at >= self._called

    @property
    def somebody_is_away(self) -> bool:
        """Whether agents are waited for that have no connection."""
        return bool(self._absent)

    def overdue(self, now: float) -> list[int]:
        """Who was away for too long."""
        return [rank for rank, until in self._absent.items() if now >= until]
