"""Masked sums in which one agent is lost, as it may be, and another lies about who is left."""

from typing import Any

import msgspec
import pytest

from posse.engines import memory
from posse.errors import RunFailed
from posse.plan import Plan, prepare
from posse.protocol.machine import COORDINATOR
from posse.protocol.wire import HEADER

LIAR, LOST = 0, 3

SUMS: dict[str, dict[str, Any]] = {
    "cdp-mab": {"epsilon": 5.0, "horizon": 4000, "noise": "shared", "honest": 0.8},
    "anonymous": {"horizon": 1500, "group_size": 5},
}


def plan(system: str) -> Plan:
    return prepare(
        {
            "system": system,
            "seed": 1,
            "agents": {"count": 7},
            "arms": {"kind": "bernoulli", "means": [0.95, 0.5, 0.3]},
            "parameters": SUMS[system] | {"dropouts": 1},
            "engine": {"on_missing": "continue"},
        }
    )


@pytest.mark.parametrize("system", SUMS)
@pytest.mark.parametrize(
    ("tag", "named"),
    [(b"\xff", f"refused what agent {LIAR} sent: not-settled"), (b"\0", "agent 0 sent: no-tag")],
)
def test_who_lies_about_the_survivors_is_named(system: str, tag: bytes, named: str) -> None:
    """The others reveal nothing then; that they wait is not their fault."""
    lost: list[int] = []

    def meddle(host: Any, source: int, target: int, frame: bytes) -> Any:
        said = msgspec.msgpack.decode(frame[HEADER.size :])
        effects = ()
        if said[0] == "Settle" and not lost:
            lost.append(LOST)
            effects = host.lose(LOST)
        if source == LIAR and target == COORDINATOR and said[0] == "Settled":
            lie = ["Settled", said[1], tag * len(said[2])]
            frame = frame[: HEADER.size] + msgspec.msgpack.encode(lie)
        return frame, effects

    with pytest.raises(RunFailed, match=named):
        memory.run(plan(system), 0, meddle=meddle)
    assert lost
