"""Arms from a reward log: a file per agent with the columns `arm` and `reward`."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse import regular
from posse.arms.base import (
    MOST_ARMS,
    NO_NUMBER,
    Arms,
    ArmsContext,
    ArmsTable,
    Clip,
    check_clip,
    rescale,
)
from posse.arms.log_file import read_log, unreadable
from posse.measure.numbers import listed, named
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import peer_name

_NAMED = 3
"""So many arms are named of which `clip` changes the largest share."""


class Content(NamedTuple):
    """How many bytes a file had when it was read, and their hash."""

    size: int
    digest: bytes


def new_digest(data: bytes = b"") -> "hashlib.blake2b":
    """The hash of logs, of these first bytes."""
    return hashlib.blake2b(data, digest_size=32)


class CsvArms(ArmsTable, frozen=True, kw_only=True, tag_field="kind", tag="csv"):
    """`path`: the log, relative to the run file; `{rank}` becomes the agent's rank.

    `count`: K; the column `arm` numbers arms from 0 to K - 1. Each row is one reward. Rows are used
    once, in the order of the file, so that a guarantee per reward covers the value in each row.

    With `replace = true`, rows are drawn at random with replacement. The guarantee then is per
    reward only: a record drawn m times is covered as a person behind m rewards is. `clip` works as
    for Gaussian arms; with it, a NaN counts as lo, and an infinite reward as the end it exceeds.
    """

    path: Annotated[str, Meta(description="the reward log; {rank} becomes the agent's rank")]
    count: Annotated[int, Meta(ge=2, le=MOST_ARMS, description="K, arms")]
    replace: Annotated[bool, Meta(description="draw rows at random with replacement")] = False
    clip: Clip = None
    unit_interval = True
    """Rewards outside [0, 1] are an error unless clipped."""

    def __post_init__(self) -> None:
        check_clip(self.clip)

    @property
    def records(self) -> str:
        """What a guarantee per reward means for a record."""
        if self.replace:
            return (
                "Rows are drawn with replacement: the guarantee is per reward only, and a record "
                "drawn m times is covered as a person behind m rewards is."
            )
        return (
            "Each row is used once: its reward is protected where the row stands. Adding a row, "
            "removing it or moving it to another arm shifts all later rows into other statistics, "
            "which is not covered."
        )

    @property
    def ends(self) -> str:
        """What the end of a run may reveal of rewards."""
        used = "Everybody sees if an agent's log is used up."
        return used if self.clip is not None else f"{used} {NO_NUMBER}"

    def arm_count(self) -> int:
        """K."""
        return self.count

    def check_agents(self, agents: int) -> None:
        """Raise ValueError if several agents would read one file."""
        if agents > 1 and "{rank}" not in self.path:
            raise ValueError("path must contain {rank}: every agent has its own log")

    def missing(self, base: str, ranks: Sequence[int]) -> str:
        """A sentence about logs of these agents that are not on this machine; "" if all are."""
        absent = [path for path in (self._log(base, rank) for rank in ranks) if not path.is_file()]
        if not absent:
            return ""
        more = f", nor do the logs of {len(absent) - 1} more agents" if len(absent) > 1 else ""
        return f"path: {absent[0]} does not exist{more}"

    def check(self, base: str, ranks: Sequence[int]) -> None:
        """Raise `LogError` if a log of these agents that is on this machine has a mistake."""
        for rank in ranks:
            if (path := self._log(base, rank)).is_file():
                read_log(path, self.count, peer_name(rank), bounded=self.clip is None)

    def remarks(self, base: str, ranks: Sequence[int]) -> list[str]:
        """Sentences about what the logs of these agents on this machine hold that may surprise."""
        empty: dict[int, list[int]] = {}
        by_arm: list[list[FloatArray]] = [[] for _ in range(self.count)]
        for rank in ranks:
            if not (path := self._log(base, rank)).is_file():
                continue
            logs = read_log(path, self.count, peer_name(rank), bounded=self.clip is None)
            for arm, log in enumerate(logs):
                by_arm[arm].append(log)
                if not len(log):
                    empty.setdefault(arm, []).append(rank)
        notes = [f"{named(agents)}: no row of arm {arm}" for arm, agents in sorted(empty.items())]
        if self.clip is not None and any(by_arm):
            notes.append(_clipped([np.concatenate(logs) for logs in by_arm], *self.clip))
        return notes

    def ledger(self, base: str, rank: int) -> tuple[Path, Path]:
        """The paths of the agent's ledger and of its log, with symbolic links resolved."""
        log = self._log(base, rank).resolve()
        return Path(f"{log}.ledger"), log

    def _log(self, base: str, rank: int) -> Path:
        return Path(base) / self.path.replace("{rank}", str(rank))

    def build(self, context: ArmsContext) -> "Csv":
        """The arms of one agent."""
        path = self._log(context.base, context.rank)
        try:
            state = path.stat()
        except OSError as error:
            raise unreadable(context.owner, path, error) from None
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        logs, content = _rewards(path, stamp, self.count, context.owner, self.clip)
        return Csv([*logs], self.replace, context.rewards, content)


