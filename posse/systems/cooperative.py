"""Private and byzantine-proof cooperation on a graph (Dubey and Pentland 2020), and baselines.

The baselines learn alone (Auer et al. 2002; Tossou and Dimitrakakis 2016; Azize and Basu 2022).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from posse.agent.byzantine import SharedRewards
from posse.agent.cooperative import (
    Cooperation,
    CooperativeAgent,
    DoublingMeans,
    PrivateMeans,
    SharedMeans,
)
from posse.agent.corruption import Corruption
from posse.agent.destination import NoiseAtDestination
from posse.agent.flooding import Flood, Known, Learner
from posse.agent.lone import AdapUcb, LoneUcb, PrivateLoneUcb
from posse.agent.robust import RobustMeans
from posse.agent.trimmed import TRIMS_BELOW
from posse.claims import cooperative as claims
from posse.claims.base import silence
from posse.errors import SpecError
from posse.protocol.cooperative import (
    MOST_NUMBERED,
    AdapParameters,
    AloneParameters,
    Bundle,
    ByzantineParameters,
    ContaminatedParameters,
    Contamination,
    CooperativeParameters,
    PrivateAloneParameters,
    PrivateParameters,
    RobustParameters,
    doubling_counts,
    hops,
    most_liars,
    noise_scale,
    pulls_per_release,
    release_counts,
)
from posse.protocol.machine import COORDINATOR, AgentMachine
from posse.protocol.privacy import FARTHEST
from posse.results import cooperative as results
from posse.results.record import NetworkFacts
from posse.seeds import Purpose, generator
from posse.spec.runfile import RunSpec
from posse.systems.base import ALONE, Field, Loss, System, UnitInterval, advise_deviation
from posse.systems.context import AgentContext, making
from posse.systems.network import Network, along
from posse.systems.shapes import AgentRole, Alone, Mesh, Wiring
from posse.theory import cooperative as theory
from posse.theory.bounds import undrawn

PAPER = "Dubey and Pentland 2020"


def _cooperate(
    context: AgentContext,
    kind: Callable[..., Learner],
    between: tuple[float, float] | None,
    **given: Any,
) -> AgentMachine:
    """Make an agent; all agents of this process share one learner of this kind, with a row each.

    It refuses what others say if it is not `between` these two numbers.
    """

    def common(rows: int) -> Cooperation:
        learner = context.make(kind, ties=[], reward_range=between, rows=rows, **given)
        signed = context.signer is not None
        gamma = int(context.knowledge["gamma"])
        known = Known(context.agents, gamma, learner.message.dtype, rows, signed)
        return Cooperation(learner, known)

    cohort = context.cohort.of(common)
    cohort.learner.ties.append(context.generator(Purpose.TIES))
    if isinstance(cohort.learner, PrivateMeans):
        cohort.learner.noise.append(context.noise)
    corruption = None
    # lies never replace real rewards, even if the coordinator asks for it
    if (does := context.knowledge.get("contamination")) and not context.field:
        corruption = Corruption(
            msgspec.convert(does, Contamination), context.generator(Purpose.CORRUPTION)
        )
    flood = Flood(context.rank, context.neighbours, cohort.known, context.signer)
    return CooperativeAgent(context.parameters.horizon, cohort, flood, corruption)


def _range(context: AgentContext) -> tuple[float, float] | None:
    between = context.knowledge.get("reward_range")
    return None if between is None else (between[0], between[1])


def _noisy_range(context: AgentContext, widest: float) -> tuple[float, float] | None:
    """The range of real rewards' means with noise of scale `widest`; None in the lab: no check."""
    return (-FARTHEST * widest, 1 + FARTHEST * widest) if context.field else None


def _sharing(context: AgentContext) -> AgentMachine:
    return _cooperate(context, SharedMeans, _range(context))


