"""The ledger of persons: what all runs over the logs of one folder used of each, and its cost.

It is one SQLite file beside the logs' own ledgers. A person is in it as a hash under a secret,
which stands beside it and is readable by its owner alone. A run enters all rows that it may use
when it begins, so that agents over several logs of a folder together stay within the limits, and
gives back at its end those that it did not use.
"""

import hashlib
import os
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import numpy as np

from posse.arms.persons import PersonOfRow, Rows
from posse.errors import DiskTrouble, InputError, PosseError
from posse.hosts.spending import SpendingRequest
from posse.protocol.accounting import Losses, together
from posse.protocol.privacy import Guarantee

NAME = "persons.ledger"

SECRET = f"{NAME}-secret"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, ledger TEXT NOT NULL, run INTEGER NOT NULL, losses BLOB, delta REAL,
  UNIQUE (ledger, run)
);
CREATE TABLE IF NOT EXISTS uses (
  id INTEGER NOT NULL, person BLOB NOT NULL, arm INTEGER NOT NULL, row INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS secrets (digest BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS uses_by_run ON uses (id);
"""
"""`runs`: run `run` of the log whose ledger has that name, with the losses of one reward and its δ;
NULL if the run had no ε. `uses`: the rows that it used, and of whom. `secrets`: a hash of the
secret."""

_PATIENCE = 60.0
"""Seconds in which other agents of this folder have entered their runs."""

UsedRows = list[tuple[int, int, int, int]]
"""Run, arm, first row and the row after the last."""

Exposure = dict[int, int]
"""How many rows of a person each run used."""


class RunCost(msgspec.Struct, frozen=True):
    """What a run costs one reward; `losses` is None if it has no ε."""

    losses: Losses | None
    delta: float = 0.0


class PersonsCost(msgspec.Struct, frozen=True, kw_only=True):
    """How many persons runs used, the most rows of one, and what the most exposed one cost.

    `cost` is None if rewards of a person were used in a run without an ε.
    """

    persons: int
    rows: int
    cost: Guarantee | None

    @property
    def says(self) -> str:
        """A summary, for the end of a sentence."""
        cost = self.cost.number if self.cost is not None else "no ε"
        return f"of {self.persons} persons, at most {self.rows} rows and {cost} for one person"


class PersonsLedger:
    """The ledger of persons beside a log's own ledger."""

    def __init__(self, ledger: Path) -> None:
        self._path = ledger.with_name(NAME)
        self._secret = ledger.with_name(SECRET)
        self._source = ledger.name

    def begin(
        self,
        task: SpendingRequest,
        run: int,
        before: tuple[UsedRows, dict[int, RunCost]],
        persons: PersonOfRow,
        allowed: Rows,
    ) -> Rows:
        """Enter run `run`, and return those of the `allowed` rows by arm that it may use.

        `before` has what all earlier runs over this log used, and cost one reward.
        """
        with self._opened() as db:
            names = self._hashes(db, persons)
            self._enter_earlier(db, before, persons, names)
            known: defaultdict[bytes, set[tuple[str, int, int]]] = defaultdict(set)
            spent: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
            for person, at, ledger, arm, row in db.execute(
                "SELECT person, id, ledger, arm, row FROM uses JOIN runs USING (id)"
            ):
                known[person].add((ledger, arm, row))
                spent[person][at] += 1
            limits = _Limits(task, _costs(db))
            wanted: defaultdict[bytes, list[tuple[int, int, int]]] = defaultdict(list)
            for arm, rows in enumerate(allowed):
                places, numbers = persons.places[arm][rows], persons.numbers[arm][rows]
                for place, number, row in zip(places, numbers, rows.tolist(), strict=True):
                    wanted[names[number]].append((int(place), arm, row))
            taken: list[tuple[bytes, int, int]] = []
            for person, rows_of in wanted.items():
                mine, new = [], limits.most - len(known[person])
                for _, arm, row in sorted(rows_of):
                    again = (self._source, arm, row) in known[person]
                    if again or new > 0:
                        mine.append((person, arm, row))
                        new -= not again
                taken += mine[: limits.rows(spent[person], len(mine))]
            number = self._enter(db, run, RunCost(task.claim.cost, task.claim.delta or 0.0))
            db.executemany(
                "INSERT INTO uses VALUES (?, ?, ?, ?)", [(number, *use) for use in taken]
            )
        mine_of: Rows = [
            np.sort(np.array([row for _, at, row in taken if at == arm], dtype=np.int64))
            for arm in range(len(allowed))
        ]
        return mine_of

    def end(self, run: int, used: Iterable[tuple[int, int, int]]) -> None:
        """Give back the rows that run `run` entered and did not use."""
        rows = {(arm, row) for arm, first, last in used for row in range(first, last)}
        with self._opened() as db:
            entered = db.execute(
                "SELECT uses.rowid, arm, row FROM uses JOIN runs USING (id)"
                " WHERE ledger = ? AND run = ?",
                (self._source, run),
            ).fetchall()
            unused = [(at,) for at, arm, row in entered if (arm, row) not in rows]
            db.executemany("DELETE FROM uses WHERE rowid = ?", unused)

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
            "DELETE FROM uses WHERE id IN (SELECT id FROM runs WHERE ledger = ?)", (self._source,)
        )
        db.execute("DELETE FROM runs WHERE ledger = ?", (self._source,))
        numbers = {run: self._enter(db, run, cost) for run, cost in costs.items()}
        for run, arm, first, last in used:
            whose = persons.numbers[arm][first:last].tolist()
            db.executemany(
                "INSERT INTO uses VALUES (?, ?, ?, ?)",
                [(numbers[run], names[n], arm, row) for row, n in enumerate(whose, first)],
            )

    def _enter(self, db: sqlite3.Connection, run: int, cost: RunCost) -> int:
        losses = None if cost.losses is None else msgspec.msgpack.encode(cost.losses)
        cursor = db.execute(
            "INSERT INTO runs (ledger, run, losses, delta) VALUES (?, ?, ?, ?)",
            (self._source, run, losses, cost.delta),
        )
        return int(cursor.lastrowid or 0)

    def _hashes(self, db: sqlite3.Connection, persons: PersonOfRow) -> list[bytes]:
        """The persons by number, as this ledger calls them."""
        secret = self._make_secret() if not self._secret.exists() else self._secret.read_bytes()
        check = _hash(b"", secret)
        known = db.execute("SELECT digest FROM secrets").fetchone()
        if known is None:
            db.execute("INSERT INTO secrets VALUES (?)", (check,))
        elif known[0] != check:
            raise PosseError(
                f"{self._secret} is not the secret under which {self._path.name} has its persons; "
                "put the right one back, as without it nobody knows what a person was charged"
            )
        return [_hash(name.encode(errors="surrogateescape"), secret) for name in persons.names]

    def _make_secret(self) -> bytes:
        secret = os.urandom(32)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._secret, flags, 0o600)
        with open(descriptor, "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(descriptor)
        return secret

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The file within one transaction, which other agents of this folder wait for."""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(self._path, flags, 0o600))
            with closing(
                sqlite3.connect(self._path, isolation_level=None, timeout=_PATIENCE)
            ) as db:
                for pragma in ("journal_mode = WAL", "synchronous = FULL"):
                    db.execute(f"PRAGMA {pragma}")
                db.executescript(_SCHEMA)
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            why = getattr(error, "strerror", None) or error
            raise DiskTrouble(
                f"{self._path} cannot be written: {why}; an agent records there what persons are "
                "charged before it uses their rewards, so its folder must be writable"
            ) from None


class _Limits:
    """How many rows of a person a run may use."""

    def __init__(self, task: SpendingRequest, costs: dict[int, RunCost]) -> None:
        self._privacy = task.run.privacy
        self._one = RunCost(task.claim.cost, task.claim.delta or 0.0)
        self._costs = costs
        self._found: dict[tuple[tuple[tuple[int, int], ...], int], int] = {}
        self.most = self._privacy.rewards_per_person

    def rows(self, spent: Exposure, wanted: int) -> int:
        """The most of `wanted` rows that the budget of a person allows who used so many before."""
        if self._privacy.reuse == "unlimited":
            return wanted
        key = (tuple(sorted(spent.items())), wanted)
        if key not in self._found:
            self._found[key] = self._search(spent, wanted)
        return self._found[key]

    def _search(self, spent: Exposure, wanted: int) -> int:
        before = [(self._costs[run], rows) for run, rows in spent.items()]
        fits, beyond = 0, wanted + 1
        while beyond - fits > 1:
            middle = wanted if beyond > wanted and not fits else (fits + beyond) // 2
            if self._allowed([*before, (self._one, middle)]):
                fits = middle
            else:
                beyond = middle
        return fits

    def _allowed(self, used: list[tuple[RunCost, int]]) -> bool:
        privacy, rounding = self._privacy, 1 + 1e-12
        cost = person_cost(used, privacy.slack)
        return (
            cost is not None
            and cost.epsilon <= privacy.budget * rounding
            and (cost.delta or 0.0) <= privacy.delta * rounding
        )


def person_cost(used: list[tuple[RunCost, int]], slack: float = 0.0) -> Guarantee | None:
    """What so many rewards in each of several runs cost a person, at the sum of their δ or `slack`.

    None if a run has no ε.
    """
    losses, sums = [], 0.0
    for one, rows in used:
        if one.losses is None:
            return None
        losses.append(one.losses.of_rewards(rows))
        sums += max(one.delta, losses[-1].delta)
    total, delta = together(losses), max(sums, slack)
    return Guarantee(adversary="", epsilon=total.epsilon(delta or None), delta=delta or None)


def summary(ledger: Path) -> PersonsCost | None:
    """What persons were charged in all logs of the folder of this ledger; None if nothing was."""
    path = ledger.with_name(NAME)
    if not path.exists():
        return None
    alone = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    spent: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
    known: defaultdict[bytes, set[tuple[str, int, int]]] = defaultdict(set)
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro{alone}", uri=True)) as db:
            costs = _costs(db)
            for person, at, ledger_name, arm, row in db.execute(
                "SELECT person, id, ledger, arm, row FROM uses JOIN runs USING (id)"
            ):
                spent[person][at] += 1
                known[person].add((ledger_name, arm, row))
    except (sqlite3.Error, ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} cannot be read as a ledger of persons: {error}") from None
    if not spent:
        return None
    patterns = {tuple(sorted(runs.items())) for runs in spent.values()}
    found = [person_cost([(costs[at], rows) for at, rows in pattern]) for pattern in patterns]
    sums = [one for one in found if one is not None]
    return PersonsCost(
        persons=len(spent),
        rows=max(map(len, known.values())),
        cost=None if len(sums) < len(found) else max(sums, key=lambda one: one.epsilon),
    )


def _costs(db: sqlite3.Connection) -> dict[int, RunCost]:
    read = msgspec.msgpack.Decoder(Losses).decode
    return {
        at: RunCost(None if losses is None else read(losses), delta or 0.0)
        for at, losses, delta in db.execute("SELECT id, losses, delta FROM runs")
    }


def _hash(name: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(name, key=secret, digest_size=16).digest()
