"""Who is present, and how a run ends: a verdict, and then the last word of all who are."""

import math
from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posse.coordinator.assembly import no_report
from posse.coordinator.attendance import Attendance
from posse.coordinator.report import BadReport, ReportForm
from posse.protocol import control
from posse.protocol.errors import RemoteProtocolError
from posse.protocol.machine import Finish
from posse.protocol.privacy import Release
from posse.protocol.wire import MAX_DATA
from posse_systems.li2022.messages import LeftRow
from posse_systems.rio2023.messages import EliminationRow

FORM = ReportForm(3, 2, {"regret"}, ())


def report(**changes: Any) -> control.Report:
    curve = np.array([[0.0, 0.0, 0.0], [2.0, 5.0, 0.5]])
    given: dict[str, Any] = {
        "pulls": np.array([3, 2], dtype="<i8").tobytes(),
        "activations": 5,
        "slots": 5,
        "regret": {"regret": 0.5},
        "curve": {"regret": curve.tobytes()},
        "links": [control.LinkCount(1, -1, 0, "Vote", 1, 10, 42)],
        "delays": {-1: {3: 1}},
    }
    return msgspec.structs.replace(no_report(2), **(given | changes))


def ending(agents: int, form: ReportForm | None = FORM) -> Attendance:
    clock = iter([1_000_000_000, 3_500_000_000])
    return Attendance(np.full(agents, 0.5), form, lambda: next(clock))


def test_a_run_is_complete_when_all_who_are_present_had_their_last_word() -> None:
    end = ending(3)
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        end.take_last_word(1, report())  # nobody said that it is over
    end.decide(Finish("horizon"))
    assert end.elapsed == 2.5
    assert end.without_last_word() == [0, 1, 2]
    end.take_last_word(1, report())
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        end.take_last_word(1, report())  # it was the last
    end.take_last_word(0, report(links=[]))
    assert end.without_last_word() == [2]
    end.dismissed[2] = "lost"
    assert end.without_last_word() == []
    assert list(end.reports) == [1, 0]


@pytest.mark.parametrize(("form", "word"), [(FORM, control.Stopped()), (None, report())])
def test_the_field_has_no_reports_and_the_lab_nothing_else(
    form: ReportForm | None, word: control.Report | control.Stopped
) -> None:
    end = ending(1, form)
    end.decide(Finish("horizon"))
    with pytest.raises(RemoteProtocolError, match="out-of-turn"):
        end.take_last_word(0, word)
    assert end.without_last_word() == [0]


@pytest.mark.parametrize(
    "changes",
    [
        {"pulls": b"xyz"},
        {"pulls": np.array([3, -1], dtype="<i8").tobytes()},
        {"regret": {}},
        {"regret": {"regret": 1.0, "other": 1.0}},
        {"curve": {}},
        {"curve": {"regret": b""}},
        {"curve": {"regret": bytes(23)}},
        {"curve": {"regret": np.array([0.0, 0.0, np.nan]).tobytes()}},
        {"curve": {"regret": np.array([[1.0, 1.0, 0.0], [0.5, 2.0, 0.0]]).tobytes()}},
        {"links": [control.LinkCount(2, -1, 0, "Vote", 1, 10, 42)]},  # another's
        {"links": [control.LinkCount(1, 3, 0, "Vote", 1, 10, 42)]},
        {"links": [control.LinkCount(1, -1, 9, "Vote", 1, 10, 42)]},
        {"delays": {-1: {10**6: 1}}},
        {"delays": {-1: {3: 2**64 - 1}}},
        {"activations": 2**62},
        {"links": [control.LinkCount(1, -1, 0, "<script>", 1, 10, 42)]},
        {"links": [control.LinkCount(1, -1, 0, "Vote", 2**64 - 1, 10, 42)]},
        {"refused": {"\x1b[2J": 1}},
        {"refused": {"[link=http://evil.example]posse[/link]": 1}},
        {"releases": [Release("laplace", 1.0, 1.0, float("nan"), "b")]},
        {"releases": [Release("laplace", 1.0, 1.0, -1e308, "b")]},
        {"releases": [Release("laplace", 1.0, 1.0, 1.0, "\n")]},
        {"seconds": {"exchange": [float("nan")]}},
        {"resources": control.ResourceUse(float("inf"), 0, 0)},
        {"regret": {"regret": float("nan")}},
        {"log": {"secrets": [[0.0, 1.0]]}},
        {"rewards": bytes(31)},
        {"rewards": bytes(16)},
    ],
    ids=str,
)
def test_a_report_that_no_agent_can_have_measured_is_refused(changes: dict[str, Any]) -> None:
    end = ending(3)
    end.decide(Finish("horizon"))
    with pytest.raises(BadReport):
        end.take_last_word(1, report(**changes))
    end.take_last_word(1, report())


