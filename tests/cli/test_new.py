"""`posse new` and the guide: one skeleton, which imports what is public and nothing else."""

import ast
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from posse import extend
from posse.cli.main import main
from posse.cli.new import text
from posse.families import get_system
from tests.support.blocks import ROOT, blocks

GUIDE = ROOT / "docs" / "your-own-algorithm.md"


def test_the_guide_is_the_skeleton() -> None:
    python = [block for block in blocks(GUIDE) if block.language == "python"]
    shown = "".join(block.text for block in python if not block.file).split()
    assert shown == text("system.py", "greedy").split()
    files = {block.file: block.text.strip() for block in blocks(GUIDE) if block.file}
    assert files["run.toml"] == text("run.toml", "greedy").strip()
    assert files["test_greedy.py"] == text("test.py", "greedy").strip()


@pytest.mark.parametrize("source", ["system.py", "test.py"])
def test_it_imports_nothing_that_is_not_public(source: str) -> None:
    for node in ast.walk(ast.parse(text(source, "greedy"))):
        if isinstance(node, ast.ImportFrom) and node.module not in ("posse.extend", None):
            assert node.module.partition(".")[0] in sys.stdlib_module_names
        if isinstance(node, ast.Import):
            ours = {alias.name for alias in node.names}
            assert ours <= {"posse", "pytest", "msgspec"} | sys.stdlib_module_names


def test_all_that_is_public_is_there_and_documented() -> None:
    for name in extend.__all__:
        assert getattr(extend, name).__doc__ or name in ("COORDINATOR", "Variant")


def test_a_name_that_is_none_and_a_file_that_is_there_are_refused(tmp_path, capsys) -> None:
    assert main(["new", "no-name", "--out", str(tmp_path)]) == 2
    assert main(["new", "mine", "--out", str(tmp_path)]) == 0
    assert 'pip install "posse-bandits[testing]"' in capsys.readouterr().out
    assert main(["new", "mine", "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_code_that_a_coordinator_names_is_not_imported(tmp_path, monkeypatch) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Exception, match="code, which is not taken from the network"):
        get_system("evil:SYSTEM")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_skeleton_passes_its_test_with_an_installed_wheel(tmp_path: Path) -> None:
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=alone,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env" / "bin" / "python")
    # a copy: building leaves folders beside the sources
    left_out = shutil.ignore_patterns(".*", "build", "runs", "site", "tests", "*.egg-info")
    shutil.copytree(ROOT, tmp_path / "source", ignore=left_out)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", "wheel", "./source")
    (wheel,) = (tmp_path / "wheel").glob("posse_bandits-*.whl")
    run(python, "-m", "pip", "install", "-q", str(wheel), "pytest")
    posse = str(tmp_path / "env" / "bin" / "posse")
    assert "plain Python" in run(posse, "--version")
    run(posse, "new", "mine")
    run(posse, "check", "mine/run.toml", "--trust")
    run(python, "-m", "pytest", "-q", "mine")
