"""Federated elimination with differential privacy (Li and Song 2022) and its baseline."""

import importlib.util
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from posse.seam.arms import Graph, RandomMeans, find_sinks, known_means, require_connected
from posse.seam.machines import AgentMachine, ServerMachine
from posse.seam.masking import (
    MASKED_TO_AGENT,
    MASKED_TO_COORDINATOR,
    MAX_WORDS,
    UNREADABLE,
    WORD_BITS,
    SumMasker,
)
from posse.seam.messages import SIGNATURE_BYTES, Message
from posse.seam.noise import (
    ALL_MESSAGES,
    SERVER,
    TIMING,
    Claim,
    ClaimContext,
    Losses,
    Noise,
    OneReward,
    released,
)
from posse.seam.results import (
    ClosedForm,
    Delay,
    Detail,
    Estimate,
    Figure,
    Lines,
    NetworkFacts,
    NoBoundError,
    Results,
    RoundCost,
    RunRecord,
    Standing,
    mean_gaps,
    positive,
)
from posse.seam.steps import Stepped
from posse.seam.system import (
    ALONE,
    AgentContext,
    AgentRole,
    Alone,
    CoordinatorContext,
    Field,
    Loss,
    Mesh,
    MeshWithServer,
    MessageReader,
    Network,
    Purpose,
    RunSpec,
    ServerRole,
    SpecError,
    Star,
    Statistic,
    System,
    UnitInterval,
    Wiring,
    along,
    are_floats,
    unpack,
)
from posse_systems.li2022 import theory
from posse_systems.li2022.agent import CdpAgent, DdpAgent, Eliminator, HdpAgent, LoneEliminator
from posse_systems.li2022.exchange import Exchange
from posse_systems.li2022.gis import Gis
from posse_systems.li2022.messages import (
    Active,
    Adv,
    CdpParameters,
    Data,
    DdpParameters,
    DdpTold,
    ExchangedRow,
    ExploredRow,
    FederatedParameters,
    HdpParameters,
    HdpTold,
    Held,
    Hop,
    LeftRow,
    Means,
    Quiet,
    Req,
    RoundRow,
    Schedule,
    SingleParameters,
    SinkMeans,
    Stated,
    uploaders,
)
from posse_systems.li2022.push import Flooding, Gossip
from posse_systems.li2022.sac import Relay
from posse_systems.li2022.server import CdpServer, HdpServer
from posse_systems.li2022.shared import LEAST_SHARE, noise_of
from posse_systems.li2022.shared_agent import SharedNoiseAgent
from posse_systems.li2022.shared_server import SharedNoiseServer
from posse_systems.li2022.steps import EliminationStep
from posse_systems.li2022.theory import gis_links, gis_links_paper, sac_links

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
        if parameters.dropouts:
            raise SpecError(
                "parameters.dropouts",
                f"is {parameters.dropouts}, but only masked sums cannot do without agents; delete "
                "it, or set noise = 'shared'",
            )
        if parameters.noise_law != "gaussian":
            raise SpecError(
                "parameters.noise_law",
                f"is {parameters.noise_law!r}, a law of shared noise; set noise = 'shared'",
            )
        return
    p, agents, arms = parameters, spec.agents.count, spec.arms.arm_count()
    shared = noise_of(p, agents)
    if p.participation < 1:
        raise SpecError(
            "parameters.participation",
            f"is {p.participation:g}, but shared noise suffices only if all agents add theirs in "
            "every round; delete it",
        )
    if shared.honest_agents <= p.dropouts:
        raise SpecError(
            "parameters.dropouts",
            f"is {p.dropouts}, but {shared.honest_agents} agents are trusted to add noise, and at "
            "least one of them must be left; lower it or raise parameters.honest",
        )
    if p.dropouts and agents < p.dropouts + 2:
        raise SpecError(
            "parameters.dropouts",
            f"is {p.dropouts} of {agents} agents, but at least two must be left to share noise",
        )
    if agents < 2:
        raise SpecError("agents.count", "is 1, but noise is shared among at least two agents")
    if arms > MAX_WORDS:
        raise SpecError("arms", f"are {arms}: a masked report holds at most {MAX_WORDS} sums")
    if p.noise_law == "laplace" and p.delta_prime is not None:
        raise SpecError(
            "parameters.delta_prime",
            "is given, but noise_law = 'laplace' has no δ'; delete one of the two",
        )
    if p.noise_law == "gaussian" and shared.share < LEAST_SHARE:
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
    opendp = p.noise_law == "gaussian" and spec.mode == "field"
    if opendp and importlib.util.find_spec("opendp") is None:
        raise SpecError(
            "parameters.noise",
            "is 'shared', which in the field needs OpenDP; run: "
            "pip install \"posse-bandits[field]\", or set noise_law = 'laplace'",
        )


