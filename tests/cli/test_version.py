"""`posse --version` says what is installed and how to get the other build."""

import pytest

import posse
from posse.cli.main import main
from posse.hosts import endpoint


def test_the_version_is_the_packages_and_how_it_is_built(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    how = "compiled" if str(endpoint.__file__).endswith(".so") else "plain Python"
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"posse {posse.__version__}"
    assert second.startswith(f"{how}; ")
    assert "pip install" in second
