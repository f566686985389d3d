"""Parties that lie for the sake of one agent's report: a server, and agents in league with it.

Masked sums (`posse.agent.masking`) are to hide all but sums over enough agents also from a server
that lies. A seed here draws such a server and who is in league with it. It tells each agent another
story: of keys, groups, their order, who is lost, whom others settled for; in any order, twice, or
of another round. The agents are the real machines. What they are brought to tell is a linear system
over the streams that hide reports, of which those in league know their own; what can be solved for
is what the liars read. Of it the smallest set of honest agents is looked for, whose sum it is.

What an agent tells is compared, word by word, with what it should be made of: whatever cannot be
explained is a finding too. A replaced key is none of the lies: agents with keys sign theirs, and
without, the server is trusted with that.

    python -m tests.systems.liars 1000000
"""

import itertools
import sys
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from posse.agent.masking import Masker, SumMasker
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, AgentEvent, Pull, Pulled, Received, Send, Started
from posse.protocol.masking import (
    TAG_BYTES,
    Confirm,
    Covered,
    Keys,
    Masked,
    PublicKey,
    Rest,
    Reveal,
    Settle,
    Settled,
    Share,
    Survivors,
    Unmask,
    Unmasked,
    Words,
    keystream,
    unpack_words,
)
from posse.protocol.message import Message
from posse.protocol.sharing import derived, unpack
from posse_systems.esfandiari2022.agent import AnonymousPlayer, Earnings
from posse_systems.esfandiari2022.messages import Assign, schedule_length, to_words
from posse_systems.li2022.shared import SharedNoise, SharedSchedule
from posse_systems.li2022.shared_agent import SharedNoiseAgent
from tests.support.noise import NoNoise

_PRIME = (1 << 31) - 1
"""Ranks are those modulo this prime: of rows of 0, 1 and -1 the same but by rare chance."""

_SCRIPTS = (
    *("u", "s", "st", "stc", "stcr", "sstc", "tc", "tcr", "tcrr", "tcrrrr"),
    *("stcu", "utc", "cst", "srtc", "rstc", "rs", "rrs", "us", "tcs", "tcsr"),
)
"""What an agent is asked after its report: unmask, survivors, settle (t), confirm, reveal."""

Column = tuple[Any, ...]
"""A stream: ("x", agent, report), ("b", agent, number) or ("p", agent, peer, number)."""

Row = dict[Column, int]


@dataclass
class Lie:
    """What one seed's liars read: sums over `smallest` honest agents, if any; `claimed` at least.

    `told` counts the messages that agents believed, `refused` those that they did not.
    """

    system: str
    agents: int
    dropouts: int
    league: tuple[int, ...]
    claimed: int
    smallest: tuple[int, ...] | None
    told: Counter[str]
    refused: Counter[str]
    unexplained: str = ""

    @property
    def violation(self) -> str:
        """A sentence if less is hidden than is claimed, or something was told that nobody knows."""
        who = f"{self.system} with {self.agents} agents, dropouts = {self.dropouts}"
        if self.league:
            who += f", {len(self.league)} of them in league with the server"
        if self.unexplained:
            return f"{who}: {self.unexplained}"
        if self.smallest is None or len(self.smallest) >= self.claimed:
            return ""
        return (
            f"{who}: a server that lies reads the sum over agents {list(self.smallest)} alone, and "
            f"at least {self.claimed} honest ones are claimed"
        )


@dataclass
class _Story:
    """What one camp of agents is told."""

    keys: dict[int, bytes]
    group: tuple[int, ...]
    lost: list[tuple[int, ...]]
    script: str


