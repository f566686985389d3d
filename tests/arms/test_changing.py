"""Arms whose means change, or whose rewards come late: laws, regret, refusals, both engines."""

from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

import posse
from posse.arms import ArmsSpec
from posse.arms.changing import Timed, Walk
from posse.errors import SpecError
from posse.experiments import prepare
from tests.support.arms import ERROR_RATE, build
from tests.support.runfile import describe_run
from tests.support.runs import assert_same_run

JUMP = {"kind": "piecewise", "pieces": [[1.0, 0.0], [0.0, 1.0]], "changes": [5]}
DRIFT = {"kind": "drift", "means": [0.9, 0.2], "speed": [0.1, -0.1]}
LATE = {"kind": "delayed", "means": [0.7, 0.4], "delay": 3}


def _means(raw: dict[str, Any], *slots: int) -> list[list[float]]:
    arms = msgspec.convert(raw, ArmsSpec)
    table = arms.means_at(np.random.default_rng(1), 0)(np.array(slots))
    rounded: list[list[float]] = table.round(12).tolist()
    return rounded


def test_the_means_of_a_piece_hold_from_its_first_slot_to_its_last() -> None:
    assert _means(JUMP, 0, 4, 5, 1000) == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_means_that_drift_are_reflected_at_0_and_1() -> None:
    assert _means(DRIFT, 0, 1, 2, 3, 12) == [[0.9, 0.2], [1, 0.1], [0.9, 0], [0.8, 0.1], [0.1, 1]]


def test_a_walk_is_the_same_for_all_who_ask_and_its_steps_have_their_deviation() -> None:
    first, second = (Walk(np.random.default_rng(3), 2, 0.1) for _ in range(2))
    late = second(np.array([3000]))
    path = first(np.arange(3001))
    assert (path[3000] == late[0]).all()
    assert (path[0] == 0).all()
    assert stats.kstest(np.diff(path, axis=0).ravel() / 0.1, "norm").pvalue > ERROR_RATE


def test_an_order_pulls_its_arms_in_turn_each_in_a_slot_of_its_own() -> None:
    arms = build(JUMP)
    assert isinstance(arms, Timed)
    # arm 0 is pulled in the slots 0, 2, 4, 6 and arm 1 in 1, 3, 5, 7; the means jump in slot 5
    assert arms.turns((0, 1), 4).tolist() == [[1, 1, 1, 0], [0, 0, 1, 1]]
    assert arms.draw(1, 2).tolist() == [1, 1]


def _run(raw: dict[str, Any], **more: Any) -> dict[str, Any]:
    return describe_run("ucb1", 2, raw, parameters={"horizon": 40}, engine="memory", seed=4) | more


def test_regret_is_against_the_arm_that_is_best_in_each_slot() -> None:
    """Two agents: one pull of each arm, then arm 0, which from slot 5 on is the wrong one."""
    run = posse.run(_run(JUMP, parameters={"horizon": 6})).runs[0]
    assert run.pulls_per_arm == [5 * 2, 1 * 2]
    assert run.regret == 2 * (1 + 1)  # arm 1 in slot 1, arm 0 in slot 5


def test_rewards_that_come_late_cost_each_arm_its_delay_once_and_change_nothing_else() -> None:
    """The rewards of an arm are the same; so is the choice, after `delay` more pulls of each."""
    runs = {}
    for delay in (0, 3):
        runs[delay] = posse.run(_run({**LATE, "means": [1.0, 0.25], "delay": delay})).runs[0]
    at_once, late = runs[0], runs[3]
    assert at_once.slots == 40
    assert late.slots == 40 + 2 * 3
    assert late.pulls == at_once.pulls + 2 * 2 * 3  # agents, arms, slots


@pytest.mark.slow
@pytest.mark.parametrize("raw", [JUMP, DRIFT, {**DRIFT, "sd": 0.01, "delay": 2}, LATE])
def test_both_engines_give_the_same_run(raw: dict[str, Any]) -> None:
    more = {"system": "cooperative-ucb", "topology": {"kind": "complete"}}
    one, other = (
        posse.run(_run(raw, **more, engine={"kind": kind})).runs[0]
        for kind in ("memory", "processes")
    )
    assert_same_run(one, other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({**JUMP, "changes": []}, "pieces has 2 lists of means for 0 changes"),
        ({**JUMP, "pieces": [[0.1, 0.2], [0.3, 0.4, 0.5]]}, "the same number of means"),
        ({**JUMP, "pieces": [[0, 1]] * 3, "changes": [5, 5]}, r"changes = \[5, 5\] must increase"),
        ({**DRIFT, "speed": [0.1]}, "speed has 1 numbers for 2 means"),
        ({**DRIFT, "speed": [0, 0]}, "need a speed or an sd"),
        ({**LATE, "delay": -1}, "arms.delay"),
    ],
)
def test_a_table_that_says_nothing_sensible_is_refused_in_one_sentence(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        prepare(_run(change))


@pytest.mark.parametrize("raw", [JUMP, DRIFT, LATE])
@pytest.mark.parametrize(
    ("system", "parameters", "said"),
    [
        ("mase", {}, "set engine.clock = 'wall'"),
        ("tdfs-ucb", {"horizon": 40}, "share their arms"),
    ],
)
def test_slots_of_an_agent_need_arms_of_its_own_that_nobody_looks_ahead_of(
    raw: dict[str, Any], system: str, parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(SpecError, match=said):
        prepare(_run(raw, system=system, parameters=parameters))


@pytest.mark.parametrize("raw", [JUMP, DRIFT, LATE])
def test_no_bound_is_drawn_for_them(raw: dict[str, Any]) -> None:
    assert "means that stay" in prepare(_run(raw)).bound(0).note
