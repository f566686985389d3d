"""Yesterday's names for today's modules, in the processes of attack scripts alone.

The scripts were written against older versions of posse. What was only moved or renamed since is
found here under its old name, so that a script attacks today's code; `tests.attacks` puts this
folder on `PYTHONPATH`, and Python imports this module when it starts.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

ROOMS = ("agent", "coordinator", "protocol", "topologies")
"""Were packages beside posse, and are links in it."""

MOVED = {
    "agent.anonymous": "posse_systems.esfandiari2022.agent",
    "agent.noise": "posse.protocol.noise",
    "posse.agent.exchange": "posse_systems.li2022.exchange",
    "posse.agent.noise": "posse.protocol.noise",
    "posse.agent.shared": "posse_systems.li2022.shared_agent",
    "posse.engines.agents": "posse.agent",
    "posse.engines.agents.guard": "posse.agent.guard",
    "posse.engines.agents.joining": "posse.agent.joining",
    "posse.engines.agents.own_run": "posse.agent.own_run",
    "posse.engines.base": "posse.coordinator.setups",
    "posse.engines.coordinator": "posse.coordinator",
    "posse.engines.coordinator.lobby": "posse.coordinator.lobby",
    "posse.engines.coordinator.roster": "posse.coordinator.roster",
    "posse.engines.effects": "posse.hosts.effects",
    "posse.engines.links": "posse.agent.one_to_all",
    "posse.engines.sources": "posse.wire.sources",
    "posse.hosts.agent": "posse.agent.host",
    "posse.hosts.agent_run": "posse.agent.run",
    "posse.hosts.agreement": "posse.coordinator.agreement",
    "posse.hosts.coordinator": "posse.coordinator.host",
    "posse.operate.status": "posse.hosts.status",
    "posse.protocol.federated": "posse_systems.li2022.messages",
    "posse.protocol.shared": "posse_systems.li2022.shared",
    "protocol.anonymous": "posse_systems.esfandiari2022.messages",
    "protocol.cooperative": "posse_systems.dubey2020.messages",
    "protocol.federated": "posse_systems.li2022.messages",
    "protocol.keystream": "posse.protocol.masking",
    "protocol.mase": "posse_systems.rio2023.messages",
    "protocol.shared": "posse_systems.li2022.shared",
}
"""By its old name, where a module is now."""


_LISTS = ("outbox", "left", "linked", "complaints")
_EVENTS = ("begin", "fire", "hear", "lose", "ready", "receive", "say", "step")


def _outboxes() -> None:
    """Hosts kept what they send, and who left, until it was fetched; they return effects now."""
    from posse.agent.host import AgentHost  # noqa: PLC0415
    from posse.coordinator.host import CoordinatorHost  # noqa: PLC0415
    from posse.hosts.effects import AgentLeft, SendFrame  # noqa: PLC0415

    def kept(host: Any) -> dict[str, Any]:
        lists: dict[str, Any] = {name: [] for name in _LISTS}
        made: dict[str, Any] = host.__dict__.setdefault("_kept", {"within": 0, **lists})
        return made

    def of_name(name: str) -> property:
        return property(lambda host: kept(host)[name])

    def keeping(act: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        def acts(host: Any, *given: Any, **named: Any) -> Sequence[Any]:
            lists = kept(host)
            lists["within"] += 1
            try:
                effects = act(host, *given, **named)
            finally:
                lists["within"] -= 1
            for effect in effects if not lists["within"] else ():
                if isinstance(effect, SendFrame):
                    lists["outbox"].append((effect.target, effect.frame))
                elif isinstance(effect, AgentLeft):
                    lists["left"].append((effect.rank, effect.why, False))
            return effects

        return acts

    for of in (AgentHost, CoordinatorHost):
        if "outbox" in vars(of):
            continue
        for name in _LISTS:
            setattr(of, name, of_name(name))
        for name in _EVENTS:
            if name in vars(of):
                setattr(of, name, keeping(vars(of)[name]))


def _names(of: str) -> dict[str, Any]:
    """What else a module had under its old name."""
    if of in ("posse.hosts.agent", "posse.hosts.coordinator"):
        _outboxes()
    if of == "posse.security.zap":
        return {"Verdict": importlib.import_module("posse.security.zap").ZapStatus}
    return {}


class Found(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds old names."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name not in MOVED and name.partition(".")[0] not in ROOMS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        real = importlib.import_module(MOVED.get(name, f"posse.{name}"))
        module.__dict__.update({k: v for k, v in vars(real).items() if not k.startswith("__")})
        module.__dict__.update(_names(name))
        module.__getattr__ = lambda attribute: getattr(real, attribute)  # type: ignore[method-assign]


sys.meta_path.insert(0, Found())
