"""A hash of what makes a run, besides its specification: all code and files it depends on."""

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from posse import own_code
from posse.arms.python import PythonArms
from posse.errors import SpecError
from posse.gates.files import MOST, opened
from posse.plan import Plan
from posse.spec.topology import PythonTopology

_HOME = Path(__file__).resolve().parents[1]
_NOT_RUN = ("report", "cli")
"""Parts of `posse` that no run depends on."""
_OWN = PythonArms | PythonTopology


def digest(files: Iterable[Path]) -> str:
    """A hash of these files' content, in this order; what cannot be read is skipped."""
    hashed = hashlib.sha256()
    for path in files:
        # a text that cannot be a name is a `ValueError`
        with contextlib.suppress(OSError, ValueError), opened(path, MOST) as file:
            hashed.update(hashlib.file_digest(file, "sha256").digest())
    return hashed.hexdigest()


@functools.cache
def our_code() -> str:
    """A hash of all code of posse that runs depend on."""
    return digest(
        path
        for room in sorted(_HOME.iterdir())
        if room.name not in _NOT_RUN
        for path in (sorted(room.rglob("*.py")) if room.is_dir() else [room])
    )


def made_by(plan: Plan) -> str:
    """A hash of posse's code, the user's own, and the files of this machine that a run reads.

    `SpecError` for code without a file: whether it was changed cannot be known.
    """
    if plan.main_code and not main_has_file():
        raise SpecError(
            plan.main_code,
            "names code of a notebook or a prompt, which has no file, so a result that is kept "
            "cannot be told from one of changed code; write it in a module, or leave `out` out",
        )
    return hashlib.sha256(f"{our_code()} {digest(_own(plan))}".encode()).hexdigest()


def main_has_file() -> bool:
    """Whether the code of `__main__` is in a file; not in a notebook, or if piped into Python."""
    return os.path.isfile(getattr(sys.modules["__main__"], "__file__", None) or "")


def _own(plan: Plan) -> Iterator[Path]:
    """The files that the run file names: reward logs, graphs, modules; some may not be here."""
    spec, offered = plan.spec, own_code.offered()
    own = [part for part in (spec.arms, spec.topology) if isinstance(part, _OWN)]
    path = [*spec.path, *(folder for part in own for folder in part.path)]
    folders = own_code.folders_of(spec.base, path)
    if plan.main_code:
        yield Path(str(sys.modules["__main__"].__file__))
    for text in _texts(msgspec.to_builtins(spec)):
        targets = [*filter(own_code.is_target, offered.get(text, [text]))]
        for target in targets:
            yield from own_code.sources(target, folders) or own_code.installed_sources(target)
        if targets:
            continue
        if "{rank}" in text:
            for rank in range(spec.agents.count):
                yield Path(spec.base) / text.replace("{rank}", str(rank))
        else:
            yield Path(spec.base) / text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
