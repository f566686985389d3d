"""What agents hold in common, and what they hold against each other."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.coordinator.agreement import Agreement, Complaints
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import COORDINATOR


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


def test_a_few_complaints_are_said_each_once_and_nobody_keeps_out_anothers() -> None:
    """Each has its share, whoever makes up complaints first, and the coordinator's come first."""
    complaints = Complaints()
    assert str(complaints) == ""
    for about in range(100):
        complaints.add(7, about // 2, "malformed")
    for by in range(20, 29):
        assert complaints.add(by, 7, "bad-signature")
    complaints.add(COORDINATOR, 7, "no-neighbour: 3")
    said = str(complaints).split("; ")[1:]
    assert said == [
        "the coordinator refused what agent 7 sent: no-neighbour: 3",
        "agent 7 refused what agent 0 sent: malformed",
        *(f"agent {by} refused what agent 7 sent: bad-signature" for by in range(20, 28)),
        "and 2 more",
    ]


def test_what_the_coordinator_sends_uses_up_nobodys_share_about_agents() -> None:
    """Found by `test_adversaries`: it said twice what is refused, and the relay that forged beside
    it was not named."""
    complaints = Complaints()
    for by in range(10):
        for reason in ("malformed", "out-of-turn", "no-such-arm"):
            complaints.add(by, COORDINATOR, reason)
    assert complaints.add(2, 1, "bad-signature")
    first, *more = str(complaints).removeprefix("; ").split("; ")
    assert first == "agent 2 refused what agent 1 sent: bad-signature"
    assert more[0] == "agent 0 refused what the coordinator sent: malformed"
    assert more[-1] == "and 11 more"


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3),
                          st.sampled_from(["malformed", "out-of-turn: round 1", "out-of-turn: 2"])),
                max_size=20))  # fmt: skip
@example([(7, 0, "out-of-turn: round 1"), (7, 0, "out-of-turn: 2")])
def test_each_complaint_is_news_once_whatever_its_detail(said: list[tuple[int, int, str]]) -> None:
    complaints, news = Complaints(), list[str]()
    heard: set[tuple[int, int, str]] = set()
    for by, about, reason in said:
        new = complaints.add(by, about, reason)
        kind = by, about, reason.partition(":")[0]
        assert not (new and kind in heard)
        heard |= {kind} if new else set()
        news += new
    assert heard or not said
    _, *shown = str(complaints).split("; ")
    assert len(news) > 10 or sorted(shown) == sorted(news)


attested = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from([b"x", b"y"])), max_size=25
)


@given(attested, st.sets(st.integers(0, 3), max_size=2))
def test_a_difference_is_said_exactly_where_two_of_one_step_differ(
    words: list[tuple[int, int, bytes]], lost: set[int]
) -> None:
    """Against a table of who said what first; each agent speaks of a step once."""
    agreement = Agreement(4)
    for rank in lost:
        agreement.lose(rank)
    first: dict[int, tuple[int, bytes]] = {}
    spoken: dict[int, set[int]] = {}
    for rank, step, value in words:
        if rank in lost:
            continue
        if rank in spoken.get(step, set()):
            with pytest.raises(RemoteProtocolError, match="out-of-turn"):
                agreement.attest(rank, step, value)
            continue
        whom, held = first.setdefault(step, (rank, value))
        said = agreement.attest(rank, step, value)
        assert said.startswith(f"agents {whom} and {rank} hold") if held != value else not said
        if held == value:
            spoken.setdefault(step, set()).add(rank)
        if spoken.get(step, set()) >= set(range(4)) - lost:
            del first[step], spoken[step]
