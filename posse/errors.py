"""The errors that a user can meet, each with its exit code."""

from typing import Self

INTERRUPTED = 130
"""The exit code after Ctrl-C and similar signals."""


class PosseError(Exception):
    """Base class. Its text is one sentence: what was wrong, where, and what to do."""

    exit_code = 1

    @classmethod
    def from_reason(cls, reason: str) -> Self:
        """Make an error of a reason; its further lines, a traceback, become a note."""
        sentence, _, trace = reason.partition("\n")
        failed = cls(sentence)
        if trace:
            failed.add_note(trace.rstrip())
        return failed


class InputError(PosseError):
    """Wrong input: an argument, or a named file or folder. Nothing was started."""

    exit_code = 2


class SpecError(InputError):
    """The run file is wrong at `path`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Make it picklable: it may come from another process."""
        return type(self), (self.path, self.problem)


class ArmsError(PosseError):
    """A user's arms raised an error, or returned something that is not a reward."""

    exit_code = 3


class LogError(ArmsError, InputError):
    """A log of rewards cannot be read, or one of its lines is not a reward."""

    exit_code = 2


class DiskTrouble(PosseError):
    """A file that must be on disk before anything leaves cannot be written, as on a full disk.

    What was written before is there: a process that is started again goes on.
    """


class RunFailed(PosseError):
    """A run ended without a result: an agent was lost, failed, or kept silent."""

    exit_code = 3


def exit_code(error: BaseException | None) -> int:
    """The exit code of a command that ended with this error."""
    if isinstance(error, PosseError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return 0 if error is None else RunFailed.exit_code
