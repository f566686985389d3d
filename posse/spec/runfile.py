"""The run file as plain data, independent of its system."""

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from posse.arms import ArmsSpec
from posse.errors import InputError, SpecError
from posse.gates import files
from posse.gates.decode import Undecodable, from_toml
from posse.gates.shown import printable
from posse.protocol.bounds import MOST_AGENTS
from posse.protocol.machine import OnMissing, Variant
from posse.spec.activity import ActivitySpec
from posse.spec.network import IDEAL, Conditions, NetworkSpec
from posse.spec.privacy import PrivacySpec
from posse.spec.topology import TopologySpec, lay_out
from posse.topologies.graphs import Graph

MOST_BYTES = 4 << 20
"""Largest size of a run file. One with means of 1,000 agents on 100 arms has half of that."""

_SHOWN = 5
"""Files of a folder named in a sentence."""

Clock = Literal["virtual", "slots", "wall"]
Mode = Literal["lab", "field"]
Seconds = Annotated[float, Meta(ge=0.01, le=1e9)]


class AgentsSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[agents]`: how many agents there are, and how active each is."""

    count: Annotated[int, Meta(ge=1, le=MOST_AGENTS)]
    activity: ActivitySpec = ActivitySpec()


class EngineSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[engine]`: where agents run, over what, by which clock, and how long silence may last."""

    kind: Literal["processes", "memory"] = "processes"
    transport: Literal["ipc", "tcp"] = "ipc"
    clock: Clock | None = None
    deadline: Annotated[
        Seconds, Meta(description="seconds without any message that end the run")
    ] = 60.0
    joining: Annotated[
        Seconds, Meta(description="seconds in which another agent must join, until all have")
    ] = 600.0
    sign: Annotated[
        bool, Meta(description="in the lab too, sign what others pass on; in the field it is")
    ] = False
    absence: Annotated[
        Seconds, Meta(description="seconds an agent whose connection is lost may be away")
    ] = 120.0
    on_missing: Annotated[
        OnMissing | None,
        Meta(
            description="what follows when an agent does not come back in time: wait for it, "
            "continue without it, or end the run; by default what fits the system"
        ),
    ] = None
    durable: Annotated[
        bool, Meta(description="in the lab too, agents keep journals; in the field they do")
    ] = False
    restarts: Annotated[
        int,
        Meta(ge=0, le=1_000, description="how often a run starts each agent that is killed again"),
    ] = 0
    agents_per_process: Annotated[
        int,
        Meta(ge=1, le=1_000, description="how many agents of this machine share a process"),
    ] = 1
    inboxes: Annotated[
        tuple[str, ...],
        Meta(description="networks where agents' inboxes may be besides their own hosts"),
    ] = ()
    plain: Annotated[
        bool,
        Meta(description="in memory: run machines also where a system offers steps over arrays"),
    ] = False


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tables of a run file, each valid on its own; `posse.plan` checks them against the system.

    `path`: folders from which a system of the user's own, `system = "module:NAME"`, is imported.
    """

    system: str
    arms: ArmsSpec
    agents: AgentsSpec
    path: tuple[str, ...] = (".",)
    mode: Mode = "lab"
    parameters: dict[str, Any] = {}
    topology: TopologySpec | None = None
    variant: Variant = "corrected"
    seed: Annotated[int, Meta(ge=0)] = 0
    repeat: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    engine: EngineSpec = EngineSpec()
    privacy: PrivacySpec = PrivacySpec()
    network: NetworkSpec | None = None
    base: str = "."

    def conditions(self, run: int) -> Conditions:
        """What the link between two ranks has in run `run`, by `network`."""
        network = self.network
        if network is None:
            return lambda a, b: IDEAL
        edges = network.of_edges(self.graph(run)) if network.edges else {}
        return lambda a, b: network.conditions(self.agents.count, a, b, edges)

    def graph(self, run: int) -> Graph:
        """The graph of run `run`; `SpecError` if the run file has no topology."""
        if self.topology is None:
            raise SpecError(
                "topology", f'is required by {self.system}; add the table, e.g. kind = "ring"'
            )
        return lay_out(self.topology, self.agents.count, self.seed, run, self.base)


