"""Whoever lies on the wire ends a run by name at most: no host raises anything else.

One agent, or the coordinator, is honest but for its frames, which are damaged on their way: bits,
single fields of the right and of wrong types, lengths, times. Every specification of the golden
runs is played, each seed with another liar who lies now and then, often, or always.
"""

import json
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.engines import memory
from posse.errors import PosseError
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.wire import HEADER
from tests.support.fuzz import HostileFields
from tests.support.golden import FILE, write_logs

CASES: dict[str, Any] = json.loads(FILE.read_text())["cases"]
MOST_FRAMES = 20_000
"""A liar may keep a run of four agents going for long; what it does then has been seen."""


class Liar:
    """Damages a frame with probability `often`."""

    def __init__(self, seed: str, agents: int) -> None:
        self._fields = HostileFields(seed)
        self._random = self._fields.random
        self.name = self._random.choice([COORDINATOR, *range(agents)])
        self._often = self._random.choice([0.02, 0.2, 1.0])
        self._frames = 0

    def carry(self, sender: int | None, frame: bytes) -> bytes:
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise PosseError("this has been seen")
        lies = sender == self.name and self._random.random() < self._often
        return self._damaged(frame) if lies else frame

    def _damaged(self, frame: bytes) -> bytes:
        header, body = frame[: HEADER.size], frame[HEADER.size :]
        match self._random.randrange(5):
            case 0:
                return header + self._bits(body)
            case 1:
                (now,) = struct.unpack_from("<d", header, 16)
                told = self._random.choice([-1.0, 0.0, 1e300, -1e300, now + 1, now - 1])
                return header[:16] + struct.pack("<d", told) + header[24:] + body
            case _:
                return header + self._field(body)

    def _bits(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randrange(1, 4) if data else 0):
            changed[self._random.randrange(len(changed))] = self._random.randrange(256)
        return bytes(changed)

    def _field(self, body: bytes) -> bytes:
        try:
            kind, *fields = msgspec.msgpack.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):  # damaged before, and kept
            return self._bits(body)
        if fields:
            at = self._random.randrange(len(fields))
            fields[at] = self._fields.near(fields[at])
        return msgspec.msgpack.encode([kind, *fields])


def play(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = CASES[name]["run"]
    plan = prepare(run | {"engine": run.get("engine", {}) | {"plain": True}})
    liar = Liar(f"{name} {seed}", plan.spec.agents.count)
    for kind in (AgentHost, CoordinatorHost):
        honest = kind.receive

        def receive(self: Any, sender: Any, frame: bytes, honest: Any = honest) -> Any:
            return honest(self, sender, liar.carry(sender, frame))

        monkeypatch.setattr(kind, "receive", receive)
    try:
        memory.run(plan, 0)
    except PosseError:
        pass
    except Exception as error:
        raise AssertionError(f"{name}, seed {seed}, {liar.name} lies: {error!r}") from error
    finally:
        monkeypatch.undo()


# a neighbour's 1e308 is a number
@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 6), marks=pytest.mark.slow)])
def test_a_liar_ends_a_run_by_name_at_most(
    seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_logs(tmp_path)
    for seed in seeds:
        for name in CASES:
            monkeypatch.chdir(tmp_path)
            play(name, seed, monkeypatch)
