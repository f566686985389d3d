"""What a process asks of this machine."""

import socket
import threading

import pytest

from posse.log import LOG
from posse.wire import world
from posse.wire.world import HERE, ClockReading, World
from tests.support.patience import PATIENCE


def test_a_connection_is_shut_by_its_descriptor_or_by_a_copy() -> None:
    for copied in (True, False):
        near, far = socket.socketpair()
        copy = near.dup() if copied else None
        HERE.shut(near.fileno(), copy)
        assert far.recv(1) == b""
        for end in (near, far, copy):
            if end is not None:
                end.close()
    HERE.shut(1 << 20, None)  # closed meanwhile


class Machine(World):
    """A machine whose clocks are set by hand; `up` in nanoseconds."""

    def __init__(self, boot: str, up: int, wall: float) -> None:
        self._boot = boot
        self.monotonic_ns = lambda: up
        self.monotonic = lambda: up / 1e9
        self.wall = lambda: wall

    @property
    def boot(self) -> str:
        return self._boot


def test_after_a_restart_of_the_process_the_machines_clocks_go_on() -> None:
    assert HERE.after(HERE.read_clocks()) is HERE


@pytest.mark.parametrize(
    ("boot", "wall", "shows"),
    [
        ("two", 130.0, 80 * 10**9),  # 30 s later by the clock on the wall
        ("two", 95.0, 50 * 10**9),  # which was set back meanwhile
        ("", 130.0, 80 * 10**9),  # a system that does not say when it booted
        ("one", 130.0, 7 * 10**9),  # no reboot: the machine's own clock is right
    ],
)
def test_after_a_reboot_the_clock_on_the_wall_says_how_long_it_took(
    boot: str, wall: float, shows: int
) -> None:
    before = ClockReading("one", 0, 50 * 10**9, 100.0)
    after = Machine(boot, 7 * 10**9, wall).after(before)
    assert (after.monotonic_ns(), after.monotonic()) == (shows, shows / 1e9)


def test_a_second_restart_after_a_reboot_keeps_the_clocks_ahead() -> None:
    ahead = Machine("two", 7 * 10**9, 130.0).after(ClockReading("one", 0, 50 * 10**9, 100.0))
    again = Machine("two", 8 * 10**9, 500.0).after(ahead.read_clocks())
    assert again.monotonic_ns() == 81 * 10**9


def test_a_watchman_watches_on_after_a_mistake(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of its own, or of a clock: without the door nobody limits what peers send."""
    monkeypatch.setattr(world, "_AFTER_A_DEFECT", 0.0)
    monkeypatch.setattr(LOG, "propagate", True)
    watched, turns = threading.Event(), iter([OverflowError, None])

    def watch() -> None:
        if (error := next(turns)) is not None:
            raise error
        watched.set()

    World().watchman("door", watch)
    assert watched.wait(PATIENCE)
    assert "the door has a defect, and watches on" in caplog.text


def test_where_no_thread_can_start_there_is_an_error_and_no_abort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ZeroMQ ends the process where it cannot start one of its own."""
    start, left = threading.Thread.start, [1]

    def starts(thread: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        World().context()
