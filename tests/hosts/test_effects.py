"""What a machine asks for that is none of its effects ends with a sentence, never in silence."""

import math
from collections.abc import Iterator
from typing import Any, cast, get_args

import numpy as np
import pytest

from posse import families
from posse.engines import memory
from posse.errors import RunFailed
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    Abort,
    AgentEffect,
    Attest,
    AwaitTurn,
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
    ServerEffect,
    Stand,
    Started,
    Stopwatch,
    Timer,
)
from posse.protocol.mase import Eliminated
from posse.protocol.privacy import Release
from posse.results.record import RunRecord
from tests.support.runs import spec, with_machines

HALF: Any = 2.5
NEITHER = [None, "Finish", Finish, 7]
SERVER_ONLY = [Played((0,), (1.0,)), Dismiss(0, "silent"), Timer(1.0)]
AGENT_ONLY = [
    Explore((0,)),
    AwaitTurn(),
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
    before = dict(families._LOADED)
    yield
    families._LOADED.clear()
    families._LOADED.update(before)


def run_with(system: str, **machines: Any) -> RunRecord:
    families._LOADED["own"] = with_machines(families.get_system(system), name="own", **machines)
    agents = 5 if system == "mase" else 2
    parameters = {"horizon": 9} if system == "tdfs-ucb" else {}
    return memory.run(spec("own", agents=agents, parameters=parameters), 0)


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


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_coordinator_dismisses_agents_that_there_are(rank: int) -> None:
    with pytest.raises(RunFailed, match=r"coordinator has a defect: .*there is no agent"):
        run_with("central", server=lambda context: Answers(Dismiss(rank, "silent")))


@pytest.mark.parametrize("effect", [Pull((0,), 1), Played((0,), (1.0,))], ids=repr)
def test_a_coordinator_pulls_only_arms_that_all_share(effect: Any) -> None:
    with pytest.raises(RunFailed, match="own has no arms that all agents share"):
        run_with("central", server=lambda context: Answers(effect))


@pytest.mark.parametrize(
    "order",
    [
        *(Pull((-1,), 1), Pull((99,), 1), Pull((), 1), Pull((0,), 0), Pull((0,), HALF)),
        *(Pull((np.argmax([1.0]),), 1), Pull((0,), np.int64(1))),  # type: ignore[arg-type]
        *(Pull([0, 1], 1), Pull(0, 1), Explore([0])),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_an_order_is_for_arms_that_there_are(order: Any) -> None:
    with pytest.raises(RunFailed, match=r"agent 0 has a defect: .* cannot be carried out: arms"):
        run_with("central", agent=lambda context: Answers(order))


@pytest.mark.parametrize("order", [Pull((0, 1, 0), 2), Explore((1, 1))], ids=repr)
def test_an_order_names_each_of_an_agents_own_arms_once(order: Any) -> None:
    with pytest.raises(RunFailed, match=r"agent 0 has a defect: .*names each of its own arms"):
        run_with("central", agent=lambda context: Answers(order))


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
            return [self.effect]

        def lookahead(self, rewards: Any) -> int:
            return 0

    with pytest.raises(RunFailed, match=r"agent 0 has a defect: .* cannot be carried out: arms"):
        run_with("central", agent=lambda context: Twice(order))


@pytest.mark.parametrize("order", [Pull((-1,), 1), Pull((99,), 1), Pull((0,), 0)], ids=repr)
def test_a_servers_order_is_for_arms_that_there_are(order: Any) -> None:
    with pytest.raises(
        RunFailed, match=r"coordinator has a defect: .* cannot be carried out: arms"
    ):
        run_with("tdfs-ucb", server=lambda context: Answers(order))


@pytest.mark.parametrize(
    "release",
    [
        *("a release", Release("laplace", 1.0, 1.0, math.nan, "")),
        *(Release("laplace", 1.0, np.float64(1), 1.0, ""), Release("laplace", -1.0, 1.0, 1.0, "")),
        *(Release("mine!", 1.0, 1.0, 1.0, ""), Release("laplace", 1.0, 1.0, 1.0, "a\nb")),
        *(Release(cast(Any, None), 1.0, 1.0, 1.0, ""), Release("mine", 1.0, 1 << 64, 1.0, "")),
        Release("laplace", 1.0, 1.0, 1.0, cast(Any, None)),
    ],
    ids=repr,
)
def test_what_is_disclosed_is_a_release(release: Any) -> None:
    with pytest.raises(
        RunFailed, match=r"agent 0 has a defect: .* cannot be disclosed: it must be a Rel"
    ):
        run_with("central", agent=lambda context: Answers(Disclose(release)))


def test_a_server_may_end_a_run_before_anybody_has_begun() -> None:
    record = run_with("central", server=lambda context: Answers(Finish("known", 1)))
    assert (record.status, record.best_arm) == ("known", 1)


def test_a_run_that_stands_still_says_how_many_are_waited_for() -> None:
    class Silent(Answers):
        def handle(self, event: Any, now: float) -> Any:
            return []

    families._LOADED["own"] = with_machines(
        families.get_system("central"), name="own", agent=Silent
    )
    with pytest.raises(RunFailed, match=r"waits for agents 0, 1, .*, 11 and 3 more$"):
        memory.run(spec("own", agents=15), 0)


@pytest.mark.parametrize("missing", [lambda self: None, lambda self: 1 / 0])
def test_whom_a_server_waits_for_is_a_list(missing: Any) -> None:
    class Waits(Answers):
        def handle(self, event: Any, now: float) -> Any:
            return []

    Waits.missing = missing  # type: ignore[attr-defined]
    with pytest.raises(RunFailed, match=r"coordinator has a defect: \w+: .*\(.*test_effects.py"):
        run_with("central", agent=Waits, server=Waits)


@pytest.mark.parametrize("after", ["soon", math.nan, -1.0])
def test_a_timer_is_for_later(after: Any) -> None:
    with pytest.raises(
        RunFailed, match=r"Timer\(.*\): after must be a number of seconds, 0 or more"
    ):
        run_with("central", server=lambda context: Answers(Timer(after)))


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
    class Deaf:
        def handle(self, event: Any, now: float) -> Any:
            if isinstance(event, Received):
                raise RemoteProtocolError("out-of-turn", "no such round")
            return []

    class Says:
        def handle(self, event: Any, now: float) -> Any:
            return [Broadcast(Eliminated((1,)))] if isinstance(event, Started) else []

    said = "stands still.*; agent 1 refused what the coordinator sent: out-of-turn: no such round"
    with pytest.raises(RunFailed, match=said):
        run_with("mase", agent=lambda context: Deaf(), server=lambda context: Says())


def test_of_two_orders_none_is_forgotten_in_silence() -> None:
    class Both(Answers):
        def handle(self, event: Any, now: float) -> Any:
            return [Pull((0,), 1), Pull((1,), 1)]

    with pytest.raises(RunFailed, match="; return only one of them"):
        run_with("central", agent=lambda context: Both(None))


@pytest.mark.parametrize("first", [Pull((0,), 1), Finish("done", 0)], ids=repr)
def test_an_order_beside_the_end_is_not_forgotten_either(first: Any) -> None:
    class Ends:
        def handle(self, event: Any, now: float) -> Any:
            return [first, Finish("done", 1)]

    with pytest.raises(RunFailed, match=r"Finish\(.* comes beside .*; return only one of them"):
        run_with("central", agent=lambda context: Ends())


@pytest.mark.parametrize("status", ["", "x" * 65, "two\nlines", 3, None], ids=repr)
def test_a_status_is_a_word_or_a_few(status: Any) -> None:
    with pytest.raises(
        RunFailed, match=r"coordinator has a defect: .*status must be a str, a word"
    ):
        run_with("central", server=lambda context: Answers(Finish(status)))


@pytest.mark.parametrize("reason", ["", None], ids=repr)
def test_who_cannot_go_on_says_why(reason: Any) -> None:
    with pytest.raises(RunFailed, match=r"agent 0 has a defect: .*Abort.*reason must be a sente"):
        run_with("central", agent=lambda context: Answers(Abort(reason)))


@pytest.mark.parametrize(
    "to", [0.0, -1.0, np.int64(0), np.int64(-1), "0", 99, True, None], ids=repr
)
def test_a_message_is_for_a_rank(to: Any) -> None:
    said = r"has no link to .*; the receiver must be COORDINATOR or a rank, an int"
    with pytest.raises(RunFailed, match=f"the coordinator has a defect: .* {said}"):
        run_with("mase", server=lambda context: Answers(Send(to, Eliminated((1,)))))
    with pytest.raises(RunFailed, match=f"agent 0 has a defect: .* {said}"):
        run_with("mase", agent=lambda context: Answers(Send(to, Eliminated((1,)))))


def test_who_has_no_neighbours_cannot_broadcast() -> None:
    said = r"own broadcasts, but its agents have no neighbours; use Send\(COORDINATOR, …\)"
    with pytest.raises(RunFailed, match=f"agent 0 has a defect: .*{said}"):
        run_with("mase", agent=lambda context: Answers(Broadcast(Eliminated((1,)))))


@pytest.mark.parametrize("arm", [-1, 99, "x", 0.0], ids=repr)
def test_the_answer_is_an_arm_that_there_is(arm: Any) -> None:
    answers = Answers(Finish("done", arm))
    with pytest.raises(RunFailed, match=r"agent 0 has a defect: .*arm must be None or an int"):
        run_with("central", agent=lambda context: answers)
    with pytest.raises(RunFailed, match=r"the coordinator has a defect: .*arm must be None or a"):
        run_with("central", server=lambda context: answers)


def test_a_kind_is_not_taken_for_an_effect() -> None:
    with pytest.raises(RunFailed, match="asked for the class Finish"):
        run_with("central", agent=lambda context: Answers(Finish))
