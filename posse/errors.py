"""What can go wrong for a user, and the exit code of each."""

from typing import Self


class PosseError(Exception):
    """Base: one sentence that says what was wrong, where, and what to do."""

    exit_code = 1


class InputError(PosseError):
    """What was typed, or a file or folder that was named, is wrong; nothing was started."""

    exit_code = 2


class SpecError(InputError):
    """The run file is wrong at `path`."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path
        self.problem = problem


class ArmsError(PosseError):
    """A user's arms raised, or gave something that is not a reward."""

    exit_code = 3


class RunFailed(PosseError):
    """A run ended without a result: an agent was lost, failed, or kept silent."""

    exit_code = 3

    @classmethod
    def told(cls, reason: str, trouble: str = "") -> Self:
        """For a reason that an agent gave: a sentence, and perhaps a traceback below, as a note."""
        sentence, _, trace = reason.partition("\n")
        failed = cls(sentence + trouble)
        if trace:
            failed.add_note(trace.rstrip())
        return failed
