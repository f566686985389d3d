"""Arms from a reward log: a file per agent with the columns `arm` and `reward`."""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from posse.arms.base import (
    NO_NUMBER,
    Arms,
    ArmsContext,
    ArmsTable,
    Clip,
    check_clip,
    rescale,
)
from posse.arms.log_file import Log, LogColumns, read_log, unreadable
from posse.arms.persons import PersonOfRow, Persons, Rows
from posse.gates import files
from posse.measure.numbers import listed, named
from posse.protocol.arrays import FloatArray
from posse.protocol.machine import MOST_ARMS, peer_name

_NAMED = 3
"""The most arms that are named of which `clip` changes the largest share."""


class Content(NamedTuple):
    """How many bytes a log had when it was read, their hash, and of each arm its `print_of`.

    `columns` says how it was read.
    """

    size: int
    digest: bytes
    prints: tuple[tuple[int, bytes], ...] = ()
    columns: LogColumns = LogColumns()


def new_digest(data: bytes = b"") -> "hashlib.blake2b":
    """The hash of logs, of these first bytes."""
    return hashlib.blake2b(data, digest_size=32)


def print_of(rewards: FloatArray) -> tuple[int, bytes]:
    """How many rewards these are, and their hash: of what was read, however it was written."""
    return len(rewards), new_digest((rewards + 0.0).astype("<f8").tobytes()).digest()


class ColumnNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of a log that has other names for them."""

    arm: str = "arm"
    reward: str = "reward"


Names = Annotated[
    list[str], Meta(max_length=MOST_ARMS, description="the arms as the log names them")
]


class CsvArms(ArmsTable, frozen=True, kw_only=True, tag_field="kind", tag="csv"):
    """`path`: the log, relative to the run file; `{rank}` becomes the agent's rank.

    `count`: K; the column `arm` numbers arms from 0 to K - 1, or has one of K `names`. `columns`
    names the columns if they are called otherwise. Each row is one reward. Rows are used once, in
    the order of the file, so that a guarantee per reward covers the value in each row.

    With `replace = true`, rows are drawn at random with replacement. The guarantee then is per
    reward only: a record drawn m times is covered as a person behind m rewards is. `clip` works as
    for Gaussian arms; with it, a NaN counts as lo, and an infinite reward as the end it exceeds.

    `features`: columns of numbers. Then the rows with number s of all arms belong to slot s: an
    agent sees their features before its pull s and gets the reward of the arm that it pulls; the
    other rows of the slot are never used.
    """

    path: Annotated[str, Meta(description="the reward log; {rank} becomes the agent's rank")]
    count: Annotated[
        int, Meta(ge=0, le=MOST_ARMS, description="K, arms; as many as names if there are any")
    ] = 0
    names: Names = msgspec.field(default_factory=list)
    columns: Annotated[
        ColumnNames, Meta(description="what the log calls the columns arm and reward")
    ] = ColumnNames()
    separator: Annotated[
        str, Meta(min_length=1, max_length=1, description="between the cells of a line")
    ] = ","
    replace: Annotated[bool, Meta(description="draw rows at random with replacement")] = False
    clip: Clip = None
    features: Annotated[
        list[str], Meta(max_length=1_000, description="columns of numbers seen before a pull")
    ] = msgspec.field(default_factory=list)
    unit_interval = True
    """Rewards outside [0, 1] are an error unless clipped."""

    def __post_init__(self) -> None:
        check_clip(self.clip)
        if self.features and self.replace:
            raise ValueError("replace = true draws rows, but rows with features belong to slots")
        count = self.count or len(self.names)
        if count < 2 or (self.names and len(set(map(str.strip, self.names))) != count):
            raise ValueError(
                f"count is {self.count} and names has {len(self.names)}: there must be 2 arms at "
                "least, and as many different names as arms, or none"
            )
        msgspec.structs.force_setattr(self, "count", count)
        taken = {self.columns.arm, self.columns.reward, *self.features}
        if len(taken) < 2 + len(self.features):
            raise ValueError("features names a column twice, or the arm or the reward as one")

    @property
    def records(self) -> str:
        """What a guarantee per reward means for a record."""
        if self.replace:
            return (
                "Rows are drawn with replacement: the guarantee is per reward only, and a record "
                "drawn m times is covered as a person behind m rewards is."
            )
        if self.features:
            return (
                "The rows of a slot are used up together: what is protected is said of the pull, "
                "where its row stands."
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

    def feature_count(self) -> int:
        """D, 0 without features."""
        return len(self.features)

    def contexts(self, base: str, rank: int) -> Callable[[int], FloatArray]:
        """The features of all arms that agent `rank` sees in a slot, shape (K, d).

        After the last slot they stay as they are: whoever pulls then is told that no row is left.
        """
        features = self._load(base, rank, peer_name(rank), None).features
        slots = min(map(len, features))
        if not slots:
            return lambda slot: np.zeros((self.count, len(self.features)))
        table = np.stack([rows[:slots] for rows in features], axis=1)
        return lambda slot: table[min(slot, slots - 1)]

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

    def check(self, base: str, ranks: Sequence[int], persons: Persons | None = None) -> None:
        """Raise `LogError` if a log of these agents that is on this machine has a mistake."""
        for rank in ranks:
            if (path := self._log(base, rank)).is_file():
                self._read(path, rank, persons)

    def _read(self, path: Path, rank: int, persons: Persons | None) -> Log:
        columns = self._columns(persons)
        bounded = self.clip is None
        return read_log(path, self.count, peer_name(rank), bounded=bounded, columns=columns)

    def remarks(self, base: str, ranks: Sequence[int], persons: Persons | None = None) -> list[str]:
        """Sentences about what the logs of these agents on this machine hold that may surprise."""
        empty: dict[int, list[int]] = {}
        by_arm: list[list[FloatArray]] = [[] for _ in range(self.count)]
        kept, known = 0, 0
        for rank in ranks:
            if not (path := self._log(base, rank)).is_file():
                continue
            logs, persons_of, _ = self._read(path, rank, persons)
            if persons is not None and persons_of is not None:
                known += len(persons_of.names)
                kept += sum(map(len, persons_of.first(persons.most)))
            for arm, log in enumerate(logs):
                by_arm[arm].append(log)
                if not len(log):
                    empty.setdefault(arm, []).append(rank)
        notes = [f"{named(agents)}: no row of arm {arm}" for arm, agents in sorted(empty.items())]
        if known and persons is not None:
            rows = sum(len(log) for logs in by_arm for log in logs)
            notes.append(
                f"privacy.person: {kept:,} of {rows:,} rows are used, the first {persons.most:,} "
                f"of each of {known:,} persons"
            )
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
        loaded = self._load(context.base, context.rank, context.owner, context.persons)
        if self.features:
            return CsvInSlots([*loaded.rewards], False, context.rewards, loaded.content)
        return Csv(
            [*loaded.rewards],
            self.replace,
            context.rewards,
            loaded.content,
            loaded.persons,
            loaded.usable,
        )

    def _load(self, base: str, rank: int, owner: str, persons: Persons | None) -> "_Loaded":
        path = self._log(base, rank)
        try:
            state = path.stat()
        except OSError as error:
            raise unreadable(owner, path, error) from None
        stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
        return _loaded(path, stamp, self.count, owner, self.clip, persons, self._columns(persons))

    def _columns(self, persons: Persons | None) -> LogColumns:
        """The columns that are read."""
        return LogColumns(
            persons.column if persons is not None else "",
            tuple(self.features),
            self.columns.arm,
            self.columns.reward,
            tuple(map(str.strip, self.names)),
            self.separator,
        )


class _Loaded(NamedTuple):
    """A log's rewards by arm on the arms' scale, what was read, whose rows are, and which to use.

    And the features of each row, by arm.
    """

    rewards: tuple[FloatArray, ...]
    content: Content
    persons: PersonOfRow | None
    usable: Rows | None
    features: list[FloatArray]


@lru_cache(maxsize=256)
def _loaded(
    path: Path,
    stamp: tuple[int, ...],
    count: int,
    owner: str,
    clip: Clip,
    persons: Persons | None,
    columns: LogColumns,
) -> _Loaded:
    """Read a log; it is read again only when its `stamp` differs."""
    try:
        data = files.read(path)
    except OSError as error:
        raise unreadable(owner, path, error) from None
    rows, persons_of, seen = read_log(
        path, count, owner, bounded=clip is None, data=data, columns=columns
    )
    usable = None if persons_of is None or persons is None else persons_of.first(persons.most)
    content = Content(
        len(data),
        new_digest(data).digest(),
        tuple(map(print_of, rows)),
        columns._replace(person="", features=()),
    )
    return _Loaded(tuple(rescale(log, clip) for log in rows), content, persons_of, usable, seen)


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
    """One agent's reward log.

    `persons` says whose each row is, and `usable` which rows may be used: not more of one person
    than the run file says. Without them all may be.
    """

    def __init__(
        self,
        logs: list[FloatArray],
        replace: bool,
        generator: np.random.Generator,
        content: Content | None = None,
        persons: PersonOfRow | None = None,
        usable: Rows | None = None,
    ) -> None:
        self.content = content
        self.replace = replace
        self.persons = persons
        self.usable = usable
        self._all = self._logs = logs
        if usable is not None:
            self._logs = [log[rows] for log, rows in zip(logs, usable, strict=True)]
        self._generator = generator
        self._used = [0] * len(logs)

    @property
    def lengths(self) -> list[int]:
        """How many rows each arm has, with those that may not be used."""
        return [len(log) for log in self._all]

    def keep(self, rows: Sequence[NDArray[np.int64]]) -> None:
        """Use only these rows of each arm from now on, in this order."""
        self._all = self._logs = [log[kept] for log, kept in zip(self._all, rows, strict=True)]
        self.persons = self.usable = None

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


class CsvInSlots(Csv):
    """One agent's log of rows with features: row s of each arm is what can be pulled in slot s."""

    delay = 0
    slot = 0

    def turns(self, arms: tuple[int, ...], times: int) -> FloatArray:
        """The rewards of the next `times` turns of pulls of these arms, shape (arms, times)."""
        slots = np.arange(self.slot, self.slot + times * len(arms))
        self.slot += len(slots)
        rewards = [self._logs[arm][slots[place :: len(arms)]] for place, arm in enumerate(arms)]
        return np.array(rewards)

    def draw(self, arm: int, count: int) -> FloatArray:
        rewards: FloatArray = self.turns((arm,), count)[0]
        return rewards

    def remaining(self, arm: int) -> int:
        """How many slots are left: of as many as the arm with fewest rows has rows."""
        return min(map(len, self._logs)) - self.slot
