"""The ledger: which of an agent's rewards were used, in which run, and what that cost.

It is one SQLite file beside the data, readable by its owner alone, and it outlives every process.
Before anything that follows from rewards is handed over, it is on disk that they are used
(`synchronous = EXTRA`: with less a loss of power may bring back the journal that undoes the last
entry), in this one file: there is no write-ahead log that a move could forget. So if a coordinator
begins again or restarts, or an agent is killed, the ledger still says that these rewards were used.
Its entries are only added (`posse.durable.chain`); its tables say the same, and are compared with
them whenever it is opened.

From the moment a row is used it is charged with what the run's claim says one reward may cost,
whatever the run then releases. One process at a time holds a ledger.
"""

import functools
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms
from posse.arms.csv import Content, Csv, new_digest, print_of
from posse.arms.live import Live
from posse.arms.log_file import LogColumns, read_log
from posse.arms.persons import NamesPersons, PersonOfRow, Rows
from posse.durable import chain, persons
from posse.durable.entries import Entries
from posse.durable.lifetime import (
    SCHEMA,
    SUFFIX,
    UNREADABLE,
    lifetime,
    losses_of,
    pieces,
)
from posse.durable.persons import PersonsLedger, RunCost
from posse.durable.programme import Declared, declare, on_plan
from posse.errors import DiskTrouble, LogError, PosseError
from posse.gates import files
from posse.gates.databases import connect, read_only, trouble
from posse.gates.files import require_files
from posse.gates.locks import take
from posse.hosts.spending import LedgerHeads, RowsByArm, Spending, SpendingRequest
from posse.measure.numbers import counted
from posse.protocol.accounting import Losses, admits, together
from posse.protocol.arrays import FloatArray
from posse.protocol.errors import LocalProtocolError
from posse.protocol.privacy import format_cost

_CHUNK = 1 << 20

_SURPRISING = 8.0
"""Bits of two equal logs beyond which one is taken for a copy of the other."""

Wall = Callable[[], float]
"""The date and time, in seconds since 1970."""

_PAUSE = 0.02
"""Seconds after which a ledger that another process holds is asked for again."""


_State = tuple[Path, Path | None, Wall, int, RowsByArm, NDArray[np.int64], bool]


