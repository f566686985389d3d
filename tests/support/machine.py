"""What this machine has, for tests that need more of it than Python."""

import shutil
import subprocess

from tests.support.patience import PATIENCE


def answers(*command: str) -> bool:
    """Whether a command is here and ends with exit code 0."""
    if shutil.which(command[0]) is None:
        return False
    return (
        subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False).returncode == 0
    )
