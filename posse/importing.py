"""Public files made into runs: what a log or a graph is, what it holds, and what was left out.

`look` says what a file is. `logged` reads the rows of a log; `estimates` says what the log shows of
its own policy and of each arm. Nothing is guessed: what cannot be known has to be said.

Open Bandit, MovieLens, MABWiser's tables and any CSV or Parquet have columns; Vowpal Wabbit's lines
are `action:cost:probability | features`. Graphs are what `posse.spec.graph_file` reads.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from posse.arms.log_file import NUMBER
from posse.arms.persons import name_of
from posse.errors import InputError
from posse.gates import files
from posse.gates.shown import printable
from posse.measure.confidence import student
from posse.protocol.arrays import FloatArray

MOST_ROWS = 1 << 24
"""Rows that are read: they are held in memory."""

_VW = re.compile(r"(?:shared\b.*|(\d+):(-?[\d.eE+-]+):([\d.eE+-]+)(?:\s.*)?)$")
_KNOWN = {
    "arm": ("item_id", "movieId", "decision", "decisions", "arm", "action", "arm_id"),
    "reward": ("click", "rating", "reward", "rewards", "payoff", "conversion"),
    "propensity": ("propensity_score", "pscore", "propensity", "probability", "prob"),
}
"""What public logs call their columns; which persons a log has is never taken for granted."""
_SHOWN = 3


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What the user says of a log; what is "" is found by its usual name, or asked for.

    `cost`: the numbers are costs, so a reward is the number with its sign changed.
    """

    arm: str = ""
    reward: str = ""
    propensity: str = ""
    person: str = ""
    separator: str = ""
    header: bool = True
    cost: bool = False


class ChosenColumns(NamedTuple):
    """The columns of a log, by name; "" where there is none."""

    arm: str
    reward: str
    propensity: str
    person: str


class Logged(msgspec.Struct, kw_only=True):
    """The rows of a log that can be used, and a receipt of the others.

    `left_out` counts rows by reason, and `examples` has the first of each; what was `changed` and
    what is `doubtful` are sentences.
    """

    kind: str
    columns: ChosenColumns
    arms: list[str]
    rewards: list[float]
    propensities: list[float]
    persons: list[str]
    read: int = 0
    left_out: dict[str, int] = {}
    examples: dict[str, str] = {}
    changed: list[str] = []
    doubtful: list[str] = []

    def leave_out(self, reason: str, example: str) -> None:
        """Count a row that cannot be used."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        self.examples.setdefault(reason, example)


class PolicyEstimate(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval, None where it cannot be had, of `n` rows."""

    what: str
    value: float
    low: float | None
    high: float | None
    n: int


def look(path: Path) -> str:
    """What a file is: "vw", "parquet", "columns" or "graph"; `InputError` if it is none of them."""
    ending = (path.with_suffix("") if path.suffix.lower() in files.PACKED else path).suffix.lower()
    if ending in (".parquet", ".pq"):
        return "parquet"
    if ending in (".graphml", ".gexf", ".gml", ".g6", ".s6", ".json", ".mtx", ".edges"):
        return "graph"
    first = _first_lines(path)
    if not first:
        raise InputError(f"{path} has no lines")
    if all(_VW.fullmatch(line) for line in first):
        return "vw"
    if ending in (".csv", ".tsv", ".dat", ".data"):
        return "columns"
    words = [re.split(r"[\s,]+", line.strip()) for line in first if line[0] not in "#%"]
    if first[0][0] in "#%" or (words and all(2 <= len(each) <= 4 for each in words)):
        return "graph"
    return "columns"


def _first_lines(path: Path, most: int = 20) -> list[str]:
    with _text(path) as file:
        lines = [file.readline(1 << 20) for _ in range(most)]
    return [line.rstrip("\r\n") for line in lines if line.strip()]


