"""The run file: what it may say, and one clear sentence where it is wrong."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec import inspect as mi

from posse.arms import ArmsSpec
from posse.arms.csv import CsvArms
from posse.arms.python import PythonArms
from posse.clocks.activity import ActivitySpec
from posse.errors import SpecError
from posse.spec.topology import TopologySpec, lay_out, require_connected
from posse.systems import System, get_system
from posse.systems.base import Clock
from protocol.machine import Parameters
from topologies.graphs import Graph


class AgentsSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[agents]`: how many, and how active each is."""

    count: Annotated[int, Meta(ge=1, le=100_000)]
    activity: ActivitySpec = ActivitySpec()


class EngineSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[engine]`: where agents run, over what, by which clock, and how long silence may last."""

    kind: Literal["processes", "memory"] = "processes"
    transport: Literal["ipc", "tcp"] = "ipc"
    clock: Clock | None = None
    deadline: Annotated[
        float, Meta(gt=0, description="seconds without any message that end the run")
    ] = 60.0


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run file. `parameters` is checked by the system's own model, see `model()`."""

    system: str
    arms: ArmsSpec
    agents: AgentsSpec
    mode: Literal["lab", "field"] = "lab"
    parameters: dict[str, Any] = {}
    topology: TopologySpec | None = None
    variant: Literal["corrected", "printed"] = "corrected"
    seed: Annotated[int, Meta(ge=0)] = 0
    repeat: Annotated[int, Meta(ge=1)] = 1
    engine: EngineSpec = EngineSpec()
    base: str = "."

    def definition(self) -> System:
        """The system that the run file names."""
        return get_system(self.system)

    def model(self) -> Parameters:
        """`[parameters]` as the system's own model."""
        model: Parameters = convert(self.parameters, self.definition().parameters, "parameters")
        return model

    def graph(self, run: int) -> Graph:
        """Who is linked to whom in run `run`; `SpecError` if the run file does not say."""
        if self.topology is None:
            raise SpecError(
                "topology", f'{self.system} needs one; add the table, e.g. kind = "ring"'
            )
        return lay_out(self.topology, self.agents.count, self.seed, run, self.base)

    def clock(self) -> Clock:
        """The clock: the run file's choice, the wall's in the field, or the system's first."""
        return self.engine.clock or (
            "wall" if self.mode == "field" else self.definition().clocks[0]
        )

    def advice(self) -> list[str]:
        """Sentences about what is allowed and probably not meant."""
        system, model = self.definition(), self.model()
        claim = system.claim(model, self.variant)
        if self.mode == "field" and (claim is None or not claim.holds or claim.mechanism == "none"):
            bare = f"{self.system} protects no real rewards"
            said = [f"{bare}: {claim.note}" if claim is not None and claim.note else f"{bare}."]
        else:
            said = []
        return [*said, *system.advise(self, model)]


def load(path: str | Path, overrides: list[str] | None = None) -> RunSpec:
    """Read and check a run file; `overrides` are "path=value" as on the command line."""
    return parse(read(path, overrides))


def read(path: str | Path, overrides: list[str] | None = None) -> dict[str, Any]:
    """A run file as plain data with its overrides, not yet checked."""
    try:
        raw = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise SpecError(str(path), f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(str(path), f"is not TOML: {error}") from None
    for override in overrides or []:
        _override(raw, override)
    raw.setdefault("base", str(Path(path).resolve().parent))
    return raw


def parse(raw: dict[str, Any]) -> RunSpec:
    """Check a run specification given as plain data."""
    if "system" in raw and isinstance(raw["system"], str):
        get_system(raw["system"])
    spec: RunSpec = convert(raw, RunSpec, "")
    system = spec.definition()
    model = spec.model()
    if spec.mode == "lab" and spec.clock() not in system.clocks:
        raise SpecError(
            "engine.clock",
            f"'{spec.clock()}' does not fit {system.name}; known: {', '.join(system.clocks)}",
        )
    try:
        if not system.shared_arms:
            spec.arms.check_agents(spec.agents.count)
    except ValueError as error:
        raise SpecError("arms", str(error)) from None
    if system.needs_unit_interval and not spec.arms.unit_interval:
        raise SpecError(
            "arms.clip",
            f"{system.name} protects rewards in [0, 1] only, and these arms have no bound; set "
            "clip = [lo, hi]",
        )
    if spec.mode == "field":
        _check_field(spec, raw)
    if spec.topology is not None and not system.has_topology:
        raise SpecError("topology", f"{system.name} has none; delete the table")
    if system.has_topology:
        graph = spec.graph(run=0)
        if not system.components:
            require_connected(graph)
    spec.agents.activity.rates(spec.agents.count)
    system.check(spec, model)
    return spec


def _check_field(spec: RunSpec, raw: dict[str, Any]) -> None:
    """What a run with real rewards must not have."""
    system = spec.definition()
    if not system.field:
        why = system.lab_only or "has noise or messages that are not made for real rewards"
        raise SpecError("mode", f"'field' is not for {system.name}: it {why}; use it in the lab")
    if raw.get("seed"):
        raise SpecError("seed", "is the lab's; in the field noise cannot be repeated. Delete it")
    if spec.repeat != 1:
        raise SpecError("repeat", "must be 1 in the field: every repetition spends epsilon again")
    if spec.engine.kind == "memory":
        raise SpecError("engine.kind", "is the lab's; in the field every agent is a process")
    if spec.clock() != "wall":
        raise SpecError("engine.clock", f"'{spec.clock()}' is the lab's; delete it")
    if not isinstance(spec.arms, CsvArms | PythonArms):
        raise SpecError("arms.kind", "must be csv or python in the field: rewards are real there")


_PLAIN = {
    "float": "a number",
    "int": "an integer",
    "str": "a string",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
    "null": "absent",
}
"""msgspec's words for types, in a run file's."""


def _override(raw: dict[str, Any], override: str) -> None:
    """Apply "a.b=value" to plain data; the value is TOML, or else a string."""
    path, equals, text = override.partition("=")
    if not equals:
        raise SpecError("--set", f"'{override}' is not path=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *parents, last = path.strip().split(".")
    table = raw
    for name in parents:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise SpecError(path, f"'{name}' is not a table")
    table[last] = value


def convert(raw: Any, kind: Any, prefix: str) -> Any:
    """Plain data as `kind`; `SpecError` names the key below `prefix` that does not fit."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _explain(str(error), raw, kind, prefix) from None


def nearest(name: str, known: list[str]) -> str:
    """A hint after an unknown name: the nearest one, and all there are."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}known: {', '.join(sorted(known))}"


def _explain(message: str, raw: Any, kind: Any, prefix: str) -> SpecError:
    """Turn msgspec's message into one that names the key, the value and what is allowed."""
    text, _, where = message.partition(" - at `")
    steps = re.findall(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]", where)
    path = prefix
    value, allowed = raw, kind
    for name, index in steps:
        path += f".{name}" if name and path else name or f"[{index}]"
        allowed = _field_type(allowed, name, value) if name else _item_type(allowed)
        try:
            value = value[name] if name else value[int(index)]
        except (KeyError, IndexError, TypeError, ValueError):
            value = None
    if match := re.match(r"Object contains unknown field `(.*)`", text):
        key = match[1]
        known = _field_names(allowed, value)
        return SpecError(f"{path}.{key}" if path else key, f"unknown key; {nearest(key, known)}")
    if match := re.match(r"Object missing required field `(.*)`", text):
        return SpecError(f"{path}.{match[1]}" if path else match[1], "is required and missing")
    if match := re.match(r"Invalid (?:enum )?value '?([^']*)'?$", text):
        return SpecError(path, f"'{match[1]}' is not known; {nearest(match[1], _choices(allowed))}")
    text = text.replace("`", "")
    if text.startswith("Expected"):
        shown = repr(value) if not isinstance(value, dict | list) else type(value).__name__
        wanted = text.partition(", got")[0].removeprefix("Expected ")
        for name, plain in _PLAIN.items():
            wanted = re.sub(rf"\b{name}\b", plain, wanted)
        return SpecError(path, f"is {shown}; it must be {wanted}")
    return SpecError(path, text)


