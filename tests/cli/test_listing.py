"""posse list."""

import pytest

from posse.cli.main import main


def test_list_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for word in ("dp-mase", "corrupted-elimination", "epsilon", "required", "gaussian", "csv"):
        assert word in out