def _text(path: Path) -> TextIOWrapper:
    try:
        stored = files.opened(path, files.MOST)
        unpack = files.PACKED.get(path.suffix.lower())
        return TextIOWrapper(unpack(stored) if unpack else stored, "utf-8-sig", newline="")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def logged(path: Path, chosen: Chosen) -> Logged:
    """The rows of a log; `InputError` names what must be said of it."""
    kind = look(path)
    try:
        rows = _of_vw(path) if kind == "vw" else _table(path, kind, chosen)
        names = next(rows)
        return _usable(path, kind, names, rows, chosen)
    except (UnicodeDecodeError, csv.Error, *files.NOT_UNPACKED) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def _of_vw(path: Path) -> Iterator[list[Any]]:
    """The rows of Vowpal Wabbit: actions count from 1, and a reward is minus a cost."""
    yield ["action", "cost", "probability"]
    with _text(path) as file:
        for line in file:
            found = _VW.fullmatch(line.strip())
            yield list(found.groups()) if found else [line, "", ""]


def _table(path: Path, kind: str, chosen: Chosen) -> Iterator[list[Any]]:
    """The header of a table and its rows; without a header columns are named 1, 2, …"""
    if kind == "parquet":
        yield from _parquet(path)
        return
    first = _first_lines(path, 1)[0]
    separator = chosen.separator or next((s for s in ("::", "\t", ";", ",") if s in first), ",")
    with _text(path) as file:
        if len(separator) > 1:
            rows: Iterator[list[str]] = (line.rstrip("\r\n").split(separator) for line in file)
        else:
            rows = csv.reader(file, delimiter=separator, strict=True)
        head = next(rows)
        bare = not chosen.header or all(NUMBER.fullmatch(cell) for cell in head)
        yield [str(n) for n in range(1, len(head) + 1)] if bare else head
        if bare:
            yield head
        yield from filter(None, rows)


def _parquet(path: Path) -> Iterator[list[Any]]:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  (an extra)
    except ImportError:
        needed = "pip install 'posse-bandits[parquet]'"
        raise InputError(f"{path} is Parquet, which needs pyarrow: {needed}") from None
    try:
        with parquet.ParquetFile(path) as file:
            yield list(file.schema_arrow.names)
            for batch in file.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield list(row)
    except (ArrowException, OSError) as error:
        raise InputError(f"{path} is no Parquet file: {error}") from None


def _choose(path: Path, kind: str, names: Sequence[str], chosen: Chosen) -> ChosenColumns:
    """The columns that are meant, or `InputError` with the options that say them."""
    if kind == "vw":
        return ChosenColumns("action", "cost", "probability", "")
    found: dict[str, str] = {}
    for role in ("arm", "reward", "propensity", "person"):
        said = getattr(chosen, role)
        known = [name for name in _KNOWN.get(role, ()) if name in names]
        if said and said not in names:
            has = ", ".join(map(printable, names[:50]))
            raise InputError(f"--{role} {said}: {path} has no such column; it has {has}")
        found[role] = said or (known[0] if len(known) == 1 else "")
    if missing := [role for role in ("arm", "reward") if not found[role]]:
        has = ", ".join(map(printable, names[:50]))
        options = " and ".join(f"--{role} COLUMN" for role in missing)
        raise InputError(f"{path}: say by {options} which column it is; it has {has}")
    return ChosenColumns(**found)


def _usable(
    path: Path, kind: str, names: Sequence[str], rows: Iterator[list[Any]], chosen: Chosen
) -> Logged:
    columns = _choose(path, kind, names, chosen)
    place = {role: names.index(name) for role, name in columns._asdict().items() if name}
    log = Logged(kind=kind, columns=columns, arms=[], rewards=[], propensities=[], persons=[])
    sign = -1.0 if chosen.cost or kind == "vw" else 1.0
    if sign < 0:
        log.changed.append(f"rewards are minus the column '{columns.reward}', which has costs")
    seen: Counter[tuple[Any, ...]] = Counter()
    for number, row in enumerate(rows, start=1):
        if number > MOST_ROWS:
            raise InputError(f"{path} has more than {MOST_ROWS:,} rows; cut it before")
        log.read = number
        if len(row) != len(names):
            log.leave_out("another number of cells", f"row {number}: {len(row)} cells")
            continue
        cells = {role: name_of(row[at]) for role, at in place.items()}
        wrong = [
            role
            for role in ("arm", "reward", "propensity", "person")
            if role in cells and not _fits(role, cells[role])
        ]
        if wrong:
            role, name = wrong[0], getattr(columns, wrong[0])
            example = f"row {number}, column '{name}': '{printable(cells[role][:40])}'"
            log.leave_out(f"no {role} in the column '{name}'", example)
            continue
        log.arms.append(cells["arm"])
        log.rewards.append(sign * float(cells["reward"]) + 0.0)
        if "propensity" in cells:
            log.propensities.append(float(cells["propensity"]))
        if "person" in cells:
            log.persons.append(cells["person"])
        if len(seen) < 1 << 20:
            seen[tuple(map(str, row))] += 1
    if not log.arms:
        why = next(iter(log.examples.values()), "it has no rows")
        raise InputError(f"{path} has no row that can be used: {why}")
    if kind != "vw" and (again := sum(seen.values()) - len(seen)):
        log.doubtful.append(f"{again:,} rows are as another row in every column; all are kept")
    if log.propensities:
        _doubt_propensities(log)
    else:
        log.doubtful.append(
            "the log has no propensities: what it shows of an arm holds only if arms were drawn by "
            "chance, alike in every row"
        )
    return log


