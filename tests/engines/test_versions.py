"""Who may join is decided by the version of the wire; if it differs, both programs are named."""

import pytest

from posse import __version__
from posse.hosts.agent_setup import SAME_VERSION
from posse.hosts.effects import LogLine, Reply
from posse.protocol import control
from posse.protocol.wire import VERSION
from tests.support.lobby import Script, framed, joining


def test_another_program_that_speaks_the_same_wire_is_let_in_with_a_remark() -> None:
    script = Script()
    log, answer = script.says("a", joining(version="0.9.7"))
    assert isinstance(log, LogLine)
    assert log.text.startswith(f"agent 0 has posse 0.9.7, this coordinator {__version__}; ")
    assert answer == Reply(b"a", control.Welcome(0, "mase"))


def of_next_version(frame: bytes) -> bytes:
    return b"po" + bytes([VERSION + 1]) + frame[3:]


@pytest.mark.parametrize(
    ("frame", "theirs"),
    [
        (framed(joining(version="0.9.7")), "0.9.7"),
        (framed(joining()), "of an unknown version"),
        (bytes(40), "of an unknown version"),
    ],
)
def test_who_speaks_another_version_of_the_wire_is_told_both_programs(
    frame: bytes, theirs: str
) -> None:
    script = Script()
    _, answer = script.says("a", of_next_version(frame))
    reason = (
        f"it has posse {theirs} and speaks version {VERSION + 1} of the wire, and this coordinator "
        f"has posse {__version__} and speaks version {VERSION}"
    )
    assert isinstance(answer, Reply)
    assert answer == Reply(b"a", control.Refused(f"{reason}; {SAME_VERSION}"))
    assert script.lobby.refused == {"version": 1}
    script.joins("b")
    assert script.says("b", b"po" + bytes([VERSION + 1]) + bytes(40)) == []
