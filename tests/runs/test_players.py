"""Players that share arms and collide, run: TDFS, what it costs and what it protects."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from posse import system as systems
from posse.engines import memory
from posse.plan import prepare
from posse.protocol.machine import COORDINATOR, Send, Started
from posse.protocol.message import Plane
from posse_systems.tossou2015.messages import Choice, jain
from tests.support.players import SYSTEMS, spec
from tests.support.runs import assert_same_run, detail, with_machines


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_run_whose_frames_somebody_hears_is_the_same(system):
    """Without frames players and medium hand each other their messages."""
    run, frames = spec(system, horizon=300), []
    heard = memory.run(run, 0, tap=lambda *frame: frames.append(frame))
    alone = memory.run(run, 0)
    assert_same_run(heard, alone)
    assert heard.links == alone.links
    assert heard.detail == alone.detail
    assert sum(link.messages for link in alone.links) == len(frames)


def test_the_world_is_a_plane_of_its_own_and_players_hear_only_the_medium():
    record = memory.run(spec(horizon=100), 0)
    assert record.communication.data.messages == 0
    assert record.communication.cost == 0
    world = [link for link in record.links if link.plane == Plane.WORLD]
    assert {(link.source, link.target, link.kind, link.messages) for link in world} == {
        *((n, COORDINATOR, "Choice", 100) for n in range(3)),
        *((COORDINATOR, n, "Outcome", 100) for n in range(3)),
    }


@pytest.mark.parametrize("collision", [1, 2])
def test_regret_is_that_of_equation_2(collision):
    """With means 0 and 1 every payoff is known: R = T sum of the M best means - sum of payoffs."""
    run = spec(horizon=200, means=[0, 1, 1, 0, 0], collision=collision)
    record = memory.run(run, 0)
    summary = detail(record).players
    assert record.regret == 200 * 2 - sum(summary.reward_per_player)
    assert record.regret_curve[-1] == [200.0, record.regret]
    regrets = [r for _, r in record.regret_curve]
    assert regrets == sorted(regrets)  # two good arms for three players: never below 0 per slot
    assert summary.jain_index == jain(summary.reward_per_player)
    assert summary.collision_curve[-1] == [200.0, summary.collisions]
    if collision == 2:
        assert summary.collisions > 0
    assert sum(record.pulls_per_arm) == 600


def test_tdfs_gives_every_player_its_share():
    """Ranks go round, so that three players earn about the same; random players too."""
    summary = detail(memory.run(spec(horizon=3000), 0)).players
    assert summary.jain_index > 0.99
    # learned: clearly above the mean reward of a random player, 3 x 0.155 per slot at the most
    assert sum(summary.reward_per_player) > 0.6 * 3000


@pytest.mark.parametrize("shared", [False, True])
def test_payoffs_have_one_law_whether_samples_are_shared_or_not(shared):
    """A lone or winning player gets a Bernoulli(.5) sample either way: .5 per arm that is played.

    1.5 arms a slot; 4 standard deviations of 2,000 slots are below 130.
    """
    record = memory.run(spec("random-player", 2, 2000, [0.5, 0.5], shared_sample=shared), 0)
    assert sum(detail(record).players.reward_per_player) == pytest.approx(1500, abs=130)


@pytest.mark.parametrize("split", ["half", "tossou"])
@pytest.mark.parametrize("system", ["tdfs-private", "tdfs-private-bound"])
def test_privacy_spent(system, split):
    record = memory.run(spec(system, horizon=400, split=split), 0)
    share = 1.0 if split == "half" else 1 + 1 / math.log(2)
    assert record.privacy.spent_per_agent == pytest.approx([0.5 * share] * 3)
    assert record.privacy.claim.holds == (split == "half")


@pytest.mark.parametrize("counter", ["tree", "honaker"])
@pytest.mark.parametrize("system", ["tdfs-private", "tdfs-private-bound"])
def test_counters_over_a_known_horizon_cost_the_same_epsilon(system, counter):
    privacy = memory.run(spec(system, horizon=400, counter=counter, epsilon=0.5), 0).privacy
    assert privacy.spent_per_agent == pytest.approx([0.5] * 3)
    trees = 1 if system == "tdfs-private" else 10  # a tree per arm
    assert privacy.releases_per_agent == [trees] * 3


def test_found_offsets_settle():
    """Where the arms are far apart the players' orders agree, and only equal offsets collide."""
    run = spec(horizon=4000, means=[0.95, 0.7, 0.45, 0.05], offsets="found", seed=2)
    record = memory.run(run, 0)
    last = [log["offsets"][-1][1] for log in record.agent_logs]
    assert sorted(last) == [1, 2, 3]
    curve = detail(record).players.collision_curve
    slots, collisions = zip(*curve, strict=True)
    early = np.interp(1000, slots, collisions)
    assert curve[-1][1] - early < 0.25 * early + 60
    assert memory.run(spec(), 0).agent_logs == [{}, {}, {}]  # agreed: nothing is drawn


