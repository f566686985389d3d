"""How a coordinator was at one moment."""

import msgspec

from posse.hosts.status import CoordinatorStatus

TOLD = CoordinatorStatus(
    agents=3,
    arrived=2,
    running=True,
    waiting_for=[1],
    waiting="to act",
    heard_seconds_ago={0: 1.75, 1: 4.25},
    heard={0: "Due", 1: "Ready"},
    frames=12,
    refused={"replayed": 2},
    wall=1_000.0,
    taken_at=11.75,
)


def test_ages_are_those_of_the_moment_at_which_it_is_read() -> None:
    assert msgspec.to_builtins(TOLD.as_of(12.0)) == {
        "agents": 3,
        "arrived": 2,
        "running": True,
        "runs_completed": 0,
        "waiting_for": [1],
        "waiting": "to act",
        "heard_seconds_ago": {0: 2.0, 1: 4.5},
        "heard": {0: "Due", 1: "Ready"},
        "frames": 12,
        "refused": {"replayed": 2},
        "turned_seconds_ago": 0.25,
        "ended": None,
        "wall": 1_000.25,
        "version": "",
        "away": [],
        "restarts": {},
        "resent": 0,
        "taken_at": 12.0,
    }
    assert TOLD.as_of(13.0).heard_seconds_ago == {0: 3.0, 1: 5.5}
