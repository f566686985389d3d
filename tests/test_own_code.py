"""The user's own code: found in the user's folders, looked for before it is imported."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from posse import own_code


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a module of the user's own, which is forgotten afterwards."""
    (tmp_path / "own_bandits.py").write_text(
        "class Arms:\n    best = 3\nloaded = True\nnested = Arms\n"
    )
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("own_bandits", None)


@pytest.mark.parametrize(
    ("text", "fits"),
    [("a:b", True), ("a.b:c.d", True), ("a", False), (":b", False), ("a:", False), ("", False)],
)
def test_a_target_has_a_module_and_a_name(text: str, fits: bool) -> None:
    assert own_code.is_target(text) == fits


def test_what_is_missing_is_said_without_importing_what_is_there(folder: Path) -> None:
    assert own_code.missing("own_bandits:Arms", [str(folder)]) == ""
    assert "own_bandits" not in sys.modules
    assert own_code.missing("json:loads", [str(folder)]) == ""
    sentence = own_code.missing("no_such_bandits.arms:x", [str(folder)])
    assert sentence == f"there is no module 'no_such_bandits' in {folder}, nor installed"


def test_an_object_is_loaded_with_the_names_inside_it(folder: Path) -> None:
    assert own_code.load("own_bandits:nested.best", [str(folder)]) == 3
    with pytest.raises(AttributeError):
        own_code.load("own_bandits:worst", [str(folder)])


def test_a_users_folder_hides_no_package_of_ours(folder: Path) -> None:
    (folder / "topologies").mkdir()
    (folder / "topologies" / "__init__.py").write_text("raise SystemExit('hijacked')")
    sys.modules.pop("topologies.sinks", None)
    found = own_code.load("topologies.sinks:find_sinks", [str(folder)])
    assert Path(found.__code__.co_filename).parents[1] != folder


def test_folders_are_relative_to_the_run_files_own(tmp_path: Path) -> None:
    found = own_code.folders_of(str(tmp_path), [".", "arms", "/opt/shared"])
    assert found == [str(tmp_path), str(tmp_path / "arms"), "/opt/shared"]