@dataclasses.dataclass
class Faulty:
    """A random player that does one thing wrong in slot 5, if it is player 1."""

    inner: Any
    rank: int
    fault: str

    def handle(self, event, now):
        effects = list(self.inner.handle(event, now))
        if self.rank != 1 or self.inner.slot != 5 or isinstance(event, Started):
            return effects
        if self.fault == "silent":
            return []
        if self.fault == "answered-twice":
            return effects * 2
        if self.fault == "ahead":
            return [Send(COORDINATOR, Choice(9, 0))]
        return [Send(COORDINATOR, Choice(5, 10))]


@pytest.mark.parametrize("on_missing", ["end", "continue"])
@pytest.mark.parametrize("fault", ["silent", "answered-twice", "no-such-arm", "ahead"])
def test_a_faulty_player_is_named_and_counted(monkeypatch, fault, on_missing):
    system = systems.get_system("random-player")

    def faulty(context):
        return Faulty(system.agent.make(context), context.rank, fault)

    monkeypatch.setitem(systems._LOADED, "random-player", with_machines(system, agent=faulty))
    run = spec("random-player", horizon=50, engine={"on_missing": on_missing})
    record = memory.run(run, 0)
    reason = "silent" if fault == "ahead" else fault
    assert record.dismissed == {1: reason}
    assert record.refused[reason] == 1
    assert record.refused.get("out-of-turn", 0) == (fault == "ahead")
    (row,) = record.log["dismissed"]
    assert row[1] == 1
    if on_missing == "end":
        assert record.status == "missing"
        assert record.slots == 4
    else:
        assert (record.status, record.slots) == ("horizon", 50)
        assert record.pulls_per_agent == [50, 4, 50]


def test_arms_that_run_out_end_the_run(tmp_path):
    (tmp_path / "arms.csv").write_text("arm,reward\n" + "0,1\n1,0\n" * 30)
    run = prepare(
        {
            "system": "random-player",
            "agents": {"count": 2},
            "arms": {"kind": "csv", "path": "arms.csv", "count": 2},
            "parameters": {"horizon": 1000},
            "base": str(tmp_path),
        }
    )
    record = memory.run(run, 0)
    assert record.status == "exhausted"
    assert "rewards left" in record.exhausted[COORDINATOR]
    assert record.regret is None
    # both players on an arm see its one sample of that slot
    assert 30 <= max(record.pulls_per_arm) <= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "variant", "parameters", "published"),
    [
        ("tdfs-ucb", "corrected", {}, 357),
        ("tdfs-private", "corrected", {"epsilon": 1.0}, 2849),
        ("tdfs-private-bound", "corrected", {"epsilon": 0.1}, 7776),
    ],
)
def test_reference_regret(system, variant, parameters, published):
    """One player, T = 20,000: ten runs against an independent simulation of one hundred.

    One seed; four standard errors of ten runs would be exceeded by 3 seeds in 1,000 per case.
    """
    run = spec(system, 1, 20_000, variant=variant, **parameters)
    regrets = np.array([memory.run(run, number).regret for number in range(10)])
    error = max(regrets.std(ddof=1) / 10**0.5, 0.005 * published)
    assert regrets.mean() == pytest.approx(published, abs=4 * error)


@pytest.mark.slow
def test_the_printed_bound_starves_the_best_arm():
    """At n = 1 the printed privacy term is 0 and the noise is not: at epsilon = .1 about half of
    all runs pull the best arm once. Of 12 runs at least one does but 1 time in 4,000."""
    starved = {}
    for variant in ("printed", "corrected"):
        run = spec("tdfs-private-bound", 1, 20_000, variant=variant, epsilon=0.1)
        records = [memory.run(run, number) for number in range(12)]
        starved[variant] = sum(r.pulls_per_arm[5] <= 2 for r in records)
    assert starved["printed"] >= 1
    assert starved["corrected"] == 0
