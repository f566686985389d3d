"""Private and byzantine-proof cooperation on a graph (Dubey and Pentland 2020), and baselines."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from agent.byzantine import SharedRewards
from agent.cooperative import CooperativeAgent, DoublingMeans, Learner, PrivateMeans, SharedMeans
from agent.corruption import Corruption
from agent.destination import NoiseAtDestination
from agent.flooding import Flood
from agent.lone import AdapUcb, LoneUcb, PrivateLoneUcb
from posse.errors import SpecError
from posse.results import cooperative as results
from posse.seeds import Purpose, generator
from posse.spec.runfile import RunSpec
from posse.systems.base import Field, System, UnitInterval
from posse.systems.context import AgentContext
from posse.systems.network import Network, along
from posse.systems.shapes import (
    AgentRole,
    Alone,
    Mesh,
    Wiring,
)
from posse.theory.bounds import (
    UNKNOWN_MEANS,
    Bound,
    adap_ucb_regret,
    byzantine_cooperation_regret,
    clique_cover,
    mean_gaps,
    positive,
    private_cooperation_regret,
    ucb1_regret,
)
from protocol.cooperative import (
    AdapParameters,
    AloneParameters,
    Bundle,
    ByzantineParameters,
    Contamination,
    CooperativeParameters,
    PrivateAloneParameters,
    PrivateParameters,
    Variant,
    doubling_counts,
    hops,
    means_record,
    privacy_bound,
    pulls_per_release,
    release_counts,
    reward_record,
)
from protocol.machine import COORDINATOR, AgentMachine
from protocol.privacy import Claim

PAPER = "Dubey and Pentland 2020"


def _flood(context: AgentContext, record: np.dtype[np.void]) -> Flood:
    gamma = int(context.knowledge["gamma"])
    return Flood(context.rank, context.agents, context.neighbours, gamma, record)


def _cooperate(context: AgentContext, learner: Learner, record: np.dtype[np.void]) -> AgentMachine:
    corruption = None
    # real rewards are not replaced by lies, whoever asks for it
    if (does := context.knowledge.get("contamination")) and not context.field:
        corruption = Corruption(
            msgspec.convert(does, Contamination), context.generator(Purpose.CORRUPTION)
        )
    return CooperativeAgent(
        context.parameters.horizon, learner, _flood(context, record), corruption
    )


def _range(context: AgentContext) -> tuple[float, float] | None:
    between = context.knowledge.get("reward_range")
    return None if between is None else (between[0], between[1])


def _sharing(context: AgentContext) -> AgentMachine:
    ties = context.generator(Purpose.TIES)
    learner = SharedMeans(context.arms, context.agents, ties, _range(context))
    return _cooperate(context, learner, means_record(context.arms))


def _private(context: AgentContext) -> AgentMachine:
    p: PrivateParameters = context.parameters
    kind: type[PrivateMeans] = PrivateMeans
    counts = release_counts(p.epsilon, p.v, p.horizon)
    if p.releases == "doubling":
        kind, counts = DoublingMeans, doubling_counts(p.horizon)
    elif p.noise_at == "destination" and not context.field:
        # real rewards are not sent without noise, whoever asks for it
        kind = NoiseAtDestination
    learner = kind(
        context.arms,
        context.agents,
        context.generator(Purpose.TIES),
        epsilon=p.epsilon,
        v=p.v,
        variant=context.variant,
        noise=context.noise,
        releases=counts,
    )
    return _cooperate(context, learner, means_record(context.arms))


def _byzantine(context: AgentContext) -> AgentMachine:
    p: ByzantineParameters = context.parameters
    learner = SharedRewards(
        context.arms,
        context.generator(Purpose.TIES),
        contamination=context.knowledge["assumed"],
        sigma=p.sigma,
        variant=context.variant,
        winsor=p.winsor,
        reward_range=_range(context),
    )
    return _cooperate(context, learner, reward_record())


def _lone(context: AgentContext) -> AgentMachine:
    ties = context.generator(Purpose.TIES)
    return LoneUcb(context.arms, context.parameters.horizon, ties)


def _private_lone(context: AgentContext) -> AgentMachine:
    p: PrivateAloneParameters = context.parameters
    return PrivateLoneUcb(
        context.arms,
        p.horizon,
        context.generator(Purpose.TIES),
        epsilon=p.epsilon,
        v=p.v,
        variant=context.variant,
        noise=context.noise,
    )


def _adap(context: AgentContext) -> AgentMachine:
    p: AdapParameters = context.parameters
    return AdapUcb(
        context.arms,
        p.horizon,
        context.generator(Purpose.TIES),
        epsilon=p.epsilon,
        alpha=p.alpha,
        noise=context.noise,
    )


def _network(spec: RunSpec, parameters: Any, run: int) -> Network:
    """Links to the neighbours, unless γ = 0; γ as a number."""
    graph = spec.graph(run)
    gamma = hops(parameters.gamma, graph.diameter)
    if gamma and max(graph.degrees) == 0:
        gamma = 0
    between = getattr(parameters, "reward_range", None)
    if between is None and spec.system == "cooperative-ucb" and spec.arms.unit_interval:
        between = (0.0, 1.0)
    shared = {"gamma": gamma} | ({} if between is None else {"reward_range": between})
    knowledge: list[dict[str, Any]] = [dict(shared) for _ in range(spec.agents.count)]
    facts: dict[str, Any] = {"gamma": gamma, "gamma_asked": parameters.gamma}
    if isinstance(parameters, ByzantineParameters):
        liars = [] if spec.mode == "field" else _liars(parameters.contamination, spec, run)
        assumed = parameters.assumed_contamination
        facts |= {
            "byzantine": liars,
            "assumed_contamination": parameters.contamination.rate if assumed is None else assumed,
        }
        for told_to in knowledge:
            told_to["assumed"] = facts["assumed_contamination"]
        for rank in liars:
            knowledge[rank]["contamination"] = _without_names(parameters.contamination)
    laid = along(graph, knowledge, facts=facts)
    if gamma == 0:
        return Network([()] * spec.agents.count, knowledge, facts=laid.facts)
    return laid


def _without_names(contamination: Contamination) -> dict[str, Any]:
    """What a byzantine agent does; not who else does it."""
    plain: dict[str, Any] = msgspec.to_builtins(contamination)
    return {name: value for name, value in plain.items() if name != "agents"}


def _liars(contamination: Contamination, spec: RunSpec, run: int) -> list[int]:
    """The ranks of the byzantine agents of one run."""
    if contamination.rate == 0:
        return []
    count = spec.agents.count
    match contamination.agents:
        case "all":
            return list(range(count))
        case int(number):
            drawn = generator(spec.seed, run, COORDINATOR, Purpose.CORRUPTION)
            return sorted(drawn.choice(count, number, replace=False).tolist())
        case named:
            return sorted(set(named))


def _check_horizon(spec: RunSpec, parameters: AloneParameters) -> None:
    arms = spec.arms.arm_count()
    if parameters.horizon < arms:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but trying each of {arms} arms once takes {arms} slots",
        )


def _check_private(spec: RunSpec, parameters: PrivateParameters | PrivateAloneParameters) -> None:
    _check_horizon(spec, parameters)
    if isinstance(parameters, PrivateParameters) and parameters.releases == "doubling":
        if spec.variant == "printed":
            raise SpecError(
                "parameters.releases",
                "is 'doubling', which the paper does not have; it needs variant = \"corrected\"",
            )
        if parameters.noise_at == "destination":
            raise SpecError(
                "parameters.noise_at",
                "is 'destination', where nothing is released; it goes with releases = "
                '"intervals" alone',
            )
    turns = spec.arms.arm_count() * pulls_per_release(parameters.epsilon)
    if parameters.horizon < turns:
        raise SpecError(
            "parameters.horizon",
            f"is {parameters.horizon}, but with epsilon = {parameters.epsilon} arms are pulled in "
            f"turn for the first {turns} slots; take at least as many, or a larger epsilon",
        )


def _check_source(spec: RunSpec, parameters: PrivateParameters) -> None:
    _check_private(spec, parameters)
    if spec.mode == "field" and parameters.noise_at != "source":
        raise SpecError(
            "parameters.noise_at",
            "is 'destination', which sends means without noise: that is the lab's. Delete it",
        )


def _check_byzantine(spec: RunSpec, parameters: ByzantineParameters) -> None:
    _check_horizon(spec, parameters)
    contamination, count = parameters.contamination, spec.agents.count
    match contamination.agents:
        case int(number) if number > count:
            raise SpecError(
                "parameters.contamination.agents", f"is {number}, but there are {count} agents"
            )
        case tuple(named) if named and max(named) >= count:
            raise SpecError(
                "parameters.contamination.agents",
                f"names agent {max(named)}, which does not exist; agents are 0 to {count - 1}",
            )
    if contamination.rate >= 0.5 and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.contamination.rate",
            f"is {contamination.rate}: no estimator bears half of the rewards being lies; set "
            "assumed_contamination to what agents shall believe",
        )


def _check_range(spec: RunSpec, parameters: CooperativeParameters | ByzantineParameters) -> None:
    if parameters.reward_range is not None and not (
        parameters.reward_range[0] < parameters.reward_range[1]
    ):
        raise SpecError(
            "parameters.reward_range",
            f"is {list(parameters.reward_range)}; it must be [lo, hi] with lo < hi",
        )


def _check_cooperative(spec: RunSpec, parameters: CooperativeParameters) -> None:
    _check_horizon(spec, parameters)
    _check_range(spec, parameters)


def _check_byzantine_all(spec: RunSpec, parameters: ByzantineParameters) -> None:
    if spec.mode == "field" and "contamination" in spec.parameters:
        raise SpecError(
            "parameters.contamination",
            "is the lab's: in the field nobody is told to lie. Delete it, and say in "
            "assumed_contamination what agents shall believe",
        )
    if spec.mode == "field" and parameters.assumed_contamination is None:
        raise SpecError(
            "parameters.assumed_contamination",
            "is required in the field, where the true rate of lies is not known; say what agents "
            "shall believe, for example 0.05",
        )
    _check_byzantine(spec, parameters)
    _check_range(spec, parameters)


def _means_claim(parameters: CooperativeParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="none",
        adversary="nobody",
        note=(
            "In every slot each agent's mean reward and number of pulls of every arm are sent as "
            "they are. Two messages of an agent that follow each other give away its reward."
        ),
    )


def _rewards_claim(parameters: ByzantineParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="none",
        adversary="nobody",
        note="Every single reward of every agent is sent as it is, with its arm.",
    )


def _seen_claim(parameters: Any, variant: Variant) -> Claim:
    return Claim(
        mechanism="none", adversary="nobody", note="Whoever sees its pulls learns rewards."
    )


def _private_claim(parameters: PrivateParameters, variant: Variant) -> Claim:
    p = parameters
    if p.noise_at == "destination":
        return Claim(
            mechanism="none",
            adversary="nobody",
            note="Means are sent as they are; who receives them is trusted to add the noise.",
        )
    if p.releases == "doubling":
        return Claim(
            mechanism="laplace",
            epsilon=p.epsilon,
            unit="one reward of one agent",
            adversary="whoever reads all messages that carry the agent's means and counts",
            note="Every reward is in one noisy mean, over the whole horizon.",
        )
    return Claim(
        mechanism="laplace",
        epsilon=privacy_bound(p.epsilon, p.v, p.horizon, p.delta_prime),
        delta=p.delta_prime,
        unit="one reward of one agent",
        adversary="whoever reads all messages that carry the agent's means and counts",
        holds=variant == "corrected",
        note=(
            "By Lemma 3.6, over the whole horizon; epsilon alone is only the rate of the releases "
            "(eps = 1 is not 'no privacy'). What the ledger adds up to is in spent_per_agent, and "
            "composed up to delta in detail.epsilon_prime_per_agent."
            if variant == "corrected"
            else "Not satisfied as printed: the agent's own raw sums decide its pulls, and their "
            "counts are sent without noise, so that one reward can change a count for certain."
        ),
    )


def _private_lone_claim(parameters: PrivateAloneParameters, variant: Variant) -> Claim:
    p = parameters
    return Claim(
        mechanism="laplace",
        epsilon=privacy_bound(p.epsilon, p.v, p.horizon, p.delta_prime),
        delta=p.delta_prime,
        unit="one reward of one agent",
        adversary="whoever sees the agent's pulls",
        holds=variant == "corrected",
        note=(
            "Nothing is sent; the pulls follow the released means."
            if variant == "corrected"
            else "Not satisfied as printed: the noise of an arm that is not pulled is drawn again "
            "in every slot, without bound; see the ledger."
        ),
    )


def _adap_claim(parameters: AdapParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="laplace",
        epsilon=parameters.epsilon,
        unit="one reward of one agent",
        adversary="whoever sees the agent's pulls",
        note="Nothing is sent; every reward is in one noisy mean, which the pulls follow.",
    )


def _bound_alone(spec: RunSpec, parameters: AloneParameters, run: int) -> Bound:
    gaps = mean_gaps(spec, run)
    if gaps is None:
        return UNKNOWN_MEANS
    return Bound(
        label="UCB1's bound, each agent alone",
        regret=lambda t: spec.agents.count * ucb1_regret(gaps, t),
        note="Auer, Cesa-Bianchi and Fischer 2002, Theorem 1, once for each agent.",
    )


def _bound_private(spec: RunSpec, parameters: PrivateParameters, run: int) -> Bound:
    """Theorem 3.7, and whether its proof covers this run."""
    p, agents, gaps = parameters, spec.agents.count, mean_gaps(spec, run)
    if p.noise_at == "destination":
        return Bound(note="No bound is drawn: Theorem 3.7 is about noise at the source.")
    if p.releases == "doubling":
        return Bound(note="No bound is drawn: none is known of cooperation by doubling batches.")
    if gaps is None:
        return UNKNOWN_MEANS
    graph = spec.graph(run)
    gamma = hops(p.gamma, graph.diameter)
    cliques = clique_cover(graph, gamma)
    uncovered = ["that decisions are by the printed estimate (equation 13 adds means unweighted)"]
    if gamma * p.epsilon >= 1:
        uncovered.append(f"that γ < 1/ε (here γ = {gamma}, 1/ε = {1 / p.epsilon:g})")
    return Bound(
        label="Theorem 3.7",
        regret=lambda t: private_cooperation_regret(
            gaps, t, cliques=cliques, agents=agents, gamma=gamma, epsilon=p.epsilon
        ),
        note=f"{PAPER}, Theorem 3.7, with {cliques} cliques in G_γ (greedily). It is not proved "
        f"for this run: its proof takes {' and '.join(uncovered)}.",
    )


def _bound_byzantine(spec: RunSpec, parameters: ByzantineParameters, run: int) -> Bound:
    """Theorem 4.3, at the contamination that agents believe in."""
    p, agents, gaps = parameters, spec.agents.count, mean_gaps(spec, run)
    if gaps is None:
        return UNKNOWN_MEANS
    graph = spec.graph(run)
    gamma = hops(p.gamma, graph.diameter)
    cliques = clique_cover(graph, gamma)
    believed = p.assumed_contamination
    epsilon = p.contamination.rate if believed is None else believed
    if not positive(gaps).size or 2 * p.sigma * math.sqrt(epsilon) >= positive(gaps).min():
        return Bound(
            note="No bound is drawn: Theorem 4.3 needs every gap to be above 2σ sqrt(ε), and here "
            "one is not."
        )
    return Bound(
        label="Theorem 4.3",
        regret=lambda t: byzantine_cooperation_regret(
            gaps, t, cliques=cliques, agents=agents, gamma=gamma, sigma=p.sigma, epsilon=epsilon
        ),
        note=f"{PAPER}, Theorem 4.3, with {cliques} cliques in G_γ (greedily). It rests on Theorem "
        "4.2, which fails on Bernoulli rewards of some means.",
    )


def _bound_shared(spec: RunSpec, parameters: CooperativeParameters, run: int) -> Bound:
    return Bound(note="No bound is drawn: the paper states none for the form without privacy.")


def _bound_private_alone(spec: RunSpec, parameters: PrivateAloneParameters, run: int) -> Bound:
    return Bound(note="No bound is drawn: what is known of DP-UCB-INT is O(log T + 1/ε).")


def _bound_adap(spec: RunSpec, parameters: AdapParameters, run: int) -> Bound:
    gaps = mean_gaps(spec, run)
    if gaps is None:
        return UNKNOWN_MEANS
    p = parameters
    return Bound(
        label="AdaP-UCB's bound, each agent alone",
        regret=lambda t: spec.agents.count * adap_ucb_regret(gaps, t, p.epsilon, p.alpha),
        note="Azize and Basu 2022, Theorem 7, once for each agent.",
    )


SYSTEMS = {
    system.name: system
    for system in (
        System(
            name="private-ucb",
            title="cooperation with noisy means released at intervals",
            paper=f"{PAPER}, Algorithms 1 and 2",
            parameters=PrivateParameters,
            clocks=("slots",),
            shape=Mesh(AgentRole(_private, (Bundle,)), Wiring(_network, broadcasts=True)),
            field=Field(),
            claim=_private_claim,
            unit_interval=UnitInterval(),
            check=_check_source,
            bound=_bound_private,
            results=results.PRIVATE_COOPERATION,
        ),
        System(
            name="byzantine-ucb",
            title="cooperation with single rewards, some of them lies, and a trimmed mean",
            paper=f"{PAPER}, Algorithm 3",
            parameters=ByzantineParameters,
            clocks=("slots",),
            shape=Mesh(
                AgentRole(_byzantine, (Bundle,)),
                Wiring(_network, broadcasts=True, untold=("contamination",)),
            ),
            field=Field(),
            claim=_rewards_claim,
            check=_check_byzantine_all,
            bound=_bound_byzantine,
            results=results.COOPERATION,
        ),
        System(
            name="cooperative-ucb",
            title="cooperation with means and counts as they are, no privacy",
            paper=f"{PAPER}, section 5",
            parameters=CooperativeParameters,
            clocks=("slots",),
            shape=Mesh(AgentRole(_sharing, (Bundle,)), Wiring(_network, broadcasts=True)),
            field=Field(),
            claim=_means_claim,
            one_form=True,
            check=_check_cooperative,
            bound=_bound_shared,
            results=results.COOPERATION,
        ),
        System(
            name="ucb1",
            title="baseline: UCB1, every agent alone",
            paper="Auer et al. 2002",
            parameters=AloneParameters,
            clocks=("slots",),
            shape=Alone(_lone),
            field=Field("bare"),
            claim=_seen_claim,
            one_form=True,
            check=_check_horizon,
            bound=_bound_alone,
            results=results.ALONE,
        ),
        System(
            name="dp-ucb-int",
            title="baseline: DP-UCB-INT, every agent alone, private to whoever sees its pulls",
            paper="Tossou and Dimitrakakis 2016",
            parameters=PrivateAloneParameters,
            clocks=("slots",),
            shape=Alone(_private_lone),
            field=Field(),
            claim=_private_lone_claim,
            unit_interval=UnitInterval(),
            check=_check_private,
            bound=_bound_private_alone,
            results=results.PRIVATE_ALONE,
        ),
        System(
            name="adap-ucb",
            title="baseline: AdaP-UCB, every agent alone, each reward in one noisy mean",
            paper="Azize and Basu 2022",
            parameters=AdapParameters,
            clocks=("slots",),
            shape=Alone(_adap),
            field=Field(),
            claim=_adap_claim,
            unit_interval=UnitInterval(),
            one_form=True,
            check=_check_horizon,
            bound=_bound_adap,
            results=results.ALONE,
        ),
    )
}
