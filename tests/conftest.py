"""What all tests share: nothing that a test starts may outlive it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

PROBLEM_1 = [0.7, 0.5, 0.3] + [0.1] * 7
"""Problem 1 of Rio et al. 2023."""


@pytest.fixture(autouse=True, scope="session")
def own_temporary_folder() -> Iterator[None]:
    """Other posses on this machine must not be mistaken for a test's."""
    with (
        tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def _folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("posse-*"))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process and no socket folder is left behind by a test."""
    children, folders = _children(), _folders()
    yield
    assert _children() <= children
    assert _folders() <= folders