def _schedule(context: AgentContext | CoordinatorContext) -> Schedule:
    return theory.make_schedule(context.parameters, context.agents, context.arms)


def _make_lone(context: AgentContext) -> AgentMachine:
    schedule = theory.make_schedule(context.parameters, 1, context.arms)
    return context.make(LoneEliminator, schedule=schedule)


def _load_noise(p: CdpParameters, noise: Noise) -> None:
    """Draw once: OpenDP takes seconds to import."""
    if p.noise == "shared" and p.noise_law == "gaussian":
        noise.discrete_gaussian(np.zeros(1, dtype=np.int64), LEAST_SHARE)


def _make_cdp(context: AgentContext) -> AgentMachine:
    p: CdpParameters = context.parameters
    schedule = _schedule(context)
    if p.noise == "shared":
        # if the noise's library is missing, this fails before a reward is used
        _load_noise(p, context.noise)
        private = context.secret(Purpose.PROTOCOL)
        masker = SumMasker(context.rank, context.agents, private, context.signer, p.dropouts)
        shared = noise_of(p, context.agents)
        return context.make(SharedNoiseAgent, schedule=schedule, masker=masker, shared=shared)
    return context.make(CdpAgent, schedule=schedule, partial=schedule.senders < context.agents)


def _make_over_a_graph(
    context: AgentContext, kind: type[Eliminator], exchange: Callable[..., Exchange]
) -> AgentMachine:
    """An agent whose means travel by this exchange."""
    where = context.rank, context.agents, context.neighbours, context.knowledge
    return context.make(
        kind,
        schedule=_schedule(context),
        exchange=exchange(*where, signer=context.signer),
        t_delay=context.parameters.t_delay,
        plausible=context.field,
    )


def _make_ddp(context: AgentContext) -> AgentMachine:
    p: DdpParameters = context.parameters
    if p.exchange == "gossip":
        return _make_over_a_graph(context, DdpAgent, partial(Gossip, choice=context.draws))
    return _make_over_a_graph(context, DdpAgent, Gis if p.exchange == "gis" else Flooding)


def _make_cdp_server(context: CoordinatorContext) -> ServerMachine:
    p: CdpParameters = context.parameters
    given: dict[str, Any] = {"schedule": _schedule(context)}
    if p.noise == "shared":
        shared = noise_of(p, context.agents)
        return context.make(SharedNoiseServer, shared=shared, signer=context.signer, **given)
    return context.make(CdpServer, choice=context.draws, plausible=context.field, **given)


def _make_hdp_server(context: CoordinatorContext) -> ServerMachine:
    sinks = tuple(context.knowledge["sinks"])
    schedule = _schedule(context)
    return context.make(HdpServer, schedule=schedule, sinks=sinks, plausible=context.field)


def _lay_ddp(spec: RunSpec, parameters: DdpParameters, run: int) -> Network:
    graph = spec.graph(run)
    require_connected(graph)
    knowledge: list[dict[str, Any]] = [{"diameter": graph.diameter} for _ in range(graph.agents)]
    return along(graph, knowledge)


def _regroup_ddp(graph: Graph, present: Collection[int]) -> Network:
    """The network after a loss: each part of the graph goes on by itself."""
    knowledge: list[dict[str, Any]] = []
    for component in graph.component_of:
        part = graph.components[component]
        knowledge.append({"diameter": max(graph.eccentricities[i] for i in part), "members": part})
    return along(graph, knowledge)


