"""A journal: the inputs of a process, from which a restart brings it back to its state.

A host follows from its inputs and from what its sources answered (`posse.hosts.sources`). The
journal records both, in the order in which they came, before anything that follows from them leaves
the process. A process that was killed replays them: it comes to the same state by the same steps,
and makes the same frames under the same numbers. The sessions of its links then find out what is
missing at either end.

Each process has one SQLite file (write-ahead log), readable by its owner alone, and held by one
process at a time. What came since the last frame left is one row and one transaction: it is there
whole or not at all. Everything that was committed survives a SIGKILL.

Each row of a `synchronous` journal waits for the disk, so that it survives a loss of power, too:
else its process would go on from less than it had sent, and draw noise anew. Rows of another do not
wait: the kernel has them, and writes them before it reboots in order; what a loss of power takes is
found as damage, or by the other side.

Each row, and the state before the first, has a checksum that also covers all before it, under a key
made of the owner's text. So a damaged, missing, moved or foreign row is found, and named. Rows that
are missing at the end are not: of a file that was put back from an older copy the other side knows
(`posse.wire.session`). The key is no secret: whoever can write the file, which must be its owner,
can write the checksums, too.
"""

import hashlib
import hmac
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from posse.errors import DiskTrouble, InputError, PosseError
from posse.gates import files, owners
from posse.gates.databases import connect, connected, plain, remove, trouble
from posse.gates.decode import Packed, unpacked
from posse.gates.signatures import SignedRegister
from posse.log import LOG

T = TypeVar("T")

FORMAT = 10
"""The version of the file's content."""

