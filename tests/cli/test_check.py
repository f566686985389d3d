"""posse check."""

from pathlib import Path

import pytest

from posse.cli.main import main


def test_check_says_what_there_is(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(run_file)]) == 0
    assert "8 agents; 3 arms" in capsys.readouterr().out


FIELD = """
system = "ddp-mab"
mode = "field"
agents.count = 50
arms = { kind = "csv", path = "rewards-{rank}.csv", count = 4 }
topology.kind = "ring"
parameters = { epsilon = 0.1, horizon = 20_000 }
"""


def test_check_says_what_is_really_spent_and_against_whom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.toml"
    run.write_text(FIELD)
    assert main(["check", str(run)]) == 0
    said = capsys.readouterr().out
    assert "parameters.noise = per_agent" in said
    assert "ε = 0.1 against whoever reads all messages of all agents" in said
    assert "privacy: at most ε = 10 for each reward, ever; each row of a log is used in" in said
    assert main(["check", str(run), "--set", "parameters.noise=printed"]) == 0
    assert "ε = 5 (M ε, not ε) against whoever reads all messages" in capsys.readouterr().out
    assert main(["check", str(run), "--set", "parameters.epsilon=inf"]) == 2
    assert "a reward of this run would cost ε = inf" in capsys.readouterr().err
