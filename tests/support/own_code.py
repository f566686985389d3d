"""Makes a process forget the modules that users' run files named, which it never does itself."""

import importlib
import sys

from posse import own_code
from posse.gates import code


def forget_own_code() -> None:
    """Forget the modules and the folders of run files, if there are any."""
    if not own_code._NAMED:
        return
    for name in own_code._IMPORTED:
        if name.partition(".")[0] != "tests":
            sys.modules.pop(name, None)
    sys.path[:] = own_code.import_path()
    for kept in (own_code._IMPORTED, own_code._NAMED, own_code._ADDED, own_code._LOOKED_AT):
        kept.clear()
    code._FOLDERS.clear()
    importlib.invalidate_caches()
