"""Who may join, under which rank, and whose place it takes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from posse.coordinator.roster import Member, NotAdmitted, Peer, Roster
from posse.protocol import control
from posse.security.keys import CoordinatorKeys, KeyPair
from tests.support.conversations import examples

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


def test_a_rank_is_bound_to_its_key() -> None:
    door = Door(2, "k", "l")
    assert door.knock(join(incarnation=b"a"), "l")[0].rank == 1
    with pytest.raises(NotAdmitted, match=r"the key of agent 0 cannot join as agent 1; use"):
        door.knock(join(rank=1, incarnation=b"b"), "k")
    for other in (COORDINATOR_KEY, "stranger", ""):
        with pytest.raises(NotAdmitted, match="its key is not an agent's"):
            door.knock(join(incarnation=b"b"), other)
    assert door.roster.missing() == [0, 1]


@examples(Path(__file__).with_name("roster.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
