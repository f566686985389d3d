"""Checks from captured messages that a server saw groups only (Esfandiari et al. 2022).

The checker plays the server. From the frames of a run it forms every observation that masks allow,
and says which of them covers fewer than C users. It does not look into any machine.

A masked report is y_i = x_i + b_i + Σ_j ±m_ij, with m_ij an unknown number that is shared by i and
j alone. A combination Σ a_i y_i is free of unknowns if and only if a_i = a_j for each m_ij that
both have added, a_i = 0 for each that only i has, and a_i = 0 wherever b_i was not revealed. So the
observations are the connected components of "shares a mask with" that hold no such member. That is
what assignments say about masks; that the masks are really there is checked by the numbers: if any
fewer than C reports of one round add up to a possible sum of rewards, they are not hidden (a chance
of about 2^-40 otherwise).
"""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from protocol.anonymous import (
    TO_AGENT,
    TO_COORDINATOR,
    Assign,
    Played,
    Sealed,
    Sums,
    removed_in,
    roster,
    schedule_length,
)
from protocol.errors import RemoteProtocolError
from protocol.keystream import keystream
from protocol.machine import COORDINATOR
from protocol.masking import WORD_BITS, Masked, PublicKey, Unmasked, Words
from protocol.message import Message, Plane
from protocol.wire import Codec, read_header


class Heard(list[tuple[int | None, int | None, bytes]]):
    """The frames of a run, each with its source and its target; a `Tap`."""

    def __call__(self, source: int | None, target: int | None, frame: bytes) -> None:
        """Keep a frame."""
        self.append((source, target, frame))


@dataclass
class Verdict:
    """How many observations the server could form, how many users the smallest covers, and every
    one that covers fewer than C, in a sentence each.
    """

    observations: int = 0
    smallest: int | None = None
    violations: list[str] = field(default_factory=list)

    def saw(self, covers: int, group_size: int, what: str) -> None:
        """The server formed an observation."""
        self.observations += 1
        self.smallest = covers if self.smallest is None else min(self.smallest, covers)
        if covers < group_size:
            self.violations.append(f"{what} covers {covers} users, fewer than {group_size}")


@dataclass
class _Round:
    """What the server was sent in one assignment, and what it had asked for."""

    orders: dict[int, Assign] = field(default_factory=dict)
    reports: dict[int, Words] = field(default_factory=dict)
    seeds: dict[int, bytes] = field(default_factory=dict)
    sums: list[int] = field(default_factory=list)


def check(heard: Heard, group_size: int, precision: int) -> Verdict:
    """What the server of a run could see; `group_size` C and `precision` as in its parameters."""
    verdict = Verdict()
    rounds: defaultdict[int, _Round] = defaultdict(_Round)
    to_agent, to_coordinator = Codec(TO_AGENT), Codec(TO_COORDINATOR)
    for source, target, frame in heard:
        header = read_header(frame)
        if header.plane != Plane.DATA or source is None or target is None:
            continue
        codec = to_agent if source == COORDINATOR else to_coordinator
        try:
            message = codec.decode(header, frame)
        except RemoteProtocolError as error:
            if target == COORDINATOR:
                verdict.saw(1, group_size, f"agent {source}'s unknown message ({error})")
            continue
        if isinstance(message, Assign):
            rounds[message.number].orders[target] = message
        elif target == COORDINATOR:
            _hear(verdict, rounds, source, message, group_size, precision)
    for number in sorted(rounds):
        _masked(verdict, number, rounds[number], group_size, precision)
        _summed(verdict, number, rounds[number], group_size)
    return verdict


def _hear(
    verdict: Verdict,
    rounds: defaultdict[int, _Round],
    source: int,
    message: Message,
    group_size: int,
    precision: int,
) -> None:
    """Sort one message to the server into its assignment."""
    width = schedule_length(group_size)
    match message:
        case Masked(number, data) | Sealed(number, data) if len(data) < 8 * width:
            verdict.violations.append(f"agent {source} sent a short report in {number}")
        case Masked(number, data):
            if source in rounds[number].reports:
                verdict.saw(1, group_size, f"agent {source}'s second report in {number}")
            words = np.frombuffer(data, dtype="<u8")[:width].astype(np.uint64)
            rounds[number].reports[source] = words
        case Unmasked(number, seed):
            rounds[number].seeds[source] = seed
        case Sealed(number, data):
            _sealed(verdict, rounds[number], source, data, group_size, precision)
        case Sums(number):
            rounds[number].sums.append(source)
        case PublicKey() | Played():
            pass
        case _:
            verdict.saw(1, group_size, f"agent {source}'s {type(message).__name__}")


