"""`posse new` and the guide: one skeleton, which imports what is public and nothing else."""

import ast
import sys

import pytest

from posse import extend, script
from posse.cli.new import MACHINES, PRIVATE, SCRIPT, text, trial
from posse.system import get_system
from tests.cli.conftest import Posse
from tests.support.blocks import ROOT, blocks

GUIDE = ROOT / "docs" / "your-own-algorithm.md"


def test_the_guide_is_the_skeleton() -> None:
    python = [block for block in blocks(GUIDE) if block.language == "python"]
    shown = "".join(block.text for block in python if not block.file).split()
    assert shown == text("script.py", "greedy").split()
    files = {block.file: block.text.strip() for block in blocks(GUIDE) if block.file}
    assert files["run.toml"] == text("script.toml", "greedy").strip()
    assert files["test_greedy.py"] == text("script_test.py", "greedy").strip()


def test_a_first_script_has_forty_lines_with_run_file_and_test() -> None:
    lines = [line for source in SCRIPT for line in text(source, "mine").splitlines() if line]
    assert len(lines) <= 40


@pytest.mark.parametrize(
    "source", [name for name in (*MACHINES, *PRIVATE, *SCRIPT) if ".py" in name]
)
def test_it_imports_nothing_that_is_not_public(source: str) -> None:
    for node in ast.walk(ast.parse(text(source, "greedy"))):
        if isinstance(node, ast.ImportFrom) and node.module not in ("posse.extend", "posse.script"):
            assert node.module.partition(".")[0] in sys.stdlib_module_names
        if isinstance(node, ast.Import):
            ours = {alias.name for alias in node.names}
            assert ours <= {"posse", "pytest", "msgspec", "numpy"} | sys.stdlib_module_names


def test_all_that_is_public_is_there_and_documented() -> None:
    for public in (extend, script):
        for name in public.__all__:
            assert getattr(public, name).__doc__ or name in ("COORDINATOR", "Script", "Variant")


@pytest.mark.parametrize("where", ["here", "compose", "kubernetes"])
def test_a_trial_has_all_its_files_and_overwrites_none(where: str, tmp_path, posse: Posse) -> None:
    asked = ("new", "trial", "--deploy", where, "--agents", "16", "--out", tmp_path)
    said = posse(*asked).out
    assert {path.name for path in tmp_path.iterdir()} == {*trial(where, 16)}
    assert all(str(tmp_path / name) in said for name in trial(where, 16))
    assert "16 agents" in posse("check", tmp_path / "run.toml").out
    assert "exists already" in posse(*asked, code=2).err


@pytest.mark.parametrize("example", ["federated", "live"])
def test_examples_are_written_as_they_are(example: str, tmp_path, posse: Posse) -> None:
    asked = ("new", "some", "--example", example, "--out", tmp_path)
    assert str(tmp_path) in posse(*asked).out.partition("Begin it:")[2]
    theirs = [path for path in (ROOT / "examples" / example).iterdir() if path.is_file()]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in theirs}
    for path in theirs:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    assert "exists already" in posse(*asked, code=2).err


def test_code_that_a_coordinator_names_is_not_imported(tmp_path, monkeypatch) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Exception, match="code, which is not taken from the network"):
        get_system("evil:SYSTEM")
