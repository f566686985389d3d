"""A batch does what is missing, and keeps each piece before it says so."""

from pathlib import Path

import msgspec
import pytest

from posse.durable.batch import Done, Piece, carry_out
from posse.durable.store import Store
from posse.errors import RunFailed


@pytest.fixture
def squares(tmp_path: Path) -> Store[int]:
    return Store(tmp_path, "code", msgspec.msgpack.encode, msgspec.msgpack.Decoder(int).decode)


def backwards(tasks: list[int]):
    for place in reversed(range(len(tasks))):
        yield place, tasks[place] ** 2


def never(tasks: list[int]):
    raise AssertionError(tasks)


def test_only_what_is_missing_is_done(squares: Store[int]) -> None:
    pieces = [Piece(n, str(n), squares) for n in range(4)]
    squares.keep("1", 1)
    seen = []
    for done in carry_out(pieces, backwards):
        seen.append(done)
        assert squares.kept(str(done.place)) == done.outcome
    assert seen == [Done(1, 1, before=True), Done(3, 9), Done(2, 4), Done(0, 0)]
    again = list(carry_out(pieces, never))
    assert [done.outcome for done in again] == [0, 1, 4, 9]
    assert all(done.before for done in again)


def test_what_was_done_before_an_end_is_not_done_again(squares: Store[int]) -> None:
    pieces = [Piece(n, str(n), squares) for n in range(4)]

    def interrupted(tasks: list[int]):
        yield 0, tasks[0] ** 2
        yield 1, tasks[1] ** 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(carry_out(pieces, interrupted))
    left = [done.place for done in carry_out(pieces, backwards) if not done.before]
    assert left == [3, 2]


def test_a_failure_is_an_outcome_and_is_not_kept(squares: Store[int]) -> None:
    failed = RunFailed("agent 2 was lost")
    (done,) = carry_out([Piece(3, "3", squares)], lambda tasks: iter([(0, failed)]))
    assert done.outcome is failed
    assert squares.kept("3") is None


def test_without_a_store_all_is_done() -> None:
    assert list(carry_out([Piece(3, "3")], backwards)) == [Done(0, 9)]
