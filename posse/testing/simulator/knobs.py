"""Constants of posse's own code that a seed may turn, as FoundationDB's "buggify" does.

They say how long something waits, and how much is done at once. No result may depend on them, so a
run with others must end as one with their own.
"""

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, get_args

from posse.testing.simulator.faults import InjectedFault, TrialSetting

KNOBS: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "posse.agent.guard._LONGEST_WAIT": (0.5, 30.0),
        "posse.agent.host._KEPT": (1, 2),
        "posse.agent.joining._REPEAT": (0.3, 6.0),
        "posse.agent.joining._ROUND_TRIPS": (3, 15),
        "posse.agent.mesh.MOST_AT_ONCE": (1, 2, 7),
        "posse.agent.process._LISTEN_EVERY": (1, 5),
        "posse.agent.process._LISTEN_SECONDS": (0.001, 1.0),
        "posse.agent.process._LOOK_UP_MS": (1, 200),
        "posse.agent.process._PATIENCE": (0.01, 0.5),
        "posse.agent.uplink._LOOK_MS": (5, 500),
        "posse.agent.uplink._LONGEST_WAIT": (0.3, 5.0),
        "posse.clocks.immediate.SAY_EVERY": (1, 7),
        "posse.clocks.immediate._SAY_SECONDS": (0.5, 8.0),
        "posse.coordinator.hub._FAREWELL": (2.0, 9.0),
        "posse.coordinator.lobby.CATCH_UP": (0.1, 3.0),
        "posse.coordinator.patience._CALL_AGAIN": (0.2, 3.0),
        "posse.durable.checkpoint.EVERY": (0.0, 0.02),
        "posse.durable.checkpoint._SHARE": (1, 2),
        "posse.wire.again._FIRST": (0.02, 1.0),
        "posse.wire.session.CALM": (1, 4_096),
        "posse.wire.session.CONFIRM_EVERY": (1, 2, 500),
        "posse.wire.session.LATE": (2, 40),
        "posse.wire.session.SMALL": (0, 1 << 20),
        "posse.wire.session.SOON": (1, 5),
        "posse.wire.session.SOON_AFTER": (1, 100),
        "posse.wire.sockets.PROBE_EVERY": (0.02, 0.3),
    }
)
"""What each may be instead, by module and name."""

_TURNED = 0.25
"""How many seeds have some turned."""
_MOST = 4


_KEYED_FORWARDED = 0.4
"""How many seeds with keys have agents that accept no connections."""


def draw_forwarded(seed: int, agents: int) -> list[InjectedFault]:
    """Those who accept no connections, of a seed with keys whose agents have neighbours."""
    chance = random.Random(f"forwarded {seed}")
    if chance.random() >= _KEYED_FORWARDED:
        return []
    some = chance.sample(range(agents), chance.randint(1, agents))
    return [InjectedFault(what="forwarded", after=0, ends=tuple(sorted(some)))]


def draw_knobs(seed: int) -> list[InjectedFault]:
    """Those that a seed turns, and to what."""
    chance = random.Random(f"knobs {seed}")
    if chance.random() >= _TURNED:
        return []
    names = chance.sample(sorted(KNOBS), chance.randint(1, _MOST))
    return [
        InjectedFault(what="knob", after=0, ends=(), knob=name, amount=chance.choice(KNOBS[name]))
        for name in names
    ]


def split(
    faults: Sequence[InjectedFault] | None,
) -> tuple[list[InjectedFault], list[InjectedFault] | None]:
    """What of a trial's faults are settings of it, and what are faults."""
    if faults is None:
        return [], None
    settings = get_args(TrialSetting)
    return [f for f in faults if f.what in settings], [f for f in faults if f.what not in settings]


@contextmanager
def turned(knobs: Sequence[InjectedFault]) -> Iterator[None]:
    """Within, these constants have other values, wherever they were imported to."""
    before: list[tuple[Any, str, Any]] = []
    for knob in (setting for setting in knobs if setting.knob):
        where, _, name = knob.knob.rpartition(".")
        own = vars(sys.modules[where])[name]
        for module in [m for at, m in sys.modules.items() if at.startswith("posse.")]:
            if vars(module).get(name) is own and (module.__name__ == where or name[0] != "_"):
                before.append((module, name, own))
                setattr(module, name, int(knob.amount) if isinstance(own, int) else knob.amount)
    try:
        yield
    finally:
        for module, name, own in reversed(before):
            setattr(module, name, own)
