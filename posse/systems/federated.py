"""Federated elimination with differential privacy (Li and Song 2022) and its baseline."""

import importlib.util
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from posse.agent.exchange import Exchange
from posse.agent.federated import CdpAgent, DdpAgent, Eliminator, HdpAgent, LoneEliminator
from posse.agent.gis import Gis
from posse.agent.masking import SumMasker
from posse.agent.push import Flooding, Gossip
from posse.agent.sac import Relay
from posse.agent.shared import SharedNoiseAgent
from posse.arms import known_means
from posse.arms.base import RandomMeans
from posse.claims import federated as claims
from posse.coordinator.federated import CdpServer, HdpServer
from posse.coordinator.shared import SharedNoiseServer
from posse.errors import SpecError
from posse.protocol.federated import (
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
)
from posse.protocol.machine import AgentMachine, ServerMachine
from posse.protocol.masking import MAX_WORDS, WORD_BITS, Keys, Masked, PublicKey, Unmask, Unmasked
from posse.protocol.shared import LEAST_SHARE, noise_of, schedule_of
from posse.results.federated import FEDERATED
from posse.results.record import NetworkFacts
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.spec.topology import require_connected
from posse.systems.base import ALONE, Field, Loss, System, UnitInterval
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.network import Network, along
from posse.systems.shapes import AgentRole, Alone, Mesh, MeshWithServer, ServerRole, Star, Wiring
from posse.theory import federated as theory
from posse.theory.bounds import NoBoundError, mean_gaps, positive
from posse.topologies.graphs import Graph
from posse.topologies.sinks import find_sinks

PAPER = "Li and Song 2022"

PER_AGENT = Field(safer={"noise": "per_agent"})
"""In the field noise is `per_agent`: the printed Lap(1/(M ε d)) makes each message M ε-private."""


def _check_rounds(spec: RunSpec, parameters: FederatedParameters) -> None:
    if parameters.max_rounds is not None and parameters.gap is None:
        raise SpecError(
            "parameters.gap",
            "is required with max_rounds: the R-round form aims at gap^(r/R) in round r; give the "
            "smallest gap between the best arm and another",
        )
    if parameters.gap is not None and parameters.max_rounds is None:
        raise SpecError("parameters.max_rounds", "is required with gap; set it, or delete gap")


def _check_cdp(spec: RunSpec, parameters: CdpParameters) -> None:
    _check_rounds(spec, parameters)
    if parameters.noise != "shared":
        return
    p, agents, arms = parameters, spec.agents.count, spec.arms.arm_count()
    shared = noise_of(p, agents)
    if p.participation < 1:
        raise SpecError(
            "parameters.participation",
            f"is {p.participation:g}, but shared noise suffices only if all agents add theirs in "
            "every round; delete it",
        )
    if agents < 2:
        raise SpecError("agents.count", "is 1, but noise is shared among at least two agents")
    if arms > MAX_WORDS:
        raise SpecError("arms", f"are {arms}: a masked report holds at most {MAX_WORDS} sums")
    if shared.share < LEAST_SHARE:
        raise SpecError(
            "parameters.precision",
            f"is {p.precision}: a share of the noise has a deviation of {shared.share:.3g} words "
            f"and needs {LEAST_SHARE:g}; use more bits",
        )
    if not shared.fits(p.horizon):
        raise SpecError(
            "parameters.precision",
            f"is {p.precision}: the sum over {agents} agents of {p.horizon} rewards does not fit "
            f"into {WORD_BITS} bits; use fewer",
        )
    if spec.mode == "field" and importlib.util.find_spec("opendp") is None:
        raise SpecError(
            "parameters.noise",
            "is 'shared', which in the field needs OpenDP; run: pip install \"posse[shared]\"",
        )


def _schedule(context: AgentContext | CoordinatorContext) -> Schedule:
    return schedule_of(context.parameters, context.agents, context.arms)


def _lone(context: AgentContext) -> AgentMachine:
    return context.make(LoneEliminator, schedule=schedule_of(context.parameters, 1, context.arms))


def _cdp(context: AgentContext) -> AgentMachine:
    p: CdpParameters = context.parameters
    schedule = _schedule(context)
    if p.noise == "shared":
        # if the noise's library is missing, this fails before a reward is used
        context.noise.discrete_gaussian(np.zeros(1, dtype=np.int64), LEAST_SHARE)
        private = context.secret(Purpose.PROTOCOL)
        masker = SumMasker(context.rank, context.agents, private, context.signer)
        shared = noise_of(p, context.agents)
        return context.make(SharedNoiseAgent, schedule=schedule, masker=masker, shared=shared)
    return context.make(CdpAgent, schedule=schedule, partial=schedule.senders < context.agents)


def _over_a_graph(
    context: AgentContext, kind: type[Eliminator], exchange: Callable[..., Exchange], **given: Any
) -> AgentMachine:
    """An agent whose means travel by this exchange."""
    where = context.rank, context.agents, context.neighbours, context.knowledge
    return context.make(
        kind,
        schedule=_schedule(context),
        exchange=exchange(*where, signer=context.signer),
        t_delay=context.parameters.t_delay,
        plausible=context.field,
        **given,
    )


def _ddp(context: AgentContext) -> AgentMachine:
    p: DdpParameters = context.parameters
    if p.exchange == "gossip":
        return _over_a_graph(context, DdpAgent, partial(Gossip, choice=context.draws))
    return _over_a_graph(context, DdpAgent, Gis if p.exchange == "gis" else Flooding)


def _hdp(context: AgentContext) -> AgentMachine:
    return _over_a_graph(context, HdpAgent, Relay)


