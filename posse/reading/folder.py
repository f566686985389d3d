"""Reads back what runs left behind (see `posse.durable.directory`); a page needs nothing else."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import msgspec

from posse.arms import LabMeans
from posse.arms.base import RandomMeans
from posse.arms.csv import CsvArms
from posse.durable import frames, lifetime, shown
from posse.durable.batch import pieces
from posse.durable.directory import FAILURE, KEPT, RESULT, SPECIFICATION
from posse.durable.frames import Frame
from posse.durable.lifetime import Lifetime
from posse.durable.made_by import our_code
from posse.durable.shown import ShownSystem, mean_bound
from posse.durable.sweep import SWEEP
from posse.durable.sweep import read as read_sweep
from posse.errors import InputError, PosseError
from posse.gates import files
from posse.gates.code import Imports, trusting
from posse.gates.decode import from_json, from_toml, rows, unpacked
from posse.operate.live import LATE, STALE, LiveState, read_live
from posse.own_code import folders_of
from posse.plan import prepare
from posse.protocol.arrays import FloatArray
from posse.protocol.control import LinkCount
from posse.results.record import Detail, NetworkFacts, RunRecord
from posse.results.result import FORMAT
from posse.results.verdict import Truth, VerdictLine, verdict
from posse.spec.fingerprint import flat
from posse.spec.runfile import RunSpec
from posse.system import find_system, ours
from posse.system.bounds import Bound, MeansUnknownError, run_means

__all__ = ["LATE", "STALE", "Bound", "Frame", "LiveState", "Series", "find", "is_run", "read"]

FRAMES = "frames"
"""The name of a capture in the folder of a run."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One run directory: its specification and its runs.

    `system` is None if nothing is known of it, `text` the specification as the file has it.
    `failure` is the sentence that ended a series early; its `runs` are those that were complete.
    `at` has the swept keys and their values, if this is a point of a sweep. `written` is what the
    run wrote of its bound, `trust` whether the code that it names may be imported. `live` is the
    state of a series that is under way, `live_age` how many seconds old it is.
    """

    path: Path
    name: str
    spec: RunSpec
    system: ShownSystem | None
    text: str
    runs: list[RunRecord]
    failure: str | None
    network: NetworkFacts
    warnings: list[str]
    at: dict[str, Any] = field(default_factory=dict)
    written: Bound | None = None
    trust: bool = False
    live: LiveState | None = None
    live_age: float = 0.0
    truths: list[Truth] = field(default_factory=list)

    @property
    def verdict(self) -> VerdictLine:
        """What came of it, or what stands in the way."""
        going_on = self.live is not None
        return verdict(
            self.runs,
            asked=max(self.spec.repeat, len(self.runs)),
            anew=self.drawn_anew,
            truths=self.truths,
            failure=None if going_on else self.failure,
            under_way=self.live.headline if self.live is not None else "",
            warnings=self.warnings,
            names=getattr(self.spec.arms, "names", ()),
        )

    @property
    def clock_unit(self) -> str:
        """What the time of logs and curves is counted in."""
        if any(run.slots is not None for run in self.runs):
            return "slots"
        return "seconds" if self.spec.mode == "field" else "rounds"

    @property
    def drawn_anew(self) -> bool:
        """Whether every run has its own arms, so that their indices mean nothing across runs."""
        return len(self.runs) > 1 and self.drawn_by_run

    @property
    def drawn_by_run(self) -> bool:
        """Whether the run's seed draws the arms, so that another seed has other arms."""
        arms = self.spec.arms
        means = arms.means if isinstance(arms, LabMeans) else None
        return isinstance(means, RandomMeans) and means.seed is None

    def links(self, *, first: bool = False) -> list[LinkCount]:
        """What each link carried, summed over the runs; in the `first` alone.

        A random graph is another one in each.
        """
        runs = self.runs[:1] if first else self.runs
        sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
        for link in [link for run in runs for link in run.links] or self._link_table(runs):
            *key, messages, payload, frames = msgspec.structs.astuple(link)
            total = sums[tuple(key)]
            total[:] = map(int.__add__, total, (messages, payload, frames))
        return [LinkCount(*key, *counts) for key, counts in sorted(sums.items())]

    def _link_table(self, runs: list[RunRecord]) -> Iterator[LinkCount]:
        """The rows of links.csv of these runs; a series has it at its end."""
        path, numbers = self.path / "links.csv", {str(run.run) for run in runs}
        if not path.exists():
            return
        try:
            stored = files.opened(path, files.MOST)
            with TextIOWrapper(stored, encoding="utf-8", newline="") as file:
                table = rows(files.lines(file))
                next(table, None)
                for run, source, target, plane, kind, *counts in table:
                    if run in numbers:
                        ends = int(source), int(target), int(plane)
                        yield LinkCount(*ends, kind, *map(int, counts))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}: is not what posse run wrote ({error})") from None

    @property
    def keys(self) -> dict[str, Any]:
        """All keys; those that were swept also where its system has no place for them."""
        return flat(msgspec.to_builtins(self.spec)) | flat(self.at)

    @property
    def bound(self) -> Bound | None:
        """What theory says, averaged over runs that each have their own instance; None if lost.

        Files of arms or of a graph may be gone, and code may not be trusted.
        """
        if self.written is not None:
            return self.written
        try:
            with trusting(Imports.ALL if self.trust else Imports.NOTHING):
                return mean_bound(prepare(self.spec), self.runs)
        except PosseError:
            return None

    def means(self, run: int) -> FloatArray | None:
        """The arms' means in a run, averaged over agents, shape (K,); None if they are unknown."""
        try:
            return run_means(self.spec, run)
        except MeansUnknownError:
            return None

    def frames(self) -> Iterator[Frame] | None:
        """The frames of a capture in the folder; None where there is none, or while runs go on.

        Reading them raises `InputError` if the file is no capture.
        """
        path = self.path / FRAMES
        return frames.read(path) if path.is_file() and self.live is None else None

    def ledgers(self) -> tuple[list[tuple[int, Lifetime]], list[int]]:
        """Each agent's ledger that is on this machine, by rank, and the ranks of all others."""
        absent: list[int] = []
        found: list[tuple[int, Lifetime]] = []
        if isinstance(self.spec.arms, CsvArms):
            for rank in range(self.spec.agents.count):
                log = Path(self.spec.base) / self.spec.arms.path.replace("{rank}", str(rank))
                try:
                    found.append((rank, lifetime.read(log)))
                except InputError:
                    absent.append(rank)
        return found, absent

    def hashes(self) -> list[tuple[str, str]]:
        """SHA-256 of the run file, of the result and of posse's code, each with what it is of."""
        paths = (self.path / SPECIFICATION, self.path / RESULT)
        hashed = [(p.name, sha256(files.read(p)).hexdigest()) for p in paths if p.is_file()]
        return [*hashed, ("Code", our_code())]

    def values(self, read: Callable[[RunRecord], float | None]) -> list[float]:
        """One number per run, where the run has it."""
        return [float(value) for run in self.runs if (value := read(run)) is not None]


