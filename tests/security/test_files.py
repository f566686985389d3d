"""Files of keys: whose they are, who reads them, and where links lead (attack a20)."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from posse.cli.main import main
from posse.errors import PosseError
from posse.security import files, keys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Agent 0's own."""
    keys.create(tmp_path, 1)
    return tmp_path / "agent-0"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=st.integers(0o601, 0o677))
def test_a_secret_that_others_may_read_is_refused(folder: Path, mode: int) -> None:
    (folder / "agent-0.key_secret").chmod(mode)
    with pytest.raises(PosseError, match=r"is readable by others; run: chmod 600"):
        keys.for_agent(folder, 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mode=st.integers(0o700, 0o777).filter(lambda mode: mode & 0o22))
def test_a_folder_into_which_others_may_put_keys_is_refused(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    for use in (lambda: keys.for_agent(folder, 0), lambda: keys.make(folder, "agent-1")):
        with pytest.raises(PosseError, match=r"is writable by others; run: chmod 700"):
            use()
    folder.chmod(0o1777)  # where nobody replaces another's file, as in /tmp and mounted secrets
    keys.for_agent(folder, 0)


@pytest.mark.parametrize("name", ["agent-0.key_secret", "coordinator.key", "allowlist.toml"])
def test_no_link_is_followed_when_keys_are_read(folder: Path, name: str) -> None:
    (folder / name).rename(folder / "elsewhere")
    (folder / name).symlink_to(folder / "elsewhere")
    with pytest.raises(PosseError, match="is a symbolic link; put the key file itself there"):
        keys.for_agent(folder, 0)


def test_no_link_is_followed_when_keys_are_written(tmp_path: Path) -> None:
    """What links point to stays as it was, and no secret goes through one."""
    folder, victim, stolen = tmp_path / "k", tmp_path / "victim", tmp_path / "stolen"
    folder.mkdir(mode=0o700)
    victim.write_text("precious")
    (folder / "allowlist.toml").symlink_to(victim)
    (folder / "coordinator.key").symlink_to(victim)
    (folder / "agent-0.key_secret").symlink_to(stolen)
    assert main(["keys", str(folder), "--rank", "0"]) == 2
    (folder / "agent-0.key_secret").unlink()
    (folder / "allowlist.toml").unlink()
    assert main(["keys", str(folder), "--rank", "0"]) == 0
    word = str(keys.own(folder, "agent-0"))
    assert main(["keys", str(folder), "--allow", "coordinator", word]) == 0
    assert victim.read_text() == "precious"
    assert not stolen.exists()
    assert not (folder / "coordinator.key").is_symlink()


def test_what_is_another_users_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(folder / "agent-0.key_secret", 12345, -1)
    with pytest.raises(PosseError, match="belongs to another user"):
        keys.for_agent(folder, 0)
    os.chown(folder / "agent-0.key_secret", 0, -1)
    os.chown(folder, 12345, -1)
    with pytest.raises(PosseError, match="belongs to another user"):
        keys.for_agent(folder, 0)


def test_of_a_mounted_secret_the_group_may_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes mounts secrets as root's, 0440 for the pod's group; we are not root there."""
    if os.geteuid() != 0:
        pytest.skip("only root can have root's files")
    for path in folder.iterdir():
        path.chmod(0o440)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    keys.for_agent(folder, 0)
    (folder / "agent-0.key_secret").chmod(0o444)
    with pytest.raises(PosseError, match="is readable by others"):
        keys.for_agent(folder, 0)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(PosseError, match="is not a file"):
            files.read(path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(PosseError, match="is not a key file of posse"):
        files.read(tmp_path / "bytes")


def test_folders_of_keys_ignore_themselves(tmp_path: Path) -> None:
    keys.create(tmp_path / "k", 1)
    assert sorted(path.name for path in (tmp_path / "k").iterdir()) == ["agent-0", "coordinator"]
    for folder in ("k/coordinator", "k/agent-0"):
        for name in (".gitignore", ".dockerignore"):
            assert (tmp_path / folder / name).read_text() == "*\n"
