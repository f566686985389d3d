"""CDP-MAB with shared noise, agents and server over a fake link: what the server can read."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from posse.agent.masking import SumMasker
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import (
    COORDINATOR,
    Broadcast,
    Finish,
    Pull,
    Pulled,
    Received,
    Send,
    Started,
)
from posse.protocol.masking import (
    Confirm,
    Keys,
    Masked,
    Settle,
    Survivors,
    Unmask,
)
from posse_systems.li2022.shared import SharedNoise, SharedSchedule
from posse_systems.li2022.shared_agent import SharedNoiseAgent
from posse_systems.li2022.shared_server import SharedNoiseServer
from tests.support.conversations import examples
from tests.support.noise import KnownNoise

AGENTS, ARMS = 4, 3
SHARED = SharedNoise(AGENTS, epsilon=1.0, delta=1e-6, honest=0.5, precision=16)


SCHEDULE = SharedSchedule(
    deviation=SHARED.total, arms=ARMS, senders=AGENTS, horizon=10**5, epsilon=1.0
)


def make_agents():
    return [
        SharedNoiseAgent(
            ARMS, SCHEDULE, KnownNoise(),
            masker=SumMasker(n, AGENTS, bytes([n + 1] * 32)), shared=SHARED,
        )
        for n in range(AGENTS)
    ]  # fmt: skip


def server():
    return SharedNoiseServer(ARMS, AGENTS, SCHEDULE, shared=SHARED)


def sent(effects):
    return [effect.message for effect in effects if isinstance(effect, Send)]


def started():
    """Agents and a server that have exchanged keys; the agents' first orders."""
    machines, machine = make_agents(), server()
    machine.handle(Started(), 0.0)
    said = []
    for n, one in enumerate(machines):
        (key,) = sent(one.handle(Started(), 0.0))
        said = machine.handle(Received(n, key), 0.0)
    (keys,) = [effect.message for effect in said if isinstance(effect, Broadcast)]
    orders = [one.handle(Received(COORDINATOR, keys), 0.0)[0] for one in machines]
    return machines, machine, orders


def explored(machines, orders, means):
    """Each agent's masked sums of the first round, of rewards that are all `means`."""
    out = []
    for one, order in zip(machines, orders, strict=True):
        assert isinstance(order, Pull)
        effects = one.handle(Pulled(order.arms, order.times, order.times * np.array(means)), 0.0)
        out += sent(effects)
    return out


def test_two_rounds_are_averaged_by_their_observations():
    machines, machine, orders = started()
    total = np.zeros(ARMS)
    for round_, means in ((1, [0.50, 0.45, 0.4]), (2, [0.6, 0.5, 0.4])):
        active = machine.active
        for n, message in enumerate(explored(machines, orders, [means[k] for k in active])):
            machine.handle(Received(n, message), 0.0)
        decided = []
        for n, one in enumerate(machines):
            (seed,) = sent(one.handle(Received(COORDINATOR, Unmask(round_)), 0.0))
            decided = machine.handle(Received(n, seed), 0.0)
        total[list(active)] += orders[0].times * np.array([means[k] for k in active])
        (announced,) = [effect.message for effect in decided if isinstance(effect, Broadcast)]
        orders = [one.handle(Received(COORDINATOR, announced), 0.0)[0] for one in machines]
        expected = total[list(machine.active)] / machine.observed
        average = machine.average[list(machine.active)]
        np.testing.assert_allclose(average, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("rewards", "added", "status"),
    [
        (1.0, 0, None),  # all that n agents can have got
        (0.0, 0, None),
        (1.0, SHARED.farthest * 0.99, None),
        (0.0, -SHARED.farthest * 0.99, None),
        (1.0, SHARED.farthest * 1.01, "implausible"),
        (0.0, -SHARED.farthest * 1.01, "implausible"),
        (0.5, 2.0**40, "implausible"),
    ],
)
def test_a_sum_that_no_honest_agents_can_have_sent_decides_nothing(rewards, added, status):
    """One agent adds to the masked word of one arm; nobody else sees what it sent."""
    machines, machine, orders = started()
    reports = explored(machines, orders, [rewards] * ARMS)
    words = np.frombuffer(reports[2].words, dtype="<u8").copy()
    words[1] = (int(words[1]) + int(added * 2**SHARED.precision)) % 2**64
    reports[2] = Masked(1, words.tobytes())
    decided = []
    for n, report in enumerate(reports):
        machine.handle(Received(n, report), 0.0)
    for n, one in enumerate(machines):
        (seed,) = sent(one.handle(Received(COORDINATOR, Unmask(1)), 0.0))
        decided = machine.handle(Received(n, seed), 0.0)
    (ends,) = [e.status for e in decided if isinstance(e, Finish)] or [None]
    assert ends == status
    assert machine.best is None or not status


def test_an_agent_settles_also_if_it_is_told_that_all_who_may_be_lost_are_lost():
    """The coordinator tells agent 0 of a loss, and the others that agent 0 is lost."""
    shared = SharedNoise(5, epsilon=1.0, delta=1e-6, honest=1.0, precision=16, dropouts=1)
    agents = [
        SharedNoiseAgent(
            ARMS, SCHEDULE, KnownNoise(), shared=shared,
            masker=SumMasker(n, 5, bytes([n + 1] * 32), dropouts=1),
        )
        for n in range(5)
    ]  # fmt: skip
    keys = {n: sent(one.handle(Started(), 0.0))[0].key for n, one in enumerate(agents)}
    few = {n: key for n, key in keys.items() if n != 4}
    for n, one in enumerate(agents):
        (order,) = one.handle(Received(COORDINATOR, Keys(keys if n else few)), 0.0)
        assert isinstance(order, Pull)
        one.handle(Pulled(order.arms, order.times, 0.5 * order.times * np.ones(ARMS)), 0.0)
    tags = {}
    for n in (1, 2, 3):
        agents[n].handle(Received(COORDINATOR, Survivors(1, (1, 2, 3, 4))), 0.0)
    for n in (0, 1, 2, 3):
        (settled,) = sent(agents[n].handle(Received(COORDINATOR, Settle(1)), 0.0))
        tags[n] = settled.tags
    theirs = b"".join(tags[n][:16] for n in (1, 2, 3))
    for asked in (Unmask(1), Confirm(1, bytes(48)), Confirm(1, theirs)):
        with pytest.raises(RemoteProtocolError, match="not-settled"):
            agents[0].handle(Received(COORDINATOR, asked), 0.0)


@examples(Path(__file__).with_name("shared_server.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
