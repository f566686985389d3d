"""Seeded trials that are to reach errors: of what peers say, of files, of disks that fail.

A trial is a function of a source of chance and a folder. What it may end with is one of `REFUSALS`;
anything else is a mistake of ours. The same chance makes the same trial.
"""

import errno
import io
import math
import os
import random
import shutil
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from posse.agent import run as agent_run
from posse.agent.masking import Masker, SumMasker
from posse.agent.own_run import OwnData, OwnRun, TheirRun
from posse.arms.python import PythonArms
from posse.cli import main
from posse.coordinator import server
from posse.coordinator.report import ReportForm
from posse.coordinator.setups import agent_setups
from posse.durable import checkpoint, lifetime, persons
from posse.durable.ledger import Ledger
from posse.engines import inquiry, memory
from posse.hosts.agent_setup import read_setup
from posse.plan import Plan, prepare
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, AgentEffect, Pull, ServerEffect
from posse.security import keys
from posse.spec.privacy import PrivacySpec
from posse.testing.small import SMALL
from tests.fuzz import readers, seeds
from tests.hosts.test_fuzz import plans
from tests.support import lobby
from tests.support.disk import HostileDisk
from tests.support.field import CASES, MEANS, logs
from tests.support.fuzz import Fuzz, HostileFields, Seen
from tests.support.ledger import Run, claiming, task

REFUSALS = readers.REFUSALS
Trial = Callable[[random.Random, Path], None]


class Steered(random.Random):
    """Chance that follows several seeds in turn, each for this many draws, the last for ever.

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
    chance.choice(kinds).accept(accepted, rank)


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
    text = ["arm,reward,person,other"]
    text += [f"{n % 2},{n / 100},p{n % 4},q{n % 3}" for n in range(10)]
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
                (b"", data[:at], data + b"0,0.5,p9,q9\n", data.replace(b"0.0", b"0.1"))
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


_RUN = """
system = "dp-mase"
agents.count = 3
parameters = { epsilon = 2.0, delta = 0.3 }
arms = { kind = "bernoulli", means = [0.9, 0.1] }
engine.kind = "memory"
"""

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
    run.write_text(_RUN)
    plain = ["run", str(run), "-q", "--out", str(folder / "out")]
    words = chance.choice(
        (
            plain,
            [*plain, "--over", "seed=1,2", "--jobs", "1"],
            [*plain, "--capture", str(folder / "frames")],
            ["keys", str(folder / "keys"), "--agents", "2"],
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


def report(chance: random.Random, folder: Path) -> None:
    """Agents of the lab report at the end what nobody can have measured."""
    near, honest = HostileFields(chance), ReportForm.check

    def check(form: ReportForm, rank: int, said: Any) -> None:
        given = msgspec.to_builtins(said, builtin_types=(bytes,))
        for _ in range(chance.randint(1, 2)):
            _change(given, near, chance)
        with suppress(msgspec.ValidationError):
            said = msgspec.convert(given, type(said))
        honest(form, rank, said)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReportForm, "check", check)
        memory.run(_small(chance), 0)


def _change(within: Any, near: HostileFields, chance: random.Random) -> None:
    """Change a part of plain data, at any depth."""
    while True:
        keys = sorted(within) if isinstance(within, dict) else range(len(within))
        if not keys:
            return
        key = chance.choice(keys)
        inner = within[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.4:
            odd: tuple[Any, ...] = (
                math.nan,
                math.inf,
                -1.0,
                -1,
                1 << 62,
                "odd\n",
                "a text of no table",
                [],
                {},
            )
            within[key] = near.near(inner) if chance.random() < 0.5 else chance.choice(odd)
            return
        within = inner


def masks(chance: random.Random, folder: Path) -> None:
    """A coordinator asks agents that mask for what they must refuse."""
    kind: type[SumMasker] = chance.choice((SumMasker, Masker))
    dropouts, least = chance.choice((0, 0, 1)), chance.choice((2, 3))
    made = [kind(n, least, bytes([n + 1]) * 32, None, dropouts) for n in range(4)]
    told = {one.rank: one.public for one in made}
    if chance.random() < 0.5:
        told[chance.randrange(4)] = chance.choice(
            (bytes(32), b"\1" + bytes(31), b"short", b"x" * 32)
        )
    groups = ((0, 1, 2), (0, 1, 2, 3), (1, 2, 3), (0, 1), (0, 1, 1), (), (0, 1, 2, 9), (*range(9),))
    for one in made:
        with suppress(RemoteProtocolError):
            one.take_keys(told)
    victim, number, group = made[0], 0, groups[0]
    words, boxes = np.zeros(2 * least + 2, dtype=np.uint64), [b"", bytes(40)]
    for _ in range(chance.randint(3, 20)):
        some = max(0, chance.choice((number, number, number - 1, number + 1)))
        with suppress(RemoteProtocolError):
            match chance.randrange(7):
                case 0:
                    number, group = number + chance.choice((0, 1, 1)), chance.choice(groups)
                    victim.begin(number, group)
                case 1 if victim.members:
                    victim.mask(some, victim.members, words)
                case 2 if victim.members:
                    victim.rest(some, victim.members, chance.choice(groups), len(words))
                case 3 if victim.members:
                    victim.settle(some)
                case 4:
                    victim.reveal(some, chance.choice(boxes))
                case 5:
                    victim.share(some, chance.randrange(4))
                case 6 if isinstance(victim, Masker) and victim.seeds:
                    victim.open(some, group, chance.choice(sorted(victim.seeds)), bytes(40))


def _small(chance: random.Random) -> Plan:
    name = chance.choice(sorted(SMALL))
    return prepare({"system": name, **SMALL[name], "engine": {"plain": True}})


_EFFECTS = (*get_args(AgentEffect), *get_args(ServerEffect))
_ODD: dict[str, tuple[Any, ...]] = {
    "arms": ((), (0,), (0, 1), (99,), (0, 0), (-1,), (True,)),
    "times": (0, 1, 3, -1, True, 1 << 62, 1.5),
    "to": (COORDINATOR, 0, 1, 99, True, "x"),
    "agent": (0, 99),
    "after": (0.0, -1.0, "x", 1.0),
    "message": (control.Goodbye(0), control.Ready(0), None),
    "reason": ("odd",),
    "status": ("odd", "horizon"),
}


class _OddMachine:
    """A machine that sometimes asks for what it may not, or for nothing of the kind."""

    def __init__(self, machine: Any, chance: random.Random) -> None:
        self._machine, self._chance, self._left = machine, chance, 5_000

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def handle(self, event: Any, now: float) -> Any:
        self._left -= 1
        if self._left < 0:
            raise Seen
        effects, chance = self._machine.handle(event, now), self._chance
        match chance.randrange(60):
            case 0:
                return chance.choice((None, "x", 3, [None], [Pull]))
            case 1:
                raise RemoteProtocolError("malformed", "odd")
            case 2 | 3 | 4 | 5:
                kind = chance.choice(_EFFECTS)
                odd = {}
                for name in kind.__struct_fields__:
                    some = _ODD.get(name, (0, 1, None, "x", -1))
                    odd[name] = chance.choice(some)
                if "message" in odd and chance.random() < 0.5:
                    odd["message"] = next(
                        (e.message for e in effects if hasattr(e, "message")), None
                    )
                return [*effects, kind(**odd)] if chance.random() < 0.5 else [kind(**odd), *effects]
        return effects


def machine(chance: random.Random, folder: Path) -> None:
    """A machine, as of a user's own system, asks for what it may not."""
    side = chance.choice((agent_run, server))
    make = side._machine
    with pytest.MonkeyPatch.context() as patch:
        odd = lambda *given: _OddMachine(make(*given), chance)  # noqa: E731
        patch.setattr(side, "_machine", odd)
        memory.run(_small(chance), 0)