def _private(context: AgentContext) -> AgentMachine:
    p: PrivateParameters = context.parameters
    kind: type[PrivateMeans] = PrivateMeans
    if p.releases == "doubling":
        kind, counts, widest = DoublingMeans, doubling_counts(p.horizon), 1 / p.epsilon
    else:
        counts = release_counts(p.epsilon, p.v, p.horizon)
        # the first release has the most noise
        widest = noise_scale(min(counts, default=1), p.v)
        if p.noise_at == "destination" and not context.field:
            # real rewards never leave without noise, even if the coordinator asks for it
            kind = NoiseAtDestination
    return _cooperate(
        context,
        kind,
        _noisy_range(context, widest),
        epsilon=p.epsilon,
        v=p.v,
        variant=context.variant,
        releases=counts,
    )


def _robust(context: AgentContext) -> AgentMachine:
    p: RobustParameters = context.parameters
    kind: type[PrivateMeans] = DoublingMeans
    given = {"epsilon": p.epsilon, "releases": doubling_counts(p.horizon)}
    if p.estimator != "mean":
        kind = RobustMeans
        given["liars"] = most_liars(context.knowledge["assumed"], context.agents)
    return _cooperate(context, kind, _noisy_range(context, 1 / p.epsilon), **given)


def _byzantine(context: AgentContext) -> AgentMachine:
    p: ByzantineParameters = context.parameters
    assumed = context.knowledge["assumed"]
    return _cooperate(
        context, SharedRewards, _range(context), contamination=assumed, winsor=p.winsor
    )


def _network(spec: RunSpec, parameters: Any, run: int, in_unit: bool = False) -> Network:
    """Links along the graph, none if γ = 0; each agent is told γ as a number.

    `in_unit`: if rewards are in [0, 1], so must the means be, unless the run file gives a range.
    """
    graph = spec.graph(run)
    gamma = hops(parameters.gamma, graph.diameter)
    if gamma and max(graph.degrees) == 0:
        gamma = 0
    between = getattr(parameters, "reward_range", None)
    if between is None and in_unit and spec.arms.unit_interval:
        between = (0.0, 1.0)
    shared = {"gamma": gamma} | ({} if between is None else {"reward_range": between})
    knowledge: list[dict[str, Any]] = [dict(shared) for _ in range(spec.agents.count)]
    facts = NetworkFacts(gamma=gamma, gamma_asked=parameters.gamma)
    if isinstance(parameters, ContaminatedParameters):
        liars = [] if spec.mode == "field" else _liars(parameters.contamination, spec, run)
        assumed = parameters.assumed_contamination
        if assumed is None and isinstance(parameters, ByzantineParameters):
            assumed = parameters.contamination.rate
        elif assumed is None:
            assumed = len(liars) / spec.agents.count
        facts.byzantine, facts.assumed_contamination = liars, assumed
        for told_to in knowledge:
            told_to["assumed"] = assumed
        does: dict[str, Any] = msgspec.to_builtins(parameters.contamination)
        del does["agents"]  # a liar must not know the others
        for rank in liars:
            knowledge[rank]["contamination"] = does
    laid = along(graph, knowledge, facts=facts)
    if gamma == 0:
        return Network([()] * spec.agents.count, knowledge, facts=laid.facts)
    return laid


def _liars(contamination: Contamination, spec: RunSpec, run: int) -> list[int]:
    """The ranks of the byzantine agents of one run."""
    count = spec.agents.count

    def draw(number: int) -> list[int]:
        drawn = generator(spec.seed, run, COORDINATOR, Purpose.CORRUPTION)
        ranks: list[int] = drawn.choice(count, number, replace=False).tolist()
        return ranks

    return contamination.liars(count, draw)


def _check_horizon(spec: RunSpec, parameters: AloneParameters) -> None:
    """Refuse a horizon in which not every arm can be tried once."""
    arms = spec.arms.arm_count()
    if parameters.horizon < arms:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but trying each of {arms} arms once takes {arms} slots",
        )


def _check_turns(spec: RunSpec, parameters: PrivateAloneParameters | RobustParameters) -> None:
    """Refuse a horizon that ends before every arm has been released once."""
    turns = spec.arms.arm_count() * pulls_per_release(parameters.epsilon)
    if parameters.horizon < turns:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but with epsilon = {parameters.epsilon} arms are pulled in "
            f"turn for the first {turns} slots; use at least as many, or a larger epsilon",
        )


