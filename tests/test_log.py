"""What is said on standard error."""

import io
import logging

from posse.log import MOST, WINDOW, Lines


class Said:
    """A log whose clock is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._stream = io.StringIO()
        self.lines = Lines(self._stream, lambda: self.now)
        self.lines.setFormatter(logging.Formatter("coordinator: %(message)s"))

    def say(self, text: str, about: str = "") -> None:
        record = logging.LogRecord("posse", logging.WARNING, "", 0, "%s", (text,), None)
        record.about = about
        self.lines.emit(record)

    def text(self) -> list[str]:
        return self._stream.getvalue().splitlines()


def test_of_many_lines_about_one_thing_a_few_are_said_and_the_others_counted() -> None:
    said = Said()
    for number in range(MOST + 990):
        said.say(f"refused {number}", "refused agents")
    said.say("of our own")
    assert said.text() == [f"coordinator: refused {n}" for n in range(MOST)] + [
        "coordinator: of our own"
    ]
    said.now = WINDOW
    said.say("refused again", "refused agents")
    assert said.text()[MOST + 1 :] == [
        "coordinator: 990 more lines about refused agents were left out",
        "coordinator: refused again",
    ]


def test_what_was_left_out_is_said_at_the_end() -> None:
    said = Said()
    for _ in range(MOST + 2):
        said.say("lost", "agent 3")
    said.lines.close()
    assert said.text()[-1] == "coordinator: 2 more lines about agent 3 were left out"


def test_no_control_character_gets_through_and_no_line_passes_for_another() -> None:
    said = Said()
    said.say("x\x1b[2J\r\ncoordinator: all is well\x07")
    assert said.text() == [r"coordinator: x\x1b[2J\r", r"    coordinator: all is well\x07"]
