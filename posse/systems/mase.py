"""Best-arm identification with private communications (Rio et al. 2023) and its baselines."""

from __future__ import annotations

import math

from agent.mase import DpMaseVoter, MaseVoter, RawSender
from coordinator.mase import CentralEliminator, MaseTally
from posse.errors import SpecError
from posse.results.mase import CENTRAL, INDEPENDENT, VOTES
from posse.seeds import Purpose
from posse.spec.runfile import RunSpec
from posse.systems.base import Field, LabOnly, System, UnitInterval
from posse.systems.context import AgentContext, CoordinatorContext
from posse.systems.shapes import (
    AgentRole,
    Alone,
    ServerRole,
    Star,
)
from posse.theory.bounds import (
    UNKNOWN_MEANS,
    Bound,
    mean_gaps,
    positive,
    rounds_of_votes,
    samples_of_elimination,
    samples_of_epochs,
)
from protocol.machine import AgentMachine, ServerMachine
from protocol.mase import (
    TO_AGENT,
    BaselineParameters,
    CorruptedParameters,
    DpMaseParameters,
    Eliminated,
    MaseParameters,
    Sample,
    Variant,
    Vote,
    corrupted_failure,
    threshold,
    votes_needed,
)
from protocol.privacy import Claim

PAPER = "Rio et al. 2023"


def _failure(
    parameters: MaseParameters | CorruptedParameters, arms: int, variant: Variant
) -> float:
    """The failure probability of one agent's local test: β, or η_ξ."""
    if isinstance(parameters, CorruptedParameters):
        p = parameters
        return corrupted_failure(p.eta, p.xi, arms, p.delta, variant)
    return parameters.beta


def _needed(parameters: MaseParameters | CorruptedParameters, arms: int, variant: Variant) -> int:
    """The votes that remove an arm.

    The print takes M from log η; its Proposition 5.3 and the threshold effect need η_ξ.
    """
    failure = _failure(parameters, arms, variant)
    if isinstance(parameters, CorruptedParameters) and variant == "printed":
        failure = parameters.eta
    return votes_needed(threshold(parameters.delta, failure), parameters.vote_rule, variant)


def _check_votes(spec: RunSpec, parameters: MaseParameters | CorruptedParameters) -> None:
    arms, agents = spec.arms.arm_count(), spec.agents.count
    if isinstance(parameters, CorruptedParameters):
        eta_xi = _failure(parameters, arms, spec.variant)
        if eta_xi <= 0:
            raise SpecError(
                "parameters.xi",
                f"is {parameters.xi}: with eta = {parameters.eta} and {arms} arms the printed "
                f"local test never eliminates (eta_xi = {eta_xi:.3g}); lower xi or use "
                'variant = "corrected"',
            )
    needed = _needed(parameters, arms, spec.variant)
    if agents < needed:
        raise SpecError(
            "agents.count",
            f"is {agents}, but an arm needs {needed} votes to leave; have at least {needed} agents",
        )


def _advise_corrupted(spec: RunSpec, parameters: CorruptedParameters) -> list[str]:
    agents, xi = spec.agents.count, parameters.xi
    needed = _needed(parameters, spec.arms.arm_count(), spec.variant)
    if xi and agents * (1 - xi) < needed + 2 * math.sqrt(agents * xi * (1 - xi)):
        return [
            f"parameters.xi = {xi}: so many votes are withheld that {agents} agents may not reach "
            f"{needed}; the run may end as no_consensus"
        ]
    return []


def _voter(context: AgentContext) -> AgentMachine:
    p = context.parameters
    failure = _failure(p, context.arms, context.variant)
    eager = not (isinstance(p, CorruptedParameters) and context.variant == "printed")
    return MaseVoter(context.arms, failure, context.noise, xi=getattr(p, "xi", 0.0), eager=eager)


def _dp_voter(context: AgentContext) -> AgentMachine:
    p: DpMaseParameters = context.parameters
    return DpMaseVoter(context.arms, p.beta, p.epsilon, context.variant, context.noise)


def _lone_voter(context: AgentContext) -> AgentMachine:
    return MaseVoter(context.arms, context.parameters.delta, context.noise, votes=False)


def _tally(context: CoordinatorContext) -> ServerMachine:
    needed = _needed(context.parameters, context.arms, context.variant)
    return MaseTally(context.arms, context.agents, needed, context.generator(Purpose.TIES))


def _central(context: CoordinatorContext) -> ServerMachine:
    return CentralEliminator(context.arms, context.agents, context.parameters.delta)


def _no_claim(parameters: MaseParameters, variant: Variant) -> Claim:
    return Claim(mechanism="none", holds=True, note="Nothing is claimed.")


def _raw_claim(parameters: BaselineParameters, variant: Variant) -> Claim:
    return Claim(mechanism="none", note="Every raw reward is sent.", adversary="nobody")


def _silent_claim(parameters: BaselineParameters, variant: Variant) -> Claim:
    return Claim(mechanism="silence", epsilon=0.0, note="No agent sends anything.")


def _dp_claim(parameters: DpMaseParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="laplace",
        epsilon=parameters.epsilon,
        unit="one reward of one agent",
        adversary="whoever reads all messages of all agents",
        note="Not covered: the pulls themselves, and which agent is active.",
    )


def _corrupted_claim(parameters: CorruptedParameters, variant: Variant) -> Claim:
    return Claim(
        mechanism="randomized-response",
        unit="the best arm",
        adversary="whoever reads one agent's votes",
        holds=False,
        note=(
            f"Claimed: such an adversary names the best arm with probability at most "
            f"{1 - parameters.eta:.3g}. The proof bounds the adversary by a guarantee made for "
            "the agent and ignores guessing among the arms without a vote."
        ),
    )


