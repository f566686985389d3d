"""Who may join, under which rank, and whose place it takes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


@given(st.integers(-1, 1), st.sampled_from(["k", "l", COORDINATOR_KEY, "stranger", ""]))
@example(-1, "l")
@example(1, "k")
def test_a_rank_is_bound_to_its_key(rank: int, key: str) -> None:
    door = Door(2, "k", "l")
    if key not in ("k", "l"):
        with pytest.raises(NotAdmitted, match="its key is not an agent's"):
            door.knock(join(rank, b"b"), key)
    elif rank in (-1, own := "kl".index(key)):
        assert door.knock(join(rank, b"a"), key)[0].rank == own
    else:
        said = rf"the key of agent {own} cannot join as agent {rank}; use"
        with pytest.raises(NotAdmitted, match=said):
            door.knock(join(rank, b"b"), key)
    assert door.roster.missing() == [0, 1]


@examples(Path(__file__).with_name("roster.txt"), globals())
def test_examples(play: Callable[[], None]) -> None:
    play()
