"""Who may join, under which rank, and whose place it takes."""

import math

import pytest

from posse.coordinator.roster import CLOCK_TOLERANCE, Member, NotAdmitted, Peer, Roster
from posse.protocol import control
from posse.security.keys import CoordinatorKeys, KeyPair

COORDINATOR_KEY = "c"


def join(rank: int = -1, incarnation: bytes = b"", **fields: object) -> control.Join:
    return control.Join(rank, "", "", 0, incarnation, **fields)  # type: ignore[arg-type]


class Door:
    """A roster, and peers that knock: each at a connection of its own."""

    def __init__(self, agents: int, *keys: str, **configuration: str) -> None:
        pairs = CoordinatorKeys(KeyPair(COORDINATOR_KEY, ""), keys) if keys else None
        self.roster = Roster(agents, "", pairs, configuration)
        self.last = 0

    def knock(
        self, asked: control.Join, key: str = "", wall: float = 0.0
    ) -> tuple[Member, Member | None]:
        self.last += 1
        peer = Peer(b"%d" % self.last, key, 10 + self.last)
        return self.roster.admit(asked, peer, now=float(self.last), wall=wall)


def test_without_keys_a_connection_that_comes_back_keeps_its_rank() -> None:
    door = Door(2)
    assert door.knock(join(incarnation=b"a"))[0].rank == 0
    assert door.knock(join(incarnation=b"b"))[0].rank == 1
    member, old = door.knock(join(incarnation=b"a"))
    assert (member.rank, member.identity, old and old.identity) == (0, b"3", b"1")
    with pytest.raises(NotAdmitted, match="all 2 agents are here"):
        door.knock(join(incarnation=b"c"))
    with pytest.raises(NotAdmitted, match="rank 1 is taken"):
        door.knock(join(rank=1, incarnation=b"c"))
    with pytest.raises(NotAdmitted, match="rank 2 must be below 2"):
        door.knock(join(rank=2, incarnation=b"c"))


def test_a_wrong_token_is_refused() -> None:
    roster = Roster(1, "secret")
    peer = Peer(b"1", "", 11)
    with pytest.raises(NotAdmitted, match="its token is not this run's"):
        roster.admit(control.Join(0, "guess", "", 1), peer, 0.0, 0.0)
    assert roster.admit(control.Join(0, "secret", "", 1), peer, 0.0, 0.0)[0].arrived


def test_a_rank_is_bound_to_its_key() -> None:
    door = Door(2, "k", "l")
    assert door.knock(join(incarnation=b"a"), "l")[0].rank == 1
    with pytest.raises(NotAdmitted, match=r"the key of agent 0 cannot join as agent 1; use"):
        door.knock(join(rank=1, incarnation=b"b"), "k")
    for other in (COORDINATOR_KEY, "stranger", ""):
        with pytest.raises(NotAdmitted, match="its key is not an agent's"):
            door.knock(join(incarnation=b"b"), other)
    assert door.roster.missing() == [0, 1]


def test_a_key_beyond_the_runs_number_of_agents_is_told_so() -> None:
    door = Door(2, "k", "l", "m")
    with pytest.raises(NotAdmitted, match=r"rank 2 must be below 2, which is agents\.count"):
        door.knock(join(incarnation=b"a"), "m")
    assert door.knock(join(incarnation=b"a"), "l")[0].rank == 1


def test_without_keys_a_rank_is_free_again_when_its_connection_is_lost() -> None:
    door = Door(1)
    member, _ = door.knock(join(incarnation=b"a"))
    member.takes_part = True
    with pytest.raises(NotAdmitted, match="all 1 agents are here; for more, raise agents.count"):
        door.knock(join(incarnation=b"b"))
    assert door.roster.lost(12) is None
    assert door.roster.lost(11) is member
    assert door.roster.lost(11) is None
    assert door.roster.missing() == [0]
    assert door.knock(join(incarnation=b"b"))[0].rank == 0
    with pytest.raises(NotAdmitted):  # it was only thought lost, and comes too late
        door.knock(join(rank=0, incarnation=b"a"))


def test_who_is_away_keeps_its_rank_as_long_as_there_is_another() -> None:
    door = Door(2)
    door.knock(join(incarnation=b"a"))
    door.roster.lost(11)
    assert door.knock(join(incarnation=b"b"))[0].rank == 1
    assert door.knock(join(incarnation=b"a"))[0].rank == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clock_that_is_off_by_more_than_the_tolerance_is_refused(sign: int) -> None:
    door = Door(1)
    wall = 1e9
    with pytest.raises(NotAdmitted, match=f"31 s {'ahead' if sign > 0 else 'behind'}; set it"):
        door.knock(join(incarnation=b"a", wall=wall + sign * (CLOCK_TOLERANCE + 1)), wall=wall)
    assert door.roster.members == {}
    door.knock(join(incarnation=b"a", wall=wall + sign * CLOCK_TOLERANCE), wall=wall)


@pytest.mark.parametrize("wall", [math.nan, math.inf, -math.inf])
def test_a_clock_that_shows_no_time_is_refused(wall: float) -> None:
    door = Door(1)
    with pytest.raises(NotAdmitted, match="its clock is "):
        door.knock(join(incarnation=b"a", wall=wall), wall=1e9)
    assert door.roster.members == {}
