"""Read back what runs left behind (see `posse.durable.directory`)."""

import csv
import json
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from posse.durable.directory import FAILURE, RESULT, SPECIFICATION
from posse.errors import InputError
from protocol.wire import Plane


@dataclass(frozen=True, kw_only=True)
class LinkTotal:
    """What went from one agent to another (-1: the coordinator), on average over the runs."""

    source: int
    target: int
    plane: Plane
    kind: str
    messages: float
    payload_bytes: float
    frame_bytes: float


@dataclass(frozen=True, kw_only=True)
class Series:
    """One run directory: its specification and its runs as `RunRecord.document` wrote them.

    `failure` is the sentence that ended a series early; its `runs` are those that were complete.
    """

    path: Path
    name: str
    specification: dict[str, Any]
    runs: list[dict[str, Any]]
    failure: str | None
    engine: str
    network: dict[str, Any]
    warnings: list[str]

    @property
    def system(self) -> str:
        """The system's name."""
        return str(self.specification["system"])

    @property
    def variant(self) -> str:
        """`corrected` or `printed`."""
        return str(self.specification["variant"])

    @property
    def agents(self) -> int:
        """How many agents."""
        return int(self.specification["agents"]["count"])

    @property
    def clock_unit(self) -> str:
        """What the time of logs and curves is counted in."""
        if any(run["slots"] is not None for run in self.runs):
            return "slots"
        return "seconds" if self.specification.get("mode") == "field" else "rounds"

    @property
    def arms(self) -> int:
        """How many arms. In the field nobody reports how often each was pulled."""
        stated = self.specification["arms"].get("count")
        return int(stated or max((len(run["pulls_per_arm"]) for run in self.runs), default=0))

    @cached_property
    def links(self) -> list[LinkTotal]:
        """The rows of links.csv, averaged over the runs."""
        return self._links(first=False)

    @cached_property
    def first_links(self) -> list[LinkTotal]:
        """Those of the first run: a random graph is another one in each."""
        return self._links(first=True)

    def _links(self, *, first: bool) -> list[LinkTotal]:
        path = self.path / "links.csv"
        if not path.exists() or not self.runs:
            return []
        sums: dict[tuple[int, int, int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        with path.open(newline="") as file:
            rows = csv.reader(file)
            next(rows, None)
            number = str(self.runs[0]["run"])
            for run, source, target, plane, kind, *counts in rows:
                if first and run != number:
                    continue
                total = sums[int(source), int(target), int(plane), kind]
                for index, count in enumerate(counts):
                    total[index] += int(count)
        runs = 1 if first else len(self.runs)
        return [
            LinkTotal(
                source=source,
                target=target,
                plane=Plane(plane),
                kind=kind,
                messages=messages / runs,
                payload_bytes=payload / runs,
                frame_bytes=frame / runs,
            )
            for (source, target, plane, kind), (messages, payload, frame) in sorted(sums.items())
        ]

    def metric(self, name: str) -> list[float]:
        """One number per run, where the run has it; dots go into tables."""
        values = []
        for run in self.runs:
            value: Any = run
            for step in name.split("."):
                value = value.get(step) if isinstance(value, dict) else None
            if value is not None:
                values.append(float(value))
        return values


def is_run(path: Path) -> bool:
    """Whether a directory is one series of runs, complete or not."""
    return (path / SPECIFICATION).is_file()


def find(path: Path) -> list[Series]:
    """The series in `path`: itself, or, for a sweep, each of its sub-directories in order."""
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if not path.is_dir():
        raise InputError(f"{path}: is a file; give the directory that posse run wrote")
    if is_run(path):
        return [read(path)]
    runs = sorted(child for child in path.iterdir() if child.is_dir() and is_run(child))
    if not runs:
        raise InputError(
            f"{path}: is not a run: it has no {SPECIFICATION}, and no directory in it has one; "
            "posse run FILE --out DIR makes a run directory"
        )
    return [read(run) for run in runs]


def read(path: Path) -> Series:
    """One run directory; raises `InputError` if a file in it is not what posse wrote."""
    try:
        specification = tomllib.loads((path / SPECIFICATION).read_text())
        document, failure = _document(path)
        series = Series(
            path=path,
            name=path.resolve().name,
            specification=specification,
            runs=list(document.get("runs", [])),
            failure=failure,
            engine=specification["engine"]["kind"],
            network=document.get("network") or {},
            warnings=document.get("warnings") or [],
        )
        _ = (series.system, series.variant, series.agents)
        for run in series.runs:
            _ = (run["status"], run["communication"]["data"], run["answers"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: is not what posse run wrote ({type(error).__name__}: {error})"
        ) from None
    return series


def _document(path: Path) -> tuple[dict[str, Any], str | None]:
    if (path / RESULT).is_file():
        return json.loads((path / RESULT).read_text()), None
    if (path / FAILURE).is_file():
        document = json.loads((path / FAILURE).read_text())
        return document, str(document["error"])
    return {}, "there is neither a result nor a failure: the run is still going on, or was killed"