def _lay_hdp(spec: RunSpec, parameters: HdpParameters, run: int) -> Network:
    """Links along the graph, with the routes to the sinks.

    Each agent is told its next hop, its children and for how many slots each child sends, a sink
    its component, the server the sinks and how many agents each speaks for.
    """
    return _lay_routes(spec.graph(run))


def _regroup_hdp(graph: Graph, present: Collection[int]) -> Network:
    """The network after a loss: new sinks and routes; lost agents, now isolated, are no sinks."""
    network = _lay_routes(graph)
    for knowledge in network.knowledge:
        knowledge["members"] = sorted(present)
    sinks = [(sink, size) for sink, size in network.server["sinks"] if sink in present]
    network.server["sinks"] = sinks
    return network


def _lay_routes(graph: Graph) -> Network:
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
    knowledge: list[dict[str, Any]] = [
        {
            "towards": sinks.towards[i],
            "children": [(child, sends[child]) for child in sorted(children[i])],
            "slots": total,
            "component": component_of.get(i, ()),
        }
        for i in range(graph.agents)
    ]
    server = {"sinks": [(sink, len(component_of[sink])) for sink in sinks.sink]}
    return along(graph, knowledge, server, NetworkFacts(sinks=list(sinks.sink)))


def _advise(spec: RunSpec, parameters: SingleParameters) -> list[str]:
    p, arms = parameters, spec.arms.arm_count()
    together = spec.agents.count if isinstance(p, FederatedParameters) else 1
    schedule = theory.make_schedule(p, together, arms)
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


_PROOF = (
    "A reward is in one ŷ of one round, the mean of d new rewards, which it moves by at most 1/d; "
    "each ŷ is noised once, by {noise}. Rounds, arms and agents are disjoint. ȳ, what the "
    "network does with it, the arms left, every pull and the answer are functions of the ŷ (Li and "
    "Song "
    "2022, Theorem 1)."
)


def claim_messages(context: ClaimContext) -> Claim:
    """CDP-MAB, DDP-MAB and HDP-MAB."""
    p: FederatedParameters = context.parameters
    senders, symbol = context.agents, "M"
    if isinstance(p, CdpParameters):
        if p.noise == "shared":
            return _claim_shared(context, p)
        if p.participation < 1:
            senders, symbol = uploaders(context.agents, p.participation), "⌈pM⌉"
    if p.noise == "per_agent":
        number, formula, noise = p.epsilon, "", "Lap(1/(ε d))"
    else:
        number, formula = senders * p.epsilon, f"{symbol} ε, not ε"
        noise = f"Lap(1/({symbol} ε d))"
    return released(
        epsilon=number,
        losses=Losses(laplace=((number, 1),)),
        formula=formula,
        adversary=ALL_MESSAGES,
        proof=_PROOF.format(noise=noise),
    )


def claim_pulls(context: ClaimContext) -> Claim:
    """The baseline of one agent."""
    p: SingleParameters = context.parameters
    return released(
        epsilon=p.epsilon,
        losses=Losses(laplace=((p.epsilon, 1),)),
        adversary="whoever sees the agent's pulls and its answer",
        sees="pulls",
        note="Nothing is sent before the end.",
        proof=_PROOF.format(noise="Lap(1/(ε d))"),
    )


_LOSS = {
    False: "An agent that drops out leaves the round without a sum, never with less noise.",
    True: "Of agents that drop out, as many as are declared, sums are over the others, and have "
    "the noise that is claimed without theirs; of one more there is no sum.",
}
_SETTLED = (
    "; no self-mask is told before all but d agents settled for the same survivors, where more "
    "than 2d are honest"
)
_SIZED = "exactly; the noise is sized for epsilon = {epsilon:g} by Rényi divergence"
_GAUSSIAN = (
    "have a deviation σ, and Δ / σ costs (ε, δ') (Kairouz, Liu and Steinke 2021, Theorem 1; "
    "exactly Balle and Wang 2018, Theorem 8)"
)
_LAPLACE = (
    "sum to a discrete Laplace number, P(x) ~ e^(-|x| / b), and Δ < b ε (Chowdhury and Zhou 2023)"
)


