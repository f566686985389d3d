"""Mistakes in a user's system end a run once, in a sentence with the file and the line."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

import posse

OWN = """
from dataclasses import dataclass
from typing import Any

import numpy as np

from posse.extend import (
    COORDINATOR, AgentRole, Finish, Message, Note, Parameters, PeerFinished, Played, Received,
    RemoteProtocolError, Results, Row, Send, ServerRole, Star, Started, System, TimerFired, Timer,
    unprotected,
)

class Noted(Row, frozen=True):
    table = "noted"
    cell: float

class Hello(Message, frozen=True):
    data: bytes

class Reply(Message, frozen=True):
    data: Any

class Unheard(Message, frozen=True):
    data: int

class OwnParameters(Parameters, frozen=True, kw_only=True):
    side: str
    mistake: str

def mistaken(kind, to, own):
    match kind:
        case "raises":
            return 1 // 0  # raises
        case "exits":
            raise SystemExit(5)  # exits
        case "wrong type":
            return [Send(to, own("text"))]
        case "no effect":
            return ["hello"]
        case "the other's effect":
            return [Timer(1.0) if to == COORDINATOR else TimerFired()]
        case "too large":
            return [Send(to, own(bytes(1_100_000)))]
        case "unheard":
            return [Send(to, Unheard(1))]
        case "unknown field":
            return [Send(to, own(b"").date)]  # unknown field
        case "no message":
            return [Send(to, "hello")]
        case "not to be encoded":
            return [Send(to, own(object()))]
        case "generator":
            return (effect for effect in [Finish("done", 0)])
        case "nothing":
            return None
        case "text noted":
            return [Note(Noted("text"))]
        case "NaN noted":
            return [Note(Noted(float("nan")))]
        case "array noted":
            return [Note(Noted(np.zeros(2)))]
        case "status":
            return [Finish(3, 0)]
        case "reason":
            raise RemoteProtocolError("größe")  # reason

@dataclass
class Agent:
    p: Any
    def handle(self, event, now):  # agent
        match event:
            case Started() if self.p.side == "agent":
                return mistaken(self.p.mistake, COORDINATOR, Hello)
            case Started():
                return [Send(COORDINATOR, Hello(b""))]
            case Received():
                return [Finish("done", 0)]

@dataclass
class Server:
    p: Any
    def handle(self, event, now):  # server
        match event:
            case Received(sender, _):
                return mistaken(self.p.mistake, sender, Reply)
        return []

def make(kind):
    def made(context):
        p = context.parameters
        if p.mistake == "cannot be made" and p.side == kind.__name__.lower():
            raise KeyError("table")  # cannot be made
        if p.mistake == "exits early" and p.side == kind.__name__.lower():
            raise SystemExit(0)  # exits early
        return kind(context.parameters)
    return made

SYSTEM = System(
    name="own", title="own", paper="none", parameters=OwnParameters, clocks=("slots",),
    shape=Star(AgentRole(make(Agent), (Reply,)), ServerRole(make(Server), (Hello,))),
    claim=unprotected("nothing"), results=Results(log=(Noted,)),
)
"""

SIDES = {"agent": (r"agent \d", "Hello"), "server": ("the coordinator", "Reply")}

MISTAKES = {
    "raises": "ZeroDivisionError: ",
    "exits": "SystemExit: 5",
    "no effect": "asked for str, which is not one of its effects: ",
    "the other's effect": r"asked for Timer(Fired)?, which is not one of its effects: ",
    "too large": r"{own} has 1,100,\d+ bytes; a message may have 1,048,576",
    "unheard": "Unheard is sent, but .* hears (only .*|nothing); add it to `hears`",
    "unknown field": "AttributeError: '{own}' object has no attribute 'date'",
    "no message": "str is sent, but .* hears only .*; add it to `hears`",
    "not to be encoded": "cannot be encoded: Encoding objects of type object is unsupported; give",
    "generator": "handle answered <generator .*; it must be a list or a tuple of effects",
    "nothing": "handle answered None; it must be a list or a tuple of effects",
    "text noted": r"Noted\(cell='text'\) cannot be noted: its time and all its cells must be f",
    "NaN noted": r"Noted\(cell=nan\) cannot be noted: ",
    "array noted": r"Noted\(cell=array.*\) cannot be noted: ",
    "status": r"Finish\(status=3, arm=0\): status must be a str",
    "reason": "the reason 'größe' of a refusal is not a name to count it by; use up to 64",
    "cannot be made": "KeyError: 'table'",
    "exits early": "SystemExit: 0",
}


def line(*marks: str) -> int:
    """Of the first of these comments in the file."""
    lines = OWN.splitlines()
    return next(n for m in marks for n, text in enumerate(lines, 1) if text.endswith(f"  # {m}"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("own")
    (made / "own_mistakes.py").write_text(OWN)
    before = list(sys.path)
    yield made
    sys.path[:] = before


def fails(
    folder: Path, side: str, mistake: str, engine: Literal["processes", "memory"]
) -> posse.RunFailed:
    spec = {
        "system": "own_mistakes:SYSTEM",
        "base": str(folder),
        "agents": {"count": 3},
        "arms": {"kind": "bernoulli", "means": [0.8, 0.5]},
        "parameters": {"side": side, "mistake": mistake},
    }
    with pytest.raises(posse.RunFailed) as caught:
        posse.run(spec, engine=engine)
    return caught.value


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("side", SIDES)
def test_a_mistake_has_its_file_and_line(folder: Path, side: str, mistake: str) -> None:
    who, own = SIDES[side]
    error = fails(folder, side, mistake, "memory")
    said = MISTAKES[mistake].replace("{own}", own)
    where = rf"own_mistakes\.py:{line(mistake, side)}"
    assert re.fullmatch(rf"{who} has a defect: .*{said}.*\([^()]*{where}\)", str(error))
    assert error.__notes__


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "mistake"),
    [
        ("agent", "raises"),
        ("agent", "exits early"),
        ("agent", "too large"),
        ("server", "exits"),
        ("server", "text noted"),
    ],
)
def test_across_processes_it_is_the_same(folder: Path, side: str, mistake: str) -> None:
    memory = fails(folder, side, mistake, "memory")
    processes = fails(folder, side, mistake, "processes")
    assert without_rank(str(memory)) == without_rank(str(processes))


def test_a_field_of_the_wrong_type_is_named_with_who_sent_it(folder: Path) -> None:
    said = str(fails(folder, "agent", "wrong type", "memory"))
    refused = (
        "; the coordinator refused what agent {} sent: malformed: Hello `data`: Expected `bytes`"
    )
    assert all(refused.format(agent) in said for agent in range(3))


def without_rank(sentence: str) -> str:
    return re.sub(r"agent \d", "agent", sentence)