def _check_alone(spec: RunSpec, parameters: PrivateAloneParameters) -> None:
    _check_horizon(spec, parameters)
    _check_turns(spec, parameters)


def _check_private(spec: RunSpec, parameters: PrivateParameters) -> None:
    _check_horizon(spec, parameters)
    if parameters.releases == "doubling":
        if spec.variant == "printed":
            raise SpecError(
                "parameters.releases",
                "is 'doubling', which the paper does not have; it needs variant = \"corrected\"",
            )
        if parameters.noise_at == "destination":
            raise SpecError(
                "parameters.noise_at",
                "is 'destination', which releases nothing; use it with releases = "
                '"intervals" only',
            )
    _check_turns(spec, parameters)
    if spec.mode == "field" and parameters.noise_at != "source":
        raise SpecError(
            "parameters.noise_at",
            "is 'destination', which sends means without noise, for the lab only; delete it",
        )


def _check_contaminated(spec: RunSpec, parameters: ContaminatedParameters) -> None:
    _check_horizon(spec, parameters)
    if spec.mode == "field" and "contamination" in spec.parameters:
        raise SpecError(
            "parameters.contamination",
            "is for the lab only: in the field no agent is told to lie; delete it, and set "
            "assumed_contamination to the share of lies that agents should assume",
        )
    if spec.mode == "field" and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.assumed_contamination",
            "is required in the field, where the true rate of lies is not known; give the share "
            "that agents should assume, for example 0.05",
        )
    count = spec.agents.count
    match parameters.contamination.agents:
        case int(number) if number > count:
            raise SpecError(
                "parameters.contamination.agents", f"is {number}, but there are {count} agents"
            )
        case tuple(named) if named and max(named) >= count:
            raise SpecError(
                "parameters.contamination.agents",
                f"names agent {max(named)}, which does not exist; agents are 0 to {count - 1}",
            )


def _check_range(spec: RunSpec, parameters: CooperativeParameters | ByzantineParameters) -> None:
    between = parameters.reward_range
    if between is not None and not between[0] < between[1]:
        raise SpecError(
            "parameters.reward_range", f"is {list(between)}; it must be [lo, hi] with lo < hi"
        )


def _check_cooperative(spec: RunSpec, parameters: CooperativeParameters) -> None:
    _check_horizon(spec, parameters)
    _check_range(spec, parameters)


def _check_byzantine(spec: RunSpec, parameters: ByzantineParameters) -> None:
    _check_contaminated(spec, parameters)
    if (arms := spec.arms.arm_count()) > MOST_NUMBERED:
        raise SpecError(
            "arms",
            f"are {arms:,}, but a message names the arm by 16 bits; use {MOST_NUMBERED:,} at most",
        )
    contamination = parameters.contamination
    if contamination.rate >= 0.5 and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.contamination.rate",
            f"is {contamination.rate}: no estimator withstands lies in half of the rewards; set "
            "assumed_contamination to the share that agents should assume",
        )
    if contamination.law == "informed":
        raise SpecError(
            "parameters.contamination.law",
            "is 'informed', which lies about means; for single rewards use 'opposite'",
        )
    _check_range(spec, parameters)


def _advise_byzantine(spec: RunSpec, parameters: ByzantineParameters) -> list[str]:
    p, said = parameters, advise_deviation(spec, parameters)
    believed = p.contamination.rate if p.assumed_contamination is None else p.assumed_contamination
    if spec.variant == "printed" or p.winsor or believed < TRIMS_BELOW:
        return said
    return [
        *said,
        f"parameters.assumed_contamination is {believed}: from {TRIMS_BELOW} on nothing is "
        "trimmed, and the plain mean withstands no lies; set winsor = true",
    ]


def _check_robust(spec: RunSpec, parameters: RobustParameters) -> None:
    _check_contaminated(spec, parameters)
    _check_turns(spec, parameters)
    lies = parameters.contamination
    if lies.law == "informed" and 0 < lies.rate < 1:
        raise SpecError(
            "parameters.contamination.rate",
            f"is {lies.rate:g}, but 'informed' lies claim the most pulls possible; a true count "
            "after a lie is lower, and so refused; set rate = 1",
        )
    if lies.rate and lies.agents == "all" and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.contamination.agents",
            "is 'all', but no estimator withstands lies of all agents; say how many lie, or set "
            "assumed_contamination to the share that agents should assume",
        )


