"""posse run --watch, and posse watch on the folder of a run."""

import json
import re
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from posse.cli import watch
from posse.hosts.status import LIVE
from posse.log import LOG, begin
from tests.cli.conftest import Posse
from tests.conftest import Start
from tests.support.patience import PATIENCE
from tests.support.remote import until

RUN = """
system = "dp-mase"
agents.count = 6
arms = { kind = "bernoulli", means = [0.9, 0.5, 0.1] }
parameters.epsilon = 0.5
"""


def page(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answered:
            return str(answered.read().decode())
    except urllib.error.HTTPError:  # the first is being drawn
        return ""


@pytest.mark.slow
def test_a_run_is_watched_until_it_is_interrupted(tmp_path: Path, start: Start) -> None:
    """Its page is live while it runs, its last one says why it ended; the same as text."""
    (tmp_path / "run.toml").write_text(RUN)
    words = ["run", "run.toml", "--quiet", "--engine", "processes", "--jobs", "1", "--out", "out"]
    run = start(*words, "--repeat", "100000", "--watch", cwd=tmp_path)
    assert run.stderr is not None
    lines = iter(run.stderr.readline, "")
    url = next(line for line in lines if "watch it at " in line).split()[-1]
    until(lambda: "data-live" in page(url) and (tmp_path / "out" / LIVE).exists(), "a live page")
    text = start("watch", "--text", "out", cwd=tmp_path)
    assert text.stdout is not None
    # between two runs only the agents are told
    assert any(line.startswith("dp-mase (corrected) · lab · Run ") for line in text.stdout)
    run.send_signal(signal.SIGINT)
    until(lambda: ": interrupted" in page(url), "why it ended")
    _, rest = run.communicate(timeout=PATIENCE)
    text.communicate(timeout=PATIENCE)
    assert run.returncode == 130, rest
    assert text.returncode == 0
    assert not (tmp_path / "out" / LIVE).exists()
    with pytest.raises(urllib.error.URLError):
        page(url)


def test_no_list_of_processes_shows_the_address_that_a_browser_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    seen: list[tuple[str, str, int]] = []

    def opened(address: str) -> bool:
        file = Path(address.removeprefix("file://"))
        seen.append((address, file.read_text(), file.parent.stat().st_mode & 0o077))
        return True

    monkeypatch.setattr("webbrowser.open", opened)
    monkeypatch.setattr("posse.cli.streams.pause", lambda: None)
    url = re.search(r"watch it at (http://\S+)", posse("watch", tmp_path).err)
    assert url is not None
    [(address, text, others)] = seen
    assert "token" not in address
    assert url[1] in text
    assert others == 0
    assert not Path(address.removeprefix("file://")).exists()


@pytest.mark.slow
def test_the_page_of_a_short_run_waits_for_its_first_reader(tmp_path: Path, start: Start) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    run = start("run", "run.toml", "--engine", "memory", "--out", "out", "--watch", cwd=tmp_path)
    assert run.stderr is not None
    lines = iter(run.stderr)
    url = next(line for line in lines if "watch it at " in line).split()[-1]
    next(line for line in lines if "waits 60 s for its first reader" in line)
    until(lambda: "<body>" in page(url), "the page")
    assert run.wait(PATIENCE) == 0
    assert (tmp_path / "out" / "result.json").is_file()


def test_beyond_this_machine_it_says_who_can_read_it(
    tmp_path: Path, posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FIRST_READER", 0.0)
    (tmp_path / "run.toml").write_text(RUN)
    run = ["run", str(tmp_path / "run.toml"), "--engine", "memory", "--out", str(tmp_path / "out")]
    assert watch._IN_CLEAR in posse(*run, "--watch", "0.0.0.0:0").err


def test_the_address_is_in_a_log_of_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = LOG.handlers, LOG.level, LOG.propagate
    begin("coordinator", insecure=True, form="json")
    try:
        with watch.serving(tmp_path, ":0"):
            said = json.loads(capsys.readouterr().err)
    finally:
        LOG.handlers, LOG.level, LOG.propagate = before
    assert said["message"].startswith("watch it at http://127.0.0.1:")
