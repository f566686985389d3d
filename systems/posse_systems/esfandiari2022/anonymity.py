"""Checks by captured messages that a server saw groups only (Esfandiari et al. 2022).

The checker plays the server. From the frames of a run it forms every observation that masks allow,
and reports those that cover fewer than C users. It looks into no machine.

A masked report is y_i = x_i + b_i + Σ_j ±m_ij, with m_ij an unknown number that only i and j share.
A combination Σ a_i y_i is free of unknowns if and only if a_i = a_j for each m_ij that both have
added, a_i = 0 for each that only i has added, and a_i = 0 wherever b_i was not revealed. So the
observations are the connected components of "shares a mask with" that have no such member.

The assignments say which masks there should be. The numbers show whether they are there: if fewer
than C reports of one round add up to a possible sum of rewards, these are not hidden (by chance
this happens with probability about 2^-40).
"""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from posse.seam.machines import COORDINATOR
from posse.seam.masking import (
    WORD_BITS,
    Covered,
    Masked,
    PublicKey,
    Rest,
    Settled,
    Share,
    Survivors,
    Unmasked,
    Words,
    interpolated,
    keystream,
    pack,
    place_of,
    place_of_point,
    unpack,
)
from posse.seam.messages import Codec, Message, Plane, RemoteProtocolError, read_header
from posse.seam.system import Frames
from posse_systems.esfandiari2022.messages import (
    TO_AGENT,
    TO_COORDINATOR,
    Assign,
    PlayedUngrouped,
    Sealed,
    Sums,
    removed_in,
    roster,
    schedule_length,
)


@dataclass
class Observations:
    """How many the server could form, and how many users the smallest covers.

    `violations` has a sentence for each observation that covers fewer than C users.
    """

    count: int = 0
    smallest: int | None = None
    violations: list[str] = field(default_factory=list)


@dataclass
class _Round:
    """What the server received in one assignment, and what it had asked for."""

    orders: dict[int, Assign] = field(default_factory=dict)
    reports: dict[int, Words] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    sums: list[int] = field(default_factory=list)
    points: dict[int, list[int]] = field(default_factory=dict)
    asked: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    rests: dict[int, tuple[tuple[int, ...], Words]] = field(default_factory=dict)
    shares: defaultdict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))

    def open_shares(self) -> None:
        """Find the seeds of self-masks of which enough shares were told."""
        for owner, shares in self.shares.items():
            points = self.points.get(owner, [])
            if owner in self.orders and len(shares) + len(points) >= len(self.orders[owner].group):
                values = {place_of(user): share for user, share in shares.items()}
                values |= {place_of_point(n): value for n, value in enumerate(points)}
                self.seeds[owner] = pack([interpolated(values, 0)])

    def known(self, user: int, peer: int) -> bool:
        """Whether the mask that two users share was told, by itself at worst."""
        rest = self.rests.get(user)
        return rest is not None and peer not in rest[0]

    def copies(self, user: int) -> int:
        """How many copies of the assignment a user adds up."""
        return self.orders[user].copies if user in self.orders else 1


def check(frames: Frames, group_size: int, precision: int, dropouts: int = 0) -> Observations:
    """What the server of a run could see, with these of its parameters; `group_size` is C."""
    server = _Server(group_size, precision, dropouts)
    for source, target, frame in frames:
        if source is not None and target is not None:
            server.hear(source, target, frame)
    for number, seen in sorted(server.rounds.items()):
        server.masked(number, seen)
        server.summed(number, seen)
    return server.observations