def _doubt_propensities(log: Logged) -> None:
    """Say so if an arm was drawn far more or less often than its propensities say."""
    propensities, drawn = np.array(log.propensities), np.array(log.arms)
    for arm in sorted(set(log.arms)):
        weights = np.where(drawn == arm, 1 / propensities, 0.0)
        half = _half(weights)
        if half and abs(weights.mean() - 1) > 3 * half:
            log.doubtful.append(
                f"the propensities of arm {arm} do not agree with how often it was drawn: the mean "
                f"of 1/propensity is {weights.mean():.3g}, and would be near 1"
            )


def _fits(role: str, cell: str) -> bool:
    if role in ("arm", "person"):
        return bool(cell)
    if not NUMBER.fullmatch(cell) or not abs(float(cell)) < np.inf:
        return False
    return role != "propensity" or 0 < float(cell) <= 1


def keep_commonest(log: Logged, most: int) -> list[str]:
    """Leave out the rows of all but the `most` commonest arms; returns the arms, in their order."""
    counts = Counter(log.arms)
    kept = {arm for arm, _ in sorted(counts.items(), key=lambda of: (-of[1], of[0]))[:most]}
    if len(kept) < len(counts):
        rows = [n for n, arm in enumerate(log.arms) if arm in kept]
        reason = f"of {len(counts) - len(kept):,} rarer arms"
        log.left_out[reason] = len(log.arms) - len(rows)
        for name in ("arms", "rewards", "propensities", "persons"):
            values = getattr(log, name)
            setattr(log, name, [values[n] for n in rows] if values else [])
        if log.propensities:
            log.doubtful.append("estimates are of the rows with these arms alone")
    return sorted(kept, key=lambda arm: (not arm.isdigit(), int(arm) if arm.isdigit() else 0, arm))


def estimates(log: Logged, arms: Sequence[str]) -> list[PolicyEstimate]:
    """What the log shows: the mean reward of its policy, and of each arm, were it always played.

    With p_i the probability with which row i's arm a_i was drawn, w_i = 1{a_i = a} / p_i. Inverse
    propensity scoring: the mean of w_i r_i. Self-normalised (Swaminathan and Joachims 2015): that
    over the mean of w_i, with the interval of the delta method.
    """
    rewards = np.array(log.rewards)
    found = [_mean("logged policy", rewards)]
    if not log.propensities:
        return found
    propensities, drawn = np.array(log.propensities), np.array(log.arms)
    for arm in arms:
        weights = np.where(drawn == arm, 1 / propensities, 0.0)
        found.append(_mean(f"{arm}, ips", weights * rewards))
        total = float(weights.sum())
        value = float((weights * rewards).sum() / total)
        half = _half(weights * (rewards - value))
        spread = None if half is None else half * len(rewards) / total
        low, high = (None, None) if spread is None else (value - spread, value + spread)
        found.append(PolicyEstimate(f"{arm}, snips", value, low, high, int((drawn == arm).sum())))
    return found


def _mean(what: str, values: FloatArray) -> PolicyEstimate:
    mean, half = float(values.mean()), _half(values)
    low, high = (None, None) if half is None else (mean - half, mean + half)
    return PolicyEstimate(what, mean, low, high, len(values))


def _half(values: FloatArray) -> float | None:
    """Half the 95 % interval of a mean, by Student's t."""
    if len(values) < 2:
        return None
    deviation = float(values.std(ddof=1))
    return student(len(values) - 1) * deviation / math.sqrt(len(values))
