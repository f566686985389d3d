"""What a shell offers after TAB."""

import subprocess

import pytest

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_posse
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offered(tmp_path, posse):
    script = tmp_path / "completion.bash"
    script.write_text(posse("completion", "bash").out)

    def offer(*words):
        done = subprocess.run(
            ["bash", "-c", COMPLETE, "bash", str(script), *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    return offer


def test_commands_and_options(offered):
    assert offered("posse", "swe") == ["sweep"]
    assert offered("posse", "run", "--en") == ["--engine"]
    assert offered("posse", "run", "--engine", "") == ["processes", "memory"]


def test_files_and_folders(offered, tmp_path):
    (tmp_path / "ride.toml").touch()
    (tmp_path / "rides").mkdir()
    assert sorted(offered("posse", "run", "rid")) == ["ride.toml", "rides"]
    assert offered("posse", "report", "rid") == ["rides"]


def test_systems(offered):
    assert offered("posse", "list", "dp-m") == ["dp-mase"]


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh", "powershell"])
def test_other_shells_have_one_too(shell, posse):
    assert "sweep" in posse("completion", shell).out
