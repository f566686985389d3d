"""Places to write to are looked at before anything starts."""

import os
from pathlib import Path

import pytest

from posse.cli import frame, main, paths
from posse.engines import memory
from posse.errors import InputError
from tests.cli.conftest import Posse


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


def test_what_is_looked_at_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    paths.require(tmp_path / "there" / "a" / "b")
    paths.require(tmp_path / "there")
    with pytest.raises(InputError, match="cannot be written"):
        paths.require(Path("/proc/none/deep"))
    assert [*tmp_path.rglob("*")] == [tmp_path / "there"]


WRITES = {
    "run --out": "ride.toml",
    "run --capture": "ride.toml",
    "audit --out": "ride.toml",
    "coordinator --out": "ride.toml --bind tcp://127.0.0.1:0",
    "coordinator --capture": "ride.toml --bind tcp://127.0.0.1:0",
    "coordinator --resume": "ride.toml --bind tcp://127.0.0.1:0",
    "simulate --picture": "ride.toml --seed 1",
    "judge --page": "mase",
    "report --out": "ride",
    "new --out": "own",
    "import --out": "ride.toml",
    "frames --picture": "ride.toml",
    "paper --out": "rio-1 --quick",
    "paper --document": "rio-1 --quick",
    "arena --out": "ride.toml",
}
"""By verb and option that names what is written: the rest of a command."""

NAMES = {"--out", "--page", "--picture", "--document", "--resume", "--capture"}


def test_each_verb_that_writes_refuses_before_it_works(
    run_file: Path, posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders that cannot be made, and a file in the way; another package's verbs too."""
    whole = main.whole()
    verbs = [*main.VERBS, *main.added_verbs()]
    taken = {f"{v} {name}" for v in verbs for name in NAMES & {*frame.options(whole, v)}}
    assert taken - {"agent --capture"} == set(WRITES)  # it appends to what all write

    def works(*_: object, **__: object) -> None:
        raise AssertionError("a run began")

    monkeypatch.setattr(memory, "run", works)
    before = sorted(run_file.parent.rglob("*"))
    for named, words in WRITES.items():
        verb, option = named.split()
        for place in ("/proc/none", "/proc/none/deep", f"{run_file}/below/it"):
            said = posse(verb, *words.split(), option, place, code=2).err
            assert "cannot be written" in said, (named, place, said)
            assert "Traceback" not in said
    assert sorted(run_file.parent.rglob("*")) == before


def test_keys_are_made_where_only_the_folders_inside_can_be_written(
    tmp_path: Path, posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As volumes are mounted into a folder of the image."""
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != tmp_path)
    for party in ("coordinator", "agent-0"):
        (tmp_path / party).mkdir(mode=0o700)
    posse("keys", str(tmp_path), "--agents", "1")
    assert (tmp_path / "agent-0" / "agent-0.key_secret").exists()
