"""How audits read messages, of a system of one's own as of ours."""

import dataclasses
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from posse.audit.captured import checks
from posse.audit.judge import AuditVerdict
from posse.audit.whole import Audit
from posse.durable.frames import Frame
from posse.extend import (
    AgentRole,
    Group,
    Message,
    MessageReader,
    Send,
    ServerRole,
    Star,
    Statistic,
    System,
)
from posse.plan import prepare
from posse.protocol.privacy import Neighbours
from posse.system.reading import Frames
from tests.support import planted
from tests.support.conversations import examples

SECRET = 77


class Packed(Message, frozen=True):
    """A noisy reward, packed after a byte that says nothing."""

    record: bytes


class PackedReader(MessageReader):
    """Reads the number in a record; the first of an agent's is its own."""

    forwards = (Packed,)
    grouped = True

    def view(self, message: Message) -> Iterable[tuple[str, float]]:
        assert isinstance(message, Packed)
        yield "the reward", struct.unpack_from("<d", message.record, 1)[0]

    def statistics(self, message: Message, source: int | None) -> Iterable[Statistic]:
        yield Statistic(source, "rewards", [v for _, v in self.view(message)], name="reward")

    def group(self, message: Message) -> Group | None:
        return Group(1, 0, (0, 1))

    def violations(self, frames: Frames) -> list[str]:
        return [f"{len(frames)} frames of {self.parameters.epsilon:g}"]


class Packer(planted.Teller):
    """Packs what it tells."""

    def handle(self, event: Any, now: float) -> Any:
        effects: list[Any] = list(super().handle(event, now))
        for i, effect in enumerate(effects):
            if isinstance(effect, Send) and isinstance(effect.message, planted.Told):
                effects[i] = Send(effect.to, packed(effect.message.value))
        return effects


def packed(value: float) -> Packed:
    return Packed(bytes([SECRET]) + struct.pack("<d", value))


SYSTEM: System = dataclasses.replace(
    planted.SYSTEM,
    shape=Star(
        AgentRole(lambda context: Packer(context.noise, context.parameters)),
        ServerRole(lambda context: planted.Listener(context.agents), (Packed,)),
    ),
    reader=PackedReader,
)


def own(fault: planted.Fault = "none") -> dict[str, Any]:
    base = str(Path(__file__).parents[2])
    return {
        **planted.planted(fault),
        "system": "tests.system.test_reading:SYSTEM",
        "base": base,
        "path": [base],
    }


@pytest.mark.slow
def test_an_audit_of_an_own_system_names_what_gives_it_away() -> None:
    """That honest systems are not refuted: `tests/audit/test_whole.py`."""
    cases = (Neighbours(levels=(1.0, 0.0)),)
    verdict = Audit(plan=prepare(own("half")), runs=800, jobs=1, cases=cases).verdict()
    assert isinstance(verdict, AuditVerdict)
    assert verdict.refuted
    assert "`the reward` of agent 0's first `Packed`" in verdict.words


def test_captured_frames_of_an_own_system_are_checked_by_its_own_statistics() -> None:
    plan = prepare(own())

    def violations(*values: float) -> dict[str, list[str]]:
        frames = [
            Frame(0.0, 0, -1, 32 + 8 + 11, "data", "Packed", (packed(v).record,), run=0)
            for v in values
        ]
        return {check.name: check.violations for check in checks(frames, plan) if check.violations}

    assert violations(0.25, 0.25) == {}
    assert violations(0.25, 0.5) == {
        "an arm that rests is not noised again": ["agent 0's reward has 2 values"]
    }


@examples(Path(__file__).with_name("reading.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
