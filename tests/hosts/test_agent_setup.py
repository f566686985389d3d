"""A coordinator's configuration, changed in one place: it is refused, or an agent can run by it."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posse.agent.host import AgentHost
from posse.coordinator.setups import agent_setups
from posse.errors import InputError, PosseError
from posse.hosts.agent_setup import read_setup
from posse.plan import prepare
from tests.support.field import CASES, MEANS
from tests.support.hosts import begin, sources

HOSTILE = [
    *(None, True, -1, 0, 1, 3, 99, 10**9, 10**12, 2**62, 1e-300, 1e300, 0.5, "", "x", b"x"),
    *([], [0], [10**9], {}, {"x": 1}, {10**9: "x"}, "\x1b[2J", "y" * 10_000, "lab", "field"),
]


def honest(system: str) -> dict[str, Any]:
    arms = {"kind": "bernoulli", "means": list(MEANS)}
    raw = {"system": system, "seed": 1, "agents": {"count": 4}, "arms": arms}
    plan = prepare(raw | dict(CASES[system]))
    return msgspec.msgpack.decode(msgspec.msgpack.encode(agent_setups(plan, plan.network(0))[0]))


SETUPS = {system: honest(system) for system in CASES}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else ()
    return [path, *(deep for key, one in inner for deep in places(one, (*path, key)))]


@pytest.mark.parametrize("system", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_a_coordinator_chooses_is_bounded_or_refused(system: str, data: st.DataObject) -> None:
    setup = copy.deepcopy(SETUPS[system])
    *way, last = data.draw(st.sampled_from(places(setup)[1:]))
    table = setup
    for key in way:
        table = table[key]
    if data.draw(st.booleans()):
        table[last] = data.draw(st.sampled_from(HOSTILE))
    else:
        del table[last]
    try:
        read = read_setup(0, msgspec.msgpack.encode(setup))
        host = AgentHost(read, 0, sources())
        effects = host.receive(-1, begin())
    except PosseError as error:
        assert str(error).isprintable()
        return
    assert len(effects) < 100


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"arms": 10**9}, r"\$.arms"),
        ({"agents": 10**9}, r"\$.agents"),
        ({"rate": 1e300}, "<= 1"),
        ({"alive": 1e-300}, ">= 0.001"),
        ({"neighbours": [0]}, "other neighbours"),
        ({"neighbours": [3, 3]}, "other neighbours"),
        ({"neighbours": [7]}, "are no agents"),
        ({"keys": {2: "k"}, "neighbours": [3]}, "addresses of who is none"),
        ({"knowledge": {"gamma": 10**7}}, "knowledge.gamma"),
        ({"knowledge": {}}, "knowledge"),
        ({"parameters": {"epsilon": -1.0}}, "parameters"),
        ({"arms": {"kind": "bernoulli", "means": [[0.5, 0.1]]}}, "agents"),
    ],
)
def test_a_number_that_no_run_has_is_refused_by_its_name(changes: dict[str, Any], why: str) -> None:
    setup = SETUPS["private-ucb"] | changes
    with pytest.raises(InputError, match=why):
        read_setup(0, msgspec.msgpack.encode(setup))
