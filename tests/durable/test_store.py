"""What is kept is found again, if it is whole and was made by the same code."""

from pathlib import Path

import msgspec
import pytest

from posse.durable import store, whole
from posse.durable.store import Store


def numbers(folder: Path, by: str = "code") -> Store[int]:
    return Store(folder, by, msgspec.msgpack.encode, msgspec.msgpack.Decoder(int).decode)


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    for n in (2, 10, 0):
        numbers(tmp_path / "kept").keep(str(n), n)
    again = numbers(tmp_path / "kept")
    assert [again.kept(str(n)) for n in range(3)] == [0, None, 2]
    assert [msgspec.msgpack.decode(one) for one in store.pieces(tmp_path / "kept")] == [0, 2, 10]
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
    monkeypatch.setattr(whole, "write", full)
    kept.keep("a", 1)
    assert kept.trouble == "No space left on device"