@lru_cache(maxsize=256)
def _rewards(
    path: Path, stamp: tuple[int, ...], count: int, owner: str, clip: Clip
) -> tuple[tuple[FloatArray, ...], Content]:
    """Each arm's rewards on the arms' scale; a file is read again only when its `stamp` differs."""
    try:
        data = regular.read(path)
    except OSError as error:
        raise unreadable(owner, path, error) from None
    rows = read_log(path, count, owner, bounded=clip is None, data=data)
    content = Content(len(data), new_digest(data).digest())
    return tuple(rescale(log, clip) for log in rows), content


def _clipped(logs: Sequence[FloatArray], low: float, high: float) -> str:
    """What the clip [low, high] changes of the rewards of each arm."""
    cut = [log[~((log >= low) & (log <= high))] for log in logs]
    total, changed = sum(map(len, logs)), sum(map(len, cut))
    ends = f"NaN counts as {low:g}, the worst reward, and a row without a reward is refused"
    if not changed:
        return f"arms.clip changes none of {total:,} rewards; {ends}"
    values, times = np.unique(np.concatenate(cut), return_counts=True)
    most, often = values[times.argmax()], times.max()
    becomes = f"{high:g}, the best reward" if most > high else f"{low:g}, the worst reward"
    arms = sorted(range(len(logs)), key=lambda arm: -len(cut[arm]) / max(1, len(logs[arm])))
    worst = [
        f"{len(cut[k]):,} of {len(logs[k]):,} of arm {k}" for k in arms[:_NAMED] if len(cut[k])
    ]
    return (
        f"arms.clip changes {changed:,} of {total:,} rewards, {often:,} of them {most:g}, which "
        f"becomes {becomes}; by arm {listed(worst)}"
        f"{' …' if sum(map(bool, map(len, cut))) > _NAMED else ''}; {ends}"
    )


class Csv(Arms):
    """One agent's reward log."""

    def __init__(
        self,
        logs: list[FloatArray],
        replace: bool,
        generator: np.random.Generator,
        content: Content | None = None,
    ) -> None:
        self.content = content
        self.replace = replace
        self._logs = logs
        self._generator = generator
        self._used = [0] * len(logs)

    @property
    def lengths(self) -> list[int]:
        """How many rows each arm has."""
        return [len(log) for log in self._logs]

    def keep(self, rows: Sequence[NDArray[np.int64]]) -> None:
        """Use only these rows of each arm from now on, in this order."""
        self._logs = [log[kept] for log, kept in zip(self._logs, rows, strict=True)]

    def draw(self, arm: int, count: int) -> FloatArray:
        log = self._logs[arm]
        if self.replace:
            if not len(log):
                return log
            return log[self._generator.integers(len(log), size=count)]
        first = self._used[arm]
        self._used[arm] = min(first + count, len(log))
        return log[first : self._used[arm]].copy()  # other runs of this process share the log

    def remaining(self, arm: int) -> int | None:
        """Rows not yet used; None with replacement."""
        if self.replace and len(self._logs[arm]):
            return None
        return len(self._logs[arm]) - self._used[arm]
