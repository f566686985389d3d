"""A batch does what is missing, and keeps each piece before it says so.

What is kept is found again, if it is whole and was made by the same code.
"""

from pathlib import Path

import msgspec
import pytest

from posse.durable import batch
from posse.durable.batch import Done, Piece, Store, carry_out
from posse.errors import RunFailed
from posse.gates import files


def numbers(folder: Path, by: str = "code") -> Store[int]:
    return Store(folder, by, msgspec.msgpack.encode, msgspec.msgpack.Decoder(int).decode)


@pytest.fixture
def squares(tmp_path: Path) -> Store[int]:
    return numbers(tmp_path)


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


def test_a_failure_is_an_outcome_and_is_not_kept(squares: Store[int]) -> None:
    failed = RunFailed("agent 2 was lost")
    (done,) = carry_out([Piece(3, "3", squares)], lambda tasks: iter([(0, failed)]))
    assert done.outcome is failed
    assert squares.kept("3") is None


def test_without_a_store_all_is_done() -> None:
    assert list(carry_out([Piece(3, "3")], backwards)) == [Done(0, 9)]


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    for n in (2, 10, 0):
        numbers(tmp_path / "kept").keep(str(n), n)
    again = numbers(tmp_path / "kept")
    assert [again.kept(str(n)) for n in range(3)] == [0, None, 2]
    assert [msgspec.msgpack.decode(one) for one in batch.pieces(tmp_path / "kept")] == [0, 2, 10]
    assert again.trouble == ""


def test_half_a_piece_another_form_and_other_code_count_for_nothing(tmp_path: Path) -> None:
    numbers(tmp_path).keep("a", 7)
    (piece,) = tmp_path.iterdir()
    whole_piece = piece.read_bytes()
    assert numbers(tmp_path, by="other code").kept("a") is None
    for length in range(len(whole_piece)):
        piece.write_bytes(whole_piece[:length])
        assert numbers(tmp_path).kept("a") is None
    text = Store(tmp_path, "code", msgspec.msgpack.encode, msgspec.msgpack.decode)
    text.keep("a", "no number")
    assert numbers(tmp_path).kept("a") is None
    numbers(tmp_path).keep("a", 8)
    assert numbers(tmp_path).kept("a") == 8


def test_a_full_disk_is_said_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    kept = numbers(tmp_path)
    monkeypatch.setattr(files, "write", full)
    kept.keep("a", 1)
    assert kept.trouble == "No space left on device"
