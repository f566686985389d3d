"""Federated elimination, run: both engines alike, costs in closed form, every slot used."""

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.arms.bernoulli import Bernoulli
from posse.engines import memory
from posse.results.record import RunRecord
from posse_systems.li2022.messages import Schedule
from tests.support.federated import RUNS, named, spec
from tests.support.runs import detail


def agents_log(record: RunRecord, name: str) -> list[list[float]]:
    return record.agent_logs[0][name]


@pytest.mark.parametrize("name", RUNS)
def test_measured_cost_is_the_closed_form(name: str) -> None:
    record = memory.run(named(name), 0)
    closed = record.communication.closed_form
    if not closed:
        assert name in ("ddp gossip", "single")
        return
    assert closed.exact
    assert record.communication.cost == closed.cost
    assert record.communication.rounds == record.rounds
    assert record.rounds > 0


@pytest.mark.parametrize("name", RUNS)
@settings(max_examples=3)
@given(horizon=st.integers(1, 20_000))
@example(horizon=1)
@example(horizon=4)
@example(horizon=5)
@example(horizon=20_000)
def test_every_agent_uses_exactly_the_horizon(name: str, horizon: int) -> None:
    record = memory.run(named(name, parameters={"horizon": horizon}), 0)
    agents = RUNS[name][1]
    assert record.slots == horizon
    assert record.pulls_per_agent == [horizon] * agents
    if horizon == 20_000:
        assert (record.status, record.best_arm) == ("identified", 0)
    if horizon < 5:
        # cut in the first round: one pull of each arm in turn
        assert record.pulls_per_arm == [agents] * horizon + [0] * (5 - horizon)
        assert (record.status, record.best_arm) == ("horizon", None)


def test_pulls_of_cdp_follow_the_schedule() -> None:
    record = memory.run(named("cdp"), 0)
    schedule = Schedule(arms=5, senders=8, horizon=20_000, epsilon=1.0)
    before, active, used = 0, 5, 0
    for (_, r, size, total, new), (_, _, left, _, _) in zip(
        agents_log(record, "explored"), record.log["rounds"], strict=True
    ):
        assert size == active
        assert total == schedule.observations(int(r), active, before)
        assert new == total - before
        used += active * int(new)
        before, active = int(total), int(left)
    assert active == 1
    assert record.pulls_per_arm[0] == 8 * (before + 20_000 - used)


def test_ring_of_gis_pays_the_delay_in_pulls_of_one_arm() -> None:
    """t_delay = d_G - 1 or d_G slots per round; a complete graph is CDP to the bit at d_G - 1."""
    cdp = memory.run(named("cdp"), 0)
    same = memory.run(spec("ddp-mab", 8, {"kind": "complete"}), 0)
    assert same.pulls_per_arm == cdp.pulls_per_arm
    assert same.regret == cdp.regret
    assert same.delay.t_delay == [0] * same.rounds
    ring = memory.run(spec("ddp-mab", 8, {"kind": "ring"}), 0)
    assert ring.delay.t_delay == [3] * ring.rounds
    longer = memory.run(spec("ddp-mab", 8, {"kind": "ring"}, parameters={"t_delay": "diameter"}), 0)
    assert longer.delay.t_delay == [4] * longer.rounds
    assert longer.delay.exchange_slots == ring.delay.exchange_slots == [4] * ring.rounds


@pytest.mark.parametrize(("t_delay", "slots"), [("diameter-1", 3), ("diameter", 4)])
def test_a_horizon_inside_a_delay_delivers_and_counts_nothing(t_delay: str, slots: int) -> None:
    """Round 1 explores in 180 slots; its means are there after as many as the delay has."""
    rounds = []
    for after in (slots - 1, slots):
        parameters = {"horizon": 180 + after, "t_delay": t_delay}
        run = spec("ddp-mab", 8, {"kind": "ring"}, parameters=parameters)
        rounds.append(memory.run(run, 0).rounds)
    assert rounds == [0, 1]


