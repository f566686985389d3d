"""A run's directory: the resolved specification, every finished run, result.json and tables."""

import contextlib
import itertools
import json
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import msgspec
import tomli_w

from posse.durable import shown
from posse.durable.batch import Piece, Store
from posse.durable.made_by import made_by
from posse.errors import InputError
from posse.gates import files
from posse.gates.decode import from_toml
from posse.plan import Plan
from posse.results.record import RunRecord
from posse.results.result import Result
from posse.results.tables import tables, write
from posse.spec.fingerprint import PATIENCE, differences, fingerprint
from posse.spec.runfile import RunSpec

SPECIFICATION = "spec.toml"
RESULT = "result.json"
FAILURE = "failure.json"
KEPT = "kept"


def fresh(name: str) -> Path:
    """Make a new directory below `runs/`, named `name` and the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        path = Path("runs") / (f"{name}-{stamp}" + f"-{number}" * (number > 1))
        with contextlib.suppress(FileExistsError):
            files.make_folder(path, new=True)
            break
    return path


class RunDirectory:
    """One directory per series of runs; the same series continues there where it stopped.

    `spec.toml`    the specification with all defaults but the parameters'; can be run as it is
    `kept/`        each run as soon as it is finished
    `result.json`  what `--json` prints; there only if the series is complete
    `failure.json` why the series is not complete
    `shown.msgpack` what the page shows of a system that is not posse's own (`posse.durable.shown`)
    `runs.csv`, `agents.csv`, `links.csv`, `regret.csv`, and one table per name in the log
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        self._plan = plan

    @cached_property
    def store(self) -> Store[RunRecord]:
        """The finished runs, by their number."""
        decode = partial(RunRecord.decoded, detail=self._plan.system.results.detail)
        return Store(self.path / KEPT, made_by(self._plan), RunRecord.encoded, decode)

    def pieces(self) -> list[Piece[int, RunRecord]]:
        """The runs of the series, by their number."""
        return [Piece(n, str(n), self.store) for n in range(self._plan.spec.repeat)]

    def open(self) -> Self:
        """Make the directory, or check that it holds these runs and can be written (`InputError`).

        A file in it stays until a new one replaces it.
        """
        self._check()
        text = tomli_w.dumps(_without_none(msgspec.to_builtins(self._plan.spec)))
        try:
            files.make_folder(self.path)
            files.write(self.path / SPECIFICATION, text)
        except OSError as error:
            raise InputError(f"{self.path} cannot be written: {error.strerror}") from None
        return self

    def complete(self, result: Result) -> None:
        """Write the result of the complete series; `OSError` if it cannot be written."""
        if self.store.trouble:  # try again to keep runs that could not be kept when they ended
            for run in result.runs:
                if self.store.kept(str(run.run)) is None:
                    self.store.keep(str(run.run), run)
        self._tables(result.runs)
        files.write(self.path / RESULT, json.dumps(result.document(), indent=1))
        files.remove(self.path / FAILURE)

    def fail(self, reason: str, records: list[RunRecord], notes: Sequence[str] = ()) -> None:
        """Write why the series ended early, and the tables of the runs that were finished.

        `notes`: a traceback, or what proves that a peer is to blame.
        What cannot be written is left out, so that the caller's own error is the one that is seen.
        """
        failure = {"error": reason} | ({"notes": "\n".join(notes)} if notes else {})
        with contextlib.suppress(OSError):
            self._tables(records)
            files.write(self.path / FAILURE, json.dumps(failure, indent=1))

    def _check(self) -> None:
        path = self.path / SPECIFICATION
        if not path.is_file():
            if any(self.path.glob(f"*/{SPECIFICATION}")):
                raise InputError(
                    f"{self.path} holds several runs; name another folder for this one"
                )
            return
        try:
            kept = msgspec.convert(from_toml(files.text(path)), RunSpec)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is not what posse run wrote ({error})") from None
        mine = fingerprint(self._plan.spec, without=PATIENCE)
        differ = differences(fingerprint(kept, without=PATIENCE), mine)
        if differ or self._plan.spec.repeat < kept.repeat:
            names = [
                "the run file's folder" if key == "base" else key for key in differ or ["repeat"]
            ]
            raise InputError(
                f"{self.path} holds another run, which differs in {', '.join(names[:5])}; "
                "name another folder, or remove this one"
            )
        finished = (self.path / RESULT).exists() or (self.path / KEPT).exists()
        if self._plan.field and finished and self.store.kept("0") is None:
            raise InputError(
                f"{self.path} holds this run, finished by other code or on other files; in the "
                "field no reward is used twice, so name another folder for a new run"
            )

    def _tables(self, records: list[RunRecord]) -> None:
        shown.write(self.path, self._plan, records)
        for table in tables(records, self._plan.system.results.log):
            with files.replacing(self.path / f"{table.name}.csv") as file:
                write(file, table.header, table.rows)


def _without_none(data: Any) -> Any:
    """Leave out keys without a value, because TOML has no null."""
    if isinstance(data, dict):
        return {key: _without_none(value) for key, value in data.items() if value is not None}
    if isinstance(data, list | tuple):
        return [_without_none(value) for value in data]
    return data
