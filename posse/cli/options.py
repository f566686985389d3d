"""Options that several verbs share, and the plan that they make.

Each of these dataclasses stands for some options of a verb; see `posse.cli.frame`.
"""

import json as json_module
import logging
import math
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, dataclass_transform

from cyclopts import Parameter, Token

from posse import log
from posse.cli import call, paths
from posse.errors import InputError, SpecError
from posse.gates import files

if TYPE_CHECKING:
    from rich.console import Console

    from posse.engines.start.dask import DaskPlacement
    from posse.plan import Plan
    from posse.spec.runfile import Override

_RESUMING = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "KUBERNETES_SERVICE_HOST"}

_T = TypeVar("_T")
_LONGEST = 2_000_000
"""Seconds; in milliseconds they fit 31 bits."""


def parsed(parse: Callable[[str], Any], metavar: str | None = None) -> Parameter:
    """An option whose text `parse` makes a value of; its `ValueError` says "is TEXT; it must …"."""

    def convert(_: Any, tokens: Sequence[Token]) -> Any:
        return parse(tokens[0].value)

    return Parameter(converter=convert, n_tokens=1, metavar=metavar)


def number(text: str, least: int = 0, most: int | None = None) -> int:
    """Parse a number that counts from 0, such as a place, or from `least`, up to `most`."""
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"is {text}; it must be a whole number, {least} or more")
    if most is not None and int(text) > most:
        raise ValueError(f"is {text}; it must be from {least} to {most}")
    return int(text)


def real(must: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """What parses a number for which `holds`; it `must` be so."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not holds(value):
            raise ValueError(f"is {text}; it must be {must}")
        return value

    return parse


def _place(text: str) -> Path:
    """Parse a file or folder to write; an empty text would mean the working directory."""
    if not text:
        raise ValueError("is empty; name a file or folder, or . for this one")
    return Path(text)


def _folder(text: str) -> Path:
    """Parse a folder that can be written: the verb may work for hours before it does."""
    folder = _place(text)
    paths.require(folder)
    return folder


def _folder_of_folders(text: str) -> Path:
    """Parse such a folder; one that is there may hold mounts that can be written when it cannot."""
    folder = _place(text)
    return folder if folder.is_dir() else _folder(text)


def file_to_write(text: str) -> Path:
    """Parse a file whose folder can be written; a folder may stand there, as of tables."""
    file = _place(text)
    if not files.is_stream(file):
        paths.require(file.parent)
    return file


WholeNumber = Annotated[int, parsed(number, "N")]
"""0 or more."""
PositiveNumber = Annotated[int, parsed(lambda text: number(text, 1), "N")]
"""1 or more."""
Duration = Annotated[
    float,
    parsed(real(f"from 0 to {_LONGEST} seconds", lambda s: 0 <= s <= _LONGEST), "SECONDS"),
]
Probability = Annotated[
    float, parsed(real("at least 0 and below 1", lambda value: 0 <= value < 1), "P")
]
FolderToWrite = Annotated[Path, parsed(_folder, "DIR")]
FolderOfFolders = Annotated[Path, parsed(_folder_of_folders, "DIR")]
FileToWrite = Annotated[Path, parsed(file_to_write, "FILE")]
Engine = Literal["processes", "memory"]


def _split(_: Any, text: str, **_more: Any) -> list[str]:
    """Several values in one variable, as a shell splits them."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(
            f"POSSE_SET={text}: {error}; several values are split as a shell splits them, so put a "
            "value with a quote into quotes of the other kind"
        ) from None


@dataclass_transform(frozen_default=True, kw_only_default=True)
def shared(options: type[_T]) -> type[_T]:
    """A class whose fields are options: their types, their defaults, and what each means."""
    return Parameter(name="*")(dataclass(frozen=True, kw_only=True)(options))


@shared
class Trust:
    """The code that may be imported; see `posse.gates.code`."""

    trust: bool = False
    """import code that a run file, a result or you name from any folder, whoever owns it"""


@shared
class SetOptions(Trust):
    """What is changed in a run file."""

    set: Annotated[
        tuple[str, ...], Parameter(metavar="PATH=VALUE", env_var_split=_split, n_tokens=1)
    ] = ()
    """override a key of the run file, e.g. parameters.epsilon=0.5; PATH= removes the key"""


