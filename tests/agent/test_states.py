"""The tables of states are those that the page prints, and no state is a dead end."""

import pytest

from posse.agent.states import TRANSITIONS, JoinEvent, JoinState
from posse.coordinator.lobby import PHASES, LobbyOrder, Phase
from tests.support.blocks import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text()


def name(state: JoinState | None) -> str:
    return "the state before" if state is None else state.name.lower()


def test_the_page_prints_the_states_of_an_agent_that_joins() -> None:
    rows = [
        f"|{state.name.lower()}|{event.value}|{name(then)}|"
        for (state, event), then in TRANSITIONS.items()
    ]
    assert "\n".join(rows) in PAGE
    assert "\n".join(f"|{state.name.lower()}|{state.value}|" for state in JoinState) in PAGE


def test_the_page_prints_the_phases_of_a_coordinator() -> None:
    rows = [
        f"|{phase.name.lower()}|{order.name.lower()}: {order.value}|{then.name.lower()}|"
        for (phase, order), then in PHASES.items()
    ]
    assert "\n".join(rows) in PAGE


@pytest.mark.parametrize("state", JoinState)
def test_from_every_state_an_agent_can_become_linked(state: JoinState) -> None:
    reached: set[JoinState] = {state}
    before: set[JoinState] = set()
    while reached != before:
        before = set(reached)
        reached |= {then for (at, _), then in TRANSITIONS.items() if at in before and then}
    assert JoinState.LINKED in reached


def test_every_event_and_every_order_has_its_place() -> None:
    assert {event for _, event in TRANSITIONS} == set(JoinEvent)
    assert {order for _, order in PHASES} == set(LobbyOrder)
    assert set(PHASES.values()) == set(Phase)
