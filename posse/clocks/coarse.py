"""The field's clock."""

from collections.abc import Callable


def coarse(stamp: Callable[[], int]) -> Callable[[], int]:
    """A clock in whole milliseconds: how long a computation took is not to be read off it."""
    return lambda: stamp() // 1_000_000 * 1_000_000
