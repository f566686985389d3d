"""Reads a reward log: CSV, plain or compressed, or Parquet, with the columns `arm` and `reward`.

A further column may name the person of each row, and others may have features of its arm.
"""

import csv
import errno
import re
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posse.arms.persons import NumberOfName, PersonOfRow, name_of
from posse.errors import LogError
from posse.gates import files
from posse.gates.shown import printable
from posse.measure.numbers import counted
from posse.protocol.arrays import FloatArray

_MOST_ROWS = 1 << 26
"""Rows of a Parquet file, of which many may take no room in it."""

_LONGEST_FEATURES = 1 + 1e-9
"""The square of how long a row of features may be: what a pull may cost follows from it."""

_PARQUET = (".parquet", ".pq")

_NUMBERS = re.compile(r"u?int\d+|halffloat|float|double|decimal.*|bool|null")
"""Arrow's types that are numbers; it would read them out of texts and times as well."""

NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+|inf|infinity|nan)(e[+-]?\d+)?\s*", re.I | re.A)
"""A number in a file. Python reads more as one: 1_0 is ten, and digits of all scripts count."""
_RANK = re.compile(r"\s*\d{1,9}\s*", re.A)


class Log(NamedTuple):
    """By arm, the rewards in the order of the file; whose they are, if a column says so; features.

    `features` are of shape (rows, columns).
    """

    rewards: list[FloatArray]
    persons: PersonOfRow | None
    features: list[FloatArray]


class LogColumns(NamedTuple):
    """The columns of a log: of the arm, of the reward, and, if asked for, of person and features.

    `arms`: the arms as the log names them, in their order; without them it numbers them from 0.
    """

    person: str = ""
    features: tuple[str, ...] = ()
    arm: str = "arm"
    reward: str = "reward"
    arms: tuple[str, ...] = ()
    separator: str = ","

    def number(self, text: str, count: int) -> int:
        """The arm of this cell, of `count`; -1 if it is none."""
        if self.arms:
            return self.places.get(text.strip(), -1)
        number = int(text) if _RANK.fullmatch(text) else -1
        return number if number < count else -1

    def wrong_features(self, cells: Sequence[str]) -> str:
        """What is wrong with the cells of a row's features; "" if nothing is."""
        squares = 0.0
        for name, cell in zip(self.features, cells, strict=True):
            value = float(cell) if NUMBER.fullmatch(cell) else np.nan
            if not abs(value) < np.inf:
                return f"needs a finite number, and has '{_cell(cell)}' in the column '{name}'"
            squares += value**2
        if squares <= _LONGEST_FEATURES:
            return ""
        named = ", ".join(f"'{name}'" for name in self.features)
        shown = ", ".join(map(_cell, cells))
        return (
            f"has {shown} in {named}, whose squares are {squares:.4g} in sum, above 1; divide "
            "each column by the same number"
        )

    def nobody(self, cell: str) -> str:
        """That a row's cell names no person."""
        return f"names nobody, and has '{_cell(cell)}' in the column '{self.person}'"

    @property
    def places(self) -> dict[str, int]:
        """Each arm's place by its name."""
        return _places(self.arms)

    def wrong(self, arm: int, cell: str, reward: str, count: int, bounded: bool) -> str:
        """What is wrong with a row of these cells, whose arm is `arm`; "" if nothing is."""
        if arm < 0:
            needs = f"an arm from 0 to {count - 1}"
            if self.arms:
                needs = f"one of arms.names, such as '{self.arms[0]}'"
            return f"needs {needs}, and has '{_cell(cell)}' in the column '{self.arm}'"
        value = float(reward) if NUMBER.fullmatch(reward) else None
        if value is None or (bounded and abs(value) == np.inf) or (bounded and np.isnan(value)):
            finite = "finite " * bounded
            return (
                f"needs a {finite}reward, and has '{_cell(reward)}' in the column '{self.reward}'"
            )
        if bounded and not 0 <= value <= 1:
            return (
                f"has the reward {_cell(reward)}, outside [0, 1], for arm {arm}; set arms.clip = "
                "[lo, hi]"
            )
        return ""


@lru_cache(maxsize=8)
def _places(arms: tuple[str, ...]) -> dict[str, int]:
    return {name: place for place, name in enumerate(arms)}


def _cell(text: str) -> str:
    """What stands in a cell, for a sentence."""
    return printable(text.strip()[:_SHOWN])


_NO_MORE = LogColumns()

_SHOWN = 40
"""Characters of a cell that a sentence shows."""

_REMEMBERED = 1_000
"""Pairs of cells that are kept."""


def read_log(
    path: Path,
    count: int,
    owner: str,
    *,
    bounded: bool,
    data: bytes | None = None,
    columns: LogColumns = _NO_MORE,
) -> Log:
    """The log of `count` arms, of whose file `data` was read, with these `columns` besides.

    With `bounded`, all must be in [0, 1]. `LogError` names the line, or the row, that is wrong.
    """
    try:
        read = _parquet if path.suffix.lower() in _PARQUET else _csv
        with files.opened(path, files.MOST) if data is None else BytesIO(data) as stored:
            return read(stored, path, count, owner, bounded, columns)
    except files.NOT_UNPACKED as error:
        raise unreadable(owner, path, error) from None