class _Server:
    """Plays the server: sorts its messages into rounds and forms all observations."""

    def __init__(self, group_size: int, precision: int, dropouts: int) -> None:
        self.observations = Observations()
        self.rounds: defaultdict[int, _Round] = defaultdict(_Round)
        self._group_size = group_size
        self._precision = precision
        self._width = schedule_length(group_size + dropouts)
        self._to_agent, self._to_coordinator = Codec(TO_AGENT), Codec(TO_COORDINATOR)

    def _note(self, covers: int, what: str) -> None:
        """Count an observation that the server could form."""
        seen = self.observations
        seen.count += 1
        seen.smallest = covers if seen.smallest is None else min(seen.smallest, covers)
        if covers < self._group_size:
            seen.violations.append(f"{what} covers {covers} users, fewer than {self._group_size}")

    def hear(self, source: int, target: int, frame: bytes) -> None:
        """Take a frame of the run."""
        header = read_header(frame)
        if header.plane != Plane.DATA:
            return
        codec = self._to_agent if source == COORDINATOR else self._to_coordinator
        try:
            message = codec.decode(header.plane, frame)
        except RemoteProtocolError as error:
            if target == COORDINATOR:
                self._note(1, f"agent {source}'s unknown message ({error})")
            return
        if isinstance(message, Assign):
            self.rounds[message.number].orders[target] = message
        elif isinstance(message, Survivors):
            asked = self.rounds[message.number].asked
            asked[target, len(message.ranks)] = message.ranks
        elif target == COORDINATOR:
            self._sort(source, message)

    def _sort(self, source: int, message: Message) -> None:
        """Sort a message to the server into its assignment."""
        rounds = self.rounds
        match message:
            case Covered(number, data, points):
                rounds[number].points[source] = unpack(points)
                self._sort(source, Masked(number, data))
            case Rest(number, survivors, data) if (source, survivors) in rounds[number].asked:
                words = np.frombuffer(data, dtype="<u8")[: self._width].astype(np.uint64)
                ranks = rounds[number].asked[source, survivors]
                rounds[number].rests[source] = ranks, words
            case Share(number, owner, share):
                rounds[number].shares[owner][source] = unpack(share)[0]
            case Masked(number, data) | Sealed(number, data) if len(data) < 8 * self._width:
                short = f"agent {source} sent a short report in {number}"
                self.observations.violations.append(short)
            case Masked(number, data):
                if source in rounds[number].reports:
                    self._note(1, f"agent {source}'s second report in {number}")
                words = np.frombuffer(data, dtype="<u8")[: self._width].astype(np.uint64)
                rounds[number].reports[source] = words
            case Unmasked(number, seed):
                rounds[number].seeds[source] = seed
            case Sealed(number, box):
                # either unreadable for the server, or a leak
                words = np.frombuffer(box[: len(box) // 8 * 8], dtype="<u8")
                most = rounds[number].copies(source) << self._precision
                if (words <= most).mean() > 0.5:
                    self._note(1, f"agent {source}'s report in the clear")
            case Sums(number):
                rounds[number].sums.append(source)
            case PublicKey() | PlayedUngrouped() | Settled():
                pass
            case _:
                self._note(1, f"agent {source}'s {type(message).__name__}")

    def masked(self, number: int, seen: _Round) -> None:
        """Find observations and leaks in one assignment's masked reports."""
        seen.open_shares()
        orders, reports = seen.orders, seen.reports
        groups = {user: orders[user].group if user in orders else () for user in sorted(reports)}
        unmasked = {
            user: words - keystream(seen.seeds[user], number, self._width)
            if user in seen.seeds
            else words
            for user, words in reports.items()
        }
        for user, (_, rest) in seen.rests.items():
            unmasked[user] = unmasked[user] - rest
        for step in range(self._width if reports else 0):
            where = f"assignment {number}, round {step}"
            absent = {user for user in groups if removed_in(step, groups[user]) == user}
            for user in groups:
                if user in absent and reports[user][step]:
                    self._note(1, f"agent {user}'s word in a round without it")
            heard = [user for user in groups if user not in absent]
            rosters = {
                user: tuple(
                    peer
                    for peer in roster(step, groups[user]) or (user,)
                    if not (seen.known(user, peer) or seen.known(peer, user))
                )
                for user in heard
            }
            for members in _components(rosters, seen.seeds):
                self._note(len(members), f"{where}: {members}")
            for members in {tuple(u for u in heard if u in rosters[user]) for user in heard}:
                largest = max(map(seen.copies, members)) << self._precision
                # as sent, and without what was revealed
                sent = np.array([reports[u][step] for u in members], dtype=np.uint64)
                values = np.array([unmasked[u][step] for u in members], dtype=np.uint64)
                size = self._group_size
                for few in {*_find_plain(sent, size, largest), *_find_plain(values, size, largest)}:
                    names = tuple(members[position] for position in few)
                    self._note(len(few), f"{where}: unhidden {names}")

    def summed(self, number: int, seen: _Round) -> None:
        """Count the sums over each round's roster that the first members of groups passed on."""
        for sink in seen.sums:
            group = seen.orders[sink].group if sink in seen.orders else (sink,)
            same = [u for u in group if u in seen.orders and seen.orders[u].group == group]
            for step in range(self._width):
                covers = len(set(roster(step, tuple(same))))
                self._note(covers, f"assignment {number}, round {step}: sums of {sink}")


def _components(
    rosters: dict[int, tuple[int, ...]], seeds: dict[int, bytes]
) -> list[tuple[int, ...]]:
    """The sets of users whose reports have a sum without unknowns."""
    import networkx as nx  # noqa: PLC0415

    # a mask that only one of its two users added stays in every sum
    both = {u: {peer for peer in rosters[u] if u in rosters.get(peer, ())} for u in rosters}
    free = {u for u in rosters if u in seeds and len(both[u]) == len(set(rosters[u]))}
    parts = nx.connected_components(nx.Graph(both))
    return sorted(tuple(sorted(part)) for part in parts if part <= free)


def _find_plain(values: Words, group_size: int, most: int) -> list[tuple[int, ...]]:
    """Sets of fewer than C positions whose values add up to a sum of rewards up to `most` each."""
    positions = []
    for size in range(1, min(group_size, len(values) + 1)):
        if size * most >= 1 << (WORD_BITS - 16):
            continue  # too many of all words are possible sums
        chosen = np.array(list(combinations(range(len(values)), size)))
        sums = values[chosen].sum(axis=1, dtype=np.uint64)
        positions += [
            tuple(int(p) for p in chosen[index]) for index in np.flatnonzero(sums <= size * most)
        ]
    return positions
