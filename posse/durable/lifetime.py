"""What a ledger says about all runs that used an agent's rewards."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import msgspec

from posse.durable import chain, persons
from posse.durable.persons import PersonsCost
from posse.errors import InputError
from posse.gates import files
from posse.gates.databases import read_only
from posse.gates.decode import Packed
from posse.measure.numbers import counted
from posse.protocol.accounting import Losses, together
from posse.protocol.privacy import Guarantee, format_cost

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
  run INTEGER PRIMARY KEY, began TEXT NOT NULL, ended TEXT, task TEXT NOT NULL,
  agent INTEGER NOT NULL, agents INTEGER NOT NULL, epsilon REAL, delta REAL,
  rewards INTEGER NOT NULL DEFAULT 0, spent REAL
);
CREATE TABLE IF NOT EXISTS rows (
  run INTEGER NOT NULL, arm INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS losses (run INTEGER PRIMARY KEY, losses BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS places (inode TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS names (name BLOB PRIMARY KEY, run INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS identity (identity BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS log (size INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS prints (
  arm INTEGER PRIMARY KEY, rows INTEGER NOT NULL, digest BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS beside (number INTEGER NOT NULL, hash BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS told (number INTEGER PRIMARY KEY, entry INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS rows_by_arm ON rows (arm, run);
{chain.SCHEMA}"""
"""`rows`: run `run` used rows `first` to `last` - 1 of an arm, counted from 0 in the order of the
log. `names`: runs by what coordinator and agent call them. `losses`: what each run costs by the law
of its noise. `places`: device and inode of each file that was the log. `identity`: what
`posse.durable.persons` calls this ledger. `log`: how long the log was when it was last used, and
its hash; `prints`: how many rows of each arm it then had, and their hash. `beside`: the head of the
ledger of persons. `told`: the entries whose hashes others were told. Without the index each release
would search the rows of all runs: a tenth of a second after 1,000 runs with 50 arms."""

SUFFIX = ".ledger"

UNREADABLE = (OSError, sqlite3.Error, ValueError, TypeError, OverflowError)
"""What reading a damaged ledger raises: its columns may hold anything."""

_MOST_ROWS = files.MOST // 3
"""More rows than the largest log has."""

_MOST_USES = 10_000_000
"""Most uses of an arm's rows, where each run's use is cut at the ends of the others'."""


_Cost = Annotated[float, msgspec.Meta(ge=0, le=1e15)]
"""SQLite has infinity, too."""


class LedgerRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its task, how many rewards it used, and what each of them was charged.

    `epsilon` is None where the system claims no ε. `spent`, what its releases added up to after the
    fact, may be unknown (None). It and `ended` are None if the run did not end in order.
    """

    run: int
    began: str
    ended: str | None
    task: str
    agent: int
    agents: int
    epsilon: _Cost | None
    delta: _Cost | None
    rewards: int
    spent: _Cost | None


class Lifetime(msgspec.Struct, frozen=True, kw_only=True):
    """All runs, how many rows they used, and what the most exposed reward cost in all of them.

    Of the user's own arms, and of rows drawn with replacement, posse does not know the rows: then
    `rows` is None, and such runs count in full. `unprotected`: rewards used in runs without an ε.
    `epsilon` and `delta` are sums over runs; `exact` adds up losses at `delta`, or at 1e-6 if that
    is 0, where it gives less. `persons` has what all logs of the folder cost the persons in them,
    if a run file said who they are.
    """

    ledger: str
    runs: list[LedgerRun]
    rows: int | None
    epsilon: float
    delta: float
    unprotected: int
    exact: Guarantee | None = None
    persons: PersonsCost | None = None

    @property
    def says(self) -> str:
        """A summary in one sentence."""
        runs = [run for run in self.runs if run.rewards]
        used = (
            counted(self.rows, "row")
            if self.rows is not None
            else counted(sum(r.rewards for r in runs), "reward")
        )
        cost = f"at most {format_cost(self.epsilon, self.delta)} for one reward"
        bare = f"; {self.unprotected} were used without any ε" if self.unprotected else ""
        exact = f", by the distribution of their losses {self.exact.number}" if self.exact else ""
        persons = f"; {self.persons.says}" if self.persons is not None else ""
        return f"{counted(len(runs), 'run')} used {used} so far, {cost}{exact}{bare}{persons}"


def read(path: Path) -> Lifetime:
    """The lifetime in a reward log's ledger, or in the ledger at `path`; `InputError` if none."""
    resolved = path.resolve()
    ledger = resolved if resolved.suffix == SUFFIX else Path(f"{resolved}{SUFFIX}")
    if not ledger.is_file():
        raise InputError(f"{ledger} does not exist: no run used {path}")
    try:
        with closing(read_only(ledger)) as connection:
            return lifetime(connection, ledger)
    except UNREADABLE as error:
        raise InputError(f"{ledger} cannot be read as a ledger: {error}") from None


