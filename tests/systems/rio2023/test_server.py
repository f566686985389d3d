"""The tally of votes, and the server that sees every reward."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import Broadcast, Finish, PeerFinished, PeerLost, Received, Started
from posse.protocol.wire import pack_floats
from posse_systems.rio2023.messages import Eliminated, Sample, Vote
from posse_systems.rio2023.server import CentralEliminator, MaseTally
from tests.support.mase import of, slow_elimination


def tally(arms: int = 3, agents: int = 4, needed: int = 2) -> MaseTally:
    machine = MaseTally(arms, agents, needed, np.random.default_rng(0))
    machine.handle(Started(), 0.0)
    return machine


def test_where_nobody_said_anything_there_is_no_answer() -> None:
    central = CentralEliminator(arms=3, agents=2, delta=0.1)
    central.handle(Started(), 0.0)
    for machine in (tally(arms=3, agents=2, needed=1), central):
        assert machine.handle(PeerFinished(1), 0.0) == []
        assert machine.handle(PeerFinished(0), 0.0) == [Finish("no_consensus")]


@pytest.mark.parametrize(
    ("agents", "needed", "events", "end"),
    [
        # all are done: the arm with the fewest votes
        (3, 3, [(0, (0, 2)), (1, (2,)), *map(PeerFinished, range(3))], ("no_consensus", 1)),
        # agent 0 votes and is lost, agent 1 is lost without a vote
        (4, 2, [(0, (2,)), PeerLost(0), PeerLost(1), (2, (0, 2)), (3, (0,))], ("identified", 1)),
        # the vote of who was lost is enough
        (3, 3, [(0, (0, 2)), PeerLost(0), (1, (0, 2)), (2, (0, 2))], ("identified", 1)),
        # with one vote of two lost agents arm 2 may still go, and arms 0 and 1 may not
        (4, 3, [(0, (2,)), PeerLost(0), PeerLost(1)], ("missing",)),
        # agents 0 and 1 are done without a vote against arms 1 or 2: hope is gone by no loss
        (3, 3, [(0, (0, 2)), PeerFinished(0), PeerFinished(1), PeerLost(2)], ("no_consensus", 1)),
        # who is lost after it was done counts once
        (3, 1, [PeerFinished(0), PeerLost(0), PeerFinished(1), PeerFinished(2)], ("no_consensus",)),
    ],
)  # fmt: skip
def test_a_run_goes_on_while_the_votes_needed_can_still_come_and_no_longer(
    agents: int, needed: int, events: list[Any], end: Any
) -> None:
    machine = tally(agents=agents, needed=needed)
    votes = [Received(e[0], Vote(e[1])) if isinstance(e, tuple) else e for e in events]
    *before, last = [of(Finish, machine.handle(event, 0.0)) for event in votes]
    assert not any(before)
    assert last == [Finish(*end)]


ACTS = st.lists(
    st.tuples(
        st.integers(0, 4), st.sampled_from(["votes", "ends", "is lost"]), st.sets(st.integers(0, 3))
    ),
    max_size=30,
)


@given(ACTS, st.permutations(range(5)), st.integers(1, 5))
def test_in_no_order_of_losses_the_tally_stands_still_or_names_what_was_not_found(
    acts: list[tuple[int, str, set[int]]], last: list[int], needed: int
) -> None:
    """Five agents, four arms: each votes, ends or is lost; in the end all who are left are lost."""
    machine = tally(arms=4, agents=5, needed=needed)
    left = set(range(5))
    votes: dict[int, set[int]] = {k: set() for k in range(4)}
    losses = 0
    for rank, what, arms in [*acts, *((rank, "is lost", set[int]()) for rank in last)]:
        if rank not in left:
            continue
        if what == "votes":
            new = tuple(sorted(k for k in arms if rank not in votes[k]))
            effects = machine.handle(Received(rank, Vote(new)), 0.0)
            for k in new:
                votes[k].add(rank)
        else:
            left.remove(rank)
            losses += what == "is lost"
            event = PeerLost(rank) if what == "is lost" else PeerFinished(rank)
            effects = machine.handle(event, 0.0)
        for end in of(Finish, effects):
            if end.status == "identified":
                assert all(len(votes[k]) >= needed for k in range(4) if k != end.arm)
            elif end.status == "missing":
                assert (losses > 0, end.arm) == (True, None)
            elif not any(votes.values()):
                assert (left, end) == (set(), Finish("no_consensus"))
            else:
                assert not left
                assert len(votes[end.arm]) == min(len(votes[k]) for k in machine.alive)
            return
    pytest.fail("nobody is left, and the tally goes on")


@settings(max_examples=5)
@given(st.integers(0))
@example(1)
def test_central_equals_the_slow_form(seed: int) -> None:
    rewards = (np.random.default_rng(seed).random((3, 900)) < [[0.9], [0.5], [0.1]]).astype(float)
    when, losers = slow_elimination(rewards, 0.05)
    machine = CentralEliminator(3, 2, 0.05)
    machine.handle(Started(), 0.0)
    for t in range(1, when + 1):
        sample = Sample((0, 1, 2), pack_floats(rewards[:, t - 1]))
        effects = machine.handle(Received(t % 2, sample), 0.0)
        assert bool(effects) == (t == when)
    assert of(Broadcast, effects) == [Broadcast(Eliminated(tuple(losers)))]


VOTES = st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(0, 3))), max_size=25)


@given(VOTES, st.integers(1, 5))
def test_the_tally_is_that_of_all_votes_counted_again_each_time(
    votes: list[tuple[int, set[int]]], needed: int
) -> None:
    """Five agents, four arms: whatever is voted in whatever order, against counting it anew."""
    machine = tally(arms=4, agents=5, needed=needed)
    counted: set[tuple[int, int]] = set()
    alive = [0, 1, 2, 3]
    for agent, arms in votes:
        vote = Received(agent, Vote(tuple(sorted(arms))))
        if any((agent, k) in counted for k in arms):
            with pytest.raises(RemoteProtocolError, match="duplicate-vote"):
                machine.handle(vote, 0.0)
            continue
        effects = machine.handle(vote, 0.0)
        counted |= {(agent, k) for k in arms}
        out = []
        for k in sorted(arms):
            if k in alive and len(alive) > 1 and sum(arm == k for _, arm in counted) >= needed:
                alive.remove(k)
                out.append(k)
        assert of(Broadcast, effects) == ([Broadcast(Eliminated(tuple(out)))] if out else [])
        assert list(machine.alive) == alive
        if len(alive) == 1 and out:
            assert of(Finish, effects) == [Finish("identified", alive[0])]
            return
        assert of(Finish, effects) == []
