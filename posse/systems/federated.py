"""Federated elimination with differential privacy (Li and Song 2022) and its baseline."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from agent.federated import CdpAgent, DdpAgent, Exchange, HdpAgent, LoneEliminator
from agent.gis import Gis
from agent.masking import SumMasker, private_key
from agent.push import Flooding, Gossip
from agent.sac import Relay
from agent.shared import SharedNoiseAgent
from coordinator.federated import CdpServer, HdpServer
from coordinator.shared import SharedNoiseServer
from posse.errors import SpecError
from posse.results.federated import FEDERATED
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.spec.topology import require_connected
from posse.systems.base import Field, System, UnitInterval
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.network import Network, along
from posse.systems.shapes import (
    AgentRole,
    Alone,
    Mesh,
    MeshWithServer,
    ServerRole,
    Star,
    Wiring,
)
from posse.theory.bounds import (
    UNKNOWN_MEANS,
    Bound,
    elimination_regret,
    elimination_rounds,
    mean_gaps,
    positive,
    run_gaps,
)
from protocol.federated import (
    Active,
    Adv,
    CdpParameters,
    Data,
    DdpParameters,
    FederatedParameters,
    HdpParameters,
    Hop,
    Means,
    Quiet,
    Req,
    Schedule,
    SingleParameters,
    SinkMeans,
    Variant,
    uploaders,
)
from protocol.machine import AgentMachine, ServerMachine
from protocol.masking import MAX_WORDS, WORD_BITS, Keys, Masked, PublicKey, Unmask, Unmasked
from protocol.privacy import Claim
from protocol.shared import LEAST_SHARE, SharedNoise, SharedSchedule
from topologies.sinks import find_sinks

PAPER = "Li and Song 2022"


def _schedule(parameters: SingleParameters, agents: int, arms: int) -> Schedule:
    p = parameters
    senders, noise, max_rounds, gap = 1, "printed", None, None
    if isinstance(p, FederatedParameters):
        senders, noise = agents, p.noise
        max_rounds, gap = p.max_rounds, p.gap
    if isinstance(p, CdpParameters):
        senders = uploaders(agents, p.participation)
    given: dict[str, Any] = {
        "arms": arms,
        "senders": senders,
        "horizon": p.horizon,
        "epsilon": p.epsilon,
        "max_rounds": max_rounds,
        "gap": gap,
    }
    if isinstance(p, CdpParameters) and noise == "shared":
        return SharedSchedule(_shared(p, agents).total, **given)
    return Schedule(noise="per_agent" if noise == "per_agent" else "printed", **given)


def _shared(parameters: CdpParameters, agents: int) -> SharedNoise:
    p = parameters
    return SharedNoise(agents, p.epsilon, p.delta_prime, p.honest, p.precision)


def _check_rounds(spec: RunSpec, parameters: FederatedParameters) -> None:
    if parameters.max_rounds is not None and parameters.gap is None:
        raise SpecError(
            "parameters.gap",
            "is required with max_rounds: the R-round form aims at gap^(r/R) in round r; give the "
            "smallest gap between the best arm and another",
        )
    if parameters.gap is not None and parameters.max_rounds is None:
        raise SpecError("parameters.max_rounds", "is required with gap; or delete gap")


def _check_cdp(spec: RunSpec, parameters: CdpParameters) -> None:
    _check_rounds(spec, parameters)
    if parameters.noise == "shared":
        _check_shared(spec, parameters)


def _check_shared(spec: RunSpec, parameters: CdpParameters) -> None:
    p, agents, arms = parameters, spec.agents.count, spec.arms.arm_count()
    shared = _shared(p, agents)
    if p.participation < 1:
        raise SpecError(
            "parameters.participation",
            f"is {p.participation:g}, but shared noise is enough only if all agents add theirs in "
            "every round; delete it",
        )
    if agents < 2:
        raise SpecError("agents.count", "is 1: noise is shared among at least two agents")
    if arms > MAX_WORDS:
        raise SpecError("arms", f"are {arms}: a masked report holds at most {MAX_WORDS} sums")
    if shared.share < LEAST_SHARE:
        raise SpecError(
            "parameters.precision",
            f"is {p.precision}: a share of the noise has a deviation of {shared.share:.3g} words "
            f"and needs {LEAST_SHARE:g}; take more bits",
        )
    if not shared.fits(p.horizon):
        raise SpecError(
            "parameters.precision",
            f"is {p.precision}: the sum over {agents} agents of {p.horizon} rewards does not fit "
            f"into {WORD_BITS} bits; take fewer",
        )
    if spec.mode == "field" and importlib.util.find_spec("opendp") is None:
        raise SpecError(
            "parameters.noise",
            "is 'shared', whose noise is OpenDP's in the field; run: pip install \"posse[shared]\"",
        )


def _lone(context: AgentContext) -> AgentMachine:
    schedule = _schedule(context.parameters, 1, context.arms)
    return LoneEliminator(context.arms, schedule, context.noise)


def _cdp(context: AgentContext) -> AgentMachine:
    p: CdpParameters = context.parameters
    schedule = _schedule(p, context.agents, context.arms)
    if p.noise == "shared":
        # a source that lacks is found out here, before a reward is used
        context.noise.discrete_gaussian(np.zeros(1, dtype=np.int64), LEAST_SHARE)
        private = private_key(context.secret(Purpose.PROTOCOL))
        return SharedNoiseAgent(
            context.arms,
            schedule,
            context.noise,
            masker=SumMasker(context.rank, context.agents, private),
            shared=_shared(p, context.agents),
        )
    partial = schedule.senders < context.agents
    return CdpAgent(context.arms, schedule, context.noise, partial=partial)


def _ddp(context: AgentContext) -> AgentMachine:
    p: DdpParameters = context.parameters
    where = (context.rank, context.agents, context.neighbours, context.knowledge["diameter"])
    exchange: Exchange
    match p.exchange:
        case "gis":
            exchange = Gis(*where)
        case "flooding":
            exchange = Flooding(*where)
        case _:
            exchange = Gossip(*where, choice=context.generator(Purpose.PROTOCOL))
    return DdpAgent(
        context.arms,
        _schedule(p, context.agents, context.arms),
        context.noise,
        exchange,
        p.t_delay,
        agents=context.agents,
        variant=context.variant,
    )


def _hdp(context: AgentContext) -> AgentMachine:
    p: HdpParameters = context.parameters
    told = context.knowledge
    exchange = Relay(
        context.rank,
        context.agents,
        told["towards"],
        {int(child): slots for child, slots in told["children"]},
        told["slots"],
    )
    return HdpAgent(
        context.arms,
        _schedule(p, context.agents, context.arms),
        context.noise,
        exchange,
        p.t_delay,
        component=tuple(told["component"]),
        rank=context.rank,
    )


def _cdp_server(context: CoordinatorContext) -> ServerMachine:
    p: CdpParameters = context.parameters
    schedule = _schedule(p, context.agents, context.arms)
    if p.noise == "shared":
        shared = _shared(p, context.agents)
        return SharedNoiseServer(context.arms, context.agents, schedule, shared=shared)
    return CdpServer(
        context.arms,
        context.agents,
        schedule,
        choice=context.generator(Purpose.PROTOCOL),
    )


def _hdp_server(context: CoordinatorContext) -> ServerMachine:
    sizes: list[tuple[int, int]] = context.knowledge["sinks"]
    if context.variant == "corrected":
        weights = {sink: size / context.agents for sink, size in sizes}
    else:
        weights = {sink: 1 / len(sizes) for sink, _ in sizes}
    schedule = _schedule(context.parameters, context.agents, context.arms)
    return HdpServer(context.arms, context.agents, schedule, weights=weights)


def _ddp_network(spec: RunSpec, parameters: DdpParameters, run: int) -> Network:
    graph = spec.graph(run)
    require_connected(graph)
    told: list[dict[str, Any]] = [{"diameter": graph.diameter} for _ in range(graph.agents)]
    return along(graph, told)


def _hdp_network(spec: RunSpec, parameters: HdpParameters, run: int) -> Network:
    """Every agent is told its next hop, its children and how long each has something to send.

    A sink is told its component, the server the sinks and how many agents each speaks for.
    """
    graph = spec.graph(run)
    sinks = find_sinks(graph)
    sends = [1] * graph.agents
    children: list[list[int]] = [[] for _ in range(graph.agents)]
    for i in sorted(range(graph.agents), key=lambda i: -sinks.distance[i]):
        parent = sinks.towards[i]
        if parent is not None:
            children[parent].append(i)
            sends[parent] = max(sends[parent], sends[i] + 1)
    total = max(sinks.eccentricity)
    component_of = dict(zip(sinks.sink, graph.components, strict=True))
    told: list[dict[str, Any]] = [
        {
            "towards": sinks.towards[i],
            "children": [(child, sends[child]) for child in sorted(children[i])],
            "slots": total,
            "component": component_of.get(i, ()),
        }
        for i in range(graph.agents)
    ]
    server = {"sinks": [(sink, len(component_of[sink])) for sink in sinks.sink]}
    return along(graph, told, server, {"sinks": list(sinks.sink)})


def _delay(spec: RunSpec, parameters: SingleParameters, run: int) -> int:
    """The slots of each round in which nothing is explored."""
    if not isinstance(parameters, DdpParameters | HdpParameters):
        return 0
    graph = spec.graph(run)
    if isinstance(parameters, DdpParameters):
        longest = graph.diameter
    else:
        longest = max(find_sinks(graph).eccentricity)
    return max(0, longest - (parameters.t_delay == "diameter-1"))


def _bound(spec: RunSpec, parameters: SingleParameters, run: int) -> Bound:
    """The proof's sum over the arms, with the schedule's own S(r)."""
    p, agents, arms = parameters, spec.agents.count, spec.arms.arm_count()
    gaps, rows = mean_gaps(spec, run), run_gaps(spec, run)
    if gaps is None or rows is None:
        return UNKNOWN_MEANS
    if not isinstance(p, FederatedParameters) and (rows != rows[0]).any():
        return Bound(
            note="No bound is drawn: alone an agent goes to its own best arm, so that its regret "
            "against the average means grows for ever."
        )
    if isinstance(p, DdpParameters) and p.exchange == "gossip":
        return Bound(note="No bound is drawn: gossip has no fixed delay.")
    schedule = _schedule(p, agents if isinstance(p, FederatedParameters) else 1, arms)
    notes = ["The proof's sum over the arms, with this run's S(r), on the event E_R; not its O(.)."]
    if schedule.senders < agents and (rows != rows[0]).any():
        notes.append("It does not hold here: agents differ, and those that upload are a sample.")
    elif isinstance(p, FederatedParameters) and (least := positive(gaps)).size:
        p_r = schedule.logs(elimination_rounds(float(least.min())), arms)[1]
        if p_r >= schedule.senders and not isinstance(schedule, SharedSchedule):
            notes.append(
                f"That E_R is likely is proved where P_r = log(8 K r² T) < M (Fact 2); here it is "
                f"{p_r:.1f}, and M = {schedule.senders}."
            )
    return Bound(
        label="theory, on the event E_R",
        regret=lambda t: elimination_regret(
            gaps, t, schedule, agents=agents, delay=_delay(spec, p, run)
        ),
        note=" ".join(notes),
    )


_WHO = "whoever reads all messages of all agents"


def _agents_claim(parameters: FederatedParameters, variant: Variant) -> Claim:
    p = parameters
    if isinstance(p, CdpParameters) and p.noise == "shared":
        return Claim(
            mechanism="discrete-gaussian",
            epsilon=p.epsilon,
            delta=p.delta_prime,
            unit="one reward of one agent",
            adversary="the server, which follows the protocol, together with all agents but a "
            f"share of {p.honest:g}",
            note="It reads sums over all agents alone. An agent that drops out leaves the round "
            "without a sum, never with less noise. The server passes on the public keys, and is "
            "trusted not to replace them.",
        )
    if parameters.noise == "per_agent":
        note = "Of one agent's messages; rewards of different agents are disjoint."
        return Claim(mechanism="laplace", epsilon=parameters.epsilon, adversary=_WHO, note=note)
    note = (
        "M ε for one agent's messages (M agents that upload in a round; the number is in "
        "spent_per_agent), not ε: the printed noise is Lap(1/(M ε d))."
    )
    return Claim(mechanism="laplace", epsilon=None, adversary=_WHO, note=note)


def _lone_claim(parameters: SingleParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="laplace",
        epsilon=parameters.epsilon,
        adversary="whoever sees the agent's pulls; it sends nothing",
    )


SYSTEMS = {
    system.name: system
    for system in (
        System(
            name="cdp-mab",
            title="private elimination with a server; partial participation",
            paper=f"{PAPER}, Algorithm 1",
            parameters=CdpParameters,
            clocks=("slots",),
            shape=Star(
                AgentRole(_cdp, (Active, Keys, Unmask)),
                ServerRole(_cdp_server, (Means, PublicKey, Masked, Unmasked)),
            ),
            field=Field(),
            claim=_agents_claim,
            unit_interval=UnitInterval(),
            one_form=True,
            check=_check_cdp,
            bound=_bound,
            results=FEDERATED,
        ),
        System(
            name="ddp-mab",
            title="private elimination over a network without a server",
            paper=f"{PAPER}, Algorithm 3",
            parameters=DdpParameters,
            clocks=("slots",),
            shape=Mesh(AgentRole(_ddp, (Adv, Req, Data, Quiet)), Wiring(_ddp_network)),
            field=Field(),
            claim=_agents_claim,
            unit_interval=UnitInterval(),
            check=_check_rounds,
            bound=_bound,
            results=FEDERATED,
        ),
        System(
            name="hdp-mab",
            title="private elimination over components whose sinks talk to a server",
            paper=f"{PAPER}, Algorithm 5",
            parameters=HdpParameters,
            clocks=("slots",),
            shape=MeshWithServer(
                AgentRole(_hdp, (Active, Hop)),
                Wiring(_hdp_network, components=True),
                ServerRole(_hdp_server, (SinkMeans,)),
            ),
            field=Field(),
            claim=_agents_claim,
            unit_interval=UnitInterval(),
            check=_check_rounds,
            bound=_bound,
            results=FEDERATED,
        ),
        System(
            name="single-mab",
            title="baseline: private elimination, every agent alone",
            paper=f"{PAPER}, section VII-A",
            parameters=SingleParameters,
            clocks=("slots",),
            shape=Alone(_lone),
            field=Field(),
            claim=_lone_claim,
            unit_interval=UnitInterval(),
            one_form=True,
            bound=_bound,
            results=FEDERATED,
        ),
    )
}
