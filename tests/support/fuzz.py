"""Frames of every kind that one end may be sent, with hostile fields, in the midst of a run.

One agent, or the coordinator, is honest and says besides whatever a generator thinks of: kinds with
fields of the right and of wrong types, at and beyond their bounds, and what it said before with one
field changed. What it says is numbered anew, so that nothing is refused as a replay.
"""

import math
import random
import struct
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec import inspect as mi

from posse.agent.host import AgentHost
from posse.coordinator.host import CoordinatorHost
from posse.engines import arrays, memory
from posse.errors import PosseError
from posse.plan import Plan
from posse.protocol import control
from posse.protocol.machine import COORDINATOR
from posse.protocol.message import Message, kind_name
from posse.protocol.wire import HEADER, MAGIC, NO_RUN, VERSION

_SEQUENCE = struct.Struct("<I"), 12
INTS = [0, 1, 2, 3, 4, 5, 7, 99, -1, -2, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 53]
INTS += [(1 << 63) - 1, -(1 << 63), (1 << 64) - 1]
FLOATS = [0.0, 1.0, -1.0, 0.5, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324]
WORDS = ["", "x", "\x1b[2J\n", "y" * 63, "z" * 5_000, "adv", "regret"]
NUMBERS = [*map(float, range(4)), *FLOATS]
_LONGEST = 5_000
"""Frames of a run, honest ones too, that a liar may keep from ending."""


class Seen(PosseError):
    """Enough frames were sent."""


