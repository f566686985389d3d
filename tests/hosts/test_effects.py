"""What a machine asks for that is none of its effects ends with a sentence, never in silence."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from posse import system as systems
from posse.engines import memory
from posse.errors import RunFailed
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    Abort,
    Attest,
    Broadcast,
    Disclose,
    Dismiss,
    Explore,
    Finish,
    Played,
    Pull,
    Received,
    Refuse,
    Send,
    Stand,
    Started,
    Stopwatch,
    Timer,
)
from posse.protocol.privacy import Release
from posse.results.record import RunRecord
from posse_systems.rio2023.messages import Eliminated
from tests.support.conversations import examples
from tests.support.runs import spec, with_machines

HALF: Any = 2.5
NEITHER = [None, "Finish", Finish, 7]
SERVER_ONLY = [Played((0,), (1.0,)), Dismiss(0, "silent"), Timer(1.0)]
AGENT_ONLY = [
    Explore((0,)),
    Disclose(Release("laplace", 1.0, 1.0, 1.0, "")),
    Stopwatch("x", True),
    Attest(0, b""),
    Refuse("malformed"),
    Abort("no way on"),
    Stand(1, 0, 0, (0,)),
]


class Answers:
    """A machine without types: whatever happens, it asks for the same."""

    def __init__(self, *effects: Any) -> None:
        self.effects = effects

    def handle(self, event: Any, now: float) -> Any:
        return self.effects


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(systems._LOADED)
    yield
    systems._LOADED.clear()
    systems._LOADED.update(before)


def run_with(system: str, agents: int = 2, /, **machines: Any) -> RunRecord:
    systems._LOADED["own"] = with_machines(systems.get_system(system), name="own", **machines)
    agents = 5 if system == "mase" else agents
    parameters = {"horizon": 9} if system == "tdfs-ucb" else {}
    return memory.run(spec("own", agents=agents, parameters=parameters), 0)


NO_RELEASES: list[Any] = [
    *("a release", Release("laplace", 1.0, 1.0, math.nan, "")),
    *(Release("laplace", 1.0, np.float64(1), 1.0, ""), Release("laplace", -1.0, 1.0, 1.0, "")),
    *(Release("mine!", 1.0, 1.0, 1.0, ""), Release("laplace", 1.0, 1.0, 1.0, "a\nb")),
    *(Release(cast(Any, None), 1.0, 1.0, 1.0, ""), Release("mine", 1.0, 1 << 64, 1.0, "")),
    Release("laplace", 1.0, 1.0, 1.0, cast(Any, None)),
]
NO_ORDERS: list[Any] = [
    *(Pull((-1,), 1), Pull((99,), 1), Pull((), 1), Pull((0,), 0), Pull((0,), HALF)),
    *(Pull((np.argmax([1.0]),), 1), Pull((0,), np.int64(1))),  # type: ignore[arg-type]
    *(Pull([0, 1], 1), Pull(0, 1), Explore([0])),  # type: ignore[arg-type]
]
NO_ARM: list[Any] = [-1, 99, "x", 0.0]
NO_RANK: list[Any] = [0.0, -1.0, np.int64(0), np.int64(-1), "0", 99, True, None]
NO_STATUS: list[Any] = ["", "x" * 65, "two\nlines", 3, None]
NO_TIME: list[Any] = ["soon", math.nan, -1.0]
ENDS = Finish("done", 1)
TWO_ORDERS: list[Any] = [
    (Pull((0,), 1), Pull((1,), 1)),
    (Pull((0,), 1), ENDS),
    (Finish("done", 0), ENDS),
]
ELIMINATED = Eliminated((1,))
LINK = r"has no link to .*; the receiver must be COORDINATOR or a rank, an int"
NEIGHBOURS = r"own broadcasts, but its agents have no neighbours; use Send\(COORDINATOR, …\)"
SHARE = "own has no arms that all agents share"
CARRIED = "cannot be carried out: arms"
REFUSED: list[tuple[str, str, list[Any], str]] = [
    ("central", "agent", SERVER_ONLY + NEITHER, "machine Answers asked for .*Pull"),
    ("central", "server", AGENT_ONLY + NEITHER, "machine Answers asked for .*Pull"),
    ("central", "agent", [Finish], "asked for the class Finish"),
    ("central", "server", [Dismiss(-1, "silent"), Dismiss(2, "silent")], "there is no agent"),
    ("central", "server", [Pull((0,), 1), Played((0,), (1.0,))], SHARE),
    ("central", "agent", NO_ORDERS, CARRIED),
    ("tdfs-ucb", "server", [Pull((-1,), 1), Pull((99,), 1), Pull((0,), 0)], CARRIED),
    ("central", "agent", [Pull((0, 1, 0), 2), Explore((1, 1))], "names each of its own arms"),
    ("central", "agent", [*map(Disclose, NO_RELEASES)], "cannot be disclosed: it must be a Rel"),
    ("central", "server", [*map(Timer, NO_TIME)], "after must be a number of seconds, 0 or more"),
    ("central", "server", [*map(Finish, NO_STATUS)], "status must be a str, a word"),
    ("central", "agent", [Abort(""), Abort(cast(Any, None))], "Abort.*reason must be a sente"),
    ("central", "agent", [Finish("done", arm) for arm in NO_ARM], "arm must be None or an int"),
    ("central", "server", [Finish("done", arm) for arm in NO_ARM], "arm must be None or a"),
    ("mase", "agent", [Send(to, ELIMINATED) for to in NO_RANK], LINK),
    ("mase", "server", [Send(to, ELIMINATED) for to in NO_RANK], LINK),
    ("mase", "agent", [Broadcast(ELIMINATED)], NEIGHBOURS),
    ("central", "agent", TWO_ORDERS, "; return only one of them"),
]


def as_many(effect: Any) -> tuple[Any, ...]:
    return effect if isinstance(effect, tuple) else (effect,)


@pytest.mark.parametrize(
    ("system", "role", "effect", "why"),
    [(system, role, effect, why) for system, role, many, why in REFUSED for effect in many],
    ids=repr,
)
def test_what_cannot_be_done_is_refused_with_a_sentence(
    system: str, role: str, effect: Any, why: str
) -> None:
    who = {"agent": r"agent \d", "server": "coordinator"}[role]
    with pytest.raises(RunFailed, match=rf"{who}.* has a defect: .*{why}"):
        run_with(system, **{role: lambda context: Answers(*as_many(effect))})


NO_TIMES: list[Any] = [0, -3, HALF, np.int64(2), 1 << 55, True]
NO_ARMS: list[Any] = [(False, True), (np.int64(0), np.int64(1))]


@pytest.mark.parametrize(
    "order",
    [*(Pull((0, 1), times) for times in NO_TIMES), *(Pull(arms, 1) for arms in NO_ARMS)],
    ids=repr,
)
def test_an_order_for_arms_that_were_ordered_before_is_checked_all_the_same(order: Any) -> None:
    class Twice(Answers):
        def handle(self, event: Any, now: float) -> Any:
            if isinstance(event, Started):
                return [Explore((0, 1))]
            return self.effects

        def lookahead(self, rewards: Any) -> int:
            return 0

    with pytest.raises(RunFailed, match=r"agent 0 has a defect: .* cannot be carried out: arms"):
        run_with("central", agent=lambda context: Twice(order))


@pytest.mark.parametrize("missing", [lambda self: None, lambda self: 1 / 0])
def test_whom_a_server_waits_for_is_a_list(missing: Any) -> None:
    waits = type("Waits", (Answers,), {"missing": missing})
    with pytest.raises(RunFailed, match=r"coordinator has a defect: \w+: .*\(.*test_effects.py"):
        run_with("central", agent=lambda context: Answers(), server=lambda context: waits())


@pytest.mark.parametrize("made", [None, Answers])
def test_what_was_made_as_a_machine_can_handle_events(made: Any) -> None:
    said = r"defect: .*its machine is .*, which has no method handle.* \(.*test_effects\.py:\d+\)"
    for role in ("agent", "server"):
        with pytest.raises(RunFailed, match=said):
            run_with("central", **{role: lambda context: made})


def test_a_class_that_cannot_be_made_from_a_context_is_named_by_its_place() -> None:
    class Bare:
        def handle(self, event: Any, now: float) -> Any:
            return []

    with pytest.raises(RunFailed, match=r"Bare\(\) takes no arguments \(.*test_effects\.py:\d+\)"):
        run_with("central", agent=Bare)


@pytest.mark.parametrize(
    ("role", "who", "refused"),
    [("agent", "agent 0", "Started"), ("agent", "agent 0", "Pulled"), ("server", "the co", "Sta")],
)
def test_what_no_peer_sent_cannot_be_refused(role: str, who: str, refused: str) -> None:
    class Refuses:
        def handle(self, event: Any, now: float) -> Any:
            if type(event).__name__.startswith(refused):
                raise RemoteProtocolError("out-of-turn", "what is this")
            return [Pull((0,), 1)]

    said = rf"{who}.* a defect: .*Refuses refused {refused}.*, which no peer sent: out-of-turn: wh"
    with pytest.raises(RunFailed, match=rf"{said}.* \(.*test_effects\.py:\d+\)"):
        run_with("central", **{role: lambda context: Refuses()})


def test_what_an_agent_refuses_of_the_coordinator_is_said() -> None:
    class Deaf(Answers):
        def handle(self, event: Any, now: float) -> Any:
            if isinstance(event, Received):
                raise RemoteProtocolError("out-of-turn", "no such round")
            return self.effects

    class Begins(Answers):
        def handle(self, event: Any, now: float) -> Any:
            return self.effects if isinstance(event, Started) else []

    begins = Begins(Broadcast(ELIMINATED))
    said = "stands still.*; agent 1 refused what the coordinator sent: out-of-turn: no such round"
    with pytest.raises(RunFailed, match=said):
        run_with("mase", agent=lambda context: Deaf(), server=lambda context: begins)


@examples(Path(__file__).with_name("effects.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