def checkpoint_(chance: random.Random, folder: Path) -> None:
    """A checkpoint whose parts are others is read, and what is no plain data is written."""
    things = (object(), np.array([None]), np.random.Generator(np.random.MT19937(1)), os, Seen, 1j)
    if chance.random() < 0.3:
        thing = chance.choice(things)
        checkpoint.written(chance.choice((thing, [thing], {"x": thing})), {})
    data = msgspec.msgpack.decode(seeds.of("checkpoint", folder)[0])
    within = data
    words = ["dtype", "view", "array", "scalar", "generator", "class", "method", "posse.plan.Plan"]
    while isinstance(within, list) and within:
        at = chance.randrange(len(within))
        if isinstance(within[at], list) and chance.random() < 0.9:
            within = within[at]
            continue
        if isinstance(within[at], str):
            within[at] = chance.choice([*words, "O", "|O"])
        else:
            within[at] = HostileFields(chance).near(within[at])
        break
    checkpoint.read(msgspec.msgpack.encode(data), {"sources": None})


def asks(chance: random.Random, folder: Path) -> None:
    """Somebody asks for a status where something else answers, or nothing."""
    answer = chance.choice((b"", b"HTTP/1.0 400\r\n\r\n", b"\xff" + bytes(8) + b"\x7f\x03"))
    pair = keys.for_agent(readers.key_folder(folder), 0) if chance.random() < 0.5 else None
    with socket.create_server(("127.0.0.1", 0)) as listening:
        endpoint = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        stop = threading.Event()
        listening.settimeout(0.05)

        def serve() -> None:
            while not stop.is_set():
                with suppress(OSError):
                    connection, _ = listening.accept()
                    with connection:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        if chance.random() < 0.7:
            thread.start()
        try:
            inquiry.reach(endpoint, pair, 0.3)
        finally:
            stop.set()
            if thread.ident is not None:
                thread.join()


def folders(chance: random.Random, folder: Path) -> None:
    """A command is told to write into a folder that is not fresh."""
    run, out = folder / "run.toml", folder / "out"
    run.write_text(_RUN)
    words = ["run", str(run), "-q", "--out", str(out)]
    for _ in range(chance.randint(1, 3)):
        more = ["--seed", str(chance.randint(0, 1)), "--repeat", str(chance.randint(1, 2))]
        match chance.randrange(6):
            case 0 | 1:
                _command([*words, *more])
            case 2:
                _command([*words[:-1], str(out / "within"), *more])
            case 3:
                _command([*words, "--over", "seed=1,2", "--jobs", "1"])
            case 4:
                _command([*words, "--capture", str(out / "result.json")])
            case 5 if out.is_dir():
                there = sorted(path for path in out.rglob("*") if path.is_file())
                if there:
                    path = chance.choice(there)
                    path.write_bytes(path.read_bytes()[: chance.randrange(20)])


KINDS: dict[str, Trial] = {
    "frames": frames,
    "file": file,
    "setup": setup,
    "joins": joins,
    "ledger": ledger,
    "disk": disk,
    "report": report,
    "masks": masks,
    "machine": machine,
    "checkpoint": checkpoint_,
    "asks": asks,
    "folders": folders,
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