class Ledger(Spending):
    """See the module's text. `data` is the reward log beside which it stands, if there is one.

    Above 300 lines: what may be used, and what was, is one file's, under one lock.
    """

    _is_found_by_content = True
    """Whether logs with equal bytes have one ledger."""

    _tries = 10
    """How often a ledger is asked for: who looks what a run left behind holds it for a moment."""

    def __init__(self, path: Path, data: Path | None = None, wall: Wall = time.time) -> None:
        self._asked = self._path = path
        self._data = data
        self._wall = wall
        self._run = 0
        self._noted: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._rows: RowsByArm = None
        """The rows that this run may use."""
        self._live = False
        self._declared: Declared | None = None
        self._columns = LogColumns()
        """Whether each reward is a new row, one after those of the runs before."""

    def __getstate__(self) -> _State:
        where = self._asked, self._data, self._wall
        return *where, self._run, self._rows, self._noted, self._live

    def __setstate__(self, state: _State) -> None:
        path, data, wall, run, rows, noted, live = state
        require_files(path, data)
        self.__init__(path, data, wall)  # type: ignore[misc]
        self._noted, self._live = noted, live
        if run:
            self.go_on(run, rows)
        else:
            self._run, self._rows = run, rows

    def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
        if isinstance(arms, Csv) and arms.content is not None:
            self._columns = arms.content.columns
        with self._opened():
            if task.run.privacy.person:
                self._persons()  # by its identity, which is safe before that of persons has it
            self._db.execute("BEGIN IMMEDIATE")
            self._refuse_unnamed_beside(task)
            self._recognise(arms.content if isinstance(arms, Csv) else None)
            self._run = self._begun(task)
            self._declared = on_plan(self._db, self._run, task.claim.cost)
            self._admit(task, arms)
            if not self._run:
                self._enter(task)
            if isinstance(arms, Csv) and self._rows is not None:
                if arms.persons is not None:
                    self._rows = self._admit_persons(task, arms.persons, self._rows)
                arms.keep(self._rows)
            self.count_persons(task, arms)
            self._noted = np.zeros(0, dtype=np.int64)
            self._remember_beside()
            self._db.execute("COMMIT")
            if self._path.with_name(persons.NAME).exists():
                self._persons().note()
        return self._run, self._rows

    def declare(self, costs: list[Losses], beside: dict[str, list[Losses]] | None = None) -> None:
        """Keep what a series of runs costs a reward, before the first; `PosseError` after it.

        `beside`: the same of other logs in its folder, by the names of their ledgers.
        """
        with self._opened():
            _refuse_runs(self._db, self._path)
            for path in (self._path.with_name(name) for name in beside or ()):
                if path.exists():
                    with closing(read_only(path)) as db:
                        _refuse_runs(db, path)
            self._db.execute("BEGIN IMMEDIATE")
            declare(self._db, self._now(), costs, beside or {})
            self._db.execute("COMMIT")
        self._close()

    def count_persons(self, task: SpendingRequest, arms: Arms) -> None:
        self._live = isinstance(arms, Live)
        if not task.run.privacy.person or isinstance(arms, Csv):
            return
        if not isinstance(arms, NamesPersons):
            raise LocalProtocolError(f"{type(arms).__name__} does not name the persons of rewards")
        arms.admit_by(self._persons().of_own_arms(task, self._run))

    def _enter(self, task: SpendingRequest) -> None:
        self._run = self._entries.begin(
            (self._now(), task.says, task.rank, task.agents, task.epsilon, task.claim.delta),
            b"" if task.epsilon is None else msgspec.msgpack.encode(task.claim.cost),
            task.name or b"",
        )

    def go_on(self, run: int, rows: RowsByArm) -> None:
        with self._opened(anew=False):
            self._recognise()
            self._refuse_given_away(run, rows)
        self._run, self._rows = run, rows
        self._noted = np.zeros(0, dtype=np.int64)  # the ledger may know of more than a checkpoint

    def _refuse_given_away(self, run: int, rows: RowsByArm) -> None:
        """`PosseError` if rows that this run may use were used, or promised, since it broke off."""
        later = self._db.execute("SELECT arm, first, last FROM rows WHERE run > ?", (run,))
        used = rows is not None and any(
            len(rows[arm]) and ((first <= rows[arm]) & (rows[arm] < last)).any()
            for arm, first, last in later
        )
        held = used or rows is None or not self._path.with_name(persons.NAME).exists()
        if used or not (held or self._persons().still_holds(run, rows or [])):
            raise PosseError(
                "other runs were given rows that this agent might use while it was down, as "
                f"{self._path} says; it takes no further part in this run, so remove its journal, "
                "and start it again for the next"
            )

    def uses(self, pulls: NDArray[np.int64]) -> None:
        if self._noted.shape != pulls.shape:
            self._noted = self._recorded(len(pulls))
        more = np.flatnonzero(pulls > self._noted)
        if not len(more):
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if self._rows is not None:
                for arm in map(int, more):
                    new = self._rows[arm][int(self._noted[arm]) : int(pulls[arm])]
                    self._entries.use(self._run, arm, new)
            elif self._live:
                for arm in map(int, more):
                    new = np.arange(int(self._noted[arm]), int(pulls[arm]))
                    self._entries.use(self._run, arm, new + self._first_new(arm))
            self._entries.count(self._run, int(pulls.sum()))
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unwritable(error) from None
        self._noted = np.maximum(self._noted, pulls)

    def end(self, spent: float | None) -> str:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._entries.end(self._run, self._now(), spent)
            self._db.execute("COMMIT")
            if self._path.with_name(persons.NAME).exists():
                self._persons().end(
                    self._run,
                    self._db.execute(
                        "SELECT arm, first, last FROM rows WHERE run = ?", (self._run,)
                    ).fetchall(),
                )
                self._db.execute("BEGIN IMMEDIATE")
                self._remember_beside()
                self._db.execute("COMMIT")
            return lifetime(self._db, self._path).says
        except sqlite3.Error as error:
            raise self._unwritable(error) from None
        finally:
            self._run = 0
            self._close()

    def tell(self, salt: bytes, *, really: bool) -> LedgerHeads | None:
        if not really:
            return None
        if self._run:
            return self._told(salt)
        with self._opened():
            told = self._told(salt)
        self._close()
        return told

    def _told(self, salt: bytes) -> LedgerHeads:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            number, heads = self._entries.tell(salt)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._unwritable(error) from None
        return str(self._path), number, heads

    def leave(self) -> None:
        self._close()

    def _now(self) -> str:
        """The date and time, as ledgers have them."""
        return datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%d %H:%M:%S")

    def _recorded(self, arms: int) -> NDArray[np.int64]:
        """How many rewards of each arm this run used, by the ledger."""
        recorded = np.zeros(arms, dtype=np.int64)
        for arm, count in self._db.execute(
            "SELECT arm, SUM(last - first) FROM rows WHERE run = ? GROUP BY arm", (self._run,)
        ):
            recorded[arm] = count
        return recorded

    def _first_new(self, arm: int) -> int:
        """The row of an arm after the last one of the runs before."""
        (last,) = self._db.execute(
            "SELECT COALESCE(MAX(last), 0) FROM rows WHERE arm = ? AND run < ?", (arm, self._run)
        ).fetchone()
        return int(last)

    def _refuse_unnamed_beside(self, task: SpendingRequest) -> None:
        """`PosseError` if a ledger of persons stands beside, and this run names none.

        Or if that was replaced by an earlier one, or is gone.
        """
        beside = self._path.with_name(persons.NAME)
        if not task.run.privacy.person and beside.exists():
            raise PosseError(
                f"{beside} counts what runs over the logs of this folder cost each person, and "
                "this run would name none, so that nobody knew whose rewards it used; set "
                "[privacy] person in the agent's own run file, or give it a log in another folder"
            )
        if beside.exists() or self._db.execute("SELECT 1 FROM beside").fetchone():
            self._persons().head()

    def _remember_beside(self) -> None:
        """Keep where the ledger of persons is: an earlier one in its place is refused."""
        if self._path.with_name(persons.NAME).exists():
            known = self._persons().head()
            self._db.execute("DELETE FROM beside")
            self._db.execute("INSERT INTO beside VALUES (?, ?)", known)

    # --- what may be used ------------------------------------------------------------------------

    def _begun(self, task: SpendingRequest) -> int:
        """The number of this very run if it was begun before and used nothing yet, else 0.

        `PosseError` if it used rewards: a process that knows nothing of that would draw other noise
        for them.
        """
        begun = self._db.execute(
            "SELECT run, rewards, ended FROM names JOIN runs USING (run) WHERE name = ?",
            (task.name,),
        ).fetchone()
        if begun is None:
            return 0
        run, rewards, ended = begun
        if rewards or ended:
            raise PosseError(
                f"{self._path} has {counted(rewards, 'reward')} that this agent used in this very "
                "run, of which its journal knows nothing: it is torn, or a copy of an earlier one, "
                "so this agent takes no further part in the run; remove the journal, and start it "
                "again for the next"
            )
        return int(run)

    def _admit(self, task: SpendingRequest, arms: Arms) -> None:
        """Leave only the rows to `arms` that the run may use; `PosseError` if there are none."""
        privacy = task.run.privacy
        if not isinstance(arms, Csv):
            if privacy.person and privacy.reuse != "unlimited":
                self._refuse_unnamed()
            elif not (privacy.person or isinstance(arms, Live)):  # whose rewards are new
                self._admit_unknown(task)
            return
        if arms.replace:
            return
        if privacy.reuse != "unlimited":
            self._refuse_drawn()
        self._rows = []
        for arm, length in enumerate(arms.lengths):
            allowed = np.ones(length, dtype=bool)
            if arms.usable is not None:
                allowed = np.isin(np.arange(length), arms.usable[arm])
            if privacy.reuse == "never":
                for first, last, runs in pieces(self._db, arm, length):
                    allowed[first:last] &= not runs
            elif privacy.reuse == "budget":
                for first, last, runs in pieces(self._db, arm, length):
                    allowed[first:last] &= self._fits(task, runs)
            self._rows.append(np.flatnonzero(allowed))
        if any(arms.lengths) and not any(len(rows) for rows in self._rows):
            reason = (
                "was used in an earlier run, and may be used only once"
                if privacy.reuse == "never"
                else f"would cost more than its budget, {privacy.bound}"
            )
            raise PosseError(
                f"every row of {self._data} {reason}; give this agent new rows, or allow more by "
                f"[privacy] in its own run file. posse ledger {self._data} shows the runs"
            )

    def _admit_persons(self, task: SpendingRequest, persons: PersonOfRow, rows: Rows) -> Rows:
        """Of these rows those that a run about persons may use; `PosseError` if there are none."""
        used = self._db.execute("SELECT run, arm, first, last FROM rows").fetchall()
        losses = losses_of(self._db)
        named = {run: n[:4] + n[8:] for n, run in self._db.execute("SELECT name, run FROM names")}
        costs = {
            run: RunCost(losses.get(run), delta or 0.0, named.get(run, b""))
            for run, delta in self._db.execute("SELECT run, delta FROM runs WHERE rewards > 0")
        }
        before = used, costs
        allowed = self._persons().begin(task, self._run, before, persons, rows, self._declared)
        if any(len(some) for some in rows) and not any(len(some) for some in allowed):
            privacy = task.run.privacy
            raise PosseError(
                f"every row of {self._data} is one of a person of whom runs over the logs of this "
                f"folder used {privacy.rewards_per_person} others, or another agent holds them "
                f"until its run ends, or whom they would cost more than {privacy.bound}; give this "
                "agent rows of other persons, or allow more by [privacy] in its own run file. "
                f"posse ledger {self._data} shows the runs"
            )
        return allowed

    def _refuse_unnamed(self) -> None:
        """`PosseError` if a run used rewards of the user's own arms, and nobody knows of whom."""
        used = self._db.execute("SELECT run FROM runs WHERE rewards > 0").fetchall()
        known = self._persons().runs() if used else frozenset()
        if unnamed := [run for (run,) in used if run not in known]:
            raise PosseError(
                f"run {unnamed[0]} used rewards of this agent's own arms without the names of "
                "their persons, so that nobody knows what a person gave; give arms with rewards of "
                f"other persons another name, or move {self._path} away if all are new. "
                f"posse ledger {self._path} shows the runs"
            )

    def _persons(self) -> PersonsLedger:
        known = self._db.execute("SELECT identity FROM identity").fetchone()
        if known is None:
            known = (os.urandom(16),)
            self._db.execute("INSERT INTO identity VALUES (?)", known)
        beside = self._db.execute("SELECT number, hash FROM beside").fetchone()
        known_beside = chain.NONE if beside is None else chain.Head(*beside)
        return PersonsLedger(self._path, known[0], self._db, known_beside)

    def _refuse_drawn(self) -> None:
        """`PosseError` if a run drew rows with replacement.

        That run may have drawn any row, and one row m times, which then cost m times its ε. So each
        row counts as used, beyond every budget.
        """
        drawn = self._db.execute(
            "SELECT run FROM runs WHERE rewards > 0 AND run NOT IN (SELECT run FROM rows) LIMIT 1"
        ).fetchone()
        if drawn:
            raise PosseError(
                f"rows of {self._data} were drawn with replacement in an earlier run, and nobody "
                "knows which rows and how often; give this agent another log, or set [privacy] "
                f'reuse = "unlimited" in its own run file. posse ledger {self._data} shows the runs'
            )

    def _fits(self, task: SpendingRequest, runs: Sequence[int]) -> bool:
        """Whether a reward that these runs used may be used in this run too."""
        losses, privacy = losses_of(self._db), task.run.privacy
        if not all(run in losses for run in runs):
            return False
        spent = self._db.execute(
            "SELECT TOTAL(epsilon), TOTAL(delta) FROM runs"
            f" WHERE run IN ({', '.join(map(str, map(int, runs)))})"
        ).fetchone()
        rounding = 1 + 1e-12
        if (
            spent[0] + (task.epsilon or 0.0) <= privacy.budget * rounding
            and spent[1] + (task.claim.delta or 0.0) <= privacy.delta * rounding
        ):
            return True
        # the sums exceed the budget; composed at some δ, the losses may not
        slack = max(spent[1] + (task.claim.delta or 0.0), privacy.slack)
        if self._declared is not None and self._declared.runs.issuperset(runs):
            whole = together(self._declared.costs)
            at = max(slack, whole.delta)
            if at <= privacy.delta and whole.epsilon(at) <= privacy.budget * rounding:
                return True
        costs = [losses[run] for run in runs] + [task.claim.cost]
        return admits(costs, slack, privacy.budget, privacy.delta)

    def _admit_unknown(self, task: SpendingRequest) -> None:
        """`PosseError` if the user's own arms, which may give a reward twice, must not be used."""
        privacy = task.run.privacy
        runs, bounded, epsilon, delta = self._db.execute(
            "SELECT COUNT(*), COUNT(epsilon), TOTAL(epsilon), TOTAL(delta) FROM runs"
            " WHERE rewards > 0"
        ).fetchone()
        if privacy.reuse == "never" and runs:
            raise PosseError(
                "this agent's own arms were used in an earlier run, and posse cannot tell whether "
                'they give new rewards; set [privacy] reuse = "unlimited" in its own run file if '
                f'they do, or "budget". posse ledger {self._path} shows the runs'
            )
        if privacy.reuse == "budget" and bounded < runs:
            raise PosseError(
                "this agent's own arms were used without any ε in an earlier run, which exceeds "
                'every budget; set [privacy] reuse = "unlimited" in its own run file if they give '
                f"new rewards. posse ledger {self._path} shows the runs"
            )
        used = [run for (run,) in self._db.execute("SELECT run FROM runs WHERE rewards > 0")]
        if privacy.reuse == "budget" and not self._fits(task, used):
            more = format_cost(task.epsilon or 0.0, task.claim.delta)
            raise PosseError(
                f"this agent's own arms have cost {format_cost(epsilon, delta)} so far and this "
                f"run would cost {more} more, but [privacy] allows only {privacy.bound}. "
                f"posse ledger {self._path} shows the runs"
            )

    def _recognise(self, parsed: Content | None = None) -> None:
        """`PosseError` if the log changed in any other way than by rows added at its end.

        Its bytes may change where its rows do not. `parsed` is what was read as rewards, which may
        be long ago: it must still be there.
        """
        if self._data is None:
            return
        known = _known(self._db)
        sizes = [part.size for part in (known, parsed) if part is not None]
        now = _contents(self._data, sizes)
        if known is not None and not _is_same(known, now, _reader(self._data, self._columns)):
            raise PosseError(
                f"{self._data} was changed after a run used it; rows may be added only at its end, "
                f"and other rewards need a file of their own. {self._path.name} counts by row"
            )
        if parsed is not None and now[parsed.size] != parsed.digest:
            raise PosseError(
                f"{self._data} was changed after its rewards were read for this run; start again"
            )
        if parsed is not None:
            self._db.execute("DELETE FROM log")
            self._db.execute("INSERT INTO log (size, digest) VALUES (?, ?)", parsed[:2])
            self._db.executemany(
                "INSERT INTO prints VALUES (?, ?, ?) ON CONFLICT (arm) DO UPDATE SET"
                " rows = excluded.rows, digest = excluded.digest WHERE excluded.rows > rows",
                [(arm, *one) for arm, one in enumerate(parsed.prints)],
            )
            self._db.execute(
                "INSERT OR IGNORE INTO places (inode) VALUES (?)", (_inode(self._data),)
            )

    def _look_around(self) -> None:
        """Take the ledger of the same rewards under another name in this folder, if there is one.

        `PosseError` where a ledger would not last, or another name's cannot be found.
        """
        if self._data is None:
            return
        try:
            state, folder = self._data.stat(), self._data.parent.stat()
        except OSError as error:
            raise PosseError(f"{self._data} cannot be read: {error.strerror}") from None
        if state.st_dev != folder.st_dev or _is_mounted(self._data):
            raise PosseError(
                f"{self._data} is mounted by itself, so that its ledger would be lost with this "
                "container; mount its folder instead, where the ledger can stand beside it"
            )
        if self._path.exists():
            return
        others: dict[Path, Content] = {}
        for path in sorted(self._data.parent.glob(f"*{SUFFIX}")):
            with suppress(*UNREADABLE), closing(read_only(path)) as ledger:
                places = {inode for (inode,) in ledger.execute("SELECT inode FROM places")}
                if _inode(self._data) in places:
                    self._path = path
                    return
                if (known := _known(ledger)) is not None and known.size:
                    others[path] = known
        now = _contents(self._data, [known.size for known in others.values()]) if others else {}
        rows = _reader(self._data, self._columns)
        same = [
            path
            for path, known in others.items()
            if self._is_found_by_content and _is_same(known, now, rows)
        ]
        busy = [path for path in same if _is_used(path)]
        if busy and not _may_be_chance(self._data, others[busy[0]], self._columns):
            raise PosseError(
                f"{self._data} has the rewards whose ledger is {busy[0]}, which another agent uses "
                "now: one is a copy of the other. Let that agent end first; if they are different "
                "rewards that happen to be equal, put each log in a folder of its own"
            )
        if free := [path for path in same if path not in busy]:
            self._path = free[0]
        elif state.st_nlink > 1:
            raise PosseError(
                f"{self._data} has {state.st_nlink} names (hard links), and the ledger that tells "
                "which rewards were used may stand beside another; give the agent a copy that has "
                "one name, if no run used these rewards"
            )

    # --- the file --------------------------------------------------------------------------------

    @contextmanager
    def _opened(self, *, anew: bool = True) -> Iterator[None]:
        """Open the file; it stays open after the block, unless that fails.

        A run that goes on has a ledger: what a checkpoint names is never made.
        """
        with ExitStack() as opened:
            try:
                self._look_around()
                descriptor = files.claim(self._path, make=anew)
                opened.callback(os.close, descriptor)  # last: see `connect`
                for _ in range(self._tries):
                    if (locked := take(descriptor)) is not False:
                        break
                    time.sleep(_PAUSE)
                if locked is None:
                    raise self._unwritable("its file system has no locks")
                if not locked:
                    raise PosseError(
                        f"{self._path} is in use by another agent with the same rewards; let it "
                        "end first, or give each its own"
                    )
                os.fchmod(descriptor, 0o600)
                self._db = connect(self._path, 10.0, make=anew)
                opened.callback(self._db.close)
                for pragma in ("journal_mode = DELETE", "synchronous = EXTRA"):
                    self._db.execute(f"PRAGMA {pragma}")
                self._db.executescript(SCHEMA)
                self._entries = Entries(self._db)
                self._entries.check(self._path)
                yield
            except OSError as error:
                raise self._unwritable(error.strerror or str(error)) from None
            except sqlite3.Error as error:
                raise self._unwritable(error) from None
            self._close = weakref.finalize(self, opened.pop_all().close)

    def _unwritable(self, why: str | sqlite3.Error) -> DiskTrouble:
        why = why if isinstance(why, str) else trouble(why, self._path)
        return DiskTrouble(
            f"{self._path} cannot be written: {why}; an agent records there what its rewards "
            "cost before it sends any result, so their folder must be writable"
        )


