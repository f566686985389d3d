"""What reports need beyond the default install."""

import importlib.util

from posse.errors import PosseError

_NEEDED = ("jinja2", "matplotlib")


def require() -> None:
    """Raise `PosseError` if the extra `report` is not installed."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise PosseError(
            f"reports need {' and '.join(missing)}; install them with: "
            'python -m pip install "posse[report]"'
        )
