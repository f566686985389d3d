"""Seeded trials that are to reach errors: of what peers say, of files, of disks that fail.

A trial is a function of a source of chance and a folder. What it may end with is one of `REFUSALS`;
anything else is a mistake of ours. The same chance makes the same trial.
"""

import errno
import fcntl
import io
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.agent.own_run import OwnData, OwnRun, TheirRun
from posse.arms.python import PythonArms
from posse.cli import main
from posse.coordinator.setups import agent_setups
from posse.durable import lifetime, persons
from posse.durable.ledger import Ledger
from posse.gates import databases, files, locks
from posse.hosts.agent_setup import read_setup
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.spec.privacy import PrivacySpec
from tests.fuzz import readers, seeds
from tests.hosts.test_fuzz import plans
from tests.support import lobby
from tests.support.field import CASES, MEANS, logs
from tests.support.fuzz import Fuzz, HostileFields
from tests.support.ledger import Run, claiming, task

REFUSALS = readers.REFUSALS
Trial = Callable[[random.Random, Path], None]


class Steered(random.Random):
    """Chance that follows several seeds in turn, each for so many draws, the last for ever.

    So a trial can begin as one did that reached something new, and then go another way.
    """

    def __init__(self, turns: Sequence[tuple[int, int]]) -> None:
        super().__init__(0)
        self.drawn = 0
        self._turns = list(turns)
        self._left = 0
        self._now = random.Random(0)

    def _next(self) -> random.Random:
        if self._left == 0 and self._turns:
            seed, self._left = self._turns.pop(0)
            self._now = random.Random(seed)
        self._left -= 1
        self.drawn += 1
        return self._now

    def random(self) -> float:
        return self._next().random()

    def getrandbits(self, k: int, /) -> int:
        return self._next().getrandbits(k)


def frames(chance: random.Random, folder: Path) -> None:
    """One agent, or the coordinator, says what no honest one would, in a run of some system."""
    system = chance.choice(sorted(CASES))
    known = [p for p in plans(system, logs(folder, MEANS, 1, rows=40)) if not p.field]
    plan, liar = chance.choice(known), chance.choice((0, 1, COORDINATOR))
    bursts = chance.choice(((0, 0, 0, 1, 3), (0, 0, 1, 3, 40), (0, 0, 0, 0, 0, 0, 1)))
    patch = pytest.MonkeyPatch()
    Fuzz(plan, liar, chance.choice((10, 100, 400)), chance, bursts).play(patch)


def file(chance: random.Random, folder: Path) -> None:
    """A file of posse's, changed in some places, is read."""
    reader = chance.choice(sorted(readers.READERS))
    data = chance.choice(seeds.of(reader, folder))
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(data) + 1)
        cut = chance.choice((0, 0, 1, 8, len(data)))
        new = chance.choice((b"", b"\0", b"\xff" * 4, chance.randbytes(3)))
        data = data[:place] + new + data[place + max(cut, len(new)) :]
    readers.READERS[reader](folder, data)


def setup(chance: random.Random, folder: Path) -> None:
    """An agent is given a setup that a broken or hostile coordinator sent."""
    near = HostileFields(chance)
    run = plans(chance.choice(sorted(CASES)), logs(folder, MEANS, 1, rows=40))
    plan, own = chance.choice(run), chance.choice(run)
    rank = chance.randrange(plan.spec.agents.count)
    made = agent_setups(plan, plan.network(0))[rank]
    given = msgspec.to_builtins(made, builtin_types=(bytes,))
    for _ in range(chance.randint(0, 2)):
        key = chance.choice(sorted(given))
        given[key] = near.near(given[key])
    privacy = PrivacySpec(budget=chance.choice((0.1, 10.0)))
    kinds: list[TheirRun | OwnRun] = [
        TheirRun(),
        OwnRun(own, "", lab=chance.random() < 0.5),
        OwnData(str(folder / "rewards-0.csv"), privacy, lab=False),
    ]
    accepted = read_setup(rank, msgspec.msgpack.encode(given))
    chance.choice(kinds).accept(accepted)