def _claim_shared(context: ClaimContext, p: CdpParameters) -> Claim:
    shared = noise_of(p, context.agents)
    losses, trusted, enough = shared.losses, shared.honest_agents, shared.enough
    laplace = p.noise_law == "laplace"
    formula = "" if laplace else _SIZED.format(epsilon=p.epsilon)
    without = f", of which {p.dropouts} may be lost" if p.dropouts else ""
    lies = trusted > 2 * p.dropouts
    settled = _SETTLED if lies and p.dropouts else ""
    if context.alone:
        losses, trusted, enough, without = shared.losses_alone, 1, 1, ""
        formula = "by this agent's own noise alone, as nobody here vouches for the others"
    return Claim(
        change=OneReward(),
        mechanism=shared.mechanism,
        epsilon=losses.epsilon(shared.delta),
        delta=None if laplace else shared.delta,
        losses=losses,
        honest=enough,
        formula=formula,
        adversary=f"the server, {SERVER[lies]}, "
        f"together with all agents but {trusted} honest ones of {context.agents}{without}",
        sees="coordinator",
        note=f"{_LOSS[p.dropouts > 0]} "
        "The server passes on the public keys: agents with keys sign theirs; without, it is "
        "trusted not to replace them.",
        proof="A reward is in one sum of one round, which it moves by at most Δ words. The honest "
        f"agents' shares alone {_LAPLACE if laplace else _GAUSSIAN}; masks cancel in the "
        f"sum over all agents alone (Bonawitz et al. 2017){settled}. All else is a function of the "
        "sums.",
        uncovered=f"agents that send wrong sums, which spoil the answer; {TIMING}",
    )


class FederatedDetail(Detail, omit_defaults=True):
    """The rounds as the first agent explored them; None in the field."""

    units: ClassVar[dict[str, str]] = {"rounds": "of communication"}

    explored: list[ExploredRow] | None = None

    def lines(self, run: RunRecord) -> Lines:
        """How many arms were pulled in each round."""
        if not self.explored:
            return []
        active = ", ".join(str(row.active) for row in self.explored)
        return [("arms explored", f"{active} by round")]


def _complete(spec: RunSpec, parameters: Any, record: RunRecord) -> None:
    """Fill in status and answer where no server decides, rounds, delay and cost.

    In the field, what agents noted and sent each other stays with them and is unknown here.
    """
    decided = len(RoundRow.select(record.log))
    rounds: int | None = decided
    match parameters:
        case CdpParameters():
            _price_cdp(spec, parameters, record, decided)
        case HdpParameters() if spec.mode == "lab":
            _price_hdp(spec, parameters, record, decided)
        case HdpParameters():
            pass
        case DdpParameters():
            rounds = _price_ddp(spec, parameters, record) if spec.mode == "lab" else None
            _set_status(record)
        case _:
            record.communication.cost = 0.0
            _set_status(record)
    if record.used_up and record.status == "horizon":
        record.status = "exhausted"
    record.rounds = record.communication.rounds = rounds
    record.detail = FederatedDetail()
    if spec.mode == "field":
        return
    if record.communication.cost is not None and record.slots:
        record.communication.cost_per_slot = record.communication.cost / record.slots
    present = [n for n in range(len(record.agent_logs)) if n not in record.dismissed]
    first = next((n for n in present if n not in record.exhausted), next(iter(present), None))
    log = {} if first is None else record.agent_logs[first]
    record.detail = FederatedDetail([row for _, row in ExploredRow.select(log)])


