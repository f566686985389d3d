"""What this installation is: its version, how it is built, and how to get the other build."""

from pathlib import Path

from posse import __version__

_PLAIN = (
    "plain Python; compiled, a run takes .6 to .9 of the time: the wheels for CPython 3.11 to 3.14 "
    "on Linux are, and so is POSSE_COMPILE=1 pip install . in a clone (it takes a C compiler)"
)
PLAIN_HINT = (
    "this posse is plain Python; compiled, it takes .6 to .9 of the time (posse --version says how)"
)
_COMPILED = (
    "compiled; plain Python gives the same answers: pip install --no-binary posse-bandits "
    "posse-bandits"
)


def is_compiled() -> bool:
    """Whether what each frame and each pull go through is compiled."""
    hosts = Path(__file__).parents[1] / "hosts"
    return any(hosts.glob("endpoint.*.so"))


def version() -> str:
    """The lines of `posse --version`."""
    return f"posse {__version__}\n{_COMPILED if is_compiled() else _PLAIN}"
