"""The run file as plain data: what may stand in it, whatever the system."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from posse.arms import ArmsSpec
from posse.errors import SpecError
from posse.spec.activity import ActivitySpec
from posse.spec.privacy import PrivacySpec
from posse.spec.topology import TopologySpec, lay_out
from topologies.graphs import Graph

Clock = Literal["virtual", "slots", "wall"]
Mode = Literal["lab", "field"]
Variant = Literal["corrected", "printed"]


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
    absence: Annotated[
        float, Meta(gt=0, description="seconds an agent whose connection is lost may be away")
    ] = 120.0
    inboxes: Annotated[
        tuple[str, ...],
        Meta(description="networks where agents' inboxes may be besides their own hosts"),
    ] = ()


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run file's tables, each right by itself; `posse.plan` checks them against the system.

    `path`: folders that a system of the user's own, `system = "module:NAME"`, is imported from.
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
    repeat: Annotated[int, Meta(ge=1)] = 1
    engine: EngineSpec = EngineSpec()
    privacy: PrivacySpec = PrivacySpec()
    base: str = "."

    def graph(self, run: int) -> Graph:
        """Who is linked to whom in run `run`; `SpecError` if the run file does not say."""
        if self.topology is None:
            raise SpecError(
                "topology", f'{self.system} needs one; add the table, e.g. kind = "ring"'
            )
        return lay_out(self.topology, self.agents.count, self.seed, run, self.base)


def read(path: str | Path, overrides: list[str] | None = None) -> dict[str, Any]:
    """A run file as plain data, not yet checked; `overrides` are "path=value"."""
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
