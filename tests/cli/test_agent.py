"""posse agent: which rank it asks for."""

import pytest

from posse.cli.agent import rank_of
from posse.errors import PosseError


@pytest.mark.parametrize("name", ["JOB_COMPLETION_INDEX", "SLURM_PROCID"])
def test_the_rank_comes_from_whoever_starts_many(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "5")
    assert rank_of("auto") == 5
    assert rank_of("3") == 3
    monkeypatch.setenv(name, "five")
    with pytest.raises(PosseError, match=f"{name} five: must be a number"):
        rank_of("auto")
    monkeypatch.delenv(name)
    assert rank_of("auto") == -1
