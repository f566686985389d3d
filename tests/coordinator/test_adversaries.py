"""What docs/security.md says of a malicious agent before a run, played in any order.

One agent of three has a key and does whatever a row of the table tries; the others are honest, and
the coordinator does what its engine does. However the steps are drawn, nothing raises, no honest
agent is refused or expelled, nothing that is kept grows without limit, and within a time that can
be told the run begins or ends by a sentence.
"""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from posse.coordinator.lobby import _MOST_BEGINNINGS, Phase
from posse.coordinator.roster import Peer
from posse.hosts.effects import Fail, LobbyEffect, Reply
from posse.protocol import control
from tests.support.adversary import plays
from tests.support.fuzz import HostileFields
from tests.support.lobby import DEADLINE, WALL, Script, framed, joining, setup

KEYS = ("evil", "k", "l")
HONEST = {1: b"one", 2: b"two"}
JOINING = 2 * DEADLINE
LONGEST = (_MOST_BEGINNINGS + 2) * (JOINING + DEADLINE)
"""Seconds after the last honest agent came: each beginning that counts, a wait of both kinds."""


class BeforeARun(RuleBasedStateMachine):
    """`since`: when all honest agents were there; `over`: the run began, or the wait ended."""

    def __init__(self) -> None:
        super().__init__()
        self.script = Script(3, KEYS, joining=JOINING)
        self.over = ""
        self.starts = self.connection = 0
        self.since: float | None = None
        self.own = b"evil-0"
        self.asked = dict.fromkeys(HONEST, False)

    # --- the adversary ---------------------------------------------------------------------------

    def say(self, message: Any) -> None:
        frame = message if isinstance(message, bytes) else framed(message)
        self.takes(self.script.lobby.receive(self.peer(), frame, self.script.now, WALL))

    def peer(self) -> Peer:
        return Peer(b"evil-%d" % self.connection, "evil", 100 + self.connection, "192.0.2.9")

    @rule(over_another_connection=st.booleans())
    def joins_as_another_process(self, over_another_connection: bool) -> None:
        self.starts += 1
        self.connection += over_another_connection
        self.own = b"evil-%d" % self.starts
        self.say(joining(0, self.own))

    @rule()
    def begins_anew_just_in_time(self) -> None:
        self.joins_as_another_process(over_another_connection=True)
        self.arrives(1, "192.0.2.9")
        self.time_passes(max(0.0, 0.9 * (self.script.lobby.timer - self.script.now)))

    @rule(rank=st.integers(-1, 3))
    def joins_as_somebody(self, rank: int) -> None:
        self.connection += 1
        self.say(joining(rank, b"other"))

    @rule(port=st.integers(1, 9), host=st.sampled_from(["192.0.2.9", "192.0.2.1", "name"]))
    def arrives(self, port: int, host: str) -> None:
        self.say(control.Arrived(f"tcp://{host}:{port}"))

    @rule(rank=st.integers(0, 3), number=st.integers(0, 5), port=st.integers(0, 9))
    def resumes(self, rank: int, number: int, port: int) -> None:
        self.connection += 1
        inbox = f"tcp://192.0.2.9:{port}" if port else ""
        self.say(control.Resume(rank, "", self.own, number + self.connection, 0, inbox=inbox))

    @rule(about=st.integers(0, 5), up=st.booleans())
    def speaks_of_links(self, about: int, up: bool) -> None:
        self.say(control.Linked(about, up))

    @rule(ready=st.booleans())
    def is_ready_or_asks_the_time(self, ready: bool) -> None:
        self.say(control.Ready(0) if ready else control.Sync(1))

    @rule(seed=st.integers(0, 10_000))
    def says_anything(self, seed: int) -> None:
        fields = HostileFields(str(seed))
        kinds = [kind for kind in control.TO_LOBBY if kind is not control.Failed]
        self.say(fields.frame(kinds))

    @rule()
    def closes(self) -> None:
        self.takes(self.script.lobby.closed(100 + self.connection, self.script.now))

    # --- the others ------------------------------------------------------------------------------

    @precondition(lambda self: self.since is None)
    @rule()
    def honest_agents_join(self) -> None:
        for rank, start in HONEST.items():
            at = Peer(start, KEYS[rank], rank, f"192.0.2.{rank}")
            for message in (joining(rank, start), control.Arrived(f"tcp://192.0.2.{rank}:1")):
                self.takes(self.script.lobby.receive(at, framed(message), self.script.now, WALL))
        self.since = self.script.now

    @rule(seconds=st.floats(0.1, DEADLINE))
    def time_passes(self, seconds: float) -> None:
        self.script.now += seconds
        lobby = self.script.lobby
        if not self.over and self.script.now >= lobby.timer:
            self.takes(lobby.fire(self.script.now))

    def takes(self, effects: list[LobbyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Fail):
                self.over = effect.reason
                assert effect.reason.isprintable()
            if isinstance(effect, Reply) and isinstance(effect.message, control.Refused):
                assert effect.peer not in HONEST.values()

    # --- what must hold --------------------------------------------------------------------------

    @invariant()
    def the_coordinator_goes_on(self) -> None:
        """What `Processes` does between frames."""
        lobby, now = self.script.lobby, self.script.now
        if self.over:
            return
        if lobby.phase is Phase.GATHERING and lobby.complete and not lobby.missing():
            lobby.configure([setup(rank) for rank in range(3)], now)
            for rank, start in HONEST.items():
                at = Peer(start, KEYS[rank], rank, f"192.0.2.{rank}")
                self.takes(lobby.receive(at, framed(control.Ready(0)), now, WALL))
        if lobby.phase is Phase.CONFIGURING and lobby.changed:
            lobby.gather(now)
        elif lobby.phase is Phase.CONFIGURING and lobby.complete:
            self.over = "the run begins"

    @invariant()
    def nothing_grows(self) -> None:
        roster = self.script.lobby.roster
        assert len(roster.members) <= 3
        assert len(roster.by_identity) <= 3
        assert sum(map(len, roster._superseded.values())) <= 16
        assert len(self.script.lobby.patience.outages) <= 3

    @invariant()
    def honest_agents_stay(self) -> None:
        if self.since is not None:
            members = self.script.lobby.roster.members
            assert {rank: members[rank].identity for rank in HONEST} == HONEST

    @invariant()
    def it_begins_or_ends_in_time(self) -> None:
        if self.since is not None and not self.over:
            assert self.script.now - self.since <= LONGEST


@pytest.mark.parametrize("steps", [30, 120])
def test_one_agent_that_does_what_it_likes_before_a_run(steps: int) -> None:
    plays(BeforeARun, orders=60, steps=steps)
