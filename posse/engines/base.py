"""What the engines share."""

from collections.abc import Callable, Sequence

from posse.hosts.agent_setup import AgentSetup
from posse.hosts.coordinator import CoordinatorHost
from posse.plan import Plan
from posse.systems.network import Network

Observer = Callable[[CoordinatorHost], None]

Tap = Callable[[int | None, int | None, bytes], object]
"""Hears every frame that is handed to a link, just before it is: who sends, to whom, and what.

Ends are ranks or `COORDINATOR`, None for who has no rank yet."""


Way = Callable[[int, int, str], str]
"""The address that the first of two is told for the second, who is reached at the one given."""


def straight(who: int, whom: int, address: str) -> str:
    """Nothing stands between the two ends of a link."""
    return address


def agent_setups(
    plan: Plan,
    network: Network,
    inboxes: dict[int, str] | None = None,
    keys: Sequence[str] = (),
    way: Way = straight,
    name: bytes = b"",
) -> list[AgentSetup]:
    """What each agent is told; `name` is the run's."""
    spec, untold = plan.spec, plan.system.untold
    parameters = {name: p for name, p in spec.parameters.items() if name not in untold}
    arms = spec.arms.arm_count() if plan.system.shares_arms else spec.arms
    rates = spec.agents.activity.rates(spec.agents.count)
    return [
        AgentSetup(
            system=spec.system,
            variant=spec.variant,
            parameters=parameters,
            agents=spec.agents.count,
            arms=arms,
            rate=float(rates[rank]),
            clock=plan.clock,
            base=spec.base,
            neighbours=network.neighbours[rank],
            inboxes={n: way(rank, n, inboxes[n]) for n in network.neighbours[rank]}
            if inboxes
            else {},
            keys={n: keys[n] for n in network.neighbours[rank]} if keys else {},
            mode=spec.mode,
            knowledge=network.knowledge[rank],
            privacy=spec.privacy,
            name=name,
            sign=spec.engine.sign,
            durable=spec.engine.durable or spec.engine.restarts > 0,
        )
        for rank in range(spec.agents.count)
    ]


def silent(observer: CoordinatorHost) -> None:
    """Observe nothing."""