def _describe_folder(folder: Path) -> str:
    """What a folder that was given for a run file holds, and what can be done with it."""
    quoted = shlex.quote(str(folder))
    for file, what in (
        ("spec.toml", "of a run"),
        ("sweep.json", "of a sweep"),
        ("audit.json", "of an audit"),
    ):
        if (folder / file).is_file():
            return f" {what}; posse report {quoted} draws it"
    files = sorted(path.name for path in folder.glob("*.toml"))
    if not files:
        return "; name a run file (TOML)"
    more = ", …" if len(files) > _SHOWN else ""
    return f"; name one of its files: {', '.join(files[:_SHOWN])}{more}"


Override = str | tuple[str, Any]
"""A key and its value, as "path=value" or as a pair; "path=" deletes the key."""


def read(path: str | Path, overrides: Sequence[Override] = ()) -> dict[str, Any]:
    """Read a run file as plain data, without checking it."""
    try:
        text = files.read(Path(path), MOST_BYTES, pipes=True)
        raw = _read_toml(text.decode("utf-8-sig"))
    except IsADirectoryError:
        raise SpecError(str(path), f"is a folder{_describe_folder(Path(path))}") from None
    except OSError as error:
        raise SpecError(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SpecError(str(path), f"is not TOML: {error}") from None
    except TypeError:
        problem = (
            f"{path!r:.60} is not a run file; give its path, its content as a dict, or a RunSpec"
        )
        raise InputError(problem) from None
    base = str(Path(path).resolve().parent)
    try:
        base.encode()
    except UnicodeEncodeError:  # the folder appears in documents, which are UTF-8
        raise SpecError(printable(str(path)), "is in a folder whose name is not UTF-8") from None
    return override({"base": base} | raw, overrides)


def _read_toml(text: str) -> dict[str, Any]:
    """The content of a run file, in which `.5` and `5.` are numbers, too."""
    try:
        return from_toml(text)
    except Undecodable:
        with suppress(Undecodable):
            return from_toml(_BARE_POINT.sub(_complete, text))
        raise


def override(raw: dict[str, Any], overrides: Sequence[Override]) -> dict[str, Any]:
    """A copy with these keys changed."""
    copy = dict(raw)
    for override in overrides:
        key, value = _split(override) if isinstance(override, str) else override
        put(copy, key, value)
    copy.setdefault("base", raw["base"])
    return copy


def _split(override: str) -> tuple[str, Any]:
    """Key and value of "a.b=value"; the value of "a.b=" is None."""
    path, equals, text = override.partition("=")
    if not equals:
        raise SpecError("--set", f"'{override}' must have the form path=value")
    return path, parsed(text) if text.strip() else None


def parsed(text: str) -> Any:
    """The value as TOML reads it, otherwise as a string. `.5` and `5.` are numbers, too."""
    with suppress(Undecodable):
        return _read_toml(f"value = {text}")["value"]
    return text


_BARE_POINT = re.compile(
    r'''("""(?:\\[\s\S]|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|'''
    r"""'''[\s\S]*?'''|'[^'\n]*'|#[^\n]*)"""
    r"|(?<![\w.])([+-]?\d*)\.(\d*(?:[eE][+-]?\d+)?)(?![\w.])"
)
"""A text or comment, which stays as it is, or a number whose point may lack digits on one side."""


def _complete(match: re.Match[str]) -> str:
    """The number with a digit on both sides of its point, as TOML wants it."""
    quoted, before, after = match.groups()
    if quoted is not None or not any(map(str.isdigit, before + after[:1])):
        return match[0]
    before = before if before[-1:].isdigit() else f"{before}0"
    return f"{before}.{after if after[:1].isdigit() else f'0{after}'}"


def put(raw: dict[str, Any], path: str, value: Any) -> None:
    """Set the key "a.b" of plain data; None deletes it.

    Tables on the way are copied, because the caller may share them.
    """
    *parents, last = path.strip().split(".")
    table = raw
    for name in parents:
        below = table.get(name, {})
        if not isinstance(below, dict):
            raise SpecError(path, f"'{name}' is not a table")
        table[name] = dict(below)
        table = table[name]
    if value is None:
        table.pop(last, None)
    else:
        table[last] = value
