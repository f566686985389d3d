"""Sweeps, comparisons, results of folders and audits from Python: as the command line has them."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import posse
from posse.cli.main import main
from posse.errors import InputError, SpecError
from posse.security import noise

RUN: dict[str, Any] = {
    "system": "ucb1",
    "seed": 3,
    "repeat": 3,
    "agents": {"count": 2},
    "arms": {"kind": "bernoulli", "means": [0.8, 0.3]},
    "parameters": {"horizon": 20},
    "engine": {"kind": "memory"},
}


class Steps:
    """Arms of a class: arm k pays k."""

    def __init__(self, agent: int, agents: int, seed: int) -> None:
        pass

    def pull(self, arm: int, count: int) -> Any:
        """So many times k."""
        return np.full(count, float(arm))


def test_a_sweep_is_that_of_the_command_line(tmp_path: Path) -> None:
    swept = posse.sweep(RUN, {"parameters.horizon": [10, 20], "seed": [3]}, out=tmp_path / "s")
    assert [point.at for point in swept.points] == [
        {"parameters.horizon": 10, "seed": 3},
        {"parameters.horizon": 20, "seed": 3},
    ]
    alone = posse.run(RUN)
    assert [run.regret for run in swept.points[1].result.runs] == [run.regret for run in alone.runs]
    table = swept.to_frame()
    assert list(table["pulls"]) == [20, 40]
    assert table["regret"][1] == pytest.approx(alone.summary()["regret"]["mean"])
    kept = [posse.read(folder).runs for folder in sorted((tmp_path / "s").iterdir())]
    assert [[run.pulls for run in runs] for runs in kept] == [[20] * 3, [40] * 3]
    with pytest.raises(SpecError, match="parameters.horizn"):
        posse.sweep(RUN, {"parameters.horizn": [1]})
    with pytest.raises(InputError, match="a value for each key"):
        posse.sweep(RUN, {"seed": []})


def test_a_comparison_has_differences_run_by_run() -> None:
    short, long = (posse.run(RUN, parameters={"horizon": n}) for n in (10, 20))
    table = posse.compare(short=short, long=long)
    rows = {
        (m, of): mean
        for m, of, mean in zip(table["measure"], table["of"], table["mean"], strict=True)
    }
    apart = [b.regret - a.regret for a, b in zip(short.runs, long.runs, strict=True)]
    assert rows["pulls", "long - short"] == 20
    assert rows["regret", "long - short"] == pytest.approx(np.mean(apart))
    assert ("regret", "short - short") not in rows
    other = posse.run({**RUN, "arms": {"kind": "bernoulli", "means": [0.8, 0.2]}})
    with pytest.raises(InputError, match="other and short have other arms"):
        posse.compare(short=short, other=other)


def test_a_folder_is_read_back(tmp_path: Path) -> None:
    made = posse.run(RUN, out=tmp_path / "o")
    back = posse.read(tmp_path / "o")
    assert json.dumps(back.document()) == json.dumps(made.document())
    with pytest.raises(InputError):
        posse.read(tmp_path)


@pytest.mark.slow
def test_an_audit_says_what_the_verb_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the field's noise, which is another each time, all of it is the same."""
    monkeypatch.setattr(noise, "is_here", lambda: False)
    run = tmp_path / "run.toml"
    run.write_text(
        'system = "cdp-mab"\nagents.count = 2\nparameters = { horizon = 300, epsilon = 1.0 }\n'
        'arms = { kind = "bernoulli", means = [0.9, 0.1] }\n'
    )
    found = posse.run_audit(run, runs=100, jobs=1)
    line = [
        "audit",
        str(run),
        "--runs",
        "100",
        "--jobs",
        "1",
        "--json",
        "--out",
        str(tmp_path / "a"),
    ]
    assert main(line) == 0
    said = json.loads(capsys.readouterr().out)
    assert json.loads(msgspec.json.encode(found)) == said
    assert found.verdict is not None
    assert found.verdict.trials == said["verdict"]["trials"] == 50


def test_arms_of_a_table_are_logs_by_agent_with_its_names(tmp_path: Path) -> None:
    frame = {
        "who": ["x", "y", "x", "y"] * 20,
        "item": ["b", "a", "a", "b"] * 20,
        "r": [1.0, 0.0] * 40,
    }
    arms = posse.arms_of(frame, tmp_path / "logs", arm="item", reward="r", agent="who")
    assert arms["names"] == ["b", "a"]
    logs = [(tmp_path / "logs" / f"log-{rank}.csv").read_text() for rank in (0, 1)]
    assert logs[0] == "arm,reward\n" + "b,1.0\na,1.0\n" * 20
    assert logs[1] == "arm,reward\n" + "a,0.0\nb,0.0\n" * 20
    made = posse.run({**RUN, "arms": arms})
    assert "(b)" in made.verdict.sentence or "(a)" in made.verdict.sentence
    with pytest.raises(InputError, match="no column 'reward'"):
        posse.arms_of(frame, tmp_path / "more", arm="item")


def test_a_target_may_be_a_class() -> None:
    arms = {"kind": "python", "target": Steps, "count": 2}
    record = posse.run({**RUN, "arms": arms}).runs[0]
    assert record.pulls_per_arm is not None
    assert record.rewards == record.pulls_per_arm[1]
    local = type("Local", (), {"__qualname__": "f.<locals>.Local"})
    with pytest.raises(SpecError, match="within a function: move it out"):
        posse.run({**RUN, "arms": {**arms, "target": local}})
