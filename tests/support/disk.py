"""A disk on which any call may fail."""

import errno
import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from posse.gates import databases, files, locks


class _Failing:
    """A module, some of whose functions fail from the call on that `after` counts down to."""

    def __init__(self, real: ModuleType, names: Sequence[str], fail: Callable[..., None]) -> None:
        self._real, self._names, self._fail = real, names, fail

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in self._names:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            self._fail(name, *arguments[:1])
            return found(*arguments, **named)

        return call


class HostileDisk:
    """Every write to files, locks and databases beyond the gates may fail.

    `after` calls go well; the next fails with `code`, and with `for_ever` all that follow it.
    """

    def __init__(self, after: int, code: int, *, for_ever: bool) -> None:
        self.left, self.code, self.for_ever = after, code, for_ever
        self.failed = 0

    def _due(self) -> bool:
        self.left -= 1
        due = self.left == -1 or (self.left < 0 and self.for_ever)
        self.failed += due
        return due

    def _system_call(self, name: str, what: object = 0) -> None:
        if self._due():
            named = () if isinstance(what, int) else (str(what),)
            raise OSError(self.code, os.strerror(self.code), *named)

    def _statement(self) -> None:
        if self._due():
            full = self.code == errno.ENOSPC
            raise sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")

    def _connect(self, *arguments: Any, **named: Any) -> sqlite3.Connection:
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                if statement.split(maxsplit=1)[0] in ("INSERT", "COMMIT", "CREATE", "UPDATE"):
                    disk._statement()
                return super().execute(statement, *values)

        return sqlite3.connect(*arguments, factory=Connection, **named)

    @contextmanager
    def attached(self) -> Iterator[None]:
        """The gates use this disk within the context."""
        with pytest.MonkeyPatch.context() as patch:
            calls = ("open", "fsync", "ftruncate", "pwrite", "replace", "mkdir", "link", "fchmod")
            for gate in (files, locks, databases):
                patch.setattr(gate, "os", _Failing(os, calls, self._system_call))
            database = _Failing(sqlite3, (), self._system_call)
            database.connect = self._connect  # type: ignore[attr-defined]
            patch.setattr(databases, "sqlite3", database)
            patch.setattr(fcntl, "flock", _Failing(fcntl, ("flock",), self._system_call).flock)
            yield
