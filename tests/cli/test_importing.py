"""`posse import`: what it writes is a run file that posse takes, and a receipt."""

import os
import pty
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import Posse
from tests.cli.test_said import GEPHI, UDATA
from tests.support.patience import PATIENCE


def _typed(folder: Path, words: list[str], *answers: str) -> tuple[int, str]:
    """The exit code, and what a terminal shows, of an import that is answered by these lines."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "posse", "import", *words]
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as asks:
        os.close(theirs)
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        shown = b""
        with suppress(OSError):  # the other end is closed
            while select.select([ours], [], [], PATIENCE)[0] and (more := os.read(ours, 4096)):
                shown += more
        os.close(ours)
        return asks.wait(PATIENCE), shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("name", "text", "answers", "options"),
    [
        ("u.data", UDATA, ("2", "3"), "--arm 2 --reward 3"),
        ("graph.txt", "a b 2\nb c 3\n", ("miles",), "--weights miles"),
        ("asoiaf.csv", GEPHI, ("",), "--weights ''"),
        ("many.csv", "arm,reward\n" + "".join(f"{n},1\n" for n in range(101)), ("5",), "--arms 5"),
    ],
)
def test_in_a_terminal_it_asks_what_it_cannot_know(
    name: str, text: str, answers: tuple[str, ...], options: str, tmp_path: Path, posse: Posse
) -> None:
    (tmp_path / name).write_text(text)
    code, shown = _typed(tmp_path, [name], *answers)
    assert code == 0
    assert f"asked        posse import {name} {options}\n" in shown
    words = [answers[0] if word == "''" else word for word in options.split()]
    posse("import", tmp_path / name, *words, "--out", tmp_path / "again")
    made = tmp_path / name.split(".", maxsplit=1)[0] / "run.toml"
    assert made.read_text() == (tmp_path / "again" / "run.toml").read_text()


def test_an_answer_that_says_nothing_is_the_error(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text(UDATA)
    code, shown = _typed(tmp_path, ["u.data"], "")
    assert (code, shown.count("say by --arm COLUMN")) == (2, 2)
    assert not (tmp_path / "u").exists()