class HostileFields:
    """Values for fields: of the right and of wrong types, at and beyond their bounds."""

    def __init__(self, seed: str | random.Random) -> None:
        self.random = random.Random(seed) if isinstance(seed, str) else seed

    def frame(self, kinds: Sequence[type[Message]]) -> bytes:
        """A frame of one of these kinds, in anybody's name."""
        pick = self.random
        kind = pick.choice(kinds)
        fields = [self.value(field.type) for field in mi.type_info(kind).fields]  # type: ignore[attr-defined]
        plane = int(kind.plane) if pick.random() < 0.95 else pick.randrange(4)
        run, source = pick.choice([0, 1, NO_RUN]), pick.choice([COORDINATOR, 0, 1, 2, -5])
        head = HEADER.pack(MAGIC, VERSION, plane, run, source, 0, pick.choice(FLOATS), 0)
        return head + msgspec.msgpack.encode([kind_name(kind), *fields])

    def raw(self, length: int) -> bytes:
        pick = self.random
        if length % 8 == 0 and pick.random() < 0.7:
            return b"".join(struct.pack("<d", pick.choice(NUMBERS)) for _ in range(length // 8))
        return pick.randbytes(length)

    def value(self, kind: Any) -> Any:
        """Something of this type, mostly."""
        pick = self.random
        if pick.random() < 0.03:
            return pick.choice([None, "x", [], {}, b"", -1, 1.5, True])
        many = pick.choice([0, 1, 2, 4, 5])
        match kind:
            case mi.IntType():
                return pick.choice(INTS[:8]) if pick.random() < 0.6 else pick.choice(INTS)
            case mi.FloatType():
                return pick.choice(FLOATS)
            case mi.StrType():
                return pick.choice(WORDS)
            case mi.BytesType():
                return self.raw(pick.choice([0, 1, 8, 16, 24, 30, 32, 48, 56, 64, 80, 160]))
            case mi.LiteralType(values):
                return pick.choice([*values, "none"])
            case mi.UnionType(types):
                return self.value(pick.choice(types))
            case mi.ListType(item) | mi.VarTupleType(item):
                return [self.value(item) for _ in range(many)]
            case mi.TupleType(items):
                return [self.value(item) for item in items]
            case mi.DictType(key, value):
                keys = [self.value(key) for _ in range(many)]
                return {k: self.value(value) for k in keys if not isinstance(k, list | dict)}
            case mi.StructType():
                return [self.value(field.type) for field in kind.fields]
            case _:
                return pick.choice(INTS)

    def near(self, value: Any) -> Any:
        """Something like it."""
        pick = self.random
        match value:
            case bool() | None:
                return pick.choice(INTS)
            case int():
                near = pick.choice([value - 1, value, value + 1, pick.choice(INTS)])
                return min(max(near, -(1 << 63)), (1 << 64) - 1)
            case float():
                return pick.choice([value, -value, pick.choice(FLOATS)])
            case bytes():
                return pick.choice([value[:-1], value + b"x", self.raw(len(value)), value[::-1]])
            case str():
                return pick.choice(WORDS)
            case list() if value:
                at = pick.randrange(len(value))
                changed = [*value[:at], self.near(value[at]), *value[at + 1 :]]
                return pick.choice([changed, value[1:], [*value, value[-1]], value[::-1]])
            case dict() if value:
                key = pick.choice(list(value))
                others = {k: v for k, v in value.items() if k != key}
                return pick.choice([others, value | {key: self.near(value[key])}])
            case _:
                return pick.choice(INTS)


class Fuzz:
    """Plays `plan` with `liar`, who sends `frames` hostile frames at most.

    `bursts` are how many it says before an honest frame; one of them each time.
    """

    def __init__(
        self,
        plan: Plan,
        liar: int,
        frames: int,
        seed: str | random.Random,
        bursts: Sequence[int] = (0, 0, 0, 1, 3),
    ) -> None:
        self.sent = 0
        self._heard = 0
        self._plan = plan
        self._liar = liar
        self._frames = frames
        self._bursts = bursts
        self._fields_of = HostileFields(seed)
        self._random = self._fields_of.random
        self._numbers: Counter[int] = Counter()
        self._said: list[list[Any]] = []
        system = plan.system
        if liar == COORDINATOR:
            kinds = [*system.agent.hears, *control.TO_AGENT]
        else:
            kinds = [*(system.server.hears if system.server else ())]
            kinds += [*control.TO_COORDINATOR, *control.TO_LABS_COORDINATOR]
            kinds += system.agent.hears if system.wiring else ()
        kinds = [kind for kind in kinds if kind not in (control.Failed, control.Stop)]
        self._planes = {kind_name(kind): int(kind.plane) for kind in kinds}
        self._fields = {kind_name(kind): mi.type_info(kind).fields for kind in kinds}  # type: ignore[attr-defined]
        self._names = [kind_name(kind) for kind in kinds]

    def play(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One run; `PosseError` is how it may end, and nothing else."""
        for kind in (AgentHost, CoordinatorHost):
            honest = kind.receive

            def receive(
                host: Any, sender: Any, frame: bytes, *more: Any, honest: Any = honest
            ) -> Any:
                self._heard += 1
                if self._heard > _LONGEST:
                    raise Seen
                if sender != self._liar:
                    return honest(host, sender, frame, *more)
                for hostile in self._hostile():
                    honest(host, sender, self._numbered(host, hostile))
                return honest(host, sender, self._numbered(host, frame), *more)

            monkeypatch.setattr(kind, "receive", receive)
        monkeypatch.setattr(arrays, "_may_step", lambda _: False)  # a step receives no frames
        try:
            memory.run(self._plan, 0)
        except PosseError as error:
            if "has a defect" in str(error):
                notes = "\n".join(getattr(error, "__notes__", []))
                raise AssertionError(f"agent {self._liar} lies: {error}\n{notes}") from error
        finally:
            monkeypatch.undo()

    def _numbered(self, host: object, frame: bytes) -> bytes:
        """With the liar's next number towards this host."""
        if len(frame) >= HEADER.size and frame[:2] == MAGIC:
            changed = bytearray(frame)
            self._numbers[id(host)] += 1
            _SEQUENCE[0].pack_into(changed, _SEQUENCE[1], self._numbers[id(host)])
            if len(self._said) < 1_000:
                self._said.append(msgspec.msgpack.decode(frame[HEADER.size :]))
            return bytes(changed)
        return frame

    def _hostile(self) -> list[bytes]:
        pick = self._random
        if self.sent >= self._frames:
            raise Seen
        many = pick.choice(self._bursts)
        self.sent += many
        return [self._frame() for _ in range(many)]

    def _frame(self) -> bytes:
        pick = self._random
        if self._said and pick.random() < 0.5:
            name, *fields = pick.choice(self._said)
            if fields:
                at = pick.randrange(len(fields))
                fields[at] = self._fields_of.near(fields[at])
        else:
            name = pick.choice(self._names)
            fields = [self._fields_of.value(field.type) for field in self._fields[name]]
        plane = self._planes.get(name, 1) if pick.random() < 0.95 else pick.randrange(4)
        now = pick.choice([0.0, 1.0, 2.0, 50.0, 1e308, -5.0, math.nan])
        run = 0 if pick.random() < 0.97 else pick.choice([1, (1 << 32) - 1])
        head = HEADER.pack(MAGIC, VERSION, plane, run, self._liar, 0, now, pick.choice([0, 1, -1]))
        return head + msgspec.msgpack.encode([name, *fields])
