"""`posse import`: what it writes is a run file that posse takes, and a receipt."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Posse

LOG = "user,movie,stars\n" + "".join(f"{n % 5},m{n % 3},{n % 4}\n" for n in range(60))
FILES = {"ratings.csv": LOG, "out.zachary": "% sym weighted\n1 2 3\n2 3 1\n3 1 2\n"}
SAID = ("--arm", "movie", "--reward", "stars")


@pytest.mark.parametrize(
    ("name", "options", "folder"),
    [
        ("ratings.csv", SAID, "ratings"),
        ("ratings.csv", (*SAID, "--person", "user", "--agents", "2"), "ratings"),
        ("ratings.csv", (*SAID, "--arms", "2", "--cost"), "ratings"),
        ("out.zachary", ("--weights", "delay"), "zachary"),
    ],
)
def test_what_it_writes_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse, name, options, folder
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(FILES[name])
    told = json.loads(posse("import", name, *options, "--json").out)
    assert told == json.loads((tmp_path / folder / "receipt.json").read_text())
    assert told["read"] == told["used"] + sum(told["left_out"].values())
    posse("check", f"{folder}/run.toml")
    posse("run", f"{folder}/run.toml", "--engine", "memory", "--out", "o")
    assert "exists already; choose another" in posse("import", name, *options, code=2).err


def test_it_asks_by_name_for_what_it_cannot_know(tmp_path: Path, posse: Posse) -> None:
    log, one = tmp_path / "log.csv", tmp_path / "one.csv"
    log.write_text("arm,reward\n" + "".join(f"{n},1\n" for n in range(101)))
    one.write_text("arm,reward\n7,1\n")
    said = posse("import", log, "--out", tmp_path / "o", code=2).err
    assert "has 101 arms; say by --arms N how many of the commonest" in said
    assert "a bandit needs two" in posse("import", one, "--out", tmp_path / "o", code=2).err
    assert not (tmp_path / "o").exists()
