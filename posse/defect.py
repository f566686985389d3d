"""A defect in a user's code, reported in one sentence that names its place."""

import os
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

from posse.errors import PosseError, SpecError
from posse.own_code import aside

_LONGEST = 1_900
"""Characters of sentence and traceback each: both go into one message."""

_OURS = (f"{Path(__file__).parent}{os.sep}", "posse/")
"""Compiled modules name their source file relative to the root, as it was at build time."""
_INSTALLED = tuple(
    f"{sysconfig.get_path(kind)}{os.sep}" for kind in ("stdlib", "purelib", "platlib")
)


def said(error: BaseException) -> str:
    """The error, and its place in the user's code, as `ZeroDivisionError: … (own.py:7)`."""
    return _said(error, place(error))


@contextmanager
def in_system(name: str) -> Iterator[None]:
    """Turn an error of a system's own code into a `SpecError`: nothing has started yet.

    What it prints goes to standard error.
    """
    try:
        with aside():
            yield
    except PosseError:
        raise
    except (Exception, SystemExit) as error:  # a user's own code may call sys.exit
        raise SpecError("system", f"'{name}' cannot be used: {said(error)}") from error


def place(error: BaseException) -> str:
    """The innermost line that is neither posse's nor a library's, as `file:line`; "" if none is."""
    lines = traceback.extract_tb(error.__traceback__)
    # a compiled library names source files that are not on this machine
    ours = (*_OURS, *_INSTALLED, "<")
    theirs = [at for at in lines if not at.filename.startswith(ours) and at.filename[-4:] != ".pyx"]
    return _at(theirs[-1]) if theirs else ""


def of(who: str, error: BaseException, machine: object = None) -> str:
    """The sentence that ends a run, followed by lines with the end of the traceback.

    If the error comes from an effect of `machine`, the traceback has no line of the user's. The
    sentence then names the machine's `handle`, or the function that was to make the machine.
    """
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    sentence = _said(error, place(error) or _handle_of(machine) or _at(innermost))
    trace = "".join(traceback.format_exception(error))
    return f"{who} has a defect: {sentence[:_LONGEST]}\n{trace[-_LONGEST:]}"


def _said(error: BaseException, where: str) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(its text raised another error)"
    one_line = " ".join(f"{type(error).__name__}: {text}".split())
    return f"{one_line} ({where})" if where else one_line


def _handle_of(machine: object) -> str:
    made = machine if isinstance(machine, FunctionType) else getattr(machine, "handle", None)
    code = getattr(made, "__code__", None)
    return _line(code.co_filename, code.co_firstlineno) if code is not None else ""


def _at(frame: traceback.FrameSummary) -> str:
    return _line(frame.filename, frame.lineno)


def _line(file: str, number: int | None) -> str:
    """Give `file:line`, relative to the working directory if the file is below it."""
    return f"{file.removeprefix(f'{Path.cwd()}{os.sep}')}:{number}"
