"""What is said on standard error."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from posse.cli.main import main
from posse.log import (
    LOG,
    MOST,
    WINDOW,
    TextFormatter,
    ThrottledHandler,
    begin,
    complain,
    plain,
    remark,
)


class Said:
    """A log whose clock is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._stream = io.StringIO()
        self.lines = ThrottledHandler(self._stream, lambda: self.now)
        self.lines.setFormatter(TextFormatter("coordinator: %(message)s"))

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


def test_a_command_on_one_machine_says_a_few_of_them_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list"]) == 0
    for number in range(MOST + 2):
        LOG.warning("handshake %d", number, extra={"about": "handshake"})
    assert capsys.readouterr().err.splitlines() == [f"handshake {n}" for n in range(MOST)]


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


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """What was logged since `begin`, which is forgotten again."""
    logger = logging.getLogger("posse")
    before = logger.handlers, logger.level, logger.propagate
    yield lambda: capsys.readouterr().err
    logger.handlers, logger.level, logger.propagate = before


def test_a_line_says_when_in_which_zone_and_who(log: Callable[[], str]) -> None:
    begin("agent 3", insecure=True)
    logging.getLogger("posse").info("joined")
    when, said = log().split(" ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", when)
    assert said == "agent 3 [no keys]: joined\n"


def test_what_a_command_says_is_a_line_of_its_log_where_that_has_begun(
    log: Callable[[], str],
) -> None:
    begin("coordinator", insecure=False, level=logging.WARNING, form="json")
    remark("watch it there")
    complain("interrupted")
    found = [json.loads(line) for line in log().splitlines()]
    assert [(said["level"], said["message"]) for said in found] == [
        ("warning", "watch it there"),
        ("error", "interrupted"),
    ]
    begin("coordinator", insecure=False)
    remark("watch it there")
    complain("interrupted")
    lines = [line.split(" ", 1)[1] for line in log().splitlines()]
    assert lines == ["coordinator: watch it there", "coordinator: interrupted"]
    plain()
    remark("watch it there")
    complain("interrupted")
    assert log() == "watch it there\nposse: interrupted\n"


def test_as_json_a_line_is_one_object_whatever_a_peer_wrote(log: Callable[[], str]) -> None:
    begin("coordinator", insecure=False, form="json")
    said = 'refused "x\x1b[2J\nagain' + "x" * 5_000
    logging.getLogger("posse").warning("%s", said, extra={"about": "strangers"})
    (line,) = log().splitlines()
    assert line.isascii()
    found = json.loads(line)
    assert datetime.fromisoformat(found.pop("time")).tzinfo is not None
    assert found == {
        "level": "warning",
        "who": "coordinator",
        "keys": True,
        "about": "strangers",
        "message": said[:4_000],
    }
