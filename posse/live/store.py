"""The file of a live agent's decisions: one SQLite file, one row a decision, with its reward.

A thread writes what came meanwhile in one transaction (write-ahead log, `synchronous = FULL`), then
tells each who waits for it: many requests share one wait for the disk. Rows are never removed: they
are what a run was told, in that order.
"""

import os
import sqlite3
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posse.errors import DiskTrouble, PosseError
from posse.gates import databases, owners
from posse.live.desk import Closed, Keeper, OpenDecision, RunSoFar

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value BLOB);
CREATE TABLE IF NOT EXISTS runs (
  run INTEGER PRIMARY KEY, token BLOB UNIQUE NOT NULL, began REAL NOT NULL, first INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0, answer INTEGER
);
CREATE TABLE IF NOT EXISTS decisions (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL, arm INTEGER NOT NULL, key INTEGER NOT NULL,
  asked REAL NOT NULL, person BLOB NOT NULL, state INTEGER NOT NULL DEFAULT 0, place INTEGER,
  reward REAL
);
"""
"""`state` of a decision: 0 open, 1 told, 2 timed out; its reward, told or given by the run file, is
the one at `place` of its arm in its run."""

_OPEN, _TOLD, _OUT = 0, 1, 2

_PATIENCE = 10.0

_ASK = "INSERT INTO decisions (id, run, arm, key, asked, person) VALUES (?, ?, ?, ?, ?, ?)"
_CLOSE = "UPDATE decisions SET state = ?, place = ?, reward = ? WHERE id = ?"

OnDisk = Callable[[], object]
"""Called by the writing thread when what was written before is on disk, or cannot be."""


class DecisionStore(Keeper):
    """See the module's text. Its methods may be called from any thread, `find` too.

    `settled` is called by the writing thread with the arms of the rewards that are on disk now, one
    for each.
    """

    def __init__(
        self, path: Path, settled: Callable[[list[int]], object] = lambda arms: None
    ) -> None:
        self.path = path
        self.trouble = ""
        """Why nothing can be written any more; empty if it can."""
        self._settled = settled
        self._db = self._opened()
        self._reader = databases.connect(path, _PATIENCE)
        self._reading = threading.Lock()
        self._waiting: list[tuple[str, tuple[Any, ...]]] = []
        self._arms: list[int] = []
        self._done: list[OnDisk] = []
        self._more = threading.Condition()
        self._ends = False
        self._thread = threading.Thread(target=self._write, name="live store", daemon=True)
        self._thread.start()

    @property
    def secret(self) -> bytes:
        """What hides persons' names in this file."""
        return bytes(
            self._db.execute("SELECT value FROM about WHERE name = 'secret'").fetchone()[0]
        )

    # --- the desk's keeper -----------------------------------------------------------------------

    def asked(self, number: int, decision: OpenDecision) -> None:
        d = decision
        with self._more:
            self._waiting.append((_ASK, (number, d.run, d.arm, d.key, d.asked, d.person)))

    def closed(
        self, number: int, arm: int, place: int, reward: float | None, *, rewarded: bool
    ) -> None:
        state, at = _TOLD if rewarded else _OUT, place if place >= 0 else None
        with self._more:
            self._waiting.append((_CLOSE, (state, at, reward, number)))
            if place >= 0:
                self._arms.append(arm)

    def find(self, number: int) -> Closed | None:
        row = self._find(number)
        if row is None or row[3] == _OPEN:  # what was told a moment ago may not be written yet
            self.flush()
            row = self._find(number)
        if row is None:
            return None
        run, key, reward, state = row
        return Closed(run, key, reward if state == _TOLD else None)

    def _find(self, number: int) -> Any:
        with self._reading:
            return self._reader.execute(
                "SELECT run, key, reward, state FROM decisions WHERE id = ?", (number,)
            ).fetchone()

    # --- writing ---------------------------------------------------------------------------------

    def after(self, done: OnDisk) -> None:
        """Call `done` once all that was handed over before is on disk, or cannot be (`trouble`)."""
        with self._more:
            self._done.append(done)
            self._more.notify()

    def flush(self) -> None:
        """Wait until all that was handed over is on disk; `DiskTrouble` if it cannot be."""
        written = threading.Event()
        self.after(written.set)
        written.wait()
        if self.trouble:
            raise DiskTrouble(self.trouble)

    def _write(self) -> None:
        while True:
            with self._more:
                while not self._done and not self._ends:
                    self._more.wait()
                done, self._done = self._done, []
                waiting, self._waiting = self._waiting, []
                arms, self._arms = self._arms, []
                ends = self._ends
            if waiting and not self.trouble:
                try:
                    self._db.execute("BEGIN IMMEDIATE")
                    for statement, values in waiting:
                        self._db.execute(statement, values)
                    self._db.execute("COMMIT")
                except sqlite3.Error as error:
                    self.trouble = (
                        f"{self.path} cannot be written: {error}; make room and start the agent "
                        "again: it goes on from what is there"
                    )
            if not self.trouble:
                self._settled(arms)
            for tell in done:
                tell()
            if ends:
                return

    # --- runs ------------------------------------------------------------------------------------

    def begin(self, token: bytes, arms: int, now: float) -> RunSoFar:
        """The run of this token, as far as it is; begun if the file does not know it."""
        self.flush()
        with self._reading:
            db = self._reader
            (last,) = db.execute("SELECT COALESCE(MAX(id), 0) FROM decisions").fetchone()
            row = db.execute("SELECT run, first FROM runs WHERE token = ?", (token,)).fetchone()
            if row is None:
                cursor = db.execute(
                    "INSERT INTO runs (token, began, first) VALUES (?, ?, ?)",
                    (token, now, last + 1),
                )
                return RunSoFar(run=int(cursor.lastrowid or 0), next=last + 1)
            run, first = row
            so_far = RunSoFar(run=run, next=last + 1, rewards=[array("d") for _ in range(arms)])
            for number, arm, key, asked, person, state in db.execute(
                "SELECT id, arm, key, asked, person, state FROM decisions"
                " WHERE id >= ? AND run = ? ORDER BY id",
                (first, run),
            ):
                if state == _OPEN:
                    so_far.open[number] = OpenDecision(run, arm, key, asked, person)
                if person:
                    so_far.persons[person] = so_far.persons.get(person, 0) + 1
            for arm, place, reward in db.execute(
                "SELECT arm, place, reward FROM decisions"
                " WHERE id >= ? AND run = ? AND place IS NOT NULL ORDER BY arm, place",
                (first, run),
            ):
                if place != len(so_far.rewards[arm]):
                    raise PosseError(f"{self.path} is damaged: a reward of arm {arm} is missing")
                so_far.rewards[arm].append(reward)
        return so_far

    def end(self, run: int, answer: int | None) -> None:
        """Write down the answer of a run, for a restart after it."""
        with self._more:
            self._waiting.append(
                ("UPDATE runs SET ended = 1, answer = ? WHERE run = ?", (answer, run))
            )
        self.flush()

    @property
    def under_way(self) -> bytes:
        """The token of the last run if it has not ended; else empty."""
        with self._reading:
            row = self._reader.execute(
                "SELECT token, ended FROM runs ORDER BY run DESC LIMIT 1"
            ).fetchone()
        return b"" if row is None or row[1] else bytes(row[0])

    @property
    def last_answer(self) -> int | None:
        """The answer of the last run that ended with one."""
        with self._reading:
            row = self._reader.execute(
                "SELECT answer FROM runs WHERE answer IS NOT NULL ORDER BY run DESC LIMIT 1"
            ).fetchone()
        return None if row is None else int(row[0])

    def rewards_of(self, run: int) -> list[tuple[int, float]]:
        """Arm and reward of each reward of a run, each arm's in the order of use."""
        self.flush()
        with self._reading:
            return self._reader.execute(
                "SELECT arm, reward FROM decisions WHERE run = ? AND place IS NOT NULL"
                " ORDER BY arm, place",
                (run,),
            ).fetchall()

    def close(self) -> None:
        """Write what is left, and close the file."""
        with self._more:
            self._ends = True
            self._more.notify()
        self._thread.join()
        self._reader.close()
        self._db.close()

    def _opened(self) -> sqlite3.Connection:
        try:
            db = databases.connect(self.path, _PATIENCE)
            if not owners.is_private(self.path.stat()):
                db.close()
                raise PosseError(f"{self.path} must be a file for its owner alone (chmod 600)")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.executescript(_SCHEMA)
            db.execute("INSERT OR IGNORE INTO about VALUES ('secret', ?)", (os.urandom(16),))
        except (OSError, sqlite3.Error) as error:
            raise DiskTrouble(
                f"{self.path} cannot be used: {databases.trouble(error, self.path)}; "
                "decisions are written there before they are answered, so its folder must be "
                "writable"
            ) from None
        return db