def unreadable(owner: str, path: Path, error: Exception) -> LogError:
    """What keeps a log from being read, in a sentence."""
    return LogError(f"{owner}: {path} cannot be read: {files.why(error)}")


class _WrongRow(ValueError):
    """What is wrong with a row, in the words that follow its place."""


class _Cells(dict[tuple[str, str], tuple[int, float]]):
    """The arm and the reward that two cells say. Most logs have few pairs, many times each."""

    def __init__(self, columns: LogColumns, count: int, bounded: bool) -> None:
        self._columns, self._count, self._bounded = columns, count, bounded

    def __missing__(self, cells: tuple[str, str]) -> tuple[int, float]:
        arm = self._columns.number(cells[0], self._count)
        if why := self._columns.wrong(arm, *cells, self._count, self._bounded):
            raise _WrongRow(why)
        read = arm, float(cells[1])
        if len(self) < _REMEMBERED:
            self[cells] = read
        return read


def _csv(
    stored: BinaryIO, path: Path, count: int, owner: str, bounded: bool, columns: LogColumns
) -> Log:
    person = columns.person
    logs, seen = ([array("d") for _ in range(count)] for _ in "ab")
    numbers, places, known = *([array("q") for _ in range(count)] for _ in "ab"), NumberOfName()
    whole = 0  # the line in which the last whole row ends
    latest: list[str] = []
    cells = _Cells(columns, count, bounded)
    unpack = files.PACKED.get(path.suffix.lower())
    try:
        with TextIOWrapper(
            unpack(stored) if unpack else stored, encoding="utf-8-sig", newline=""
        ) as file:
            # not strict, an open quote would swallow the rest
            reader = csv.reader(files.lines(file, latest), strict=True, delimiter=columns.separator)
            names = next(reader, [])
            arms, rewards, person_at, *places_of_features = _columns(names, columns, owner, path)
            whole = reader.line_num
            latest.clear()
            for row in reader:
                if not row:
                    latest.clear()
                    continue
                whole = reader.line_num
                if len(latest) > 1 and any(
                    _is_row(line, arms, rewards, names, columns) for line in latest[1:]
                ):
                    raise _WrongRow("is a row within quotes; close the quote before it")
                latest.clear()
                if len(row) != len(names):
                    fields = counted(len(row), "field")
                    raise _WrongRow(f"has {fields}, the header has {len(names)}")
                arm, reward = cells[row[arms], row[rewards]]
                logs[arm].append(reward)
                if columns.features:
                    features = [row[place] for place in places_of_features]
                    if why := columns.wrong_features(features):
                        raise _WrongRow(why)
                    seen[arm].extend(map(float, features))
                if person:
                    if not (name := name_of(row[person_at])):
                        raise _WrongRow(columns.nobody(row[person_at]))
                    numbers[arm].append(known[name])
                    places[arm].append(whole)
    except _WrongRow as error:
        raise LogError(f"{owner}: {path}, line {whole}: {error}") from None
    except csv.Error as error:
        raise LogError(f"{owner}: {path}, after line {whole}: is not CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise LogError(f"{owner}: {path} is not a CSV file in UTF-8: {error}") from None
    by_arm = [np.array(log, dtype=float) for log in logs]
    table = [np.reshape(rows, (-1, max(1, len(columns.features)))) for rows in seen]
    if not person:
        return Log(by_arm, None, table)
    number, place = (
        [np.array(row, dtype=np.int64) for row in columns] for columns in (numbers, places)
    )
    return Log(by_arm, PersonOfRow(list(known), number, place), table)


def _columns(names: Sequence[str], columns: LogColumns, owner: str, path: Path) -> list[int]:
    """The places of `arm`, `reward`, the person, -1 if no column is asked for, and features."""
    person = columns.person
    first = printable(",".join(names))
    alike = [name.strip().lower() for name in names]  # 'reward' beside 'Reward' would be a guess
    arm, reward = columns.arm, columns.reward
    if not all(name in names and alike.count(name.lower()) == 1 for name in (arm, reward)):
        other = "" if (arm, reward) != ("arm", "reward") else "; arms.columns may say which are"
        raise LogError(
            f"{owner}: {path} needs one column '{arm}' and one '{reward}'; it has '{first}'{other}"
        )
    if person and names.count(person) != 1:
        raise LogError(
            f"{owner}: {path} needs one column '{person}', as [privacy] person says; it has "
            f"'{first}'"
        )
    for feature in columns.features:
        if names.count(feature) != 1:
            raise LogError(
                f"{owner}: {path} needs one column '{feature}', as arms.features says; it has "
                f"'{first}'"
            )
    places = map(names.index, columns.features)
    person_at = names.index(person) if person else -1
    return [names.index(arm), names.index(reward), person_at, *places]


def _is_row(line: str, arms: int, rewards: int, names: Sequence[str], columns: LogColumns) -> bool:
    """Whether a line is a row, were no quote open before it."""
    words = line.split(columns.separator)
    return (
        len(words) == len(names)
        and columns.number(words[arms], 1 << 30) >= 0
        and NUMBER.fullmatch(words[rewards]) is not None
    )


def _arms_of(column: Any, columns: LogColumns) -> NDArray[np.int64]:
    """The arm of each row; -1 if its cell is blank, or names none."""
    if columns.arms:
        cells = map(name_of, column.to_pylist())
        return np.array([columns.places.get(cell, -1) for cell in cells], dtype=np.int64)
    from pyarrow import float64  # noqa: PLC0415  (an extra)

    numbers = column.cast(float64()).to_numpy()  # NaN for a null
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < 1 << 31)
    return np.where(whole, numbers, -1.0).astype(np.int64)


