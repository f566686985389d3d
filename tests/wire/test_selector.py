"""What a loop listens to."""

import os

from posse.wire.sockets import Selector


def test_what_is_ready_is_handled_and_what_is_forgotten_is_not() -> None:
    (here, there), (silent, kept_open) = os.pipe(), os.pipe()
    selector = Selector()
    handled: list[str] = []
    selector.watch(here, lambda: handled.append(os.read(here, 1).decode()))
    selector.watch(silent, lambda: handled.append("silence"))
    os.write(there, b"ab")
    selector.wait(None)
    selector.wait(0)
    selector.wait(0)
    assert handled == ["a", "b"]
    selector.forget(here)
    os.write(there, b"c")
    selector.wait(0)
    assert handled == ["a", "b"]
    for fd in (here, there, silent, kept_open):
        os.close(fd)


def test_one_handler_may_forget_another_that_is_ready_too() -> None:
    (one, to_one), (other, to_other) = os.pipe(), os.pipe()
    selector = Selector()
    handled: list[int] = []

    def only_one(which: int, rest: int) -> None:
        handled.append(which)
        selector.forget(rest)

    selector.watch(one, lambda: only_one(one, other))
    selector.watch(other, lambda: only_one(other, one))
    os.write(to_one, b"x")
    os.write(to_other, b"x")
    selector.wait(0)
    assert len(handled) == 1
    for fd in (one, to_one, other, to_other):
        os.close(fd)


def test_the_end_of_a_pipe_is_handled() -> None:
    here, there = os.pipe()
    selector = Selector()
    ends: list[bytes] = []
    selector.watch(here, lambda: ends.append(os.read(here, 1)))
    os.close(there)
    selector.wait(None)
    assert ends == [b""]
    os.close(here)
