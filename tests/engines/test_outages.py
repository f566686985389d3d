"""A run that stands still: who, or which link, is named, and when."""

import pytest

from posse.hosts.effects import LogLine
from posse.protocol import control
from tests.support.lobby import ABSENCE, DEADLINE, TOKEN, Run, Script, failed, warned


def standing(agents: int = 4) -> tuple[Script, Run]:
    """A run in which all wait, from 100 on."""
    script = Script(agents)
    script.all_join()
    run = script.carries(Run())
    run.late = list(range(agents))
    return script, run


def answers(script: Script, ranks: list[int], at: float) -> None:
    for rank in ranks:
        script.lobby.roster.members[rank].answered = at


def test_who_does_not_answer_is_named_alone() -> None:
    script, run = standing()
    assert script.lobby.roll_at == 100.0 + DEADLINE / 2
    assert script.lobby.call_roll(105.0) == [0, 1, 2, 3]
    assert script.lobby.roll_at == 106.0  # each second in the last ten
    answers(script, [0, 1, 3], 105.1)
    run.trouble = "; agent 0 refused what agent 1 sent: malformed"
    said = failed(script.lobby.fire(110.0))
    assert said == (
        "nothing was heard for 10 s; agent 2 does not answer, and the others wait" + run.trouble
    )


def test_where_all_or_none_answer_all_are_waited_for() -> None:
    for there in ([], [0, 1, 2, 3]):
        script, _ = standing()
        script.lobby.call_roll(105.0)
        answers(script, there, 105.1)
        said = failed(script.lobby.fire(110.0))
        assert said == "nothing was heard for 10 s; waiting for agents 0, 1, 2, 3 to act"


def test_a_link_that_is_down_is_said_once_and_explains_the_silence_for_the_absence() -> None:
    script, _ = standing()
    script.now = 104.0
    assert warned(script.linked(2, 1, up=False)) == ["link 1–2 is down, as agent 2 reports"]
    assert script.lobby.timer == 100.0 + DEADLINE  # who only says so holds nobody up
    assert script.linked(1, 2, up=False) == []
    assert script.lobby.timer == 104.0 + ABSENCE
    script.lobby.call_roll(script.lobby.roll_at)
    answers(script, [0, 1, 2, 3], 128.0)
    assert failed(script.lobby.fire(129.0)) == (
        "nothing was heard for 29 s while link 1–2 was down; check the network between these agents"
    )


def test_what_an_agent_said_of_its_links_is_forgotten_when_it_is_started_again() -> None:
    script, _ = standing()
    for by, about in ((1, 2), (2, 1), (1, 0)):
        script.linked(by, about, up=False)
    taken, again = 0, 1
    script.closes("peer-1")
    script.says("again-1", control.Resume(1, TOKEN, b"peer-1", 2, taken, again))
    (said,) = script.linked(2, 1, up=True)
    assert isinstance(said, LogLine)
    assert said.text == "link 1–2 is up again"
    assert script.linked(0, 1, up=False)  # that of 0 and 1 is there, too: so this is news


def test_an_agent_that_all_its_neighbours_lost_and_that_is_silent_is_named_not_its_links() -> None:
    script, _ = standing()
    for by in (1, 3):
        script.linked(by, 2, up=False)
        script.linked(2, by, up=False)
    script.lobby.call_roll(105.0)
    answers(script, [0, 1, 3], 105.1)
    assert "agent 2 does not answer" in failed(script.lobby.fire(100.0 + ABSENCE))


@pytest.mark.parametrize("about", [1, 4])
def test_no_link_leads_to_oneself_or_to_nobody(about: int) -> None:
    script, _ = standing()
    assert script.linked(1, about, up=False) == []
    assert script.lobby.refused["no-such-agent"] == 1
    assert script.lobby.timer == 100.0 + DEADLINE
