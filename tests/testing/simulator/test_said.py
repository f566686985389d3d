"""What a coordinator says of times is compared with what happened."""

from types import SimpleNamespace
from typing import Any

import pytest

from posse.engines.simulated.cluster import TraceEvent
from posse.protocol.machine import COORDINATOR
from posse.testing.simulator.said import untrue

LOST = "the connection of agent 1 was lost; waiting 120 s for it to come back"
BACK = "agent 1 is back over a new connection"
GONE = "agent 1 was away for 120 s; the run goes on without it"
SILENT = "nothing was heard for 60 s; the run goes on without agents 0 and 1"


def said(*lines: tuple[float, str]) -> list[str]:
    events = [TraceEvent(when, "logs", COORDINATOR, COORDINATOR, text) for when, text in lines]
    events.append(TraceEvent(95.0, "came", 0, COORDINATOR, "SlotReached 3, 1"))
    events.sort(key=lambda event: event.when)
    engine = SimpleNamespace(deadline=60.0)
    cluster: Any = SimpleNamespace(
        events=events, plan=SimpleNamespace(spec=SimpleNamespace(engine=engine))
    )
    return list(untrue(cluster))


@pytest.mark.parametrize(
    "gone", [GONE, "3 agent 1 lost its connection and did not come back within 120 s: its"]
)
def test_absences_add_up_to_what_is_named(gone: str) -> None:
    assert said((0.0, LOST), (120.0, gone)) == []
    assert said((0.0, LOST), (30.0, BACK), (50.0, LOST), (140.0, gone)) == []
    assert said((0.0, LOST), (30.0, BACK), (50.0, LOST), (170.0, gone)) == [
        f"{gone}: it was for 150.0 s"
    ]
    assert said((0.0, LOST), (110.0, gone)) == [f"{gone}: it was for 110.0 s"]


def test_absences_of_before_a_run_do_not_count() -> None:
    began = (100.0, "run 1 of 2 begins")
    assert said((0.0, LOST), began, (220.0, GONE)) == []
    assert said((0.0, LOST), (50.0, BACK), began, (110.0, LOST), (230.0, GONE)) == []


def test_who_is_left_out_as_silent_was_silent_since_the_roll_was_called() -> None:
    assert said((106.0, SILENT)) == []
    assert said((104.0, SILENT)) == [f"{SILENT}: agent 0 was heard 9.0 s before"]
