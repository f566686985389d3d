"""A command that cannot run where it is started says why, and loads nothing."""

import resource
import subprocess
import sys

import pytest


def started(*, cwd=None, limit=None):
    def restrict():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    words = [sys.executable, "-m", "posse", "list"]
    return subprocess.run(
        words, cwd=cwd, preexec_fn=restrict, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("mebibytes", [120, 300])
def test_too_little_address_space_is_said(mebibytes):
    ended = started(limit=mebibytes << 20)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"posse: the limit of address space (ulimit -v) is {mebibytes} MiB, and posse needs 400; "
        "raise it\n"
    )


def test_a_folder_that_is_gone_is_said(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); "
        "from posse.__main__ import main; sys.exit(main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        "posse: the working folder cannot be used (No such file or directory); change to another "
        "one\n"
    )
