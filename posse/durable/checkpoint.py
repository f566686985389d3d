"""Checkpoints: a host as a document, so that the inputs that led to it need not be replayed.

A checkpoint is msgpack: values as they are, and everything else as a list `[kind, …]`. What stands
in it a second time is its number, so that what two objects share stays shared. A kind is one of
`_LIBRARIES`, or a class that hosts consist of: one of posse's, or of the package of the system that
runs, which this process has loaded. Their objects are filled in without a call of the class.
Nothing is imported or called by a name that stands in the file.

What belongs to a process alone (clocks, keys, its journal, the record of its system) is written as
a name, and the reader of the checkpoint supplies the object of that name. So are files: a
checkpoint names none.
"""

import copyreg
import math
import sys
import time
import types
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from posse.arms import ArmsSpec, RealArms
from posse.durable import persons
from posse.durable.journal import Journal
from posse.errors import PosseError
from posse.gates.decode import unpacked
from posse.hosts.sources import Chance
from posse.log import LOG
from posse.system.record import System

EVERY = 0.5
"""Seconds of processor time after which a process makes a checkpoint, at the earliest. A restart
replays what came since the last one."""

_SHARE = 20
"""Checkpoints take at most one part in this many of the processor time."""

_OF_HOSTS = (
    *(f"posse.agent.{module}." for module in ("host", "hybrid", "masking", "run", "tree")),
    *(
        f"posse.coordinator.{module}."
        for module in (
            *("agreement", "assembly", "attendance", "host", "masked_sum", "regrouping"),
            *("report", "server"),
        )
    ),
    *(f"posse.durable.{module}." for module in ("lab", "ledger", "persons", "recording")),
    *(
        f"posse.{room}."
        for room in (
            *("arms", "clocks", "hosts", "measure", "protocol", "results", "spec", "system"),
            *("topologies", "security.noise", "wire.broadcast", "wire.session"),
        )
    ),
)
"""What hosts are made of; no class that opens a socket, starts a process or writes elsewhere."""

_OUTSIDE: Final = frozenset(
    {
        *("posse.arms.python.PythonArms", "posse.arms.live.LiveArms", "posse.arms.csv.CsvArms"),
        "posse.hosts.agent_setup.AgentSetup",
    }
)
"""They name a module to import, a door or a file to open; they have to come from the reader."""

_METHODS: Final = {"generator": Chance.generator, "secret": Chance.secret}
"""The functions that a machine keeps with the context that it was made from."""

_VALUES: Final = frozenset({type(None), bool, float, str, bytes})
_FROZEN: dict[str, type] = {"tuple": tuple, "frozenset": frozenset}
_PLAIN: dict[str, type] = {kind.__name__: kind for kind in (int, list, dict, set, deque, Counter)}
"""What a `defaultdict` may make, besides own classes."""

_LIBRARIES = frozenset(
    {"values", "dict", "Counter", "defaultdict", "deque", "range", "class", "list", "set"}
    | {"method", "array", "view", "scalar", "dtype", "generator"}
)

_I64: Final = 1 << 63


class NotPlain(PosseError):
    """The host is not all plain data, or the bytes are not a host's."""


