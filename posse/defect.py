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


def describe(error: BaseException) -> str:
    """The error, and its place in the user's code, as `ZeroDivisionError: … (own.py:7)`."""
    return _sentence(error, place(error))


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
        raise SpecError("system", f"'{name}' cannot be used: {describe(error)}") from error


def place(error: BaseException) -> str:
    """The innermost line that is neither posse's nor a library's, as `file:line`; "" if none is."""
    frames = traceback.extract_tb(error.__traceback__)
    # a compiled library names source files that are not on this machine
    ours = (*_OURS, *_INSTALLED, "<")
    theirs = [
        frame
        for frame in frames
        if not frame.filename.startswith(ours) and frame.filename[-4:] != ".pyx"
    ]
    return _place_in_frame(theirs[-1]) if theirs else ""


def report(who: str, error: BaseException, machine: object = None) -> str:
    """The sentence that ends a run, followed by lines with the end of the traceback.

    If the error comes from an effect of `machine`, the traceback has no line of the user's. The
    sentence then names the machine's `handle`, or the function that was to make the machine.
    """
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    sentence = _sentence(
        error, place(error) or _place_of_handle(machine) or _place_in_frame(innermost)
    )
    trace = "".join(traceback.format_exception(error))
    return f"{who} has a defect: {sentence[:_LONGEST]}\n{trace[-_LONGEST:]}"


def _sentence(error: BaseException, where: str) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(its text raised another error)"
    one_line = " ".join(f"{type(error).__name__}: {text}".split())
    return f"{one_line} ({where})" if where else one_line


def _place_of_handle(machine: object) -> str:
    function = machine if isinstance(machine, FunctionType) else getattr(machine, "handle", None)
    code = getattr(function, "__code__", None)
    return _file_and_line(code.co_filename, code.co_firstlineno) if code is not None else ""


def _place_in_frame(frame: traceback.FrameSummary) -> str:
    return _file_and_line(frame.filename, frame.lineno)


def _file_and_line(file: str, number: int | None) -> str:
    """Give `file:line`, relative to the working directory if the file is below it."""
    return f"{file.removeprefix(f'{Path.cwd()}{os.sep}')}:{number}"
