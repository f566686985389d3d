"""What engine `processes` needs of the operating system; engine `memory` needs nothing."""

import os
from importlib.util import find_spec

from posse.errors import SpecError

_NEEDED = ("fcntl", "resource")


def require_processes() -> None:
    """`SpecError` on a platform without `fork` and the modules that go with it."""
    if not hasattr(os, "fork") or not all(map(find_spec, _NEEDED)):
        raise SpecError(
            "engine.kind",
            "agents as processes need Linux (os.fork, fcntl, resource); run in memory here: "
            "--engine memory",
        )
