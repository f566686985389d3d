"""What a coordinator tells each agent of a run, and who watches it."""

from collections.abc import Callable, Sequence

from posse.coordinator.host import CoordinatorHost
from posse.hosts.agent_setup import AgentSetup
from posse.plan import Plan
from posse.system.network import Network

_ALIVE_EVERY = 5.0
"""Most seconds between two signs of life of an agent that acts."""

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
    keys: Sequence[str] = (),
    way: Way = straight,
    name: bytes = b"",
    nonces: tuple[bytes, ...] = (),
) -> list[AgentSetup]:
    """Each agent's configuration, by rank; `name` and `nonces` give the run's name."""
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
            nonces=nonces,
            sign=spec.engine.sign,
            durable=spec.engine.durable or spec.engine.restarts > 0,
            alive=min(_ALIVE_EVERY, spec.engine.deadline / 4),
        )
        for rank in range(spec.agents.count)
    ]


def silent(observer: CoordinatorHost) -> None:
    """Observe nothing."""
