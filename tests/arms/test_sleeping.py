"""Arms that are closed in some slots: sets, regret, who may pull them, both engines, kills."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import posse
from posse.arms import SleepingArms
from posse.errors import SpecError
from posse.experiments import prepare
from posse.script import Parameters, Positive, Pull, Script, system
from posse.system import names
from posse.testing import simulate
from posse.testing.judge import judge, small_run
from tests.support.conversations import examples
from tests.support.runfile import describe_run
from tests.support.runs import assert_same_run


class Slots(Parameters, frozen=True):
    horizon: Positive = 40


def _asks(me: Any) -> Script:
    """Pulls the first arm that is open."""
    for slot in range(me.parameters.horizon):
        yield Pull((int(me.open(slot).nonzero()[0][0]),), 1)
    return 0


def _blind(me: Any) -> Script:
    yield Pull((0,), me.parameters.horizon)
    return 0


ASKS = system("asks", _asks, None, Slots, sleeping=True, claim="Nothing is sent.")
BLIND = system("blind", _blind, None, Slots, sleeping=True, claim="Nothing is sent.")
OTHER = system("other", _asks, None, Slots, claim="Nothing is sent.")

WINDOWS = {
    "kind": "sleeping",
    "means": [1.0, 0.5, 0.0],
    "windows": [[[0, 3], [5, 6]], [[4]], []],
}
DRAWN = {"kind": "sleeping", "means": [0.9, 0.6, 0.3], "asleep": [0.5, 0.2, 0.0]}
BOTH = {**DRAWN, "asleep": 0.4, "windows": [[[0, 20]], [[10, 30], [35]], []]}


def _sets(raw: dict[str, Any], slots: int, rank: int = 0) -> Any:
    arms = msgspec.convert(raw, SleepingArms)
    return arms.openings(np.random.default_rng(1), rank).table(np.arange(slots))


@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 3))
def test_a_set_is_the_same_however_it_is_asked_for_and_never_empty(
    a: int, b: int, rank: int
) -> None:
    whole = _sets({**DRAWN, "asleep": 0.9}, 401, rank)
    arms = msgspec.convert({**DRAWN, "asleep": 0.9}, SleepingArms)
    openings = arms.openings(np.random.default_rng(1), rank)
    assert (openings(a) == whole[a]).all()
    assert (openings(b) == whole[b]).all()
    assert whole.any(axis=1).all()


def test_arms_sleep_as_often_as_asked_and_not_the_same_at_each_agent() -> None:
    open_ = [_sets(DRAWN, 20_000, rank) for rank in (0, 1)]
    assert np.abs(open_[0].mean(axis=0) - [0.5, 0.8, 1.0]).max() < 0.02  # 5 deviations
    assert 0.4 < (open_[0] != open_[1])[:, 0].mean() < 0.6


def _run(raw: dict[str, Any], **more: Any) -> dict[str, Any]:
    return describe_run("ucb1", 2, raw, parameters={"horizon": 40}, engine="memory", seed=4) | more


@pytest.mark.slow
@pytest.mark.parametrize("raw", [WINDOWS, DRAWN, BOTH])
@pytest.mark.parametrize(
    "more", [{}, {"system": "cooperative-ucb", "topology": {"kind": "complete"}}]
)
def test_both_engines_give_the_same_run(raw: dict[str, Any], more: dict[str, Any]) -> None:
    one, other = (
        posse.run(_run(raw, **more, engine={"kind": kind})).runs[0]
        for kind in ("memory", "processes")
    )
    assert_same_run(one, other)


@pytest.mark.slow
def test_kills_cuts_and_losses_change_nothing() -> None:
    run = _run(BOTH, system="cooperative-ucb", topology={"kind": "ring"}, agents={"count": 4})
    assert [found.held for found in judge(run, seeds=20, only="kills")] == [True]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"asleep": [0.5]}, "asleep has 1 numbers for 3 means"),
        ({"asleep": 0.0}, "need asleep, or windows"),
        ({"asleep": 1.0}, "arms.asleep"),
        ({"windows": [[[0, 5]]]}, "windows has 1 lists for 3 means"),
        ({"windows": [[[5, 5]], [], []]}, "first < end"),
        ({"windows": [[[0, 5]], [[6]], [[0, 2]]]}, "leave no arm open in slot 5"),
        ({"delay": 2}, "delete it"),
    ],
)
def test_a_table_that_says_nothing_sensible_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        prepare(_run(DRAWN | change))


@pytest.mark.parametrize("name", sorted(set(names()) - {"ucb1", "cooperative-ucb"}))
def test_a_system_that_does_not_ask_what_is_open_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="does not ask what is open"):
        prepare({**small_run(name), "arms": DRAWN})


class Doors:
    """Open are arm 0 in even slots, arm 1 always, arm 2 never; each pays always or never."""

    def __init__(self, **of: int) -> None:
        self.asked: list[int] = []

    def open(self, slot: int) -> list[bool]:
        assert slot not in self.asked
        self.asked.append(slot)
        return [slot % 2 == 0, True, False]

    def pull(self, arm: int, count: int) -> Any:
        return np.full(count, float(arm == 0))


class Shut(Doors):
    def open(self, slot: int) -> list[bool]:
        return [slot < 5] * 3


def _own(target: str = "Doors", **more: Any) -> dict[str, Any]:
    arms = {"kind": "python", "target": f"{__name__}:{target}", "count": 3, "path": ["."]}
    return {**arms, "sleeping": True, **more}


@pytest.mark.parametrize("more", [{}, {"system": "cooperative-ucb", "topology": {"kind": "ring"}}])
def test_own_arms_say_which_are_open(more: dict[str, Any]) -> None:
    run = posse.run(_run(_own(), **more)).runs[0]
    assert run.pulls_per_arm[2] == 0
    assert run.pulls_per_arm[1] >= 40  # two agents, each second slot
    assert run.regret is None
    assert run.best_arm == 0


@pytest.mark.slow
def test_own_arms_that_sleep_outlive_kills() -> None:
    run = _run(_own(), system="cooperative-ucb", topology={"kind": "ring"}, agents={"count": 4})
    run["engine"] = {"kind": "processes", "durable": True}  # answers are in the journal
    assert [found.held for found in judge(run, seeds=30, only="kills")] == [True]
    trials = list(simulate(run, seeds=range(10), kinds=("kill",)))
    assert [trial.command for trial in trials if trial.violations] == []


@examples(Path(__file__).with_name("sleeping.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
