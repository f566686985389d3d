"""Arms from a reward log: a CSV file per agent with the columns `arm` and `reward`."""

import csv
import errno
import gzip
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

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
from posse.errors import LogError
from posse.measure.numbers import counted, named
from posse.printable import printable
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import peer_name

_LONGEST = 1 << 20
"""Characters of a line; a longer one is none of a log."""


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
                _read(path, self.count, peer_name(rank), bounded=self.clip is None)

    def remarks(self, base: str, ranks: Sequence[int]) -> list[str]:
        """Sentences about what the logs of these agents on this machine hold that may surprise."""
        empty: dict[int, list[int]] = {}
        cut: Counter[float] = Counter()
        total = 0
        for rank in ranks:
            if not (path := self._log(base, rank)).is_file():
                continue
            logs = _read(path, self.count, peer_name(rank), bounded=self.clip is None)
            for arm, log in enumerate(logs):
                if not log:
                    empty.setdefault(arm, []).append(rank)
                total += len(log)
                cut.update(reward for reward in log if self._is_cut(reward))
        notes = [f"{named(agents)}: no row of arm {arm}" for arm, agents in sorted(empty.items())]
        if self.clip is not None and cut:
            (most, times), *_ = cut.most_common(1)
            low, high = self.clip
            ends = f"{low:g} is the worst reward, {high:g} the best, and NaN counts as {low:g}"
            notes.append(
                f"arms.clip changes {cut.total():,} of {total:,} rewards, {times:,} of them are "
                f"{most:g}; {ends}"
            )
        return notes

    def _is_cut(self, reward: float) -> bool:
        return self.clip is not None and not self.clip[0] <= reward <= self.clip[1]

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
            raise _unreadable(context.owner, path, error) from None
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        logs = _rewards(path, stamp, self.count, context.owner, self.clip)
        return Csv([*logs], self.replace, context.rewards)


@lru_cache(maxsize=256)
def _rewards(
    path: Path, stamp: tuple[int, ...], count: int, owner: str, clip: Clip
) -> tuple[FloatArray, ...]:
    """Each arm's rewards on the arms' scale; a file is read again only when its `stamp` differs."""
    rows = _read(path, count, owner, bounded=clip is None)
    return tuple(rescale(np.asarray(log, dtype=float), clip) for log in rows)


def _unreadable(owner: str, path: Path, error: Exception) -> LogError:
    return LogError(f"{owner}: {path} cannot be read: {getattr(error, 'strerror', None) or error}")


def _lines(file: TextIOWrapper) -> Iterator[str]:
    """The lines of a log; a compressed one may be far larger than its file."""
    left = regular.MOST
    while line := file.readline(_LONGEST):
        left -= len(line)
        if left < 0 or len(line) == _LONGEST:
            what = "a line" if left >= 0 else "it"
            most = _LONGEST if left >= 0 else regular.MOST
            raise OSError(errno.EFBIG, f"{what} has more than {most:,} characters")
        yield line


def _read(path: Path, count: int, owner: str, *, bounded: bool) -> list[list[float]]:
    """The rewards of each arm, in the order of the file; with `bounded`, all must be in [0, 1]."""
    logs: list[list[float]] = [[] for _ in range(count)]
    whole = 0  # the line in which the last whole row ends
    try:
        with (
            regular.opened(path, regular.MOST) as stored,
            TextIOWrapper(
                gzip.GzipFile(fileobj=stored) if path.suffix == ".gz" else stored,
                encoding="utf-8-sig",
                newline="",
            ) as file,
        ):
            # not strict, an open quote would swallow the rest
            reader = csv.reader(_lines(file), strict=True)
            names = next(reader, [])
            if not names.count("arm") == names.count("reward") == 1:
                first = printable(",".join(names))
                raise LogError(
                    f"{owner}: {path} needs one column 'arm' and one 'reward'; it has '{first}'"
                )
            arms, rewards = names.index("arm"), names.index("reward")
            whole = reader.line_num
            for row in filter(None, reader):
                whole = reader.line_num
                if len(row) != len(names):
                    raise LogError(
                        f"{owner}: {path}, line {reader.line_num}: has "
                        f"{counted(len(row), 'field')}, the header has {len(names)}"
                    )
                try:
                    arm, reward = int(row[arms]), float(row[rewards])
                except ValueError:
                    arm, reward = -1, math.nan
                if not 0 <= arm < count or (bounded and not math.isfinite(reward)):
                    raise LogError(
                        f"{owner}: {path}, line {reader.line_num}: needs an arm from 0 to "
                        f"{count - 1} and a {'finite ' if bounded else ''}reward"
                    )
                if bounded and not 0 <= reward <= 1:
                    raise LogError(
                        f"{owner}: {path}, line {reader.line_num}: has a reward outside [0, 1] for "
                        f"arm {arm}; set arms.clip = [lo, hi]"
                    )
                logs[arm].append(reward)
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(owner, path, error) from None
    except csv.Error as error:
        where = f"{path}, after line {whole}"
        raise LogError(f"{owner}: {where}: is not CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise LogError(f"{owner}: {path} is not a CSV file in UTF-8: {error}") from None
    return logs


class Csv(Arms):
    """One agent's reward log."""

    def __init__(
        self, logs: list[FloatArray], replace: bool, generator: np.random.Generator
    ) -> None:
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