def test_partial_participation_asks_other_agents_in_each_round() -> None:
    record = memory.run(named("cdp partial"), 0)
    assert record.communication.links.agent_coordinator == 4 * record.rounds  # ceil(.4 * 8)
    assert record.communication.cost == 25 * 4 * record.rounds
    assert max(record.privacy.spent_per_agent) == pytest.approx(4.0)  # n ε


def test_privacy_ledger_is_m_epsilon_as_printed_and_epsilon_per_agent() -> None:
    printed = memory.run(named("cdp"), 0)
    assert printed.privacy.spent_per_agent == pytest.approx([8.0] * 8)
    honest = memory.run(named("cdp per agent"), 0)
    assert honest.privacy.spent_per_agent == pytest.approx([1.0] * 8)
    assert honest.regret > printed.regret


@pytest.mark.parametrize("name", ["cdp R rounds", "ddp R rounds", "hdp R rounds"])
def test_r_rounds_end_with_one_arm(name: str) -> None:
    record = memory.run(named(name, parameters={"max_rounds": 1}), 0)
    assert (record.rounds, record.status, record.best_arm) == (1, "identified", 0)


@pytest.mark.parametrize("name", ["cdp R rounds", "ddp R rounds", "hdp R rounds"])
def test_the_three_structures_aim_at_the_same_gaps_in_r_rounds(name: str) -> None:
    """Δ̃_r = Δ^(r/R), Δ = .2, R = 2: S(r) by hand (section IV-B, Corollaries 1 and 2)."""
    m = RUNS[name][1]
    record = memory.run(named(name), 0)
    assert record.rounds <= 2
    wanted = []
    for row in detail(record).explored:
        r, aim = row.round, 0.2 ** (row.round / 2)
        statistical = 8 * math.log(8 * row.active * r**2 * 20_000) / (m * aim**2)
        private = 8 * r * math.sqrt(2 * math.log(8 * 5 * r**2 * 20_000)) / (m**1.5 * aim)
        wanted.append(math.ceil(max(statistical, private)))
    assert [row.observations for row in detail(record).explored] == wanted


def test_heterogeneous_arms_have_global_and_local_regret() -> None:
    """Agents whose own best arm differs: alone each finds its own, together the global one."""
    means = [[0.9, 0.5, 0.1], [0.2, 0.6, 0.1], [0.9, 0.6, 0.1]]
    arms = {"kind": "bernoulli", "means": means}  # global means: .667, .567, .1
    alone = memory.run(spec("single-mab", 3, arms=arms), 0)
    assert alone.answers == [0, 1, 0]
    assert alone.status == "no_consensus"
    together = memory.run(spec("cdp-mab", 3, arms=arms, parameters={"horizon": 200_000}), 0)
    assert together.best_arm == 0
    assert together.regret_local > together.regret
    assert alone.regret > 0.05 * 20_000  # agent 1 plays arm 1, .1 worse by the global means


def test_draws_do_not_grow_with_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards are drawn in sums: as many draws for ten times the slots."""
    draws: list[int] = []
    draw, totals = Bernoulli.draw, Bernoulli.totals

    def counted(self: Any, arm: int, count: int) -> Any:
        draws.append(count)
        return draw(self, arm, count)

    def summed(self: Any, arms: Any, times: int) -> Any:
        draws.append(len(arms))
        return totals(self, arms, times)

    monkeypatch.setattr(Bernoulli, "draw", counted)
    monkeypatch.setattr(Bernoulli, "totals", summed)

    def drawn(horizon: int) -> int:
        draws.clear()
        memory.run(named("ddp ring", parameters={"horizon": horizon}), 0)
        return sum(draws)

    few, many = drawn(10**6), drawn(10**7)
    assert many < 2 * few < 20_000


@pytest.mark.parametrize("system", ["cdp-mab", "ddp-mab", "hdp-mab"])
def test_the_rounds_of_who_is_alone_are_counted(system: str) -> None:
    graph = None if system == "cdp-mab" else {"kind": "single"}
    arms = {"kind": "bernoulli", "means": [1.0, 0.0]}
    record = memory.run(spec(system, 1, graph, arms=arms, parameters={"horizon": 10_000}), 0)
    assert (record.status, record.rounds) == ("identified", 1)
