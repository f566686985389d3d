"""`posse simulate`."""

from pathlib import Path

import pytest
import tomli_w

from posse.cli.main import main
from posse.testing.small import SMALL

CUT = '[{"what":"cut","after":9,"ends":[-1,0],"lasts":0.1}]'


def test_a_run_file_is_tried_and_a_seed_is_replayed_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(tomli_w.dumps({"system": "mase", **SMALL["mase"]}))
    assert (
        main(["simulate", "run.toml", "--seeds", "2", "--kinds", "delay,cut", "--jobs", "1"]) == 0
    )
    assert "2 seeds, and nothing that must hold was violated" in capsys.readouterr().out
    words = ["--seed", "3", "--faults", CUT, "--picture", "run.svg"]
    words = ["--seeds", "2", "--kinds", "delay,cut", "--jobs", "1"]
    assert main(["simulate", "run.toml", *words]) == 0
    assert "2 seeds, and nothing that must hold was violated" in capsys.readouterr().out
    words = ["--seed", "3", "--faults", CUT, "--picture", "run.svg"]
    assert main(["simulate", "run.toml", *words]) == 0
    assert "cut at coordinator, 0 after 9 frames for 0.1 s" in capsys.readouterr().out
    assert Path("run.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--kinds", "flood"], "--kinds flood: unknown"),
        (["--faults", CUT], "--faults needs --seed"),
        (["--seed", "1", "--faults", "[1]"], "--faults cannot be read"),
    ],
)
def test_what_cannot_be_tried_is_said(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words]) == 2
    assert told in capsys.readouterr().err
