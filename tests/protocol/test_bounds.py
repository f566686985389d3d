"""Whatever a message holds has a bound, however it will be extended."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect as kinds

import posse.protocol
import posse_systems
from posse.engines.simulated.cluster import FIRST_STRANGER
from posse.protocol import control
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.message import Message
from posse.protocol.wire import MAX_FRAME, Codec, encode

CHECKED = {
    "Join.wall": "posse.coordinator.roster",
    "Due.time": "posse.clocks.run_clock",
    "Report.regret": "posse.coordinator.report",
    "Report.log": "posse.coordinator.report",
    "ReportRows.log": "posse.coordinator.report",
    "Report.seconds": "posse.coordinator.report",
    "Release.sensitivity": "posse.coordinator.report",
    "Release.scale": "posse.coordinator.report",
    "Release.epsilon": "posse.coordinator.report",
    "ResourceUse.cpu_seconds": "posse.coordinator.report",
    "Outcome.sample": "posse_systems.tossou2015.agent",
    "Outcome.payoff": "posse_systems.tossou2015.agent",
}
"""Floats, which may be NaN whatever their limits, and who asks whether they can be."""


def unbounded(kind: kinds.Type, place: str) -> Iterator[str]:
    """The places of a type that hold something without a limit."""
    match kind:
        case kinds.Metadata(inner):
            yield from unbounded(inner, place)
        case kinds.IntType():
            if None in (kind.ge, kind.le if kind.lt is None else kind.lt):
                yield place
        case kinds.StrType() | kinds.BytesType():
            if kind.max_length is None:
                yield place
        case kinds.ListType(item) | kinds.VarTupleType(item):
            yield from [place] * (kind.max_length is None)
            yield from unbounded(item, place)
        case kinds.DictType(key, value):
            yield from [place] * (kind.max_length is None)
            yield from unbounded(key, place)
            yield from unbounded(value, place)
        case kinds.TupleType(items) | kinds.UnionType(items):
            for item in items:
                yield from unbounded(item, place)
        case kinds.StructType(struct):
            for field in kind.fields:
                yield from unbounded(field.type, f"{struct.__name__}.{field.name}")
        case kinds.FloatType():
            if place not in CHECKED:
                yield place
        case kinds.BoolType() | kinds.NoneType() | kinds.LiteralType() | kinds.EnumType():
            pass
        case _:
            yield f"{place}: {kind}"


def messages() -> list[Any]:
    """Every kind of message that posse has."""
    for room in (posse.protocol, posse_systems):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)

    def below(kind: Any) -> Iterator[Any]:
        for derived in kind.__subclasses__():
            yield from (derived, *below(derived))

    ours = ("posse.", "posse_systems.")  # the arena may be loaded too
    return [kind for kind in below(Message) if kind.__module__.startswith(ours)]


def test_every_number_text_and_list_of_a_message_has_a_bound() -> None:
    assert len(messages()) > 50
    found = {place for kind in messages() for place in unbounded(kinds.type_info(kind), "")}
    assert found == set()


@pytest.mark.parametrize(
    "message",
    [
        control.Synced(0, 2**63 - 1),
        control.Synced(-(2**63), 0),
        control.Moved(MOST_AGENTS, ""),
        control.Configure(-1, b""),
        control.Configure(0, bytes(MAX_FRAME + 1)),
        control.Resumed(2**53),
        control.Refused("x" * 4001),
    ],
)
def test_what_is_beyond_is_refused_by_name(message: Message) -> None:
    frame = encode(message, run=0, source=-1, sequence=0, now=0.0, sent=0)
    with pytest.raises(RemoteProtocolError, match="malformed|oversize"):
        Codec(control.TO_JOINING).decode(1, frame)


def test_a_stranger_has_no_agents_rank() -> None:
    assert FIRST_STRANGER >= MOST_AGENTS
