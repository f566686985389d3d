"""Public files made into runs: what a log or a graph is, what it holds, and what was left out.

`look` says what a file is. `logged` reads the rows of a log; `estimates` says what the log shows of
its own policy and of each arm. `edge_list` makes an edge list of a table of edges. Nothing is
guessed: what cannot be known has to be said.

Open Bandit, MovieLens, MABWiser's tables and any CSV or Parquet have columns; Vowpal Wabbit's lines
are `action:cost:probability | features`, or examples of a line for each action (`cb_adf`), of which
the drawn one has `0:cost:probability`. Graphs are what `posse.spec.graph_file` reads.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import msgspec
import numpy as np

from posse.arms.log_file import NUMBER, parquet_file
from posse.arms.persons import name_of
from posse.errors import InputError
from posse.gates import decode, files
from posse.gates.shown import printable
from posse.measure.confidence import student
from posse.protocol.arrays import FloatArray

MOST_ROWS = 1 << 24
"""Rows that are read: they are held in memory."""

_VW = re.compile(r"(?:(\d+):(-?[\d.eE+-]+):([\d.eE+-]+)(?:[\s|].*)?|[^|]*\|.*)$")
_KNOWN = {
    "arm": ("item_id", "movieId", "decision", "decisions", "arm", "action", "arm_id"),
    "reward": ("click", "rating", "reward", "rewards", "payoff", "conversion"),
    "propensity": ("propensity_score", "pscore", "propensity", "probability", "prob"),
}
"""What public logs call their columns; which persons a log has is never taken for granted."""
_ENDS = (
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("fromnodeid", "tonodeid")),
    *(("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2")),
)
"""What tables of edges call the two nodes, in whatever case."""
_DECLARED = re.compile(r"#\s*Nodes:\s*(?P<n>\d+)\s+Edges:\s*(?P<e>\d+)|%\s*(\d+)\s+(\d+)\s+\d+\s*$")
"""How many nodes and edges SNAP says that a file has; KONECT says the edges first."""
_CODES = (1.0, 9.0, 99.0, 999.0, 9999.0)
"""Numbers that, with either sign, often stand for a value that is missing."""
_LONGEST_CELL = 40


class Unsaid(InputError):
    """Something about a file that cannot be known. `option` says it; `question` asks for it."""

    def __init__(self, text: str, option: str, question: str) -> None:
        super().__init__(text)
        self.option, self.question = option, question


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What the user says of a log; what is "" is found by its usual name, or asked for.

    `cost`: the numbers are costs, so a reward is the number with its sign changed. `missing` stands
    where there is no reward.
    """

    arm: str = ""
    reward: str = ""
    propensity: str = ""
    person: str = ""
    separator: str = ""
    header: bool = True
    cost: bool = False
    missing: str = ""


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
    labels = [_VW.fullmatch(line) for line in first]
    if all(labels) and any(label[1] for label in labels if label):
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


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    try:
        with files.opened(path, files.MOST) as stored:
            unpack = files.PACKED.get(path.suffix.lower())
            yield TextIOWrapper(unpack(stored) if unpack else stored, "utf-8-sig", newline="")
    except (UnicodeDecodeError, decode.Undecodable, *files.NOT_UNPACKED) as error:
        raise InputError(f"{path} cannot be read: {files.why(error)}") from None


def declared(path: Path) -> tuple[int, int] | None:
    """The nodes and edges that SNAP's or KONECT's comments say that a file has."""
    for line in _first_lines(path):
        if said := _DECLARED.match(line):
            nodes, edges = said["n"] or said[4], said["e"] or said[3]
            return int(nodes), int(edges)
    return None


def ends_of(path: Path, kind: str, separator: str) -> tuple[str, str] | None:
    """The columns of a table that are an edge's two nodes, if they have a usual name."""
    if kind != "columns":
        return None
    names = next(_table(path, kind, Chosen(separator=separator)))
    lower = {name.strip().lower(): name for name in names}
    found = [(lower[a], lower[b]) for a, b in _ENDS if a in lower and b in lower]
    return found[0] if len(found) == 1 else None