@dataclass
class Liars:
    """The liars of one seed, and what they were told."""

    seed: int
    honest_story: bool = False
    chance: Random = field(init=False)
    told: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    rows: list[dict[int, Row]] = field(default_factory=list)
    known: set[Column] = field(default_factory=set)
    parts: dict[Column, set[Any]] = field(default_factory=dict)
    groups: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    unexplained: str = ""

    def __post_init__(self) -> None:
        self.chance = chance = Random(self.seed)
        self.grouped = chance.random() < 0.5
        self._draw_sizes()
        ranks = range(self.agents)
        self.league = tuple(sorted(chance.sample(ranks, self.colluding)))
        self.honest = [n for n in ranks if n not in self.league]
        self.machines = {n: self._machine(n) for n in ranks}
        self.reports: dict[int, int] = dict.fromkeys(ranks, 0)
        self.latest: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.words: dict[int, Words] = {}
        self.tags: dict[int, list[tuple[list[int], bytes]]] = {n: [] for n in ranks}

    def _draw_sizes(self) -> None:
        chance = self.chance
        while True:
            self.dropouts = chance.choice((0, 1, 1, 2))
            self.colluding = chance.choice((0, 0, 1, 2))
            if self.grouped:
                self.size = chance.randint(2, 3)
                formed = self.size + self.dropouts
                self.agents = chance.randint(formed + 1, min(2 * formed + 1, 8))
                self.claimed = self.size - self.colluding
                if self.colluding <= self.size - 2 and self.colluding < self.size - self.dropouts:
                    return
            else:
                self.agents = chance.randint(3, 8)
                trusted = self.agents - self.colluding
                self.claimed = trusted - self.dropouts
                if trusted > max(1, 2 * self.dropouts):
                    return

    def _machine(self, rank: int) -> Any:
        private = bytes([rank + 1, self.seed % 251]) * 16
        if self.grouped:
            masker = Masker(rank, self.size + self.dropouts, private, None, self.dropouts)
            return AnonymousPlayer(rank, 2, 10**6, 16, "masked", masker, Earnings(10**6))
        honest = (self.agents - self.colluding) / self.agents
        shared = SharedNoise(self.agents, 1.0, 1e-6, honest, 16, self.dropouts)
        schedule = SharedSchedule(
            deviation=shared.total, arms=2, senders=self.agents, horizon=10**6, epsilon=1.0
        )
        summing = SumMasker(rank, self.agents, private, None, self.dropouts)
        return SharedNoiseAgent(2, schedule, NoNoise(), masker=summing, shared=shared)

    # --- what the liars say --------------------------------------------------------------------

    def lie(self) -> Lie:
        """Tell all stories, and find out what can be read."""
        keys = {}
        for rank, machine in self.machines.items():
            (effect,) = machine.handle(Started(), 0.0)
            assert isinstance(effect.message, PublicKey)
            keys[rank] = effect.message.key
        stories, camps = self._stories(keys)
        for number in (1, 2)[: 1 if self.honest_story else self.chance.choice((1, 1, 2))]:
            self._round(number, stories, camps)
            if number == 1:
                stories, camps = self._stories(keys)
        return Lie(
            system="masked groups" if self.grouped else "shared noise",
            agents=self.agents,
            dropouts=self.dropouts,
            league=self.league,
            claimed=self.claimed,
            smallest=self._smallest(),
            told=self.told,
            refused=self.refused,
            unexplained=self.unexplained,
        )

    def _stories(self, keys: dict[int, bytes]) -> tuple[list[_Story], dict[int, int]]:
        chance, honest = self.chance, self.honest
        if self.honest_story:
            everybody = tuple(range(self.agents))
            script = "tc" if self.dropouts else "u"
            return [_Story(keys, everybody, [], script)], dict.fromkeys(honest, 0)
        camps = dict.fromkeys(honest, 0)
        if (kind := chance.random()) < 0.5:
            camps[chance.choice(honest)] = 1
        elif kind < 0.8:
            camps = {n: chance.randrange(2) for n in honest}
        victims = [n for n in honest if camps[n]]
        return [self._story(keys, victims), self._story(keys, victims)], camps

    def _story(self, keys: dict[int, bytes], victims: list[int]) -> _Story:
        chance, ranks = self.chance, range(self.agents)

        def some(most: int) -> tuple[int, ...]:
            """Agents to leave out: often those of the other camp."""
            if victims and len(victims) <= most and chance.random() < 0.5:
                return tuple(victims)
            return tuple(chance.sample(ranks, chance.randint(0, min(most, self.agents - 1))))

        told = keys
        if chance.random() < 0.5:
            without = some(self.dropouts + chance.randrange(2))
            told = {n: key for n, key in keys.items() if n not in without}
        group = [n for n in ranks if n in told]
        if self.grouped:
            chance.shuffle(group)
            if chance.random() < 0.3:
                group = group[: chance.randint(1, len(group) or 1)]
            if chance.random() < 0.05 and group:
                group.append(group[0])
        lost = [some(self.dropouts + chance.randrange(2)) for _ in range(2)]
        return _Story(told, tuple(group), lost, chance.choice(_SCRIPTS))

    def _round(self, number: int, stories: list[_Story], camps: dict[int, int]) -> None:
        chance = self.chance
        order = self.honest[:]
        chance.shuffle(order)
        for n in order:
            self._begin(n, number, stories[camps[n]])
        for step in range(max(len(story.script) for story in stories)):
            chance.shuffle(order)
            for n in order:
                story = stories[camps[n]]
                if step < len(story.script):
                    self._tell(n, self._question(n, story, step))
                if not self.honest_story and chance.random() < 0.05:  # out of turn
                    again = self._question(n, chance.choice(stories), chance.randrange(4))
                    self._tell(n, again)

    def _begin(self, n: int, number: int, story: _Story) -> None:
        if number == 1 or self.chance.random() < 0.2:
            self._tell(n, Keys(story.keys))
        if not self.grouped:
            return
        if not self.honest_story and self.chance.random() < 0.1:
            number += self.chance.randint(-1, 2)
        arm = 0 if self.honest_story else self.chance.randrange(2)
        self._tell(n, Assign(max(0, number), arm, 1, story.group))

    def _question(self, n: int, story: _Story, step: int) -> Message:
        chance = self.chance
        number, members = self.latest.get(n, (1, story.group))
        if not self.honest_story and chance.random() < 0.03:
            number = max(0, number + chance.choice((-1, 1)))
        asked = story.script[step % len(story.script)]
        if asked == "u":
            return Unmask(number)
        if asked == "s":
            lost = story.lost[min(step, 1)]
            left = tuple(m for m in members if m not in lost)
            return Survivors(number, left or (n,))
        if asked == "t":
            return Settle(number)
        if asked == "c":
            return Confirm(number, self._tags_for(n))
        return Reveal(number, chance.choice((*story.lost[0], *range(self.agents))))

    def _tags_for(self, n: int) -> bytes:
        """What others told this agent, wherever they did; of those in league what fits its own."""
        masker, chance = self.machines[n].masker, self.chance
        parts = []
        for peer in sorted(masker.survivors - {n}):
            if peer in self.league and peer in masker.seeds:
                parts.append(masker._make_tag(peer, peer, masker._hash_survivors()))
                continue
            told = [
                tags[TAG_BYTES * place : TAG_BYTES * (place + 1)]
                for others, tags in self.tags.get(peer, [])
                for place, other in enumerate(others)
                if other == n
            ]
            parts.append(chance.choice(told) if told else bytes(TAG_BYTES))
        return b"".join(parts)

    # --- what they are told --------------------------------------------------------------------

    def _tell(self, n: int, message: Message) -> None:
        name = type(message).__name__
        try:
            self._act(n, Received(COORDINATOR, message))
        except RemoteProtocolError:
            self.refused[name] += 1
        except Exception as error:  # whatever it is, a lie ended an agent
            self.unexplained = f"{name} raises {error!r}"
        else:
            self.told[name] += 1

    def _act(self, n: int, event: AgentEvent) -> None:
        machine = self.machines[n]
        for effect in machine.handle(event, 0.0):
            if isinstance(effect, Pull) and getattr(machine, "stage", "explore") == "explore":
                self._act(n, self._pulled(n, effect))
            elif isinstance(effect, Send):
                self._hear(n, effect.message)

    def _pulled(self, n: int, order: Pull) -> Pulled:
        if order.each:
            rewards = np.array([[self.chance.random() for _ in range(order.times)]])
            width = schedule_length(self.machines[n].masker.group_size)
            self.words[n] = to_words(rewards.reshape(-1, width), 16).sum(axis=0, dtype=np.uint64)
            return Pulled(order.arms, order.times, rewards.sum(axis=1), rewards)
        sums = np.array([self.chance.random() * order.times for _ in order.arms])
        self.words[n] = self.machines[n].shared.to_integers(sums).view(np.uint64)
        return Pulled(order.arms, order.times, sums)

    def _hear(self, n: int, message: Message) -> None:
        masker = self.machines[n].masker
        match message:
            case Masked(number, words) | Covered(number, words, _):
                self._hear_report(n, number, words)
                points = message.points if isinstance(message, Covered) else b""
                self.parts.setdefault(("b", n, number), set()).update(
                    ("point", k) for k in range(len(unpack(points)))
                )
            case Rest(number, _, words):
                lost = set(masker.members) - masker.survivors
                self._add(n, number, words, {}, lost)
            case Settled(_, tags):
                self.tags[n].append((sorted(masker.survivors - {n}), tags))
            case Unmasked(number, seed):
                if seed != masker.own_seed(number):
                    self.unexplained = f"agent {n} told another seed than its own"
                self.known.add(("b", n, number))
            case Share(number, owner, share):
                if unpack(share) != [derived(masker.seeds[owner][32:], owner, number)]:
                    self.unexplained = f"agent {n} told a share that is none"
                self.parts.setdefault(("b", owner, number), set()).add(("share", n))

    def _hear_report(self, n: int, number: int, words: bytes) -> None:
        members = self.machines[n].masker.members
        self.latest[n] = number, members
        self.groups[n, number] = members
        self.reports[n] += 1
        own: Row = {("x", n, self.reports[n]): 1, ("b", n, number): 1}
        self._add(n, number, words, own, set(members) - {n})

    def _add(self, n: int, number: int, told: bytes, own: Row, peers: set[int]) -> None:
        """Add what an agent told, made of its own streams and those with peers, word by word."""
        masker = self.machines[n].masker
        members = masker.members
        width = len(told) // 8
        words = unpack_words(told, width)
        expected = np.zeros(width, dtype=np.uint64)
        if own:
            expected += self.words[n][:width] + keystream(masker.own_seed(number), number, width)
        left_out = {w: members[w - 1] for w in range(1, len(members) + 1)} if self.grouped else {}
        by_word: dict[int, Row] = {w: dict(own) for w in range(width)}
        for peer in sorted(peers - {n}):
            stream = keystream(masker.seeds[peer][:32], number, width)
            for w, absent in left_out.items():
                stream[w : w + 1] *= np.uint64(absent != peer)
            expected = expected + stream if n < peer else expected - stream
            for w in range(width):
                if left_out.get(w) != peer:
                    by_word[w]["p", *sorted((n, peer)), number] = 1 if n < peer else -1
        for w, absent in left_out.items():
            if absent == n and w < width:
                expected[w], by_word[w] = 0, {}
        if not np.array_equal(expected, words):
            self.unexplained = f"agent {n} told words that are not what hides its report"
        self.rows.append(by_word)

    # --- what can be read ----------------------------------------------------------------------

    def _smallest(self) -> tuple[int, ...] | None:
        """The fewest honest agents whose sum follows from what was told; None if no sum does."""
        for (owner, number), members in self.groups.items():
            if len(self._shares(owner, number, members)) >= len(members):
                self.known.add(("b", owner, number))
        found: list[tuple[int, ...]] = []
        for w in sorted({w for row in self.rows for w in row}):
            system = [self._open(row[w]) for row in self.rows if row.get(w)]
            if (least := _smallest_sum(system)) is not None:
                found.append(least)
        return min(found, key=len, default=None)

    def _shares(self, owner: int, number: int, members: tuple[int, ...]) -> set[Any]:
        """The values of the polynomial of a self-mask's seed that the liars have."""
        told = self.parts.get(("b", owner, number), set())
        in_league = {("share", n) for n in self.league}
        return {part for part in told | in_league if part[0] == "point" or part[1] in members}

    def _open(self, row: Row) -> Row:
        """What of a row those in league do not know."""
        return {
            column: sign
            for column, sign in row.items()
            if column not in self.known
            and not (column[0] == "p" and not {column[1], column[2]}.isdisjoint(self.league))
        }