_PROOF = (
    "The constants are those of the proof; {name} itself is an O(.). It takes every agent's test "
    "to be right, and the votes of {votes} given agents, where any {votes} would do."
)


def _smallest_gap(spec: RunSpec, run: int) -> float | None:
    gaps = mean_gaps(spec, run)
    return None if gaps is None or not positive(gaps).size else float(positive(gaps).min())


def _bound_votes(
    spec: RunSpec, parameters: MaseParameters | CorruptedParameters, run: int
) -> Bound:
    """Proposition 4.3's or Féraud's activations of one agent, and 5.3's rounds of all."""
    p, arms = parameters, spec.arms.arm_count()
    gap = _smallest_gap(spec, run)
    if gap is None:
        return UNKNOWN_MEANS
    if len(set(spec.agents.activity.rates(spec.agents.count))) > 1:
        return Bound(note="No bound is drawn: Proposition 5.3 is about equally active agents.")
    if isinstance(p, CorruptedParameters) and p.xi:
        return Bound(
            note="No bound is drawn: the proof of Proposition 5.3 does not account for the votes "
            "that are withheld."
        )
    failure, votes = _failure(p, arms, spec.variant), _needed(p, arms, spec.variant)
    if isinstance(p, DpMaseParameters):
        samples, name = samples_of_epochs(gap, arms, p.beta, p.epsilon), "Proposition 4.3"
    else:
        samples, name = samples_of_elimination(gap, arms, failure), "Proposition 5.3"
    return Bound(
        label=f"{name}: {1 - p.delta:.0%} of runs have ended",
        rounds=rounds_of_votes(samples, spec.agents.count, votes, 1 - p.delta),
        note=_PROOF.format(name=name, votes=votes),
    )


def _bound_central(spec: RunSpec, parameters: BaselineParameters, run: int) -> Bound:
    gap = _smallest_gap(spec, run)
    if gap is None:
        return UNKNOWN_MEANS
    samples = samples_of_elimination(gap, spec.arms.arm_count(), parameters.delta)
    return Bound(
        label=f"successive elimination: {1 - parameters.delta:.0%} of runs have ended",
        rounds=float(samples),
        note="Even-Dar, Mannor and Mansour 2006: 4 sqrt(log(K t²/δ) / t) is below the gap.",
    )


def _bound_independent(spec: RunSpec, parameters: BaselineParameters, run: int) -> Bound:
    gap = _smallest_gap(spec, run)
    if gap is None:
        return UNKNOWN_MEANS
    samples = samples_of_elimination(gap, spec.arms.arm_count(), parameters.delta)
    return Bound(
        label="successive elimination, all agents",
        rounds=float(spec.agents.count * samples),
        note=f"Each of {spec.agents.count} agents ends by {samples:,} activations with probability "
        f"{1 - parameters.delta:.0%} (Even-Dar, Mannor and Mansour 2006).",
    )


SYSTEMS = {
    system.name: system
    for system in (
        System(
            name="mase",
            title="votes of successive eliminations, no privacy",
            paper=f"{PAPER}, Algorithm 1",
            parameters=MaseParameters,
            clocks=("virtual", "wall"),
            shape=Star(AgentRole(_voter, TO_AGENT), ServerRole(_tally, (Vote,))),
            field=Field(),
            claim=_no_claim,
            check=_check_votes,
            bound=_bound_votes,
            results=VOTES,
        ),
        System(
            name="dp-mase",
            title="votes of differentially private successive eliminations",
            paper=f"{PAPER}, Algorithm 2",
            parameters=DpMaseParameters,
            clocks=("virtual", "wall"),
            shape=Star(AgentRole(_dp_voter, TO_AGENT), ServerRole(_tally, (Vote,))),
            field=Field(),
            claim=_dp_claim,
            unit_interval=UnitInterval(unless_printed=True),
            check=_check_votes,
            bound=_bound_votes,
            results=VOTES,
        ),
        System(
            name="corrupted-elimination",
            title="votes withheld at random (xi = 0 is Féraud's)",
            paper=f"{PAPER}, Algorithm 3",
            parameters=CorruptedParameters,
            clocks=("virtual", "wall"),
            shape=Star(AgentRole(_voter, TO_AGENT), ServerRole(_tally, (Vote,))),
            field=Field("nothing"),
            claim=_corrupted_claim,
            check=_check_votes,
            advise=_advise_corrupted,
            bound=_bound_votes,
            results=VOTES,
        ),
        System(
            name="central",
            title="baseline: every raw reward goes to the coordinator",
            paper=f"{PAPER}, section 6",
            parameters=BaselineParameters,
            clocks=("virtual", "wall"),
            shape=Star(
                AgentRole(lambda context: RawSender(context.arms), (Eliminated,)),
                ServerRole(_central, (Sample,)),
            ),
            field=Field(),
            claim=_raw_claim,
            one_form=True,
            bound=_bound_central,
            results=CENTRAL,
        ),
        System(
            name="independent",
            title="baseline: every agent alone",
            paper=f"{PAPER}, section 6",
            parameters=BaselineParameters,
            clocks=("virtual", "wall"),
            shape=Alone(_lone_voter),
            field=LabOnly("sends nothing, and its end alone would tell of an agent's rewards"),
            claim=_silent_claim,
            one_form=True,
            bound=_bound_independent,
            results=INDEPENDENT,
        ),
    )
}
