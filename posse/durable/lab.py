"""Runs of the lab over a real log, entered in its ledger: their noise protects nothing."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posse.arms import Arms
from posse.arms.csv import Content, Csv, CsvInSlots
from posse.arms.persons import Rows
from posse.durable.ledger import Ledger
from posse.errors import DiskTrouble, PosseError
from posse.gates.files import require_files
from posse.hosts.spending import RowsByArm, SpendingRequest
from posse.log import LOG

_ENTERED: dict[tuple[str, str, int], tuple[int, tuple[int, ...]]] = {}
"""By ledger, task and agent: the entry of this process's runs, and the most pulls of each arm."""

_STATE = ("_task", "_usable", "_content", "_replace", "_in_slots", "_pulls")
"""What a checkpoint has of it, besides where it is."""

_FAILED: set[Path] = set()
"""Folders of which was said that their ledgers cannot be written."""


class LabLedger(Ledger):
    """Enters a run of the lab when it ends; all runs of one process with one task are one entry.

    It refuses nothing: what cannot be entered is said in the log. The rows count as used without an
    ε, so that a run of the field does not use them again.
    """

    _is_found_by_content = False
    """In the lab agents often have equal logs, and one after the other looks for its ledger."""

    _tries = 50

    _task: SpendingRequest | None = None
    _usable: Rows | None = None
    _content: Content | None = None
    _replace = False
    _in_slots = False
    _pulls: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def begin(self, task: SpendingRequest, arms: Arms) -> tuple[int, RowsByArm]:
        if isinstance(arms, Csv):
            self._task, self._content, self._replace = task, arms.content, arms.replace
            if arms.content is not None:
                self._columns = arms.content.columns
            self._usable, self._in_slots = arms.usable, isinstance(arms, CsvInSlots)
        return 0, None

    def go_on(self, run: int, rows: RowsByArm) -> None:
        """Nothing is held between two runs."""

    def uses(self, pulls: NDArray[np.int64]) -> None:
        # a slot's rows are used up, whichever of them was pulled
        self._pulls = np.full_like(pulls, pulls.sum()) if self._in_slots else pulls.copy()

    def end(self, spent: float | None) -> str:
        self.leave()
        return ""

    def leave(self) -> None:
        if self._task is None or not self._pulls.any():
            return
        key = self._key(self._task)
        run, before = _ENTERED.get(key, (0, (0,) * len(self._pulls)))
        most = tuple(max(pair) for pair in zip(before, self._pulls.tolist(), strict=True))
        if most != before:
            try:
                _ENTERED[key] = self._entered(self._task, run, most), most
            except PosseError as error:
                if self._path.parent not in _FAILED:
                    _FAILED.add(self._path.parent)
                    LOG.warning("this run of the lab is not entered in a ledger: %s", error)

    def _key(self, task: SpendingRequest) -> tuple[str, str, int]:
        return str(self._path), task.says, task.rank

    def _unwritable(self, why: object) -> DiskTrouble:
        return DiskTrouble(
            f"{self._path} cannot be written: {why}; a run of the field would take these rewards "
            "for unused, so make their folder writable before the lab uses rewards of the field"
        )

    def _entered(self, task: SpendingRequest, run: int, pulls: tuple[int, ...]) -> int:
        """Write down that this many rewards of each arm are used; the number of the entry."""
        with self._opened():
            self._db.execute("BEGIN IMMEDIATE")
            self._recognise(self._content)
            before = (0,) * len(pulls) if not run else _ENTERED[self._key(task)][1]
            if not run:
                facts = self._now(), f"lab: {task.says}", task.rank, task.agents, None, None
                run = self._entries.begin(facts, b"", b"")
                self._entries.end(run, self._now(), None)
            for arm, (first, last) in enumerate(zip(before, pulls, strict=True)):
                if last > first and not self._replace:
                    rows = np.arange(last) if self._usable is None else self._usable[arm]
                    self._entries.use(run, arm, rows[first:last])
            self._entries.count(run, sum(pulls))
            self._db.execute("COMMIT")
        self._close()
        return run

    def __getstate__(self) -> Any:
        return self._asked, self._data, self._wall, {name: getattr(self, name) for name in _STATE}

    def __setstate__(self, state: Any) -> None:
        path, data, wall, values = state
        require_files(path, data)
        self.__init__(path, data, wall)  # type: ignore[misc]
        for name in _STATE:
            setattr(self, name, values[name])