def edge_list(path: Path, chosen: Chosen, weights: str | None) -> tuple[str, list[str]]:
    """The edge list of a table of edges, and what was changed, in sentences.

    The nodes are columns of usual names, else the first two; `weights` names a column of numbers.
    """
    rows = _table(path, "columns", chosen)
    names = next(rows)
    ends = ends_of(path, "columns", chosen.separator) or tuple(names[:2])
    others = [name for name in names if name not in ends]
    if len(ends) < 2 or (others and weights is None) or (weights and weights not in others):
        seen = ", ".join(map(printable, names[:50]))
        text = (
            f"{path}: it has {seen}, of which two are the nodes of an edge; --weights COLUMN keeps "
            "a column's numbers as those of edges, and --weights '' leaves all others out"
        )
        if len(ends) == 2 and weights is None:
            raise Unsaid(text, "weights", "Which column has the weights (empty: leave them out)?")
        raise InputError(text)
    places = [names.index(name) for name in (*ends, *([weights] if weights else []))]
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = [row[place].strip() if place < len(row) else "" for place in places]
        if not all(cells) or any(mark in cell for cell in cells for mark in "#%\t\n"):
            raise InputError(
                f"{path}, row {number}: needs {', '.join(names[place] for place in places)}, and "
                f"has '{printable(str(cells)[:80])}'"
            )
        lines.append("\t".join(cells) + "\n")
    changed = [f"an edge goes from the column '{ends[0]}' to '{ends[1]}'"]
    if left := [name for name in others if name != weights]:
        changed.append(f"columns left out: {', '.join(left)}")
    return "".join(lines), changed


def logged(path: Path, chosen: Chosen) -> Logged:
    """The rows of a log; `InputError` names what must be said of it."""
    kind = look(path)
    rows = _of_vw(path) if kind == "vw" else _table(path, kind, chosen)
    names = next(rows)
    return _usable(path, kind, names, rows, chosen)


def _of_vw(path: Path) -> Iterator[list[Any]]:
    """The rows of Vowpal Wabbit: actions count from 1, and a reward is minus a cost.

    In examples of several lines, between empty ones, an action is its line's place, from 0.
    """
    yield ["action", "cost", "probability"]
    with _text(path) as file:
        start = [line.strip() for _, line in zip(range(20), files.lines(file), strict=False)]
        examples = any(line.startswith("shared") for line in start) or "" in start[:-1]
    with _text(path) as file:
        if not examples:
            yield from (_label(line) for line in files.lines(file) if line.strip())
            return
        lines: list[str] = []
        for line in chain(files.lines(file), [""]):
            if line.strip():
                lines += [] if line.startswith("shared") else [line]
                continue
            drawn = [[str(n), *label[1:]] for n, label in enumerate(map(_label, lines)) if label[1]]
            if lines:
                yield drawn[0] if len(drawn) == 1 else ["", "", ""]
            lines = []


def _label(line: str) -> list[str]:
    """The action, cost and probability that a line of Vowpal Wabbit begins with; "" without."""
    found = _VW.fullmatch(line.strip())
    return [part or "" for part in found.groups()] if found else ["", "", ""]


def _table(path: Path, kind: str, chosen: Chosen) -> Iterator[list[Any]]:
    """The header of a table and its rows; without a header columns are named 1, 2, …"""
    if kind == "parquet":
        yield from _parquet(path)
        return
    first = _first_lines(path, 1)[0]
    separator = chosen.separator or next((s for s in ("::", "\t", ";", ",") if s in first), ",")
    with _text(path) as file:
        if len(separator) > 1:
            each = (line.rstrip("\r\n") for line in files.lines(file))
            rows: Iterator[list[str]] = (line.split(separator) for line in each)
        else:
            rows = decode.rows(files.lines(file), separator)
        head = next(rows)
        bare = not chosen.header or all(NUMBER.fullmatch(cell) for cell in head)
        yield [str(n) for n in range(1, len(head) + 1)] if bare else head
        if bare:
            yield head
        yield from filter(None, rows)