@shared
class Changes:
    """The keys of a run file that are changed most often."""

    engine: Engine | None = None
    """run agents as processes or in memory (default: the run file's)"""
    seed: Annotated[int | None, Parameter(metavar="N", allow_leading_hyphen=True)] = None
    """seed of all randomness (default: the run file's)"""
    repeat: Annotated[int | None, Parameter(metavar="N")] = None
    """number of runs (default: the run file's)"""

    def overrides(self, *given: Sequence[str]) -> list[str]:
        """Each as a key and its value; `SpecError` if one is among the keys `given` otherwise."""
        own = {"engine.kind": self.engine, "seed": self.seed, "repeat": self.repeat}
        own = {path: value for path, value in own.items() if value is not None}
        for option, changed in zip(("set", "over"), given, strict=False):
            for path in {one.partition("=")[0].strip() for one in changed} & own.keys():
                name = path.partition(".")[0]
                raise SpecError(
                    path, f"is given by --{name} and by --{option}; leave one of them out"
                )
        return [f"{path}={value}" for path, value in own.items()]


@shared
class Jobs:
    """How many processes share work."""

    jobs: PositiveNumber | None = None
    """number of processes that share work in memory (default: all cores)"""


@shared
class Placed(Jobs):
    """On which machines, and on how many cores."""

    on: Annotated[str, Parameter(metavar="dask://HOST:PORT")] = ""
    """place agents, or whole runs in memory, on the workers of this Dask scheduler"""
    per_worker: PositiveNumber | None = None
    """largest number of agents on one worker (default: no limit; workers share all agents by their
    threads)"""
    bind: Annotated[str, Parameter(metavar="ADDRESS")] = ""
    """tcp://HOST:PORT at which workers reach the coordinator (default: a free port)"""
    coordinator: Literal["here", "worker"] = "here"
    """run the coordinator here or on a worker"""

    def placement(self) -> "DaskPlacement | None":
        """Where agents are placed; None on this machine."""
        from posse.engines.start.dask import DaskPlacement
        from posse.security import address

        if self.bind:
            address.check("--bind", self.bind, bind=True)
        if self.on:
            return DaskPlacement(self.on, self.per_worker, self.bind, self.coordinator)
        if self.per_worker or self.bind or self.coordinator != "here":
            raise InputError("--per-worker, --bind and --coordinator need --on dask://HOST:PORT")
        return None


@shared
class Json:
    """In which form an outcome is printed."""

    json: bool = False
    """print one JSON document and nothing else"""


@shared
class Out(Json):
    """Where a result goes."""

    out: FolderToWrite | None = None
    """directory for the result (default: a new one in runs/)"""


@shared
class LogOptions:
    """The log of a process, on standard error."""

    log: Literal["text", "json"] = "text"
    """format of the log: text, or one JSON object per line"""

    def begin(self, who: str, *, insecure: bool) -> None:
        """Write the log from now on."""
        call.current().json_log = self.log == "json"
        quiet = call.current().quiet
        log.begin(who, insecure, logging.WARNING if quiet else logging.INFO, self.log)


def _watched(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Parse an address, if there is one."""
    from posse.operate.web import place

    for token in tokens:
        place("--watch", token.value)
    return tuple(token.value for token in tokens)


@shared
class Watched:
    """Whether and where a run can be watched."""

    watch: Annotated[
        tuple[str, ...] | None,
        Parameter(metavar="[HOST]:PORT", consume_multiple=(0, 1), converter=_watched),
    ] = None
    """serve a live page of the run and print its address; without one, which goes after FILE, only
    for this machine, on a free port"""

    def address(self) -> str | None:
        """None without the option."""
        return None if self.watch is None else (*self.watch, ":0")[0]


def is_resumable(asked: bool | None) -> bool:
    """Whether an interrupted run is to resume; the image of containers says so by POSSE_RESUMABLE.

    Batch systems and Kubernetes end processes that they start again elsewhere or later.
    """
    return not _RESUMING.isdisjoint(os.environ) if asked is None else asked


def console() -> "Console":
    """The console for the outcome: standard output."""
    from rich.console import Console

    return Console(quiet=call.current().quiet, markup=False, emoji=False)


def print_json(document: Any) -> None:
    import msgspec

    print(json_module.dumps(msgspec.to_builtins(document)))


class RunFile:
    """A run file, read once: a pipe cannot be read twice."""

    def __init__(self, path: Path, settings: SetOptions, *before: "Override") -> None:
        """Changed by the settings; by `before` where nothing else sets the key."""
        from posse.spec.runfile import read

        self.path = path
        self._given = read(path)
        self._changes = (*before, *settings.set)
        self._said: set[str] = set()

    def plan(self, *overrides: "Override") -> "Plan":
        """The plan with the overrides; later ones win.

        If they name another system, keys of the file that it does not know are left out, with a
        remark.
        """
        from posse.plan import no_place_for, prepare
        from posse.spec.runfile import override, put

        raw = override(self._given, [*self._changes, *overrides])
        if raw.get("system") not in (None, self._given.get("system")):
            for path in no_place_for(raw, self._given):
                put(raw, path, None)
                if (
                    line := f"{path} is left out: {raw['system']} does not use it"
                ) not in self._said:
                    log.remark(line)
                self._said.add(line)
        return prepare(raw)
