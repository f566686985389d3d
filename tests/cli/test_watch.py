"""posse run --watch, and posse watch --text as its client."""

import subprocess
import sys
from pathlib import Path

import pytest

from posse.cli import main as cli
from posse.cli import watch
from posse.watch import text

RUN = """
system = "dp-mase"
agents.count = 6
arms = { kind = "bernoulli", means = [0.9, 0.5, 0.1] }
parameters.epsilon = 0.5
"""
POSSE = [sys.executable, "-P", "-m", "posse"]


def started(folder: Path, *more: str) -> tuple[subprocess.Popen[str], str]:
    """A command that is watched, and where."""
    (folder / "run.toml").write_text(RUN)
    command = [*POSSE, "run", "run.toml", "--out", "out", "--quiet", *more, "--watch"]
    run = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    return run, run.stderr.readline().removeprefix("watch it at ").strip()


@pytest.mark.parametrize("engine", ["memory", pytest.param("processes", marks=pytest.mark.slow)])
def test_a_run_is_watched_to_its_end(tmp_path: Path, engine: str) -> None:
    run, url = started(tmp_path, "--engine", engine, "--repeat", "3")
    names, last = [], {}
    for name, data in text.events(url):
        names.append(name)
        last[name] = data
    _, rest = run.communicate(timeout=60)
    assert run.returncode == 0, rest
    assert rest == ""
    assert names[0] == "graph"
    assert names[-2:] == ["state", "end"]
    assert last["state"]["run"] == 2
    assert last["state"]["status"] == "identified"
    assert dict(last["end"]["said"])["found"].startswith("arm 0 in 3 of 3")


def test_the_text_of_a_run_in_another_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, url = started(tmp_path, "--engine", "memory", "--repeat", "5")
    assert cli.main(["watch", "--text", url]) == 0
    run.communicate(timeout=60)
    seen = capsys.readouterr().out
    assert "dp-mase (corrected) · lab · run 5 of 5: identified" in seen
    assert "6 of 6 agents here · " in seen
    assert "regret " in seen
    assert " Vote" in seen


def test_before_the_run_file_it_does_not_take_that_for_an_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--watch", "run.toml"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--watch run.toml: must be [HOST]:PORT" in said
    assert "without one it stands behind FILE" in said


def test_without_a_browser_the_other_way_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert cli.main(["watch", "http://127.0.0.1:1/?token=x"]) == 1
    assert opened == ["http://127.0.0.1:1/?token=x"]
    assert "posse watch --text http://127.0.0.1:1/?token=x" in capsys.readouterr().err


def test_beyond_this_machine_it_says_who_can_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    run = ["run", str(tmp_path / "run.toml"), "--engine", "memory", "--out", str(tmp_path / "out")]
    assert cli.main([*run, "--watch", "0.0.0.0:0"]) == 0
    assert watch._IN_CLEAR in capsys.readouterr().err