def _parquet(path: Path) -> Iterator[list[Any]]:
    try:
        from pyarrow import ArrowException  # noqa: PLC0415  (an extra)
    except ImportError:
        needed = "pip install 'posse-bandits[parquet]'"
        raise InputError(f"{path} is Parquet, which needs pyarrow: {needed}") from None
    try:
        with files.opened(path, files.MOST) as stored, parquet_file(stored) as file:
            yield list(file.schema_arrow.names)
            for batch in file.iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield [int(cell) if isinstance(cell, bool) else cell for cell in row]
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
            columns = ", ".join(map(printable, names[:50]))
            raise InputError(f"--{role} {said}: {path} has no such column; it has {columns}")
        found[role] = said or (known[0] if len(known) == 1 else "")
    if missing := [role for role in ("arm", "reward") if not found[role]]:
        columns = ", ".join(map(printable, names[:50]))
        options = " and ".join(f"--{role} COLUMN" for role in missing)
        raise Unsaid(
            f"{path}: say by {options} which column it is, or --graph if rows are edges; it has "
            f"{columns}",
            missing[0],
            f"Which column has the {missing[0]}?",
        )
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
        if wrong := _wrong(cells, columns, chosen.missing):
            role, reason = wrong
            cell = (
                "" if row[place[role]] is None else printable(str(row[place[role]])[:_LONGEST_CELL])
            )
            column = getattr(columns, role)
            log.leave_out(reason, f"row {number}, column '{column}': '{cell}'")
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
        are = "row is" if again == 1 else "rows are"
        log.doubtful.append(f"{again:,} {are} as another row in every column; all are kept")
    _doubt_codes(log)
    if log.propensities:
        _doubt_propensities(log)
    else:
        log.doubtful.append(
            "the log has no propensities: what it shows of an arm holds only if arms were drawn by "
            "chance, alike in every row"
        )
    return log


def _wrong(cells: dict[str, str], columns: ChosenColumns, missing: str) -> tuple[str, str] | None:
    """What in a row keeps it from being used, and why; None if nothing does."""
    if missing and _same(cells["reward"], missing):
        return "reward", f"rewards that are {missing}"
    for role in ("arm", "reward", "propensity", "person"):
        if role in cells and not _fits(role, cells[role]):
            return role, f"no {role} in the column '{getattr(columns, role)}'"
    return None


def _doubt_codes(log: Logged) -> None:
    """Say so if the largest or smallest reward looks like a code for one that is missing.

    It is one of the usual codes, and as far from the other rewards as these are apart.
    """
    values, counts = np.unique(np.array(log.rewards), return_counts=True)
    for end, others in ((0, values[1:]), (-1, values[:-1])):
        code = float(values[end])
        if len(others) > 1 and abs(code) in _CODES:
            apart, spread = np.abs(others - code).min(), float(np.ptp(others))
            if apart > spread:
                are = "reward is" if counts[end] == 1 else "rewards are"
                log.doubtful.append(
                    f"{counts[end]:,} {are} {code:g}, far from the others ({others[0]:g} to "
                    f"{others[-1]:g}); if it stands for a missing one, --missing {code:g} leaves "
                    "these rows out"
                )


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


def _same(cell: str, other: str) -> bool:
    """Whether two cells are the same text or the same number."""
    numbers = NUMBER.fullmatch(cell) and NUMBER.fullmatch(other)
    return float(cell) == float(other) if numbers else cell == other


def _fits(role: str, cell: str) -> bool:
    if role in ("arm", "person"):
        return bool(cell)
    if not NUMBER.fullmatch(cell) or not abs(float(cell)) < np.inf:
        return False
    return role != "propensity" or 0 < float(cell) <= 1


def keep_commonest(log: Logged, most: int) -> list[str]:
    """Leave out the rows of all but the `most` commonest arms; returns the arms, in their order."""
    counts = Counter(log.arms)
    kept = {arm for arm, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]}
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
    """Half the 95 % interval of a mean, by Student's t; None from values that are all alike."""
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if not deviation:  # clicks that never came say little of how rare they are
        return None
    return student(len(values) - 1) * deviation / math.sqrt(len(values))
