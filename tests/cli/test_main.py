"""The command line as a whole: verbs, help, version, mistakes."""

import importlib
import sys
from pathlib import Path

import pytest

from posse.cli.main import VERBS, main, parser
from posse.hosts import endpoint
from tests.support.packages import offer
from tests.support.runs import printed


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["run", "absent.toml"], 2, "absent.toml: cannot be read"),
        (["run", "ride.toml", "--set", "parameters.epsilon=-1"], 2, "parameters.epsilon: is -1"),
        (["check", "ride.toml", "--set", "agents.count=2"], 2, "agents.count: is 2"),
        (["check", "ride.toml", "--set", "system="], 2, "posse: system: is required but missing\n"),
        (
            ["sweep", "ride.toml", "--over", "topology.kind=ring,star"],
            2,
            "topology: is not used by",
        ),
        (["list", "dp-mse"], 2, "did you mean 'dp-mase'? see posse list\n"),
        (["coordinator", "ride.toml", "--bind", "tcp://0.0.0.0:0"], 2, "add --insecure"),
        (["agent", "--join", "tcp://10.0.0.1:7000"], 2, "add --insecure"),
        (["agent", "--join", "tcp://127.0.0.1:1", "--rank", "x"], 2, "--rank x"),
    ],
)
def test_mistakes_cost_one_sentence_and_their_exit_code(
    run_file: Path,
    arguments: list[str],
    code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (run_file.parent / "runs").exists()


def test_what_the_system_refuses_is_a_sentence_too(
    run_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("posse.report.audit.is_audit", refuse)
    assert main(["report", "elsewhere"]) == 1
    said = "posse: elsewhere cannot be used: Permission denied; --verbose shows the traceback\n"
    assert capsys.readouterr().err == said


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom posse.cli.main import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'zmq', 'msgspec', 'rich', 'networkx'} & set(sys.modules)))"
    )
    assert printed([sys.executable, "-P", "-c", code]).splitlines()[-1] == "[]"


def test_processes_run_the_build_that_is_tested() -> None:
    code = "from posse.hosts import endpoint; print(endpoint.__file__)"
    assert printed([sys.executable, "-P", "-c", code]).strip() == endpoint.__file__


def test_alone_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: posse")
    assert "sweep" in said


def test_every_verb_says_what_it_is() -> None:
    for name, (place, _) in VERBS.items():
        module = importlib.import_module(f"posse.cli.{place.partition(':')[0]}")
        assert f"`posse {name}`" in (module.__doc__ or "")


def test_a_verb_of_a_package_that_is_not_installed_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("posse.cli.main.entry_points", lambda group: ())
    assert main(["paper", "--all", "--quick"]) == 1
    assert capsys.readouterr().err == (
        "posse: posse paper is in the package posse-papers, which is not installed; install it "
        "with: python -m pip install posse-papers\n"
    )
    assert "paper" not in parser().format_help()


def test_an_installed_package_adds_a_verb_and_a_broken_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "greeter.py").write_text(
        "def add(parser): parser.option('name', 'whom to greet')\n"
        "def run(options): print('hello', options.name)\n"
    )
    offer(tmp_path, {"posse.verbs": {"greet": "greeter", "broken": "absent", "run": "greeter"}})
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["greet", "posse"]) == 0
    assert capsys.readouterr().out == "hello posse\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "  greet " in capsys.readouterr().out
    assert main(["broken"]) == 1
    assert "posse broken cannot be loaded from absent: No module" in capsys.readouterr().err


def test_help_has_every_verb_once_by_its_purpose_and_ends_with_a_first_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert "Run on several machines:" in lines
    for name in VERBS:
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1, name
    assert max(map(len, lines)) <= 80
    first, second = (line.split() for line in lines[-2:])
    assert (first[0], second[0]) == ("posse", "posse")
    assert main(first[1:]) == 0
    assert main([*second[1:], "--engine", "memory", "--repeat", "1"]) == 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["rnu"], "posse: error: rnu is not a command; did you mean run? posse --help lists all"),
        (["xyz"], "posse: error: xyz is not a command; posse --help lists all"),
        (
            ["--hlep"],
            "posse: error: --hlep is unknown; did you mean --help? posse --help lists all options",
        ),
        (
            ["run", "a.toml", "b.toml"],
            "posse run: error: b.toml is one argument too many; posse run --help lists all options",
        ),
        (
            ["run", "ride.toml", "--egnine=memory"],
            "posse run: error: --egnine is unknown; did you mean --engine? posse run --help lists "
            "all options",
        ),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == hint


def test_a_folder_in_place_of_a_run_file_says_what_it_is(
    run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ride.toml", "--out", "out of it", "-q"]) == 0
    assert main(["run", "out of it"]) == 2
    assert capsys.readouterr().err == (
        "posse: out of it: is a folder of a run; posse report 'out of it' draws it\n"
    )


def test_a_run_names_the_next_command(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ride.toml", "--out", "out"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.endswith("written to out; posse report out draws it")
