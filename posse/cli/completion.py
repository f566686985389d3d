"""`posse completion`: a script for shell completion."""

from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> None:
    """Print a script for shell completion.

    Args:
        shell: shell for which to print it
    """
    from posse.cli.main import whole

    print(whole().generate_completion(shell=shell))
