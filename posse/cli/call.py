"""What every verb has beside its own options, and what becomes of it; one at a time."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from posse.gates.code import Imports


class Verb(NamedTuple):
    """What it does; the rest of an example; what code may be imported without `--trust`."""

    does: str
    example: str = ""
    imports: Imports = Imports.OWN


@dataclass
class Call:
    """How much is printed; what is being written, and what is written already."""

    quiet: bool = False
    verbose: bool = False
    json_log: bool = False
    writing: Path | None = None
    written: Path | None = None
    until_end: ExitStack = field(default_factory=ExitStack)
    """Left after the verb has ended, whatever its end."""


_CALLS = [Call()]


def current() -> Call:
    """The command line that is carried out now."""
    return _CALLS[-1]


@contextmanager
def begun(*, quiet: bool, verbose: bool) -> Iterator[Call]:
    """A command line, until it has ended."""
    _CALLS.append(Call(quiet, verbose))
    try:
        with current().until_end:
            yield current()
    finally:
        _CALLS.pop()
