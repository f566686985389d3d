"""One sum of masked reports, as the coordinator collects it; agent/masking.py has the masks."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.masking import (
    TAG_BYTES,
    Answer,
    Confirm,
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
from posse.protocol.sharing import (
    SHARE_BYTES,
    interpolated,
    pack,
    place_of,
    place_of_point,
    unpack,
)

Orders = list[tuple[tuple[int, ...], Message]]
"""Messages, each to several agents."""


@dataclass(slots=True)
class MaskedSum:
    """The reports of `members` in round `number`, of whom at most `dropouts` may be lost.

    `settles`: whether members settle whom the sum covers; by default where they may be lost.

    A sum that lacks a report cannot be read, because the masks of the absent agent do not cancel.
    So the round goes on among a `group`, those that reported and are there:

    1. When an agent is lost before all were asked to unmask, the group says which masks its reports
       share with others (`rests`); again, if it gets smaller.
    2. Where agents may be lost all of the group settle for it: their `tags` go to the others.
    3. All of the group are asked for the seeds of their self-masks. Of one that is lost after that,
       or before it settled, the others are asked for `shares`.

    `leaves_out`: the report of the member at position s has no word 1 + s.
    """

    number: int
    members: tuple[int, ...]
    dropouts: int = 0
    leaves_out: bool = False
    settles: bool | None = None
    lost: set[int] = field(default_factory=set)
    group: tuple[int, ...] = ()
    asks: Literal["reports", "rests", "tags", "seeds"] = "reports"
    reports: dict[int, Words] = field(default_factory=dict)
    points: dict[int, bytes] = field(default_factory=dict)
    rests: dict[int, Words] = field(default_factory=dict)
    tags: dict[int, bytes] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    shares: dict[int, dict[int, int]] = field(default_factory=dict)

    def missing(self) -> list[int]:
        """The agents whose message is still needed."""
        if self.asks == "reports":
            return [n for n in self._present(self.members) if n not in self.reports]
        if self.asks == "rests":
            return [n for n in self.group if n not in self.rests]
        if self.asks == "tags":
            return [n for n in self._present(self.group) if n not in self.tags]
        owed: list[Container[int]] = [self.seeds, *self.shares.values()]
        return [n for n in self._present(self.group) if any(n not in senders for senders in owed)]

    @property
    def complete(self) -> bool:
        """Whether the sum can be read."""
        return self.asks == "seeds" and all(n in self.seeds for n in self.group)

    def report(self, sender: int, words: bytes, points: bytes, width: int) -> Orders:
        """Take a report of `width` words; may raise `RemoteProtocolError`, as all that follow."""
        self._expect(sender, "reports", self.reports)
        if len(points) != SHARE_BYTES * self.dropouts:
            raise RemoteProtocolError("wrong-length", f"{len(points)} bytes of points")
        self.reports[sender] = unpack_words(words, width)
        self.points[sender] = points
        return self._end_reports()

    def take(self, sender: int, message: Answer) -> Orders:
        """Take what an agent says after its report."""
        match message:
            case Rest(_, survivors, words):
                return self.rest(sender, survivors, words)
            case Settled(_, tags):
                return self.settled(sender, tags)
            case Unmasked(_, seed):
                self.unmasked(sender, seed)
            case Share(_, owner, share):
                self.share(sender, owner, share)
        return []

    def rest(self, sender: int, survivors: int, words: bytes) -> Orders:
        """Take the masks that an agent shares with none of this many survivors."""
        if survivors > len(self.group) and sender in self.group:
            return []  # it did not know yet of a loss that came after it was asked
        self._expect(sender, "rests", self.rests)
        self.rests[sender] = unpack_words(words, len(self.reports[sender]))
        return self._settle() if len(self.rests) == len(self.group) else []

    def settled(self, sender: int, tags: bytes) -> Orders:
        """Take an agent's tags for all others of the group."""
        self._expect(sender, "tags", self.tags)
        if len(tags) != TAG_BYTES * (len(self.group) - 1):
            raise RemoteProtocolError("wrong-length", f"{len(tags)} bytes of tags")
        if any(not any(tags[at : at + TAG_BYTES]) for at in range(0, len(tags), TAG_BYTES)):
            raise RemoteProtocolError("no-tag", "zeros stand for who is lost")
        self.tags[sender] = tags
        return self._end_settling()

    def unmasked(self, sender: int, seed: bytes) -> None:
        """Take the seed of an agent's self-mask."""
        self._expect(sender, "seeds", self.seeds)
        self.seeds[sender] = seed
        self._use_shares()

    def share(self, sender: int, owner: int, share: bytes) -> None:
        """Take an agent's share of the seed of `owner`, which is lost."""
        self._expect(sender, "seeds", self.shares.get(owner, (sender,)))
        self.shares[owner][sender] = unpack(share)[0]
        self._use_shares()

    def lose(self, agent: int) -> Orders:
        """Go on without an agent; it is for the caller that no more than `dropouts` are lost."""
        self.lost.add(agent)
        if self.asks == "reports":
            return self._end_reports()
        if agent not in self.group:
            return []
        if self.asks == "rests":
            return self._ask_rests()
        if self.asks == "tags":
            return self._end_settling()
        # Its report stays in the sum: the others settled for it, and their masks with it are gone
        # from what they may still tell. So its self-mask must be found without it.
        orders: Orders = []
        if agent not in self.seeds:
            orders = self._ask_shares(agent)
        self._use_shares()
        return orders

    def total(self) -> Words:
        """The sum of the group's reports without all masks that do not cancel."""
        # Masks between two of the group cancel by themselves. What is left in its reports are the
        # self-masks, whose seeds are known now, and masks shared with those that sent no report.
        total = np.zeros_like(self.reports[self.group[0]])
        for agent in self.group:
            own = keystream(self.seeds[agent], self.number, len(total))
            if self.leaves_out:
                own[1 + self.members.index(agent)] = 0
            total += self.reports[agent] - own
        for rest in self.rests.values():
            total -= rest
        return total

    def _present(self, agents: Iterable[int]) -> list[int]:
        return [n for n in agents if n not in self.lost]

    def _expect(self, sender: int, asks: str, senders: Container[int]) -> None:
        if self.asks != asks or sender not in (self.members if asks == "reports" else self.group):
            raise RemoteProtocolError("out-of-turn", f"agent {sender}'s {asks}")
        if sender in senders:
            raise RemoteProtocolError("duplicate", f"agent {sender} sent its {asks} twice")

    def _end_reports(self) -> Orders:
        """Once everybody that is there has reported: unmask, if nobody else takes part."""
        if self.missing():
            return []
        self.group = tuple(self._present(self.members))
        return self._settle() if self.group == self.members else self._ask_rests()

    def _ask_rests(self) -> Orders:
        self.asks, self.rests = "rests", {}
        self.group = tuple(self._present(self.group))
        return [(self.group, Survivors(self.number, self.group))]

    def _settle(self) -> Orders:
        if not (self.dropouts if self.settles is None else self.settles):
            self.asks = "seeds"
            return [(self.group, Unmask(self.number))]
        self.asks = "tags"
        return [(self.group, Settle(self.number))]

    def _end_settling(self) -> Orders:
        """Once everybody that is there has settled: show each whose tags there are, and unmask."""
        if self.missing():
            return []
        self.asks = "seeds"
        present = self._present(self.group)
        orders: Orders = [((n,), Confirm(self.number, self._collect_tags(n))) for n in present]
        for agent in self.group:
            if agent in self.lost:
                orders += self._ask_shares(agent)
        return orders

    def _collect_tags(self, agent: int) -> bytes:
        """What the others told it, in the order of their ranks; zeros of those that are lost."""
        # a sender's tags leave itself out, so that those behind it stand one place further left
        order, parts = sorted(self.group), []
        own = order.index(agent)
        for index, sender in enumerate(order):
            if sender != agent:
                place = TAG_BYTES * (own - (own > index))
                tags = self.tags.get(sender)
                parts.append(tags[place : place + TAG_BYTES] if tags else bytes(TAG_BYTES))
        return b"".join(parts)

    def _ask_shares(self, agent: int) -> Orders:
        self.shares[agent] = {}
        return [(tuple(self._present(self.group)), Reveal(self.number, agent))]

    def _use_shares(self) -> None:
        """Find the seed of each lost agent of which all that are there have sent their share."""
        for owner, shares in list(self.shares.items()):
            if any(n not in shares for n in self._present(self.group)):
                continue
            values = {place_of(n): share for n, share in shares.items()}
            points = unpack(self.points[owner])
            values |= {place_of_point(n): value for n, value in enumerate(points)}
            self.seeds[owner] = pack([interpolated(values, 0)])
            del self.shares[owner]
