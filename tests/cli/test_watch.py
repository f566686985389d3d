"""posse run --watch, and posse watch --text as its client."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from posse.cli import main as cli
from posse.cli import watch
from posse.log import LOG, begin
from posse.measure.numbers import number
from posse.operate.web import Web
from posse.watch import text
from posse.watch.feed import Feed
from posse.watch.page import routes
from tests.support.patience import PATIENCE
from tests.watch.test_feed import plan_of, watched

RUN = """
system = "dp-mase"
agents.count = 6
arms = { kind = "bernoulli", means = [0.9, 0.5, 0.1] }
parameters.epsilon = 0.5
"""
POSSE = [sys.executable, "-P", "-m", "posse"]


@pytest.mark.parametrize("engine", ["memory", pytest.param("processes", marks=pytest.mark.slow)])
def test_a_run_is_watched_until_it_is_interrupted(tmp_path: Path, engine: str) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    command = [*POSSE, "run", "run.toml", "--quiet", "--engine", engine, "--repeat", "2000"]
    run = subprocess.Popen(
        [*command, "--out", "out", "--watch"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert run.stderr is not None
        url = run.stderr.readline().removeprefix("watch it at ").strip()
        names, last = [], {}
        for name, data in text.events(url):
            names.append(name)
            last[name] = data
            if name == "state" and data.get("run", 0) > 0 and run.poll() is None:
                run.send_signal(signal.SIGINT)
        _, rest = run.communicate(timeout=PATIENCE)
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == 130, rest
    assert names[0] == "graph"
    assert names[-2:] == ["state", "end"]
    assert last["state"]["arrived"] == 6
    assert sum(last["state"]["votes"]) > 0
    assert last["end"] == {"said": [], "failed": "interrupted"}


def test_at_the_end_readers_are_told_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[list[tuple[str, str]], str]] = []
    close = Feed.close

    def heard(feed: Feed, said: list[tuple[str, str]], failed: str = "") -> None:
        told.append((said, failed))
        close(feed, said, failed)

    monkeypatch.setattr(Feed, "close", heard)
    (tmp_path / "run.toml").write_text(RUN)
    run = ["run", str(tmp_path / "run.toml"), "--engine", "memory", "--out", str(tmp_path / "out")]
    assert cli.main([*run, "--repeat", "3", "--watch"]) == 0
    [(said, failed)] = told
    assert dict(said)["found"].startswith("arm 0 in 3 of 3")
    assert failed == ""


def test_the_text_of_a_run_in_another_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    feed, record = watched(plan_of("dp-mase"))
    path, answers = routes(feed)
    web = Web("--watch", ":0", answers)
    try:
        assert cli.main(["watch", "--text", web.url + path]) == 0
    finally:
        web.close()
    seen = capsys.readouterr().out
    assert "dp-mase (corrected) · lab · run 1 of 1: identified" in seen
    assert "4 of 4 agents here · " in seen
    assert f"regret {number(record.regret)} · " in seen
    assert " Vote" in seen


def test_before_the_run_file_it_does_not_take_that_for_an_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--watch", "run.toml"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--watch run.toml: must be [HOST]:PORT" in said
    assert "to give no address, put --watch after FILE" in said


def test_without_a_browser_the_other_way_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert cli.main(["watch", "http://127.0.0.1:1/?token=x"]) == 1
    assert opened == ["http://127.0.0.1:1/?token=x"]
    assert "posse watch --text 'http://127.0.0.1:1/?token=x'\n" in capsys.readouterr().err


def test_beyond_this_machine_it_says_who_can_read_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    run = ["run", str(tmp_path / "run.toml"), "--engine", "memory", "--out", str(tmp_path / "out")]
    assert cli.main([*run, "--watch", "0.0.0.0:0"]) == 0
    assert watch._IN_CLEAR in capsys.readouterr().err


def test_the_address_is_in_a_log_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    before = LOG.handlers, LOG.level, LOG.propagate
    begin("coordinator", insecure=True, form="json")
    try:
        with watch.watching(plan_of("dp-mase"), ":0"):
            said = json.loads(capsys.readouterr().err)
    finally:
        LOG.handlers, LOG.level, LOG.propagate = before
    assert said["message"].startswith("watch it at http://127.0.0.1:")
