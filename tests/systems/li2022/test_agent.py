"""Federated elimination's agents, alone and driven by hand (Li and Song 2022)."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.agent.host import AgentHost
from posse.coordinator.setups import agent_setups
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR, Abort, Pull, Pulled, Received, Started
from posse.protocol.noise import SeededNoise
from posse.protocol.wire import pack_floats
from posse_systems.li2022.agent import CdpAgent, DdpAgent, HdpAgent, LoneEliminator
from posse_systems.li2022.gis import Gis
from posse_systems.li2022.messages import Active, Adv, Data, Means, Quiet, Req, Schedule
from tests.support.federated import named, row
from tests.support.hosts import begin, frame, sources


def test_noise_of_the_private_mean_has_the_printed_deviation() -> None:
    """sd of the noise in ȳ after r rounds is sqrt(2r) / (M ε S); 4,000 agents, within 4 %.

    The deviation of a sample of 4,000 Laplace-like numbers has a relative error below 1.8 % (one
    standard error), so 4 % fails once in 40 seeds; the seed is fixed.
    """
    schedule = Schedule(arms=2, senders=1, horizon=10**7, epsilon=0.5)
    noise = []
    for seed in range(2_000):
        agent = LoneEliminator(2, schedule, SeededNoise(np.random.default_rng(seed)))
        order = agent.handle(Started(), 0.0)[0]
        for _ in range(2):
            assert isinstance(order, Pull)
            # rewards without noise of their own: mean .5 and .5, so that nothing is eliminated
            sums = np.full(2, 0.5 * order.times)
            order = agent.handle(Pulled((0, 1), order.times, sums), 0.0)[-1]
        total = schedule.observations(2, 2, schedule.observations(1, 2, 0))
        noise.append((agent.mean - 0.5) * total)
    assert np.std(np.concatenate(noise)) == pytest.approx(math.sqrt(2 * 2) / 0.5, rel=0.04)


def test_printed_ddp_shares_the_latest_means_only() -> None:
    schedule = Schedule(arms=2, senders=2, horizon=10**6, epsilon=1e9)
    for variant in ("corrected", "printed"):
        agent = DdpAgent(
            2,
            schedule,
            SeededNoise(np.random.default_rng(0)),
            Gis(0, 2, (1,), {"diameter": 1}),
            variant=variant,
        )
        pull = agent.handle(Started(), 0.0)[0]
        for r, mean in ((1, 0.4), (2, 0.6)):
            agent.handle(Pulled((0, 1), pull.times, np.full(2, mean * pull.times)), 0.0)
            agent.handle(Received(1, Adv(r, 1, (1,))), 0.0)
            agent.handle(Received(1, Req(r, 1, (0,))), 0.0)
            sent = agent.exchange.rows[0].copy()
            pull = agent.handle(Received(1, Data(r, 1, (1,), pack_floats(sent))), 0.0)[-1]
        latest = pytest.approx([0.6, 0.6], abs=1e-6)
        assert (sent == latest) == (variant == "printed")


@pytest.mark.parametrize(
    "bad",
    [Active(3, (0,)), Active(2, (0, 7)), Active(2, (1, 0)), Means(1, b"")],
)
def test_bad_decisions_are_refused_by_agents(bad: Any) -> None:
    run = named("cdp")
    setup = agent_setups(run, run.network(0))[0]
    host = AgentHost(setup, 0, sources())
    host.receive(COORDINATOR, begin(seed=5))
    host.step()
    host.receive(COORDINATOR, frame(bad, COORDINATOR, 1))
    assert sum(host.refused.values()) == 1
    good = Active(2, (0, 1))
    host.receive(COORDINATOR, frame(good, COORDINATOR, 2))
    assert host.busy


@pytest.mark.parametrize("system", ["ddp ring", "hdp"])
@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"round": 5_000}, "beyond-horizon"),  # 2^-5000 is 0
        ({"round": 2**52}, "beyond-horizon"),
        ({"round": 30}, "beyond-horizon"),
        ({"begun": 2**40}, "beyond-horizon"),
        ({"arms": [99]}, "no-such-arm"),
        ({"neighbours": [4, 5, 0]}, "no-such-agent"),
    ],
)
def test_agents_are_not_sent_to_a_round_that_nobody_can_have_come_to(
    system: str, wrong: dict[str, Any], why: str
) -> None:
    """Attack: the schedule of round 5,000 divided by zero, and the agent ended in a traceback."""
    run = named(system)
    setup = agent_setups(run, run.network(0))[0]
    host = AgentHost(setup, 0, sources())
    host.receive(COORDINATOR, begin(seed=5))
    host.receive(COORDINATOR, frame(control.Gone(1, exhausted=False), COORDINATOR, 1))
    assert host.run is not None
    machine = host.run.machine
    assert isinstance(machine, DdpAgent | HdpAgent)
    left = [n for n in range(run.spec.agents.count) if n != 1]
    whose = {"members": left} | ({"component": left} if system == "hdp" else {})
    known = msgspec.msgpack.encode(setup.knowledge | whose)
    told = control.Regroup(1, setup.neighbours, known, 2, 10, 10, (0, 1))
    before = machine.exchange
    host.receive(COORDINATOR, frame(msgspec.structs.replace(told, **wrong), COORDINATOR, 2))
    assert host.refused == {why: 1}
    assert (machine.stands, machine.present, machine.exchange is before) == (True, 1, True)
    host.receive(COORDINATOR, frame(told, COORDINATOR, 3))
    assert (machine.stands, machine.present) == (False, 2)


def test_missing_means_abort() -> None:
    agent = DdpAgent(
        2,
        Schedule(arms=2, senders=3, horizon=10**6, epsilon=1.0),
        SeededNoise(np.random.default_rng(0)),
        Gis(0, 3, (1,), {"diameter": 2}),
        variant="corrected",
    )
    pull = agent.handle(Started(), 0.0)[0]
    agent.handle(Pulled((0, 1), pull.times, np.full(2, 1.0)), 0.0)
    agent.handle(Received(1, Adv(1, 1, (1,))), 0.0)
    agent.handle(Received(1, Req(1, 1, (0,))), 0.0)
    agent.handle(Received(1, Data(1, 1, (1,), row(0, 0))), 0.0)
    agent.handle(Pulled((0,), 1, np.zeros(1)), 0.0)
    agent.handle(Received(1, Quiet(1, 2, "req")), 0.0)
    effects = agent.handle(Received(1, Quiet(1, 2, "adv")), 0.0)
    assert isinstance(effects[-1], Abort)
    assert "the first is agent 2's" in effects[-1].reason


def behind() -> CdpAgent:
    """An agent that is not asked for its means and has not explored round 1 yet; three arms."""
    schedule = Schedule(arms=3, senders=4, horizon=10**6, epsilon=1.0)
    agent = CdpAgent(3, schedule, SeededNoise(np.random.default_rng(1)), partial=True)
    assert agent.handle(Started(), 0.0) == []
    (pull,) = agent.handle(Received(COORDINATOR, Active(1, (0, 1, 2), upload=False)), 0.0)
    assert pull == Pull((0, 1, 2), agent.schedule.observations(1, 3, 0))
    return agent


def test_an_agent_behind_takes_two_decisions_in_order() -> None:
    """The server waits for others; both came while this agent explored round 1."""
    agent = behind()
    assert agent.handle(Received(COORDINATOR, Active(2, (0, 2), upload=False)), 0.0) == []
    assert agent.handle(Received(COORDINATOR, Active(3, (2,), upload=False)), 0.0) == []
    first = agent.observed
    (*_, pull) = agent.handle(Pulled((0, 1, 2), first, np.ones(3)), 0.0)
    assert pull == Pull((0, 2), agent.schedule.observations(2, 2, first) - first)
    (*_, last) = agent.handle(Pulled((0, 2), pull.times, np.ones(2)), 0.0)
    assert last == Pull((2,), 10**6 - 3 * first - 2 * pull.times)
    assert agent.decisions == []


def test_no_more_decisions_are_kept_than_rounds_fit_into_the_horizon() -> None:
    """Round r takes S(r) pulls of two arms at least: counted here one by one."""
    agent = behind()
    fit = 0
    while 2 * agent.schedule.observations(fit + 1, 2, fit) <= agent.schedule.horizon:
        fit += 1
    for round_ in range(2, fit + 2):
        agent.handle(Received(COORDINATOR, Active(round_, (0, 1, 2), upload=False)), 0.0)
    assert 5 < len(agent.decisions) == fit < 15
    with pytest.raises(RemoteProtocolError, match="beyond-horizon"):
        agent.handle(Received(COORDINATOR, Active(fit + 2, (0, 1, 2), upload=False)), 0.0)
    assert len(agent.decisions) == fit
