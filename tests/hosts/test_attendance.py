"""Who is present, who is done, and who holds a run up."""

import numpy as np
import pytest

from posse.hosts.attendance import Attendance
from posse.protocol import control
from posse.protocol.machine import Finish


def of(agents: int) -> Attendance:
    return Attendance(np.full(agents, 1 / agents), None, lambda: 0)


def test_everybody_is_present_until_dismissed() -> None:
    attendance = of(4)
    attendance.dismissed[2] = "silent"
    assert attendance.present() == [0, 1, 3]


def test_words_are_lacking_until_each_agent_that_is_present_said_its_last() -> None:
    attendance = of(3)
    attendance.decide(Finish("identified", 0))
    attendance.take_last_word(0, control.Stopped())
    assert attendance.lacks_last_word
    attendance.dismissed[0] = "lost"  # one agent counts twice: its word came before its loss
    attendance.dismissed[1] = "lost"
    assert attendance.lacks_last_word
    attendance.take_last_word(2, control.Stopped())
    assert not attendance.lacks_last_word


def test_the_slowest_hold_a_run_up() -> None:
    attendance = of(4)
    assert attendance.slowest() == [0, 1, 2, 3]
    for rank, now in ((0, 50.0), (1, 100.0), (2, 50.0)):
        attendance.note_progress(rank, now)
    assert attendance.slowest() == [3]
    attendance.finish(3, None, "", 10.0)
    assert attendance.slowest() == [0, 2]
    attendance.dismissed[0] = "lost"
    assert attendance.slowest() == [2]


def test_what_agents_say_at_their_end_is_kept() -> None:
    attendance = of(2)
    finished = []
    for rank, arm, shortage in ((1, 4, ""), (0, None, "arm 2 has 0 rewards left and 1 are needed")):
        attendance.finish(rank, arm, shortage, 1.0)
        finished.append(sorted(attendance.finished))
    assert finished == [[1], [0, 1]]
    assert attendance.answers == [None, 4]
    assert attendance.exhausted == {0: "arm 2 has 0 rewards left and 1 are needed"}


def test_expected_rounds_are_those_of_each_agent_until_it_finished() -> None:
    """Agents of rates 1/2, 1/4, 1/4; the first is done at 8, and it is 20."""
    attendance = Attendance(np.array([0.5, 0.25, 0.25]), None, lambda: 0)
    assert attendance.expected_rounds(8.0) == 8.0
    attendance.finish(0, None, "", 8.0)
    assert attendance.expected_rounds(20.0) == pytest.approx(0.5 * 8 + 0.25 * 20 + 0.25 * 20)


@pytest.mark.parametrize(
    ("answers", "wanted"), [([], None), ([None], None), ([2, 1, 1, 2], 1), ([3, None, 3, 0], 3)]
)
def test_the_commonest_answer(answers: list[int | None], wanted: int | None) -> None:
    attendance = Attendance(np.full(len(answers), 0.5), None, lambda: 0)
    for rank, arm in enumerate(answers):
        attendance.finish(rank, arm, "", 1.0)
    assert attendance.commonest_answer() == wanted
