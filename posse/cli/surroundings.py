"""What a command needs of the process it is started in, asked before anything large is loaded."""

import os

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_LEAST_MEMORY = 400 << 20
"""Address space in bytes below which threads or numpy cannot start, and end the process."""


def trouble() -> str:
    """Why no command can run here, in a sentence; "" if nothing is missing."""
    try:
        os.getcwd()
    except OSError as error:
        return f"the working folder cannot be used ({error.strerror}); change to another one"
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    if 0 <= limit < _LEAST_MEMORY:
        return (
            f"the limit of address space (ulimit -v) is {limit >> 20} MiB, and posse needs "
            f"{_LEAST_MEMORY >> 20}; raise it"
        )
    return ""