def written(state: Any, outside: Mapping[str, Any]) -> bytes:
    """The state as bytes, or `NotPlain`. Objects in `outside` are written as their names."""
    try:
        return msgspec.msgpack.encode(_Writer(outside).write(state))
    except (
        TypeError,
        ValueError,
        LookupError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as no:
        raise NotPlain(str(no)) from None


def read(data: bytes, outside: Mapping[str, Any]) -> Any:
    """The state that was written, with the objects that `outside` has now; or `NotPlain`."""
    try:
        return _Reader(outside).read(unpacked(data))
    except Exception as error:  # damaged bytes may break whatever is filled in
        raise NotPlain(
            f"this is no checkpoint of this version ({str(error) or type(error).__name__}); remove "
            "the journal that it stands in, which gives up the run that was to resume from it"
        ) from None


def of_sources(sources: Any) -> dict[str, Any]:
    """A host's sources and what is in them (`posse.hosts.sources`), by name."""
    own = {name: source for name, source in vars(sources).items() if source is not None}
    return {"sources": sources, **own}


def of_files(arms: ArmsSpec | int, base: str, rank: int) -> dict[str, Path]:
    """The files and folders that a host's rewards come from and are counted in, by name."""
    named = {"base": Path(base)}
    if isinstance(arms, RealArms):
        ledger, data = arms.ledger(base, rank)
        named |= {"ledger": ledger, "persons": ledger.with_name(persons.NAME)}
        named |= {"data": data} if data is not None else {}
    return named


def packages_of(system: System) -> tuple[str, ...]:
    """The packages or modules that a system's machines, messages and parameters are from."""
    parts: list[Any] = [system.agent.make, system.parameters, *system.agent.hears]
    parts += [*system.server_hears, *system.results.log]
    if system.server is not None:
        parts.append(system.server.make)
    modules = {str(getattr(part, "__module__", None)).partition(".")[0] for part in parts}
    known = {"posse", "None", "__main__"} | sys.stdlib_module_names
    return tuple(f"{module}." for module in sorted(modules - known))


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
        except NotPlain as error:
            self._at = math.inf
            LOG.debug("no checkpoint, so the journal keeps all inputs: %s", error)
            return
        self._journal.shorten(msgspec.structs.replace(beginning, state=encoded))
        now = self._used()
        self._at = now + max(EVERY, _SHARE * (now - since))


class _Classes:
    """The classes that a host may consist of, by name; `outside` has the record of its system."""

    def __init__(self, outside: Mapping[str, Any]) -> None:
        system = outside.get("system")
        self._rooms = _OF_HOSTS + (packages_of(system) if isinstance(system, System) else ())
        self._found: dict[str, type] = {}

    def name(self, kind: type) -> str:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in _OUTSIDE or not f"{kind.__module__}.".startswith(self._rooms):
            raise TypeError(f"{name} is not plain data")
        return name

    def find(self, name: str) -> type:
        """One of those that this process has loaded."""
        if name not in self._found:
            module, _, own = name.rpartition(".")
            kind = getattr(sys.modules.get(module), own, None)
            if not isinstance(kind, type) or self.name(kind) != name:
                raise TypeError(f"{name} is not plain data")
            self._found[name] = kind
        return self._found[name]


class _Writer:
    def __init__(self, outside: Mapping[str, Any]) -> None:
        self._classes = _Classes(outside)
        self._names = {id(thing): name for name, thing in outside.items()}
        self._files = {file: name for name, file in outside.items() if isinstance(file, Path)}
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []
        """Everything that has a number: no other object may get its id."""

    def write(self, thing: Any) -> Any:
        kind = type(thing)
        if kind in _VALUES:
            return thing
        if kind is int:
            return thing if -_I64 <= thing < _I64 else ["int", hex(thing)]
        if (name := self._names.get(id(thing))) is not None:
            return ["outside", name]
        if isinstance(thing, Path):
            return ["outside", self._files[thing]]
        if (number := self._numbers.get(id(thing))) is not None:
            return ["seen", number]
        if kind is tuple or kind is frozenset:
            # never a number: the hash of one that is twice in itself, again and again, has no end
            return [kind.__name__, *map(self.write, thing)]
        # before its parts, of which one may be, or refer to, the thing itself
        self._numbers[id(thing)] = len(self._kept)
        self._kept.append(thing)
        if kind is list and _are_values(thing):
            return ["values", thing]
        if kind is list or kind is set:
            return [kind.__name__, *map(self.write, thing)]
        if kind is dict or kind is Counter:
            return [kind.__name__, *self._items(thing)]
        if kind is defaultdict:
            return ["defaultdict", self.write(thing.default_factory), *self._items(thing)]
        if kind is deque:
            return ["deque", thing.maxlen, *map(self.write, thing)]
        if kind is range:
            return ["range", thing.start, thing.stop, thing.step]
        numbers = isinstance(thing, np.ndarray | np.generic | np.dtype)
        return self._array(thing) if numbers else self._object(thing, kind)

    def _items(self, thing: Mapping[Any, Any]) -> Iterator[Any]:
        for key, value in thing.items():
            yield self.write(key)
            yield self.write(value)

    def _array(self, thing: Any) -> list[Any]:
        if isinstance(thing, np.dtype):
            return ["dtype", _described(thing)]
        if isinstance(thing, np.generic):
            return ["scalar", _described(thing.dtype), thing.tobytes()]
        base = thing.base
        if isinstance(base, np.ndarray):
            if not base.flags.c_contiguous or thing.nbytes > base.nbytes:
                raise TypeError("the array of a view is not contiguous, or smaller than the view")
            offset = thing.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            about = (_described(thing.dtype), thing.shape, offset, thing.strides)
            return ["view", self.write(base), *about]
        order = "C" if thing.flags.c_contiguous else "F"
        return ["array", _described(thing.dtype), thing.shape, order, thing.tobytes("A")]

    def _object(self, thing: Any, kind: type) -> list[Any]:
        if isinstance(thing, np.random.Generator):
            numbers = thing.bit_generator.state
            if numbers["bit_generator"] != "PCG64":
                raise TypeError(f"{numbers['bit_generator']} is not plain data")
            state = (numbers["state"]["state"], numbers["state"]["inc"])
            return ["generator", *map(hex, state), numbers["has_uint32"], numbers["uinteger"]]
        if isinstance(thing, type):
            plain = _PLAIN.get(thing.__name__) is thing
            return ["class", thing.__name__ if plain else self._classes.name(thing)]
        if isinstance(thing, types.MethodType) and thing.__func__ in _METHODS.values():
            return ["method", thing.__name__, self.write(thing.__self__)]
        name = self._classes.name(kind)
        if isinstance(thing, Enum):
            return [name, thing.value]
        if isinstance(thing, msgspec.Struct):
            return [name, *(self.write(getattr(thing, field)) for field in thing.__struct_fields__)]
        if isinstance(thing, tuple):
            return [name, *map(self.write, thing)]
        made_by, given, *state = thing.__reduce_ex__(4)
        if made_by is not copyreg.__newobj__ or given != (kind,) or any(state[1:]):  # type: ignore[attr-defined]
            raise TypeError(f"{name} is not plain data")
        return [name, self.write(state[0] if state else None)]


class _Reader:
    def __init__(self, outside: Mapping[str, Any]) -> None:
        self._outside = outside
        self._seen: list[Any] = []
        self._classes = _Classes(outside)

    def read(self, node: Any) -> Any:
        if type(node) is not list:
            return node
        kind, *rest = node
        if kind == "seen":
            return self._seen[rest[0]]
        if kind == "outside":
            return self._outside[rest[0]]
        if kind == "int":
            return int(rest[0], 16)
        if kind in {"tuple", "frozenset"}:
            return _FROZEN[kind](map(self.read, rest))
        # the place is taken before the parts are read, as the writer counted
        number = len(self._seen)
        self._seen.append(None)
        if kind in _LIBRARIES:
            return self._of_a_library(number, kind, rest)
        return self._object(number, self._classes.find(kind), rest)

    def _keep(self, number: int, thing: Any) -> Any:
        self._seen[number] = thing
        return thing

    def _of_a_library(self, number: int, kind: str, rest: list[Any]) -> Any:
        if kind == "values":
            return self._keep(number, rest[0])
        if kind == "list":
            made = self._keep(number, [])
            made.extend(map(self.read, rest))
            return made
        if kind in ("dict", "Counter", "defaultdict"):
            kinds = {"dict": dict, "Counter": Counter}
            made = kinds[kind]() if kind in kinds else defaultdict(self.read(rest.pop(0)))
            parts = map(self.read, rest)
            dict.update(self._keep(number, made), zip(parts, parts, strict=True))
            return made
        if kind == "deque":
            made = self._keep(number, deque(maxlen=rest[0]))
            made.extend(map(self.read, rest[1:]))
            return made
        if kind == "set":
            made = self._keep(number, set())
            made.update(map(self.read, rest))
            return made
        return self._keep(number, self._whole(kind, rest))

    def _whole(self, kind: str, rest: list[Any]) -> Any:
        """What cannot stand in itself."""
        if kind == "range":
            return range(*rest)
        if kind == "class":
            return _PLAIN.get(*rest) or self._classes.find(*rest)
        if kind == "method":
            return types.MethodType(_METHODS[rest[0]], self._chance(rest[1]))
        if kind == "generator":
            state, increment, has_half, last = rest
            generator = np.random.Generator(np.random.PCG64(0))
            numbers = {"state": int(state, 16), "inc": int(increment, 16)}
            about = {"bit_generator": "PCG64", "has_uint32": has_half, "uinteger": last}
            generator.bit_generator.state = about | {"state": numbers}
            return generator
        if kind == "view":
            base = self.read(rest[0])
            shape, offset, strides = rest[2:]
            view = np.ndarray(shape, _dtype(rest[1]), base, offset, strides)
            if view.nbytes > base.nbytes:  # with strides of 0 it could have any size
                raise TypeError("a view is larger than its array")
            return view
        dtype = _dtype(rest[0])
        if kind == "dtype":
            return dtype
        if kind == "scalar":
            return np.frombuffer(rest[1], dtype)[0]
        return np.frombuffer(bytearray(rest[3]), dtype).reshape(rest[1], order=rest[2]).copy("K")

    def _object(self, number: int, kind: type, rest: list[Any]) -> Any:
        if issubclass(kind, Enum):
            return self._keep(number, kind._value2member_map_[rest[0]])
        if issubclass(kind, tuple):
            return self._keep(number, tuple.__new__(kind, map(self.read, rest)))
        if issubclass(kind, msgspec.Struct):
            fields = dict(zip(kind.__struct_fields__, map(self.read, rest), strict=True))
            return self._keep(number, kind(**fields))
        made = self._keep(number, kind.__new__(kind))
        state = self.read(*rest)
        if hasattr(kind, "__setstate__"):
            made.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) else (state, None)
            for name, value in ((attributes or {}) | (slots or {})).items():
                object.__setattr__(made, name, value)
        return made

    def _chance(self, node: Any) -> Chance:
        chance = self.read(node)
        if not isinstance(chance, Chance):
            raise TypeError("only the methods of chance are plain data")
        return chance


def _are_values(things: list[Any]) -> bool:
    """Whether a list is written as it stands: no integer of it is too long for msgpack."""
    kinds = set(map(type, things))
    if kinds <= _VALUES:
        return True
    return kinds == {int} and min(things) >= -_I64 and max(things) < _I64


def _described(dtype: np.dtype) -> Any:
    if dtype.hasobject:
        raise TypeError("an array of objects is not plain data")
    return np.lib.format.dtype_to_descr(dtype)


def _dtype(described: Any) -> np.dtype:
    def tuples(part: Any) -> Any:
        return tuple(map(tuples, part)) if isinstance(part, list) else part

    if isinstance(described, str):
        dtype = np.dtype(described)
    else:
        dtype = np.lib.format.descr_to_dtype([tuples(field) for field in described])
    if dtype.hasobject:  # numbers of the file would be taken for addresses of objects
        raise TypeError("an array of objects is not plain data")
    return dtype