def lifetime(connection: sqlite3.Connection, path: Path) -> Lifetime:
    """What all runs in a ledger add up to."""
    fields = LedgerRun.__struct_fields__
    recorded = connection.execute(f"SELECT {', '.join(fields)} FROM runs ORDER BY run").fetchall()
    runs = msgspec.convert(
        [dict(zip(fields, row, strict=True)) for row in recorded], list[LedgerRun]
    )
    used = [run for run in runs if run.rewards]
    known = {run for (run,) in connection.execute("SELECT DISTINCT run FROM rows")}
    unknown = [run for run in used if run.run not in known]
    epsilon = sum(run.epsilon or 0.0 for run in unknown)
    delta = sum(run.delta or 0.0 for run in unknown)
    rows, exposed, slack = 0, 0.0, 0.0
    losses, patterns = losses_of(connection), {frozenset[int]()}
    charges = {run.run: (run.epsilon or 0.0, run.delta or 0.0) for run in runs}
    for (arm,) in connection.execute("SELECT DISTINCT arm FROM rows").fetchall():
        for first, last, by in pieces(connection, arm):
            rows += (last - first) * bool(by)
            exposed = max(exposed, sum(charges[run][0] for run in by))
            slack = max(slack, sum(charges[run][1] for run in by))
            patterns.add(frozenset(by))
    always = [run.run for run in unknown]
    costs: dict[tuple[Losses, ...], float] = {}
    for pattern in _largest(patterns):
        spenders = [run for run in (*always, *pattern) if run in losses]
        costs[tuple(sorted(losses[run] for run in spenders))] = sum(
            charges[run][0] for run in spenders
        )
    least_delta, exact = float(delta + slack) or LEAST_DELTA, 0.0
    for cost, most in sorted(costs.items(), key=lambda item: -item[1]):
        if most <= exact:  # it adds up to less than another's losses do
            break
        exact = max(exact, together(list(cost)).epsilon(least_delta))
    return Lifetime(
        ledger=str(path),
        runs=runs,
        rows=rows if not unknown else None,
        epsilon=float(epsilon + exposed),
        delta=float(delta + slack),
        unprotected=sum(run.rewards for run in used if run.epsilon is None),
        exact=Guarantee(adversary="", epsilon=exact, delta=least_delta)
        if exact < 0.99 * (epsilon + exposed)
        else None,
        persons=persons.summary(path),
    )


def _largest(patterns: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Those that are no part of another; each is compared with those of its rarest run alone."""
    kept: list[frozenset[int]] = []
    of_run: defaultdict[int, list[frozenset[int]]] = defaultdict(list)
    for pattern in sorted(patterns, key=len, reverse=True):
        rarest = min((of_run[run] for run in pattern), key=len, default=kept)
        if not any(pattern < other for other in rarest):
            kept.append(pattern)
            for run in pattern:
                of_run[run].append(pattern)
    return kept


LEAST_DELTA = 1e-6
"""The δ at which runs without one are added up for people."""

_read_losses = Packed[Losses](Losses).read


def losses_of(connection: sqlite3.Connection) -> dict[int, Losses]:
    """What each run with an ε cost, by its number."""
    is_there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'losses'"
    known: dict[int, bytes] = {}
    if connection.execute(is_there).fetchone():  # a ledger from before is_there none
        known = dict(connection.execute("SELECT run, losses FROM losses").fetchall())
    charged = "SELECT run, epsilon, delta FROM runs WHERE epsilon IS NOT NULL"
    return {
        run: _read_losses(known[run])
        if run in known
        else Losses(pure=((epsilon, 1),), delta=delta or 0.0)
        for run, epsilon, delta in connection.execute(charged).fetchall()
    }


def pieces(
    connection: sqlite3.Connection, arm: int, length: int = 0
) -> list[tuple[int, int, tuple[int, ...]]]:
    """Rows of an arm from first to last - 1 that the same runs used, and these runs."""
    uses = connection.execute(
        "SELECT first, last, run FROM rows JOIN runs USING (run) WHERE arm = ? ORDER BY first",
        (arm,),
    ).fetchall()
    edges = sorted({0, length, *(edge for first, last, _ in uses for edge in (first, last))})
    if edges[0] < 0 or edges[-1] > max(length, _MOST_ROWS):
        raise ValueError(f"it says that a run used row {edges[-1]}, and no log has so many")
    spans, begun, under_way, left = [], 0, list[tuple[int, int, int]](), _MOST_USES
    for first, last in pairwise(edges):
        while begun < len(uses) and uses[begun][0] <= first:
            under_way.append(uses[begun])
            begun += 1
        under_way = [use for use in under_way if use[1] > first]
        left -= len(under_way)
        if left < 0:
            raise ValueError("it has more uses of one arm's rows than can be added up")
        spans.append((first, last, tuple(run for _, _, run in under_way)))
    return spans
