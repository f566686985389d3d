"""What the engines share."""

from collections.abc import Callable

from posse.agent_host import AgentSetup
from posse.coordinator_host import CoordinatorHost
from posse.record import RunRecord
from posse.spec import RunSpec
from posse.systems.base import Network

Observer = Callable[[CoordinatorHost], None]


def agent_setups(
    spec: RunSpec, network: Network, inboxes: dict[int, str] | None = None
) -> list[AgentSetup]:
    """What each agent is told."""
    untold = spec.definition().untold
    parameters = {name: p for name, p in spec.parameters.items() if name not in untold}
    arms = spec.arms.arm_count() if spec.definition().shared_arms else spec.arms
    rates = spec.agents.activity.rates(spec.agents.count)
    return [
        AgentSetup(
            system=spec.system,
            variant=spec.variant,
            parameters=parameters,
            agents=spec.agents.count,
            arms=arms,
            rate=float(rates[rank]),
            clock=spec.clock(),
            base=spec.base,
            neighbours=network.neighbours[rank],
            inboxes={n: inboxes[n] for n in network.neighbours[rank]} if inboxes else {},
            knowledge=network.knowledge[rank],
        )
        for rank in range(spec.agents.count)
    ]


def silent(observer: CoordinatorHost) -> None:
    """Observe nothing."""


__all__ = ["Observer", "RunRecord", "agent_setups", "silent"]
