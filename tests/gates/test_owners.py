"""What another user can change, by owner, group, everybody, folders above and access lists."""

import os
from pathlib import Path

import pytest

from posse.gates import owners

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
NOBODY = 65534


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "above" / "folder").mkdir(parents=True)
    path = tmp_path / "above" / "folder" / "module.py"
    path.write_text("")
    return path


@pytest.mark.parametrize("what", ["module.py", "folder", "above"])
@pytest.mark.parametrize(
    ("mode", "owner", "group", "who"),
    [
        (0o755, 0, 0, ""),
        (0o757, 0, 0, "another user: everybody"),
        (0o775, 0, 100, "another user: its group"),
        (0o755, NOBODY, 0, f"another user (uid {NOBODY})"),
        (0o755, 0, 100, ""),
    ],
)
def test_who_can_change_a_file_or_a_folder_above_it_is_named(
    what: str, mode: int, owner: int, group: int, who: str, module: Path
) -> None:
    place = next(path for path in (module, *module.parents) if path.name == what)
    os.chown(place, owner, group)
    place.chmod(mode)
    assert owners.changed_by(module) == (f"{place} can be written by {who}" if who else "")
    above = who and place is not module
    assert bool(owners.changed_by(module, above=True)) is bool(above)


def test_a_private_group_is_the_users_own_unless_a_list_names_others(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with the umask 002 of most distributions."""
    module.chmod(0o664)
    monkeypatch.setattr(owners, "_is_private", lambda group, user: group == user == 0)
    assert owners.changed_by(module) == ""
    monkeypatch.setattr(os, "listxattr", lambda path: ["system.posix_acl_access"])
    assert "its group" in owners.changed_by(module)


def test_a_group_with_another_member_is_not_private() -> None:
    assert not owners._is_private(100, 0)
    assert not owners._is_private(0, NOBODY)
    assert not owners._is_private(2**20 + 7, 2**20 + 7)  # known to nobody


def test_a_sticky_folder_above_is_safe_and_one_that_is_looked_into_is_not(module: Path) -> None:
    folder, above = module.parent, module.parents[1]
    above.chmod(0o1777)
    assert owners.changed_by(folder) == ""
    folder.chmod(0o1777)
    assert owners.changed_by(module) == ""
    assert owners.changed_by(folder) == f"{folder} can be written by another user: everybody"
    os.chown(above, NOBODY, 0)
    assert f"{above} can be written by another user (uid" in owners.changed_by(module)


def test_a_link_is_followed_to_whose_file_it_is(module: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    target.write_text("")
    os.chown(target, NOBODY, 0)
    module.unlink()
    module.symlink_to(target)
    assert owners.changed_by(module).startswith(str(target))
    target.unlink()
    assert "cannot be looked at" in owners.changed_by(module)
