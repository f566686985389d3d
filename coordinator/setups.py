"""What a coordinator tells each agent of a run, and who watches it."""

from collections.abc import Callable, Mapping

import msgspec

from posse.coordinator.host import CoordinatorHost
from posse.hosts.agent_setup import AgentSetup, setup_of
from posse.plan import Plan
from posse.system.network import Network

Observer = Callable[[CoordinatorHost], None]

Way = Callable[[int, int, str], str]
"""Maps (rank, peer's rank, peer's address) to the address that the first is told."""


def straight(who: int, whom: int, address: str) -> str:
    """The peer's own address: no relay between the two ends."""
    return address


def agent_setups(
    plan: Plan,
    network: Network,
    inboxes: dict[int, str] | None = None,
    keys: Mapping[int, str] | None = None,
    way: Way = straight,
    name: bytes = b"",
    nonces: tuple[bytes, ...] = (),
) -> list[AgentSetup]:
    """Each agent's configuration, by rank; `name` and `nonces` give the run's name."""
    rates = plan.spec.agents.activity.rates(plan.spec.agents.count)
    return [
        msgspec.structs.replace(
            setup_of(plan, network, rank, rates),
            inboxes={n: way(rank, n, inboxes[n]) for n in near} if inboxes else {},
            keys={n: keys[n] for n in near} if keys else {},
            name=name,
            nonces=nonces,
        )
        for rank, near in enumerate(network.neighbours)
    ]


def silent(observer: CoordinatorHost) -> None:
    """Observe nothing."""
