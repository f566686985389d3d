"""What engine `processes` needs of the operating system; engine `memory` needs nothing."""

import importlib.util
import os

from posse.errors import SpecError

_NEEDED = ("fcntl", "resource")


def require_processes() -> None:
    """`SpecError` on a platform without `fork` and the modules that go with it."""
    if not hasattr(os, "fork") or not all(map(_is_here, _NEEDED)):
        raise SpecError(
            "engine.kind",
            "agents as processes need Linux (os.fork, fcntl, resource); run in memory here: "
            "--engine memory",
        )


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:
        return False
