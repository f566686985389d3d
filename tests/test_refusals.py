"""A message that a machine refuses changes nothing of it: a property over all machines, a table."""

import copy
import math
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posse.agent.masking import Masker
from posse.agent.run import AgentRun
from posse.coordinator.server import Server
from posse.engines import memory
from posse.errors import PosseError
from posse.plan import Plan, prepare
from posse.protocol import machine as events
from posse.protocol import masking
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, Received, Started
from posse.protocol.masking import PublicKey
from posse.protocol.message import Message
from posse.protocol.wire import pack_floats
from posse_systems.li2022.gis import Gis
from posse_systems.li2022.messages import Schedule
from posse_systems.li2022.server import CdpServer
from posse_systems.rio2023.server import CentralEliminator, MaseTally
from tests.support import anonymous, federated, mase
from tests.support.conversations import conversations
from tests.support.federated import say
from tests.support.field import CASES, MEANS, VARIATIONS
from tests.support.messages import well_typed
from tests.support.states import same
from tests.systems.li2022 import test_shared_server as shared

PLANS = {
    " ".join([system, *map(str, extra.values())]): (system, extra)
    for system in CASES
    for extra in ({}, *VARIATIONS.get(system, ()))
}
MOMENTS = (2, 3, 5, 9, 20, 45)
"""Events of the agents' machines, or the server's, before which the state is kept."""


class EnoughError(PosseError):
    """All moments are kept."""


class Moment(NamedTuple):
    """A machine in the middle of a run, and what it may hear then."""

    machine: Any
    hears: tuple[Any, ...]
    senders: tuple[int, ...]
    now: float


@cache
def moments(name: str) -> list[Moment]:
    """Of one run: the server, and the agents one after the other."""
    system, extra = PLANS[name]
    plan = small(system, extra)
    kept: list[Moment] = []
    seen: Counter[object] = Counter()

    def keep(who: object, machine: Any, hears: Any, senders: tuple[int, ...], now: float) -> None:
        seen[who] += 1
        if seen[who] in MOMENTS and hears:
            kept.append(Moment(copy.deepcopy(machine), tuple(hears), senders, now))
        if min(seen["agent"], seen["server"]) > MOMENTS[-1]:
            raise EnoughError

    def of_agent(run: AgentRun, event: Any, now: float, honest: Any = AgentRun._effects_of) -> Any:
        senders = (COORDINATOR, *run._setup.neighbours)
        keep("agent", run.machine, plan.system.agent.hears, senders, now)
        return honest(run, event, now)

    def of_server(server: Server, event: Any, now: Any = None, honest: Any = Server.tell) -> Any:
        role = plan.system.server
        keep("server", server.machine, role and role.hears, tuple(range(4)), server.clock.now)
        return honest(server, event, now)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AgentRun, "_effects_of", of_agent)
        patch.setattr(Server, "tell", of_server)
        with suppress(EnoughError):
            memory.run(plan, 0)
    return kept


def small(system: str, extra: dict[str, Any]) -> Plan:
    raw = {
        "system": system,
        "seed": 1,
        "agents": {"count": 4},
        "arms": {"kind": "bernoulli", "means": list(MEANS)},
        "engine": {"plain": True},
    } | CASES[system]
    return prepare(raw | {"parameters": CASES[system].get("parameters", {}) | extra})


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_refused_changes_nothing(name: str, data: st.DataObject) -> None:
    found = moments(name)
    if not found:
        return
    moment = data.draw(st.sampled_from(found))
    machine = copy.deepcopy(moment.machine)
    message = data.draw(st.one_of(*map(well_typed, moment.hears)))
    sender = data.draw(st.sampled_from(moment.senders))
    try:
        machine.handle(Received(sender, message), moment.now)
    except RemoteProtocolError:
        assert same(machine, moment.machine), "it was refused, and something changed"


class Hearing:
    """A machine in the middle of a run, which may hear one message after the other."""

    now = 0.0

    def __init__(self, machine: Any, begin: tuple[Any, ...] = (Started(),)) -> None:
        self.machine = machine
        for event in begin:
            machine.handle(event, 0.0)

    def state(self) -> dict[str, object]:
        return {}

    def handle(self, event: Any, now: float = 0.0) -> str:
        """Why it is refused."""
        return self._unchanged(self.machine.handle, event, now)

    def hears(self, sender: int, message: Message) -> str:
        return self.handle(Received(sender, message))

    def _unchanged(self, act: Any, *given: Any) -> str:
        before = copy.deepcopy(self.machine)
        try:
            act(*given)
        except RemoteProtocolError as refusal:
            assert same(self.machine, before), "it was refused, and something changed"
            return str(refusal)
        return "taken"


class Exchanging(Hearing):
    """What agents do between two rounds, without a machine of their own around it."""

    def __init__(self, machine: Any) -> None:
        super().__init__(machine, ())

    def hears(self, sender: int, message: Message) -> str:
        return self._unchanged(say, self.machine, sender, message)


class Hundred(Schedule):
    """A message is of 100 rewards."""

    def observations(self, r: int, active: int, before: int) -> int:
        return before + 100


def plausible(server: CdpServer) -> CdpServer:
    server.plausible = True
    return server


def middle() -> Gis:
    machine = Gis(1, 4, (0, 2), {"diameter": 3})
    machine.begin(1, np.array([0.5, 0.5]))
    machine.open()
    return machine


def precise(player: Any) -> Any:
    player.precision = 52
    return player


def sharing() -> Hearing:
    """A server with shared noise, which has the report of agent 0."""
    machines, machine, orders = shared.started()
    machine.handle(Received(0, shared.explored(machines, orders, [0.5] * shared.ARMS)[0]), 0.0)
    return Hearing(machine, ())


def reported() -> Hearing:
    machines, _, orders = shared.started()
    shared.explored(machines, orders, [0.5] * shared.ARMS)
    return Hearing(machines[0], ())


def key_of(rank: int) -> bytes:
    return Masker(rank, 3, bytes([rank + 1] * 32), None).public


def all_keys(server: Any) -> None:
    for rank in range(10):
        with suppress(RemoteProtocolError):
            server.handle(Received(rank, PublicKey(key_of(rank))), 0.0)


PAPERS = {
    "dubey2020": ("messages",),
    "esfandiari2022": ("agent", "messages"),
    "li2022": ("gis", "messages", "push", "sac", "server"),
    "rio2023": ("agent", "messages"),
    "tossou2015": ("agent", "messages"),
}
NAMES = {
    name: value
    for module in (
        *(import_module(f"posse_systems.{paper}.{m}") for paper in PAPERS for m in PAPERS[paper]),
        *(events, masking, anonymous, federated, mase, shared),
    )
    for name, value in vars(module).items()
} | {
    **globals(),
    "MaseTally": MaseTally,
    "CentralEliminator": CentralEliminator,
    "rng": lambda: np.random.default_rng(0),
    "floats": lambda *n: pack_floats(np.array(n)),
    "row_of": lambda *n: np.array(n),
    "ones": np.ones,
    "own_key": lambda machine: machine.masker.public,
    "nan": math.nan,
    "inf": math.inf,
}


@conversations(Path(__file__).with_name("refusals.txt"), NAMES)
def test_each_refusal_has_its_reason(talk: Callable[[], None]) -> None:
    talk()
