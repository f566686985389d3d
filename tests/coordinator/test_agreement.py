"""What agents hold in common, and what they hold against each other."""

import pytest

from posse.coordinator.agreement import Agreement, Complaints
from posse.protocol.errors import RemoteProtocolError


def test_nobody_speaks_of_a_step_twice() -> None:
    agreement = Agreement(3)
    agreement.attest(2, 1, b"x")
    for value in (b"x", b"y"):
        with pytest.raises(RemoteProtocolError, match="out-of-turn"):
            agreement.attest(2, 1, value)
    assert agreement.attest(0, 1, b"x") == ""


def test_who_makes_up_steps_does_not_fill_the_memory() -> None:
    agreement = Agreement(2)
    for step in range(1_000):
        agreement.attest(0, step, bytes(100_000))
    with pytest.raises(RemoteProtocolError, match="too-many"):
        agreement.attest(0, 1_000, b"")
    assert agreement.attest(1, 0, bytes(100_000)) == ""
    assert agreement.attest(0, 1_000, b"") == ""  # a step is over, and there is room for another


def test_no_step_waits_for_an_agent_that_is_lost() -> None:
    agreement = Agreement(3)
    agreement.attest(0, 0, b"x")
    agreement.attest(1, 0, b"x")
    agreement.attest(2, 1, b"x")
    agreement.lose(2)
    for step in range(1, 2_000):
        assert agreement.attest(0, step, b"x") == ""
        assert agreement.attest(1, step, b"x") == ""
    agreement.attest(0, 2_000, b"x")
    assert "agents 0 and 1 hold different" in agreement.attest(1, 2_000, b"y")


def test_a_few_complaints_are_said_each_once() -> None:
    complaints = Complaints()
    assert str(complaints) == ""
    for about in range(100):
        complaints.add(7, about // 2, "malformed")
    said = str(complaints)
    assert said.startswith("; agent 7 refused what agent 0 sent: malformed; agent 7 refused what")
    assert said.count(";") == 10


def test_the_detail_of_a_complaint_is_no_news() -> None:
    complaints = Complaints()
    first = "agent 7 refused what agent 0 sent: out-of-turn: round 1"
    assert complaints.add(7, 0, "out-of-turn: round 1") == [first]
    assert complaints.add(7, 0, "out-of-turn: round 2") == []
    assert str(complaints) == f"; {first}"