def _smallest_sum(system: list[Row]) -> tuple[int, ...] | None:
    """The fewest agents whose reports alone appear in a combination of rows."""
    columns = sorted({column for row in system for column in row}, key=str)
    masks = [column for column in columns if column[0] != "x"]
    reports = [column for column in columns if column[0] == "x"]
    if not reports:
        return None
    table = np.array([[row.get(c, 0) for c in (*masks, *reports)] for row in system])
    reduced, rank = _reduced(table, len(masks))
    readable = reduced[rank:, len(masks) :]
    readable = readable[readable.any(axis=1)]
    if not len(readable):
        return None
    whole = _reduced(readable, len(reports))[1]
    agents = sorted({column[1] for column in reports})
    for count in range(1, len(agents) + 1):
        for some in itertools.combinations(agents, count):
            others = [k for k, column in enumerate(reports) if column[1] not in some]
            if _reduced(readable[:, others], len(others))[1] < whole:
                return some
    return None


def _reduced(table: Any, width: int) -> tuple[Any, int]:
    """A table with its first columns in echelon form modulo a prime, and their rank."""
    table, rank = table.astype(np.int64) % _PRIME, 0
    for column in range(width):
        pivots = np.flatnonzero(table[rank:, column])
        if not len(pivots):
            continue
        pivot = rank + int(pivots[0])
        table[[rank, pivot]] = table[[pivot, rank]]
        table[rank] = table[rank] * pow(int(table[rank, column]), -1, _PRIME) % _PRIME
        below = table[rank + 1 :]
        below -= below[:, [column]] * table[rank] % _PRIME
        below %= _PRIME
        rank += 1
        if rank == len(table):
            break
    return table, rank


def search(seeds: range) -> tuple[list[Lie], Counter[str], Counter[str]]:
    """The lies of these seeds that read more than is claimed; what was believed and refused."""
    found, told, refused = [], Counter[str](), Counter[str]()
    for seed in seeds:
        lie = Liars(seed).lie()
        told.update(lie.told)
        refused.update(lie.refused)
        if lie.violation:
            found.append(lie)
    return found, told, refused


if __name__ == "__main__":
    begun = perf_counter()
    lies, believed, doubted = search(range(int(sys.argv[1])))
    print(*sorted({lie.violation for lie in lies}), sep="\n")
    print(f"{sys.argv[1]} liars in {perf_counter() - begun:.0f} s: {len(lies)} read too much")
    print(f"believed {dict(believed)}, refused {dict(doubted)}")
