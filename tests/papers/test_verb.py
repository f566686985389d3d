"""posse paper, the verb that the package posse-papers adds."""

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import posse
import posse_papers
from posse.cli import main as cli
from tests.cli.test_exit_codes import SENTENCE
from tests.support.runs import printed

PACKAGE = Path(__file__).parents[2] / "papers"

if "paper" not in cli.added_verbs():
    pytest.skip("posse-papers is not installed: pip install -e papers", allow_module_level=True)


def test_a_shell_completes_the_experiments_names() -> None:
    parser = cli.parser(["paper"])
    commands: Any = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    assert "rio-adversary" in commands.choices["paper"].offered["names"]()


@pytest.mark.parametrize(
    "line",
    [
        "paper rio-1 --out=",
        "paper rio-0",
        "paper rio-1 --out /proc/none",
        "paper rio-1 --estimate --out /proc/none",
        "paper rio-1 --document /proc/none/document.md",
    ],
)
def test_a_wrong_line_costs_a_sentence(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code: object
    try:
        code = cli.main(line.split())
    except SystemExit as usage:
        code = usage.code
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert len(SENTENCE.findall(captured.err)) == 1, captured.err
    assert list(tmp_path.iterdir()) == []


def without(*modules: str) -> str:
    """Code that makes these modules impossible to import."""
    return (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {modules}: raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from posse.cli.main import main\n"
    )


def test_the_papers_experiments_are_listed_without_what_draws_them() -> None:
    code = without("matplotlib", "jinja2") + "sys.exit(main(['paper']))"
    assert "rio-1 " in printed([sys.executable, "-P", "-c", code])


def test_the_package_has_the_version_of_posse_and_needs_it() -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert posse_papers.__version__ == posse.__version__
    assert project["dependencies"] == ["posse-bandits[audit,report]"]
