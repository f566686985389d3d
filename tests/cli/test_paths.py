"""Places to write to are looked at before anything starts."""

import os
from pathlib import Path

import pytest

from posse.cli import paths
from posse.errors import InputError


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    wanted = tmp_path / "a" / "b"
    assert paths.folder(wanted) == wanted
    assert wanted.is_dir()
    assert paths.file(wanted / "c" / "d.md") == wanted / "c" / "d.md"
    assert [path.name for path in wanted.iterdir()] == ["c"]
    assert not (wanted / "c" / "d.md").exists()


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file; name a folder"):
        paths.folder(tmp_path / "file")
    with pytest.raises(InputError, match="cannot be written: Not a directory"):
        paths.folder(tmp_path / "file" / "below")
    with pytest.raises(InputError, match="is a folder; name a file"):
        paths.file(tmp_path)


def test_what_may_not_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "read.md").touch()
    allowed = {tmp_path}  # to root everything is
    monkeypatch.setattr(os, "access", lambda path, mode: path in allowed)
    with pytest.raises(InputError, match=r"read\.md cannot be written: Permission denied"):
        paths.file(tmp_path / "read.md")
    allowed.clear()
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        paths.folder(tmp_path)
