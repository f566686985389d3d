"""The user's own arms: what they are told, and whose mistake is named."""

import re
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from posse.arms import ArmsSpec
from posse.arms.persons import Persons
from posse.engines import memory
from posse.errors import ArmsError, PosseError
from posse.plan import prepare
from tests.support.arms import DOCS, PYTHON, build, context
from tests.support.conversations import examples

NO_ARMS = ("none", "number", "leaves")


class Scripted:
    """Arms that return, or raise, what a test wants."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def pull(self, arm: int, count: int) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(arm, count) if callable(self.answer) else self.answer


def build_with(persons: Persons) -> Any:
    return msgspec.convert(PYTHON, ArmsSpec).build(replace(context(), persons=persons))


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    made = types.ModuleType("scripted_arms")
    monkeypatch.setitem(sys.modules, "scripted_arms", made)
    return made


def test_the_documented_code_works(module: Any) -> None:
    probe, _ = re.findall(r"```python\n(.*?)```", DOCS, re.S)
    exec(probe, module.__dict__)
    raw = {**PYTHON, "target": "scripted_arms:Probe", "clip": [0.0, 250.0]}
    assert build(raw).draw(1, 5_000).mean() == pytest.approx(0.72, abs=0.01)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([0.5, 0.5], "named 0 persons for 2 rewards; with .privacy. person it returns two"),
        (([0.5, 0.5], "ab"), "named 0 persons for 2"),
        (([0.5, 0.5], ["eva", None]), "named 1 persons for 2"),
        (([0.5, 0.5], ["eva"]), "named 1 persons for 2"),
        (
            lambda arm, count: ([0.5] * count, ["eva"] * count),
            "of 1,000 rewards in a row scripted_",
        ),
    ],
)
def test_arms_that_name_no_persons_are_refused(module: Any, answer: Any, said: str) -> None:
    module.arms = Scripted(answer)
    with pytest.raises(ArmsError, match=said):
        build_with(Persons("patient", 1)).draw(0, 2)


def test_python_factory_is_told_who_asks(module: Any) -> None:
    def arms(agent: int, agents: int, seed: int) -> Scripted:
        module.told = (agent, agents, seed)
        return Scripted(lambda arm, count: np.zeros(count))

    module.arms = arms
    build(PYTHON, rank=2, agents=7, seed=11)
    assert module.told == (2, 7, 11)
    build(PYTHON, rank=-1, agents=7, seed=11)  # shared by all
    assert module.told == (0, 7, 11)
    seeds = set()
    for run in range(5):
        build(PYTHON, rank=2, agents=7, seed=11, run=run)
        seeds.add(module.told[2])
    assert len(seeds) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (RuntimeError("broken probe"), "raised RuntimeError: broken probe"),
        (SystemExit(0), "raised SystemExit: 0"),
        ([0.5, np.nan], "NaN or infinite"),
        ([0.5, np.inf], "NaN or infinite"),
        ([0.5, 1.5], r"outside \[0, 1\]; set arms.clip"),
        ([-0.1, 0.5], r"outside \[0, 1\]; set arms.clip"),
        ([0.5], r"returned shape \(1,\), but 2 rewards were asked for"),
        ([[0.5, 0.5]], r"returned shape \(1, 2\)"),
        (0.5, r"returned shape \(\)"),
        (["a", "b"], "raised ValueError"),
        (None, "shape|raised"),
    ],
)
def test_python_errors_name_agent_arm_and_call(module: Any, answer: Any, said: str) -> None:
    module.arms = Scripted(lambda arm, count: [0.0] * count)
    arms = build(PYTHON, rank=3, agents=5)
    arms.draw(0, 1)
    module.arms.answer = answer
    with pytest.raises(ArmsError, match=said) as caught:
        arms.draw(2, 2)
    assert str(caught.value).startswith("agent 3, arm 2, call 2: scripted_arms:arms.pull(2, 2)")


@pytest.mark.parametrize("name", ["nowhere:arms", *map("scripted_arms:{}".format, NO_ARMS)])
def test_a_target_that_cannot_be_made_is_named(module: Any, name: str) -> None:
    module.number, module.leaves = 3, lambda **told: sys.exit(0)
    with pytest.raises(ArmsError, match=f"agent 0: arms.target = '{name}' cannot be made"):
        build({**PYTHON, "target": name})


def test_a_run_ends_with_the_agents_error(module: Any) -> None:
    def arms(agent: int, agents: int, seed: int) -> Scripted:
        return Scripted(lambda arm, count: [np.nan if agent == 1 else 0.5] * count)

    module.arms = arms
    raw = {"system": "mase", "agents": {"count": 5}, "arms": PYTHON}
    with pytest.raises(PosseError, match=r"agent 1, arm 0, call 1: .* NaN"):
        memory.run(prepare(raw), 0)


@examples(Path(__file__).with_name("python.txt"), globals())
def test_examples(play: Callable[..., None], request: pytest.FixtureRequest) -> None:
    play(request)
