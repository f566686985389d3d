"""A script as a machine, event by event: what it waits for, what it keeps, what it refuses."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.protocol.bounds import Arm
from posse.protocol.errors import LocalProtocolError, RemoteProtocolError
from posse.protocol.machine import (
    COORDINATOR,
    MOST_ARMS,
    Broadcast,
    Disclose,
    Explore,
    Finish,
    Observed,
    PeerFinished,
    PeerLost,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
    Timer,
    TimerFired,
)
from posse.protocol.message import Message
from posse.protocol.noise import SeededNoise
from posse.protocol.script import (
    Ended,
    FromAll,
    FromSome,
    NobodyLeft,
    Noisy,
    One,
    Pending,
    PerArm,
    PullUntil,
    Script,
    ScriptMachine,
    scripted,
)


class Told(Message, frozen=True):
    round: int
    sums: PerArm


class Picks(Message, frozen=True):
    arms: tuple[Arm, ...]


class Pick(Message, frozen=True):
    arm: Arm
    weight: float = 1.0


def agent(script: Any, neighbours: tuple[int, ...] = (), arms: int = 2) -> ScriptMachine:
    noise = SeededNoise(np.random.default_rng(0))
    me = SimpleNamespace(rank=9, arms=arms, neighbours=neighbours, noise=noise)
    return scripted(script)(me)


def server(script: Any, agents: int = 3) -> ScriptMachine:
    return scripted(script)(SimpleNamespace(agents=agents, arms=2))


def told(sender: int, number: int = 0) -> Received:
    return Received(sender, Told(number, [0.0, 1.0]))


def after(machine: ScriptMachine, *events: Any) -> list[Any]:
    """The effects of all these events together."""
    return [effect for event in (Started(), *events) for effect in machine.handle(event, 0.0)]


def test_lines_are_carried_out_in_their_order() -> None:
    def script(me: Any) -> Script:
        sums = yield Pull(range(me.arms), np.int64(3))  # type: ignore[arg-type]
        yield Send(COORDINATOR, Told(1, sums))
        sender, pick = yield Pick
        rewards = yield Pull([pick.arm], 2, each=True)  # type: ignore[arg-type]
        yield Send(COORDINATOR, Told(sender, rewards[0]))
        return np.int64(pick.arm)

    machine = agent(script)
    assert after(machine) == [Pull((0, 1), 3)]
    sums = machine.handle(Pulled((0, 1), 3, np.array([2.0, 1.0])), 0.0)
    assert sums == [Send(COORDINATOR, Told(1, [2.0, 1.0]))]
    assert machine.handle(Received(COORDINATOR, Pick(1)), 0.0) == [Pull((1,), 2, each=True)]
    last = machine.handle(Pulled((1,), 2, np.array([1.0]), np.array([[0.0, 1.0]])), 0.0)
    assert last == [Send(COORDINATOR, Told(-1, [0.0, 1.0])), Finish("finished", 1)]


def rounds(me: Any) -> Script:
    """Waits for a message of all in each of three rounds, and tells what it got."""
    for _ in range(3):
        heard = yield FromAll(Told)
        yield Send(0, Told(0, [float(n * 10 + m.round) for n, m in heard.items()]))
    return 0


@given(st.permutations([0, 0, 0, 1, 1, 1, 2, 2, 2]), st.integers(0, 8), st.booleans())
def test_what_it_gathers_does_not_depend_on_who_is_first(
    order: list[int], pause: int, together: bool
) -> None:
    sent = {0: 0, 1: 0, 2: 0}
    events = []
    for sender in order:
        events.append(told(sender, sent[sender]))
        sent[sender] += 1
    machine = server(rounds)
    effects = after(machine, *events[:pause])
    rest = events[pause:]
    while rest:  # as an engine hands over what came together
        awaited = machine.awaited or 1
        at_once, rest = rest[:awaited], rest[awaited:]
        if not (together and machine.keep(at_once[:-1])):
            at_once, rest = at_once[:1], [*at_once[1:], *rest]
        effects += machine.handle(at_once[-1], 0.0)
    assert [effect.message.sums for effect in effects] == [
        [0.0, 10.0, 20.0],
        [1.0, 11.0, 21.0],
        [2.0, 12.0, 22.0],
    ]
    assert machine.missing() == [0, 1, 2]


def test_it_waits_for_some_for_a_round_and_takes_what_is_there() -> None:
    def script(me: Any) -> Script:
        some = yield FromSome(Told, 2)
        _, second = yield One(Told, round=7)
        rest = yield Pending(Told)
        yield Send(0, Told(second.round, [*map(float, some), *(float(n) for n, _ in rest)]))
        return 1

    machine = server(script, agents=4)
    events = [told(2), told(0, 5), told(3, 6), told(1, 7)]
    assert after(machine, *events) == [Send(0, Told(7, [0.0, 2.0, 3.0]))]
    assert machine.handle(PeerFinished(0), 0.0) == []
    assert machine.missing() == [1, 2, 3]
    done = [machine.handle(PeerFinished(rank), 0.0) for rank in (1, 2, 3)]
    assert done == [[], [], [Finish("finished", 1)]]


def test_messages_that_may_be_all_are_not_taken_unhandled() -> None:
    def script(me: Any) -> Script:
        heard = yield FromAll(Told, round=0)
        yield Send(COORDINATOR, Pick(len(heard)))

    machine = agent(script, neighbours=(1, 2))
    machine.handle(Started(), 0.0)
    both = [told(1), told(2)]
    assert not machine.keep(both)  # before told(1, 1), which completes nothing
    assert machine.keep(both[:1])
    assert machine.handle(both[1], 0.0)[0] == Send(COORDINATOR, Pick(2))


def test_who_has_ended_is_not_waited_for() -> None:
    def script(me: Any) -> Script:
        for number in range(2):
            heard = yield FromAll(Told, round=number)
            yield Send(COORDINATOR, Pick(len(heard)))
        return 1

    me = SimpleNamespace(rank=9, arms=2, neighbours=(1, 2, 3))
    machine = scripted(script, tells=True)(me)
    first = after(machine, told(1), told(2), Received(2, Ended()), told(3))
    assert first == [Send(COORDINATOR, Pick(3))]
    assert machine.keep([Received(1, Ended())])
    last = machine.handle(told(3, 1), 0.0)
    assert last == [Send(COORDINATOR, Pick(1)), Broadcast(Ended()), Finish("finished", 1)]


def test_the_server_goes_on_after_a_time_or_without_who_is_gone() -> None:
    def script(me: Any) -> Script:
        heard = yield FromAll(Told, within=2.0)
        yield Send(0, Told(len(heard), []))
        heard = yield FromAll(Told)
        yield Send(0, Told(len(heard), []))
        yield Finish("identified", 1)

    machine = server(script)
    assert after(machine, told(1)) == [Timer(2.0)]
    assert machine.handle(TimerFired(), 0.0) == [Timer(float("inf")), Send(0, Told(1, []))]
    events = [told(0), told(1), PeerLost(2)]
    last = [effect for event in events for effect in machine.handle(event, 0.0)]
    assert last == [Send(0, Told(2, [])), Finish("identified", 1)]


def test_a_wait_for_nobody_is_said_once() -> None:
    def forever(me: Any) -> Script:
        while True:
            yield FromAll(Told)

    def one(me: Any) -> Script:
        try:
            yield Told
        except NobodyLeft:
            return 1

    events = [PeerFinished(rank) for rank in range(3)]
    with pytest.raises(LocalProtocolError, match=r"waits for FromAll\(Told\) again, though all"):
        after(server(forever), *events)
    assert after(server(one), *events) == [Finish("finished", 1)]
    with pytest.raises(NobodyLeft, match=r"the server's script waits for One\(Told\), but nobody"):
        after(server(lambda me: (yield Told)), *events)


def test_each_arm_of_a_list_must_be_there() -> None:
    machine = agent(lambda me: (yield FromAll(Picks)), neighbours=(1, 2))
    after(machine)
    with pytest.raises(RemoteProtocolError) as refused:
        machine.handle(Received(1, Picks((0, 2))), 0.0)
    assert refused.value.reason == "no-such-arm"
    assert not machine.keep([Received(1, Picks((2,)))])
    assert machine.keep([Received(1, Picks(()))])


BAD = st.one_of(
    st.builds(Pick, st.integers(2, MOST_ARMS - 1)),
    st.builds(Pick, st.just(1), st.sampled_from([float("nan"), float("inf"), -float("inf")])),
    st.builds(Told, st.just(1), st.lists(st.floats(), max_size=5).filter(lambda s: len(s) != 2)),
)
REASONS = {"Pick": ("no-such-arm", "not-finite"), "Told": ("wrong-length",)}


@given(BAD)
@example(Pick(2))
@example(Pick(1, float("nan")))
@example(Told(1, [0.0]))
def test_a_bad_message_is_refused_and_changes_nothing(message: Message) -> None:
    def script(me: Any) -> Script:
        _, pick = yield Pick
        return pick.arm

    machine = agent(script)
    after(machine)
    bad = Received(COORDINATOR, message)
    assert not machine.keep([bad])
    with pytest.raises(RemoteProtocolError) as refused:
        machine.handle(bad, 0.0)
    assert refused.value.reason in REASONS[type(message).__name__]
    assert machine.handle(Received(COORDINATOR, Pick(1)), 0.0) == [Finish("finished", 1)]


def test_what_nobody_reads_is_refused_by_name_and_takes_no_other_place() -> None:
    machine = server(lambda me: (yield FromAll(Pick)), agents=100)
    after(machine)
    kept = -(-(1 << 18) // 282)  # each has 26 bytes, and 256 for what Python makes of it
    for _ in range(kept):
        machine.handle(told(4), 0.0)
    with pytest.raises(RemoteProtocolError, match="the server's script reads no Told of agent 4"):
        machine.handle(told(4), 0.0)
    machine.handle(told(5), 0.0)


def test_noise_is_entered_into_the_account() -> None:
    def script(me: Any) -> Script:
        noisy = yield Noisy([1.0, 2.0], epsilon=0.5, block="round 1")
        yield Send(COORDINATOR, Told(1, noisy))
        return 0

    disclosed, sent, _ = after(agent(script))
    assert isinstance(disclosed, Disclose)
    release = disclosed.release
    assert (release.scale, release.epsilon, release.block) == (2.0, 0.5, "round 1")
    drawn = np.random.default_rng(0).laplace(0.0, 2.0, 2) + np.array([1.0, 2.0])
    assert sent.message.sums == drawn.tolist()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (lambda me: 3, "agent 9's script has no yield"),
        (lambda me: (yield FromAll(Told, within=1.0)), "only the server can wait within a time"),
    ],
)
def test_what_is_no_script_is_said(script: Any, said: str) -> None:
    with pytest.raises(LocalProtocolError, match=said):
        after(agent(script, (1,)))


def test_a_refusal_by_the_script_is_its_own_mistake() -> None:
    def script(me: Any) -> Script:
        yield Pick
        raise RemoteProtocolError("mine", "too late")

    with pytest.raises(LocalProtocolError, match="refuses a message that it has taken: mine"):
        after(agent(script), Received(COORDINATOR, Pick(1)))


def explorer(log: list[Any]) -> ScriptMachine:
    def script(me: Any) -> Script:
        for _ in range(3):
            log.append((yield PullUntil([1, 0], lambda rewards: rewards[0] > 0)).tolist())
            log.append([kept.message.round for kept in (yield Pending(Told))])
        return 1

    return agent(script, (0, 1))


def test_it_explores_until_it_acts_or_hears_something() -> None:
    log: list[Any] = []
    machine = explorer(log)
    assert machine.handle(Started(), 0.0) == [Explore((1, 0))]
    assert machine.awaited == 0
    ahead = np.zeros((2, 500))
    assert machine.lookahead(ahead) == 500
    ahead[0, 300] = 1.0
    assert machine.lookahead(ahead) == 300
    ahead[0, 7] = 1.0
    assert machine.lookahead(ahead) == 7
    assert machine.handle(Observed((1, 0), ahead[:, :2]), 2.0) == [Explore((1, 0))]
    assert machine.handle(told(1, 4), 2.0) == [Explore((1, 0))]
    assert machine.handle(Observed((1, 0), ahead[:, :1]), 3.0) == [Finish("finished", 1)]
    assert log == [[[0.0, 0.0]] * 2, [], [[], []], [4], [[0.0], [0.0]], []]


def test_a_bad_message_does_not_end_the_exploring() -> None:
    log: list[Any] = []
    machine = explorer(log)
    machine.handle(Started(), 0.0)
    with pytest.raises(RemoteProtocolError, match="wrong-length"):
        machine.handle(Received(1, Told(0, [0.0])), 1.0)
    assert log == []


def test_what_looks_ahead_must_answer_for_each_turn() -> None:
    def script(me: Any) -> Script:
        yield PullUntil([0], lambda rewards: True)

    machine = agent(script)
    machine.handle(Started(), 0.0)
    with pytest.raises(LocalProtocolError, match=r"shape \(\) for 5 turns"):
        machine.lookahead(np.zeros((1, 5)))

    def plain(me: Any) -> Script:
        yield Explore((0,))

    machine = agent(plain)
    machine.handle(Started(), 0.0)
    with pytest.raises(LocalProtocolError, match="write PullUntil"):
        machine.lookahead(np.zeros((1, 5)))


@pytest.mark.parametrize("event", [PeerLost(2), Received(2, Ended())])
@pytest.mark.parametrize("served", [False, True])
def test_an_agent_is_told_that_nobody_is_left_to_write_to_it(event: Any, served: bool) -> None:
    def script(me: Any) -> Script:
        try:
            yield Told
        except NobodyLeft as nobody:
            yield Finish(str(nobody)[:40], 0)

    me = SimpleNamespace(rank=9, arms=2, neighbours=(1, 2))
    machine = scripted(script, tells=True, served=served)(me)
    assert after(machine, Received(1, Ended())) == []
    end = machine.handle(event, 0.0)
    if served:  # the server may still write
        assert end == []
        end = machine.handle(Received(COORDINATOR, Ended()), 0.0)
    assert end == [Broadcast(Ended()), Finish("agent 9's script waits for One(Told), bu", 0)]
    alone = SimpleNamespace(rank=9, arms=2, neighbours=())
    assert scripted(script, tells=True, served=False)(alone).handle(Started(), 0.0) == end


def test_a_server_that_ends_before_its_agents_says_so_to_agents_with_neighbours() -> None:
    def script(me: Any) -> Script:
        yield Timer(1.0)
        return 1

    machine = scripted(script, tells=True)(SimpleNamespace(agents=1, arms=2))
    assert machine.handle(Started(), 0.0)[1:] == [Broadcast(Ended())]
    assert machine.handle(PeerFinished(0), 0.0) == [Finish("finished", 1)]