def _cdp_server(context: CoordinatorContext) -> ServerMachine:
    p: CdpParameters = context.parameters
    schedule, field = _schedule(context), context.field
    if p.noise == "shared":
        shared, signer = noise_of(p, context.agents), context.signer
        return context.make(SharedNoiseServer, schedule=schedule, shared=shared, signer=signer)
    return context.make(CdpServer, schedule=schedule, choice=context.draws, plausible=field)


def _hdp_server(context: CoordinatorContext) -> ServerMachine:
    schedule, sinks = _schedule(context), tuple(context.knowledge["sinks"])
    return context.make(HdpServer, schedule=schedule, sinks=sinks, plausible=context.field)


def _ddp_network(spec: RunSpec, parameters: DdpParameters, run: int) -> Network:
    graph = spec.graph(run)
    require_connected(graph)
    told: list[dict[str, Any]] = [{"diameter": graph.diameter} for _ in range(graph.agents)]
    return along(graph, told)


def _ddp_regroup(graph: Graph, present: Collection[int]) -> Network:
    """The network after a loss: each part of the graph goes on by itself."""
    told: list[dict[str, Any]] = []
    for of in graph.component_of:
        part = graph.components[of]
        told.append({"diameter": max(graph.eccentricities[i] for i in part), "members": part})
    return along(graph, told)


def _hdp_network(spec: RunSpec, parameters: HdpParameters, run: int) -> Network:
    """Links along the graph, with the routes to the sinks.

    Each agent is told its next hop, its children and for how many slots each child sends, a sink
    its component, the server the sinks and how many agents each speaks for.
    """
    return _towards_sinks(spec.graph(run))


def _hdp_regroup(graph: Graph, present: Collection[int]) -> Network:
    """The network after a loss: new sinks and routes; lost agents, now isolated, are no sinks."""
    network = _towards_sinks(graph)
    for told in network.knowledge:
        told["members"] = sorted(present)
    sinks = [(sink, size) for sink, size in network.server["sinks"] if sink in present]
    network.server["sinks"] = sinks
    return network


def _towards_sinks(graph: Graph) -> Network:
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
    return along(graph, told, server, NetworkFacts(sinks=list(sinks.sink)))


def _advise(spec: RunSpec, parameters: SingleParameters) -> list[str]:
    p, arms = parameters, spec.arms.arm_count()
    together = spec.agents.count if isinstance(p, FederatedParameters) else 1
    schedule = schedule_of(p, together, arms)
    if (slots := arms * schedule.observations(1, arms, 0)) > p.horizon:
        return [
            f"parameters.horizon = {p.horizon}: the first round alone takes {slots:,} slots, so "
            "that nothing is learned; use a longer horizon or a larger epsilon"
        ]
    if not isinstance(p, FederatedParameters):
        return []
    known = known_means(spec.arms)
    if known is not None and isinstance(known.means, RandomMeans):
        return []
    try:
        gaps = positive(mean_gaps(spec, 0))
    except NoBoundError:
        return []
    if not gaps.size or not theory.too_wide(p, float(gaps.min())):
        return []
    return [
        f"parameters.gap = {p.gap}: the smallest gap is {gaps.min():.4g}, so the R "
        "rounds end before the best arms are told apart; lower parameters.gap"
    ]


_system = partial(
    System,
    clocks=("slots",),
    unit_interval=UnitInterval(),
    bound=theory.elimination,
    advise=_advise,
    results=FEDERATED,
)
_FEWER = Loss(
    "From then on means were averaged over n agents that were there instead of M, and arms kept "
    "within C(r) sqrt(M/n): no arm left by less evidence than claimed. What each agent's messages "
    "cost is the same.",
    "continue",
    waits=True,
)
_REGROUPED = Loss(
    f"{_FEWER.effect} Of its means of a round that was under way twice were sent, alike, and after "
    "a loss the coordinator was told rounds, slots and arms left.",
    "continue",
)
_over_links = partial(_system, field=PER_AGENT, claim=claims.messages)

SYSTEMS = (
    _over_links(
        name="cdp-mab",
        title="private elimination with a server; partial participation",
        paper=f"{PAPER}, Algorithm 1",
        parameters=CdpParameters,
        shape=Star(
            AgentRole(_cdp, (Active, Keys, Unmask), signs=True),
            ServerRole(_cdp_server, (Means, PublicKey, Masked, Unmasked)),
        ),
        one_form=True,
        check=_check_cdp,
        loss=_FEWER,
    ),
    _over_links(
        name="ddp-mab",
        title="private elimination over a network without a server",
        paper=f"{PAPER}, Algorithm 3",
        parameters=DdpParameters,
        shape=Mesh(
            AgentRole(_ddp, (Adv, Req, Data, Quiet), signs=True),
            Wiring(_ddp_network, regroup=_ddp_regroup),
        ),
        check=_check_rounds,
        loss=_REGROUPED,
    ),
    _over_links(
        name="hdp-mab",
        title="private elimination over components whose sinks talk to a server",
        paper=f"{PAPER}, Algorithm 5",
        parameters=HdpParameters,
        shape=MeshWithServer(
            AgentRole(_hdp, (Active, Hop), signs=True),
            Wiring(_hdp_network, components=True, regroup=_hdp_regroup),
            ServerRole(_hdp_server, (SinkMeans,)),
        ),
        check=_check_rounds,
        loss=_REGROUPED,
    ),
    _system(
        name="single-mab",
        title="baseline: private elimination, every agent alone",
        paper=f"{PAPER}, section VII-A",
        parameters=SingleParameters,
        shape=Alone(_lone),
        loss=ALONE,
        field=Field(),
        claim=claims.pulls,
        one_form=True,
    ),
)
