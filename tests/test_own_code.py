"""The user's own code: found in the user's folders, looked for before it is imported."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from posse import own_code
from tests.support.packages import offer


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
    assert own_code.missing("own_bandits:Arms", [str(folder)], "posse.arms") == ""
    assert "own_bandits" not in sys.modules
    assert own_code.missing("json:loads", [str(folder)], "posse.arms") == ""
    sentence = own_code.missing("no_such_bandits.arms:x", [str(folder)], "posse.arms")
    said = f"there is no module 'no_such_bandits' in {folder}, nor installed; see path = […]"
    assert sentence == said


def test_an_object_is_loaded_with_the_names_inside_it(folder: Path) -> None:
    assert own_code.load("own_bandits:nested.best", [str(folder)], "posse.arms") == 3
    with pytest.raises(AttributeError):
        own_code.load("own_bandits:worst", [str(folder)], "posse.arms")


def test_a_users_folder_hides_no_package_of_ours(folder: Path) -> None:
    (folder / "topologies").mkdir()
    (folder / "topologies" / "__init__.py").write_text("raise SystemExit('hijacked')")
    sys.modules.pop("topologies.sinks", None)
    found = own_code.load("topologies.sinks:find_sinks", [str(folder)], "posse.arms")
    assert Path(found.__code__.co_filename).parents[1] != folder


def test_folders_are_relative_to_the_run_files_own(tmp_path: Path) -> None:
    found = own_code.folders_of(str(tmp_path), [".", "arms", "/opt/shared"])
    assert found == [str(tmp_path), str(tmp_path / "arms"), "/opt/shared"]


def test_a_users_package_that_ours_hides_is_named(folder: Path) -> None:
    (folder / "protocol").mkdir()
    said = own_code.missing("protocol.mine:SYSTEM", [str(folder)], "posse.systems")
    assert (
        said == f"'protocol' is a package of posse's, which hides {folder}/protocol; rename yours"
    )
    assert own_code.missing("protocol.mine:SYSTEM", [], "posse.systems") == ""


@pytest.mark.parametrize("hiding", ["protocol/__init__.py", "agent.py"])
@pytest.mark.parametrize(
    "code", ["posse.run({})", "from posse.cli.main import main; main(['list'])"]
)
def test_what_hides_a_package_of_ours_is_named(tmp_path: Path, hiding: str, code: str) -> None:
    (tmp_path / hiding).parent.mkdir(exist_ok=True)
    (tmp_path / hiding).write_text("raise SystemExit('hijacked')")
    done = subprocess.run(
        [sys.executable, "-c", f"import posse; {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    name = hiding.removesuffix(".py").partition("/")[0]
    sentence = f"posse's package '{name}' is hidden by {tmp_path / hiding}; rename that"
    assert sentence in done.stderr.splitlines()[-1]


def test_a_name_without_a_colon_is_what_a_package_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = own_code.missing("best", [], "posse.arms")
    assert said.startswith("no installed package offers it in posse.arms (known: none)")
    offer(tmp_path, {"posse.arms": {"best": "json:loads"}})
    monkeypatch.syspath_prepend(tmp_path)
    assert own_code.missing("best", [], "posse.arms") == ""
    assert own_code.load("best", [], "posse.arms") is json.loads
    assert "(known: best)" in own_code.missing("worst", [], "posse.arms")
