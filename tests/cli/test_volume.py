"""How much the command line says."""

import json
import logging
from pathlib import Path

import pytest

from posse import api
from posse.cli import options, series

RIDE = """
system = "mase"
repeat = 2
agents.count = 8
arms = { kind = "bernoulli", means = [0.9, 0.1] }
engine.kind = "memory"
"""


@pytest.fixture(autouse=True)
def ride(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ride.toml").write_text(RIDE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "--quiet run ride.toml",
        "run ride.toml -q",
        "sweep ride.toml --over seed=1,2 --quiet",
    ],
)
def test_quiet_says_nothing_and_leaves_the_directory(line, tmp_path, posse):
    assert posse(*line.split()) == ("", "")
    assert len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.slow
def test_quiet_prints_what_was_asked_for(posse):
    said = posse("run", "ride.toml", "--json", "--quiet")
    assert len(json.loads(said.out)["runs"]) == 2
    assert said.err == ""
    assert "mase" in posse("list", "mase", "--quiet").out


def test_quiet_says_what_is_wrong(posse):
    assert "absent.toml" in posse("run", "absent.toml", "--quiet", code=2).err


@pytest.mark.parametrize("line", ["run ride.toml --verbose", "-v run ride.toml"])
def test_verbose_says_each_run_as_it_ends(line, posse):
    said = posse(*line.split())
    lines = sorted(row for row in said.err.splitlines() if row.startswith("run "))
    assert [row.split(":")[0] for row in lines] == ["run 1 of 2", "run 2 of 2"]
    assert lines[0].startswith("run 1 of 2: arm 0 (identified), right; ")
    assert "done" in said.out


def test_verbose_shows_the_traceback_of_a_defect(posse, monkeypatch):
    def handle(self, event, now):
        return [1 / 0]

    monkeypatch.setattr("posse_systems.rio2023.agent.MaseVoter.handle", handle)
    plain = "--set", "engine.plain=true"
    short = posse("run", "ride.toml", "--repeat", "1", *plain, code=3).err
    assert short.startswith("posse: agent 0 has a defect: ZeroDivisionError: division by zero (")
    assert short.endswith("; --verbose shows the traceback\n")
    long = posse("run", "ride.toml", "--repeat", "1", "--verbose", *plain, code=3).err
    assert "--verbose shows" not in long
    assert "Traceback (most recent call last)" in long


def test_what_a_peer_or_a_path_says_is_no_markup(capsys):
    result = api.run("ride.toml", repeat=1)
    result.runs[0].refused = {"[/nope]": 1, "[link=http://evil.example]posse[/link]": 2}
    series.show(result, Path("runs/[/x]"), options.console())
    shown = capsys.readouterr().out
    assert "1 [/nope], 2 [link=http://evil.example]posse[/link]" in shown
    assert "runs/[/x]" in shown


def test_a_log_of_json_has_nothing_else_not_even_at_a_bad_end(tmp_path, posse, monkeypatch):
    logger = logging.getLogger("posse")
    for name in ("handlers", "level", "propagate"):
        monkeypatch.setattr(logger, name, getattr(logger, name))
    options = ["--set", "engine.joining=0.3", "--log", "json", "--http", ":0", "--linger", "0.1"]
    out, lines = posse(
        "coordinator", "ride.toml", "--bind", f"ipc://{tmp_path}/hub", *options, code=3
    )
    said = [json.loads(line) for line in lines.splitlines()]
    assert out == ""
    assert f"waiting for 8 agents at ipc://{tmp_path}/hub" in [line["message"] for line in said]
    ends = [line["message"] for line in said if line["level"] == "error"]
    assert ends == ["no agent joined for 0.3 s; waiting for agents 0, 1, 2, 3, 4, 5, 6, 7 to join"]
    assert "is served for 0.1 s more, or until Ctrl-C" in said[-1]["message"]