_WITH_LIARS = Wiring(_network, broadcasts=True, untold=("contamination",))
_cooperation = partial(
    System,
    clocks=("slots",),
    field=Field(),
    results=results.COOPERATION,
    loss=Loss(
        "What the missing said last was used on; the others went on without it. A bound that is "
        "drawn is of the whole graph. What each released costs the same.",
        "continue",
    ),
)
_alone = partial(System, clocks=("slots",), results=results.ALONE, loss=ALONE)

SYSTEMS = (
    _cooperation(
        name="private-ucb",
        title="cooperation with noisy means released at intervals",
        paper=f"{PAPER}, Algorithms 1 and 2",
        parameters=PrivateParameters,
        shape=Mesh(AgentRole(_private, (Bundle,), signs=True), Wiring(_network, broadcasts=True)),
        claim=claims.private,
        unit_interval=UnitInterval(),
        check=_check_private,
        bound=theory.private,
    ),
    _cooperation(
        name="byzantine-ucb",
        title="cooperation with single rewards, some of them lies, and a trimmed mean",
        paper=f"{PAPER}, Algorithm 3",
        parameters=ByzantineParameters,
        shape=Mesh(AgentRole(_byzantine, (Bundle,), signs=True), _WITH_LIARS),
        claim=claims.rewards,
        check=_check_byzantine,
        advise=_advise_byzantine,
        bound=theory.byzantine,
    ),
    _cooperation(
        name="robust-private-ucb",
        title="cooperation with noisy means, released once, of which some may be lies",
        paper=f"posse's own, after {PAPER}, Remark 6",
        parameters=RobustParameters,
        shape=Mesh(AgentRole(_robust, (Bundle,), signs=True), _WITH_LIARS),
        claim=claims.robust,
        one_form=True,
        unit_interval=UnitInterval(),
        check=_check_robust,
        bound=theory.robust,
    ),
    _cooperation(
        name="cooperative-ucb",
        title="cooperation with means and counts as they are, no privacy",
        paper=f"{PAPER}, section 5",
        parameters=CooperativeParameters,
        shape=Mesh(
            AgentRole(_sharing, (Bundle,), signs=True),
            Wiring(partial(_network, in_unit=True), broadcasts=True),
        ),
        claim=claims.means,
        one_form=True,
        check=_check_cooperative,
        advise=advise_deviation,
        bound=undrawn("No bound is drawn: the paper states none for the form without privacy."),
    ),
    _alone(
        name="ucb1",
        title="baseline: UCB1, every agent alone",
        paper="Auer et al. 2002",
        parameters=AloneParameters,
        shape=Alone(making(LoneUcb)),
        field=Field("bare"),
        claim=silence,
        one_form=True,
        check=_check_horizon,
        advise=advise_deviation,
        bound=theory.ucb1,
    ),
    _alone(
        name="dp-ucb-int",
        title="baseline: DP-UCB-INT, every agent alone, private to whoever sees its pulls",
        paper="Tossou and Dimitrakakis 2016",
        parameters=PrivateAloneParameters,
        shape=Alone(making(PrivateLoneUcb)),
        field=Field(),
        claim=claims.private_means,
        unit_interval=UnitInterval(),
        check=_check_alone,
        bound=undrawn("No bound is drawn: what is known of DP-UCB-INT is O(log T + 1/ε)."),
    ),
    _alone(
        name="adap-ucb",
        title="baseline: AdaP-UCB, every agent alone, each reward in one noisy mean",
        paper="Azize and Basu 2022",
        parameters=AdapParameters,
        shape=Alone(making(AdapUcb)),
        field=Field(),
        claim=claims.batched_means,
        unit_interval=UnitInterval(),
        one_form=True,
        check=_check_horizon,
        bound=theory.adap_ucb,
    ),
)
