"""`posse --version` says what is installed and how to get the other build."""

from posse import __version__
from posse.hosts import endpoint
from tests.cli.conftest import Posse


def test_the_version_is_the_packages_and_how_it_is_built(posse: Posse) -> None:
    how = "compiled" if str(endpoint.__file__).endswith(".so") else "plain Python"
    first, second = posse("--version").out.splitlines()
    assert first == f"posse {__version__}"
    assert second.startswith(f"{how}; ")
    assert "pip install" in second
