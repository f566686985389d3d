"""The ledger of persons: what all runs over the logs of one folder used of each, and its cost.

It is one SQLite file beside the logs' own ledgers. A person is in it as a hash under a secret,
which stands beside it and is readable by its owner alone. A run enters all rows that it may use
when it begins, so that agents over several logs of a folder together stay within the limits, and
gives back at its end those that it did not use. What a run held that broke off is taken back by the
next run, which finds its log in nobody's hands. The user's own arms name persons only as they give
rewards: each reward is entered then, before it is used.
"""

import hashlib
import math
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import combinations, pairwise
from pathlib import Path

import msgspec
import numpy as np

from posse.arms.persons import PersonOfRow, Rows
from posse.durable import chain
from posse.durable.programme import Declared
from posse.errors import DiskTrouble, InputError, PosseError
from posse.gates import files
from posse.gates.databases import connect, read_only, trouble
from posse.gates.decode import Packed
from posse.gates.files import require_files
from posse.gates.locks import take
from posse.hosts.spending import SpendingRequest
from posse.measure.numbers import counted
from posse.protocol.accounting import Losses, admits, together
from posse.protocol.privacy import Guarantee
from posse.spec.privacy import PrivacySpec

NAME = "persons.ledger"

SECRET = f"{NAME}-secret"

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, ledger TEXT NOT NULL, identity BLOB NOT NULL, run INTEGER NOT NULL,
  losses BLOB, delta REAL, shared BLOB NOT NULL, held INTEGER NOT NULL,
  UNIQUE (ledger, identity, run)
);
CREATE TABLE IF NOT EXISTS uses (
  id INTEGER NOT NULL, person BLOB NOT NULL, arm INTEGER NOT NULL, row INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS secrets (digest BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS columns (name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS heads (
  identity BLOB PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS uses_by_run ON uses (id);
CREATE INDEX IF NOT EXISTS uses_by_person ON uses (person);
{chain.SCHEMA}"""
"""`runs`: run `run` of the log whose ledger has that name and identity, with the losses of one
reward and its δ; NULL if the run had no ε. `shared` is what all agents call the run; `held` says
that it has not ended. `uses`: the rows that it used, or may still use, and of whom; a reward of the
user's own arms has the arm -1 and a number of its own. `secrets`: a hash of the secret. `columns`:
what names the persons. `heads`: where each log's own ledger was when it was last here."""

_SECRET = 32
_MOST_WAYS = 50
"""Ways to split a person's rewards over the logs of a programme, at most, that are looked at."""

_PATIENCE = 60.0
"""Seconds in which other agents of this folder have entered their runs."""

UsedRows = list[tuple[int, int, int, int]]
"""Run, arm, first row and the row after the last."""

Exposure = dict[int, int]
"""How many rows of a person each run used."""


class RunCost(msgspec.Struct, frozen=True):
    """What a run costs one reward; `losses` is None if it has no ε.

    `shared` is what all agents call the run, empty if nothing; their releases may be one sum.
    """

    losses: Losses | None
    delta: float = 0.0
    shared: bytes = b""


class PersonsCost(msgspec.Struct, frozen=True, kw_only=True):
    """How many persons runs used, the most rows of one, and what the most exposed one cost.

    `cost` is None if rewards of a person were used in a run without an ε. `held` of all the rows
    are still held by runs that have not ended.
    """

    persons: int
    rows: int
    cost: Guarantee | None
    held: int = 0

    @property
    def says(self) -> str:
        """A summary, for the end of a sentence."""
        cost = self.cost.number if self.cost is not None else "no ε"
        rows = counted(self.held, "row")
        held = f" (with {rows} that runs hold which have not ended)" if self.held else ""
        persons, most = counted(self.persons, "person"), counted(self.rows, "row")
        return f"of {persons}, at most {most} and {cost} for one person{held}"


class PersonsLedger:
    """The ledger of persons beside a log's own ledger, which is told from others by `identity`.

    Its name alone would not do: another month's log, with a ledger of its own, may come to have it.

    `own` is that ledger, and `known` where this one was when it was last there. Each must go on
    from where the other knows it: a backup put in the place of either is refused.
    """

    def __init__(
        self,
        ledger: Path,
        identity: bytes,
        own: sqlite3.Connection | None = None,
        known: chain.Head = chain.NONE,
    ) -> None:
        self._path = ledger.with_name(NAME)
        self._secret = ledger.with_name(SECRET)
        self._source = ledger.name, identity
        self._own = own
        self._known = known

    def begin(
        self,
        task: SpendingRequest,
        run: int,
        before: tuple[UsedRows, dict[int, RunCost]],
        persons: PersonOfRow,
        allowed: Rows,
        declared: Declared | None = None,
    ) -> Rows:
        """Enter run `run`, and return those of the `allowed` rows by arm that it may use.

        `before` has what all earlier runs over this log used, and cost one reward. `declared`: if
        they are runs of a programme, and this is the next.
        """
        with self._opened() as db:
            self._check_column(db, task)
            names = self._hashes(db, persons.names)
            self._enter_earlier(db, before, persons, names)
            cost = RunCost(task.claim.cost, task.claim.delta or 0.0, task.shared)
            self._take_back(db, cost.shared)
            known, spent = _exposure(db)
            limits = _Limits(task.run.privacy, cost, _costs(db), self._on_plan(db, declared))
            wanted: defaultdict[bytes, list[tuple[int, int, int]]] = defaultdict(list)
            for arm, of_arm in enumerate(allowed):
                places, numbers = persons.places[arm][of_arm], persons.numbers[arm][of_arm]
                for place, number, row in zip(places, numbers, of_arm.tolist(), strict=True):
                    wanted[names[number]].append((int(place), arm, row))
            taken: list[tuple[bytes, int, int]] = []
            for person, rows_of in wanted.items():
                rows = [(arm, row) for _, arm, row in sorted(rows_of)]
                chosen = limits.choose(rows, self._source, known[person], spent[person])
                taken += [(person, *row) for row in chosen]
            number = self._enter(db, run, cost, held=True)
            db.executemany(
                "INSERT INTO uses VALUES (?, ?, ?, ?)", [(number, *use) for use in taken]
            )
            chain.add(db, "begin", *self._source, run, len(taken))
            self._note_own(db)
        mine_of: Rows = [
            np.sort(np.array([row for _, at, row in taken if at == arm], dtype=np.int64))
            for arm in range(len(allowed))
        ]
        return mine_of

    def of_own_arms(self, task: SpendingRequest, run: int) -> "OwnArmsPersons":
        """Enter run `run` of the user's own arms, and return what admits their rewards."""
        cost = RunCost(task.claim.cost, task.claim.delta or 0.0, task.shared)
        with self._opened() as db:
            self._check_column(db, task)
            self._take_back(db, cost.shared)
            if self._number(db, run) is None:
                self._enter(db, run, cost)
                chain.add(db, "begin", *self._source, run, 0)
                self._note_own(db)
        return OwnArmsPersons(self._path, *self._source, run, task.run.privacy)

    def admit(self, run: int, privacy: PrivacySpec, names: Sequence[str]) -> list[bool]:
        """Enter those of these rewards that run `run` may use, and say which."""
        if not self._path.exists():  # what a checkpoint names is never made
            raise DiskTrouble(f"{self._path} is gone; put it back, and start this agent again")
        admitted = []
        with self._opened() as db:
            number, costs = self._number(db, run), _costs(db)
            if number is None:
                raise PosseError(f"{self._path} has lost run {run}; put the right file back")
            limits = _Limits(privacy, costs[number], costs)
            for person in self._hashes(db, names):
                rows = "SELECT DISTINCT ledger, identity, arm, row FROM uses JOIN runs USING (id)"
                (known,) = db.execute(
                    f"SELECT COUNT(*) FROM ({rows} WHERE person = ?)", (person,)
                ).fetchone()
                spent = dict(
                    db.execute(
                        "SELECT id, COUNT(*) FROM uses WHERE person = ? GROUP BY id", (person,)
                    )
                )
                more = spent.pop(number, 0) + 1
                fits = known < limits.most and limits.rows(spent, more) == more
                if fits:
                    # a row's own number, which no later one of these gets, as none is deleted
                    db.execute(
                        "INSERT INTO uses SELECT ?, ?, -1, COALESCE(MAX(rowid), 0) + 1 FROM uses",
                        (number, person),
                    )
                admitted.append(fits)
            chain.add(db, "admit", *self._source, run, sum(admitted))
        return admitted

    def runs(self) -> frozenset[int]:
        """The runs of this ledger's log or arms that named persons."""
        with self._opened() as db:
            runs = "SELECT run FROM runs WHERE ledger = ? AND identity = ?"
            return frozenset(run for (run,) in db.execute(runs, self._source))

    def end(self, run: int, used: Iterable[tuple[int, int, int]]) -> None:
        """Give back the rows that run `run` holds and did not use."""
        with self._opened() as db:
            number = self._number(db, run)
            if db.execute("SELECT 1 FROM runs WHERE id = ? AND held", (number,)).fetchone():
                _give_back(db, int(number or 0), used)
            chain.add(db, "end", *self._source, run)
            self._note_own(db)

    def note(self) -> None:
        """Keep where the log's own ledger is."""
        with self._opened() as db:
            self._note_own(db)

    def head(self) -> chain.Head:
        """Where it is."""
        with self._opened() as db:
            return chain.head(db)

    def _check_column(self, db: sqlite3.Connection, task: SpendingRequest) -> None:
        """`PosseError` if persons were named by another column: nobody knew who is who."""
        column = task.run.privacy.person
        known = db.execute("SELECT name FROM columns").fetchone()
        if known is None:
            db.execute("INSERT INTO columns VALUES (?)", (column,))
        elif known[0] != column:
            raise PosseError(
                f"{self._path} counts the persons that {known[0]!r} names, and this run's file "
                f"says [privacy] person = {column!r}; name the same, or give the agent a log in "
                "another folder"
            )

    def _note_own(self, db: sqlite3.Connection) -> None:
        """Keep where the log's own ledger is, if it is so on disk: a transaction may be lost."""
        if self._own is not None and not self._own.in_transaction:
            db.execute(
                "INSERT OR REPLACE INTO heads VALUES (?, ?, ?)",
                (self._source[1], *chain.head(self._own)),
            )

    def _require_whole(self, db: sqlite3.Connection) -> None:
        """`RewoundError` if this ledger, or the log's own, lost entries that the other knows of."""
        if not chain.goes_on_from(db, self._known):
            raise chain.RewoundError(_REWOUND.format(self._path, self._source[0]))
        known = db.execute(
            "SELECT number, hash FROM heads WHERE identity = ?", (self._source[1],)
        ).fetchone()
        if (
            self._own is not None
            and known
            and not chain.goes_on_from(self._own, chain.Head(*known))
        ):
            own = self._path.with_name(self._source[0])
            raise chain.RewoundError(_REWOUND.format(own, NAME))

    def _require_there(self) -> None:
        """`RewoundError` if a ledger of persons was here, and is gone."""
        if self._path.exists():
            return
        knows = [path.name for path in sorted(self._path.parent.glob("*.ledger")) if _knows(path)]
        if self._known.number or self._secret.exists() or knows:
            other = knows[0] if knows else SECRET if self._secret.exists() else self._source[0]
            raise chain.RewoundError(
                f"{self._path} is gone, and {other} says that it was there; put it back, as nobody "
                "knows without it what persons were charged"
            )

    def still_holds(self, run: int, rows: Rows) -> bool:
        """Whether run `run`, which named persons, has what it was given; True if it named none."""
        with self._opened() as db:
            if (number := self._number(db, run)) is None:
                return True
            noted = set(db.execute("SELECT arm, row FROM uses WHERE id = ?", (number,)))
        return noted >= {(arm, row) for arm, some in enumerate(rows) for row in some.tolist()}

    def _on_plan(self, db: sqlite3.Connection, declared: Declared | None) -> Declared | None:
        """The same with numbers of this ledger's for the runs, and those over other logs.

        None if a run over one of those was not as declared.
        """
        if declared is None:
            return None
        numbers = {self._number(db, run) for run in declared.runs} - {None}
        costs = _costs(db)
        for name, of_log in declared.beside.items():
            runs = "SELECT id FROM runs WHERE ledger = ? ORDER BY run"
            others = [run for (run,) in db.execute(runs, (name,))]
            if [costs[run].losses for run in others] != of_log[: len(others)]:
                return None
            numbers.update(others)
        return declared._replace(runs=frozenset(map(int, filter(None, numbers))))

    def _number(self, db: sqlite3.Connection, run: int) -> int | None:
        row = db.execute(
            "SELECT id FROM runs WHERE ledger = ? AND identity = ? AND run = ?",
            (*self._source, run),
        ).fetchone()
        return None if row is None else int(row[0])

    def _take_back(self, db: sqlite3.Connection, shared: bytes) -> None:
        """Take back what other runs hold whose agent is gone; it may not go on with it then.

        Agents of this very run keep theirs: they may come back at any moment.
        """
        holders = "SELECT id, ledger, identity, run FROM runs WHERE held AND NOT (shared = ? AND ?)"
        for number, name, identity, run in db.execute(holders, (shared, bool(shared))).fetchall():
            if (used := _left_behind(self._path.with_name(name), identity, run)) is not None:
                _give_back(db, number, used)

    def _enter_earlier(
        self,
        db: sqlite3.Connection,
        before: tuple[UsedRows, dict[int, RunCost]],
        persons: PersonOfRow,
        names: list[bytes],
    ) -> None:
        """Enter what the runs over this log used, as its own ledger has it.

        Also runs that were killed, and those whose run file named no persons.
        """
        used, costs = before
        db.execute(
            "DELETE FROM uses WHERE id IN (SELECT id FROM runs WHERE ledger = ? AND identity = ?)",
            self._source,
        )
        db.execute("DELETE FROM runs WHERE ledger = ? AND identity = ?", self._source)
        numbers = {run: self._enter(db, run, cost) for run, cost in costs.items()}
        for run, arm, first, last in used:
            persons_of = persons.numbers[arm][first:last].tolist()
            db.executemany(
                "INSERT INTO uses VALUES (?, ?, ?, ?)",
                [(numbers[run], names[n], arm, row) for row, n in enumerate(persons_of, first)],
            )

    def _enter(self, db: sqlite3.Connection, run: int, cost: RunCost, *, held: bool = False) -> int:
        losses = None if cost.losses is None else msgspec.msgpack.encode(cost.losses)
        cursor = db.execute(
            "INSERT INTO runs (ledger, identity, run, losses, delta, shared, held)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*self._source, run, losses, cost.delta, cost.shared, held),
        )
        return int(cursor.lastrowid or 0)

    def _hashes(self, db: sqlite3.Connection, names: Sequence[str]) -> list[bytes]:
        """The persons of these names, as this ledger calls them."""
        there = self._secret.exists()
        secret = files.read(self._secret, _SECRET) if there else self._make_secret()
        check = _hash(b"", secret)
        known = db.execute("SELECT digest FROM secrets").fetchone()
        if known is None:
            db.execute("INSERT INTO secrets VALUES (?)", (check,))
        elif known[0] != check:
            raise PosseError(
                f"{self._secret} is not the secret under which {self._path.name} has its persons; "
                "put the right one back, as without it nobody knows what a person was charged"
            )
        return [_hash(name.encode(errors="surrogateescape"), secret) for name in names]

    def _make_secret(self) -> bytes:
        secret = os.urandom(_SECRET)
        files.write(self._secret, secret, private=True)
        return secret

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file within one transaction, which other agents of this folder wait for."""
        try:
            self._require_there()
            with closing(connect(self._path, _PATIENCE)) as db:
                for pragma in ("journal_mode = DELETE", "synchronous = EXTRA"):
                    db.execute(f"PRAGMA {pragma}")
                db.executescript(_SCHEMA)
                db.execute("BEGIN IMMEDIATE")
                self._require_whole(db)
                yield db
                db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            why = trouble(error, self._path)
            raise DiskTrouble(
                f"{self._path} cannot be written: {why}; an agent records there what persons are "
                "charged before it uses their rewards, so its folder must be writable"
            ) from None


_REWOUND = (
    "{} is not the one that {} knows: it lacks entries, as an earlier copy of it does, or was "
    "changed; put the latest one back"
)


def _knows(ledger: Path) -> bool:
    """Whether a log's own ledger knows of a ledger of persons beside it."""
    with suppress(OSError, ValueError, sqlite3.Error), closing(read_only(ledger)) as db:
        return bool(db.execute("SELECT 1 FROM beside").fetchone())
    return False


class OwnArmsPersons(msgspec.Struct, frozen=True):
    """Admits rewards of the user's own arms in one run, by the ledger of persons at `path`."""

    path: Path
    ledger: str
    identity: bytes
    run: int
    privacy: PrivacySpec

    def __post_init__(self) -> None:
        require_files(self.path)

    def __call__(self, names: Sequence[str]) -> list[bool]:
        ledger = PersonsLedger(self.path.with_name(self.ledger), self.identity)
        return ledger.admit(self.run, self.privacy, names)


class _Limits:
    """How many rows of a person a run may use."""

    def __init__(
        self,
        privacy: PrivacySpec,
        cost: RunCost,
        costs: dict[int, RunCost],
        declared: Declared | None = None,
    ) -> None:
        self._declared = declared
        self._privacy = privacy
        self._cost = cost
        self._costs = costs
        self._found: dict[tuple[tuple[tuple[int, int], ...], int], int] = {}
        self.most = self._privacy.rewards_per_person

    def choose(
        self,
        rows: Sequence[tuple[int, int]],
        source: tuple[str, bytes],
        known: set[tuple[str, bytes, int, int]],
        spent: Counter[int],
    ) -> list[tuple[int, int]]:
        """Those of the `rows`, by arm and number, of a person who is known by these."""
        mine, new = [], self.most - len(known)
        for row in rows:
            again = (*source, *row) in known
            if again or new > 0:
                mine.append(row)
                new -= not again
        return mine[: self.rows(spent, len(mine))]

    def rows(self, spent: Exposure, wanted: int) -> int:
        """The most of `wanted` rows that a person's budget allows who used this many before."""
        if self._privacy.reuse == "unlimited":
            return wanted
        key = (tuple(sorted(spent.items())), wanted)
        if key not in self._found:
            self._found[key] = self._search(spent, wanted)
        return self._found[key]

    def _search(self, spent: Exposure, wanted: int) -> int:
        if self._is_on_plan(spent):
            return wanted
        before = [(self._costs[run], rows) for run, rows in spent.items()]
        fits, beyond = 0, wanted + 1
        while beyond - fits > 1:
            middle = wanted if beyond > wanted and not fits else (fits + beyond) // 2
            if self._allowed([*before, (self._cost, middle)]):
                fits = middle
            else:
                beyond = middle
        return fits

    def _is_on_plan(self, spent: Exposure) -> bool:
        """Whether only declared runs used a person's rewards, and all declared fit their budget.

        Whatever was seen before, each over one log may use all m, or of several logs together m.
        """
        if self._declared is None or not self._declared.runs.issuperset(spent):
            return False
        privacy, m = self._privacy, self.most
        so_far = _losses_of_person([(cost, m) for cost in map(self._costs.get, spent) if cost])
        this = _losses_of_person([(self._cost, m)])
        if so_far is None or this is None:
            return False
        logs = [self._declared.costs, *self._declared.beside.values()]
        for shares in _shares(m, len(logs)):
            parts = [n.of_rewards(k) for k, log in zip(shares, logs, strict=True) if k for n in log]
            whole = together(parts)
            at = max(so_far[1] + this[1], privacy.slack, whole.delta)
            rounding = 1 + 1e-12
            if at > privacy.delta or whole.epsilon(at) > privacy.budget * rounding:
                return False
        return True

    def _allowed(self, used: list[tuple[RunCost, int]]) -> bool:
        privacy = self._privacy
        if (of_person := _losses_of_person(used)) is None:
            return False
        losses, sums = of_person
        return admits(losses, max(sums, privacy.slack), privacy.budget, privacy.delta)


def _shares(rewards: int, logs: int) -> Iterator[tuple[int, ...]]:
    """How many of a person's rewards may be in each log; all in each, where there are many ways."""
    if math.comb(rewards + logs - 1, logs - 1) > _MOST_WAYS:
        yield (rewards,) * logs
        return
    for cuts in combinations(range(rewards + logs - 1), logs - 1):
        ends = (-1, *cuts, rewards + logs - 1)
        yield tuple(last - first - 1 for first, last in pairwise(ends))


def person_cost(used: list[tuple[RunCost, int]], slack: float = 0.0) -> Guarantee | None:
    """What this many rewards in each of several runs cost a person, at their δ's sum or `slack`.

    None if a run has no ε.
    """
    if (of_person := _losses_of_person(used)) is None:
        return None
    losses, sums = of_person
    delta = max(sums, slack)
    epsilon = together(losses).epsilon(delta or None)
    return Guarantee(adversary="", epsilon=epsilon, delta=delta or None)


def _losses_of_person(used: list[tuple[RunCost, int]]) -> tuple[list[Losses], float] | None:
    """What this many rewards in each of several runs may cost, and the sum of δ; None without an ε.

    Rewards at several agents of one run may be in the same sums, and move them together.
    """
    rows_of: dict[RunCost | int, int] = {}
    for place, (cost, rows) in enumerate(used):
        key = cost if cost.shared else place
        rows_of[key] = rows_of.get(key, 0) + rows
    losses, sums = [], 0.0
    for key, rows in rows_of.items():
        cost = used[key][0] if isinstance(key, int) else key
        if cost.losses is None:
            return None
        losses.append(cost.losses.of_rewards(rows))
        sums += max(cost.delta, losses[-1].delta)
    return losses, sums


def summary(ledger: Path) -> PersonsCost | None:
    """What persons were charged in all logs of the folder of this ledger; None if nothing was."""
    path = ledger.with_name(NAME)
    if not path.exists():
        return None
    try:
        with closing(read_only(path)) as db:
            costs = _costs(db)
            known, spent = _exposure(db)
            held = {run for (run,) in db.execute("SELECT id FROM runs WHERE held")}
    except (sqlite3.Error, ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} cannot be read as a ledger of persons: {error}") from None
    if not spent:
        return None
    patterns = {tuple(sorted(runs.items())) for runs in spent.values()}
    prices = [person_cost([(costs[run], rows) for run, rows in pattern]) for pattern in patterns]
    sums = [price for price in prices if price is not None]
    return PersonsCost(
        persons=len(spent),
        rows=max(map(len, known.values())),
        cost=None if len(sums) < len(prices) else max(sums, key=lambda price: price.epsilon),
        held=sum(rows for runs in spent.values() for run, rows in runs.items() if run in held),
    )


def _exposure(
    db: sqlite3.Connection,
) -> tuple[defaultdict[bytes, set[tuple[str, bytes, int, int]]], defaultdict[bytes, Counter[int]]]:
    """By person, the different rows that runs used or hold, and how many each run does."""
    known: defaultdict[bytes, set[tuple[str, bytes, int, int]]] = defaultdict(set)
    spent: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
    for person, run, *row in db.execute(
        "SELECT person, id, ledger, identity, arm, row FROM uses JOIN runs USING (id)"
    ):
        known[person].add(tuple(row))
        spent[person][run] += 1
    return known, spent


def _give_back(db: sqlite3.Connection, number: int, used: Iterable[tuple[int, int, int]]) -> None:
    rows = {(arm, row) for arm, first, last in used for row in range(first, last)}
    entered = db.execute("SELECT rowid, arm, row FROM uses WHERE id = ?", (number,)).fetchall()
    unused = [(run,) for run, arm, row in entered if (arm, row) not in rows]
    db.executemany("DELETE FROM uses WHERE rowid = ?", unused)
    db.execute("UPDATE runs SET held = 0 WHERE id = ?", (number,))


def _left_behind(ledger: Path, identity: bytes, run: int) -> list[tuple[int, int, int]] | None:
    """What a run used whose agent is gone; None if it is there, or nobody can know."""
    with suppress(OSError, sqlite3.Error):
        descriptor = files.claim(ledger, make=False)
        try:
            # while this is locked no agent begins there
            if take(descriptor):
                with closing(connect(ledger, 5.0, make=False)) as db:
                    if db.execute("SELECT identity FROM identity").fetchall() == [(identity,)]:
                        rows = "SELECT arm, first, last FROM rows WHERE run = ?"
                        return db.execute(rows, (run,)).fetchall()
        finally:
            os.close(descriptor)
    return None


def _costs(db: sqlite3.Connection) -> dict[int, RunCost]:
    read = Packed[Losses](Losses).read
    return {
        run: RunCost(None if losses is None else read(losses), delta or 0.0, shared)
        for run, losses, delta, shared in db.execute("SELECT id, losses, delta, shared FROM runs")
    }


def _hash(name: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(name, key=secret, digest_size=16).digest()
