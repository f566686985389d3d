"""The entries of a reward log's ledger: runs begin, use rows and end; nothing is taken back.

Its tables are what the entries add up to, by run and by arm, so that a question does not read all.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posse.durable import chain
from posse.protocol import control

Spans = list[tuple[int, int]]
"""First rows, and the rows after the last."""

_RUN = "run, began, task, agent, agents, epsilon, delta, rewards, ended, spent"


class Entries:
    """Writes entries and tables of an open ledger, within the caller's transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def begin(self, facts: tuple[Any, ...], losses: bytes, name: bytes) -> int:
        """A run by its time, task, agent, agents, ε and δ, losses and name; returns its number."""
        cursor = self._db.execute(
            "INSERT INTO runs (began, task, agent, agents, epsilon, delta)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            facts,
        )
        run = int(cursor.lastrowid or 0)
        if name:
            self._db.execute("INSERT INTO names VALUES (?, ?)", (name, run))
        if losses:
            self._db.execute("INSERT INTO losses (run, losses) VALUES (?, ?)", (run, losses))
        chain.add(self._db, "begin", run, *facts, losses, name)
        return run

    def use(self, run: int, arm: int, rows: NDArray[np.int64]) -> None:
        """A run uses more rows of an arm."""
        if not len(rows):
            return
        parts = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        spans = [(int(part[0]), int(part[-1]) + 1) for part in parts]
        chain.add(self._db, "use", run, arm, spans)
        first, *others = spans
        last = self._db.execute(
            "SELECT rowid, last FROM rows WHERE run = ? AND arm = ? ORDER BY rowid DESC LIMIT 1",
            (run, arm),
        ).fetchone()
        if last is not None and last[1] == first[0]:
            self._db.execute("UPDATE rows SET last = ? WHERE rowid = ?", (first[1], last[0]))
        else:
            others = spans
        self._db.executemany(
            "INSERT INTO rows (run, arm, first, last) VALUES (?, ?, ?, ?)",
            [(run, arm, *span) for span in others],
        )

    def count(self, run: int, rewards: int) -> None:
        """How many rewards a run used so far; fewer than before are none."""
        known = self._db.execute("SELECT rewards FROM runs WHERE run = ?", (run,)).fetchone()
        if known is None or rewards <= known[0]:
            return
        self._db.execute("UPDATE runs SET rewards = ? WHERE run = ?", (rewards, run))
        chain.add(self._db, "count", run, rewards)

    def end(self, run: int, at: str, spent: float | None) -> None:
        """A run ended, and its releases added up to `spent`."""
        self._db.execute("UPDATE runs SET ended = ?, spent = ? WHERE run = ?", (at, spent, run))
        chain.add(self._db, "end", run, at, spent)

    def tell(self, salt: bytes) -> tuple[int, bytes]:
        """Somebody else is told the head; how often that was so, and the last heads told.

        The entry has `salt`, random bytes: so nobody finds out what a head is of, and of two copies
        of a ledger each has its own.
        """
        (before,) = self._db.execute("SELECT COALESCE(MAX(number), 0) FROM told").fetchone()
        at = chain.add(self._db, "tell", before + 1, salt)
        self._db.execute("INSERT INTO told VALUES (?, ?)", (before + 1, at.number))
        heads = self._db.execute(
            "SELECT hash FROM told JOIN chain ON told.entry = chain.number WHERE told.number > ?"
            " ORDER BY told.number",
            (before + 1 - control.MOST_HEADS,),
        )
        return before + 1, b"".join(head[: control.HEAD_BYTES] for (head,) in heads)

    def check(self, path: Path) -> None:
        """`RewoundError` unless the tables are what the entries add up to.

        A ledger from before, which has no entries, gets them.
        """
        try:
            found = chain.entries(self._db)
        except sqlite3.DatabaseError as error:
            raise chain.RewoundError(f"{path}: {error}; {_PUT_BACK}") from None
        runs, spans = self._tables()
        if not found and runs:
            self._adopt(runs, spans)
        elif _added_up(found) != (runs, spans):
            raise chain.RewoundError(
                f"{path}: its tables are not what its entries say; {_PUT_BACK}"
            )

    def _tables(self) -> tuple[list[tuple[Any, ...]], dict[tuple[int, int], Spans]]:
        runs = self._db.execute(f"SELECT {_RUN} FROM runs ORDER BY run").fetchall()
        spans: dict[tuple[int, int], Spans] = {}
        for run, arm, *span in self._db.execute("SELECT run, arm, first, last FROM rows"):
            spans.setdefault((run, arm), []).append((span[0], span[1]))
        return runs, {key: _merged(some) for key, some in spans.items()}

    def _adopt(self, runs: list[tuple[Any, ...]], spans: dict[tuple[int, int], Spans]) -> None:
        names = {run: name for name, run in self._db.execute("SELECT name, run FROM names")}
        losses = dict(self._db.execute("SELECT run, losses FROM losses").fetchall())
        self._db.execute("BEGIN IMMEDIATE")
        for run, *facts, rewards, ended, spent in runs:
            chain.add(self._db, "begin", run, *facts, losses.get(run, b""), names.get(run, b""))
            for (by, arm), some in spans.items():
                if by == run:
                    chain.add(self._db, "use", run, arm, some)
            chain.add(self._db, "count", run, rewards)
            if ended is not None or spent is not None:
                chain.add(self._db, "end", run, ended, spent)
        self._db.execute("COMMIT")


_PUT_BACK = "posse alone writes it, and adds only; put the right file back"


def _added_up(
    found: Iterable[list[Any]],
) -> tuple[list[tuple[Any, ...]], dict[tuple[int, int], Spans]]:
    """What entries add up to, as `Entries._tables` has it."""
    runs: dict[int, list[Any]] = {}
    spans: dict[tuple[int, int], Spans] = {}
    for kind, run, *rest in found:
        if kind == "begin":
            runs[run] = [run, *rest[:-2], 0, None, None]
        elif kind == "use":
            spans.setdefault((run, rest[0]), []).extend(map(tuple, rest[1]))
        elif kind == "count":
            runs[run][7] = rest[0]
        elif kind == "end":
            runs[run][8:] = rest
    return (
        [tuple(runs[run]) for run in sorted(runs)],
        {key: _merged(some) for key, some in spans.items()},
    )


def _merged(spans: Spans) -> Spans:
    """The same rows in order, with as few spans as can be."""
    merged: Spans = []
    for first, last in sorted(spans):
        if merged and merged[-1][1] >= first:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