def _structs(kind: Any, value: Any) -> list[Any]:
    """The struct types that `kind` admits, only the one whose tag `value` carries if it has one."""
    info = mi.type_info(kind) if not isinstance(kind, mi.Type) else kind
    if isinstance(info, mi.Metadata):
        info = info.type
    candidates = list(info.types) if isinstance(info, mi.UnionType) else [info]
    structs = [c for c in candidates if isinstance(c, mi.StructType)]
    if isinstance(value, dict):
        tagged = [s for s in structs if s.tag_field and value.get(s.tag_field) == s.tag]
        structs = tagged or structs
    return structs


def _field_names(kind: Any, value: Any) -> list[str]:
    return [field.encode_name for struct in _structs(kind, value) for field in struct.fields]


def _field_type(kind: Any, name: str, value: Any) -> Any:
    for struct in _structs(kind, value):
        if name and name == struct.tag_field:
            return kind
        for field in struct.fields:
            if field.encode_name == name:
                return field.type
    return mi.AnyType()


def _item_type(kind: Any) -> Any:
    """The type of the items of a list."""
    info = mi.type_info(kind) if not isinstance(kind, mi.Type) else kind
    return getattr(info, "item_type", mi.AnyType())


def _choices(kind: Any) -> list[str]:
    info = mi.type_info(kind) if not isinstance(kind, mi.Type) else kind
    if isinstance(info, mi.Metadata):
        info = info.type
    parts = info.types if isinstance(info, mi.UnionType) else [info]
    out: list[str] = []
    for part in parts:
        if isinstance(part, mi.LiteralType):
            out += [str(v) for v in part.values]
        elif isinstance(part, mi.StructType) and part.tag is not None:
            out.append(str(part.tag))
    return out
