"""What a loop listens to."""

import os
from collections.abc import Iterator

import pytest

from posse.wire.sockets import Selector

Pipe = tuple[int, int]


@pytest.fixture
def pipes() -> Iterator[tuple[Pipe, Pipe]]:
    pair = os.pipe(), os.pipe()
    yield pair
    for pipe in pair:
        for fd in pipe:
            os.close(fd)


def test_what_is_ready_is_handled_and_what_is_forgotten_is_not(pipes: tuple[Pipe, Pipe]) -> None:
    (here, there), (silent, _) = pipes
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


def test_one_handler_may_forget_another_that_is_ready_too(pipes: tuple[Pipe, Pipe]) -> None:
    (one, to_one), (other, to_other) = pipes
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