def joins(chance: random.Random, folder: Path) -> None:
    """Peers of a coordinator, with keys and without, say anything, and come and go."""
    keyed = chance.random() < 0.5
    script = lobby.Script(2, keys=("key-0", "key-1") if keyed else ())
    near = HostileFields(chance)
    kinds = [*control.TO_COORDINATOR, *control.TO_LABS_COORDINATOR]
    for _ in range(chance.randint(2, 30)):
        peer, key = f"peer-{chance.randrange(4)}", chance.choice(("key-0", "key-1", "key-2", ""))
        script.now += chance.choice((0.0, 0.1, 1.0, 8.0))
        match chance.randrange(6):
            case 0:
                script.says(peer, near.frame(kinds), key if keyed else "")
            case 1:
                changes: dict[str, Any] = {}
                if chance.random() < 0.4:
                    changes["wall"] = chance.choice((0.0, 2e9, float("nan")))
                if chance.random() < 0.2:
                    changes["configuration"] = {"repeat": "2"}
                join = lobby.joining(
                    chance.randint(-1, 4), chance.choice((b"a", b"b", b"")), **changes
                )
                if chance.random() < 0.3:
                    join = msgspec.structs.replace(join, token=chance.choice(("", "other")))
                script.says(peer, join, key if keyed else "")
            case 2:
                script.joins(peer, chance.randint(-1, 2), key if keyed else "")
            case 3:
                script.closes(peer)
            case 4:
                inbox = chance.choice(("tcp://0.0.0.0:1", "ipc://x", "tcp://127.0.0.1:1", "no", ""))
                script.says(peer, control.Arrived(inbox), key if keyed else "")
            case 5:
                script.lobby.fire(script.now)


def ledger(chance: random.Random, folder: Path) -> None:
    """Runs over logs of one folder, one after the other, while somebody changes the files."""
    log = folder / "rewards-3.csv"
    text = ["arm,reward,person"]
    text += [f"{n % 2},{n / 100},p{n % 4}" for n in range(10)]
    log.write_text("\n".join([*text, ""]))
    held: list[Run] = []
    kept: dict[str, bytes] = {}
    for _ in range(chance.randint(2, 12)):
        with suppress(*REFUSALS):
            _step(chance, folder, log, held, kept)
    for run in held:
        with suppress(*REFUSALS):
            run.ledger.leave()


def _step(
    chance: random.Random, folder: Path, log: Path, held: list[Run], kept: dict[str, bytes]
) -> None:
    there = sorted(path for path in folder.iterdir() if path.is_file())
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            privacy: dict[str, Any] = {"reuse": chance.choice(("never", "budget", "unlimited"))}
            privacy["budget"] = chance.choice((0.4, 1.0, 10.0))
            if chance.random() < 0.4:
                privacy["person"] = chance.choice(("person", "other"))
            about = task(chance.choice((0.5, 2.0, None)), chance.choice((None, 1e-6)), **privacy)
            if chance.random() < 0.3:
                about = claiming(about, holds=False)
            if chance.random() < 0.3:
                arms = PythonArms(target="own:Fair", count=2)
                own = Ledger(*arms.ledger(str(folder), 3))
                own.begin(about, chance.choice(held).arms if held else log)  # type: ignore[arg-type]
                own.uses(np.array(chance.choice(([1, 1], [0, 0]))))
                own.end(0.1)
                return
            run = Run(chance.choice([log, *(p for p in there if p.suffix == ".csv")]), about)
            run.uses(chance.randint(0, 3), chance.randint(0, 5))
            if chance.random() < 0.7:
                run.ends()
            else:
                held.append(run)
        case 4 if held:
            run = chance.choice(held)
            state = run.ledger.__getstate__()
            run.ledger.leave()
            held.remove(run)
            again = object.__new__(Ledger)
            again.__setstate__(state)
            again.uses(run.pulls)
            again.end(0.2)
        case 5 if there:
            kept |= {path.name: path.read_bytes() for path in there}
        case 6 if kept:
            name = chance.choice(sorted(kept))
            (folder / name).write_bytes(kept[name])
        case 7 if there:
            path = chance.choice(there)
            data = path.read_bytes()
            at = chance.randrange(len(data) + 1)
            changed = chance.choice(
                (b"", data[:at], data + b"0,0.5,p9\n", data.replace(b"0.0", b"0.1"))
            )
            path.write_bytes(changed)
        case 8 if there:
            path = chance.choice(there)
            to = folder / f"rewards-{chance.randint(4, 6)}.csv"
            chance.choice((path.unlink, lambda: shutil.copy(path, to), lambda: _link(path, to)))()
        case 9 if there:
            lifetime.read(chance.choice(there))
            persons.summary(chance.choice(there))


def _link(path: Path, to: Path) -> None:
    with suppress(FileExistsError):
        os.link(path, to)


class _Failing:
    """A module, some of whose functions fail from the call on that `after` counts down to."""

    def __init__(self, real: ModuleType, names: Sequence[str], fail: Callable[..., None]) -> None:
        self._real, self._names, self._fail = real, names, fail

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in self._names:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self._fail(name, *arguments[:1])
            return found(*arguments, **named)

        return call