def test_a_report_with_too_many_rows_comes_in_parts_that_are_put_together_again() -> None:
    """A release per slot, each with an ε of its own, in a run of 60,000 slots is 2.6 MB."""
    form = ReportForm(3, 2, {"regret"}, (EliminationRow,))
    releases = [Release("laplace", 1.0, 1.0, 1.0 / n, "b") for n in range(1, 60_001)]
    log = {EliminationRow.table: [[float(n), 0.0] for n in range(12_000)]}
    long = report(releases=releases, log=log)
    words = list(control.in_parts(long))
    assert [type(word).__name__ for word in words] == ["ReportRows"] * 13 + ["Report"]
    assert max(len(msgspec.msgpack.encode(word)) for word in words) < MAX_DATA
    end = ending(3, form)
    end.decide(Finish("horizon"))
    for word in words:
        assert 1 in end.without_last_word()
        end.take_last_word(1, word)
    assert end.reports == {1: long}
    assert list(control.in_parts(report())) == [report()]
    rows = control.ReportRows(releases[:1], {})
    for _ in range(control.MOST_PARTS):
        end.take_last_word(2, rows)
    with pytest.raises(BadReport, match="more rows than any run has"):
        end.take_last_word(2, rows)


def test_rows_of_a_reports_log_have_their_tables_columns() -> None:
    form = ReportForm(3, 2, {"regret"}, (EliminationRow, LeftRow))
    form.check(1, report(log={"eliminations": [[4.0, 1]], "left": [[4.0], [4.0, 0, 1]]}))
    for table, row in (("eliminations", [4.0]), ("eliminations", [4.0, 1, 0]), ("left", [])):
        with pytest.raises(RemoteProtocolError, match=f"a row of {table}"):
            form.check(1, report(log={table: [row]}))
    with pytest.raises(RemoteProtocolError, match="a cell of eliminations that is not finite"):
        form.check(1, report(log={"eliminations": [[math.nan, 1]]}))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=9))
@example([(True, 0), (False, 0), (False, 1), (True, 2)])
def test_words_are_lacking_until_each_agent_that_is_present_said_its_last(
    events: list[tuple[bool, int]],
) -> None:
    """An agent says its last word or is lost, or both: its word may come before its loss."""
    attendance = ending(3, None)
    attendance.decide(Finish("identified", 0))
    said: set[int] = set()
    lost: set[int] = set()
    for speaks, rank in events:
        if not speaks:
            lost.add(rank)
            attendance.dismissed[rank] = "lost"
        elif rank in said:
            with pytest.raises(RemoteProtocolError, match="out-of-turn"):
                attendance.take_last_word(rank, control.Stopped())
        else:
            said.add(rank)
            attendance.take_last_word(rank, control.Stopped())
        assert attendance.without_last_word() == sorted({0, 1, 2} - said - lost)
        assert attendance.lacks_last_word == bool({0, 1, 2} - said - lost)


@given(st.lists(st.tuples(st.floats(0.01, 1), st.none() | st.floats(0, 50)), max_size=6))
@example([(0.5, 8.0), (0.25, None), (0.25, None)])
def test_expected_rounds_are_those_of_each_agent_until_it_finished(
    agents: list[tuple[float, float | None]],
) -> None:
    total = sum(rate for rate, _ in agents) or 1.0
    rates = [rate / total for rate, _ in agents]
    attendance = Attendance(np.array(rates), None, lambda: 0)
    for rank, (_, done) in enumerate(agents):
        if done is not None:
            attendance.finish(rank, None, "", done)
            attendance.finish(rank, None, "", done + 1)  # once is enough
    wanted = [
        rate * (50.0 if at is None else at) for rate, (_, at) in zip(rates, agents, strict=True)
    ]
    assert attendance.expected_rounds(50.0) == pytest.approx(
        sum(wanted) if agents else 50.0, abs=1e-9
    )


@given(st.lists(st.none() | st.integers(0, 3), max_size=9))
def test_the_commonest_answer_is_the_lowest_of_those_that_most_gave(
    answers: list[int | None],
) -> None:
    attendance = ending(len(answers))
    for rank, arm in enumerate(answers):
        attendance.finish(rank, arm, "", 1.0)
    counts = Counter(arm for arm in answers if arm is not None)
    most = [arm for arm, count in counts.items() if count == max(counts.values())]
    assert attendance.commonest_answer() == min(most, default=None)


@given(st.lists(st.tuples(st.sampled_from(["comes to", "ends", "is lost"]), st.integers(0, 3),
                          st.floats(0.1, 99.0)), max_size=20))  # fmt: skip
def test_the_slowest_are_the_least_advanced_of_those_that_act(
    events: list[tuple[str, int, float]],
) -> None:
    attendance, reached, acting = ending(4), dict.fromkeys(range(4), 0.0), {0, 1, 2, 3}
    for what, rank, now in events:
        if what == "comes to":
            assert attendance.note_progress(rank, now) == (
                rank not in attendance.finished and now > reached[rank]
            )
            reached[rank] = max(reached[rank], now) if rank in acting else reached[rank]
        elif what == "ends":
            attendance.finish(rank, None, "", now)
            acting.discard(rank)
        else:
            attendance.dismissed[rank] = "lost"
            acting.discard(rank)
        assert attendance.acting() == sorted(acting)
        least = min((reached[n] for n in acting), default=0.0)
        assert attendance.slowest() == [n for n in sorted(acting) if reached[n] == least]
        if acting != set(range(4)):
            return