_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB);
CREATE TABLE batches (number INTEGER PRIMARY KEY, content BLOB);
"""

_ARRAY = 1
_SUM = 16
"""Bytes of a checksum."""

_RESUMES = "make room and start the process again: it resumes from it"
_ELSEWHERE = "name a folder on a disk of this machine"
_GIVE_UP = "remove the file, which gives up the run that was to resume from it"

FRAME, STEPS = "frame", "steps"
"""Inputs that every process has: data handed to a session, and a number of steps of the host."""

Input = tuple[str, int, bytes]
"""What happened, to or by which rank (or how often), and its data."""


_Row = tuple[list[Input], list[Any]]


class Journal:
    """See the module's text. `owner` says whose it is: another owner's file is refused.

    Before `begin` no file is made and nothing is written. `replaying`: recorded inputs are being
    done again.
    """

    def __init__(
        self,
        path: Path,
        owner: str,
        *,
        synchronous: bool = True,
        signed: SignedRegister | None = None,
    ) -> None:
        self.path = path
        self.signed = signed
        """What its process has signed, which lasts as long as the journal."""
        self.replaying = False
        self.broken = False
        """Whether writing failed, such as on a full disk; what was committed before is there."""
        self.starts = 0
        """How often its process was started again."""
        self.beginning = b""
        """The encoded state from which recorded inputs lead on; empty if nothing is recorded."""
        self.ended = ""
        """Why the run of this journal was ended in order, if it was: nothing resumes from it."""
        self._inputs: list[Input] = []
        self._answers: list[Any] = []
        self._given: deque[Any] = deque()
        self._row = msgspec.msgpack.Encoder(enc_hook=_encode)
        self._owner = f"{owner}; format {FORMAT}"
        self._last_sum = b""
        """The checksum of the last row, or of the beginning if there is none."""
        self._waits = "FULL" if synchronous else "OFF"
        self._db: sqlite3.Connection | None = None
        if path.exists() or path.is_symlink():
            self._open()

    def open(self) -> None:
        """Open the file, if it is not open: later, descriptors may be scarce."""
        if self._db is None:
            self._open()

    def begin(self, beginning: object) -> None:
        """Forget everything so far, and record from here on what leads on from `beginning`.

        Answers of the sources that are not committed yet belong to what is recorded from here on.
        """
        self._begin(msgspec.msgpack.encode(beginning))

    def _begin(self, beginning: bytes) -> None:
        if beginning and self.signed is not None:
            self.signed.make()
        self.open()
        self._inputs.clear()
        self.beginning = beginning
        self._write("BEGIN")
        self._write("DELETE FROM batches")
        self._last_sum = self._sum(b"", beginning)
        kept = self._last_sum + beginning if beginning else b""
        self._write("INSERT OR REPLACE INTO about VALUES ('beginning', ?)", kept)
        self._write("COMMIT")

    def began_as(self, kind: type[T]) -> T | None:
        """The state from which the recorded inputs lead on; None if nothing is recorded."""
        return Packed[T](kind).read(self.beginning) if self.beginning else None

    def shorten(self, beginning: object) -> None:
        """Replace all that was recorded, committed or not, by the state `beginning` it led to."""
        self._answers.clear()
        self.begin(beginning)

    def name(self, rank: int) -> None:
        """Put the agent's rank into the file's name, unless the file is there already."""
        if self._db is None:
            self.path = self.path.with_name(self.path.name.replace("{rank}", str(rank)))

    def forget(self) -> None:
        """Drop all that was recorded: it is of no use any more."""
        self._answers.clear()
        self._given.clear()
        if self.beginning:
            self._begin(b"")

    def end(self, why: str) -> None:
        """Keep nothing but the word that the run was ended, and why; and close the file."""
        self._write("DELETE FROM batches")
        self._write("DELETE FROM about WHERE name = 'beginning'")
        self._write("INSERT OR REPLACE INTO about VALUES ('ended', ?)", why.encode())
        self.close()

    def add(self, kind: str, rank: int, data: bytes = b"") -> None:
        """Record that something reached the process, or that it did something by itself."""
        if self.beginning and not self.replaying:
            self._inputs.append((kind, rank, data))

    def stepped(self) -> None:
        """Record a step of the host."""
        inputs = self._inputs
        if inputs and inputs[-1][0] == STEPS:
            inputs[-1] = (STEPS, inputs[-1][1] + 1, b"")
        else:
            self.add(STEPS, 1)

    @property
    def repeats(self) -> bool:
        """Whether what is done now was certainly done before: later answers are recorded too."""
        return self.replaying and bool(self._given)

    def commit(self) -> None:
        """Write what is not written yet; call it before anything leaves the process."""
        if self.beginning and (self._inputs or self._answers):
            row = self._row.encode((self._inputs, self._answers))
            checksum = self._sum(self._last_sum, row)
            self._write("INSERT INTO batches (content) VALUES (?)", checksum + row)
            self._last_sum = checksum
            self._inputs.clear()
            self._answers.clear()
        if self.signed is not None:
            self.signed.commit()

    # --- what the sources answer -----------------------------------------------------------------

    def asked(self, call: Callable[..., T], kind: type = object) -> Callable[..., T]:
        """A call that first gives recorded answers, then asks `call` and records its answers.

        `kind` is the type of its answers when they are read back; `PosseError` for another type.
        """
        given, kept = self._given, self._answers

        def ask(*arguments: Any) -> T:
            if given:
                before: T = given.popleft()
                if not isinstance(before, kind):  # such as noise where a time was asked for
                    raise PosseError(
                        f"the journal {self.path} does not match the course of this run; remove "
                        "the file, which gives that run up"
                    )
                return before
            answer = call(*arguments)
            kept.append(answer.copy() if isinstance(answer, np.ndarray) else answer)
            return answer

        return ask

    # --- started again ---------------------------------------------------------------------------

    @contextmanager
    def replay(self) -> Iterator[Iterator[Input]]:
        """The inputs of the process before it was killed, to be replayed within this context."""
        rows = self._rows()
        # of all rows at once: `repeats` holds as long as an answer is left, of whichever row
        for _, answers in rows:
            self._given.extend(answers)
        self.replaying = True
        try:
            yield self._until_all_is_done([given for inputs, _ in rows for given in inputs])
        finally:
            self.replaying = False

    def _until_all_is_done(self, inputs: list[Input]) -> Iterator[Input]:
        yield from inputs
        self.replaying = False

    # --- the file --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file. What was committed stays, and nothing more is written."""
        if self._db is not None:
            self._db.close()
            self._db = None  # by now another process may have the file
            self.beginning = b""
            self._given.clear()
        if self.signed is not None:
            self.signed.close()

    def remove(self) -> None:
        """Remove the file: its process has ended, and there is nothing to go on with."""
        if self._db is not None:
            self.close()
            try:
                remove(self.path)
                if self.signed is not None:
                    self.signed.remove()
            except DiskTrouble as error:
                LOG.warning("%s", error)

    def _open(self) -> None:
        owner = self._owner
        try:
            descriptor = files.claim(self.path)
            status = os.fstat(descriptor)
            os.close(descriptor)
        except OSError as error:
            why = f"cannot be written: {error.strerror}"
            raise DiskTrouble(str(self._unusable(why))) from None
        if not owners.is_private(status):
            # whoever can write it decides what a restart goes on from
            raise self._unusable("is open to others (chmod 600), or belongs to another user")
        db = connected(self.path, 0.0)
        try:
            db.execute("PRAGMA locking_mode = EXCLUSIVE")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {self._waits}")
            db.execute("BEGIN IMMEDIATE")
            plain(db, files.MOST)
            if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute("INSERT INTO about VALUES ('owner', ?)", (owner.encode(),))
            about = dict(db.execute("SELECT name, value FROM about"))
            if not about.get("beginning"):
                db.execute("UPDATE about SET value = ? WHERE name = 'owner'", (owner.encode(),))
            elif (named := about["owner"].decode()) != owner:
                raise PosseError(
                    f"{self.path} is the journal of another run or version ({named}, and this is "
                    f"{owner}); end that run first, or give it up with: posse abandon "
                    f"{self.path.parent}"
                )
            self.beginning = self._checked(b"", about.get("beginning", b""), "its beginning")
            self.ended = about.get("ended", b"").decode()
            self.starts = int(about.get("starts", b"-1")) + 1
            db.execute(
                "INSERT OR REPLACE INTO about VALUES ('starts', ?)", (str(self.starts).encode(),)
            )
            db.execute("COMMIT")
            self._db = db  # only now: `remove` must not delete a file that was refused
        except PosseError:
            db.close()
            raise
        except sqlite3.OperationalError as error:
            db.close()
            why = trouble(error, self.path)
            if "locked" in why:
                raise PosseError(
                    f"the journal {self.path} is in use by another process; let that end first, or "
                    "give each agent rewards of its own"
                ) from None
            remedy = _ELSEWHERE if "locks" in why else _RESUMES
            raise DiskTrouble(str(self._unusable(f"cannot be used: {why}", remedy))) from None
        except (sqlite3.Error, KeyError, ValueError):
            db.close()
            raise self._unusable("is damaged, or is not a journal of posse", _GIVE_UP) from None

    def _write(self, statement: str, *values: object) -> None:
        assert self._db is not None
        try:
            self._db.execute(statement, values)
        except sqlite3.Error as error:
            self.broken = True
            raise DiskTrouble(str(self._unusable(f"cannot be written: {error}"))) from None

    def _rows(self) -> list[_Row]:
        assert self._db is not None
        rows = []
        try:
            for number, kept in self._db.execute("SELECT * FROM batches ORDER BY number"):
                content = self._checked(self._last_sum, kept, f"its row {number}")
                rows.append(_decode(content))
            return rows
        except (sqlite3.Error, msgspec.MsgspecError, ValueError, TypeError):
            raise self._unusable("is damaged", _GIVE_UP) from None

    def _sum(self, before: bytes, content: bytes) -> bytes:
        """The checksum of a row after the one whose checksum is `before`."""
        key = self._owner.encode()
        return hmac.digest(key, before + content, hashlib.sha256)[:_SUM]

    def _checked(self, before: bytes, kept: bytes, what: str) -> bytes:
        """The content of a row, or of the beginning; `PosseError` if its checksum is another."""
        if not kept:
            return kept
        checksum, content = kept[:_SUM], kept[_SUM:]
        if not hmac.compare_digest(checksum, self._sum(before, content)):
            problem = f"is damaged: {what} is not what was written"
            raise self._unusable(problem, _GIVE_UP)
        self._last_sum = checksum
        return content

    def _unusable(self, why: str, remedy: str = _RESUMES) -> PosseError:
        return PosseError(f"the journal {self.path} {why}; {remedy}")