class HostileDisk:
    """Every write to files, locks and databases beyond the gates may fail.

    `after` calls go well; the next fails with `code`, and with `for_ever` all that follow it.
    """

    def __init__(self, after: int, code: int, *, for_ever: bool) -> None:
        self.left, self.code, self.for_ever = after, code, for_ever
        self.failed = 0

    def _due(self) -> bool:
        self.left -= 1
        due = self.left == -1 or (self.left < 0 and self.for_ever)
        self.failed += due
        return due

    def _system_call(self, name: str, what: object = 0) -> None:
        if self._due():
            named = () if isinstance(what, int) else (str(what),)
            raise OSError(self.code, os.strerror(self.code), *named)

    def _statement(self) -> None:
        if self._due():
            full = self.code == errno.ENOSPC
            raise sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")

    def _connect(self, *arguments: Any, **named: Any) -> sqlite3.Connection:
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                if statement.split(maxsplit=1)[0] in ("INSERT", "COMMIT", "CREATE", "UPDATE"):
                    disk._statement()
                return super().execute(statement, *values)

        return sqlite3.connect(*arguments, factory=Connection, **named)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """The gates use this disk within the context."""
        with pytest.MonkeyPatch.context() as patch:
            calls = ("open", "fsync", "ftruncate", "pwrite", "replace", "mkdir", "link", "fchmod")
            for gate in (files, locks, databases):
                patch.setattr(gate, "os", _Failing(os, calls, self._system_call))
            database = _Failing(sqlite3, (), self._system_call)
            database.connect = self._connect  # type: ignore[attr-defined]
            patch.setattr(databases, "sqlite3", database)
            patch.setattr(fcntl, "flock", _Failing(fcntl, ("flock",), self._system_call).flock)
            yield


_SAID = (
    "cannot be",
    "no space",
    "No space",
    "disk",
    "Input/output",
    "Read-only",
    "lock",
    "is full",
)


def disk(chance: random.Random, folder: Path) -> None:
    """A command writes to a disk that fails at some call: it says so, and can be done again."""
    run = folder / "run.toml"
    run.write_text(
        'system = "dp-mase"\nagents.count = 3\nparameters = { epsilon = 2.0, delta = 0.3 }\n'
        '[arms]\nkind = "bernoulli"\nmeans = [0.9, 0.1]\n[engine]\nkind = "memory"\n'
    )
    words = chance.choice(
        (
            ["run", str(run), "-q", "--out", str(folder / "out")],
            [
                "sweep",
                str(run),
                "-q",
                "--over",
                "seed=1,2",
                "--jobs",
                "1",
                "--out",
                str(folder / "out"),
            ],
            ["keys", str(folder / "keys"), "--agents", "2"],
            [
                "run",
                str(run),
                "-q",
                "--out",
                str(folder / "out"),
                "--capture",
                str(folder / "frames"),
            ],
        )
    )
    code = chance.choice((errno.ENOSPC, errno.EIO, errno.EROFS, errno.ENOLCK, errno.EDQUOT))
    failing = HostileDisk(chance.randrange(60), code, for_ever=chance.random() < 0.5)
    ledger_run = chance.random() < 0.5
    with failing.attached():
        if ledger_run:
            with suppress(*REFUSALS):
                ledger(chance, folder)
            return
        ended, said = _command(words)
    if ended not in (0, 1, 2, 3) or "Traceback" in said or "defect" in said:
        raise AssertionError(f"{words} on a disk with {os.strerror(code)}: {ended} {said}")
    if ended and not any(word in said for word in _SAID):
        raise AssertionError(f"{words} does not say that the disk fails: {said}")
    ended, said = _command(words)
    if ended and words[0] != "keys":
        raise AssertionError(f"{words} cannot be done again: {ended} {said}")


def _command(words: list[str]) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main.main(words)
    return code, err.getvalue()


KINDS: dict[str, Trial] = {
    "frames": frames,
    "file": file,
    "setup": setup,
    "joins": joins,
    "ledger": ledger,
    "disk": disk,
}


def play(kind: str, turns: Sequence[tuple[int, int]], folder: Path) -> int:
    """One trial; how often chance was asked."""
    chance = Steered(turns)
    try:
        KINDS[kind](chance, folder)
    except REFUSALS:
        pass
    except OSError as error:
        if error.filename is None:  # of which the command line makes a sentence
            raise
    return chance.drawn
