"""What a system's shape says: who is there, and what each may be sent."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse import own_code
from posse.cli.main import main
from posse.errors import SpecError
from posse.plan import prepare
from posse.protocol.message import Message
from posse.system import get_system, names
from posse.system.network import Network
from posse.system.shapes import (
    AgentRole,
    Alone,
    Mesh,
    MeshWithServer,
    ServerRole,
    SharedArms,
    Star,
    Wiring,
)
from posse_systems.rio2023.messages import Vote
from tests.support.runs import spec

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_every_system_stands_where_the_page_has_it() -> None:
    rows = re.findall(r"^\|`(\w+)`\|.*\|([^|]+)\|$", DOCS.read_text(), re.MULTILINE)
    told = {name: shape for shape, said in rows for name in re.findall(r"`([\w-]+)`", said)}
    assert told == {name: type(get_system(name).shape).__name__ for name in names()}


@pytest.mark.parametrize("advised", [None, "a sentence", [3]])
def test_advice_is_a_list_of_sentences(advised: Any) -> None:
    plan = spec("mase", 8)
    system = dataclasses.replace(plan.system, advise=lambda spec, parameters: advised)
    with pytest.raises(SpecError, match=r"system: 'mase' advises .*; it must be a list of sent"):
        dataclasses.replace(plan, system=system).advice()


def test_what_theory_says_is_a_bound() -> None:
    plan = spec("mase", 8)
    bounds: Any = lambda spec, parameters, run: None  # noqa: E731
    system = dataclasses.replace(plan.system, bound=bounds)
    with pytest.raises(SpecError, match="system: the bound of 'mase' is None; it must be a Bound"):
        dataclasses.replace(plan, system=system).bound(0)


def test_a_claim_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    claimless = dataclasses.replace(get_system("mase"), claim=lambda context: None)
    monkeypatch.setattr("posse.plan.find_system", lambda name, folders: claimless)
    with pytest.raises(SpecError, match="system: 'mase' claims None; it must be a Claim"):
        _ = prepare(spec("mase", 8)).claim


def test_a_package_that_cannot_be_imported_is_named_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"]) == 0  # our names are known before the packages' are
    capsys.readouterr()

    class Entry:
        name, value, module = "broken", "broken:SYSTEM", "broken"

        def load(self) -> None:
            raise ImportError("no such thing")

    found = own_code._entries
    broken: Any = {"broken": [Entry()]}
    monkeypatch.setattr(own_code, "_entries", lambda g: broken if "systems" in g else found(g))
    with pytest.raises(SpecError, match="'broken' cannot be imported: ImportError: no such thing"):
        get_system("broken")
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert "  broken                 cannot be used: system: 'broken' cannot be imported" in said
    assert "TOPOLOGIES" in said


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (None, "is None; it must be a Network"),
        (Network([()], [{}]), "has 1 row of neighbours and 1 of knowledge for 2 agents"),
        (Network([(1,), (2,)], [{}, {}]), "has neighbours that do not exist"),
        (Network([(1,), (-1,)], [{}, {}]), "has neighbours that do not exist"),
        (Network([tuple(np.array([1])), (0,)], [{}, {}]), "has neighbours that are no ints; make"),
        (Network([(1,), ()], [{}, {}]), "links agent 0 to 1 and not 1 to 0; links have no direct"),
        (
            Network([(1,), (0, 1)], [{}, {}]),
            r"gives agent 1 the neighbours \(0, 1\); it must be ot",
        ),
        (
            Network([(1, 1), (0,)], [{}, {}]),
            r"gives agent 0 the neighbours \(1, 1\); it must be ot",
        ),
        (Network([(1,), (0,)], [{}, {"sink": object()}]), "has knowledge that cannot be sent"),
        (Network([(1,), (0,)], [{}, {"sink": 0}]), ""),
    ],
)
def test_a_network_is_one_of_all_agents(network: Any, said: str) -> None:
    plan = spec("ddp-mab", 2, parameters={"horizon": 9, "epsilon": 1}, topology={"kind": "ring"})
    wiring = Wiring(lambda spec, parameters, run: network)
    shape: Any = plan.system.shape
    shape = dataclasses.replace(shape, wiring=wiring)
    plan = dataclasses.replace(plan, system=dataclasses.replace(plan.system, shape=shape))
    if said:
        with pytest.raises(SpecError, match=f"system: the network of 'ddp-mab' {said}"):
            plan.network(0)
    else:
        assert plan.network(0) is network


_ANY: Any = print
_NUMBER: Any = 7
_ROLE: Any = AgentRole(_ANY)
_SERVER: Any = ServerRole(_ANY, ())
_GREAT: Any = msgspec.defstruct("Größe", [], bases=(Message,), frozen=True)
_HEARS: list[Any] = [Vote, [Vote], (Vote, "Vote"), (int,), None]
_CLOCKS: list[Any] = [(), ("slot",), "slots", ("slots", "slot")]


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: Alone(_ROLE), "an agent alone has no role: write Alone(make), without AgentRole"),
        (lambda: Alone(_NUMBER), "make = 7: must be a function that makes a machine"),
        (lambda: AgentRole(None), "make = None: must be a function that makes a machine"),
        (lambda: ServerRole(_NUMBER, ()), "make = 7: must be a function that makes a machine"),
        *((lambda h=h: AgentRole(_ANY, h), "must be a tuple of classes of mess") for h in _HEARS),
        *((lambda h=h: ServerRole(_ANY, h), "must be a tuple of classes of mess") for h in _HEARS),
        (lambda: ServerRole(_ANY, (_GREAT,)), "the message Größe is counted by its name"),
        (lambda: Star(_ANY, _SERVER), "must be of type AgentRole"),
        (lambda: Star(_ROLE, _ROLE), "must be of type ServerRole"),
        (lambda: Mesh(_ROLE, _ANY), "must be of type Wiring"),
        (lambda: MeshWithServer(_ROLE, Wiring(print), None), "must be of type ServerRole"),
        (lambda: SharedArms(_SERVER, _SERVER), "must be of type AgentRole"),
        (lambda: Wiring(None), "network = None: must be a function of run file, parameters, run"),
    ],
)
def test_a_wrong_part_is_refused_where_the_shape_is_made(make: Any, fault: str) -> None:
    with pytest.raises(TypeError, match=re.escape(fault)):
        make()


@pytest.mark.parametrize(
    ("system", "part", "fault"),
    [
        ("mase", {"shape": _ROLE}, "must be one of Alone, Star, Mesh, MeshWithServer, SharedArms"),
        ("mase", {"advise": ["a sentence"]}, "advise = ['a sentence']: must be a function"),
        ("mase", {"check": None}, "check = None: must be a function"),
        ("mase", {"claim": "none"}, "claim = 'none': must be callable"),
        ("mase", {"parameters": dict}, "parameters = <class 'dict'>: must be a class derived fr"),
        *(("mase", {"clocks": c}, ": must be some of ('virtual', 'slots'") for c in _CLOCKS),
        ("private-ucb", {"clocks": ("virtual",)}, "agents with neighbours cannot run by 'virtual'"),
    ],
)
def test_a_wrong_part_of_a_system_is_refused_where_it_is_made(
    system: str, part: Any, fault: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(fault)):
        dataclasses.replace(get_system(system), **part)
