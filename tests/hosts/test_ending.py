"""How a run ends: a verdict, and then one last word of everybody who is present."""

import numpy as np
import pytest

from posse.hosts.attendance import Attendance
from posse.hosts.ending import Ending
from posse.hosts.report import ReportForm
from protocol import control
from protocol.errors import RemoteProtocolError
from protocol.machine import Finish


def report(rank: int, **changes: object) -> control.Report:
    values: dict[str, object] = {
        "pulls": np.array([3, 1], dtype="<i8").tobytes(),
        "activations": 1,
        "slots": 0,
        "regret": {"regret": 0.5},
        "curve": {"regret": np.array([[0.0, 0.0, 0.0], [4.0, 2.0, 0.5]]).tobytes()},
        "links": [control.LinkCount(rank, -1, 0, "Vote", 1, 2, 34)],
        "delays": {},
        "refused": {},
        "releases": [],
        "log": {},
        "seconds": {},
        "resources": control.Resources(0.0, 0, 0),
    }
    return control.Report(**{**values, **changes})  # type: ignore[arg-type]


def ending(field: bool = False) -> tuple[Ending, Attendance]:
    attendance = Attendance(np.full(3, 1 / 3))
    ticks = iter(range(10**9, 10**12, 10**9))
    form = None if field else ReportForm(3, 2, {"regret"}, ())
    return Ending(attendance, form, lambda: next(ticks)), attendance


def refused(one: Ending, rank: int, message: control.Report | control.Stopped) -> str:
    before = (dict(one.reports), one.missing())
    with pytest.raises(RemoteProtocolError) as caught:
        one.last_word(rank, message)
    assert (one.reports, one.missing()) == before
    return caught.value.reason


def test_a_last_word_comes_after_the_verdict_and_once() -> None:
    one, _ = ending()
    assert refused(one, 0, report(0)) == "out-of-turn"
    one.decide(Finish("identified", 1))
    assert one.elapsed == 1.0
    one.last_word(0, report(0))
    assert refused(one, 0, report(0)) == "out-of-turn"
    assert one.missing() == [1, 2]
    assert list(one.reports) == [0]


def test_in_the_field_there_is_no_report() -> None:
    one, _ = ending(field=True)
    one.decide(Finish("horizon"))
    assert refused(one, 1, report(1)) == "out-of-turn"
    for rank in range(3):
        one.last_word(rank, control.Stopped())
    assert one.missing() == []
    assert one.reports == {}


def test_in_the_lab_there_must_be_one() -> None:
    one, _ = ending()
    one.decide(Finish("horizon"))
    assert refused(one, 1, control.Stopped()) == "out-of-turn"


def test_who_was_dismissed_is_not_waited_for() -> None:
    one, attendance = ending()
    one.decide(Finish("horizon"))
    attendance.dismissed[2] = "lost"
    assert one.missing() == [0, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"pulls": b"short"},
        {"pulls": np.array([3, -1], dtype="<i8").tobytes()},
        {"regret": {}},
        {"curve": {"regret": b""}},
        {"curve": {"regret": np.array([[4.0, 2.0, 0.5], [0.0, 0.0, 0.0]]).tobytes()}},
        {"curve": {"regret": np.array([[0.0, 0.0, np.nan]]).tobytes()}},
        {"links": [control.LinkCount(1, -1, 0, "Vote", 1, 2, 34)]},
        {"links": [control.LinkCount(0, 3, 0, "Vote", 1, 2, 34)]},
        {"links": [control.LinkCount(0, -1, 9, "Vote", 1, 2, 34)]},
        {"delays": {10**6: 1}},
        {"log": {"votes": [[0.0, 1.0, 2.0]]}},
    ],
)
def test_what_an_agent_cannot_have_measured_is_refused(changes: dict[str, object]) -> None:
    one, _ = ending()
    one.decide(Finish("identified", 1))
    assert refused(one, 0, report(0, **changes)) in ("bad-report", "wrong-length", "not-finite")
    one.last_word(0, report(0))
