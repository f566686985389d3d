"""Checks of an agent's closing report before it becomes part of a result."""

import math
import struct
from collections.abc import Collection, Iterable
from functools import lru_cache

import msgspec

from posse.protocol.control import Report
from posse.protocol.errors import WORD, RemoteProtocolError
from posse.protocol.log import Row
from posse.protocol.machine import COORDINATOR, MOST_PULLS
from posse.protocol.message import Plane
from posse.protocol.privacy import LONGEST_BLOCK

_PLANES = frozenset(map(int, Plane))
_BUCKETS = 600
"""Buckets of delays on either side of 1 ns: eight for each factor of two, up to 2^63 ns."""


class BadReport(RemoteProtocolError):
    """Raised for a report that decodes, but that an agent cannot have measured."""

    def __init__(self, what: str) -> None:
        super().__init__("bad-report", what)


@lru_cache(maxsize=1_024)
def _is_word(text: str) -> bool:
    return WORD.fullmatch(text) is not None


def _are_amounts(numbers: Iterable[float]) -> bool:
    """Whether all are finite, and none is below zero; the sum with a NaN is not finite."""
    listed = [*numbers]
    return min(listed, default=0) >= 0 and math.isfinite(sum(listed))


class ReportForm:
    """The form that the reports of a run must have.

    `references` names the means that regret is measured against; `log` has the tables of the rows
    that agents note.
    """

    def __init__(
        self, agents: int, arms: int, references: Collection[str], log: tuple[type[Row], ...]
    ) -> None:
        self._targets = range(COORDINATOR, agents)
        self._arms = arms
        self._references = set(references)
        self._log = {kind.table: kind for kind in log}

    def check(self, rank: int, report: Report) -> None:
        """Raise `BadReport` if agent `rank` cannot have measured this."""
        if len(report.pulls) != 8 * self._arms:
            raise BadReport("pulls")
        if report.rewards and len(report.rewards) != 16 * self._arms:
            raise BadReport("rewards")
        self._check_sizes(report)
        if report.regret.keys() != self._references or report.curve.keys() != self._references:
            raise BadReport("regret against other means than this run's")
        for curve in report.curve.values():
            # in Python: curves are short, or else their agents have long been at work
            whole = curve and len(curve) % 24 == 0
            numbers = struct.unpack(f"<{len(curve) // 8}d", curve) if whole else ()
            if not whole or not _are_amounts(numbers):
                raise BadReport("a curve of regret that is cut off or not finite")
            if any([*column] != sorted(column) for column in (numbers[::3], numbers[1::3])):
                raise BadReport("a curve of regret that goes back in time")
        for link in report.links:
            if link.source != rank or link.target not in self._targets or link.plane not in _PLANES:
                raise BadReport("a link that is not the agent's")
        if any(source not in self._targets for source in report.delays):
            raise BadReport("delays of a link that is not the agent's")
        if any(not -_BUCKETS < bucket < _BUCKETS for by in report.delays.values() for bucket in by):
            raise BadReport("a delay longer than any run")
        self._check_words(report)
        self._check_log(report)

    def _check_sizes(self, report: Report) -> None:
        """Refuse numbers that no run reaches, and that would overflow sums."""
        used = report.resources
        counts = [report.activations, report.slots, used.peak_bytes, used.proportional_bytes]
        for by in report.delays.values():
            counts += by.values()
        counts += report.refused.values()
        counts += struct.unpack(f"<{self._arms}q", report.pulls)
        for link in report.links:
            counts += (link.messages, link.payload_bytes, link.frame_bytes)
        numbers = [used.cpu_seconds]
        for release in report.releases:
            counts.append(release.times)
            numbers += (release.sensitivity, release.scale, release.epsilon)
        if max(counts) > MOST_PULLS or min(counts) < 0:
            raise BadReport("a count that no run reaches")
        given = struct.unpack(f"<{len(report.rewards) // 8}d", report.rewards)
        if not all(map(math.isfinite, given[1::2])):
            raise BadReport("a sum of rewards that is not finite")
        numbers += [*given[::2], *report.regret.values()]
        for seconds in report.seconds.values():
            numbers += seconds
        if not _are_amounts(numbers):
            raise BadReport("a number that is not finite, or below zero")

    def _check_words(self, report: Report) -> None:
        """Refuse kinds, reasons and names that are not a `WORD`: text of the agent's own."""
        words = [*report.refused, *report.seconds, *[link.kind for link in report.links]]
        for release in report.releases:
            words.append(release.mechanism)
            if len(release.block) >= LONGEST_BLOCK or not release.block.isprintable():
                raise BadReport("the block of a release")
        if not all(map(_is_word, words)):
            raise BadReport("a word that posse does not use")

    def _check_log(self, report: Report) -> None:
        """Refuse unknown tables, rows of a wrong form, and cells that are not finite."""
        for table, rows in report.log.items():
            if table not in self._log:
                raise BadReport("a table that this system does not have")
            try:
                self._log[table].select(report.log)
            except (ValueError, msgspec.ValidationError):
                raise BadReport(f"a row of {table}") from None
            if not all(math.isfinite(cell) for row in rows for cell in row):
                raise BadReport(f"a cell of {table} that is not finite")
