"""`posse simulate`."""

from pathlib import Path

import pytest
import tomli_w

from posse.testing.small import SMALL
from tests.cli.conftest import Posse

CUT = '[{"what":"cut","after":9,"ends":[-1,0],"lasts":0.1}]'


def test_a_run_file_is_tried_and_a_seed_is_replayed_and_drawn(
    tmp_path: Path, posse: Posse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(tomli_w.dumps({"system": "mase", **SMALL["mase"]}))
    tried = posse("simulate", "run.toml", "--seeds", "2", "--kinds", "delay,cut", "--jobs", "1")
    assert "2 seeds, and nothing that must hold was violated" in tried.out
    words = ["--seed", "3", "--faults", CUT, "--picture", "run.svg"]
    replayed = posse("simulate", "run.toml", *words)
    assert "cut at coordinator, 0 after 9 frames for 0.1 s" in replayed.out
    assert Path("run.svg").read_text().startswith("<svg")
