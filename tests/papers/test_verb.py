"""posse paper, the verb that the package posse-papers adds."""

import re
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

import posse
import posse_papers
from posse.cli import main as cli
from posse_papers import record
from tests.support.runs import printed

PACKAGE = Path(__file__).parents[2] / "papers"

if "paper" not in cli.added_verbs():
    pytest.skip("posse-papers is not installed: pip install -e papers", allow_module_level=True)


def test_a_shell_completes_the_experiments_names() -> None:
    names = cli.whole()["paper"].assemble_argument_collection()[0]
    assert "rio-adversary" in names.parameter.completer(None)


def test_the_list_has_minutes_and_the_last_verdict_beside_each_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That recorded, and from a run of one's own on that of the run."""
    out = ["--out", str(tmp_path)]
    assert cli.main(["paper", "--list", "rio-promise", *out]) == 0
    recorded = capsys.readouterr().out
    row = next(line for line in recorded.splitlines() if "rio-promise" in line)
    assert re.fullmatch(r" +rio-promise +0\.\d  2 borne out, 1 not borne out", row)
    folder = tmp_path / "rio-promise" / "full"
    folder.mkdir(parents=True)
    told = next(one for one in record.recorded() if one.name == "rio-promise")
    mine = msgspec.structs.replace(told, processor_seconds=600.0, statements=told.statements[:1])
    (folder / "outcome.json").write_bytes(msgspec.json.encode(mine))
    assert cli.main(["paper", "--list", "rio-promise", *out]) == 0
    assert re.search(r"rio-promise +10\.0  1 borne out\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "line",
    [
        "paper rio-1 --out=",
        "paper --list rio-0",
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
    code = cli.main(line.split())
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert (captured.err[:7], captured.err.count("\n")) == ("posse: ", 1)
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
