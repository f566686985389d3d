"""Arms whose means change, or whose rewards come late: laws, regret, refusals, both engines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import posse
from posse.arms import ArmsSpec
from tests.support.conversations import examples
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


def _run(raw: dict[str, Any], **more: Any) -> dict[str, Any]:
    return describe_run("ucb1", 2, raw, parameters={"horizon": 40}, engine="memory", seed=4) | more


@settings(max_examples=6)
@given(st.integers(0, 9))
@example(3)
def test_rewards_that_come_late_cost_each_arm_its_delay_once_and_change_nothing_else(
    delay: int,
) -> None:
    """The rewards of an arm are the same; so is the choice, after `delay` more pulls of each."""
    at_once, late = (
        posse.run(_run({**LATE, "means": [1.0, 0.25], "delay": slots})).runs[0]
        for slots in (0, delay)
    )
    assert at_once.slots == 40
    assert late.slots == 40 + 2 * delay
    assert late.pulls == at_once.pulls + 2 * 2 * delay  # agents, arms, slots


@pytest.mark.slow
@pytest.mark.parametrize("raw", [JUMP, DRIFT, {**DRIFT, "sd": 0.01, "delay": 2}, LATE])
def test_both_engines_give_the_same_run(raw: dict[str, Any]) -> None:
    more = {"system": "cooperative-ucb", "topology": {"kind": "complete"}}
    one, other = (
        posse.run(_run(raw, **more, engine={"kind": kind})).runs[0]
        for kind in ("memory", "processes")
    )
    assert_same_run(one, other)


@examples(Path(__file__).with_name("changing.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
