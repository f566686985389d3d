"""`posse.testing.simulate`."""

import pytest

from posse import testing
from posse.errors import SpecError
from posse.live.desk import Desk
from posse.testing.simulator.faults import InjectedFault, draw_mode
from posse.testing.simulator.field import field_plan
from posse.testing.small import SMALL


def test_each_seed_of_a_specification_is_tried() -> None:
    source = {"system": "mase", **SMALL["mase"], "engine": {"durable": True}}
    trials = list(testing.simulate(source, seeds=range(3), kinds=("delay", "cut", "kill")))
    assert [trial.seed for trial in trials] == [0, 1, 2]
    assert all(trial.faults and not trial.violations for trial in trials)


def test_given_faults_are_those_of_every_seed() -> None:
    cut = InjectedFault(what="cut", after=5, ends=(-1, 0), lasts=0.5)
    (trial,) = testing.simulate({"system": "mase", **SMALL["mase"]}, seeds=[4], faults=[cut])
    assert trial.faults == [cut]
    assert any(event.what == "cut" for event in trial.events)


def test_a_specification_with_a_network_is_tried_wherever_a_seed_has_its_agents() -> None:
    source = {"system": "ucb1", **SMALL["ucb1"], "network": {"delay": 0.01}}
    source["engine"] = {"transport": "tcp"}
    seed = next(n for n in range(100) if draw_mode(n) == "started")
    assert [t.violations for t in testing.simulate(source, seeds=[seed])] == [[]]


def test_a_run_of_the_field_is_refused_before_it_uses_up_rewards() -> None:
    with pytest.raises(SpecError, match="mode: is 'field', and simulated runs would use up your"):
        next(testing.simulate(field_plan("dp-mase"), seeds=[1]))


LIVE = {
    "system": "cdp-mab",
    "mode": "field",
    "agents": {"count": 2},
    "arms": {"kind": "live", "count": 3, "listen": "unix:shop-{rank}.sock", "on_timeout": 0.0},
    "parameters": {"horizon": 100, "epsilon": 1.0},
    "privacy": {"person": "name"},
}


@pytest.mark.parametrize("mode", ["field", "lab"])
def test_of_a_run_with_live_arms_the_applications_are_drawn(mode) -> None:
    trials = list(testing.simulate({**LIVE, "mode": mode}, seeds=[0, 1]))
    assert [trial.violations for trial in trials] == [[], []]
    assert trials[0].durable is (mode == "field")


def test_a_told_reward_that_is_used_twice_is_found(monkeypatch) -> None:
    def told_again(self, number, key, value):
        self._rewards[0].append(value)
        return True

    monkeypatch.setattr(Desk, "_told_again", told_again)
    source = {**LIVE, "mode": "lab"}
    found = [v for t in testing.simulate(source, seeds=[0], kinds=["cut"]) for v in t.violations]
    assert "a told reward is used once" in {violation.invariant for violation in found}
