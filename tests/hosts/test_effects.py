"""What a machine asks for that is none of its effects ends with a sentence, never in silence."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from posse import systems
from posse.engines import memory
from posse.errors import RunFailed
from protocol.machine import (
    Abort,
    AgentEffect,
    Attest,
    Disclose,
    Dismiss,
    Explore,
    Finish,
    Played,
    Pull,
    Ready,
    Refuse,
    ServerEffect,
    Stand,
    Stopwatch,
    Timer,
)
from protocol.privacy import Release
from tests.support.runs import spec, with_machines

NEITHER = [None, "Finish", Finish, 7]
SERVER_ONLY = [Played((0,), (1.0,)), Dismiss(0, "silent"), Timer(1.0)]
AGENT_ONLY = [
    Explore((0,)),
    Ready(),
    Disclose(Release("laplace", 1.0, 1.0, 1.0, "")),
    Stopwatch("x", True),
    Attest(0, b""),
    Refuse("malformed"),
    Abort("no way on"),
    Stand(1, 0, 0, (0,)),
]


class Answers:
    """A machine without types: whatever happens, it asks for one thing."""

    def __init__(self, effect: Any) -> None:
        self.effect = effect

    def handle(self, event: Any, now: float) -> Any:
        return [self.effect]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(systems._LOADED)
    yield
    systems._LOADED.clear()
    systems._LOADED.update(before)


def run_with(system: str, **machines: Any) -> None:
    systems._LOADED["own"] = with_machines(systems.get_system(system), name="own", **machines)
    memory.run(spec("own", agents=2), 0)


def test_every_effect_is_somebodys() -> None:
    ours, theirs = set(get_args(AgentEffect)), set(get_args(ServerEffect))
    assert theirs - ours == {type(effect) for effect in SERVER_ONLY}
    assert ours - theirs == {type(effect) for effect in AGENT_ONLY}


@pytest.mark.parametrize("effect", SERVER_ONLY + NEITHER, ids=repr)
def test_an_agents_machine_may_ask_for_its_own_effects_only(effect: Any) -> None:
    with pytest.raises(RunFailed, match=r"defect: .* agent \d's machine Answers asked for .*Pull"):
        run_with("central", agent=lambda context: Answers(effect))


@pytest.mark.parametrize("effect", AGENT_ONLY + NEITHER, ids=repr)
def test_a_coordinators_machine_may_ask_for_its_own_effects_only(effect: Any) -> None:
    with pytest.raises(RunFailed, match=r"coordinator's machine Answers asked for .*Pull"):
        run_with("central", server=lambda context: Answers(effect))


@pytest.mark.parametrize("effect", [Pull((0,), 1), Played((0,), (1.0,))], ids=repr)
def test_a_coordinator_pulls_only_arms_that_all_share(effect: Any) -> None:
    with pytest.raises(RunFailed, match="own has no arms that all agents share"):
        run_with("central", server=lambda context: Answers(effect))


def test_a_kind_is_not_taken_for_an_effect() -> None:
    with pytest.raises(RunFailed, match="asked for the class Finish"):
        run_with("central", agent=lambda context: Answers(Finish))
