"""What a shell offers after TAB."""

import subprocess

import pytest

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
$(complete -p posse | sed 's/.*-F \\([^ ]*\\).*/\\1/') posse
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
    assert offered("posse", "sim") == ["simulate"]
    assert offered("posse", "run", "--en") == ["--engine"]
    assert offered("posse", "run", "--engine", "") == ["processes", "memory"]


def test_files_and_folders(offered, tmp_path):
    (tmp_path / "ride.toml").touch()
    (tmp_path / "rides").mkdir()
    assert sorted(offered("posse", "run", "rid")) == ["ride.toml", "rides"]


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_other_shells_have_one_too(shell, posse):
    assert "simulate" in posse("completion", shell).out
