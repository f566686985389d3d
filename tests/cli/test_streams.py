"""Streams that fail and terminals that go: no traceback, the run is kept, nothing is left."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from posse.gates import files
from tests.cli.conftest import Posse
from tests.support import halting
from tests.support.patience import PATIENCE
from tests.support.remote import until

RUN = [sys.executable, "-P", "-m", "posse", "run", "ride.toml", "--out", "out", "--jobs", "1"]

DRAW = "topology ride.toml --draw g.png --set topology={kind='ring'}"
FULL = "posse: {} cannot be written: No space left on device; --verbose shows the traceback\n"


def ended(command: list[str], **more: Any) -> tuple[int, str, str]:
    """The exit code of a command and what it said, but for how far, on a slow machine, it is."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    done = subprocess.run(command, timeout=PATIENCE, check=False, **given)
    said = [line for line in done.stderr.splitlines(True) if " of 2 runs" not in line]
    return done.returncode, done.stdout or "", "".join(said)


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_full_standard_output_is_said_and_the_run_is_kept(
    run_file: Path, json_too: list[str]
) -> None:
    with open("/dev/full", "w") as full:
        code, _, said = ended([*RUN, *json_too], stdout=full)
    assert (code, said) == (
        1,
        "posse: standard output cannot be written: No space left on device; the result is in out\n",
    )
    assert len(json.loads(Path("out/result.json").read_text())["runs"]) == 2


@pytest.mark.parametrize("words", ["report out --out page.html", "compare out again", DRAW])
def test_a_full_disk_is_said(
    run_file: Path, monkeypatch: pytest.MonkeyPatch, words: str, posse: Posse
) -> None:
    posse("run", "ride.toml", "--out", "out", "--quiet", "--repeat", "1")
    shutil.copytree("out", "again")
    target = words.split()[3] if words.count(" ") > 2 else "compare.html"
    patiently = files._patiently

    def full(open_: Callable[[], int]) -> int:
        file = patiently(open_)
        if not os.readlink(f"/proc/self/fd/{file}").endswith(f"{target}.half"):
            return file
        os.close(file)
        return os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(files, "_patiently", full)
    assert posse(*words.split(), code=1).err == FULL.format(target)
    assert not Path(f"{target}.half").exists()


def test_a_closed_standard_output_is_nobodys_business(run_file: Path) -> None:
    shell = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *RUN]
    assert subprocess.run(shell, timeout=PATIENCE, check=False).returncode == 0
    assert len(json.loads(Path("out/result.json").read_text())["runs"]) == 2
    # what is meant for a closed stream goes into no file
    for path in Path("out").rglob("*"):
        assert path.is_dir() or b"found" not in path.read_bytes()


def test_a_reader_that_has_gone_ends_a_command_without_a_word(run_file: Path) -> None:
    shell = ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash", *RUN, "--json"]
    assert ended(shell) == (1, "", "")


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [("PYTHONIOENCODING", "ascii", "\\u03b5 = 0.5"), ("COLUMNS", "0", "done")],
    ids=["no such letters", "no width"],
)
def test_whatever_a_terminal_has_the_result_is_shown(
    run_file: Path, name: str, value: str, shown: str
) -> None:
    code, out, said = ended(RUN, env=os.environ | {name: value})
    assert (code, said) == (0, "")
    assert shown in out


@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_a_run_as_ctrl_c_does(tmp_path: Path) -> None:
    halting.prepare(tmp_path)
    ours, theirs = pty.openpty()
    # the shell takes the terminal by opening it, and hands it on
    shell = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(theirs)]
    process = subprocess.Popen(
        [*shell, *halting.command("run", "run.toml", "--out", "out")],
        cwd=tmp_path,
        start_new_session=True,
    )
    os.close(theirs)
    kept = tmp_path / "out" / "kept"
    until(lambda: len(list(kept.glob("[0-9]*.msgpack"))) == 2, "two runs are kept")
    family = psutil.Process(process.pid).children(recursive=True)
    os.close(ours)
    assert process.wait(PATIENCE) == 130
    assert not psutil.wait_procs(family, timeout=PATIENCE)[1]
    assert (tmp_path / "out" / "failure.json").exists()


AS_IT_LOADS = """
import os, runpy, signal, sys

class Sender:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{sent})

sys.meta_path.insert(0, Sender)
sys.argv[1:] = ["run", "ride.toml", "--out", "out"]
{start}
"""
"""A command that is sent a signal when it begins to load a module."""


AS_MODULE = 'runpy.run_module("posse", run_name="__main__", alter_sys=True)'
INSTALLED = "from posse.__main__ import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("start", "module", "sent"),
    [
        (AS_MODULE, "posse.cli.main", "SIGINT"),
        (AS_MODULE, "posse.own_code", "SIGTERM"),
        (AS_MODULE, "numpy", "SIGHUP"),
        (INSTALLED, "posse.cli.main", "SIGHUP"),
        (INSTALLED, "posse.cli.series", "SIGINT"),
        (INSTALLED, "numpy", "SIGTERM"),
    ],
)
def test_who_interrupts_a_command_that_loads_is_told_so_too(
    run_file: Path, start: str, module: str, sent: str
) -> None:
    code = AS_IT_LOADS.format(module=module, sent=sent, start=start)
    assert ended([sys.executable, "-P", "-c", code]) == (130, "", "posse: interrupted\n")
    assert not Path("out").exists()


@pytest.mark.slow
def test_a_command_that_loads_without_a_terminal_goes_on(run_file: Path) -> None:
    code = AS_IT_LOADS.format(module="numpy", sent="SIGHUP", start=INSTALLED)
    shell = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-P", "-c", code]
    assert ended(shell)[0] == 0


def test_the_installed_command_is_the_one_that_is_told() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"posse": "posse.__main__:main"}


@pytest.mark.parametrize(
    ("engine", "pause"),
    [("processes", 0.6), pytest.param("memory", 0.0, marks=pytest.mark.slow)],
)
def test_a_second_interrupt_leaves_nothing_either(
    tmp_path: Path, engine: str, pause: float
) -> None:
    """At once it is the same wish again; later it cuts short what is being cleaned up."""
    halting.prepare(tmp_path)
    process = halting.start(tmp_path, "run", "run.toml", "--engine", engine, "--out", "out")
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    time.sleep(pause)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert not psutil.wait_procs(family, timeout=PATIENCE)[1]


@pytest.mark.slow
def test_a_run_without_a_terminal_goes_on(tmp_path: Path) -> None:
    """Under nohup SIGHUP is ignored."""
    halting.prepare(tmp_path)
    shell = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
    process = subprocess.Popen(
        [*shell, *halting.command("run", "run.toml", "--engine", "memory", "--out", "out")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    kept = tmp_path / "out" / "kept"
    until(lambda: len(list(kept.glob("[0-9]*.msgpack"))) == 2, "two runs are kept")
    process.send_signal(signal.SIGHUP)
    (tmp_path / "halt").unlink()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_whatever_a_command_prints_a_terminal_obeys_colours_alone() -> None:
    code = (
        "from posse.cli import streams; streams.prepare()\n"
        "print('\\x1b[2Jgone\\x1b[1mbold\\x9b2J')\n"
        "with streams.moving(): print('\\x1b[2A')"
    )
    _, said, _ = ended([sys.executable, "-P", "-c", code])
    assert said == "\\x1b[2Jgone\x1b[1mbold\\x9b2J\n\x1b[2A\n"