def _masked(verdict: Verdict, number: int, seen: _Round, group_size: int, precision: int) -> None:
    """Observations and leaks of one assignment's masked reports."""
    if not seen.reports:
        return
    width = schedule_length(group_size)
    groups = {user: seen.orders[user].group if user in seen.orders else () for user in seen.reports}
    left = {
        user: words - keystream(seen.seeds[user], number, width) if user in seen.seeds else words
        for user, words in seen.reports.items()
    }
    for step in range(width):
        heard = []
        for user in sorted(groups):
            if removed_in(step, groups[user]) == user:
                if seen.reports[user][step]:
                    verdict.saw(1, group_size, f"agent {user}'s word in a round without it")
            else:
                heard.append(user)
        rosters = {user: roster(step, groups[user]) or (user,) for user in heard}
        for members in _components(rosters, seen.seeds):
            verdict.saw(len(members), group_size, f"assignment {number}, round {step}: {members}")
        for members in {tuple(u for u in heard if u in rosters[user]) for user in heard}:
            copies = max(seen.orders[u].copies if u in seen.orders else 1 for u in members)
            # as they were sent, and without what was revealed
            sent = np.array([seen.reports[u][step] for u in members], dtype=np.uint64)
            values = np.array([left[u][step] for u in members], dtype=np.uint64)
            for few in {
                *_plain(sent, group_size, copies << precision),
                *_plain(values, group_size, copies << precision),
            }:
                names = tuple(members[position] for position in few)
                verdict.saw(
                    len(few), group_size, f"assignment {number}, round {step}: unhidden {names}"
                )


def _components(
    rosters: dict[int, tuple[int, ...]], seeds: dict[int, bytes]
) -> list[tuple[int, ...]]:
    """The sets of users whose reports have a sum without unknowns."""
    import networkx as nx  # noqa: PLC0415

    # a mask that only one of two has added stays in every sum
    both = {u: {peer for peer in rosters[u] if u in rosters.get(peer, ())} for u in rosters}
    free = {u for u in rosters if u in seeds and len(both[u]) == len(set(rosters[u]))}
    parts = nx.connected_components(nx.Graph(both))
    return sorted(tuple(sorted(part)) for part in parts if part <= free)


def _plain(values: Words, group_size: int, one: int) -> list[tuple[int, ...]]:
    """Fewer than C positions whose values add up to a possible sum of rewards of `one` each."""
    found = []
    for size in range(1, min(group_size, len(values) + 1)):
        if size * one >= 1 << (WORD_BITS - 16):
            continue  # possible sums are too many of all words to tell
        chosen = np.array(list(combinations(range(len(values)), size)))
        sums = values[chosen].sum(axis=1, dtype=np.uint64)
        found += [tuple(int(p) for p in chosen[at]) for at in np.flatnonzero(sums <= size * one)]
    return found


def _sealed(
    verdict: Verdict, seen: _Round, source: int, box: bytes, group_size: int, precision: int
) -> None:
    """A report for the group's first member: nothing the server could read, or a leak."""
    order = seen.orders.get(source)
    words = np.frombuffer(box[: len(box) // 8 * 8], dtype="<u8")
    most = (order.copies if order else 1) << precision
    if (words <= most).mean() > 0.5:
        verdict.saw(1, group_size, f"agent {source}'s report in the clear")


def _summed(verdict: Verdict, number: int, seen: _Round, group_size: int) -> None:
    """What the first members of groups passed on: sums over each round's roster."""
    for sink in seen.sums:
        group = seen.orders[sink].group if sink in seen.orders else (sink,)
        same = [u for u in group if u in seen.orders and seen.orders[u].group == group]
        for step in range(schedule_length(group_size)):
            covers = len(set(roster(step, tuple(same))))
            verdict.saw(covers, group_size, f"assignment {number}, round {step}: sums of {sink}")
