"""The tables of states are those that the page prints, and no state is a dead end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from posse.agent.states import TRANSITIONS, JoinState
from tests.support.blocks import ROOT
from tests.support.conversations import examples

PAGE = (ROOT / "docs/architecture.md").read_text()


def name(state: JoinState | None) -> str:
    return "the state before" if state is None else state.name.lower()


@pytest.mark.parametrize("state", JoinState)
def test_from_every_state_an_agent_can_become_linked(state: JoinState) -> None:
    reached: set[JoinState] = {state}
    before: set[JoinState] = set()
    while reached != before:
        before = set(reached)
        reached |= {then for (at, _), then in TRANSITIONS.items() if at in before and then}
    assert JoinState.LINKED in reached


@examples(Path(__file__).with_name("states.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
