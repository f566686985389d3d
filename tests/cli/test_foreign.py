"""Whoever reads a file or results of somebody else runs none of their code."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Posse
from tests.support.own_code import forget_own_code

RUN = """
seed = 1
agents.count = 8
arms = { kind = "bernoulli", means = [0.9, 0.5, 0.1] }
engine.kind = "memory"
"""
CODE = "from pathlib import Path\nPath(__file__).with_name('imported').touch()\n"


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse) -> Iterator[Path]:
    """A folder of results of ours whose system was made code of somebody else's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(f'system = "mase"{RUN}')
    posse("run", "run.toml", "--out", "sent")
    specification = tmp_path / "sent" / "spec.toml"
    text = re.sub(
        "^system = .*", 'system = "foreign_code:SYSTEM"', specification.read_text(), flags=re.M
    )
    text = re.sub("^base = .*", 'base = "."', text, flags=re.M)
    specification.write_text(re.sub(r"path = \[.*?\]", 'path = ["sent", "."]', text, flags=re.S))
    (tmp_path / "sent" / "foreign_code.py").write_text(CODE)
    yield tmp_path / "sent"
    forget_own_code()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["report sent", "report .", "compare sent other", "check sent/spec.toml"]
)
def test_reading_imports_nothing_unless_it_is_trusted(words: str, sent: Path, posse: Posse) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra: report)")
    posse("run", "run.toml", "--out", "other")
    code = 2 if words.startswith("check") else 0
    said = posse(*words.split(), code=code).err
    assert not (sent / "imported").exists()
    if code:
        assert f"is code, 'foreign_code:SYSTEM' in {sent}/foreign_code.py, and is not imp" in said
    posse(*words.split(), "--trust", code=code)
    assert (sent / "imported").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner here")
@pytest.mark.parametrize("place", ["folder", "module"])
def test_a_run_imports_nothing_that_others_can_write(
    place: str, tmp_path: Path, posse: Posse
) -> None:
    code = tmp_path / "foreign_code.py"
    code.write_text(CODE)
    open_to_all = tmp_path if place == "folder" else code
    open_to_all.chmod(0o777)
    run = tmp_path / "run.toml"
    run.write_text(f'system = "foreign_code:SYSTEM"{RUN}')
    refused = posse("run", run, "--out", tmp_path / "out", code=2).err
    assert f"{open_to_all} can be written by another user" in refused
    assert not (tmp_path / "imported").exists()
    posse("run", run, "--out", tmp_path / "out", "--trust", code=2)
    assert (tmp_path / "imported").exists()
    forget_own_code()