def _price_cdp(spec: RunSpec, p: CdpParameters, record: RunRecord, rounds: int) -> None:
    n = uploaders(spec.agents.count, p.participation)
    traffic = record.communication
    traffic.cost = p.c1 * traffic.links.agent_coordinator
    once, each, formula = 0, 1, "c1 ceil(pM) rounds"
    if p.noise == "shared":
        # one key per agent; then masked sums and a seed in every round
        once, each, formula = n, 2, "c1 M (2 rounds + 1)"
        if p.dropouts:  # agents settle for the survivors first
            each, formula = 3, "c1 M (3 rounds + 1)"
    traffic.closed_form = ClosedForm(
        formula, p.c1 * (once + each * n * rounds), exact=not record.without
    )
    # after a loss, fewer agents are asked
    links = [each * row.asked for _, row in RoundRow.select(record.log)]
    traffic.per_round = [RoundCost(r, k, p.c1 * k) for r, k in enumerate(links, start=1)]


def _price_ddp(spec: RunSpec, p: DdpParameters, record: RunRecord) -> int:
    """Return the number of rounds, as the median: a single agent may report anything."""
    graph = spec.graph(record.run)
    traffic = record.communication
    # a lone agent exchanges nothing, and decides as soon as it has explored
    rows = ExchangedRow if spec.agents.count > 1 else ExploredRow
    rounds = statistics.median_low(len(rows.select(log)) for log in record.agent_logs)
    traffic.per_round = per_round = _price_rounds(record, p, rounds)
    traffic.cost = sum(row.cost for row in per_round)
    traffic.closed_form = None
    if p.exchange != "gossip":
        exact = gis_links(graph)
        traffic.closed_form = ClosedForm(
            "c2 rounds sum over edges of min(d_G, 1 + larger eccentricity)",
            p.c2 * rounds * exact,
            exact=not record.without,
        )
        traffic.closed_form_paper = ClosedForm(
            "c2 rounds d_G sum d_i / 2",
            p.c2 * rounds * gis_links_paper(graph),
            exact=gis_links_paper(graph) == exact and not record.without,
        )
    return rounds


def _price_hdp(spec: RunSpec, p: HdpParameters, record: RunRecord, rounds: int) -> None:
    graph = spec.graph(record.run)
    q = len(graph.components)
    traffic = record.communication
    traffic.per_round = per_round = _price_rounds(record, p, rounds, uploads=q, price=p.c1)
    hops = sum(row.links - q for row in per_round)
    traffic.cost = p.c2 * hops + p.c1 * traffic.links.agent_coordinator
    traffic.closed_form = ClosedForm(
        "rounds (c2 sum sd(i, SA_q) + c1 Q)",
        rounds * (p.c2 * sac_links(graph) + p.c1 * q),
        exact=not record.without,
    )
    traffic.closed_form_by_edges = ClosedForm(
        "rounds (c2 |E| + c1 Q), every edge of a component once",
        rounds * (p.c2 * graph.size + p.c1 * q),
        exact=False,
    )


def _price_rounds(
    record: RunRecord,
    p: DdpParameters | HdpParameters,
    rounds: int,
    uploads: int = 0,
    price: float = 0.0,
) -> list[RoundCost]:
    """The cost of each round: links between agents, and `uploads` to the server at `price` each.

    Also records the slots of each round's exchange, and how many of these did nothing but exchange.
    """
    hops: Counter[int] = Counter()
    slots: Counter[int] = Counter()
    for log in record.agent_logs:
        for _, row in ExchangedRow.select(log):
            hops[row.round] += row.links
            slots[row.round] = row.slots
    numbers = range(1, rounds + 1)
    record.delay = delay = record.delay or Delay()
    delay.exchange_slots = [slots[r] for r in numbers]
    delay.t_delay = [max(0, slots[r] - (p.t_delay == "diameter-1")) for r in numbers]
    up = price * uploads
    return [RoundCost(r, hops[r] + uploads, p.c2 * hops[r] + up, slots=slots[r]) for r in numbers]


def _set_status(record: RunRecord) -> None:
    """Set the status where no server decides; only the lab knows the arms left to each agent."""
    answers = [arm for n, arm in enumerate(record.answers) if n not in record.without]
    remaining = {rows[-1][1].arm for log in record.agent_logs if (rows := LeftRow.select(log))}
    record.status = "horizon"
    if remaining and all(len(arms) == 1 for arms in remaining):
        alike = len(remaining) == 1 and None not in answers
        record.status = "identified" if alike else "no_consensus"