def is_run(path: Path) -> bool:
    """Whether a directory is one series of runs, complete or not."""
    return (path / SPECIFICATION).is_file()


def find(path: Path, *, trust: bool = False) -> list[Series]:
    """The series in `path`: itself, or, for a sweep, that of each point in order.

    A folder of runs is read like a sweep, and so is a sweep that was killed. `trust` as in `read`.
    """
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if not path.is_dir():
        raise InputError(f"{path}: is a file; give the directory that posse run wrote")
    if is_run(path):
        return [read(path, trust=trust)]
    runs = sorted(child for child in path.iterdir() if child.is_dir() and is_run(child))
    if not runs:
        raise InputError(
            f"{path}: is not a run: it has no {SPECIFICATION}, and no directory in it has one; "
            "posse run FILE --out DIR makes a run directory"
        )
    settings = _swept(path)
    order = list(settings)
    runs.sort(key=lambda run: order.index(run.name) if run.name in settings else len(order))
    return [replace(read(run, trust=trust), at=settings.get(run.name, {})) for run in runs]


def _swept(path: Path) -> dict[str, dict[str, Any]]:
    """The values of a sweep's points, by their directories."""
    if not (path / SWEEP).is_file():
        return {}
    try:
        return {point.directory: point.at for point in read_sweep(path)}
    except ValueError as error:
        raise InputError(f"{path / SWEEP}: is not what posse run --over wrote ({error})") from None


def read(path: Path, *, trust: bool = False) -> Series:
    """One run directory; raises `InputError` if a file in it is not what posse wrote.

    Nothing that a file in it names is imported, unless `trust` is True.
    """
    try:
        text = _text(path / SPECIFICATION)
        spec = msgspec.convert(from_toml(text), RunSpec)
        document, failure = _document(path)
        state, age = read_live(path) or (None, 0.0)
        if failure is None:  # the result is there; agents are still being released
            state = None
        written = shown.read(path)
        system = _system(spec, trust=trust) or written
        detail = Detail if system is None else system.detail
        return Series(
            path=path,
            name=path.resolve().name,
            spec=spec,
            system=system,
            text=text,
            runs=[RunRecord.read(run, detail) for run in document.get("runs", [])],
            failure=failure,
            network=msgspec.convert(document.get("network", {}), NetworkFacts),
            warnings=msgspec.convert(document.get("warnings", []), list[str]),
            truths=msgspec.convert(document.get("truths", []), list[Truth]),
            written=None if written is None else written.bound,
            trust=trust,
            live=state,
            live_age=age,
        )
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: is not what posse run wrote ({type(error).__name__}: {error})"
        ) from None


def _system(spec: RunSpec, *, trust: bool) -> ShownSystem | None:
    if trust or spec.system in ours():
        with contextlib.suppress(PosseError):
            return shown.of_system(find_system(spec.system, folders_of(spec.base, spec.path)))
    return None


def _text(path: Path) -> str:
    return files.read(path).decode()


def _document(path: Path) -> tuple[dict[str, Any], str | None]:
    """What came of the series; where it ended early its finished runs, and why it did."""
    if (path / RESULT).is_file() and not (path / FAILURE).is_file():
        document = from_json(_text(path / RESULT), dict[str, Any])
        if (made := document.get("format", FORMAT)) != FORMAT:
            raise ValueError(f"its format is {made!r:.20}, and this posse reads {FORMAT}")
        return document, None
    failure = "there is neither a result nor a failure: the run is still going on, or was killed"
    if (path / FAILURE).is_file():
        failure = str(from_json(_text(path / FAILURE), dict[str, Any])["error"])
    return {"runs": [unpacked(piece) for piece in pieces(path / KEPT)]}, failure
