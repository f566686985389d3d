"""Owners of files: what nobody but its owner and root can change, as OpenSSH's StrictModes has it.

Whoever can write a file decides what is in it, and whoever can write a folder above it can put
another in its place.
"""

import os
import stat
from functools import cache
from pathlib import Path

_ACL = "system.posix_acl_access"


def changed_by(path: Path, *, above: bool = False) -> str:
    """The file, or the folder above it, that another user can change, and who; "" if there is none.

    Links are followed, as whoever opens the file does. A folder above it may be open to all if it
    is sticky, as `/tmp` is: nobody replaces another's files there. With `above` only those are
    looked at.
    """
    if not hasattr(os, "geteuid"):
        return ""
    try:
        whole = path.resolve(strict=True)
        found = [(place, place.stat()) for place in (whole, *whole.parents)]
    except (OSError, RuntimeError) as error:
        return f"{path} cannot be looked at: {error}"
    for place, status in found[above:]:
        who = of(place, status)
        sticky = place is not found[0][0] and status.st_mode & stat.S_ISVTX
        if who and (stranger(status) or not sticky):
            return f"{place} can be written by {who}"
    return ""


def is_root() -> bool:
    """Whether this process may do everything on its machine."""
    return os.getuid() == 0


def is_own(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def is_private(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else may read or write it."""
    return not hasattr(os, "geteuid") or (is_own(status) and not status.st_mode & 0o077)


def stranger(status: os.stat_result) -> str:
    """The owner of a file or folder, if that is neither this user nor root, else ""."""
    if is_own(status) or status.st_uid == 0:
        return ""
    return f"another user (uid {status.st_uid})"


def of(path: Path, status: os.stat_result) -> str:
    """Who besides its owner, or root, can write this file or folder; "" if nobody can."""
    if other := stranger(status):
        return other
    if status.st_mode & stat.S_IWOTH:
        return "another user: everybody"
    if status.st_mode & stat.S_IWGRP and not _is_alone(status.st_gid, path):
        return "another user: its group"
    return ""


def _is_alone(group: int, path: Path) -> bool:
    """Whether this user is alone in a group: the private group that most systems give each user."""
    try:
        # with an access list the mode's group stands for all whom the list names
        listed = _ACL in os.listxattr(path) if hasattr(os, "listxattr") else False
        return _is_private(group, os.geteuid()) and not listed
    except OSError:
        return False


@cache
def _is_private(group: int, user: int) -> bool:
    import grp  # noqa: PLC0415  (Windows has none)
    import pwd  # noqa: PLC0415

    try:
        mine, found = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    others = {one.pw_name for one in pwd.getpwall() if one.pw_gid == group} | {*found.gr_mem}
    return mine.pw_gid == group and found.gr_name == mine.pw_name and others <= {mine.pw_name}