def owner_of(path: Path) -> str:
    """The owner that a journal names; `InputError` if it is none, or has another format."""
    try:
        with closing(connect(path, 0.0, make=False, longest=files.MOST)) as database:
            (owner,) = database.execute("SELECT value FROM about WHERE name = 'owner'").fetchone()
        name, _, written = owner.decode().rpartition("; format ")
    except (OSError, sqlite3.Error, TypeError, ValueError) as error:
        raise InputError(f"{path} is no journal of an agent ({error})") from None
    if written != str(FORMAT):
        raise InputError(f"{path} has format {written}, and this version of posse reads {FORMAT}")
    return str(name)


def is_held(path: Path) -> bool:
    """Whether a process has this journal open."""
    if not path.exists():
        return False
    try:
        connect(path, 0.0, make=False, longest=files.MOST).close()
    except (OSError, sqlite3.Error) as error:
        return "locked" in trouble(error, path)
    return False


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = (value.dtype.str, value.shape, value.tobytes())
        return msgspec.msgpack.Ext(_ARRAY, msgspec.msgpack.encode(content))
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(type(value).__name__)


def _decode(row: bytes) -> _Row:
    return _ROW.read(row)


def _array(code: int, content: memoryview) -> Any:
    kind, shape, data = unpacked(content)
    return np.frombuffer(data, dtype=kind).reshape(shape).copy()


_ROW: Packed[_Row] = Packed(_Row, _array)