def _blank(cell: Any) -> str:
    """What stands in a cell of Parquet, as in a CSV."""
    value = cell.as_py()
    return "" if value is None else str(value)


def _require(place: str, fits: NDArray[np.bool_], wrong: Callable[[int], str]) -> None:
    """`LogError` that says what is wrong with the first row that does not fit, if one does not."""
    if not fits.all():
        row = int(fits.argmin())
        raise LogError(f"{place}, row {row}: {wrong(row)}")


def parquet_file(stored: BinaryIO) -> Any:
    """The Parquet file in what was opened; `ImportError` without pyarrow."""
    from pyarrow import parquet  # noqa: PLC0415  (an extra)

    return parquet.ParquetFile(stored)


def _parquet(
    stored: BinaryIO, path: Path, count: int, owner: str, bounded: bool, columns: LogColumns
) -> Log:
    person = columns.person
    named = [columns.arm] if columns.arms else []
    numbers_of = [columns.reward, *columns.features, *([] if named else [columns.arm])]
    try:
        from pyarrow import ArrowException, float64  # noqa: PLC0415  (an extra)
    except ImportError:
        needed = "needs pyarrow: pip install 'posse-bandits[parquet]'"
        raise LogError(f"{owner}: {path} is Parquet, which {needed}") from None
    try:
        with parquet_file(stored) as file:
            _columns(file.schema_arrow.names, columns, owner, path)
            if (rows := file.metadata.num_rows) > _MOST_ROWS:
                problem = f"it has {rows:,} rows, and at most {_MOST_ROWS:,} are read"
                raise OSError(errno.EFBIG, problem)
            table = file.read([*numbers_of, *named, *([person] if person else [])])
        for name in numbers_of:
            stored_as = table.schema.field(name).type
            kind = getattr(stored_as, "value_type", stored_as)  # of a category
            if not _NUMBERS.fullmatch(str(kind)):
                holds = f"has {'text' if str(kind).endswith('string') else kind} in"
                raise LogError(f"{owner}: {path} {holds} the column '{name}', not numbers")
        arms = _arms_of(table[columns.arm], columns)
        blank = table[columns.reward].is_null().to_numpy()
        rewards = table[columns.reward].cast(float64()).to_numpy()
        persons = table[person].to_pylist() if person else []
        seen = np.array([table[name].cast(float64()).to_numpy() for name in columns.features])
    except (ArrowException, ValueError) as error:
        raise LogError(f"{owner}: {path} is not Parquet with numbers: {error}") from None
    fits = (arms >= 0) & (arms < count) & ~blank
    if bounded:
        fits &= (rewards >= 0) & (rewards <= 1)

    def cells(row: int, *names: str) -> list[str]:
        return [_blank(table[name][row]) for name in names]

    def wrong(row: int) -> str:
        arm = int(arms[row]) if 0 <= arms[row] < count else -1
        cell, reward = cells(row, columns.arm, columns.reward)
        return columns.wrong(arm, cell, reward, count, bounded)

    place = f"{owner}: {path}"
    _require(place, fits, wrong)
    if columns.features:
        short = (seen**2).sum(axis=0) <= _LONGEST_FEATURES  # False for a null, which is a NaN
        _require(place, short, lambda row: columns.wrong_features(cells(row, *columns.features)))
    order = np.argsort(arms, kind="stable")
    ends = np.searchsorted(arms[order], range(1, count))
    by_arm = np.split(rewards[order], ends)
    features = np.split(seen.T[order], ends) if columns.features else []
    if not person:
        return Log(by_arm, None, features)
    known = NumberOfName()
    names = [name_of(name) for name in persons]
    someone = np.array([name != "" for name in names], dtype=bool)
    _require(place, someone, lambda row: columns.nobody(*cells(row, person)))
    numbers = np.array([known[name] for name in names], dtype=np.int64)
    whose_rows = PersonOfRow(list(known), np.split(numbers[order], ends), np.split(order, ends))
    return Log(by_arm, whose_rows, features)
