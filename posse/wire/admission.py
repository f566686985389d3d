"""How many connections a second a door takes, and from whom, so that no source crowds out others.

A source is an IPv4 address or an IPv6 /64; where there are too many of them, /24 and /48, then /16
and /32. While all together ask for more than the door takes, each source gets the same share (as in
max-min fairness), so one that asks for less is not limited at all. Rates are estimates: an accepted
connection counts for as many requests as were dropped beside it.
"""

import ipaddress
import math
from collections import defaultdict
from collections.abc import Mapping

from posse.wire.syn_filter import MOST_SOURCES, PacketSource

TAKEN_PER_SECOND = 96
"""Connections that are taken a second, besides two per agent."""

_MEMORY = 1.0
"""Seconds in which an estimate of a rate falls to 1/e."""

_LEAST_SHARE = 1 / 256
_FORGOTTEN = 0.05
_PREFIXES = ((32, 64), (24, 48), (16, 32))


class Admission:
    """Estimates the rates of sources, and decides which share of each one's requests is taken.

    `shares` has those that are limited, `others` the share of all other sources. While `shut`,
    requests are dropped unseen, so that no source is quiet for it.
    """

    def __init__(self) -> None:
        self.shares: dict[PacketSource, float] = {}
        self.others = 1.0
        self.shut = False
        self._rates: dict[PacketSource, float] = {}
        self._prefixes = _PREFIXES[0]
        self._at = -math.inf

    def accepted(self, source: PacketSource | None) -> None:
        """Note that a connection from this source was accepted."""
        if source is not None:
            share = self.shares.get(_wider(source, self._prefixes), self.others)
            self._rates[source] = self._rates.get(source, 0.0) + 1 / share / _MEMORY

    def update(self, now: float, most: float) -> bool:
        """Decide anew, taking at most `most` connections a second; whether that changed."""
        faded = 1.0 if self.shut else math.exp(min(0.0, self._at - now) / _MEMORY)
        self._at = now
        rates = ((source, rate * faded) for source, rate in self._rates.items())
        self._rates = {source: rate for source, rate in rates if rate > _FORGOTTEN}
        before = self.shares, self.others
        self.shares, self.others = {}, 1.0
        if sum(self._rates.values()) > most:
            self._limit(most)
        return (self.shares, self.others) != before

    def _limit(self, most: float) -> None:
        rates: Mapping[PacketSource, float] = {}
        for self._prefixes in _PREFIXES:
            rates = self._at_prefix()
            if len(rates) <= MOST_SOURCES:
                break
        quota = fair_quota(list(rates.values()), most)
        if len(rates) > MOST_SOURCES:
            self.others = max(_LEAST_SHARE, min(1.0, most / sum(rates.values())))
            return
        self.shares = {
            source: max(_LEAST_SHARE, quota / rate)
            for source, rate in rates.items()
            if rate > quota
        }

    def _at_prefix(self) -> dict[PacketSource, float]:
        grouped: dict[PacketSource, float] = defaultdict(float)
        for source, rate in self._rates.items():
            grouped[_wider(source, self._prefixes)] += rate
        return grouped


def fair_quota(rates: list[float], most: float) -> float:
    """The quota q with sum(min(rate, q)) = most; infinite where all rates fit."""
    left = most
    rates = sorted(rates)
    for number, rate in enumerate(rates):
        quota = left / (len(rates) - number)
        if rate > quota:
            return quota
        left -= rate
    return math.inf


def source_of(host: str) -> PacketSource | None:
    """The source that an address belongs to; None where it is none."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return ipaddress.IPv4Network((address, _PREFIXES[0][0]), strict=False)
    return ipaddress.IPv6Network((address, _PREFIXES[0][1]), strict=False)


def _wider(source: PacketSource, prefixes: tuple[int, int]) -> PacketSource:
    return source.supernet(new_prefix=prefixes[source.version == 6])