def _show_progress(standing: Standing) -> Sequence[str]:
    """The server's rounds; without a server no rounds are known before the end."""
    rounds = RoundRow.select(standing.log)
    if not rounds:
        return [standing.time()]
    _, last = rounds[-1]
    return [f"round {last.round}", standing.arms_left(last.arms_left), standing.time()]


def _arms_left(run: RunRecord, arms: int) -> list[tuple[float, float]]:
    """By the server's word or, where there is none, by the first agent's."""
    decided: list[tuple[float, float]] = [(now, r.arms_left) for now, r in RoundRow.select(run.log)]
    if not decided and run.agent_logs:
        decided = [(now, row.active) for now, row in ExploredRow.select(run.agent_logs[0])]
    return [(0.0, arms), *decided]


FEDERATED = Results(
    progress=_show_progress,
    log=(Estimate, RoundRow, ExploredRow, ExchangedRow, LeftRow),
    detail=FederatedDetail,
    complete=_complete,
    figures=(
        Figure(
            name="arms-left", title="Arms left", style="steps", values=_arms_left, y="arms left"
        ),
    ),
)


class FederatedReader(MessageReader):
    """Tells the means that agents pass on from their signatures; a sink's are averages."""

    hidden = UNREADABLE
    exact = (SinkMeans,)

    def statistics(self, message: Message, source: int | None) -> Iterable[Statistic]:
        if not isinstance(message, Data | Hop):
            yield from super().statistics(message, source)
            return
        means = message.means
        end = max(0, len(means) - SIGNATURE_BYTES * len(message.origins))
        floats = unpack(means if are_floats(means[end:]) else means[:end])
        yield Statistic(source, type(message), floats)


_system = partial(
    System,
    clocks=("slots",),
    unit_interval=UnitInterval(),
    bound=theory.bound_elimination,
    advise=_advise,
    results=FEDERATED,
    reader=FederatedReader,
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
_over_links = partial(_system, field=PER_AGENT, claim=claim_messages)

CDP_MAB = _over_links(
    name="cdp-mab",
    title="private elimination with a server; partial participation",
    paper=f"{PAPER}, Algorithm 1",
    parameters=CdpParameters,
    shape=Star(
        AgentRole(
            Stepped(_make_cdp, EliminationStep),
            (Active, *MASKED_TO_AGENT),
            signs=True,
            load=_load_noise,
        ),
        ServerRole(_make_cdp_server, (Means, *MASKED_TO_COORDINATOR)),
    ),
    one_form=True,
    check=_check_cdp,
    loss=_FEWER,
)

DDP_MAB = _over_links(
    name="ddp-mab",
    title="private elimination over a network without a server",
    paper=f"{PAPER}, Algorithm 3",
    parameters=DdpParameters,
    shape=Mesh(
        AgentRole(
            Stepped(_make_ddp, EliminationStep), (Adv, Req, Data, Quiet, Held, Stated), signs=True
        ),
        Wiring(_lay_ddp, regroup=_regroup_ddp, told=DdpTold),
    ),
    check=_check_rounds,
    loss=_REGROUPED,
)

HDP_MAB = _over_links(
    name="hdp-mab",
    title="private elimination over components whose sinks talk to a server",
    paper=f"{PAPER}, Algorithm 5",
    parameters=HdpParameters,
    shape=MeshWithServer(
        AgentRole(
            Stepped(partial(_make_over_a_graph, kind=HdpAgent, exchange=Relay), EliminationStep),
            (Active, Hop),
            signs=True,
        ),
        Wiring(_lay_hdp, components=True, regroup=_regroup_hdp, told=HdpTold),
        ServerRole(_make_hdp_server, (SinkMeans,)),
    ),
    check=_check_rounds,
    loss=_REGROUPED,
)

SINGLE_MAB = _system(
    name="single-mab",
    title="baseline: private elimination, every agent alone",
    paper=f"{PAPER}, section VII-A",
    parameters=SingleParameters,
    shape=Alone(_make_lone),
    loss=ALONE,
    field=Field(),
    claim=claim_pulls,
    one_form=True,
)
