"""Two processes never write into one folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from posse.errors import InputError
from posse.gates import locks

HOLD = """
import sys
from pathlib import Path
from posse.gates import locks
with locks.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-P", "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdout.readline() == b"held\n"
        with (
            pytest.raises(InputError, match=f"is being written by process {first.pid}; wait"),
            locks.held(tmp_path),
        ):
            pass
        first.kill()
    with locks.held(tmp_path):
        pass
    with locks.held(tmp_path):
        pass
