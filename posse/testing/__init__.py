"""Tests of protocols from outside: real processes and links, and control over each of them.

    from posse.testing import COORDINATOR, ControlledCluster

`ControlledCluster` runs a specification. A test can kill and pause its agents; cut, delay and thin
out its links; and read the frames that crossed them. A `HostedCluster`'s coordinator is a process
of its own, which can be killed, too. `simulate` tries a specification under thousands of drawn
faults, in virtual time; `nemesis` lets the same happen to a cluster. With pytest the fixture
`posse_cluster` makes one; asynchronous tests need pytest-asyncio. Extra: `testing`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posse.durable.frames import COORDINATOR, Frame
    from posse.testing.cluster import ControlledCluster
    from posse.testing.hosts import HostedCluster
    from posse.testing.real_faults import nemesis
    from posse.testing.simulator.many import simulate

__all__ = ["COORDINATOR", "ControlledCluster", "Frame", "HostedCluster", "nemesis", "simulate"]

_MODULES = {"simulate": "simulator.many", "nemesis": "real_faults", "HostedCluster": "hosts"}


def __getattr__(name: str) -> Any:
    # on first use: pytest loads the plugin in every session, and must not load numpy and ZeroMQ
    import importlib  # noqa: PLC0415

    if name == "Cluster":  # its name in 0.1
        name = "ControlledCluster"
    if name not in __all__:
        raise AttributeError(f"module 'posse.testing' has no attribute '{name}'")
    if name in ("COORDINATOR", "Frame"):
        return getattr(importlib.import_module("posse.durable.frames"), name)
    module = _MODULES.get(name, "cluster")
    return getattr(importlib.import_module(f"posse.testing.{module}"), name)