def _refuse_runs(ledger: sqlite3.Connection, path: Path) -> None:
    if ledger.execute("SELECT 1 FROM runs").fetchone():
        raise PosseError(
            f"{path} has runs already, and what is chosen after a run is no programme: declare it "
            "for rewards that no run has used"
        )


def _contents(path: Path, sizes: Sequence[int]) -> dict[int, bytes]:
    """By size, the hash of this many first bytes of a file, or of all if it has fewer."""
    digest, place, hashes = new_digest(), 0, {}
    try:
        with files.opened(path) as file:
            for size in sorted(set(sizes)):
                while place < size and (chunk := file.read(min(_CHUNK, size - place))):
                    digest.update(chunk)
                    place += len(chunk)
                hashes[size] = digest.digest()
    except OSError as error:
        raise PosseError(f"{path} cannot be read: {error.strerror}") from None
    return hashes


def _known(ledger: sqlite3.Connection) -> Content | None:
    """What a ledger knows of its log."""
    log = ledger.execute("SELECT size, digest FROM log").fetchone()
    if log is None:
        return None
    size, digest = log
    is_there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'prints'"
    if not ledger.execute(is_there).fetchone():  # a ledger from before is_there none
        return Content(size, digest)
    prints = ledger.execute("SELECT rows, digest FROM prints ORDER BY arm").fetchall()
    return Content(size, digest, tuple(prints))


