"""The command line as a whole: verbs, help, version, mistakes."""

import importlib
import sys
from pathlib import Path

import pytest

from posse.cli.main import EXAMPLES, VERBS, parse, whole
from posse.hosts import endpoint
from tests.cli.conftest import Posse
from tests.support.packages import offer
from tests.support.runs import printed


def test_what_the_system_refuses_is_a_sentence_too(
    run_file: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("posse.reading.audited.is_audit", refuse)
    said = "posse: elsewhere cannot be used: Permission denied; --verbose shows the traceback\n"
    assert posse("report", "elsewhere", code=1).err == said


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom posse.cli.main import main\n"
        "main(['--help'])\n"
        "print(sorted({'numpy', 'zmq', 'msgspec', 'networkx'} & set(sys.modules)))"
    )
    assert printed([sys.executable, "-P", "-c", code]).splitlines()[-1] == "[]"


def test_processes_run_the_build_that_is_tested() -> None:
    code = "from posse.hosts import endpoint; print(endpoint.__file__)"
    assert printed([sys.executable, "-P", "-c", code]).strip() == endpoint.__file__


def test_alone_it_says_what_there_is(posse: Posse) -> None:
    said = posse().out
    assert said.startswith("Usage: posse")
    assert "simulate" in said


def test_every_verb_says_what_it_is() -> None:
    for name in VERBS:
        module = importlib.import_module(whole()[name].default_command.__module__)
        assert f"`posse {name}" in (module.__doc__ or "")


def test_a_verb_of_a_package_that_is_not_installed_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    monkeypatch.setattr("posse.cli.main.entry_points", lambda group: ())
    assert posse("paper", "--all", "--quick", code=1).err == (
        "posse: posse paper is in the package posse-papers, which is not installed; in a clone "
        "of the repository: python -m pip install -e papers\n"
    )
    assert "paper" not in posse("--help").out


def test_an_installed_package_adds_a_verb_and_a_broken_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    (tmp_path / "greeter.py").write_text("def greet(name: str, /):\n    print('hello', name)\n")
    offer(
        tmp_path,
        {
            "posse.verbs": {
                "greet": "greeter:greet",
                "broken": "absent:verb",
                "run": "greeter:greet",
            }
        },
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert posse("greet", "posse").out == "hello posse\n"
    assert " greet " in posse("--help").out
    assert (
        "posse broken cannot be loaded from absent:verb: No module" in posse("broken", code=1).err
    )


def test_help_has_every_verb_once_by_its_purpose_and_ends_with_a_first_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, posse: Posse
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    lines = posse("--help").out.splitlines()
    assert "Run on several machines" in [line.strip() for line in lines]
    for name in VERBS:
        assert sum(line.startswith(f" {name} ") for line in lines) == 1, name
    assert max(map(len, lines)) <= 80
    first, second = (line.split() for line in filter(None, lines[-3:]))
    assert (first[0], second[0]) == ("posse", "posse")
    posse(*first[1:])
    posse(*second[1:], "--engine", "memory", "--repeat", "1")


def test_a_run_names_the_next_command(run_file: Path, posse: Posse) -> None:
    printed = " ".join(posse("run", "ride.toml", "--out", "out").out.split())
    assert printed.endswith("written to out; posse report out draws it")


@pytest.mark.parametrize("name", [*VERBS, *EXAMPLES])
def test_every_verb_has_an_example_that_it_understands(name: str, posse: Posse) -> None:
    last = posse(name, "--help").out.splitlines()[-1]
    example = EXAMPLES[name] if name in EXAMPLES else VERBS[name].example
    assert last == f"Example: posse {name} {example}"
    assert parse(last.split()[2:]).verb == name


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sweep a.toml --over seed=1", "run a.toml --over seed=1"),
        ("--quiet compare a b", "--quiet report a b"),
        ("topology a.toml", "check --topology a.toml"),
    ],
)
def test_an_old_verb_is_the_new_one(old: str, new: str) -> None:
    assert parse(old.split()) == parse(new.split())
