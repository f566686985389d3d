"""Checkpoints: a host as bytes, so that the inputs that led to it need not be replayed.

Machines and their hosts are plain data, which `pickle` writes. What belongs to a process alone
(clocks, keys, its journal, the record of its system) is written as a name, and the reader of the
checkpoint supplies the object of that name.

Reading a pickle calls whatever it names. Here it can name classes that hosts are made of, and those
of plain data. A journal is read back only if its checksums are right (`posse.durable.journal`).
"""

import io
import math
import pickle
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import msgspec
import numpy as np

from posse.durable.journal import Journal
from posse.log import LOG

EVERY = 0.5
"""Seconds of processor time after which a process makes a checkpoint, at the earliest. A restart
replays what came since the last one."""

_SHARE = 20
"""Checkpoints take at most one part in so many of the processor time."""

_OF_HOSTS = tuple(
    f"posse.{room}."
    for room in (
        *("agent", "arms", "clocks", "coordinator", "durable.ledger", "durable.recording"),
        *("families", "hosts", "measure", "protocol", "results", "spec", "topologies"),
        *("wire.broadcast", "wire.session"),
    )
)
"""What hosts are made of; no class that opens a socket, starts a process or writes elsewhere."""

_KNOWN = frozenset({"builtins", "collections", "msgspec", "numpy", "posse"})


class _Named(msgspec.Struct, kw_only=True):
    n: int


_GENERATOR = np.random.default_rng(0)
_SAMPLES = (
    np.zeros(2),
    np.zeros((2, 2))[:, 0],
    np.float64(0.0),
    _GENERATOR,
    _GENERATOR.bit_generator,
    _GENERATOR.bit_generator.seed_seq,
    _Named(n=0),
)
_PLAIN = frozenset(
    {Counter, deque, defaultdict, list, range, np.ndarray, np.dtype, np.random.PCG64}
    | {np.random.SeedSequence}
    | {sample.__reduce_ex__(pickle.HIGHEST_PROTOCOL)[0] for sample in _SAMPLES}
)
"""The callables that make plain data of libraries."""


class NotPlain(Exception):
    """The host is not all plain data, or the bytes are not a host's."""


def written(state: Any, outside: Mapping[str, Any]) -> bytes:
    """The state as bytes, or `NotPlain`. Objects in `outside` are written as their names."""
    file = io.BytesIO()
    writer = _Writer(file, {id(thing): name for name, thing in outside.items()})
    try:
        writer.dump(state)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
        raise NotPlain(str(error)) from None
    return file.getvalue()


def read(data: bytes, outside: Mapping[str, Any]) -> Any:
    """The state that was written, with the objects that `outside` has now; or `NotPlain`."""
    try:
        return _Reader(io.BytesIO(data), outside).load()
    except Exception as error:  # damaged bytes may raise whatever makes objects
        raise NotPlain(str(error) or type(error).__name__) from None


def of_sources(sources: Any) -> dict[str, Any]:
    """A host's sources and what is in them (`posse.hosts.sources`), by name."""
    own = {name: source for name, source in vars(sources).items() if source is not None}
    return {"sources": sources, **own}


class Checkpoints:
    """From time to time replaces a process's journal by the state that it led to.

    `used` returns the processor time that the process used, in seconds.
    """

    def __init__(self, journal: Journal, used: Callable[[], float] = time.process_time) -> None:
        self._journal = journal
        self._used = used
        self._at = used() + EVERY

    @property
    def due(self) -> bool:
        """Whether it is time for one, by the processor time that the process used."""
        return self._used() >= self._at

    def make(self, state: Any, outside: Mapping[str, Any], beginning: msgspec.Struct) -> None:
        """Make a checkpoint, in `beginning.state`. The process must have nothing left to send."""
        since = self._used()
        try:
            encoded = written(state, outside)
            self._journal.shorten(msgspec.structs.replace(beginning, state=encoded))
            now = self._used()
            self._at = now + max(EVERY, _SHARE * (now - since))
        except NotPlain as error:
            self._at = math.inf
            LOG.debug("no checkpoint, so the journal keeps all inputs: %s", error)


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: dict[int, str]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = names

    def persistent_id(self, thing: Any) -> str | None:
        return self._names.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        # never write what cannot be read: a checkpoint replaces the inputs that led to it
        if hasattr(thing, "__qualname__") and not _is_plain(thing):
            raise pickle.PicklingError(f"{thing} is not plain data")
        if isinstance(thing, np.ndarray) and isinstance(thing.base, np.ndarray):
            return _view(thing, thing.base)
        return NotImplemented


def _view(thing: np.ndarray, base: np.ndarray) -> Any:
    """How to make an array that is a view of another one, and stays so."""
    if not base.flags.c_contiguous:
        raise pickle.PicklingError("the array of a view is not contiguous")
    offset = thing.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return np.ndarray, (thing.shape, thing.dtype, base, offset, thing.strides)


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, outside: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._outside = outside

    def persistent_load(self, name: str) -> Any:
        return self._outside[name]

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] in _KNOWN:
            named = super().find_class(module, name)
            if _is_plain(named) and (named in _PLAIN or named.__module__ == module):
                return named
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


def _is_plain(made_by: Any) -> bool:
    """Whether this callable makes plain data."""
    if isinstance(made_by, type) and f"{made_by.__module__}.".startswith(_OF_HOSTS):
        return True
    return isinstance(made_by, Hashable) and made_by in _PLAIN