LogReader = Callable[[int], list[FloatArray] | None]
"""Reads the rewards of each of this number of arms in a log; None if it has fewer."""


def _reader(data: Path, columns: LogColumns) -> LogReader:
    """A reader of this log, which reads it once."""

    @functools.cache
    def read(arms: int) -> list[FloatArray] | None:
        try:
            return read_log(data, arms, data.name, bounded=False, columns=columns).rewards
        except LogError:
            return None

    return read


def _is_same(known: Content, now: dict[int, bytes], read: LogReader) -> bool:
    """Whether a log begins with what is known; `now` are hashes of its first bytes by size.

    Other bytes may be the same rows: with other ends of lines, other digits, compressed.
    """
    if now[known.size] == known.digest:
        return True
    if not any(rows for rows, _ in known.prints):
        return False
    log = read(len(known.prints))
    return log is not None and all(
        len(rewards) >= rows and print_of(rewards[:rows]) == (rows, digest)
        for rewards, (rows, digest) in zip(log, known.prints, strict=True)
    )


def _may_be_chance(data: Path, known: Content, columns: LogColumns) -> bool:
    """Whether two logs like this one may be equal although neither is a copy: few, even rewards."""
    count = max(1, len(known.prints))
    log = read_log(data, count, data.name, bounded=False, columns=columns)
    bits = 0.0
    for rewards in log.rewards:
        _, counts = np.unique(rewards, return_counts=True)
        bits -= float((counts * np.log2(counts / max(1, len(rewards)))).sum())
    return bits < _SURPRISING


def _is_used(ledger: Path) -> bool:
    """Whether an agent has this ledger open."""
    descriptor = files.claim(ledger, make=False)
    try:
        return take(descriptor) is False
    finally:
        os.close(descriptor)


def _inode(path: Path) -> str:
    state = path.stat()
    return f"{state.st_dev}:{state.st_ino}"


def _is_mounted(path: Path) -> bool:
    """Whether the file itself is a mount point, as a container's single file is."""
    try:
        mounts = files.text(Path("/proc/self/mountinfo"))
    except OSError:
        return False
    name = str(path).replace("\\", "\\134").replace(" ", "\\040")
    return any(line.split(" ")[4:5] == [name] for line in mounts.splitlines())
